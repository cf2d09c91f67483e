//! Fresh gadgets: garbled and hashed by the garbler, checked at random, and what was not checked put into the pool.
//!
//! All gadgets of a buffer are made and sent before the coin is tossed that decides which of them are checked, and with it what is
//! drawn until the next buffer. A gadget is checked on random inputs: the garbler opens the permutation bits of its wires and the labels
//! of its inputs; the evaluator compares them with their i-hashes, evaluates, and compares the output labels with theirs. A bad
//! gate is wrong on two of its four inputs at least, so each check finds it with probability 1/2 (`cenote_params::lego::GATE_FOUND`).

mod evaluator;
mod garbler;
mod maker;
#[cfg(test)]
mod tests;

use std::ops::Range;

use cenote_commit::ihash::{Batch, Code};
use cenote_net::Channel;
use cenote_primitives::{Block, as_bytes, as_bytes_mut};
use cenote_session::Result;
use zeroize::Zeroizing;

use crate::gadget::{Shape, Wires};
use crate::setup::Counters;
use crate::steps;

pub(crate) use garbler::pack;
pub(crate) use maker::{Delivery, Make, Maker, Order};

/// Gates made at once: few enough for the caches, many enough for the kernels.
const PIECE: usize = 1024;

/// The gadgets of a buffer that are made together.
fn pieces(count: usize, width: usize) -> impl Iterator<Item = Range<usize>> {
    let piece = (PIECE / width).next_multiple_of(64);
    (0..count)
        .step_by(piece)
        .map(move |first| first..(first + piece).min(count))
}

/// Gadgets that are made together, as one party has them: labels or i-hashes of the left operands, the right ones and the outputs, what is
/// sent of these, and tables.
#[derive(Default)]
struct Piece {
    gadgets: usize,
    labels: [Zeroizing<Vec<Block>>; 3],
    sent: [Vec<u8>; 3],
    tables: Vec<Block>,
}

impl Piece {
    /// Room for gadgets in `range`, with `size` blocks of a wire, and where their labels are in the streams of the seeds.
    fn begin(
        &mut self,
        range: &Range<usize>,
        shape: Shape,
        size: usize,
        code: &Code,
        counters: &mut Counters,
    ) -> [Batch; 3] {
        self.gadgets = range.len();
        let gates = self.gadgets * shape.width;
        let batches = [gates, self.gadgets, gates].map(|labels| counters.labels.take(labels));
        for (labels, batch) in self.labels.iter_mut().zip(batches) {
            labels.resize(batch.labels * size, Block::ZERO);
        }
        let [left, right, output] = batches;
        let bytes = [
            code.random_bytes(left),
            code.random_bytes(right),
            code.chosen_bytes(output),
        ];
        for (sent, bytes) in self.sent.iter_mut().zip(bytes) {
            sent.resize(bytes, 0);
        }
        self.tables.resize(2 * gates * shape.blocks, Block::ZERO);
        batches
    }

    fn send(&self, channel: &mut dyn Channel) -> Result<()> {
        let [left, right, output] = &self.sent;
        Ok(channel.send_parts(steps::GADGETS, &[left, right, output, as_bytes(&self.tables)])?)
    }

    fn receive(&mut self, channel: &mut dyn Channel) -> Result<()> {
        let [left, right, output] = &mut self.sent;
        let tables = as_bytes_mut(&mut self.tables);
        Ok(channel.recv_parts(steps::GADGETS, &mut [left, right, output, tables])?)
    }

    /// The wires, with the words of each.
    fn wires<'a>(&'a self, words: [&'a [u64]; 3]) -> Wires<'a> {
        let labels = self.labels.each_ref().map(|labels| labels.as_slice());
        Wires { labels, words }
    }
}

/// The words of a piece's gadgets, by the kind of their wires, and those of the rest.
fn words_of(words: &[u64], gadgets: usize, shape: Shape) -> ([&[u64]; 3], &[u64]) {
    let (left, others) = words.split_at(gadgets * shape.width);
    let (right, others) = others.split_at(gadgets);
    let (output, rest) = others.split_at(gadgets * shape.width);
    ([left, right, output], rest)
}

/// What checked gadgets take, where room for it is asked for.
const OPENED: &str = "gadgets that are opened";

/// Gadgets opened in one message, at most.
fn opened_at_once(shape: Shape) -> usize {
    (2 * PIECE / (shape.width + 1)).max(1)
}

/// Bit `input` of what a gadget is checked with: its left operands in order, then the right one.
#[inline(always)]
fn checked_with(bits: u32, input: usize) -> u64 {
    u64::from(bits >> input & 1)
}
