//! The coordinators of a job that is cut into shards: each party has one.
//!
//! A job has *pieces*: its shards, and then one merge. Each piece is an ordinary session between one worker of each party. The coordinators agree which
//! piece starts next at all parties, so that workers never wait for peers that are at another piece, and tell their workers where their peers are. A piece
//! whose workers lost each other may be tried again, as often as the job says; one in which a check failed ends the job. Each coordinator holds the
//! leading one, that of party 0, to these rules ([`checks::ATTEMPTS`]), and records an attempt on the disk before a worker hears of it ([`Ledger`]).
//!
//! What comes in: connections to the other coordinators ([`topology`]), a [`Job`], and a [`Crew`] of workers. What goes out: which attempt at each piece
//! counts, and a coin by which the parties hash the keys of their rows ([`Done`]). Nothing here knows what is computed, or sees a value.
//!
//! It must never hand out an attempt twice, nor two attempts at one piece at a time, nor wait for a peer for ever.
#![forbid(unsafe_code)]

mod all;
mod book;
pub mod checks;
mod coin;
mod coordinate;
mod course;
mod crew;
mod error;
mod job;
mod ledger;
mod message;
mod open;
mod peers;
mod progress;
mod resume;
mod steps;

pub use coordinate::{Done, Limits, Party, coordinate, topology};
pub use crew::{Crew, Event, Events, Inbox, events};
pub use error::{Error, Result};
pub use job::{
    ADDRESS_BYTES, Attempt, Job, JobName, MOST_ATTEMPTS, MOST_SHARDS, Outcome, Piece, Place, REASON_BYTES,
};
pub use ledger::Ledger;
pub use progress::{PeerProgress, Progress, Running};

#[cfg(test)]
mod tests;
