//! What a session over a pool begins with.

use std::fmt;

use cenote_primitives::Block;
use cenote_store::ItemId;
use zeroize::Zeroizing;

use super::disk::KeptPool;
use super::journal::KINDS;

/// Which session over a pool it is: its number, and fresh random bytes of both parties, the garbler's first, so that not even a folder that was
/// put back to an earlier state repeats a stream.
#[derive(Clone, Copy, Debug, Default)]
pub struct Which {
    /// Less than [`MOST_SESSIONS`](super::MOST_SESSIONS).
    pub number: u64,
    /// Fresh random bytes.
    pub nonce: [[u8; 16]; 2],
}

impl Which {
    /// A name that begins with the session's `name`, and that no other session over any pool has.
    pub fn session(&self, name: &str, pool: ItemId) -> String {
        let nonce = blake3::hash(self.nonce.as_flattened()).to_hex();
        format!("{name}, number {} of pool {pool}, {nonce}", self.number)
    }
}

/// A pool that was put back, or a new one.
pub struct Opened<Sizes, Base> {
    /// What there is on disk.
    pub kept: KeptPool,
    /// What is kept besides gadgets.
    pub base: Base,
    /// Its parameters.
    pub sizes: Sizes,
    /// The session.
    pub which: Which,
    /// The gadgets.
    pub copies: Copies,
}

/// Prints nothing but what it is.
impl<Sizes, Base> fmt::Debug for Opened<Sizes, Base> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Opened({:?})", self.kept)
    }
}

/// Records of a full pool as they were, and the places that are to be empty.
pub type Copy = (Zeroizing<Vec<Block>>, Vec<u32>);

/// By kind, if there was a full pool of it.
pub type Copies = [Option<Copy>; KINDS];

/// What both parties have of a pool.
#[derive(Clone, Copy, Debug)]
pub(super) struct Common {
    /// By kind, the first deliveries whose draws are to be left out; none for a kind that was never full.
    pub(super) since: [Option<u64>; KINDS],
    /// The number of its last session.
    pub(super) session: u64,
}
