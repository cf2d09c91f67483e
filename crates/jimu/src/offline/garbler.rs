//! The garbler's side.

use cenote_garble::wide;
use cenote_net::Channel;
use cenote_pool::{Cut, Pool, Tosser, cut};
use cenote_primitives::{Block, as_bytes};
use cenote_session::Result;
use zeroize::Zeroizing;

use super::{checked_with, opened_at_once, pieces};
use crate::gadget::{Shape, words, words_mut};
use crate::setup::{GarblerKeys, add_if};
use crate::steps;

impl GarblerKeys {
    /// Makes `count` gadgets, opens what is checked, and puts the rest into `pool`.
    pub(crate) fn refill(
        &mut self,
        channel: &mut dyn Channel,
        pool: &mut Pool<Block>,
        shape: Shape,
        count: usize,
        threshold: u32,
    ) -> Result<()> {
        let mut records = pool.room();
        records.resize(count * shape.garbler_blocks(), Block::ZERO);
        self.make(channel, shape, count, &mut records)?;
        let context = self.counters.coin();
        let tosser = Tosser::commit(channel, steps::COIN, &mut self.entropy, context.as_bytes())?;
        let coin = tosser.toss(channel, steps::COIN, context.as_bytes())?;
        let cut = cut(coin, count as u32, threshold);
        self.open(channel, shape, &records, &cut)?;
        pool.refill(records, cut.kept, coin);
        Ok(())
    }

    /// Garbles and hashes, and sends all that the evaluator keeps.
    fn make(
        &mut self,
        channel: &mut dyn Channel,
        shape: Shape,
        count: usize,
        records: &mut [Block],
    ) -> Result<()> {
        let (blocks, width, wires) = (shape.blocks, shape.width, shape.wires());
        let bits = self.bits.bits(channel, &mut self.entropy, count * wires)?;
        let macs = Zeroizing::new(embedded(&bits.bits, bits.macs));
        let mut macs = macs.as_slice();
        let [mut lefts, mut rights, mut outputs] = [(); 3].map(|()| Zeroizing::new(Vec::<Block>::new()));
        let [mut of_lefts, mut of_rights, mut of_outputs] = [(); 3].map(|()| Vec::new());
        let mut tables: Vec<Block> = Vec::new();
        for piece in pieces(count, width) {
            let gadgets = piece.len();
            let gates = gadgets * width;
            let (of_piece, rest) = macs.split_at(gadgets * wires);
            macs = rest;
            let (left_macs, others) = of_piece.split_at(gates);
            let (right_macs, output_macs) = others.split_at(gadgets);

            let batches = [gates, gadgets, gates].map(|labels| self.counters.labels(labels));
            lefts.resize(gates * blocks, Block::ZERO);
            rights.resize(gadgets * blocks, Block::ZERO);
            outputs.resize(gates * blocks, Block::ZERO);
            tables.resize(2 * gates * blocks, Block::ZERO);
            of_lefts.resize(self.code.random_bytes(batches[0]), 0);
            of_rights.resize(self.code.random_bytes(batches[1]), 0);
            of_outputs.resize(self.code.chosen_bytes(batches[2]), 0);
            self.committer.random(batches[0], &mut lefts, &mut of_lefts);
            self.committer.random(batches[1], &mut rights, &mut of_rights);
            permute(&mut lefts, left_macs, &self.delta);
            permute(&mut rights, right_macs, &self.delta);
            let first = self.counters.gates(gates);
            wide::garble(
                &self.start,
                &self.delta,
                first,
                &lefts,
                &rights,
                &mut tables,
                &mut outputs,
            );
            // From the 0-labels to what is hashed, and back.
            permute(&mut outputs, output_macs, &self.delta);
            self.committer.chosen(batches[2], &outputs, &mut of_outputs);
            permute(&mut outputs, output_macs, &self.delta);
            let parts: [&[u8]; 4] = [&of_lefts, &of_rights, &of_outputs, as_bytes(&tables)];
            channel.send_parts(steps::GADGETS, &parts)?;

            let of_piece = records.chunks_exact_mut(shape.garbler_blocks());
            for (gadget, record) in of_piece.skip(piece.start).take(gadgets).enumerate() {
                let of_gates = gadget * width * blocks..(gadget + 1) * width * blocks;
                let (of_lefts, others) = record.split_at_mut(width * blocks);
                let (of_right, others) = others.split_at_mut(blocks);
                of_lefts.copy_from_slice(&lefts[of_gates.clone()]);
                of_right.copy_from_slice(&rights[gadget * blocks..(gadget + 1) * blocks]);
                others[..width * blocks].copy_from_slice(&outputs[of_gates]);
                let of_gates = gadget * width..(gadget + 1) * width;
                let macs = words_mut(record, shape.macs());
                macs[..width].copy_from_slice(&left_macs[of_gates.clone()]);
                macs[width] = right_macs[gadget];
                macs[width + 1..shape.wires()].copy_from_slice(&output_macs[of_gates]);
            }
        }
        Ok(())
    }

    /// Opens the gadgets that are checked.
    fn open(&mut self, channel: &mut dyn Channel, shape: Shape, records: &[Block], cut: &Cut) -> Result<()> {
        let inputs = shape.width + 1;
        let at_once = opened_at_once(shape);
        let mut labels = Zeroizing::new(Vec::new());
        let (mut packed, mut macs) = (Vec::new(), Zeroizing::new(Vec::new()));
        for (checked, bits) in cut.checked.chunks(at_once).zip(cut.bits.chunks(at_once)) {
            labels.clear();
            macs.clear();
            for (&gadget, &bits) in checked.iter().zip(bits) {
                let record = &records[gadget as usize * shape.garbler_blocks()..][..shape.garbler_blocks()];
                let of_wires = &words(record, shape.macs())[..shape.wires()];
                macs.extend(of_wires.iter().map(|&mac| [mac]));
                for input in 0..inputs {
                    let mask = checked_with(bits, input).wrapping_neg();
                    let first = labels.len();
                    labels.extend_from_slice(&record[shape.label(input)]);
                    add_if(&mut labels[first..], &self.delta, mask);
                }
            }
            pack(&macs, &mut packed);
            self.opener.open(channel, steps::OPEN_BITS, &packed, &macs)?;
            channel.send(steps::OPEN_LABELS, as_bytes(&labels[..]))?;
        }
        Ok(channel.flush()?)
    }
}

/// Adds `delta` to each label whose permutation bit is 1.
fn permute(labels: &mut [Block], macs: &[u64], delta: &[Block]) {
    for (label, mac) in labels.chunks_exact_mut(delta.len()).zip(macs) {
        add_if(label, delta, (mac & 1).wrapping_neg());
    }
}

/// MACs whose bit 0 is the bit that they authenticate.
pub(crate) fn embedded(bits: &[u64], mut macs: Vec<[u64; 1]>) -> Vec<u64> {
    for (macs, word) in macs.chunks_mut(64).zip(bits) {
        for (at, [mac]) in macs.iter_mut().enumerate() {
            *mac = *mac & !1 | word >> at & 1;
        }
    }
    bytemuck::cast_vec(macs)
}

/// Bits that are embedded in their MACs, packed.
pub(crate) fn pack(macs: &[[u64; 1]], packed: &mut Vec<u64>) {
    packed.clear();
    packed.extend(macs.chunks(64).map(|macs| {
        let bits = macs.iter().enumerate();
        bits.fold(0, |word, (at, [mac])| word | (mac & 1) << at)
    }));
}
