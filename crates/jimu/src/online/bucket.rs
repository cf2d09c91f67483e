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
use super::{Kind, PROVED, Supply, ready};
use crate::gadget::{Shape, words};
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
    /// Whether no gate of some bucket gives a label of its wire. With right solderings this does not happen; with wrong ones it may
    /// depend on this party's inputs, so it is said after these have passed.
    broken: bool,
}

impl Supply {
    /// The shape of gadgets, and how many make a bucket.
    fn bucket(&self) -> (Shape, usize) {
        (self.shape, self.parameters.bucket() as usize)
    }
}

impl Garbler {
    /// Solders a wire of a gadget to a cell.
    #[inline(always)]
    fn solder(solderings: &mut Solderings, to: [&[Block]; 2], mac: [u64; 2]) {
        let sums = to[0].iter().zip(to[1]).map(|(&a, &b)| a ^ b);
        solderings.labels.extend(sums);
        solderings.macs.push([mac[0] ^ mac[1]]);
    }

    /// Gates on cells: solders a bucket for each gadget, and appends the cells of its outputs.
    pub(super) fn gates(
        &mut self,
        kind: Kind,
        [left, right]: [&[Block]; 2],
        outputs: &mut Vec<Block>,
        channel: &mut dyn Channel,
    ) -> Result<()> {
        let (shape, each) = self.common.supply(kind).bucket();
        let cell = self.common.cell;
        let (lefts, record) = (shape.width * cell.size(), shape.garbler_blocks());
        let count = right.len() / cell.size();
        ready(self, kind, count * each, channel)?;
        self.common.draw(kind, count, each)?;
        let solderings = &mut self.solderings;
        solderings.labels.clear();
        let buckets = self.common.drawn.chunks_exact(each * record);
        let operands = left.chunks_exact(lefts).zip(right.chunks_exact(cell.size()));
        for (bucket, (left, right)) in buckets.zip(operands) {
            let (first, others) = bucket.split_at(record);
            let inputs = left.chunks_exact(cell.size()).chain([right]);
            for (wire, operand) in inputs.enumerate() {
                for gadget in bucket.chunks_exact(record) {
                    let macs = [operand[cell.word()].0[0], words(gadget, shape.macs())[wire]];
                    Self::solder(
                        solderings,
                        [&operand[cell.label()], &gadget[shape.label(wire)]],
                        macs,
                    );
                }
            }
            for wire in (0..shape.width).map(|gate| shape.output(gate)) {
                let (label, mac) = (&first[shape.label(wire)], words(first, shape.macs())[wire]);
                for gadget in others.chunks_exact(record) {
                    let macs = [mac, words(gadget, shape.macs())[wire]];
                    Self::solder(solderings, [label, &gadget[shape.label(wire)]], macs);
                }
                outputs.extend_from_slice(label);
                outputs.push(Block([mac, 0]));
            }
        }
        channel.send(steps::SOLDER, as_bytes(&solderings.labels[..]))?;
        self.prove(PROVED, channel)
    }

    /// Solders cells to gates that they are anchored to, as both operands.
    pub(super) fn anchor_cells(&mut self, cells: &[Block], channel: &mut dyn Channel) -> Result<()> {
        let (shape, _) = self.common.supply(Kind::And).bucket();
        let (cell, each) = (self.common.cell, self.common.anchor());
        let count = cells.len() / cell.size();
        ready(self, Kind::And, count * each, channel)?;
        self.common.draw(Kind::And, count, each)?;
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
        labels.resize(first + count * self.common.cell.blocks, Block::ZERO);
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

    /// Gates on cells: evaluates a bucket for each gadget, and appends the cells of its outputs.
    pub(super) fn gates(
        &mut self,
        kind: Kind,
        [left, right]: [&[Block]; 2],
        outputs: &mut Vec<Block>,
        channel: &mut dyn Channel,
    ) -> Result<()> {
        let (shape, each) = self.common.supply(kind).bucket();
        let cell = self.common.cell;
        let (blocks, width) = (shape.blocks, shape.width);
        let (lefts, record) = (width * cell.size(), shape.evaluator_blocks());
        let count = right.len() / cell.size();
        ready(self, kind, count * each, channel)?;
        self.common.draw(kind, count, each)?;
        let of_inputs = (width + 1) * each;
        let solderings = of_inputs + width * (each - 1);
        let received = self.receive_solderings(count * solderings, channel)?;
        let (unproved, work) = (&mut self.unproved, &mut self.work);
        work.clear();
        let buckets = self.common.drawn.chunks_exact(each * record);
        let operands = left.chunks_exact(lefts).zip(right.chunks_exact(cell.size()));
        for (at, (bucket, (left, right))) in buckets.clone().zip(operands).enumerate() {
            let (first, others) = bucket.split_at(record);
            let soldered = &unproved.labels[received + at * solderings * blocks..];
            for gadget in 0..each {
                let soldered_to = |labels: &mut Vec<Block>, operand: &[Block], wire: usize| {
                    let soldering = &soldered[(wire * each + gadget) * blocks..][..blocks];
                    let sum = operand[cell.label()].iter().zip(soldering);
                    labels.extend(sum.map(|(&a, &b)| a ^ b));
                };
                for (wire, operand) in left.chunks_exact(cell.size()).enumerate() {
                    soldered_to(&mut work.lefts, operand, wire);
                }
                soldered_to(&mut work.rights, right, shape.right());
            }
            for gadget in bucket.chunks_exact(record) {
                work.tables.extend_from_slice(&gadget[shape.tables()]);
                let number = words(gadget, shape.keys())[shape.wires()];
                work.numbers.extend((0..width as u64).map(|gate| number + gate));
            }
            let inputs = left.chunks_exact(cell.size()).chain([right]);
            for (wire, operand) in inputs.enumerate() {
                for gadget in bucket.chunks_exact(record) {
                    let keys = [operand[cell.word()].0[0], words(gadget, shape.keys())[wire]];
                    Self::expect(
                        unproved,
                        [&operand[..cell.before], &gadget[shape.hash(wire)]],
                        keys,
                    );
                }
            }
            for wire in (0..width).map(|gate| shape.output(gate)) {
                let (hash, key) = (&first[shape.hash(wire)], words(first, shape.keys())[wire]);
                for gadget in others.chunks_exact(record) {
                    let keys = [key, words(gadget, shape.keys())[wire]];
                    Self::expect(unproved, [hash, &gadget[shape.hash(wire)]], keys);
                }
            }
        }
        work.outputs.resize(count * each * width * blocks, Block::ZERO);
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
        let given = work.outputs.chunks_exact_mut(each * width * blocks);
        for (at, (given, bucket)) in given.zip(buckets).enumerate() {
            let soldered = &unproved.labels[received + (at * solderings + of_inputs) * blocks..];
            let (first, others) = given.split_at_mut(width * blocks);
            for (number, other) in others.chunks_exact_mut(width * blocks).enumerate() {
                for (gate, other) in other.chunks_exact_mut(blocks).enumerate() {
                    let soldering = &soldered[(gate * (each - 1) + number) * blocks..][..blocks];
                    let first = &first[gate * blocks..][..blocks];
                    for ((other, &soldering), &first) in other.iter_mut().zip(soldering).zip(first) {
                        *other ^= soldering;
                        let difference = (*other ^ first).0;
                        off |= difference[0] | difference[1];
                    }
                }
            }
            let gadget = &bucket[..record];
            for (gate, label) in first.chunks_exact(blocks).enumerate() {
                let wire = shape.output(gate);
                outputs.extend_from_slice(&gadget[shape.hash(wire)]);
                outputs.extend_from_slice(label);
                outputs.push(Block([words(gadget, shape.keys())[wire], 0]));
            }
        }
        if off != 0 {
            self.settle_differences(count, [each, width], outputs);
        }
        self.prove(PROVED, channel)
    }

    /// The gates of some buckets do not agree: finds the right label of each by its i-hash. Two different right ones are Δ apart.
    ///
    /// Nothing that the garbler could notice depends on this.
    fn settle_differences(&mut self, count: usize, [each, width]: [usize; 2], outputs: &mut [Block]) {
        let (cell, blocks) = (self.common.cell, self.common.cell.blocks);
        let first = outputs.len() - count * width * cell.size();
        for (at, cell_of) in outputs[first..].chunks_exact_mut(cell.size()).enumerate() {
            let (bucket, gate) = (at / width, at % width);
            let given = (0..each).map(|gadget| {
                let label = (bucket * each + gadget) * width + gate;
                &self.work.outputs[label * blocks..(label + 1) * blocks]
            });
            if given.clone().all(|label| label == &cell_of[cell.label()]) {
                continue;
            }
            let mut right: Option<(&[Block], u64)> = None;
            for label in given {
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
            match right {
                Some((label, _)) => cell_of[cell.label()].copy_from_slice(label),
                None => self.unproved.broken = true,
            }
        }
    }

    /// Receives what cells are anchored to.
    pub(super) fn anchor_cells(
        &mut self,
        cells: &[Block],
        anchors: &mut Anchors,
        channel: &mut dyn Channel,
    ) -> Result<()> {
        let (shape, _) = self.common.supply(Kind::And).bucket();
        let (cell, each) = (self.common.cell, self.common.anchor());
        let count = cells.len() / cell.size();
        ready(self, Kind::And, count * each, channel)?;
        self.common.draw(Kind::And, count, each)?;
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
        let Unproved {
            labels,
            hashes,
            keys,
            broken,
        } = &mut self.unproved;
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
        if *broken {
            let detail = "no gate of a bucket gives a label of its wire";
            return Err(Error::cheated(
                checks::BUCKET,
                channel.peer(),
                steps::SOLDER,
                detail,
            ));
        }
        labels.clear();
        hashes.clear();
        keys.clear();
        Ok(())
    }
}
