//! Seeded worlds and wire interceptors for tests of the protocols.
//!
//! A [`World`] runs all parties of a protocol in one process, with a seed that a failing test prints, and a time-out
//! that names the parties that hang. An [`Adversary`] makes one of them deviate, by changing what it sends; the
//! protocol's code knows nothing of it. [`World::transcripts`] lists every message, so that a test can try each
//! deviation on each of them.
#![forbid(unsafe_code)]

mod adversary;
mod between;
pub mod example;
mod host;
pub mod kept;
mod spy;
mod transcript;
mod world;

pub use adversary::{Adversary, Gate, Intercept, Message, Perturbation, Target, noticed, perturbed};
pub use between::{Between, Tapped};
pub use host::own_host;
pub use spy::{Hook, Instead, Line, Passing, Spy, Stall};
pub use transcript::{Recorder, Sent, Transcript};
pub use world::{PartyContext, Wire, World};
