//! Tables in Parquet files.

mod fit;
mod guard;
mod read;
mod write;

pub(crate) use read::read;
pub(crate) use write::write;
