//! Programs over secret values, on any protocol.
//!
//! A program is an ordinary function over a [`Session`]: it takes [`Secret`] bits and integers, calculates with them as with
//! others, and reveals what is to be known. Loops and branches over public values are Rust's own; a branch on a secret does not
//! compile. The same function runs with three parties, with two, and in the clear for tests.
//!
//! ```
//! use cenote_program::{Secret, Session};
//! use cenote_net::PartyId;
//! use cenote_session::ClearEngine;
//!
//! /// The larger of two numbers.
//! fn richer(a: &Secret<u32>, b: &Secret<u32>) -> Secret<u32> {
//!     a.gt(b).select(a, b)
//! }
//!
//! let session = Session::new(ClearEngine::new(PartyId(0), Vec::new()));
//! let a = session.input(PartyId(0), 1, Some(&[1_000_000]));
//! let b = session.input(PartyId(0), 1, Some(&[999_999]));
//! assert_eq!(session.open(&richer(&a, &b)).unwrap(), [1_000_000]);
//! ```
#![forbid(unsafe_code)]

pub mod apps;
mod bits;
mod choice;
mod counter;
mod error;
mod function;
pub mod interpreter;
mod io;
pub mod kept;
pub mod local;
mod machine;
pub mod memory;
mod node;
mod op;
mod random;
mod root;
mod secret;
mod segment;
mod session;
pub mod table;
mod value;
mod values;
mod word;

pub use bits::{Bits, Found};
pub use counter::{Abilities, StepTally, Tally, tally};
pub use error::{Error, Misuse, Result};
pub use function::Function;
pub use kept::KEPT_VALUE;
pub use memory::Memory;
pub use secret::{Divided, Operand, Secret};
pub use session::Session;
pub use values::Values;
pub use word::{Int, Integer, Uint, Word};

// The example of the README is tested with the rest.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
