//! LEGO buckets: parameters of function-independent preprocessing (Nielsen, Schneider, Trifiletti, NDSS 2017, Theorem 2).
//!
//! `q` AND buckets of `beta` garbled gates and `alpha` wire authenticators, and for each of `n` inputs a bucket of `beta~`
//! gates and one of `alpha~` authenticators. Every gate is checked with probability `p_g`, every authenticator with `p_a`; those
//! not checked are put into buckets at random. `alpha = beta - 1`, `beta~ = 2 beta + 1`, `alpha~ = 2 alpha + 1`.

mod account;
mod attack;
mod bounds;
mod cost;
mod search;
mod slack;
mod soundness;

pub use account::{Account, Made};
pub use attack::{AUTHENTICATOR_FOUND, GATE_FOUND, attack};
pub use bounds::{Buckets, Errors};
pub use cost::CostModel;
pub use search::{Objective, Parameters, Request, check, search};
pub use slack::generated;
pub use soundness::{CODE_DISTANCE, Cheater, MAX_SECURITY, Soundness, Term, soundness};
