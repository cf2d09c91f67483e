//! Three parties with an honest majority, one of which may deviate in any way: Araki et al., "Optimized Honest-Majority
//! MPC for Malicious Adversaries" (S&P 2017), on the replicated sharing of Araki et al. (CCS 2016) and the protocol of
//! Furukawa et al. (EUROCRYPT 2017).
//!
//! [`ThreeEngine`] is the [`cenote_session::Engine`] of this protocol. Below it, one module per mechanism:
//!
//! | module | what | source |
//! |---|---|---|
//! | `keys` | correlated randomness without interaction | Araki et al. 2016, Section 3 |
//! | `ring` | who sends what to whom | |
//! | `coin` | barrier and coin | Furukawa et al., Section 2 |
//! | `lag` | how many messages are in flight | |
//! | `view` | view comparison, by MAC or hash | S&P 2017, Section III-D |
//! | `triple_check` | one triple checked with another | Furukawa et al., Protocol 2.24 |
//! | `generator`, `cut_and_choose` | triples by cut and choose | S&P 2017, Protocols A.1 and 3.1 |
//! | `stock` | hand-over of checked triples from the generator's thread | S&P 2017, Figure 5 |
//! | [`store`] | checked triples on disk, made in an offline phase | S&P 2017, Section IV |
//! | `tally` | how many batches a circuit will need | |
//! | `supply` | which triple checks which gate: the variants | S&P 2017, Sections III-A to III-C |
//! | `gate_log`, `verify` | checking every gate before anything is opened | S&P 2017, Protocols A.2 and 3.9 |
//! | `evaluator` | AND layer by AND layer | S&P 2017, Protocol A.2 |
//! | `worker` | a generator and an evaluator; several side by side | S&P 2017, Figure 5 |
//! | `input`, `output` | sharing and robust opening | |
//!
//! A session aborts on any failed check; it never returns an output that is not verified.
#![forbid(unsafe_code)]

pub mod checks;
mod coin;
mod config;
mod cut_and_choose;
mod engine;
mod evaluator;
mod gate_log;
mod generator;
mod input;
mod keys;
mod lag;
mod output;
mod ring;
mod shape;
pub mod steps;
mod stock;
pub mod store;
mod supply;
mod tally;
mod triple_check;
mod verify;
mod view;
mod wires;
mod worker;

pub use config::{Config, Lag, Links, ViewCheck};
pub use engine::ThreeEngine;
pub use ring::Ring;
pub use tally::batches_needed;
pub use wires::ThreeWires;
