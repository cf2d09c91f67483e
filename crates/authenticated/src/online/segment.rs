//! A segment of gates: triples, tables, and the check.

use cenote_net::Channel;
use cenote_pool::Role;
use cenote_primitives::{Block, as_bytes, as_bytes_mut};
use cenote_session::{Error, MESSAGE_FORM, Result, room};
use subtle::ConstantTimeEq;
use zeroize::{Zeroize, Zeroizing};

use super::circuit::{Circuit, Segment, Walk};
use super::gates::{self, Garbled, Hashed};
use super::triples::{Of, Triples, constant};
use super::{BEHIND, Party};
use crate::setup::{Blocks, ONE, is_packed, low, packed, spread};
use crate::{checks, steps};

/// Gates of which the tables are a message: a multiple of 64.
const AT_ONCE: usize = 2048;

/// What room is asked for.
const GATES: &str = "gates";

/// The masks of a segment's gates, and their triples.
#[derive(Default)]
pub(crate) struct Prepared {
    pub(super) count: usize,
    /// What gates are hashed with.
    pub(super) hashed: Hashed,
    /// MACs and keys of the masks of operands, left and right.
    pub(super) macs: [Blocks; 2],
    pub(super) keys: [Blocks; 2],
    /// MACs and keys of the masks of outputs, while these are found; then z is added, which is part of the products of the operands' masks, and what is
    /// missing of these when all is opened.
    pub(super) sums: [Blocks; 2],
    triples: Triples,
    /// This party's shares of what is opened; all of it once the other party's are received.
    bits: Vec<u64>,
    received: bool,
    pub(super) labels: [Blocks; 2],
    outputs: Blocks,
    pub(super) tables: Vec<[Block; 2]>,
    pub(super) colours: Vec<u64>,
}

/// What a party keeps of a segment until its gates are checked.
pub(crate) enum Pending {
    /// 0-labels of operands, and MACs of all masks.
    Garbler(Box<Prepared>),
    /// Labels, and MACs and keys of all masks; and what is to hash the MACs that the garbler must have, which are computed while it proves that it
    /// has them.
    Evaluator(Box<Prepared>, Box<blake3::Hasher>),
}

/// Empties an array of secrets, and makes room for `count`.
fn emptied<T: Copy + Zeroize>(array: &mut Zeroizing<Vec<T>>, count: usize) -> Result<()> {
    array.clear();
    room::grow(GATES, array, count)
}

/// Appends a wire's blocks, of which there is often but one.
#[inline(always)]
fn append(to: &mut Vec<Block>, from: &[Block]) {
    match from {
        [one] => to.push(*one),
        _ => to.extend_from_slice(from),
    }
}

fn cast(blocks: &[Block]) -> &[[u64; 2]] {
    bytemuck::cast_slice(blocks)
}

impl Party {
    /// Finds the masks of a segment's gates, draws leaky ANDs, and opens what is to be opened of both.
    pub(super) fn prepare(
        &mut self,
        circuit: &Circuit,
        segment: &Segment,
        masks: &mut Walk,
        gates: usize,
        channel: &mut dyn Channel,
    ) -> Result<Prepared> {
        let mut of = self.spare.pop().unwrap_or_default();
        of.count = gates;
        of.received = false;
        for array in of.macs.iter_mut().chain(&mut of.keys).chain(&mut of.sums) {
            emptied(array, gates)?;
        }
        self.supply.masks.take(gates, &mut of.sums);
        let mut first = 0;
        for part in &segment.0 {
            masks.operands(circuit, part, |slots, _| {
                for (at, slot) in slots.into_iter().enumerate() {
                    let (macs, keys) = slot.split_at(slot.len() / 2);
                    append(&mut of.macs[at], macs);
                    append(&mut of.keys[at], keys);
                }
            });
            let end = of.macs[0].len();
            masks.outputs(circuit, part, &[&of.sums[0][first..end], &of.sums[1][first..end]])?;
            first = end;
        }
        of.triples
            .draw(&mut self.supply, [&of.macs, &of.keys], &mut of.sums)?;
        let opened = of.triples.opened(Of::Macs);
        of.bits = packed::<0>(opened);
        let opener = &mut self.keys.opener;
        opener.open(channel, steps::OPEN_TRIPLES, &of.bits, cast(opened))?;
        channel.flush()?;
        Ok(of)
    }

    /// Takes what the other party opens for a segment, unless it has been taken.
    pub(super) fn receive_openings(&mut self, of: &mut Prepared, channel: &mut dyn Channel) -> Result<()> {
        if std::mem::replace(&mut of.received, true) {
            return Ok(());
        }
        let opened = of.triples.opened(Of::Keys);
        let theirs = self
            .keys
            .verifier
            .receive(channel, steps::OPEN_TRIPLES, cast(opened))?;
        of.bits
            .iter_mut()
            .zip(theirs)
            .for_each(|(own, theirs)| *own ^= theirs);
        Ok(())
    }

    /// Garbles or evaluates a segment for which all is opened.
    pub(super) fn complete(
        &mut self,
        circuit: &Circuit,
        segment: &Segment,
        mut of: Prepared,
        labels: &mut Walk,
        channel: &mut dyn Channel,
    ) -> Result<()> {
        self.multiply(&mut of);
        self.go_through(circuit, segment, &mut of, labels, Some(channel))?;
        match self.keys.role {
            Role::Garbler => self.pending.push_back(Pending::Garbler(Box::new(of))),
            Role::Evaluator => self.tell(of, channel)?,
        }
        self.settle_but(BEHIND, channel)
    }

    /// Adds the masks of the products to those of the outputs, and numbers the gates. The other party has opened its bits of the segment.
    pub(super) fn multiply(&mut self, of: &mut Prepared) {
        let bits = std::mem::take(&mut of.bits);
        let garbler = self.is_garbler();
        for (which, sums) in Of::BOTH.into_iter().zip(&mut of.sums) {
            let constant = constant(which, garbler, self.keys.negation());
            let masks = [&of.macs, &of.keys][which as usize];
            of.triples.multiply(which, &bits, constant, masks, sums);
        }
        of.hashed = Hashed {
            start: self.keys.start,
            first: self.keys.counters.gates(of.count),
            apart: if garbler { self.fresh_apart() } else { Block::ZERO },
        };
    }

    /// Garbles or evaluates a segment: with `channel`, tables are sent or received on the way; without, the evaluator has them.
    pub(super) fn go_through(
        &self,
        circuit: &Circuit,
        segment: &Segment,
        of: &mut Prepared,
        labels: &mut Walk,
        mut channel: Option<&mut dyn Channel>,
    ) -> Result<()> {
        let garbler = self.is_garbler();
        for array in of.labels.iter_mut().chain([&mut of.outputs]) {
            emptied(array, of.count)?;
        }
        of.outputs.resize(of.count, Block::ZERO);
        if channel.is_some() {
            of.make_room();
        }
        let negation = self.negation();
        // Gates whose tables were sent or received.
        let (mut done, mut start) = (0, 0);
        for part in &segment.0 {
            let [left, right] = &mut of.labels;
            labels.labels(circuit, part, negation, [left, right]);
            let end = of.labels[0].len();
            match (garbler, &mut channel) {
                (true, Some(channel)) => {
                    of.garble(*self.keys.delta, start, end);
                    while end - done >= AT_ONCE || (end == of.count && done < end) {
                        let until = end.min(done + AT_ONCE);
                        of.send_tables(*channel, done, until)?;
                        done = until;
                    }
                }
                (false, Some(channel)) => of.receive_tables_until(*channel, &mut done, end)?,
                (_, None) => {}
            }
            if !garbler {
                of.evaluate(start, end);
            }
            labels.outputs(circuit, part, &[&of.outputs[start..end]])?;
            start = end;
        }
        Ok(())
    }

    /// Tells the garbler the masked values of a segment, whose gates are to be checked now.
    pub(super) fn tell(&mut self, of: Prepared, channel: &mut dyn Channel) -> Result<()> {
        self.tell_masked_values(&of, channel)?;
        let digest = Box::new(self.keys.digest("gates"));
        self.pending.push_back(Pending::Evaluator(Box::new(of), digest));
        Ok(())
    }

    /// What tells the halves of a segment's gates apart: drawn when all is fixed that the gates depend on.
    fn fresh_apart(&mut self) -> Block {
        #[cfg(test)]
        if let Some(same) = self.deviation.apart {
            return same;
        }
        self.keys.entropy.block()
    }

    /// Tells the garbler the masked values of a segment's operands, and that this party has labels for them.
    fn tell_masked_values(&mut self, of: &Prepared, channel: &mut dyn Channel) -> Result<()> {
        let mut proof = self.keys.digest("labels of operands");
        let values = of.labels.each_ref().map(|labels| {
            proof.update(as_bytes(labels));
            packed::<0>(labels)
        });
        let [left, right] = values.each_ref().map(|values| as_bytes(values));
        let digest = proof.finalize();
        channel.send_parts(steps::MASKED_VALUES, &[left, right, digest.as_bytes()])?;
        channel.flush()?;
        proof.zeroize();
        Ok(())
    }

    /// The digest that the garbler must have of its MACs of the gates of a segment.
    fn expected(&self, of: &mut Prepared, digest: &mut blake3::Hasher) -> Result<[u8; blake3::OUT_LEN]> {
        let delta = *self.keys.delta;
        let expected = of.triples.spare();
        emptied(expected, of.count)?;
        for gate in 0..of.count {
            let [left, right] = of.labels.each_ref().map(|labels| labels[gate]);
            let of_gate =
                |sums: &Blocks, [a, b]: &[Blocks; 2]| sums[gate] ^ b[gate] & low(left) ^ a[gate] & low(right);
            // This party's share of the sum that is 0, with all that is public.
            let share = of_gate(&of.sums[0], &of.macs) ^ left & low(right) ^ of.outputs[gate];
            expected.push(of_gate(&of.sums[1], &of.keys) ^ delta & low(share));
        }
        digest.update(as_bytes(expected));
        let expected = *digest.finalize().as_bytes();
        digest.zeroize();
        Ok(expected)
    }

    /// Checks all segments but the last `left` ones.
    pub(super) fn settle_but(&mut self, left: usize, channel: &mut dyn Channel) -> Result<()> {
        while self.pending.len() > left {
            match self.pending.pop_front().expect("there are more") {
                Pending::Garbler(of) => self.prove_gates(*of, channel)?,
                Pending::Evaluator(mut of, mut digest) => {
                    let expected = self.expected(&mut of, &mut digest)?;
                    self.spare.push(*of);
                    let mut proof = [0; blake3::OUT_LEN];
                    channel.recv(steps::PROVE_GATES, &mut proof)?;
                    if !bool::from(proof.ct_eq(&expected)) {
                        let detail = "they are no AND gates, or have other masks";
                        let peer = channel.peer();
                        return Err(Error::cheated(checks::GATES, peer, steps::PROVE_GATES, detail));
                    }
                }
            }
        }
        Ok(())
    }

    /// Receives masked values, sees that the evaluator has labels for them, and proves that they are those of AND gates.
    fn prove_gates(&mut self, mut of: Prepared, channel: &mut dyn Channel) -> Result<()> {
        let words = of.count.div_ceil(64);
        let mut values = [vec![0u64; words], vec![0; words]];
        let mut told = [0; blake3::OUT_LEN];
        let [left, right] = &mut values;
        let parts: &mut [&mut [u8]] = &mut [as_bytes_mut(left), as_bytes_mut(right), &mut told];
        channel.recv_parts(steps::MASKED_VALUES, parts)?;
        let (peer, step) = (channel.peer(), steps::MASKED_VALUES);
        if !values.iter().all(|values| is_packed(values, of.count)) {
            let detail = format!("they are no {} packed bits", of.count);
            return Err(Error::cheated(MESSAGE_FORM, peer, step, detail));
        }
        let delta = *self.keys.delta;
        let mut proof = self.keys.digest("labels of operands");
        for (labels, values) in of.labels.iter_mut().zip(&values) {
            for (at, label) in labels.iter_mut().enumerate() {
                *label ^= delta & spread(values, at);
            }
            proof.update(as_bytes(labels));
        }
        let same = proof.finalize().as_bytes().ct_eq(&told);
        #[cfg(test)]
        let same = same | u8::from(self.deviation.trusting).into();
        proof.zeroize();
        if !bool::from(same) {
            let detail = "there are no labels for them";
            return Err(Error::cheated(checks::MASKED_VALUES, peer, step, detail));
        }
        let macs = of.triples.spare();
        emptied(macs, of.count)?;
        for gate in 0..of.count {
            // Labels have the masked values in bits 0.
            let [left, right] = of.labels.each_ref().map(|labels| low(labels[gate]));
            macs.push(of.sums[0][gate] ^ of.macs[1][gate] & left ^ of.macs[0][gate] & right);
        }
        let mut digest = self.keys.digest("gates");
        digest.update(as_bytes(macs));
        channel.send(steps::PROVE_GATES, digest.finalize().as_bytes())?;
        digest.zeroize();
        self.spare.push(of);
        Ok(channel.flush()?)
    }
}

impl Prepared {
    /// Garbles gates `start..end`.
    fn garble(&mut self, delta: Block, start: usize, end: usize) {
        let of = start..end;
        let hashed = self.hashed.after(start);
        let gates = Garbled {
            delta,
            labels: self.labels.each_ref().map(|labels| &labels[of.clone()]),
            macs: [&self.macs[0], &self.macs[1], &self.sums[0]].map(|macs| &macs[of.clone()]),
            keys: [&self.keys[0], &self.keys[1], &self.sums[1]].map(|keys| &keys[of.clone()]),
        };
        let outputs = &mut self.outputs[of.clone()];
        gates::garble(hashed, &gates, &mut self.tables[of], outputs);
        for (at, output) in (start..).zip(outputs) {
            let colour = *output & ONE;
            self.colours[at / 64] |= u64::from_le(colour.0[0]) << (at % 64);
            *output ^= colour;
        }
    }

    /// Evaluates gates `start..end`.
    fn evaluate(&mut self, start: usize, end: usize) {
        let of = start..end;
        let labels = self.labels.each_ref().map(|labels| &labels[of.clone()]);
        let macs = [&self.macs[0], &self.macs[1], &self.sums[0]].map(|macs| &macs[of.clone()]);
        let outputs = &mut self.outputs[of.clone()];
        gates::evaluate(self.hashed.after(start), labels, macs, &self.tables[of], outputs);
        for (at, output) in (start..).zip(outputs) {
            *output ^= ONE & spread(&self.colours, at);
        }
    }

    /// The first tables of a segment come with what tells its halves apart.
    fn send_tables(&self, channel: &mut dyn Channel, start: usize, end: usize) -> Result<()> {
        let head = [self.hashed.apart];
        let head: &[u8] = if start == 0 { as_bytes(&head) } else { &[] };
        let colours = &self.colours[start / 64..end.div_ceil(64)];
        let tables = &self.tables[start..end];
        channel.send_parts(steps::TABLES, &[head, as_bytes(tables), as_bytes(colours)])?;
        Ok(channel.flush()?)
    }

    /// What is needed to run a segment that was garbled ahead.
    pub(super) fn without_scratch(self, role: Role) -> Self {
        let Self {
            count,
            hashed,
            macs,
            keys,
            sums: [of_macs, of_keys],
            labels,
            tables,
            colours,
            ..
        } = self;
        let kept = Self {
            count,
            hashed,
            macs,
            ..Self::default()
        };
        match role {
            Role::Garbler => Self {
                sums: [of_macs, Blocks::default()],
                labels,
                ..kept
            },
            Role::Evaluator => Self {
                sums: [of_macs, of_keys],
                keys,
                tables,
                colours,
                ..kept
            },
        }
    }

    /// Room for tables.
    pub(super) fn make_room(&mut self) {
        self.tables.resize(self.count, [Block::ZERO; 2]);
        self.colours.clear();
        self.colours.resize(self.count.div_ceil(64), 0);
    }

    /// Receives tables, of which `done` are there, until those of `end` gates are.
    pub(super) fn receive_tables_until(
        &mut self,
        channel: &mut dyn Channel,
        done: &mut usize,
        end: usize,
    ) -> Result<()> {
        while *done < end {
            let until = self.count.min(*done + AT_ONCE);
            self.receive_tables(channel, *done, until)?;
            *done = until;
        }
        Ok(())
    }

    fn receive_tables(&mut self, channel: &mut dyn Channel, start: usize, end: usize) -> Result<()> {
        let head = std::slice::from_mut(&mut self.hashed.apart);
        let head: &mut [u8] = if start == 0 { as_bytes_mut(head) } else { &mut [] };
        let tables = as_bytes_mut(&mut self.tables[start..end]);
        let colours = &mut self.colours[start / 64..end.div_ceil(64)];
        channel.recv_parts(steps::TABLES, &mut [head, tables, as_bytes_mut(colours)])?;
        if !is_packed(colours, end - start) {
            let detail = format!("their colours are no {} packed bits", end - start);
            let peer = channel.peer();
            return Err(Error::cheated(MESSAGE_FORM, peer, steps::TABLES, detail));
        }
        Ok(())
    }
}
