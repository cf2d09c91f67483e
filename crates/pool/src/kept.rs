//! Pools on disk, which outlast sessions and crashes.
//!
//! A party keeps of a pool its keys, copies of the records of its gadgets that are made now and then, and a *journal*: the coins of all deliveries
//! that may have been drawn from since the copy. A coin is in the journal, on the disk, before a gadget is drawn by it. What the coins may have
//! touched since is left out when the pool is put back ([`touched`](crate::touched)), so no gadget is used twice, wherever a session was cut off.
//! All that makes fresh material is new in each session ([`Which`]).
//!
//! **Both parties put back the same pool**: they tell each other what they have, and leave out what the coins have touched since the older of
//! the two copies. If their journals do not end with the same delivery, the pool is given up, and another is made.
//!
//! **What bounds a pool.** Some bounds grow with what sessions do, over the pool's whole life. What they have used up is in the journal before it
//! is used; a session that would pass the bounds begins with another pool ([`Keep::is_spent`]).
//!
//! **A check that was cut off** is a party's way out when it sees that it will be caught. So a party that checks notes, before the other one can
//! know what comes of it, that a check has begun; if a session finds that note, the pool is given up, for bad gadgets may have been in it
//! that more tries would add to. A cheater begins anew then, with an empty pool, and the bound on its success is that of each pool times their
//! number, which is kept and told ([`KeptPool::ends`]). That number is of all pools with the peer in the folder, whatever their settings, so that another
//! security brings nobody fresh tries. A check while a pool is set up counts as well: a note of it is on the disk before. A pool is *retired*, before anybody is told, whenever a check fails or is said to have failed: its keys and gadgets are deleted, the count stays in its journal until that of the next pool has it.

mod creation;
mod disk;
mod folder;
mod identity;
mod journal;
mod keep;
mod opened;
mod opening;
mod prepared;
mod resuming;

pub use disk::{KeptPool, warning};
pub use identity::Identity;
pub use journal::{KINDS, MOST_COINS, MOST_PREPARED, MOST_SESSIONS, Spent};
pub use keep::{Keep, Shape};
pub use opened::{Copies, Copy, Opened, Which};
pub use opening::open;
pub use prepared::prepared;

#[cfg(test)]
mod tests;
