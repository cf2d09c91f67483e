//! Sessions over pools of several sizes, with both parties on this machine, of every protocol that computes over a pool.
//!
//! A session fills its pool, and then runs circuits again and again: with what they draw from the pool replaced meanwhile, and, where the
//! protocol can make that before, also with all of it made before the clock starts.

mod load;
mod phase;
mod report;
mod session;
mod sessions;
mod text;

pub use load::Load;
pub use report::{PoolReport, PoolRow, Pools, RateRow, Reported, run_pools};
pub use session::{PoolSession, Pooled};
pub(crate) use sessions::larger;
pub use sessions::{Measured, Speed};
pub use text::{Curves, Told};
