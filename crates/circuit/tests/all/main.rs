//! Circuits: all tests but those that depend on how busy their process is, or on its memory.

mod common;
mod documented;
mod formats;
mod known_answers;
mod library_arithmetic;
mod library_ciphers;
mod library_costs;
mod library_integers;
mod library_lists;
mod library_sort;
mod plans;
mod shdl;
mod words;
