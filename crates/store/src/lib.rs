//! Material on disk: made in an offline phase, used once, later. One form for what every protocol makes.
//!
//! A [`Store`] is a folder of one party. It has a folder for each *item* (what one offline run made: an epoch of triples, a lot
//! of gadgets), called by the item's name, and in it
//!
//! - `item`: what the item is, with whom it was made, and the keys without which the rest is of no use;
//! - `part-…`: its material, in *parts* that are numbered by class;
//! - `used`: the numbers that are used;
//! - `state-…`: what a *living* item is at the moment, which has no parts, but changes while it is used ([`Living`]);
//! - `in-use`, while a session holds an item that must not survive the session's failure;
//! - `lacked-by-…`: which peers said that they do not have it.
//!
//! All are sealed under the folder's key; the names of files tell nothing secret.
//! What is in the folder and cannot be read, or is no item, is named and left alone: it keeps no session from the rest.
//!
//! # Nothing is used twice
//!
//! Using a triple or a gadget twice would give secrets away. So a session *claims* numbers before it uses them: they are
//! recorded as used, the record is flushed to the disk, and only when all parties say that they have recorded the same does any
//! of them read one ([`Session::claim`]). A crash may waste material, therefore, but what was used is on record at all honest parties. A
//! session uses only what is unused by the records of all parties, so one honest party's folder may even be put back to an
//! earlier state, by a backup say. Folders of *two* honest parties, or the only honest party's, must not: nothing could tell that
//! from material that was never used.
//!
//! All this rests on renames and removals that outlast a crash. Where the system cannot flush a folder to the disk, none is
//! opened.
//!
//! What cannot be read when it is claimed is used up, and the parties leave it out and take more of the item in its place. A job that could go another way
//! had better look for damage first ([`Store::put_damage_aside`]).
//!
//! # Nothing is used that not all parties vouch for
//!
//! While an item is being made, its parts are *provisional*: see [`Making`]. Only what was confirmed, after all parties have said that
//! the whole run was clean, is ever offered to a session; the rest is deleted, at the latest when the folder is opened next.
//!
//! # Nothing is used after a failure
//!
//! A protocol whose failed checks tell a cheater something of an item's secrets *marks* the item while a session holds it. The mark is taken away
//! when the session ends, unless a check failed or the session panicked; an item that is found marked and that no
//! session holds is deleted, since nobody knows what the peer has seen.
#![forbid(unsafe_code)]

mod agree;
mod claim;
mod contents;
mod damage;
pub mod durable;
mod files;
mod folder;
mod item;
mod living;
mod making;
mod names;
#[cfg(feature = "object-store")]
mod objects;
#[cfg(not(feature = "object-store"))]
#[path = "no_objects.rs"]
mod objects;
mod offer;
mod removal;
mod runs;
mod scratch;
mod seal;
mod sealed;
mod session;
mod sound;
pub mod steps;

pub use claim::Claim;
pub use contents::{Inventory, Stored, Unusable};
pub use folder::Store;
pub use item::{Item, ItemId, Keys, Peers};
pub use living::{Hold, Living};
pub use making::Making;
pub use objects::check_objects_url;
pub use runs::{RUN_BYTES, Run, Runs};
pub use scratch::{Scratch, Span};
pub use seal::StoreKey;
pub use sealed::Sealed;
pub use session::{Session, Shelf};

#[cfg(test)]
mod tests;
