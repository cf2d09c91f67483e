//! Programs: all tests but those that depend on how busy their process is, or on its memory.

mod apps;
mod common;
mod differing;
mod everywhere;
mod functions;
mod kept;
mod memory;
mod misuse;
mod opened;
mod operators;
mod places;
mod roots;
mod rows;
mod same_rows;
mod tables;
