//! Tables in Parquet files.

mod fit;
mod guard;
mod read;
pub mod sizes;
mod trim;
mod write;

pub(crate) use read::{Reader, columns, read, read_in_order};
pub(crate) use write::{Purpose, write};
