//! Two parties, either of which may be malicious, and a service without end: a pool of checked garbled gates (POOL: Zhu, Huang, Cassel,
//! CCS 2017, over JIMU: Zhu, Huang, ASIACRYPT 2017).
//!
//! One party garbles, the other evaluates. The garbler makes AND gates in bulk, knowing nothing of what they will compute; labels are
//! committed to by *i-hashes* ([`cenote_commit::ihash`]), which a label itself opens. Some gates are checked, the rest go into a pool
//! ([`cenote_pool`]) that is always full. For an AND gate of a program a *bucket* is drawn at random and soldered together; one good
//! gate in it is enough. What is drawn is replaced at once, so any number of circuits of any size can be run, each found out as the
//! one before it ends, in memory that does not grow; and the bound on a cheater's success is for the pool's whole life.
//!
//! **Wires.** A wire has a random label L, i-hashed, and a permutation bit p; its label for value v is L ⊕ (v ⊕ p)Δ. The evaluator can tell
//! by the i-hash which of the two labels it holds, and p keeps it from knowing the value.
//!
//! **Permutation bits** are authenticated bits ([`cenote_ot::bits`]), not i-hashes over GF(2^6) as in JIMU: 8 bytes a bit instead
//! of 17, nothing but a hash of 16 bytes for thousands of openings, and no second code. The evaluator sees from the i-hashes what the
//! permutation bits of a soldering must add up to.
//!
//! **A garbler that is caught in a bucket** is not told so: whether it is caught depends on what the evaluator computes with. Two
//! right labels of one wire give away Δ; with it the evaluator reads the garbler's inputs off gates that they are anchored to, computes
//! the outputs itself, and behaves as before. See `provenance.rs`.
//!
//! **I-hashes against a garbler that tries again.** What bad gates give is compared with i-hashes in silence, with those of both labels
//! of a wire, so each bad gate in the pool is two guesses at the watch list that cost nothing if they fail. The code is longer than for
//! one guess by the logarithm of the guesses there are before a bad gadget is caught ([`cenote_params::pool::guesses`]).
#![forbid(unsafe_code)]

mod cell;
pub mod checks;
mod engine;
mod gadget;
mod kept;
mod keys;
mod memory;
mod offline;
mod online;
mod protocol;
mod provenance;
mod settings;
mod setup;
pub mod steps;
mod wires;

pub use engine::JimuEngine;
pub use protocol::{Jimu, Prepared};
pub use settings::{Config, MAX_POOL, MAX_SECURITY, MIN_POOL, MUX_WIDTH, Sizes};
pub use wires::JimuWires;
