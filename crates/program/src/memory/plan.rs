//! Which structure a memory has, and what an access costs.

use cenote_params::memory;

use super::bucket::{Bins, Shape};
use super::entry::entry;
use super::index::{IndexKind, address_bits, clamp};
use super::scan;
use super::settings::{Access, Settings, Structure};
use super::tree::{eviction, finding};

/// The trees of a Circuit ORAM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Plan {
    /// Blocks.
    pub(super) blocks: usize,
    /// The tree of the blocks.
    pub(super) tree: Shape,
    /// The trees of labels, the largest first.
    pub(super) maps: Vec<Shape>,
    /// Labels to a block, as a power of 2.
    pub(super) factor_bits: u32,
    /// Labels that are in a row.
    pub(super) row: usize,
    /// Bits of a label in the row.
    pub(super) row_bits: u32,
}

impl Plan {
    /// For `blocks` blocks of `width` bits; `None` if there is no more than one, or the structure is a row.
    /// Memories that begin with the blocks of a row have bins.
    pub(super) fn new(
        blocks: usize,
        width: u32,
        structure: Structure,
        settings: &Settings,
        of_row: bool,
    ) -> Option<Self> {
        let Structure::CircuitOram { factor_bits, cutoff } = structure else {
            return None;
        };
        if blocks < 2 {
            return None;
        }
        let factor = 1usize << factor_bits;
        let mut sizes = vec![blocks];
        let mut row = blocks;
        while row > cutoff.max(factor) {
            row = row.div_ceil(factor);
            sizes.push(row);
        }
        let trees = sizes.len() as u32;
        // Stashes and bins have half of the probability each.
        let security = settings.security + u32::from(of_row);
        let stash = settings
            .stash
            .unwrap_or_else(|| memory::stash(security, settings.accesses, trees));
        let of_each = security + trees.next_power_of_two().ilog2();
        let mut data = width;
        let mut shapes = sizes.iter().map(|&size| {
            let bits = address_bits(size);
            let shape = Shape {
                address: bits,
                height: bits,
                data,
                bucket: settings.bucket,
                stash,
                bins: of_row.then(|| bins(size, of_each)),
            };
            data = bits << factor_bits;
            shape
        });
        let tree = shapes.next().expect("there is a tree of the blocks");
        let maps: Vec<Shape> = shapes.collect();
        Some(Self {
            blocks,
            tree,
            row,
            row_bits: maps.last().unwrap_or(&tree).height,
            factor_bits,
            maps,
        })
    }

    /// Random bits of an access.
    pub(super) fn coins(&self) -> u32 {
        let maps = self.maps.iter().map(|map| map.height + map.data);
        self.tree.height + maps.sum::<u32>()
    }

    /// ANDs of an access by an index.
    pub(super) fn ands(&self, access: Access, kind: IndexKind) -> u64 {
        let trees = || [self.tree].into_iter().chain(self.maps.iter().copied());
        let moves: u64 = trees()
            .map(|shape| finding(shape).ands + eviction(shape).ands)
            .sum();
        // The labels of each tree are in the next one.
        let labels = trees()
            .zip(&self.maps)
            .map(|(shape, _)| entry(self.factor_bits, shape.height).ands);
        let data = u64::from(self.tree.data);
        let block = match access {
            Access::Read | Access::Write => data,
            Access::Secret => 2 * data + 1,
        };
        let row = scan::exchange_ands(self.row, self.row_bits);
        clamp(kind, self.blocks).ands + moves + labels.sum::<u64>() + row + block
    }
}

/// Bins for `blocks` blocks: a good ten blocks in each.
fn bins(blocks: usize, security: u32) -> Bins {
    let bits = address_bits(blocks).saturating_sub(5).max(1);
    Bins {
        bits,
        capacity: memory::bin(security, blocks as u64, 1 << bits),
    }
}
