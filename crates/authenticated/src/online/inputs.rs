//! Inputs and outputs (step 6 of the specification).
//!
//! An input wire has a fresh mask. Its owner is opened the other party's share of it, with its MAC, and so knows the masked value: of its own
//! inputs the garbler sends the labels, of the evaluator's those that the evaluator's masked values ask for. Of an output the receiver is opened the other
//! party's share of the mask; the garbler learns the masked value too, which the label proves.

use cenote_net::Channel;
use cenote_pool::Role;
use cenote_primitives::{BitMatrix, Block, Block512, Position, as_bytes, as_bytes_mut};
use cenote_session::{Error, MESSAGE_FORM, Result, WireVector, room};
use subtle::ConstantTimeEq;
use zeroize::{Zeroize, Zeroizing};

use super::Party;
use crate::setup::{Blocks, ONE, is_packed, packed, spread};
use crate::wires::{AuthenticatedWires, Cells};
use crate::{checks, steps};

/// What room is asked for.
const INPUTS: &str = "inputs";

/// Bits of a message.
const AT_ONCE: usize = 1 << 18;

/// Packs bits.
fn pack(bits: impl Iterator<Item = bool>, count: usize) -> Vec<u64> {
    let mut words = vec![0; count.div_ceil(64)];
    for (at, bit) in bits.take(count).enumerate() {
        words[at / 64] |= u64::from(bit) << (at % 64);
    }
    words
}

fn cast(blocks: &[Block]) -> &[[u64; 2]] {
    bytemuck::cast_slice(blocks)
}

impl Party {
    /// Wires with the bits of `owner`, which has `given`.
    pub(crate) fn input(
        &mut self,
        owner: Role,
        wires: usize,
        lanes: usize,
        given: Option<&BitMatrix>,
        channel: &mut dyn Channel,
    ) -> Result<AuthenticatedWires> {
        self.settle(channel)?;
        let count = wires * lanes;
        self.supply.ready_masks(&mut self.keys, channel, count)?;
        let mut masks = [room::empty(INPUTS, count)?, room::empty(INPUTS, count)?];
        self.supply.masks.take(count, &mut masks);
        let [macs, keys] = masks;
        let mut cells = Cells {
            macs,
            keys,
            labels: room::secret(INPUTS, count)?,
        };
        let mut given = given.map(BitMatrix::bits);
        for first in (0..count).step_by(AT_ONCE) {
            let of = first..count.min(first + AT_ONCE);
            let own = given.as_mut().map(|given| Zeroizing::new(pack(given, of.len())));
            let of = Cells {
                macs: Zeroizing::new(cells.macs[of.clone()].to_vec()),
                keys: Zeroizing::new(cells.keys[of.clone()].to_vec()),
                labels: Zeroizing::default(),
            };
            let labels = match owner {
                Role::Garbler => self.garblers_input(&of, own, channel)?,
                Role::Evaluator => self.evaluators_input(&of, own, channel)?,
            };
            cells.labels[first..first + labels.len()].copy_from_slice(&labels);
        }
        Ok(AuthenticatedWires::new(wires, lanes, cells))
    }

    /// The masked values of this party's `own` bits, once the other party has opened its shares of the masks.
    fn masked(&mut self, of: &Cells, own: &[u64], channel: &mut dyn Channel) -> Result<Vec<u64>> {
        let step = steps::OPEN_INPUT_MASKS;
        let mut values = self.keys.verifier.receive(channel, step, cast(&of.keys))?;
        let shares = Zeroizing::new(packed::<0>(&of.macs));
        for ((value, share), own) in values.iter_mut().zip(shares.iter()).zip(own) {
            *value ^= share ^ own;
        }
        Ok(values)
    }

    fn open_masks(&mut self, of: &Cells, step: cenote_net::Step, channel: &mut dyn Channel) -> Result<()> {
        let shares = Zeroizing::new(packed::<0>(&of.macs));
        self.keys.opener.open(channel, step, &shares, cast(&of.macs))?;
        Ok(channel.flush()?)
    }

    /// Fresh 0-labels.
    pub(super) fn fresh(&mut self, count: usize) -> Blocks {
        let mut random = Zeroizing::new(vec![Block512::ZERO; count.div_ceil(4)]);
        let at = Position { stream: 0, index: 0 };
        self.keys.entropy.prg().fill(at, &mut random);
        let random: &[Block] = bytemuck::cast_slice(&random);
        Zeroizing::new(random[..count].iter().map(|&label| label ^ label & ONE).collect())
    }

    /// The labels of masked values, of wires with these 0-labels.
    fn labels(&self, zeros: &[Block], values: &[u64]) -> Blocks {
        let delta = *self.keys.delta;
        let labels = zeros.iter().enumerate();
        Zeroizing::new(
            labels
                .map(|(at, &zero)| zero ^ delta & spread(values, at))
                .collect(),
        )
    }

    /// Fresh 0-labels for so many masked values, whose labels it sends.
    fn send_labels(&mut self, count: usize, values: &[u64], channel: &mut dyn Channel) -> Result<Blocks> {
        let fresh = self.fresh(count);
        channel.send(steps::INPUT_LABELS, as_bytes(&self.labels(&fresh, values)))?;
        channel.flush()?;
        Ok(fresh)
    }

    fn garblers_input(
        &mut self,
        of: &Cells,
        own: Option<Zeroizing<Vec<u64>>>,
        channel: &mut dyn Channel,
    ) -> Result<Blocks> {
        let count = of.macs.len();
        let Some(own) = own else {
            self.open_masks(of, steps::OPEN_INPUT_MASKS, channel)?;
            let mut labels = Zeroizing::new(vec![Block::ZERO; count]);
            channel.recv(steps::INPUT_LABELS, as_bytes_mut(&mut labels))?;
            return Ok(labels);
        };
        let values = self.masked(of, &own, channel)?;
        self.send_labels(count, &values, channel)
    }

    fn evaluators_input(
        &mut self,
        of: &Cells,
        own: Option<Zeroizing<Vec<u64>>>,
        channel: &mut dyn Channel,
    ) -> Result<Blocks> {
        let count = of.macs.len();
        let Some(own) = own else {
            self.open_masks(of, steps::OPEN_INPUT_MASKS, channel)?;
            let mut values = vec![0; count.div_ceil(64)];
            channel.recv(steps::MASKED_INPUTS, as_bytes_mut(&mut values))?;
            if !is_packed(&values, count) {
                let detail = format!("they are no {count} packed bits");
                let peer = channel.peer();
                return Err(Error::cheated(MESSAGE_FORM, peer, steps::MASKED_INPUTS, detail));
            }
            return self.send_labels(count, &values, channel);
        };
        let values = self.masked(of, &own, channel)?;
        channel.send(steps::MASKED_INPUTS, as_bytes(&values))?;
        let mut labels = Zeroizing::new(vec![Block::ZERO; count]);
        channel.recv(steps::INPUT_LABELS, as_bytes_mut(&mut labels))?;
        if packed::<0>(&labels) != values {
            let detail = "it is the label of the other masked value";
            let peer = channel.peer();
            return Err(Error::cheated(
                checks::OWN_INPUT,
                peer,
                steps::INPUT_LABELS,
                detail,
            ));
        }
        Ok(labels)
    }

    /// Opens wires to the party `to`, once all gates are checked.
    pub(crate) fn open(
        &mut self,
        wires: &AuthenticatedWires,
        to: Role,
        channel: &mut dyn Channel,
    ) -> Result<Option<BitMatrix>> {
        self.settle(channel)?;
        let cells = wires.gathered()?;
        let count = cells.macs.len();
        let mut bits = room::empty("outputs", count.div_ceil(64))?;
        for first in (0..count).step_by(AT_ONCE) {
            let of = first..count.min(first + AT_ONCE);
            let of = Cells {
                macs: Zeroizing::new(cells.macs[of.clone()].to_vec()),
                keys: Zeroizing::new(cells.keys[of.clone()].to_vec()),
                labels: Zeroizing::new(cells.labels[of].to_vec()),
            };
            if self.keys.role != to {
                self.open_masks(&of, steps::OPEN_OUTPUT_MASKS, channel)?;
            }
            let values = match (self.keys.role, to) {
                (Role::Evaluator, Role::Evaluator) => packed::<0>(&of.labels),
                (Role::Garbler, Role::Evaluator) => continue,
                (Role::Evaluator, Role::Garbler) => {
                    self.return_labels(&of.labels, channel)?;
                    continue;
                }
                (Role::Garbler, Role::Garbler) => Vec::new(),
            };
            let step = steps::OPEN_OUTPUT_MASKS;
            let mut shares = Zeroizing::new(self.keys.verifier.receive(channel, step, cast(&of.keys))?);
            let values = match to {
                Role::Evaluator => values,
                Role::Garbler => self.returned_labels(&of.labels, channel)?,
            };
            let own = Zeroizing::new(packed::<0>(&of.macs));
            for ((share, own), value) in shares.iter_mut().zip(own.iter()).zip(values) {
                *share ^= own ^ value;
            }
            bits.extend_from_slice(&shares);
        }
        if self.keys.role != to {
            return Ok(None);
        }
        let lanes = wires.lanes();
        let bit = |at: usize| bits[at / 64] >> (at % 64) & 1 == 1;
        let opened = BitMatrix::from_fn(wires.wires(), lanes, |row, lane| bit(row * lanes + lane));
        Ok(Some(opened))
    }

    /// Tells the garbler masked values of outputs, and that this party has labels for them.
    fn return_labels(&mut self, labels: &[Block], channel: &mut dyn Channel) -> Result<()> {
        let mut proof = self.keys.digest("labels of outputs");
        proof.update(as_bytes(labels));
        let values = packed::<0>(labels);
        let digest = proof.finalize();
        channel.send_parts(steps::OUTPUT_LABELS, &[as_bytes(&values), digest.as_bytes()])?;
        proof.zeroize();
        Ok(channel.flush()?)
    }

    /// The masked values of outputs with these 0-labels.
    fn returned_labels(&mut self, labels: &[Block], channel: &mut dyn Channel) -> Result<Vec<u64>> {
        let mut values = vec![0; labels.len().div_ceil(64)];
        let mut told = [0; blake3::OUT_LEN];
        let parts: &mut [&mut [u8]] = &mut [as_bytes_mut(&mut values), &mut told];
        channel.recv_parts(steps::OUTPUT_LABELS, parts)?;
        let (peer, step) = (channel.peer(), steps::OUTPUT_LABELS);
        if !is_packed(&values, labels.len()) {
            let detail = format!("they are no {} packed bits", labels.len());
            return Err(Error::cheated(MESSAGE_FORM, peer, step, detail));
        }
        let mut proof = self.keys.digest("labels of outputs");
        proof.update(as_bytes(&self.labels(labels, &values)));
        let same = proof.finalize().as_bytes().ct_eq(&told);
        proof.zeroize();
        if !bool::from(same) {
            let detail = "there are no labels for them";
            return Err(Error::cheated(checks::OUTPUT_LABELS, peer, step, detail));
        }
        Ok(values)
    }
}
