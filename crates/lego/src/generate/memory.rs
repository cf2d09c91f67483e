//! Memory of an epoch: hundreds of megabytes, read once in order and once at random, so in huge pages where there are any.

use cenote_primitives::prefer_huge_pages;

/// `count` zeros.
pub(super) fn zeroed<T: bytemuck::Zeroable>(count: usize) -> Vec<T> {
    let memory = bytemuck::zeroed_vec(count);
    prefer_huge_pages(&memory);
    memory
}
