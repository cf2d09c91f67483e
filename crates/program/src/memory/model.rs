//! The same trees in the clear: what the circuits are compared with, and the bound on the stash.

use super::bucket::Shape;

/// A block: its address and its label.
pub(super) type Block = (u64, u64);

/// Slots, each with a block or empty.
pub(super) type Slots = Vec<Option<Block>>;

/// A tree and its stash.
pub(super) struct Model {
    shape: Shape,
    pub(super) stash: Slots,
    pub(super) levels: Vec<Vec<Slots>>,
    turn: u64,
}

impl Model {
    pub(super) fn new(shape: Shape) -> Self {
        Self {
            shape,
            stash: vec![None; shape.stash as usize],
            levels: (0..=shape.height)
                .map(|level| vec![vec![None; shape.bucket as usize]; 1 << level])
                .collect(),
            turn: 0,
        }
    }

    pub(super) fn in_stash(&self) -> usize {
        self.stash.iter().flatten().count()
    }

    fn place(&self, leaf: u64, level: usize) -> usize {
        (leaf >> (self.shape.height as usize - level)) as usize
    }

    /// Takes the block at `address` off the path to `leaf`: whether it was there.
    pub(super) fn find(&mut self, leaf: u64, address: u64) -> bool {
        let places: Vec<usize> = (0..self.levels.len())
            .map(|level| self.place(leaf, level))
            .collect();
        let buckets = self
            .levels
            .iter_mut()
            .zip(places)
            .map(|(level, place)| &mut level[place]);
        let slots = std::iter::once(&mut self.stash).chain(buckets).flatten();
        let mut found = false;
        for slot in slots {
            if slot.is_some_and(|(at, _)| at == address) {
                *slot = None;
                found = true;
            }
        }
        found
    }

    /// Puts a block in and evicts twice; whether a block was lost.
    pub(super) fn insert(&mut self, block: Block) -> bool {
        let lost = self.evict(Some(block));
        self.evict(None);
        lost
    }

    /// One eviction, as in the paper: levels are 0 for the stash, 1 for the root and so on.
    fn evict(&mut self, joins: Option<Block>) -> bool {
        let height = self.shape.height as usize;
        let leaf = self.turn.reverse_bits() >> (64 - height);
        self.turn += 1;
        let places: Vec<usize> = (0..=height).map(|level| self.place(leaf, level)).collect();
        let mut path: Vec<&mut Slots> = vec![&mut self.stash];
        path.extend(
            self.levels
                .iter_mut()
                .zip(&places)
                .map(|(level, &place)| &mut level[place]),
        );

        // How far from the leaf a block with some label must stay.
        let distance = |label: u64| (u64::BITS - (label ^ leaf).leading_zeros()) as usize;
        // Of each bucket the slot whose block may go furthest; what joins is one slot more of the stash.
        let best: Vec<Option<(usize, usize)>> = (0..=height)
            .map(|level| {
                let joins = (level == 0).then_some(joins);
                let slots = path[level].iter().copied().chain(joins).enumerate();
                slots.filter_map(|(at, slot)| Some((distance(slot?.1), at))).min()
            })
            .collect();
        let lowest = |level: usize| best[level].map_or(0, |(distance, _)| height + 1 - distance);

        let (mut goal, mut from) = (lowest(0), 0);
        let mut sources = vec![None];
        for level in 1..height + 2 {
            sources.push((goal >= level).then_some(from));
            if level <= height && lowest(level) > goal {
                (goal, from) = (lowest(level), level);
            }
        }
        let mut wanted = None;
        let (mut gives, mut takes) = (vec![false; height + 2], vec![false; height + 2]);
        for level in (0..height + 2).rev() {
            gives[level] = wanted == Some(level);
            if gives[level] {
                wanted = None;
            }
            let room = gives[level] || path[level].contains(&None);
            if wanted.is_none() && room && level > 0 && sources[level].is_some() {
                wanted = sources[level];
                takes[level] = true;
            }
        }
        let mut held = joins;
        let mut lost = false;
        for level in 0..height + 2 {
            let first_empty = path[level].iter().position(Option::is_none);
            let slot = if gives[level] {
                best[level].map(|(_, at)| at).filter(|&at| at < path[level].len())
            } else if takes[level] || level == 0 && joins.is_some() {
                lost |= first_empty.is_none();
                first_empty
            } else {
                None
            };
            if let Some(slot) = slot {
                std::mem::swap(&mut path[level][slot], &mut held);
            }
        }
        lost
    }
}
