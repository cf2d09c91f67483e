//! The evaluator's side.

use cenote_garble::wide;
use cenote_net::Channel;
use cenote_pool::kept::KeptPool;
use cenote_pool::{Cut, cut};
use cenote_primitives::{Block, as_bytes_mut};
use cenote_session::{Error, Result, room};
use zeroize::Zeroizing;

use super::{Delivery, Make, OPENED, Order, Piece, checked_with, opened_at_once, pieces, words_of};
use crate::checks;
use crate::gadget::{Shape, words, words_mut};
use crate::setup::{EvaluatorMaker, EvaluatorSecrets, add_if};
use crate::steps;

impl Make for EvaluatorMaker {
    /// Receives gadgets, and checks some.
    fn make(&mut self, mut order: Order, channel: &mut dyn Channel) -> Result<Delivery> {
        let Order { kind, shape, .. } = order;
        let mut records = order.room(shape.evaluator_blocks())?;
        self.receive(channel, shape, order.count, &mut records)?;
        if let Some(kept) = &self.kept {
            kept.checking()?;
        }
        let context = self.counters.coin();
        let coin = cenote_pool::toss(
            channel,
            steps::COIN,
            &mut self.entropy,
            context.as_bytes(),
            checks::COIN,
        )?;
        let cut = cut(coin, order.count as u32, order.threshold);
        self.check(channel, shape, &records, &cut)?;
        if let Some(kept) = &self.kept {
            kept.made(kind as usize, coin, cut.kept.len(), u64::MAX)?;
        }
        Ok(Delivery {
            kind,
            records,
            kept: cut.kept,
            coin,
        })
    }

    fn kept(&self) -> Option<&KeptPool> {
        self.kept.as_deref()
    }
}

impl EvaluatorMaker {
    fn receive(
        &mut self,
        channel: &mut dyn Channel,
        shape: Shape,
        count: usize,
        records: &mut [Block],
    ) -> Result<()> {
        let EvaluatorSecrets { code, watcher, .. } = &*self.secrets;
        let mut keys = Zeroizing::new(self.bits.keys(channel, count * shape.wires())?);
        keys.iter_mut().for_each(|[key]| *key &= !1);
        let mut keys: &[u64] = bytemuck::cast_slice(&keys);
        let mut piece = Piece::default();
        for range in pieces(count, shape.width) {
            let (words, rest) = words_of(keys, range.len(), shape);
            keys = rest;
            let batches = piece.begin(&range, shape, code.hash_blocks(), code, &mut self.counters);
            piece.receive(channel)?;
            let Piece {
                labels: [lefts, rights, outputs],
                sent: [of_lefts, of_rights, of_outputs],
                ..
            } = &mut piece;
            let received = watcher.random(batches[0], of_lefts, lefts);
            let received = received.and_then(|()| watcher.random(batches[1], of_rights, rights));
            let received = received.and_then(|()| watcher.chosen(batches[2], of_outputs, outputs));
            received.map_err(|mismatch| Error::Internal(mismatch.to_string()))?;
            let first = self.counters.gates(range.len() * shape.width)?;
            let wires = piece.wires(words);
            let tables = piece.tables.chunks_exact(2 * shape.width * shape.blocks);
            let of_piece = records
                .chunks_exact_mut(shape.evaluator_blocks())
                .skip(range.start);
            for (gadget, (record, table)) in of_piece.zip(tables).enumerate() {
                wires.write(shape, gadget, record, shape.keys());
                record[shape.tables()].copy_from_slice(table);
                words_mut(record, shape.keys())[shape.wires()] = first + (gadget * shape.width) as u64;
            }
        }
        Ok(())
    }

    /// Checks the gadgets that the garbler opens.
    fn check(&mut self, channel: &mut dyn Channel, shape: Shape, records: &[Block], cut: &Cut) -> Result<()> {
        let peer = channel.peer();
        let (blocks, width) = (shape.blocks, shape.width);
        let at_once = opened_at_once(shape);
        let mut keys = room::empty(OPENED, at_once.min(cut.checked.len()) * shape.wires())?;
        for (checked, bits) in cut.checked.chunks(at_once).zip(cut.bits.chunks(at_once)) {
            keys.clear();
            for &gadget in checked {
                let record = record_of(shape, records, gadget);
                let of_wires = &words(record, shape.keys())[..shape.wires()];
                keys.extend(of_wires.iter().map(|&key| [key]));
            }
            let permutation = self.verifier.receive(channel, steps::OPEN_BITS, &keys)?;
            let mut labels = room::secret(OPENED, checked.len() * (width + 1) * blocks)?;
            channel.recv(steps::OPEN_LABELS, as_bytes_mut(&mut labels))?;

            let [inputs, outputs] = self.expected(shape, records, (checked, bits), &permutation)?;
            let verified = self.secrets.watcher.verify(&labels, &inputs);
            verified.map_err(|mismatch| {
                Error::cheated(
                    checks::OPENED_LABEL,
                    peer,
                    steps::OPEN_LABELS,
                    mismatch.to_string(),
                )
            })?;

            let found = self.evaluate(shape, records, checked, &labels)?;
            let verified = self.secrets.watcher.verify(&found, &outputs);
            verified.map_err(|mismatch| {
                let detail = format!("what it gives is no AND: {mismatch}");
                Error::cheated(checks::OPENED_GATE, peer, steps::OPEN_LABELS, detail)
            })?;
        }
        Ok(())
    }

    /// What the labels of the inputs and of the outputs of opened gadgets are to hash to, by the bits that they are to carry.
    fn expected(
        &self,
        shape: Shape,
        records: &[Block],
        (checked, bits): (&[u32], &[u32]),
        permutation: &[u64],
    ) -> Result<[Zeroizing<Vec<Block>>; 2]> {
        let (count, width, hash_blocks) = (checked.len(), shape.width, shape.hash_blocks());
        let mut inputs = room::empty(OPENED, count * (width + 1) * hash_blocks)?;
        let mut outputs = room::empty(OPENED, count * width * hash_blocks)?;
        for (at, (&gadget, &bits)) in checked.iter().zip(bits).enumerate() {
            let record = record_of(shape, records, gadget);
            let expect = |wire: usize, bit: u64, hashes: &mut Vec<Block>| {
                let number = at * shape.wires() + wire;
                let permuted = permutation[number / 64] >> (number % 64) & 1;
                let first = hashes.len();
                hashes.extend_from_slice(&record[shape.hash(wire)]);
                add_if(
                    &mut hashes[first..],
                    &self.secrets.delta_hash,
                    (bit ^ permuted).wrapping_neg(),
                );
            };
            for input in 0..=width {
                expect(input, checked_with(bits, input), &mut inputs);
            }
            for gate in 0..width {
                let bit = checked_with(bits, shape.left(gate)) & checked_with(bits, shape.right());
                expect(shape.output(gate), bit, &mut outputs);
            }
        }
        Ok([inputs, outputs])
    }

    /// The labels that the gates of opened gadgets give.
    fn evaluate(
        &self,
        shape: Shape,
        records: &[Block],
        checked: &[u32],
        labels: &[Block],
    ) -> Result<Zeroizing<Vec<Block>>> {
        let (blocks, width) = (shape.blocks, shape.width);
        let gates = checked.len() * width;
        let mut lefts = room::empty(OPENED, gates * blocks)?;
        let mut rights = room::empty(OPENED, gates * blocks)?;
        let (mut tables, mut numbers) = (Vec::new(), Vec::new());
        for (labels, &gadget) in labels.chunks_exact((width + 1) * blocks).zip(checked) {
            let record = record_of(shape, records, gadget);
            lefts.extend_from_slice(&labels[..width * blocks]);
            rights.extend_from_slice(&labels[width * blocks..]);
            tables.extend_from_slice(&record[shape.tables()]);
            let number = words(record, shape.keys())[shape.wires()];
            numbers.extend((0..width as u64).map(|gate| number + gate));
        }
        let mut found = room::secret(OPENED, gates * blocks)?;
        wide::evaluate(
            &self.secrets.start,
            &numbers,
            &lefts,
            &rights,
            &tables,
            &mut found,
        );
        Ok(found)
    }
}

/// The record of a gadget.
fn record_of(shape: Shape, records: &[Block], gadget: u32) -> &[Block] {
    let size = shape.evaluator_blocks();
    &records[gadget as usize * size..][..size]
}
