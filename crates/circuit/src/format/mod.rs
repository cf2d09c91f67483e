//! Circuit files: [Bristol Fashion], the older Bristol format, and SHDL, which is only read.
//!
//! The Bristol formats list gates as `inputs outputs in… out… OPERATION`, one on a line, in topological order; the first
//! wires are the inputs, the last ones the outputs. Fashion declares any number of values (`2 128 128`, then `1 128`)
//! and has `XOR`, `AND`, `INV`, `EQ` (a literal constant), `EQW` (a copy) and `MAND` (several ANDs); the older format
//! has two inputs and one output (`128 128 128`) and `XOR`, `AND`, `INV`, sometimes `OR` and `NOT`.
//!
//! SHDL, the circuits of Fairplay, lists inputs and gates with truth tables, and names the values and whose they are:
//! see [`read_shdl`].
//!
//! No Bristol file says which end of a value its first wire is. [`read`] declares every value [`BitOrder::Lsb`]
//! (true for most Fashion files); set another order with [`Circuit::set_input_order`] and
//! [`Circuit::set_output_order`].
//!
//! [Bristol Fashion]: https://nigelsmart.github.io/MPC-Circuits/
//! [`BitOrder::Lsb`]: crate::BitOrder::Lsb
//! [`Circuit::set_input_order`]: crate::Circuit::set_input_order
//! [`Circuit::set_output_order`]: crate::Circuit::set_output_order

mod read;
mod scan;
mod shdl;
mod table;
mod write;

pub use read::read;
pub use shdl::{Owner, Shdl, read_shdl};
pub use write::{WriteError, write};

/// A way to write a circuit as text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Bristol Fashion: any number of values, constants and copies.
    Fashion,
    /// The older Bristol format: at most two input values and one output value.
    Bristol,
}

/// Why a text is not a circuit.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {reason}")]
pub struct ParseError {
    /// The line, counted from 1; for something missing at the end, the last line.
    pub line: usize,
    /// What is wrong with it, for a person.
    pub reason: String,
}
