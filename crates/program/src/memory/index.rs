//! Secret indices: whether they are within the memory, and one-hot.

use cenote_circuit::library::{self, Goal};
use cenote_circuit::{Bit, Builder};

use super::counted::Counted;
use crate::word::Integer;

/// Bits of the addresses `0..blocks`.
pub(super) fn address_bits(blocks: usize) -> u32 {
    blocks.next_power_of_two().trailing_zeros()
}

/// What an index looks like: its bits, and whether it is in two's complement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct IndexKind {
    pub(super) bits: u32,
    pub(super) signed: bool,
}

impl IndexKind {
    /// Of an index of type `I`.
    pub(super) fn of<I: Integer>() -> Self {
        Self {
            bits: I::BITS,
            signed: I::SIGNED,
        }
    }
}

/// From an index: the address of the block, 0 if there is no such block, and whether there is one.
pub(super) fn clamp(kind: IndexKind, blocks: usize) -> Counted {
    let IndexKind { bits, signed } = kind;
    Counted::new(
        format!("memory index {bits} {signed} {blocks}"),
        &[bits],
        Box::new(move |b, operands, goal| {
            let (mut address, within) = bounded(b, operands[0], signed, blocks, goal);
            address.iter_mut().for_each(|bit| *bit = b.and(*bit, within));
            address.push(within);
            address
        }),
    )
}

/// The bits of the address, and whether the index is that of a block.
fn bounded(b: &mut Builder, index: &[Bit], signed: bool, blocks: usize, goal: Goal) -> (Vec<Bit>, Bit) {
    let width = address_bits(blocks) as usize;
    let mut index = index.to_vec();
    let above = if signed {
        index[index.len() - 1]
    } else {
        Bit::FALSE
    };
    index.resize(index.len().max(width + 1), above);
    let (low, high) = index.split_at(width);
    let small = library::is_zero(b, high);
    let within = if blocks.is_power_of_two() {
        small
    } else {
        let less = library::less_than(b, low, &library::constant(blocks as u64, width), goal);
        b.and(small, less)
    };
    (low.to_vec(), within)
}

/// Two one-hot numbers, of which each place of `0..places` is a pair: place `p` is `high[p / low]` and `low[p % low]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Grid {
    pub(super) places: usize,
    pub(super) low: usize,
    pub(super) high: usize,
}

impl Grid {
    pub(super) fn new(places: usize) -> Self {
        let low = 1 << address_bits(places).div_ceil(2);
        Self {
            places,
            low,
            high: places.div_ceil(low),
        }
    }

    /// From an address below `places`: the one-hot numbers, the high one first.
    pub(super) fn of_address(self) -> Counted {
        let bits = address_bits(self.places);
        Counted::new(
            format!("memory places {}", self.places),
            &[bits],
            Box::new(move |b, operands, _| self.emit(b, operands[0], Bit::TRUE)),
        )
    }

    /// From an index: the one-hot numbers, the high one first and without a place if there is no such block.
    pub(super) fn of_index(self, kind: IndexKind) -> Counted {
        let IndexKind { bits, signed } = kind;
        Counted::new(
            format!("memory places {bits} {signed} {}", self.places),
            &[bits],
            Box::new(move |b, operands, goal| {
                let (address, within) = bounded(b, operands[0], signed, self.places, goal);
                self.emit(b, &address, within)
            }),
        )
    }

    fn emit(self, b: &mut Builder, address: &[Bit], within: Bit) -> Vec<Bit> {
        let (low, high) = address.split_at(address_bits(self.low) as usize);
        let low = one_hot(b, low);
        let mut places = one_hot(b, high);
        places.truncate(self.high);
        places.iter_mut().for_each(|place| *place = b.and(*place, within));
        places.extend(low);
        places
    }
}

/// For each number of as many bits, whether it is this one.
pub(super) fn one_hot(b: &mut Builder, number: &[Bit]) -> Vec<Bit> {
    match number {
        [] => vec![Bit::TRUE],
        [bit] => vec![!*bit, *bit],
        _ => {
            let (low, high) = number.split_at(number.len().div_ceil(2));
            let (low, high) = (one_hot(b, low), one_hot(b, high));
            high.iter()
                .flat_map(|&high| low.iter().map(move |&low| (low, high)))
                .map(|(low, high)| b.and(low, high))
                .collect()
        }
    }
}
