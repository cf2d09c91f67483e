//! A pool of gadgets that is always full (Zhu, Huang, Cassel, "POOL", CCS 2017, Sections 3 and 6).
//!
//! A gadget is whatever two parties have prepared together and one of them could have prepared badly: a garbled gate, a
//! leaky triple. It is a *record*, different at the two parties. A pool holds `n` of them. A draw takes `B` of
//! them at random, without replacement, and fills the gaps at once from a *buffer* of fresh ones, so that the next draw is from
//! a full pool again. What a cheater achieves against that over the pool's whole life is in `cenote_params::pool`.
//!
//! **Coins.** Which gadgets are drawn as those of a buffer take their places is decided by a coin that the parties toss ([`Tosser`],
//! [`toss`]) after every gadget of the pool and of the buffer was made; it also decides which of the fresh gadgets were checked
//! instead ([`cut`]). So there is one round trip a buffer, whatever is drawn, and nobody knows, while making a gadget, what it will
//! meet. Who knows the coin knows the draws ahead, and may have a say in what is computed with them, but cannot change them:
//! all draws of a pool are of the same number of gadgets, and which they are does not depend on when the pool is refilled.
//!
//! **Restarts.** A pool that is kept on disk may be put back, after a crash, from a copy of its records that was made some coins ago. What may have
//! been drawn since lay, or came to lie, in places that the coins tell ([`touched`]): these are left empty, and what was in the buffer is gone. So nothing is drawn
//! twice, without a note of each draw. What is kept for that, and how both parties put back the same, is in [`kept`].
//!
//! Both parties call the same functions in the same order, and hold their records of a gadget in the same place.
#![forbid(unsafe_code)]

mod coin;
mod cut;
pub mod kept;
mod pool;
mod role;
pub mod session;

pub use coin::{SHARE_BYTES, Tosser, toss};
pub use cut::{Cut, cut};
pub use pool::{Drawn, Fresh, Pool, Unready, touched};
pub use role::Role;
