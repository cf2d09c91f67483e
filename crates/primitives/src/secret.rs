//! Arrays of shares.

use std::fmt;
use std::ops::{Deref, DerefMut};

use zeroize::Zeroize;

use crate::Block512;

/// An array of blocks that hold secrets: wiped when it is dropped, and in its old place when it grows. `Debug` prints the
/// length only.
#[derive(Default)]
pub struct SecretBlocks(Vec<Block512>);

impl SecretBlocks {
    /// `blocks` blocks of zeros, whose memory is taken when it is first written.
    pub fn zeroed(blocks: usize) -> Self {
        Self(bytemuck::zeroed_vec(blocks))
    }

    /// Changes the length. What was there stays, as far as it fits; new blocks are zero or hold leftovers of this array.
    pub fn resize(&mut self, blocks: usize) {
        if blocks > self.0.capacity() {
            let mut grown = Self::zeroed(blocks);
            grown[..self.len()].copy_from_slice(self);
            *self = grown;
        } else {
            self.0.resize(blocks, Block512::ZERO);
        }
    }

    /// Overwrites all blocks with zeros.
    pub fn wipe(&mut self) {
        self.0.as_mut_slice().zeroize();
    }
}

impl Drop for SecretBlocks {
    fn drop(&mut self) {
        // What lies beyond the length, after shrinking, too.
        self.0.resize(self.0.capacity(), Block512::ZERO);
        self.wipe();
    }
}

impl Deref for SecretBlocks {
    type Target = [Block512];
    fn deref(&self) -> &[Block512] {
        &self.0
    }
}

impl DerefMut for SecretBlocks {
    fn deref_mut(&mut self) -> &mut [Block512] {
        &mut self.0
    }
}

impl fmt::Debug for SecretBlocks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SecretBlocks({})", self.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resizing_keeps_what_fits() {
        let mut array = SecretBlocks::zeroed(3);
        array[2].0[1] = 7;
        array.resize(100);
        assert_eq!((array.len(), array[2].0[1]), (100, 7));
        assert!(array[3..].iter().all(|block| *block == Block512::ZERO));
        array.resize(3);
        array.resize(5);
        assert_eq!((array.len(), array[2].0[1]), (5, 7));
        array.wipe();
        assert!(array.iter().all(|block| *block == Block512::ZERO));
        assert_eq!(format!("{array:?}"), "SecretBlocks(5)");
    }
}
