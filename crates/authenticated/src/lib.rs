//! Two parties, either of which may be malicious, and the least work for each gate: authenticated garbling over a pool of leaky ANDs
//! (WRK: Wang, Ranellucci, Katz, CCS 2017; KRRW: Katz, Ranellucci, Rosulek, Wang, CRYPTO 2018; the pool: Zhu, Huang, Cassel, CCS 2017,
//! Section 8).
//!
//! The parties share a triple of bits, z = x ∧ y, for each AND gate, authenticated by one another ([`cenote_ot::mutual`], [`cenote_ot::pcg`]), and a mask λ for
//! each wire. One party garbles the circuit on masked values, knowing only its shares of the masks; the other evaluates, and sees
//! masked values only. A garbler that garbles something else does not know what values it does so for; whether the masked values are those of
//! the circuit is checked by what is authenticated.
//!
//! **Triples.** A *leaky AND* is a triple of which a cheating party learns x, and is caught with probability 1/2 if it tries. Of what is sent and compared of
//! it only the lowest bits count ([`cenote_params::short`]), and the comparison tells one bit ([`cenote_ot::pake`]). Leaky ANDs
//! are made in lots, whatever they will be used for, and kept in a pool ([`cenote_pool`]) that is always full. For a gate of a program a few
//! are drawn at random and combined, and one that nothing is known of is enough. So any number of circuits of any size can be run,
//! found out as they come, in memory that does not grow; and the bound on a cheater's success is for the pool's whole life
//! ([`cenote_params::pool::triples`]).
//!
//! **Roles.** The garbler is the specification's A, the evaluator its B. Bit 0 of both differences is 1, so that bit 0 of a MAC is the bit
//! that it authenticates; bit 1 of the garbler's is 1 and bit 1 of the evaluator's 0. What the specification does with last bits
//! of leaky ANDs is done here with bit 1, as only there the differences differ for certain. A wire's 0-label has bit 0 cleared, so that
//! bit 0 of the label that the evaluator holds is the masked value.
//!
//! **Pools that are kept** on disk outlast sessions: see `kept.rs`.
//!
//! **A failed check ends the session**, and there is no recovery as in LEGO: nothing that fails depends on inputs. See `online/mod.rs`.
#![forbid(unsafe_code)]

pub mod checks;
mod engine;
mod kept;
mod memory;
mod offline;
mod online;
mod protocol;
mod settings;
mod setup;
pub mod steps;
mod wires;

pub use engine::AuthenticatedEngine;
pub use protocol::{Authenticated, Prepared};
pub use settings::{Config, Cot, MAX_POOL, MAX_SECURITY, Sizes, USUAL_LOTS};
pub use wires::AuthenticatedWires;
