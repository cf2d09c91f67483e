//! The garbler's side.

use cenote_garble::wide;
use cenote_net::Channel;
use cenote_pool::kept::KeptPool;
use cenote_pool::{Cut, Tosser, cut};
use cenote_primitives::{Block, as_bytes};
use cenote_session::{Result, room};
use zeroize::Zeroizing;

use super::{Delivery, Make, OPENED, Order, Piece, checked_with, opened_at_once, pieces, words_of};
use crate::gadget::{Shape, words, words_mut};
use crate::setup::{GarblerMaker, GarblerSecrets, add_if};
use crate::steps;

impl Make for GarblerMaker {
    /// Makes gadgets, and opens what is checked.
    fn make(&mut self, mut order: Order, channel: &mut dyn Channel) -> Result<Delivery> {
        let Order { kind, shape, .. } = order;
        let mut records = order.room(shape.garbler_blocks())?;
        self.garble(channel, shape, order.count, &mut records)?;
        let context = self.counters.coin();
        let tosser = Tosser::commit(channel, steps::COIN, &mut self.entropy, context.as_bytes())?;
        let coin = tosser.toss(channel, steps::COIN, context.as_bytes())?;
        let cut = cut(coin, order.count as u32, order.threshold);
        if let Some(kept) = &self.kept {
            kept.made(kind as usize, coin, cut.kept.len(), u64::MAX)?;
        }
        self.open(channel, shape, &records, &cut)?;
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

impl GarblerMaker {
    /// Garbles and hashes, and sends all that the evaluator keeps.
    fn garble(
        &mut self,
        channel: &mut dyn Channel,
        shape: Shape,
        count: usize,
        records: &mut [Block],
    ) -> Result<()> {
        let GarblerSecrets {
            code,
            committer,
            delta,
            start,
        } = &*self.secrets;
        let bits = self
            .bits
            .bits(channel, &mut self.entropy, count * shape.wires())?;
        let macs = Zeroizing::new(embedded(&bits.bits, bits.macs));
        let mut macs = macs.as_slice();
        let mut piece = Piece::default();
        for range in pieces(count, shape.width) {
            let (words, rest) = words_of(macs, range.len(), shape);
            macs = rest;
            let batches = piece.begin(&range, shape, shape.blocks, code, &mut self.counters);
            let Piece {
                labels: [lefts, rights, outputs],
                sent: [of_lefts, of_rights, of_outputs],
                tables,
                ..
            } = &mut piece;
            committer.random(batches[0], lefts, of_lefts);
            committer.random(batches[1], rights, of_rights);
            permute(lefts, words[0], delta);
            permute(rights, words[1], delta);
            let first = self.counters.gates(range.len() * shape.width)?;
            wide::garble(start, delta, first, lefts, rights, tables, outputs);
            // From the 0-labels to what is hashed, and back.
            permute(outputs, words[2], delta);
            committer.chosen(batches[2], outputs, of_outputs);
            permute(outputs, words[2], delta);
            piece.send(channel)?;
            let wires = piece.wires(words);
            let of_piece = records.chunks_exact_mut(shape.garbler_blocks()).skip(range.start);
            for (gadget, record) in of_piece.take(range.len()).enumerate() {
                wires.write(shape, gadget, record, shape.macs());
                words_mut(record, shape.macs())[shape.wires()] = first + (gadget * shape.width) as u64;
            }
        }
        Ok(())
    }

    /// Opens the gadgets that are checked.
    fn open(&mut self, channel: &mut dyn Channel, shape: Shape, records: &[Block], cut: &Cut) -> Result<()> {
        let inputs = shape.width + 1;
        let at_once = opened_at_once(shape);
        let most = at_once.min(cut.checked.len());
        let mut labels = room::empty(OPENED, most * inputs * shape.blocks)?;
        let mut macs = room::empty(OPENED, most * shape.wires())?;
        let mut packed = Vec::new();
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
                    add_if(&mut labels[first..], &self.secrets.delta, mask);
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
