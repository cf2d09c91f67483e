//! Arrays of shares.

use std::fmt;
use std::ops::{Deref, DerefMut};

use bytemuck::Pod;
use zeroize::{Zeroize, Zeroizing};

use crate::Block512;

/// Bytes of a page of memory.
const PAGE: usize = 4096;

/// Overwrites what was written of `items` with zeros, and frees them. What was never written takes no memory before, and is not made to
/// take any: of a large array that was hardly begun this is most of the time.
pub fn wipe<T: Pod + Zeroize>(items: &mut Zeroizing<Vec<T>>) {
    let mut items = std::mem::take(&mut **items);
    wipe_written(&mut items);
    items.spare_capacity_mut().zeroize();
}

fn wipe_written<T: Pod + Zeroize>(items: &mut [T]) {
    const { assert!(size_of::<T>() <= PAGE) }
    static ZEROS: [u8; PAGE] = [0; PAGE];
    for page in items.chunks_mut(const { PAGE / size_of::<T>() }) {
        let bytes: &[u8] = bytemuck::cast_slice(page);
        if *bytes != ZEROS[..bytes.len()] {
            page.iter_mut().zeroize();
        }
    }
}

/// An array of blocks that hold secrets: wiped when it is dropped, and in its old place when it grows. `Debug` prints the
/// length only.
#[derive(Default)]
pub struct SecretBlocks(Vec<Block512>);

impl SecretBlocks {
    /// `blocks` blocks of zeros, whose memory is taken when it is first written.
    pub fn zeroed(blocks: usize) -> Self {
        Self(bytemuck::zeroed_vec(blocks))
    }

    /// The same, or nothing if there is no memory for them.
    pub fn try_zeroed(blocks: usize) -> Option<Self> {
        bytemuck::allocation::try_zeroed_vec(blocks).ok().map(Self)
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
        wipe_written(&mut self.0);
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
    use crate::Block;

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

    #[test]
    fn whatever_was_written_is_wiped() {
        for count in [1, 256, 257, 5000] {
            for written in [0, count / 2, count - 1] {
                let mut items = vec![[Block::ZERO; 3]; count];
                items[written][2].0[1] = 1 << 63;
                wipe_written(&mut items);
                assert!(
                    items.iter().all(|item| *item == [Block::ZERO; 3]),
                    "{written} of {count}"
                );
            }
        }
    }

    /// What was never written is not resident afterwards either.
    #[cfg(target_os = "linux")]
    #[test]
    fn wiping_takes_no_memory() {
        let resident = || {
            let status = std::fs::read_to_string("/proc/self/statm").unwrap();
            status.split(' ').nth(1).unwrap().parse::<usize>().unwrap() * PAGE
        };
        let mut array = SecretBlocks::zeroed((256 << 20) / size_of::<Block512>());
        array[0].0[0] = 1;
        let before = resident();
        array.wipe();
        let taken = resident().saturating_sub(before);
        assert!(taken < 128 << 20, "{taken} bytes");
        assert_eq!(array[0], Block512::ZERO);
    }
}
