//! Channels: ordered messages to one peer, framed and bounded, every wait with a deadline.
//!
//! A [`Channel`] carries the messages of one thread to one peer. It never hangs (every wait ends in an [`Error`] that
//! names peer and [`Step`]), never allocates what a peer asks for (a message has the length that the receiver expects,
//! or is refused), and never deadlocks because two sides send at once.
#![forbid(unsafe_code)]

mod channel;
mod error;

pub use channel::{Channel, Closer, Meter, PartyId, Step};
pub use error::{Error, Result};
