//! Working memory that is kept from call to call.

use std::sync::{Mutex, PoisonError};

use cenote_primitives::{Block512, SecretBlocks};

/// Arrays of `blocks` blocks, as many as calls were ever made at once. They are wiped when this is dropped.
pub(super) struct Scratch {
    blocks: usize,
    free: Mutex<Vec<SecretBlocks>>,
}

impl Scratch {
    pub(super) fn new(blocks: usize) -> Self {
        Self {
            blocks,
            free: Mutex::default(),
        }
    }

    /// Lends an array, which holds leftovers, to `work`.
    pub(super) fn lend<R>(&self, work: impl FnOnce(&mut [Block512]) -> R) -> R {
        let free = || self.free.lock().unwrap_or_else(PoisonError::into_inner);
        let taken = free().pop();
        let mut array = taken.unwrap_or_else(|| SecretBlocks::zeroed(self.blocks));
        let result = work(&mut array);
        free().push(array);
        result
    }
}
