//! Benchmarks of the two-party protocol, with both parties on this machine, beside the figures of its paper.
//!
//! | module | what |
//! |---|---|
//! | [`circuit`] | the phases of a number of instances of one circuit (Tables II, IV, V) |
//! | [`commit`] | commitments alone (Table III) |
//! | [`ot`] | oblivious transfers alone |
//! | [`tables`] | all tables at once |

pub mod circuit;
mod circuit_text;
pub mod commit;
pub mod ot;
mod paper;
pub mod tables;

pub use paper::{Commitment, Data, Timing};

use cenote::Error;
use cenote_session::Topology;

/// Two parties with one channel for each worker, and one to meet on.
fn topology(name: &str, workers: u8) -> Topology {
    Topology {
        name: name.into(),
        parties: 2,
        workers,
        purposes: &["protocol"],
        shared: &["meeting"],
    }
}

/// A part of the protocol failed although nobody cheats.
fn failed(error: impl std::error::Error + Send + Sync + 'static) -> Error {
    Error::local("measuring", std::io::Error::other(error))
}
