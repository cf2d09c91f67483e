//! Three parties with an honest majority, one of which may deviate in any way: Araki et al., "Optimized Honest-Majority
//! MPC for Malicious Adversaries" (S&P 2017), on the replicated sharing of Araki et al. (CCS 2016) and the protocol of
//! Furukawa et al. (EUROCRYPT 2017).
//!
//! [`ThreeEngine`] is the [`cenote_session::Engine`] of this protocol. Below it, one module per mechanism:
//!
//! | module | what | source |
//! |---|---|---|
//! | `settings` | what a session is started with | |
//! | `setup` | agreement with the peers | |
//! | `crew` | the workers of a session, as it starts | |
//! | `setup::keys` | correlated randomness without interaction | Araki et al. 2016, Section 3 |
//! | `setup::eras` | when keys change | |
//! | `setup::lag` | how many messages are in flight | |
//! | `ring` | who sends what to whom | |
//! | `coin` | barrier and coin | Furukawa et al., Section 2 |
//! | `view` | view comparison, by MAC or hash | S&P 2017, Section III-D |
//! | `triple_check` | one triple checked with another | Furukawa et al., Protocol 2.24 |
//! | `offline` | triples by cut and choose | S&P 2017, Protocols A.1 and 3.1 |
//! | `background` | threads beside the evaluators' | |
//! | `last_word` | what a party tells its peers when it stops | |
//! | `material::settlement` | which batches may be used | |
//! | `material::stock` | hand-over of checked triples from the generator's thread | S&P 2017, Figure 5 |
//! | `material::tally` | how many batches a circuit will need | |
//! | `material::supply` | which triple checks which gate: the variants | S&P 2017, Sections III-A to III-C |
//! | `proofs` | one bit an AND, proved by sumcheck | Boneh et al., CRYPTO 2019; Boyle et al., CCS 2019 |
//! | [`store`] | checked triples on disk, made in an offline phase | S&P 2017, Section IV |
//! | `online::evaluator` | AND layer by AND layer | S&P 2017, Protocol A.2 |
//! | `online::verify`, `online::gate_log` | checking every gate before anything is opened | S&P 2017, Protocols A.2 and 3.9 |
//! | `online::worker` | a generator and an evaluator; several side by side | S&P 2017, Figure 5 |
//! | `online::shuffle` | rows in orders that nobody knows | |
//! | `online::digest` | whether tables are the same | |
//! | `online::input`, `online::output` | sharing and robust opening | |
//!
//! A session aborts when a check fails, and returns verified outputs only.
#![forbid(unsafe_code)]

mod background;
pub mod checks;
mod coin;
mod crew;
mod engine;
mod last_word;
mod material;
mod offline;
mod online;
mod proofs;
mod protocol;
mod ring;
mod settings;
mod setup;
pub mod steps;
pub mod store;
mod triple_check;
mod view;
mod wires;

pub use engine::ThreeEngine;
pub use material::tally::batches_needed;
pub use protocol::Three;
pub use ring::Ring;
pub use settings::{Config, Lag, Links, Method, Verification, ViewCheck};
pub use wires::ThreeWires;
