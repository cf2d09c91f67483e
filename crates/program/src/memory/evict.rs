//! Moving blocks down two paths (Evict of Circuit ORAM: PrepareDeepest, PrepareTarget, EvictOnceFast), after a block has joined the stash.
//!
//! Each bucket gives at most one block and takes at most one. A bucket that gives a block takes one into the same slot, and others
//! take one into their first empty slot; so a block that moves changes places with one slot of each bucket at
//! most, and a move costs one AND for each bit of each slot. The block that joins the stash is the first one that is held.

use cenote_circuit::library::{self, Goal};
use cenote_circuit::{Bit, Builder};

use super::bucket::{Shape, add_to};

/// From the stash, the root, the buckets below it of two paths that share no other, both leaves, and a block's address, label and data:
/// the stash, the root and the buckets with the block, and whether a block was lost.
pub(super) fn evict(b: &mut Builder, shape: &Shape, operands: &[&[Bit]], goal: Goal) -> Vec<Bit> {
    let height = shape.height as usize;
    let (buckets, rest) = operands.split_at(2 + 2 * height);
    let [first_leaf, second_leaf, address, label, data] = rest else {
        unreachable!("an eviction has two leaves and a block")
    };
    let slots = |bits: &[Bit], level: usize| shape.slots(bits, u32::checked_sub(level as u32, 1));
    let path = |from: usize| (0..height).map(move |below| (from + below, 2 + below));
    let new = [&[Bit::TRUE], *address, *data, *label].concat();
    let nothing = vec![Bit::FALSE; new.len()];

    // Level 0 is the stash, and level 1 the root.
    let mut first: Vec<_> = (0..2).map(|at| slots(buckets[at], at)).collect();
    first.extend(path(2).map(|(at, level)| slots(buckets[at], level)));
    let lost = Pass {
        shape,
        goal,
        leaf: first_leaf,
    }
    .run(b, &mut first, new, true);

    let below = first.split_off(2);
    let mut second = first;
    second.extend(path(2 + height).map(|(at, level)| slots(buckets[at], level)));
    Pass {
        shape,
        goal,
        leaf: second_leaf,
    }
    .run(b, &mut second, nothing, false);

    let last = second.split_off(2);
    let mut outputs: Vec<Bit> = [second, below, last].concat().concat().concat();
    outputs.push(lost);
    outputs
}

/// One eviction along the path to a leaf.
struct Pass<'a> {
    shape: &'a Shape,
    goal: Goal,
    leaf: &'a [Bit],
}

/// What a bucket could give: the block that may go furthest down.
struct Offer {
    /// Which slot it is in.
    best: Match,
    /// How far from the leaf it must stay: the number of levels. One more than the bucket itself is away if there is no block.
    distance: Vec<Bit>,
}

/// The block that is to come into a bucket.
struct Incoming {
    /// Whether there is one that may go so far.
    exists: Bit,
    /// Whether it comes from the stash, from the root and so on: one of those above the bucket.
    levels: Vec<Bit>,
}

impl Pass<'_> {
    /// Evicts, `held` coming into the stash if `joins`; whether it found no room.
    fn run(&self, b: &mut Builder, levels: &mut [Vec<Vec<Bit>>], mut held: Vec<Bit>, joins: bool) -> Bit {
        let last = levels.len() - 1;
        // What joins is a last slot of the stash until it is decided where it goes.
        let mut offers = Vec::with_capacity(last);
        for (level, bucket) in levels[..last].iter().enumerate() {
            let mut candidates: Vec<&[Bit]> = bucket.iter().map(Vec::as_slice).collect();
            if level == 0 && joins {
                candidates.push(&held);
            }
            offers.push(self.offer(b, &candidates));
        }
        let sources = self.deepest(b, &offers);
        let rooms: Vec<Rooms> = levels.iter().map(|bucket| Rooms::of(b, bucket)).collect();
        let (gives, takes) = self.target(b, &sources, &rooms);

        let stays = !gives[0];
        for (level, bucket) in levels.iter_mut().enumerate() {
            let fills = match level {
                0 if joins => stays,
                0 => Bit::FALSE,
                _ => b.and(takes[level], !gives[level]),
            };
            let mut chosen = rooms[level].taken(b, fills);
            if let Some(offer) = offers.get(level) {
                let mut given = Vec::with_capacity(chosen.len());
                offer.best.won(b, gives[level], &mut given);
                add_to(b, &mut chosen, &given);
            }
            exchange(b, &chosen, bucket, &mut held);
        }
        if joins {
            b.and(stays, rooms[0].full)
        } else {
            Bit::FALSE
        }
    }

    /// The block of a bucket that may go furthest down: the first of those that may go equally far.
    fn offer(&self, b: &mut Builder, slots: &[&[Bit]]) -> Offer {
        let distances: Vec<Vec<Bit>> = slots.iter().map(|slot| self.distance(b, slot)).collect();
        let (distance, best) = self.least(b, &distances);
        Offer { best, distance }
    }

    /// How far from the leaf the block in a slot must stay.
    fn distance(&self, b: &mut Builder, slot: &[Bit]) -> Vec<Bit> {
        let label = self.shape.label_of(slot);
        let differs = library::xor(b, label, &self.leaf[..label.len()]);
        // Whether there is a block, and it may go one level down, two levels and so on.
        let mut reaches = vec![slot[0]];
        for &bit in differs.iter().rev() {
            reaches.push(b.and(reaches[reaches.len() - 1], !bit));
        }
        reaches.reverse();
        let mut distance = vec![Bit::FALSE; bits_of(reaches.len())];
        let mut closer = Bit::FALSE;
        for (at, &reach) in reaches.iter().chain(&[Bit::TRUE]).enumerate() {
            let exactly = b.xor(closer, reach);
            for (bit, sum) in distance.iter_mut().enumerate() {
                if at >> bit & 1 == 1 {
                    *sum = b.xor(*sum, exactly);
                }
            }
            closer = reach;
        }
        distance
    }

    /// The least of some numbers, and which one it is: the first one of equals.
    fn least(&self, b: &mut Builder, numbers: &[Vec<Bit>]) -> (Vec<Bit>, Match) {
        if let [number] = numbers {
            return (number.clone(), Match::Alone);
        }
        let (left, right) = numbers.split_at(numbers.len().div_ceil(2));
        let ((left, one), (right, other)) = (self.least(b, left), self.least(b, right));
        let less = library::less_than(b, &right, &left, self.goal);
        let best = library::mux(b, less, &right, &left);
        (best, Match::Of(less, Box::new([one, other])))
    }

    /// For each level of the tree, from level 1 on, where the block comes from that may go there and furthest (PrepareDeepest).
    fn deepest(&self, b: &mut Builder, offers: &[Offer]) -> Vec<Incoming> {
        let (mut goal, mut from) = (offers[0].distance.clone(), vec![Bit::TRUE]);
        let mut sources = Vec::with_capacity(offers.len());
        for level in 1..=offers.len() {
            // The leaf is level `offers.len()`.
            let limit = library::constant((offers.len() - level + 1) as u64, goal.len());
            sources.push(Incoming {
                exists: library::less_than(b, &goal, &limit, Goal::LeastDepth),
                levels: from.clone(),
            });
            if let Some(offer) = offers.get(level) {
                let mut distance = offer.distance.clone();
                distance.resize(goal.len(), Bit::FALSE);
                // A bucket without a block offers less than its own level, which is as good as nothing below it.
                let further = library::less_than(b, &distance, &goal, Goal::LeastDepth);
                goal = library::mux(b, further, &distance, &goal);
                from.iter_mut().for_each(|bit| *bit = b.and(*bit, !further));
                from.push(further);
            }
        }
        sources
    }

    /// Which levels give a block and which take one, from the stash on (PrepareTarget).
    fn target(&self, b: &mut Builder, sources: &[Incoming], rooms: &[Rooms]) -> (Vec<Bit>, Vec<Bit>) {
        let levels = sources.len() + 1;
        let mut takes = vec![Bit::FALSE; levels];
        // Which level is to give the block that a level below takes: at most one is.
        let mut gives = vec![Bit::FALSE; levels];
        let mut wanted = Bit::FALSE;
        for (level, source) in (1..levels).zip(sources).rev() {
            let room = b.and(source.exists, !rooms[level].full);
            let at_once = b.and(gives[level], source.exists);
            let first = b.and(room, !wanted);
            takes[level] = b.xor(at_once, first);
            wanted = b.xor(wanted, gives[level]);
            wanted = b.xor(wanted, takes[level]);
            for (gives, &from) in gives.iter_mut().zip(&source.levels) {
                let here = b.and(takes[level], from);
                *gives = b.xor(*gives, here);
            }
        }
        (gives, takes)
    }
}

/// Bits of the numbers `0..=most`.
fn bits_of(most: usize) -> usize {
    (usize::BITS - most.leading_zeros()) as usize
}

/// Which of several has won, by rounds.
enum Match {
    Alone,
    /// Whether the winner is among the latter ones, and who it is among the former and the latter.
    Of(Bit, Box<[Match; 2]>),
}

impl Match {
    /// For each whether it has won, and `counts` is set.
    fn won(&self, b: &mut Builder, counts: Bit, all: &mut Vec<Bit>) {
        match self {
            Match::Alone => all.push(counts),
            Match::Of(latter, halves) => {
                let right = b.and(counts, *latter);
                let left = b.xor(counts, right);
                halves[0].won(b, left, all);
                halves[1].won(b, right, all);
            }
        }
    }
}

/// The room in a bucket.
struct Rooms {
    /// Which slot is the first empty one.
    first: Vec<Bit>,
    /// Whether there is none.
    full: Bit,
}

impl Rooms {
    fn of(b: &mut Builder, bucket: &[Vec<Bit>]) -> Self {
        let mut full = Bit::TRUE;
        let first = bucket
            .iter()
            .map(|slot| {
                let so_far = full;
                full = b.and(full, slot[0]);
                b.xor(so_far, full)
            })
            .collect();
        Self { first, full }
    }

    /// Which slot is filled, if `fills` is set: then there is room, or the last slot is lost.
    fn taken(&self, b: &mut Builder, fills: Bit) -> Vec<Bit> {
        let (_, all_but_last) = self.first.split_last().expect("a bucket has slots");
        let mut taken: Vec<Bit> = all_but_last.iter().map(|&first| b.and(fills, first)).collect();
        taken.push(taken.iter().fold(fills, |rest, &slot| b.xor(rest, slot)));
        taken
    }
}

/// The chosen slot, of which there is at most one, and what is held change places.
fn exchange(b: &mut Builder, chosen: &[Bit], bucket: &mut [Vec<Bit>], held: &mut Vec<Bit>) {
    held.truncate(bucket[0].len());
    let before = held.clone();
    for (&chosen, slot) in chosen.iter().zip(bucket) {
        for ((bit, held), &before) in slot.iter_mut().zip(held.iter_mut()).zip(&before) {
            let differ = b.xor(*bit, before);
            let change = b.and(chosen, differ);
            *bit = b.xor(*bit, change);
            *held = b.xor(*held, change);
        }
    }
}
