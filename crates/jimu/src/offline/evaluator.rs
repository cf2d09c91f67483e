//! The evaluator's side.

use cenote_garble::wide;
use cenote_net::Channel;
use cenote_pool::{Cut, Pool, cut};
use cenote_primitives::{Block, as_bytes_mut};
use cenote_session::{Error, Result};
use zeroize::Zeroizing;

use super::{checked_with, opened_at_once, pieces};
use crate::checks;
use crate::gadget::{Shape, words, words_mut};
use crate::setup::{EvaluatorKeys, add_if};
use crate::steps;

impl EvaluatorKeys {
    /// Receives `count` gadgets, checks some, and puts the rest into `pool`.
    pub(crate) fn refill(
        &mut self,
        channel: &mut dyn Channel,
        pool: &mut Pool<Block>,
        shape: Shape,
        count: usize,
        threshold: u32,
    ) -> Result<()> {
        let mut records = pool.room();
        records.resize(count * shape.evaluator_blocks(), Block::ZERO);
        self.receive(channel, shape, count, &mut records)?;
        let context = self.counters.coin();
        let coin = cenote_pool::toss(
            channel,
            steps::COIN,
            &mut self.entropy,
            context.as_bytes(),
            checks::COIN,
        )?;
        let cut = cut(coin, count as u32, threshold);
        self.check(channel, shape, &records, &cut)?;
        pool.refill(records, cut.kept, coin);
        Ok(())
    }

    fn receive(
        &mut self,
        channel: &mut dyn Channel,
        shape: Shape,
        count: usize,
        records: &mut [Block],
    ) -> Result<()> {
        let (blocks, width, wires) = (shape.blocks, shape.width, shape.wires());
        let hash_blocks = self.code.hash_blocks();
        let mut keys = Zeroizing::new(self.bits.keys(channel, count * wires)?);
        keys.iter_mut().for_each(|[key]| *key &= !1);
        let mut keys: &[u64] = bytemuck::cast_slice(&keys);
        let [mut lefts, mut rights, mut outputs] = [(); 3].map(|()| Zeroizing::new(Vec::<Block>::new()));
        let [mut of_lefts, mut of_rights, mut of_outputs] = [(); 3].map(|()| Vec::new());
        let mut tables: Vec<Block> = Vec::new();
        for piece in pieces(count, width) {
            let gadgets = piece.len();
            let gates = gadgets * width;
            let (of_piece, rest) = keys.split_at(gadgets * wires);
            keys = rest;
            let (left_keys, others) = of_piece.split_at(gates);
            let (right_keys, output_keys) = others.split_at(gadgets);

            let batches = [gates, gadgets, gates].map(|labels| self.counters.labels(labels));
            lefts.resize(gates * hash_blocks, Block::ZERO);
            rights.resize(gadgets * hash_blocks, Block::ZERO);
            outputs.resize(gates * hash_blocks, Block::ZERO);
            tables.resize(2 * gates * blocks, Block::ZERO);
            of_lefts.resize(self.code.random_bytes(batches[0]), 0);
            of_rights.resize(self.code.random_bytes(batches[1]), 0);
            of_outputs.resize(self.code.chosen_bytes(batches[2]), 0);
            let parts: &mut [&mut [u8]] = &mut [
                &mut of_lefts,
                &mut of_rights,
                &mut of_outputs,
                as_bytes_mut(&mut tables),
            ];
            channel.recv_parts(steps::GADGETS, parts)?;
            let received = self.watcher.random(batches[0], &of_lefts, &mut lefts);
            let received = received.and_then(|()| self.watcher.random(batches[1], &of_rights, &mut rights));
            let received = received.and_then(|()| self.watcher.chosen(batches[2], &of_outputs, &mut outputs));
            received.map_err(|mismatch| Error::Internal(mismatch.to_string()))?;
            let first = self.counters.gates(gates);

            let of_piece = records.chunks_exact_mut(shape.evaluator_blocks());
            for (gadget, record) in of_piece.skip(piece.start).take(gadgets).enumerate() {
                let of_gates = gadget * width * hash_blocks..(gadget + 1) * width * hash_blocks;
                let (of_lefts, others) = record.split_at_mut(width * hash_blocks);
                let (of_right, others) = others.split_at_mut(hash_blocks);
                of_lefts.copy_from_slice(&lefts[of_gates.clone()]);
                of_right.copy_from_slice(&rights[gadget * hash_blocks..(gadget + 1) * hash_blocks]);
                others[..width * hash_blocks].copy_from_slice(&outputs[of_gates]);
                let of_gadget = 2 * gadget * width * blocks..2 * (gadget + 1) * width * blocks;
                record[shape.tables()].copy_from_slice(&tables[of_gadget]);
                let of_gates = gadget * width..(gadget + 1) * width;
                let keys = words_mut(record, shape.keys());
                keys[..width].copy_from_slice(&left_keys[of_gates.clone()]);
                keys[width] = right_keys[gadget];
                keys[width + 1..shape.wires()].copy_from_slice(&output_keys[of_gates]);
                keys[shape.wires()] = first + (gadget * width) as u64;
            }
        }
        Ok(())
    }

    /// Checks the gadgets that the garbler opens.
    fn check(&mut self, channel: &mut dyn Channel, shape: Shape, records: &[Block], cut: &Cut) -> Result<()> {
        let peer = channel.peer();
        let (blocks, width) = (shape.blocks, shape.width);
        let at_once = opened_at_once(shape);
        let mut keys = Zeroizing::new(Vec::new());
        for (checked, bits) in cut.checked.chunks(at_once).zip(cut.bits.chunks(at_once)) {
            let record = |gadget: u32| {
                &records[gadget as usize * shape.evaluator_blocks()..][..shape.evaluator_blocks()]
            };
            keys.clear();
            for &gadget in checked {
                let record = record(gadget);
                let of_wires = &words(record, shape.keys())[..shape.wires()];
                keys.extend(of_wires.iter().map(|&key| [key]));
            }
            let permutation = self.verifier.receive(channel, steps::OPEN_BITS, &keys)?;
            let mut labels = Zeroizing::new(vec![Block::ZERO; checked.len() * (width + 1) * blocks]);
            channel.recv(steps::OPEN_LABELS, as_bytes_mut(&mut labels))?;

            // What every wire's label is to hash to, by the bit that it is to carry.
            let mut inputs = Zeroizing::new(Vec::with_capacity(checked.len() * (width + 1)));
            let mut outputs = Zeroizing::new(Vec::with_capacity(checked.len() * width));
            for (at, (&gadget, &bits)) in checked.iter().zip(bits).enumerate() {
                let expect = |wire: usize, bit: u64, hashes: &mut Vec<Block>| {
                    let number = at * shape.wires() + wire;
                    let permuted = permutation[number / 64] >> (number % 64) & 1;
                    let first = hashes.len();
                    hashes.extend_from_slice(&record(gadget)[shape.hash(wire)]);
                    add_if(
                        &mut hashes[first..],
                        &self.delta_hash,
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
            let verified = self.watcher.verify(&labels, &inputs);
            verified.map_err(|mismatch| {
                Error::cheated(
                    checks::OPENED_LABEL,
                    peer,
                    steps::OPEN_LABELS,
                    mismatch.to_string(),
                )
            })?;

            let gates = checked.len() * width;
            let (mut lefts, mut rights) = (Zeroizing::new(Vec::new()), Zeroizing::new(Vec::new()));
            let (mut tables, mut numbers) = (Vec::new(), Vec::new());
            for (labels, &gadget) in labels.chunks_exact((width + 1) * blocks).zip(checked) {
                let record = record(gadget);
                lefts.extend_from_slice(&labels[..width * blocks]);
                rights.extend_from_slice(&labels[width * blocks..]);
                tables.extend_from_slice(&record[shape.tables()]);
                let number = words(record, shape.keys())[shape.wires()];
                numbers.extend((0..width as u64).map(|gate| number + gate));
            }
            let mut found = Zeroizing::new(vec![Block::ZERO; gates * blocks]);
            wide::evaluate(&self.start, &numbers, &lefts, &rights, &tables, &mut found);
            let verified = self.watcher.verify(&found, &outputs);
            verified.map_err(|mismatch| {
                let detail = format!("what it gives is no AND: {mismatch}");
                Error::cheated(checks::OPENED_GATE, peer, steps::OPEN_LABELS, detail)
            })?;
        }
        Ok(())
    }
}
