//! Buckets: gadgets drawn, soldered to wires and to one another, and evaluated.
//!
//! Of a bucket's solderings come those of the left operands, of the right ones, and of the outputs but the first, whose wire is the
//! bucket's.

use cenote_garble::wide;
use cenote_net::Channel;
use cenote_primitives::{Block, as_bytes, as_bytes_mut};
use cenote_session::{Error, Result, room};
use zeroize::Zeroizing;

use super::evaluator::Evaluator;
use super::garbler::Garbler;
use super::{Common, INPUTS, Kind, PROVED};
use crate::gadget::{Shape, words};
use crate::provenance::Anchors;
use crate::wires::Cell;
use crate::{checks, steps};

/// What solderings take, where room for it is asked for.
const SOLDERINGS: &str = "solderings";

/// What wires that are soldered differ by: labels and MACs at the garbler, i-hashes and keys at the evaluator.
#[derive(Default)]
pub(super) struct Sums {
    values: Zeroizing<Vec<Block>>,
    words: Zeroizing<Vec<[u64; 1]>>,
}

/// Where a side has the labels or i-hashes and the MACs or keys of wires: in cells, and in records of gadgets.
#[derive(Clone, Copy)]
struct Layout {
    shape: Shape,
    cell: Cell,
    /// Blocks of a label or an i-hash.
    size: usize,
    /// Blocks of a record.
    record: usize,
    /// Where a record begins to have words.
    words: usize,
}

/// A wire: its label or i-hash, and its MAC or key.
type Wire<'a> = (&'a [Block], u64);

impl Layout {
    fn garbler(shape: Shape, cell: Cell) -> Self {
        Self {
            shape,
            cell,
            size: shape.blocks,
            record: shape.garbler_blocks(),
            words: shape.macs(),
        }
    }

    fn evaluator(shape: Shape, cell: Cell) -> Self {
        Self {
            shape,
            cell,
            size: shape.hash_blocks(),
            record: shape.evaluator_blocks(),
            words: shape.keys(),
        }
    }

    /// The wire of a cell: a garbler's begins with the label, an evaluator's with the i-hash.
    #[inline(always)]
    fn of_cell(self, cell: &[Block]) -> Wire<'_> {
        (&cell[..self.size], cell[self.cell.word()].0[0])
    }

    /// A wire of a gadget.
    #[inline(always)]
    fn of_gadget(self, record: &[Block], wire: usize) -> Wire<'_> {
        let value = &record[wire * self.size..(wire + 1) * self.size];
        (value, words(record, self.words)[wire])
    }

    /// Solderings of a bucket of so many gadgets: of its inputs, and all.
    fn solderings(self, each: usize) -> [usize; 2] {
        let of_inputs = (self.shape.width + 1) * each;
        [of_inputs, of_inputs + self.shape.width * (each - 1)]
    }
}

impl Sums {
    /// Makes room for so many more.
    fn reserve(&mut self, more: usize, layout: Layout) -> Result<()> {
        room::grow(SOLDERINGS, &mut self.values, more * layout.size)?;
        room::grow(SOLDERINGS, &mut self.words, more)
    }

    #[inline(always)]
    fn push(&mut self, a: Wire<'_>, b: Wire<'_>) {
        self.values.extend(a.0.iter().zip(b.0).map(|(&a, &b)| a ^ b));
        self.words.push([a.1 ^ b.1]);
    }

    /// Of buckets of gadgets in `drawn`, each soldered to the cells of its left operands and its right one.
    fn of_buckets(&mut self, layout: Layout, drawn: &[Block], each: usize, [left, right]: [&[Block]; 2]) {
        let (shape, cell) = (layout.shape, layout.cell.size());
        let operands = left
            .chunks_exact(shape.width * cell)
            .zip(right.chunks_exact(cell));
        for (bucket, (left, right)) in drawn.chunks_exact(each * layout.record).zip(operands) {
            for (wire, operand) in left.chunks_exact(cell).chain([right]).enumerate() {
                let operand = layout.of_cell(operand);
                for gadget in bucket.chunks_exact(layout.record) {
                    self.push(operand, layout.of_gadget(gadget, wire));
                }
            }
            for gate in 0..shape.width {
                let wire = shape.output(gate);
                let (first, others) = bucket.split_at(layout.record);
                let first = layout.of_gadget(first, wire);
                for gadget in others.chunks_exact(layout.record) {
                    self.push(first, layout.of_gadget(gadget, wire));
                }
            }
        }
    }

    /// Of gates in `drawn` that cells are anchored to, so many each, as both operands.
    fn of_anchors(&mut self, layout: Layout, drawn: &[Block], each: usize, cells: &[Block]) {
        let operands = cells.chunks_exact(layout.cell.size());
        for (anchors, operand) in drawn.chunks_exact(each * layout.record).zip(operands) {
            let operand = layout.of_cell(operand);
            for gadget in anchors.chunks_exact(layout.record) {
                for wire in [layout.shape.left(0), layout.shape.right()] {
                    self.push(operand, layout.of_gadget(gadget, wire));
                }
            }
        }
    }
}

/// What the evaluator has to verify: labels, and the i-hashes and keys that they are to have.
#[derive(Default)]
pub(super) struct Unproved {
    labels: Zeroizing<Vec<Block>>,
    expected: Sums,
    /// Whether no gate of some bucket gives a label of its wire. With right solderings this does not happen; with wrong ones it may
    /// depend on this party's inputs, so it is said after these have passed.
    broken: bool,
}

impl Common {
    /// Draws buckets of gadgets of a kind, whose shape and number in a bucket it gives.
    fn draw_buckets(&mut self, kind: Kind, count: usize, online: &mut dyn Channel) -> Result<(Shape, usize)> {
        let supply = self.supply(kind);
        let (shape, each) = (supply.shape, supply.parameters.bucket() as usize);
        self.ready(kind, count * each, online)?;
        self.draw(kind, count, each)?;
        Ok((shape, each))
    }

    /// Draws gates for so many wires that are anchored.
    pub(super) fn draw_anchors(&mut self, count: usize, online: &mut dyn Channel) -> Result<()> {
        let each = self.anchor();
        self.ready(Kind::And, count * each, online)?;
        self.draw(Kind::And, count, each)
    }

    fn and_shape(&self) -> Shape {
        self.supply(Kind::And).shape
    }
}

impl Garbler {
    /// Gates on cells: solders a bucket for each gadget, and appends the cells of its outputs.
    pub(super) fn gates(
        &mut self,
        kind: Kind,
        operands: [&[Block]; 2],
        outputs: &mut Vec<Block>,
        channel: &mut dyn Channel,
    ) -> Result<()> {
        let cell = self.common.cell;
        let count = operands[1].len() / cell.size();
        let (shape, each) = self.common.draw_buckets(kind, count, channel)?;
        let layout = Layout::garbler(shape, cell);
        let [_, solderings] = layout.solderings(each);
        self.solderings.reserve(count * solderings, layout)?;
        self.solderings
            .of_buckets(layout, &self.common.drawn, each, operands);
        for bucket in self.common.drawn.chunks_exact(each * layout.record) {
            for gate in 0..shape.width {
                let (label, mac) = layout.of_gadget(bucket, shape.output(gate));
                outputs.extend_from_slice(label);
                outputs.push(Block([mac, 0]));
            }
        }
        self.send_solderings(channel)
    }

    /// The cells of wires that are the left operands of the first of the gates drawn for each.
    pub(super) fn drawn_wires(&self) -> Result<Zeroizing<Vec<Block>>> {
        let layout = Layout::garbler(self.common.and_shape(), self.common.cell);
        let anchors = self
            .common
            .drawn
            .chunks_exact(self.common.anchor() * layout.record);
        let mut cells = room::empty(INPUTS, anchors.len() * layout.cell.size())?;
        for gadget in anchors {
            let (label, mac) = layout.of_gadget(gadget, layout.shape.left(0));
            cells.extend_from_slice(label);
            cells.push(Block([mac, 0]));
        }
        Ok(cells)
    }

    /// Solders cells to the gates drawn for them, as both operands.
    pub(super) fn solder_anchors(&mut self, cells: &[Block], channel: &mut dyn Channel) -> Result<()> {
        let layout = Layout::garbler(self.common.and_shape(), self.common.cell);
        let each = self.common.anchor();
        let wires = cells.len() / layout.cell.size();
        self.solderings.reserve(2 * each * wires, layout)?;
        self.solderings
            .of_anchors(layout, &self.common.drawn, each, cells);
        self.send_solderings(channel)
    }

    fn send_solderings(&mut self, channel: &mut dyn Channel) -> Result<()> {
        channel.send(steps::SOLDER, as_bytes(&self.solderings.values[..]))?;
        self.solderings.values.clear();
        self.prove(PROVED, channel)
    }

    /// Proves what was soldered since the last proof, if it is `least` or more.
    pub(super) fn prove(&mut self, least: usize, channel: &mut dyn Channel) -> Result<()> {
        if self.solderings.words.len() >= least.max(1) {
            let proof = self.keys.opener.prove(&self.solderings.words);
            channel.send(steps::PROVE, &proof)?;
            self.solderings.words.clear();
        }
        Ok(())
    }
}

impl Evaluator {
    /// Receives `count` solderings, which are appended to what is to be verified; returns where they begin. There is room for what they
    /// are to be.
    fn receive_solderings(
        &mut self,
        count: usize,
        layout: Layout,
        channel: &mut dyn Channel,
    ) -> Result<usize> {
        self.unproved.expected.reserve(count, layout)?;
        let labels = &mut self.unproved.labels;
        let (first, blocks) = (labels.len(), count * layout.shape.blocks);
        room::grow(SOLDERINGS, labels, blocks)?;
        labels.resize(first + blocks, Block::ZERO);
        channel.recv(steps::SOLDER, as_bytes_mut(&mut labels[first..]))?;
        Ok(first)
    }

    /// Gates on cells: evaluates a bucket for each gadget, and appends the cells of its outputs.
    pub(super) fn gates(
        &mut self,
        kind: Kind,
        [left, right]: [&[Block]; 2],
        outputs: &mut Vec<Block>,
        channel: &mut dyn Channel,
    ) -> Result<()> {
        let cell = self.common.cell;
        let count = right.len() / cell.size();
        let (shape, each) = self.common.draw_buckets(kind, count, channel)?;
        let layout = Layout::evaluator(shape, cell);
        let (blocks, width, record) = (shape.blocks, shape.width, layout.record);
        let [of_inputs, solderings] = layout.solderings(each);
        let received = self.receive_solderings(count * solderings, layout, channel)?;
        let (unproved, work) = (&mut self.unproved, &mut self.work);
        work.clear(count * each, shape)?;
        let buckets = self.common.drawn.chunks_exact(each * record);
        let operands = left
            .chunks_exact(width * cell.size())
            .zip(right.chunks_exact(cell.size()));
        for (at, (left, right)) in operands.enumerate() {
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
        }
        for gadget in self.common.drawn.chunks_exact(record) {
            work.tables.extend_from_slice(&gadget[shape.tables()]);
            let number = words(gadget, shape.keys())[shape.wires()];
            work.numbers.extend((0..width as u64).map(|gate| number + gate));
        }
        unproved
            .expected
            .of_buckets(layout, &self.common.drawn, each, [left, right]);
        work.outputs.resize(count * each * width * blocks, Block::ZERO);
        let start = &self.keys.secrets.start;
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
            for (gate, label) in first.chunks_exact(blocks).enumerate() {
                let (hash, key) = layout.of_gadget(bucket, shape.output(gate));
                outputs.extend_from_slice(hash);
                outputs.extend_from_slice(label);
                outputs.push(Block([key, 0]));
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
                    .secrets
                    .watcher
                    .which(label, hash, &self.keys.secrets.delta_hash, &mut colour)
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

    /// I-hashes and keys of the wires that are the left operands of the first of the gates drawn for each.
    pub(super) fn drawn_wires(&self) -> impl ExactSizeIterator<Item = (&[Block], u64)> {
        let layout = Layout::evaluator(self.common.and_shape(), self.common.cell);
        let anchors = self
            .common
            .drawn
            .chunks_exact(self.common.anchor() * layout.record);
        anchors.map(move |gadget| layout.of_gadget(gadget, layout.shape.left(0)))
    }

    /// Receives how cells are soldered to the gates drawn for them.
    pub(super) fn receive_anchors(
        &mut self,
        cells: &[Block],
        anchors: &mut Anchors,
        channel: &mut dyn Channel,
    ) -> Result<()> {
        let layout = Layout::evaluator(self.common.and_shape(), self.common.cell);
        let (shape, each) = (layout.shape, self.common.anchor());
        let count = cells.len() / layout.cell.size();
        let received = self.receive_solderings(2 * count * each, layout, channel)?;
        anchors
            .solderings
            .extend_from_slice(&self.unproved.labels[received..]);
        for gadget in self.common.drawn.chunks_exact(layout.record) {
            anchors.tables.extend_from_slice(&gadget[shape.tables()]);
            anchors.numbers.push(words(gadget, shape.keys())[shape.wires()]);
        }
        self.unproved
            .expected
            .of_anchors(layout, &self.common.drawn, each, cells);
        self.prove(PROVED, channel)
    }

    /// Verifies what was soldered since the last proof, if it is `least` or more.
    pub(super) fn prove(&mut self, least: usize, channel: &mut dyn Channel) -> Result<()> {
        let Unproved {
            labels,
            expected: Sums {
                values: hashes,
                words: keys,
            },
            broken,
        } = &mut self.unproved;
        if keys.len() < least.max(1) {
            return Ok(());
        }
        let mut proof = [0; cenote_ot::bits::PROOF_BYTES];
        channel.recv(steps::PROVE, &mut proof)?;
        let mut permuted = vec![0; keys.len().div_ceil(64)];
        let found =
            self.keys
                .secrets
                .watcher
                .which(labels, hashes, &self.keys.secrets.delta_hash, &mut permuted);
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
