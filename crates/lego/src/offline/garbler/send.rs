//! What the garbler commits to and sends before the evaluator's seed (Figure 1, steps 3 to 5): one worker's part.

use std::ops::Range;

use cenote_net::Channel;
use cenote_primitives::{Block, as_bytes};
use cenote_session::Result;
use zeroize::Zeroizing;

use crate::leak::pack_last_bits;
use crate::offline::stream::{self, Sending};
use crate::offline::{GATES_IN_BATCH, WIRES_IN_BATCH};
use crate::steps::{AUTHENTICATORS, GATES, LEAK, PORTS};
use cenote_commit::{BATCH_UNIT, Committer, Share};
use cenote_garble::{Authenticator, Base, GateTable, authenticate, garble};

/// How gates and authenticators are made: [`Honest`], but where a test cheats.
pub(crate) trait Maker {
    fn garble(
        &mut self,
        delta: Block,
        first: Base,
        inputs: [&[Block]; 2],
        tables: &mut [GateTable],
        outputs: &mut [Block],
    ) {
        garble(delta, first, inputs[0], inputs[1], tables, outputs);
    }

    fn authenticate(
        &mut self,
        delta: Block,
        first: Base,
        wires: &[Block],
        authenticators: &mut [Authenticator],
    ) {
        authenticate(delta, first, wires, authenticators);
    }
}

/// As the paper says.
#[derive(Clone, Copy)]
pub(crate) struct Honest;

impl Maker for Honest {}

/// Gates that are garbled at once: so few that their labels stay in the fastest caches.
const TILE: usize = 1024;

/// Units of commitments that a worker's part takes: of gates, authenticators, what is leaked, ports.
pub(in crate::offline) fn units(ranges: &[Vec<Range<usize>>; 4], worker: usize) -> u64 {
    let of = |kind: usize, in_batch: usize, width: usize| {
        stream::units(ranges[kind][worker].len(), in_batch, width)
    };
    of(0, GATES_IN_BATCH, 3) + of(1, WIRES_IN_BATCH, 1) + of(2, WIRES_IN_BATCH, 1) + of(3, WIRES_IN_BATCH, 1)
}

/// A worker's part. Of pairs the first has messages, the second shares; both are written.
pub(super) struct Part<'a> {
    /// The first unit of commitments.
    pub(super) unit: u64,
    /// The number of the first gate.
    pub(super) gates_from: Base,
    pub(super) gates: &'a mut [[Block; 3]],
    pub(super) gate_shares: &'a mut [[Share; 3]],
    /// The number of the first authenticator.
    pub(super) authenticators_from: Base,
    pub(super) authenticators: (&'a mut [Block], &'a mut [Share]),
    /// OT strings: the first of what is leaked.
    pub(super) strings: &'a [Block],
    pub(super) leaked: (&'a mut [Block], &'a mut [Share]),
    pub(super) ports: (&'a mut [Block], &'a mut [Share]),
}

impl Part<'_> {
    pub(super) fn send(
        self,
        committer: &Committer,
        channel: &mut dyn Channel,
        delta: Block,
        maker: &mut impl Maker,
    ) -> Result<()> {
        let mut sending = Sending::new(committer, channel, self.unit);
        send_gates(
            &mut sending,
            delta,
            self.gates_from,
            self.gates,
            self.gate_shares,
            maker,
        )?;
        let mut first = self.authenticators_from;
        let mut made = vec![Authenticator::default(); WIRES_IN_BATCH];
        for (wires, shares) in batches(self.authenticators) {
            sending.commit(wires, shares);
            let made = &mut made[..wires.len()];
            maker.authenticate(delta, first, wires, made);
            first.number += wires.len() as u64;
            sending.send(AUTHENTICATORS, &[as_bytes(made)])?;
        }
        send_leaked(&mut sending, self.strings, self.leaked)?;
        for (messages, shares) in batches(self.ports) {
            sending.commit(messages, shares);
            sending.send(PORTS, &[])?;
        }
        sending.finish()
    }
}

fn batches<'a>(
    (messages, shares): (&'a mut [Block], &'a mut [Share]),
) -> impl Iterator<Item = (&'a mut [Block], &'a mut [Share])> {
    messages
        .chunks_mut(WIRES_IN_BATCH)
        .zip(shares.chunks_mut(WIRES_IN_BATCH))
}

/// Steps 3 and 4 for gates: inputs are random, outputs what garbling gives.
fn send_gates(
    sending: &mut Sending<'_>,
    delta: Block,
    mut first: Base,
    gates: &mut [[Block; 3]],
    shares: &mut [[Share; 3]],
    maker: &mut impl Maker,
) -> Result<()> {
    let mut tables = vec![GateTable::default(); GATES_IN_BATCH];
    let mut differences = vec![Block::ZERO; GATES_IN_BATCH];
    let mut tile = Zeroizing::new([
        vec![Block::ZERO; TILE],
        vec![Block::ZERO; TILE],
        vec![Block::ZERO; TILE],
    ]);
    let [left, right, output] = &mut *tile;
    for (wires, shares) in gates
        .chunks_mut(GATES_IN_BATCH)
        .zip(shares.chunks_mut(GATES_IN_BATCH))
    {
        sending.commit(bytemuck::cast_slice_mut(wires), bytemuck::cast_slice_mut(shares));
        let count = wires.len();
        let tiles = wires.chunks_mut(TILE).zip(tables.chunks_mut(TILE));
        for ((wires, tables), differences) in tiles.zip(differences.chunks_mut(TILE)) {
            let count = wires.len();
            for (i, wires) in wires.iter().enumerate() {
                (left[i], right[i]) = (wires[0], wires[1]);
            }
            let inputs = [&left[..count], &right[..count]];
            maker.garble(delta, first, inputs, &mut tables[..count], &mut output[..count]);
            for (i, wires) in wires.iter_mut().enumerate() {
                differences[i] = wires[2] ^ output[i];
                wires[2] = output[i];
            }
            first.number += count as u64;
        }
        sending.send(
            GATES,
            &[as_bytes(&tables[..count]), as_bytes(&differences[..count])],
        )?;
    }
    Ok(())
}

/// Steps 4 and 5 for OT strings and masks: the last bits of all are told, of strings by the differences.
fn send_leaked(
    sending: &mut Sending<'_>,
    mut strings: &[Block],
    leaked: (&mut [Block], &mut [Share]),
) -> Result<()> {
    for (messages, shares) in batches(leaked) {
        sending.commit(messages, shares);
        let mut bits = vec![0; (messages.len() + BATCH_UNIT) / 8];
        let (of_messages, of_blinding) = bits.split_at_mut(messages.len() / 8);
        pack_last_bits(messages, of_messages);
        pack_last_bits(sending.blinding(), of_blinding);
        let (now, later) = strings.split_at(strings.len().min(messages.len()));
        strings = later;
        let differences: Vec<Block> = now.iter().zip(&*messages).map(|(&r, &m)| r ^ m).collect();
        messages[..now.len()].copy_from_slice(now);
        sending.send(LEAK, &[as_bytes(&differences), &bits])?;
    }
    Ok(())
}
