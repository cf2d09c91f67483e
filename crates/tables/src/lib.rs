//! Tables in the clear: types, columns, and the files that they are read from and written to.
#![forbid(unsafe_code)]

mod bytes;
mod column;
mod csv;
mod error;
mod file;
mod guess;
mod header;
mod inferred;
mod numbers;
mod parquet;
mod records;
mod show;
mod table;
mod text;
mod time;
mod types;

#[doc(hidden)]
pub use crate::parquet::sizes;
pub use column::Builder;
pub use error::{Error, Place, Problem, printable};
pub use file::{Pieces, beside, parquet_of, pass_on, read, read_csv, read_in_order, read_open, write};
pub use guess::{guess, unique_columns};
pub use inferred::{INDEX, Inferred, chars, is_index, read_parquet};
pub use numbers::Numbers;
pub use show::show;
pub use table::{Column, Field, Table, Values};
pub use text::{cell, format_value, parse_value};
pub use time::{add_months, civil, days, format_date, format_timestamp, parse_date, parse_timestamp};
pub use types::{MAX_CHARS, MAX_DIGITS, Type, ten_to};
