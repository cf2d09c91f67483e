//! Generate at the garbler.

use cenote_engine::{Check, Result};
use cenote_net::Channel;
use cenote_primitives::{Block, as_bytes, as_bytes_mut};
use zeroize::Zeroizing;

use super::memory::zeroed;
use super::shape::{Shape, epochs};
use super::stream::Sending;
use super::{AGREED, GATES_IN_BATCH, OPENED_AT_ONCE, WIRES_IN_BATCH, agreed, compare};
use crate::commit::{BATCH_UNIT, Opener, Share};
use crate::garble::{Authenticator, GateTable, authenticate, garble};
use crate::lego::challenge::{Checked, Cut, cut};
use crate::lego::config::Config;
use crate::lego::failure::{cheated, ot, told};
use crate::lego::leak::pack_last_bits;
use crate::lego::material::{Commitments, GarblerEpoch, GarblerStock};
use crate::lego::order::Order;
use crate::lego::setup::{GarblerKeys, spent};
use crate::lego::solder::{Deal, Gadget, Wires};
use crate::lego::steps::{
    AUTHENTICATORS, CHALLENGE, GATES, LEAK, OPEN_AUTHENTICATORS, OPEN_GATES, ORDER, PORTS, PROVE_GENERATE,
    SOLDER,
};

/// How gates and authenticators are made: [`Honest`], but where a test cheats.
pub(crate) trait Maker {
    /// As [`garble`].
    fn garble(
        &mut self,
        delta: Block,
        first: u64,
        inputs: [&[Block]; 2],
        tables: &mut [GateTable],
        outputs: &mut [Block],
    ) {
        garble(delta, first, inputs[0], inputs[1], tables, outputs);
    }

    /// As [`authenticate`].
    fn authenticate(
        &mut self,
        delta: Block,
        first: u64,
        wires: &[Block],
        authenticators: &mut [Authenticator],
    ) {
        authenticate(delta, first, wires, authenticators);
    }
}

/// As the paper says.
pub(crate) struct Honest;

impl Maker for Honest {}

/// Gates that are garbled at once: so few that their labels stay in the fastest caches.
const TILE: usize = 1024;

/// All wires of an epoch, as the garbler knows them.
struct Labels {
    gates: Zeroizing<Vec<[Block; 3]>>,
    gate_shares: Zeroizing<Vec<[Share; 3]>>,
    authenticators: Commitments,
}

impl GarblerKeys {
    /// An empty stock under this session's `Δ`.
    pub fn stock(&self) -> GarblerStock {
        GarblerStock::new(*self.delta, *self.delta_share)
    }

    /// Generates what `order` asks for, and perhaps some more, and hands it to `sink` epoch by epoch.
    ///
    /// May be called at any time, with the same order at the evaluator.
    ///
    /// # Errors
    /// If a check fails, of which the peer is told, or the channel or the sink does. The session is over then.
    pub fn generate(
        &mut self,
        channel: &mut dyn Channel,
        config: &mut Config,
        order: &Order,
        sink: &mut dyn FnMut(GarblerEpoch) -> Result<()>,
    ) -> Result<()> {
        self.counters.alive()?;
        if self.source.is_none() {
            return Err(spent());
        }
        config.check()?;
        let result = self.generate_all(channel, config, order, sink);
        if let Err(error) = &result {
            self.counters.failed = Some(error.to_string());
        }
        told(channel, result)
    }

    fn generate_all(
        &mut self,
        channel: &mut dyn Channel,
        config: &Config,
        order: &Order,
        sink: &mut dyn FnMut(GarblerEpoch) -> Result<()>,
    ) -> Result<()> {
        let mut theirs = [0; AGREED];
        channel.recv(ORDER, &mut theirs)?;
        compare(&theirs, &agreed(order, config), channel.peer())?;
        let (orders, security) = epochs(order, config);
        for order in orders {
            let shape = Shape::new(&order, security)?;
            sink(self.epoch(channel, &shape, &mut Honest)?)?;
        }
        Ok(())
    }

    /// Generates one epoch.
    pub(crate) fn epoch(
        &mut self,
        channel: &mut dyn Channel,
        shape: &Shape,
        maker: &mut impl Maker,
    ) -> Result<GarblerEpoch> {
        let mut epoch = GarblerEpoch::default();
        let source = self.source.as_mut().ok_or_else(spent)?;
        // Step 2.
        let strings = shape.order.evaluator_inputs as usize;
        if strings > 0 {
            let strings = source
                .ots
                .correlated(channel, strings)
                .map_err(ot(channel.peer()))?;
            epoch.evaluator_inputs.strings.messages = Zeroizing::new(strings);
        }
        // Steps 3 to 7.
        let base = self.counters.number;
        let mut sending = Sending::new(&source.committer, channel, self.counters.unit);
        let labels = send_gadgets(&mut sending, *self.delta, shape, base, maker)?;
        send_leaked(&mut sending, shape, &mut epoch)?;
        send_ports(&mut sending, &mut epoch.ports, shape.order.ports as usize)?;
        self.counters.unit = sending.finish()?;
        self.counters.number += (shape.gates.generated + shape.authenticators.generated) as u64;
        self.counters.epoch += 1;
        if shape.gates.generated == 0 {
            return Ok(epoch);
        }
        // Steps 8, 11 and 12.
        let mut seed = [Block::ZERO];
        channel.recv(CHALLENGE, as_bytes_mut(&mut seed))?;
        let Some(cuts) = cut(seed[0], &shape.gates, &shape.authenticators) else {
            let detail = "it leaves too few gates or authenticators";
            return Err(cheated(Check::Challenge, channel.peer(), CHALLENGE, detail));
        };
        self.counters.drawn = seed[0];
        let mut opening = Opening {
            channel,
            opener: Opener::new(&self.counters.transcript("generate", self.counters.epoch)),
            blocks: Wires {
                gates: &labels.gates,
                authenticators: &labels.authenticators.messages,
                delta: *self.delta,
            },
            shares: Wires {
                gates: &labels.gate_shares,
                authenticators: &labels.authenticators.shares,
                delta: *self.delta_share,
            },
        };
        opening.checked(&cuts)?;
        opening.solder(shape, &cuts, &mut epoch)?;
        opening.prove()?;
        Ok(epoch)
    }
}

/// Steps 3 and 4 for gates and authenticators.
fn send_gadgets(
    sending: &mut Sending<'_>,
    delta: Block,
    shape: &Shape,
    base: u64,
    maker: &mut impl Maker,
) -> Result<Labels> {
    let mut labels = Labels {
        gates: Zeroizing::new(zeroed(shape.gates.generated)),
        gate_shares: Zeroizing::new(zeroed(shape.gates.generated)),
        authenticators: commitments(shape.authenticators.generated),
    };
    let mut tables = vec![GateTable::default(); GATES_IN_BATCH];
    let mut differences = vec![Block::ZERO; GATES_IN_BATCH];
    let mut tile = Zeroizing::new(vec![[Block::ZERO; TILE]; 3]);
    let mut first = base;
    let batches = labels.gates.chunks_mut(GATES_IN_BATCH);
    for (wires, shares) in batches.zip(labels.gate_shares.chunks_mut(GATES_IN_BATCH)) {
        sending.commit(bytemuck::cast_slice_mut(wires), bytemuck::cast_slice_mut(shares));
        let count = wires.len();
        let tiles = wires.chunks_mut(TILE).zip(tables.chunks_mut(TILE));
        for ((wires, tables), differences) in tiles.zip(differences.chunks_mut(TILE)) {
            let count = wires.len();
            let [left, right, output] = &mut tile[..] else {
                unreachable!("three wires")
            };
            for (i, wires) in wires.iter().enumerate() {
                (left[i], right[i]) = (wires[0], wires[1]);
            }
            let inputs = [&left[..count], &right[..count]];
            maker.garble(delta, first, inputs, &mut tables[..count], &mut output[..count]);
            for (i, wires) in wires.iter_mut().enumerate() {
                differences[i] = wires[2] ^ output[i];
                wires[2] = output[i];
            }
            first += count as u64;
        }
        sending.send(
            GATES,
            &[as_bytes(&tables[..count]), as_bytes(&differences[..count])],
        )?;
    }

    let mut authenticators = vec![Authenticator::default(); WIRES_IN_BATCH];
    let Commitments { messages, shares } = &mut labels.authenticators;
    for (wires, shares) in messages
        .chunks_mut(WIRES_IN_BATCH)
        .zip(shares.chunks_mut(WIRES_IN_BATCH))
    {
        sending.commit(wires, shares);
        let authenticators = &mut authenticators[..wires.len()];
        maker.authenticate(delta, first, wires, authenticators);
        first += wires.len() as u64;
        sending.send(AUTHENTICATORS, &[as_bytes(authenticators)])?;
    }
    Ok(labels)
}

fn commitments(count: usize) -> Commitments {
    Commitments {
        messages: Zeroizing::new(zeroed(count)),
        shares: Zeroizing::new(zeroed(count)),
    }
}

/// Steps 4 and 5 for OT strings and masks: the last bits of all are told, of strings by the differences.
fn send_leaked(sending: &mut Sending<'_>, shape: &Shape, epoch: &mut GarblerEpoch) -> Result<()> {
    let mut all = commitments(shape.leaked());
    let strings = &mut epoch.evaluator_inputs.strings;
    let mut chosen = &strings.messages[..];
    let Commitments { messages, shares } = &mut all;
    for (messages, shares) in messages
        .chunks_mut(WIRES_IN_BATCH)
        .zip(shares.chunks_mut(WIRES_IN_BATCH))
    {
        sending.commit(messages, shares);
        let mut bits = vec![0; (messages.len() + BATCH_UNIT) / 8];
        let (of_messages, of_blinding) = bits.split_at_mut(messages.len() / 8);
        pack_last_bits(messages, of_messages);
        pack_last_bits(sending.blinding(), of_blinding);
        let (now, later) = chosen.split_at(chosen.len().min(messages.len()));
        chosen = later;
        let differences: Vec<Block> = now.iter().zip(messages.iter()).map(|(&r, &m)| r ^ m).collect();
        messages[..now.len()].copy_from_slice(now);
        sending.send(LEAK, &[as_bytes(&differences), &bits])?;
    }
    let count = strings.messages.len();
    strings.shares = Zeroizing::new(all.shares[..count].to_vec());
    epoch.masks = Commitments {
        messages: Zeroizing::new(all.messages[count..].to_vec()),
        shares: Zeroizing::new(all.shares[count..].to_vec()),
    };
    Ok(())
}

/// Random commitments.
fn send_ports(sending: &mut Sending<'_>, ports: &mut Commitments, count: usize) -> Result<()> {
    *ports = commitments(count);
    let Commitments { messages, shares } = ports;
    for (messages, shares) in messages
        .chunks_mut(WIRES_IN_BATCH)
        .zip(shares.chunks_mut(WIRES_IN_BATCH))
    {
        sending.commit(messages, shares);
        sending.send(PORTS, &[])?;
    }
    Ok(())
}

/// What is opened after the challenge.
struct Opening<'a> {
    channel: &'a mut dyn Channel,
    opener: Opener,
    blocks: Wires<'a, Block>,
    shares: Wires<'a, Share>,
}

impl Opening<'_> {
    /// Step 8: the labels of what is checked.
    fn checked(&mut self, [gates, authenticators]: &[Cut; 2]) -> Result<()> {
        let mut labels = vec![Block::ZERO; 3 * OPENED_AT_ONCE];
        let mut shares = Zeroizing::new(vec![Share::default(); 3 * OPENED_AT_ONCE]);
        for checked in gates.checked.chunks(OPENED_AT_ONCE) {
            let (labels, shares) = (&mut labels[..3 * checked.len()], &mut shares[..3 * checked.len()]);
            self.blocks.open_gates(checked, labels);
            self.shares.open_gates(checked, shares);
            self.opener.open(labels, shares);
            self.channel.send(OPEN_GATES, as_bytes(labels))?;
        }
        let opened = |checked: &[Checked]| checked.len();
        for checked in authenticators.checked.chunks(OPENED_AT_ONCE) {
            let (labels, shares) = (&mut labels[..opened(checked)], &mut shares[..opened(checked)]);
            self.blocks.open_authenticators(checked, labels);
            self.shares.open_authenticators(checked, shares);
            self.opener.open(labels, shares);
            self.channel.send(OPEN_AUTHENTICATORS, as_bytes(labels))?;
        }
        Ok(self.channel.flush()?)
    }

    /// Steps 11 and 12: solderings, and the labels that are kept.
    fn solder(&mut self, shape: &Shape, cuts: &[Cut; 2], epoch: &mut GarblerEpoch) -> Result<()> {
        let [ands, garbler_inputs, evaluator_inputs, anchors, ..] = shape.counts();
        epoch.ands.messages = Zeroizing::new(zeroed(ands));
        epoch.ands.shares = Zeroizing::new(zeroed(ands));
        epoch.garbler_inputs = commitments(garbler_inputs);
        epoch.evaluator_inputs.labels = commitments(evaluator_inputs);
        epoch.anchors = commitments(anchors);
        let deal = Deal::new(shape, cuts);
        let mut sums = Vec::new();
        let mut share_sums = Zeroizing::new(Vec::new());
        for kind in Gadget::ALL {
            let (labels, shares): (&mut [Block], &mut [Share]) = match kind {
                Gadget::And => (
                    bytemuck::cast_slice_mut(&mut epoch.ands.messages),
                    bytemuck::cast_slice_mut(&mut epoch.ands.shares),
                ),
                Gadget::GarblerInput => both(&mut epoch.garbler_inputs),
                Gadget::EvaluatorInput => both(&mut epoch.evaluator_inputs.labels),
                Gadget::Anchor => both(&mut epoch.anchors),
            };
            for piece in deal.pieces(kind) {
                let kept = piece.gadgets.start * kind.kept()..piece.gadgets.end * kind.kept();
                sums.resize(piece.solderings(), Block::ZERO);
                share_sums.resize(piece.solderings(), Share::default());
                piece.solder(&self.blocks, &mut labels[kept.clone()], &mut sums);
                piece.solder(&self.shares, &mut shares[kept], &mut share_sums);
                self.opener.open(&sums, &share_sums);
                self.channel.send(SOLDER, as_bytes(&sums))?;
                self.channel.flush()?;
            }
        }
        Ok(())
    }

    /// The proof of everything opened.
    fn prove(self) -> Result<()> {
        self.channel.send(PROVE_GENERATE, &self.opener.finish())?;
        Ok(self.channel.flush()?)
    }
}

fn both(all: &mut Commitments) -> (&mut [Block], &mut [Share]) {
    (&mut all.messages, &mut all.shares)
}
