//! Wires for inputs: made some at a time, and kept until there are bits for them.
//!
//! **The garbler's.** A random label with an i-hash and an authenticated permutation bit; the garbler sends the label that carries its
//! bit, and the evaluator sees that it is one of the two, and anchors it.
//!
//! **The evaluator's.** Of a random label the evaluator gets by OT the one of the colour b that it chose at random; later it says
//! `b ⊕ y`, which becomes the permutation bit. What it got is compared with the i-hash before anything depends on it. A garbler that
//! gives it something else for one of the two colours is caught if that was chosen, and else knows b. So what serves as inputs
//! is not these labels but random sums of them, drawn after that: of `m + s` labels `m` sums. Who knows `t` choices got to
//! that with probability 2^-t; the sums' choices are uniform given them but with probability 2^-(s-t). Together 2^-s, and `s` grows
//! from lot to lot so that all that there will ever be have their part ([`cenote_params::pool::spare_transfers`]).
//!
//! Lots of `m = 128` inputs are transferred [`LOTS`](super::transfers::LOTS) at a time: their OTs, labels and the seed of all sums are four messages that wait for
//! one another.

use cenote_net::Channel;
use cenote_primitives::{Block, as_bytes, as_bytes_mut, mask_of};
use cenote_session::{Error, Result, room};
use zeroize::Zeroizing;

use super::evaluator::Evaluator;
use super::garbler::Garbler;
use super::group::{GROUP, INPUTS, pack, packed};
use super::transfers::{combine, pad, take};
use crate::provenance::Anchors;
use crate::setup::add_if;
use crate::{checks, steps};

impl Garbler {
    /// Cells for the garbler's own bits, whose labels it sends. A wire is an operand of the first of the gates that it is anchored to.
    pub(super) fn own_input(
        &mut self,
        bits: &[bool],
        channel: &mut dyn Channel,
    ) -> Result<Zeroizing<Vec<Block>>> {
        let cell = self.common.cell;
        let mut cells = room::empty(INPUTS, bits.len() * cell.size())?;
        let mut labels = Zeroizing::new(Vec::with_capacity(GROUP.min(bits.len()) * cell.blocks));
        for bits in bits.chunks(GROUP) {
            self.common.draw_anchors(bits.len(), channel)?;
            let drawn = self.drawn_wires()?;
            labels.clear();
            for (of_bit, &bit) in drawn.chunks_exact(cell.size()).zip(bits) {
                let first = labels.len();
                labels.extend_from_slice(&of_bit[cell.label()]);
                add_if(&mut labels[first..], &self.keys.secrets.delta, mask_of(bit));
            }
            channel.send(steps::INPUT_LABELS, as_bytes(&labels[..]))?;
            self.solder_anchors(&drawn, channel)?;
            cells.extend_from_slice(&drawn);
        }
        self.prove(1, channel)?;
        channel.flush()?;
        Ok(cells)
    }

    /// Cells for bits of the evaluator's.
    pub(super) fn evaluators_input(
        &mut self,
        count: usize,
        channel: &mut dyn Channel,
    ) -> Result<Zeroizing<Vec<Block>>> {
        let cell = self.common.cell;
        let mut stock = std::mem::take(&mut self.stock.0);
        let labels = take(&mut stock, count, cell.blocks, |lots, labels| {
            self.transfer(lots, labels, channel)
        })?;
        self.stock.0 = stock;
        let mut choices = room::zeroed(INPUTS, count.div_ceil(8))?;
        channel.recv(steps::CHOICES, &mut choices)?;
        let mut cells = room::empty(INPUTS, count * cell.size())?;
        for (at, label) in labels.chunks_exact(cell.blocks).enumerate() {
            let first = cells.len();
            let permuted = packed(&choices, at);
            cells.extend_from_slice(label);
            add_if(&mut cells[first..], &self.keys.secrets.delta, mask_of(permuted));
            cells.push(Block([permuted.into(), 0]));
        }
        Ok(cells)
    }

    /// Appends the labels of so many lots.
    fn transfer(&mut self, lots: usize, sums: &mut Vec<Block>, channel: &mut dyn Channel) -> Result<()> {
        let (blocks, keys) = (self.common.cell.blocks, &mut self.keys);
        let lots = self.common.transfers.next(lots);
        let batch = keys.labels.take(lots.transfers());
        let mut labels = room::secret(INPUTS, lots.transfers() * blocks)?;
        let mut message = room::zeroed(INPUTS, keys.secrets.code.random_bytes(batch))?;
        keys.secrets.committer.random(batch, &mut labels, &mut message);
        channel.send(steps::INPUT_WIRES, &message)?;
        let strings = Zeroizing::new(keys.transfers.random(channel, lots.transfers())?);
        let mut hidden = room::reserved(INPUTS, 2 * labels.len())?;
        let numbered = (lots.first..).zip(strings.iter());
        for (label, (number, strings)) in labels.chunks_exact(blocks).zip(numbered) {
            for (string, mask) in strings.iter().zip([0, u64::MAX]) {
                let first = hidden.len();
                let pad = pad(*string, number, blocks);
                hidden.extend(label.iter().zip(pad.iter()).map(|(&a, &b)| a ^ b));
                add_if(&mut hidden[first..], &keys.secrets.delta, mask);
            }
        }
        channel.send(steps::OWN_LABELS, as_bytes(&hidden))?;
        let mut seed = Block::ZERO;
        channel.recv(steps::COMBINE, as_bytes_mut(std::slice::from_mut(&mut seed)))?;
        for (lot, labels) in lots.split(&labels, blocks).enumerate() {
            combine(seed, lot, labels, blocks, sums);
        }
        Ok(())
    }
}

impl Evaluator {
    /// Cells for bits of the garbler's, which sends their labels, and what they are anchored to.
    pub(super) fn garblers_input(
        &mut self,
        count: usize,
        channel: &mut dyn Channel,
    ) -> Result<(Zeroizing<Vec<Block>>, Anchors)> {
        let cell = self.common.cell;
        let mut cells = room::empty(INPUTS, count * cell.size())?;
        let mut anchors = self.no_anchors(count)?;
        let group = GROUP.min(count);
        let mut labels = Zeroizing::new(Vec::with_capacity(group * cell.blocks));
        let mut hashes = Zeroizing::new(Vec::with_capacity(group * cell.before));
        for first in (0..count).step_by(GROUP) {
            let wires = GROUP.min(count - first);
            self.common.draw_anchors(wires, channel)?;
            labels.resize(wires * cell.blocks, Block::ZERO);
            channel.recv(steps::INPUT_LABELS, as_bytes_mut(&mut labels))?;
            hashes.clear();
            for ((hash, key), label) in self.drawn_wires().zip(labels.chunks_exact(cell.blocks)) {
                hashes.extend_from_slice(hash);
                cells.extend_from_slice(hash);
                cells.extend_from_slice(label);
                cells.push(Block([key, 0]));
            }
            let mut colours = vec![0; wires.div_ceil(64)];
            let secrets = &self.keys.secrets;
            let found = secrets
                .watcher
                .which(&labels, &hashes, &secrets.delta_hash, &mut colours);
            found.map_err(|mismatch| {
                Error::cheated(
                    checks::INPUT_LABEL,
                    channel.peer(),
                    steps::INPUT_LABELS,
                    mismatch.to_string(),
                )
            })?;
            self.receive_anchors(&cells[first * cell.size()..], &mut anchors, channel)?;
        }
        self.prove(1, channel)?;
        Ok((cells, anchors))
    }

    /// Cells for the evaluator's own bits.
    pub(super) fn own_input(
        &mut self,
        bits: &[bool],
        channel: &mut dyn Channel,
    ) -> Result<Zeroizing<Vec<Block>>> {
        let cell = self.common.cell;
        let size = cell.size();
        let mut stock = std::mem::take(&mut self.stock.0);
        let mut cells = take(&mut stock, bits.len(), size, |lots, items| {
            self.transfer(lots, items, channel)
        })?;
        self.stock.0 = stock;
        let masked = cells.chunks_exact_mut(size).zip(bits).map(|(cell_of, &bit)| {
            let permuted = cell_of[cell.word()].0[0] & 1 ^ u64::from(bit);
            cell_of[cell.word()] = Block([(*self.keys.secrets.gamma ^ 1) & permuted.wrapping_neg(), 0]);
            permuted == 1
        });
        let masked = pack(masked, bits.len());
        channel.send(steps::CHOICES, &masked)?;
        channel.flush()?;
        Ok(cells)
    }

    /// Appends what there is of the wires of so many lots: i-hashes, labels and choices.
    fn transfer(&mut self, lots: usize, sums: &mut Vec<Block>, channel: &mut dyn Channel) -> Result<()> {
        let (cell, keys) = (self.common.cell, &mut self.keys);
        let (blocks, size) = (cell.blocks, cell.size());
        let lots = self.common.transfers.next(lots);
        let transferred = lots.transfers();
        let batch = keys.labels.take(transferred);
        let mut message = room::zeroed(INPUTS, keys.secrets.code.random_bytes(batch))?;
        channel.recv(steps::INPUT_WIRES, &mut message)?;
        let mut hashes = room::secret(INPUTS, transferred * cell.before)?;
        let received = keys.secrets.watcher.random(batch, &message, &mut hashes);
        received.map_err(|mismatch| Error::Internal(mismatch.to_string()))?;
        let chosen = Zeroizing::new(keys.transfers.random(channel, &mut keys.entropy, transferred)?);
        let mut hidden: Vec<Block> = room::zeroed(INPUTS, 2 * transferred * blocks)?;
        channel.recv(steps::OWN_LABELS, as_bytes_mut(&mut hidden))?;
        let mut items = room::empty(INPUTS, transferred * size)?;
        let mut labels = room::empty(INPUTS, transferred * blocks)?;
        for (at, hidden) in hidden.chunks_exact(2 * blocks).enumerate() {
            let mask = (chosen.choices[at / 64] >> (at % 64) & 1).wrapping_neg();
            let (zero, one) = hidden.split_at(blocks);
            let first = labels.len();
            let pad = pad(chosen.strings[at], lots.first + at as u64, blocks);
            let both = zero.iter().zip(one).zip(pad.iter());
            labels.extend(both.map(|((&zero, &one), &pad)| zero ^ (zero ^ one) & Block([mask; 2]) ^ pad));
            let hash = &mut hashes[at * cell.before..(at + 1) * cell.before];
            items.extend_from_slice(hash);
            items.extend_from_slice(&labels[first..]);
            items.push(Block([mask & 1, 0]));
            add_if(hash, &keys.secrets.delta_hash, mask);
        }
        let verified = keys.secrets.watcher.verify(&labels, &hashes);
        verified.map_err(|mismatch| {
            Error::cheated(
                checks::OWN_INPUT_LABEL,
                channel.peer(),
                steps::OWN_LABELS,
                mismatch.to_string(),
            )
        })?;
        let seed = keys.entropy.block();
        channel.send(steps::COMBINE, as_bytes(&[seed]))?;
        for (lot, items) in lots.split(&items, size).enumerate() {
            combine(seed, lot, items, size, sums);
        }
        Ok(())
    }
}
