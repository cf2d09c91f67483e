//! Seeded Monte-Carlo simulation of every game, with the best adversary and some worse ones.
//!
//! An [`Experiment`] is a game with one adversary; each game's constructor gives the best first. Every trial plays the game ball
//! by ball, as the protocol would, and uses none of the closed forms that its outcome is compared with.

mod experiment;
mod lego;
mod pool;
mod three;

pub use experiment::{Estimate, Experiment};
pub use lego::lego;
pub use pool::{pool, triple_pool};
pub use three::{on_demand, reshuffle, triple_generation, unequal};
