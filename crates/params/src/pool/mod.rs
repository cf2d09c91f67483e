//! Parameters of a pool of checked gadgets (Zhu, Huang, Cassel, CCS 2017, Sections 4 and 8).
//!
//! The pool holds `n` gadgets. A fresh gadget is checked (and thrown away) with probability `r_c`, or enters the pool; a bad
//! one that is checked is found with probability `r_d`. `B` gadgets drawn at random make a bucket, which fails when all
//! are bad; the gaps are filled at once. The guarantee is over the pool's whole life.

mod attack;
mod extraction;
mod search;
mod several;
mod soundness;
mod triples;
mod work;

pub use attack::{Attack, Draw};
pub use extraction::{Extraction, extraction};
pub use search::{Guard, Parameters, Request, check, search};
pub use several::{PoolShare, split, tries_log2};
pub use soundness::{Soundness, guesses, guesses_log2, spare_transfers};
pub use triples::{TripleParameters, check_triples, smallest_pool, triples};
pub use work::Work;

/// The largest pool that is reckoned with.
pub const MAX_POOL: u64 = 1 << 50;
