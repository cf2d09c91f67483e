//! Buckets: gadgets drawn, soldered to wires and to one another, and evaluated.
//!
//! Of a bucket's solderings come those of the left operands, of the right ones, and of the outputs but the first, whose wire is the
//! bucket's.

use cenote_garble::wide;
use cenote_net::Channel;
use cenote_primitives::{Block, as_bytes, as_bytes_mut};
use cenote_session::{Error, Result};
use zeroize::Zeroizing;

use super::evaluator::Evaluator;
use super::garbler::Garbler;
use super::{PROVED, ready};
use crate::gadget::words;
use crate::provenance::Anchors;
use crate::{checks, steps};

/// What the garbler solders: labels, and MACs for the next proof.
#[derive(Default)]
pub(super) struct Solderings {
    labels: Zeroizing<Vec<Block>>,
    macs: Zeroizing<Vec<[u64; 1]>>,
}

/// What the evaluator has to verify: labels, and the i-hashes and keys that they are to have.
#[derive(Default)]
pub(super) struct Unproved {
    labels: Zeroizing<Vec<Block>>,
    hashes: Zeroizing<Vec<Block>>,
    keys: Zeroizing<Vec<[u64; 1]>>,
}

impl Garbler {
    /// Solders a wire of a gadget to a cell.
    #[inline(always)]
    fn solder(solderings: &mut Solderings, to: [&[Block]; 2], mac: [u64; 2]) {
        let sums = to[0].iter().zip(to[1]).map(|(&a, &b)| a ^ b);
        solderings.labels.extend(sums);
        solderings.macs.push([mac[0] ^ mac[1]]);
    }

    /// AND gates on cells: solders a bucket for each, and appends the cells of their outputs.
    pub(super) fn ands(
        &mut self,
        [left, right]: [&[Block]; 2],
        outputs: &mut Vec<Block>,
        channel: &mut dyn Channel,
    ) -> Result<()> {
        let (cell, shape, each) = (self.common.cell, self.common.shape, self.common.bucket());
        let count = left.len() / cell.size();
        ready(self, count * each, channel)?;
        self.common.draw(count, each)?;
        let solderings = &mut self.solderings;
        solderings.labels.clear();
        let buckets = self.common.drawn.chunks_exact(each * shape.garbler_blocks());
        let operands = left
            .chunks_exact(cell.size())
            .zip(right.chunks_exact(cell.size()));
        for (bucket, (left, right)) in buckets.zip(operands) {
            let mut gadgets = bucket.chunks_exact(shape.garbler_blocks());
            for (wire, operand) in [(shape.left(0), left), (shape.right(), right)] {
                for gadget in gadgets.clone() {
                    let macs = [operand[cell.word()].0[0], words(gadget, shape.macs())[wire]];
                    Self::solder(
                        solderings,
                        [&operand[cell.label()], &gadget[shape.label(wire)]],
                        macs,
                    );
                }
            }
            let wire = shape.output(0);
            let first = gadgets.next().expect("a bucket has a gadget");
            let (label, mac) = (&first[shape.label(wire)], words(first, shape.macs())[wire]);
            for gadget in gadgets {
                let macs = [mac, words(gadget, shape.macs())[wire]];
                Self::solder(solderings, [label, &gadget[shape.label(wire)]], macs);
            }
            outputs.extend_from_slice(label);
            outputs.push(Block([mac, 0]));
        }
        channel.send(steps::SOLDER, as_bytes(&solderings.labels[..]))?;
        self.common.buckets += count as u64;
        self.prove(PROVED, channel)
    }

    /// Solders cells to gates that they are anchored to, as both operands.
    pub(super) fn anchor_cells(&mut self, cells: &[Block], channel: &mut dyn Channel) -> Result<()> {
        let (cell, shape, each) = (self.common.cell, self.common.shape, self.common.anchor());
        let count = cells.len() / cell.size();
        ready(self, count * each, channel)?;
        self.common.draw(count, each)?;
        let solderings = &mut self.solderings;
        solderings.labels.clear();
        let anchors = self.common.drawn.chunks_exact(each * shape.garbler_blocks());
        for (anchors, operand) in anchors.zip(cells.chunks_exact(cell.size())) {
            for gadget in anchors.chunks_exact(shape.garbler_blocks()) {
                for wire in [shape.left(0), shape.right()] {
                    let macs = [operand[cell.word()].0[0], words(gadget, shape.macs())[wire]];
                    Self::solder(
                        solderings,
                        [&operand[cell.label()], &gadget[shape.label(wire)]],
                        macs,
                    );
                }
            }
        }
        channel.send(steps::SOLDER, as_bytes(&solderings.labels[..]))?;
        self.prove(PROVED, channel)
    }

    /// Proves what was soldered since the last proof, if it is `least` or more.
    pub(super) fn prove(&mut self, least: usize, channel: &mut dyn Channel) -> Result<()> {
        if self.solderings.macs.len() >= least.max(1) {
            let proof = self.keys.opener.prove(&self.solderings.macs);
            channel.send(steps::PROVE, &proof)?;
            self.solderings.macs.clear();
        }
        Ok(())
    }
}

impl Evaluator {
    /// Receives `count` solderings, which are appended to what is to be verified; returns where they begin.
    fn receive_solderings(&mut self, count: usize, channel: &mut dyn Channel) -> Result<usize> {
        let labels = &mut self.unproved.labels;
        let first = labels.len();
        labels.resize(first + count * self.common.shape.blocks, Block::ZERO);
        channel.recv(steps::SOLDER, as_bytes_mut(&mut labels[first..]))?;
        Ok(first)
    }

    /// Notes what the next soldering is to be.
    #[inline(always)]
    fn expect(unproved: &mut Unproved, hashes: [&[Block]; 2], keys: [u64; 2]) {
        let sums = hashes[0].iter().zip(hashes[1]).map(|(&a, &b)| a ^ b);
        unproved.hashes.extend(sums);
        unproved.keys.push([keys[0] ^ keys[1]]);
    }

    /// AND gates on cells: evaluates a bucket for each, and appends the cells of their outputs.
    pub(super) fn ands(
        &mut self,
        [left, right]: [&[Block]; 2],
        outputs: &mut Vec<Block>,
        channel: &mut dyn Channel,
    ) -> Result<()> {
        let (cell, shape, each) = (self.common.cell, self.common.shape, self.common.bucket());
        let blocks = shape.blocks;
        let count = left.len() / cell.size();
        ready(self, count * each, channel)?;
        self.common.draw(count, each)?;
        let solderings = 3 * each - 1;
        let received = self.receive_solderings(count * solderings, channel)?;
        let (unproved, work) = (&mut self.unproved, &mut self.work);
        work.clear();
        let buckets = self.common.drawn.chunks_exact(each * shape.evaluator_blocks());
        let operands = left
            .chunks_exact(cell.size())
            .zip(right.chunks_exact(cell.size()));
        for (at, (bucket, (left, right))) in buckets.clone().zip(operands).enumerate() {
            let soldered = &unproved.labels[received + at * solderings * blocks..];
            for (labels, operand, soldered) in [
                (&mut work.lefts, left, soldered),
                (&mut work.rights, right, &soldered[each * blocks..]),
            ] {
                for soldering in soldered[..each * blocks].chunks_exact(blocks) {
                    let sum = operand[cell.label()].iter().zip(soldering);
                    labels.extend(sum.map(|(&a, &b)| a ^ b));
                }
            }
            for gadget in bucket.chunks_exact(shape.evaluator_blocks()) {
                work.tables.extend_from_slice(&gadget[shape.tables()]);
                work.numbers.push(words(gadget, shape.keys())[shape.wires()]);
            }
            let mut gadgets = bucket.chunks_exact(shape.evaluator_blocks());
            for (wire, operand) in [(shape.left(0), left), (shape.right(), right)] {
                for gadget in gadgets.clone() {
                    let keys = [operand[cell.word()].0[0], words(gadget, shape.keys())[wire]];
                    Self::expect(
                        unproved,
                        [&operand[..cell.before], &gadget[shape.hash(wire)]],
                        keys,
                    );
                }
            }
            let wire = shape.output(0);
            let first = gadgets.next().expect("a bucket has a gadget");
            let (hash, key) = (&first[shape.hash(wire)], words(first, shape.keys())[wire]);
            for gadget in gadgets {
                let keys = [key, words(gadget, shape.keys())[wire]];
                Self::expect(unproved, [hash, &gadget[shape.hash(wire)]], keys);
            }
        }
        work.outputs.resize(count * each * blocks, Block::ZERO);
        let start = &self.keys.start;
        wide::evaluate(
            start,
            &work.numbers,
            &work.lefts,
            &work.rights,
            &work.tables,
            &mut work.outputs,
        );
        let mut off = 0;
        let given = work.outputs.chunks_exact_mut(each * blocks);
        for (at, (given, bucket)) in given.zip(buckets).enumerate() {
            let soldered = &unproved.labels[received + (at * solderings + 2 * each) * blocks..];
            let (first, others) = given.split_at_mut(blocks);
            for (other, soldering) in others.chunks_exact_mut(blocks).zip(soldered.chunks_exact(blocks)) {
                for ((other, &soldering), &first) in other.iter_mut().zip(soldering).zip(&*first) {
                    *other ^= soldering;
                    let difference = (*other ^ first).0;
                    off |= difference[0] | difference[1];
                }
            }
            let gadget = &bucket[..shape.evaluator_blocks()];
            outputs.extend_from_slice(&gadget[shape.hash(shape.output(0))]);
            outputs.extend_from_slice(first);
            outputs.push(Block([words(gadget, shape.keys())[shape.output(0)], 0]));
        }
        self.common.buckets += count as u64;
        if off != 0 {
            self.settle_differences(count, outputs, channel)?;
        }
        self.prove(PROVED, channel)
    }

    /// The gates of some buckets do not agree: finds the right label of each by its i-hash. Two different right ones are Δ apart.
    ///
    /// Nothing that the garbler could notice depends on this.
    fn settle_differences(
        &mut self,
        count: usize,
        outputs: &mut [Block],
        channel: &dyn Channel,
    ) -> Result<()> {
        let (cell, blocks, each) = (self.common.cell, self.common.shape.blocks, self.common.bucket());
        let first = outputs.len() - count * cell.size();
        let given = self.work.outputs.chunks_exact(each * blocks);
        for (given, cell_of) in given.zip(outputs[first..].chunks_exact_mut(cell.size())) {
            if given.chunks_exact(blocks).all(|label| label == &given[..blocks]) {
                continue;
            }
            let mut right: Option<(&[Block], u64)> = None;
            for label in given.chunks_exact(blocks) {
                let mut colour = [0];
                let hash = &cell_of[..cell.before];
                if self
                    .keys
                    .watcher
                    .which(label, hash, &self.keys.delta_hash, &mut colour)
                    .is_err()
                {
                    continue;
                }
                match right {
                    None => right = Some((label, colour[0])),
                    Some((other, other_colour)) if other_colour != colour[0] => {
                        let difference = label.iter().zip(other).map(|(&a, &b)| a ^ b);
                        self.delta
                            .get_or_insert_with(|| Zeroizing::new(difference.collect()));
                    }
                    Some(_) => {}
                }
            }
            let Some((label, _)) = right else {
                let detail = "no gate of a bucket gives a label of its wire";
                return Err(Error::cheated(
                    checks::BUCKET,
                    channel.peer(),
                    steps::SOLDER,
                    detail,
                ));
            };
            cell_of[cell.label()].copy_from_slice(label);
        }
        Ok(())
    }

    /// Receives what cells are anchored to.
    pub(super) fn anchor_cells(
        &mut self,
        cells: &[Block],
        anchors: &mut Anchors,
        channel: &mut dyn Channel,
    ) -> Result<()> {
        let (cell, shape, each) = (self.common.cell, self.common.shape, self.common.anchor());
        let count = cells.len() / cell.size();
        ready(self, count * each, channel)?;
        self.common.draw(count, each)?;
        let received = self.receive_solderings(2 * count * each, channel)?;
        anchors
            .solderings
            .extend_from_slice(&self.unproved.labels[received..]);
        let unproved = &mut self.unproved;
        let drawn = self.common.drawn.chunks_exact(each * shape.evaluator_blocks());
        for (gadgets, operand) in drawn.zip(cells.chunks_exact(cell.size())) {
            for gadget in gadgets.chunks_exact(shape.evaluator_blocks()) {
                anchors.tables.extend_from_slice(&gadget[shape.tables()]);
                anchors.numbers.push(words(gadget, shape.keys())[shape.wires()]);
                for wire in [shape.left(0), shape.right()] {
                    let keys = [operand[cell.word()].0[0], words(gadget, shape.keys())[wire]];
                    Self::expect(
                        unproved,
                        [&operand[..cell.before], &gadget[shape.hash(wire)]],
                        keys,
                    );
                }
            }
        }
        self.prove(PROVED, channel)
    }

    /// Verifies what was soldered since the last proof, if it is `least` or more.
    pub(super) fn prove(&mut self, least: usize, channel: &mut dyn Channel) -> Result<()> {
        let Unproved { labels, hashes, keys } = &mut self.unproved;
        if keys.len() < least.max(1) {
            return Ok(());
        }
        let mut proof = [0; cenote_ot::bits::PROOF_BYTES];
        channel.recv(steps::PROVE, &mut proof)?;
        let mut permuted = vec![0; keys.len().div_ceil(64)];
        let found = self
            .keys
            .watcher
            .which(labels, hashes, &self.keys.delta_hash, &mut permuted);
        found.map_err(|mismatch| {
            Error::cheated(
                checks::SOLDERING,
                channel.peer(),
                steps::SOLDER,
                mismatch.to_string(),
            )
        })?;
        self.keys
            .verifier
            .verify(channel.peer(), steps::PROVE, keys, &permuted, &proof)?;
        labels.clear();
        hashes.clear();
        keys.clear();
        Ok(())
    }
}
