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
use super::group::{INPUTS, PROVED};
use super::solderings::{Layout, SOLDERINGS, Sums, Unproved};
use super::supply::Common;
use crate::gadget::{GadgetKind, Shape, words};
use crate::provenance::Anchors;
use crate::{checks, steps};

impl Common {
    /// Draws buckets of gadgets of a kind, whose shape and number in a bucket it gives.
    fn draw_buckets(
        &mut self,
        kind: GadgetKind,
        count: usize,
        online: &mut dyn Channel,
    ) -> Result<(Shape, usize)> {
        let supply = self.supply(kind);
        let (shape, each) = (supply.shape, supply.parameters.bucket() as usize);
        self.ready(kind, count * each, online)?;
        self.draw(kind, count, each)?;
        Ok((shape, each))
    }

    /// Draws gates for so many wires that are anchored.
    pub(super) fn draw_anchors(&mut self, count: usize, online: &mut dyn Channel) -> Result<()> {
        let each = self.anchor();
        self.ready(GadgetKind::And, count * each, online)?;
        self.draw(GadgetKind::And, count, each)
    }

    fn and_shape(&self) -> Shape {
        self.supply(GadgetKind::And).shape
    }
}

impl Garbler {
    /// Gates on cells: solders a bucket for each gadget, and appends the cells of its outputs.
    pub(super) fn gates(
        &mut self,
        kind: GadgetKind,
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
        kind: GadgetKind,
        [left, right]: [&[Block]; 2],
        outputs: &mut Vec<Block>,
        channel: &mut dyn Channel,
    ) -> Result<()> {
        let cell = self.common.cell;
        let count = right.len() / cell.size();
        let (shape, each) = self.common.draw_buckets(kind, count, channel)?;
        let layout = Layout::evaluator(shape, cell);
        let (blocks, width) = (shape.blocks, shape.width);
        let [_, solderings] = layout.solderings(each);
        let received = self.receive_solderings(count * solderings, layout, channel)?;
        let (unproved, work) = (&mut self.unproved, &mut self.work);
        work.clear(count * each, shape)?;
        let labels = &unproved.labels[received..];
        work.take_operands(layout, each, [left, right], labels);
        work.take_tables(layout, &self.common.drawn);
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
        let labels = &unproved.labels[received..];
        let agree = work.give_outputs(layout, each, &self.common.drawn, labels, outputs);
        if !agree {
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
