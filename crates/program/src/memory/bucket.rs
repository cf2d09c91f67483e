//! The shape of a tree, and its buckets as bits.
//!
//! A slot is `valid`, the address of its block, the block, and the low bits of the block's leaf: those that say where below the bucket it
//! belongs. The bits above them are the bucket's own place, which is public. The label comes last, so that a slot of a
//! deeper level is a prefix of one further up.

use cenote_circuit::{Bit, Builder};

/// The sizes of a tree: all that its circuits depend on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Shape {
    /// Bits of an address.
    pub(super) address: u32,
    /// Levels below the root, at least one; the tree has `2^height` leaves.
    pub(super) height: u32,
    /// Bits of a block.
    pub(super) data: u32,
    /// Slots of a bucket.
    pub(super) bucket: u32,
    /// Slots of the stash.
    pub(super) stash: u32,
    /// The bins that the first blocks are in, if there were any.
    pub(super) bins: Option<Bins>,
}

/// Where blocks lie that were there from the beginning and have not been accessed: by the high bits of their labels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Bins {
    /// Those bits: there are `2^bits` bins.
    pub(super) bits: u32,
    /// Slots of a bin.
    pub(super) capacity: u32,
}

impl Shape {
    /// Bits of a slot with so many bits of label.
    fn slot(&self, label: u32) -> u32 {
        1 + self.address + self.data + label
    }

    /// Bits of a bucket of this level; the root is level 0.
    pub(super) fn bucket_bits(&self, level: u32) -> u32 {
        self.bucket * self.slot(self.height - level)
    }

    /// Bits of a bin: its slots are those of a leaf.
    pub(super) fn bin_bits(&self, bins: Bins) -> u32 {
        bins.capacity * self.slot(0)
    }

    /// Bits of the stash.
    pub(super) fn stash_bits(&self) -> u32 {
        self.stash * self.slot(self.height)
    }

    /// The slots of `bits`: those of the stash, of a bucket of some level, or of a bin, which comes after the last level.
    pub(super) fn slots(&self, bits: &[Bit], level: Option<u32>) -> Vec<Vec<Bit>> {
        let width = self.slot(self.height.saturating_sub(level.unwrap_or(0)));
        bits.chunks(width as usize).map(<[Bit]>::to_vec).collect()
    }

    pub(super) fn address_of<'a>(&self, slot: &'a [Bit]) -> &'a [Bit] {
        &slot[1..][..self.address as usize]
    }

    pub(super) fn data_of<'a>(&self, slot: &'a [Bit]) -> &'a [Bit] {
        &slot[1 + self.address as usize..][..self.data as usize]
    }

    pub(super) fn label_of<'a>(&self, slot: &'a [Bit]) -> &'a [Bit] {
        &slot[(1 + self.address + self.data) as usize..]
    }
}

impl std::fmt::Display for Shape {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Shape {
            address,
            height,
            data,
            bucket,
            stash,
            bins,
        } = self;
        write!(f, "a{address} h{height} d{data} b{bucket} s{stash}")?;
        match bins {
            Some(Bins { bits, capacity }) => write!(f, " n{bits} c{capacity}"),
            None => Ok(()),
        }
    }
}

/// `bit ∧ word`.
pub(super) fn masked(b: &mut Builder, bit: Bit, word: &[Bit]) -> Vec<Bit> {
    word.iter().map(|&x| b.and(bit, x)).collect()
}

/// Adds (XOR) `word` to `sum`.
pub(super) fn add_to(b: &mut Builder, sum: &mut [Bit], word: &[Bit]) {
    for (sum, &bit) in sum.iter_mut().zip(word) {
        *sum = b.xor(*sum, bit);
    }
}
