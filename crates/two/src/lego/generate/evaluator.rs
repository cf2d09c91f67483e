//! Generate at the evaluator.

use cenote_engine::{Check, Error, Result};
use cenote_net::Channel;
use cenote_primitives::{Block, as_bytes, as_bytes_mut};
use zeroize::Zeroizing;

use super::memory::{reserved, zeroed};
use super::shape::{Shape, epochs};
use super::stream::Receiving;
use super::{GATES_IN_BATCH, OPENED_AT_ONCE, WIRES_IN_BATCH, agreed};
use crate::commit::{BATCH_UNIT, PROOF_BYTES, Share, Verifier};
use crate::garble::{Authenticator, Buckets, GateTable, accepts, evaluate};
use crate::lego::challenge::{Checked, Cut, cut};
use crate::lego::config::Config;
use crate::lego::failure::{cheated, mismatch, ot, told};
use crate::lego::leak::{last_bit, set_bits};
use crate::lego::material::{Anchors, Authenticators, EvaluatorEpoch, EvaluatorStock};
use crate::lego::order::Order;
use crate::lego::setup::{EvaluatorKeys, spent};
use crate::lego::solder::{Deal, Gadget, Piece, Wires};
use crate::lego::steps::{
    AUTHENTICATORS, CHALLENGE, GATES, LEAK, OPEN_AUTHENTICATORS, OPEN_GATES, ORDER, PORTS, PROVE_GENERATE,
    SOLDER,
};

/// How often a seed is drawn that leaves too few. Once is already as unlikely as a bad bucket.
const DRAWS: usize = 64;

/// All gadgets of an epoch, as the evaluator has them.
struct Received {
    base: u64,
    tables: Vec<GateTable>,
    gate_shares: Zeroizing<Vec<[Share; 3]>>,
    authenticators: Vec<Authenticator>,
    authenticator_shares: Zeroizing<Vec<Share>>,
}

impl EvaluatorKeys {
    /// An empty stock under this session's `Δ`.
    pub fn stock(&self) -> EvaluatorStock {
        EvaluatorStock::new(*self.delta_share)
    }

    /// Generates what `order` asks for, and perhaps some more, and hands it to `sink` epoch by epoch.
    ///
    /// May be called at any time, with the same order at the garbler.
    ///
    /// # Errors
    /// If a check fails, of which the peer is told, or the channel or the sink does. The session is over then.
    pub fn generate(
        &mut self,
        channel: &mut dyn Channel,
        config: &mut Config,
        order: &Order,
        sink: &mut dyn FnMut(EvaluatorEpoch) -> Result<()>,
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
        config: &mut Config,
        order: &Order,
        sink: &mut dyn FnMut(EvaluatorEpoch) -> Result<()>,
    ) -> Result<()> {
        channel.send(ORDER, &agreed(order, config))?;
        channel.flush()?;
        let (orders, security) = epochs(order, config);
        for order in orders {
            let shape = Shape::new(&order, security)?;
            sink(self.epoch(channel, config, &shape)?)?;
        }
        Ok(())
    }

    /// Generates one epoch.
    pub(crate) fn epoch(
        &mut self,
        channel: &mut dyn Channel,
        config: &mut Config,
        shape: &Shape,
    ) -> Result<EvaluatorEpoch> {
        let mut epoch = EvaluatorEpoch::default();
        let peer = channel.peer();
        // Step 2.
        let strings = shape.order.evaluator_inputs as usize;
        if strings > 0 {
            let source = self.source.as_mut().ok_or_else(spent)?;
            let chosen = source
                .correlated(channel, &mut config.entropy, strings)
                .map_err(ot(peer))?;
            epoch.evaluator_inputs.strings = Zeroizing::new(chosen.strings);
        }
        // Steps 3 to 7.
        let coins = config.entropy.prg();
        let mut receiving = Receiving::new(&self.receiver, channel, coins, self.counters.unit);
        let received = self.receive_gadgets(&mut receiving, shape)?;
        self.receive_leaked(&mut receiving, shape, &mut epoch)?;
        receive_ports(&mut receiving, &mut epoch.ports, shape.order.ports as usize)?;
        self.counters.unit = receiving.finish()?;
        self.counters.number += (shape.gates.generated + shape.authenticators.generated) as u64;
        self.counters.epoch += 1;
        if shape.gates.generated == 0 {
            return Ok(epoch);
        }
        // Steps 8, 11 and 12.
        let mut drawn = (0..DRAWS).map(|_| config.entropy.block());
        let draw = drawn.find_map(|seed| Some((seed, cut(seed, &shape.gates, &shape.authenticators)?)));
        let Some((seed, cuts)) = draw else {
            return Err(Error::Internal(
                "no seed leaves enough gates and authenticators".into(),
            ));
        };
        channel.send(CHALLENGE, as_bytes(&[seed]))?;
        channel.flush()?;
        self.counters.drawn = seed;
        let transcript = self.counters.transcript("generate", self.counters.epoch);
        let mut opening = Opening {
            channel,
            verifier: self.receiver.verify(&transcript),
            shares: Wires {
                gates: &received.gate_shares,
                authenticators: &received.authenticator_shares,
                delta: *self.delta_share,
            },
            received: &received,
        };
        opening.checked(&cuts)?;
        opening.solder(shape, &cuts, &mut epoch)?;
        opening.prove()?;
        Ok(epoch)
    }

    /// Steps 3 and 4 for gates and authenticators.
    fn receive_gadgets(&self, receiving: &mut Receiving<'_>, shape: &Shape) -> Result<Received> {
        let mut received = Received {
            base: self.counters.number,
            tables: zeroed(shape.gates.generated),
            gate_shares: Zeroizing::new(zeroed(shape.gates.generated)),
            authenticators: zeroed(shape.authenticators.generated),
            authenticator_shares: Zeroizing::new(zeroed(shape.authenticators.generated)),
        };
        let mut differences = vec![Block::ZERO; GATES_IN_BATCH];
        let mut outputs = Zeroizing::new(vec![Share::default(); GATES_IN_BATCH]);
        let batches = received.tables.chunks_mut(GATES_IN_BATCH);
        for (tables, shares) in batches.zip(received.gate_shares.chunks_mut(GATES_IN_BATCH)) {
            let differences = &mut differences[..tables.len()];
            let parts = vec![as_bytes_mut(tables), as_bytes_mut(differences)];
            receiving.receive(GATES, bytemuck::cast_slice_mut(shares), parts)?;
            let outputs = &mut outputs[..shares.len()];
            outputs
                .iter_mut()
                .zip(&*shares)
                .for_each(|(output, share)| *output = share[2]);
            self.receiver.adjust(outputs, differences);
            shares
                .iter_mut()
                .zip(&*outputs)
                .for_each(|(share, output)| share[2] = *output);
            receiving.settle(None)?;
        }
        let batches = received.authenticators.chunks_mut(WIRES_IN_BATCH);
        for (authenticators, shares) in batches.zip(received.authenticator_shares.chunks_mut(WIRES_IN_BATCH))
        {
            receiving.receive(AUTHENTICATORS, shares, vec![as_bytes_mut(authenticators)])?;
            receiving.settle(None)?;
        }
        Ok(received)
    }

    /// Steps 4 to 6 for OT strings and masks. The strings' last bits are 0 by construction, so those of the random
    /// strings committed to first are those of the differences.
    fn receive_leaked(
        &self,
        receiving: &mut Receiving<'_>,
        shape: &Shape,
        epoch: &mut EvaluatorEpoch,
    ) -> Result<()> {
        let strings = epoch.evaluator_inputs.strings.len();
        let mut all = Zeroizing::new(vec![Share::default(); shape.leaked()]);
        let mut last_bits = Zeroizing::new(Vec::with_capacity(shape.leaked()));
        let mut left = strings;
        for shares in all.chunks_mut(WIRES_IN_BATCH) {
            let mut differences = vec![Block::ZERO; left.min(shares.len())];
            left -= differences.len();
            let mut bits = vec![0; (shares.len() + BATCH_UNIT) / 8];
            receiving.receive(LEAK, shares, vec![as_bytes_mut(&mut differences), &mut bits])?;
            last_bits.extend((0..shares.len()).map(|i| bits[i / 8] >> (i % 8) & 1));
            set_bits(
                &mut bits,
                differences.iter().map(|&difference| last_bit(difference)),
            );
            self.receiver
                .adjust(&mut shares[..differences.len()], &differences);
            receiving.settle(Some(bits))?;
        }
        epoch.evaluator_inputs.string_shares = Zeroizing::new(all[..strings].to_vec());
        epoch.masks.shares = Zeroizing::new(all[strings..].to_vec());
        epoch.masks.bits = Zeroizing::new(last_bits[strings..].to_vec());
        Ok(())
    }
}

fn receive_ports(
    receiving: &mut Receiving<'_>,
    ports: &mut Zeroizing<Vec<Share>>,
    count: usize,
) -> Result<()> {
    *ports = Zeroizing::new(vec![Share::default(); count]);
    for shares in ports.chunks_mut(WIRES_IN_BATCH) {
        receiving.receive(PORTS, shares, vec![])?;
        receiving.settle(None)?;
    }
    Ok(())
}

/// What is opened after the challenge.
struct Opening<'a> {
    channel: &'a mut dyn Channel,
    verifier: Verifier<'a>,
    shares: Wires<'a, Share>,
    received: &'a Received,
}

impl Opening<'_> {
    /// Steps 8 and 9.
    fn checked(&mut self, [gates, authenticators]: &[Cut; 2]) -> Result<()> {
        let peer = self.channel.peer();
        let mut labels = vec![Block::ZERO; 3 * OPENED_AT_ONCE];
        let mut shares = Zeroizing::new(vec![Share::default(); 3 * OPENED_AT_ONCE]);
        for checked in gates.checked.chunks(OPENED_AT_ONCE) {
            let (labels, shares) = (&mut labels[..3 * checked.len()], &mut shares[..3 * checked.len()]);
            self.channel.recv(OPEN_GATES, as_bytes_mut(labels))?;
            self.shares.open_gates(checked, shares);
            self.verifier.absorb(labels, shares);
            if !self.received.gates_are_right(checked, labels) {
                let detail = "a gate is no AND gate";
                return Err(cheated(Check::GateOpening, peer, OPEN_GATES, detail));
            }
        }
        for checked in authenticators.checked.chunks(OPENED_AT_ONCE) {
            let (labels, shares) = (&mut labels[..checked.len()], &mut shares[..checked.len()]);
            self.channel.recv(OPEN_AUTHENTICATORS, as_bytes_mut(labels))?;
            self.shares.open_authenticators(checked, shares);
            self.verifier.absorb(labels, shares);
            if !self.received.authenticators_are_right(checked, labels) {
                let detail = "an authenticator refuses its wire's label";
                return Err(cheated(
                    Check::AuthenticatorOpening,
                    peer,
                    OPEN_AUTHENTICATORS,
                    detail,
                ));
            }
        }
        Ok(())
    }

    /// Steps 11 and 12.
    fn solder(&mut self, shape: &Shape, cuts: &[Cut; 2], epoch: &mut EvaluatorEpoch) -> Result<()> {
        let [ands, garbler_inputs, evaluator_inputs, anchors, ..] = shape.counts();
        let received = self.received;
        epoch.ands.shares = Zeroizing::new(zeroed(ands));
        epoch.ands.gates = Buckets::new(shape.beta, received.base, ands);
        epoch.ands.authenticators = received.no_authenticators(shape.alpha, ands);
        epoch.garbler_inputs.shares = Zeroizing::new(vec![Share::default(); garbler_inputs]);
        epoch.garbler_inputs.anchors = received.no_anchors(shape.beta_input, garbler_inputs);
        epoch.garbler_inputs.authenticators = received.no_authenticators(shape.alpha_input, garbler_inputs);
        epoch.evaluator_inputs.shares = Zeroizing::new(vec![Share::default(); evaluator_inputs]);
        epoch.evaluator_inputs.authenticators =
            received.no_authenticators(shape.alpha_input, evaluator_inputs);
        epoch.anchors.shares = Zeroizing::new(vec![Share::default(); anchors]);
        epoch.anchors.anchors = received.no_anchors(shape.beta_input, anchors);
        let deal = Deal::new(shape, cuts);
        let mut sums = Vec::new();
        let mut share_sums = Zeroizing::new(Vec::new());
        for kind in Gadget::ALL {
            for piece in deal.pieces(kind) {
                let kept = piece.gadgets.start * kind.kept()..piece.gadgets.end * kind.kept();
                sums.resize(piece.solderings(), Block::ZERO);
                share_sums.resize(piece.solderings(), Share::default());
                self.channel.recv(SOLDER, as_bytes_mut(&mut sums))?;
                let shares: &mut [Share] = match kind {
                    Gadget::And => bytemuck::cast_slice_mut(&mut epoch.ands.shares),
                    Gadget::GarblerInput => &mut epoch.garbler_inputs.shares,
                    Gadget::EvaluatorInput => &mut epoch.evaluator_inputs.shares,
                    Gadget::Anchor => &mut epoch.anchors.shares,
                };
                piece.solder(&self.shares, &mut shares[kept], &mut share_sums);
                self.verifier.absorb(&sums, &share_sums);
                received.assemble(&piece, &sums, epoch);
            }
        }
        Ok(())
    }

    /// Whether everything opened is what was committed to.
    fn prove(self) -> Result<()> {
        let peer = self.channel.peer();
        let mut proof = vec![0; PROOF_BYTES];
        self.channel.recv(PROVE_GENERATE, &mut proof)?;
        self.verifier
            .finish(&proof)
            .map_err(mismatch(Check::Decommitment, peer, PROVE_GENERATE))
    }
}

impl Received {
    /// The number of the first authenticator.
    fn authenticator_base(&self) -> u64 {
        self.base + self.tables.len() as u64
    }

    fn no_authenticators(&self, size: usize, gadgets: usize) -> Authenticators {
        Authenticators {
            size,
            base: self.authenticator_base(),
            numbers: reserved(size * gadgets),
            authenticators: reserved(size * gadgets),
            solderings: reserved(size * gadgets),
        }
    }

    fn no_anchors(&self, size: usize, gadgets: usize) -> Anchors {
        Anchors {
            size,
            base: self.base,
            numbers: reserved(size * gadgets),
            tables: reserved(size * gadgets),
            solderings: reserved(size * gadgets),
        }
    }

    /// Step 9: whether checked gates give the label opened for their output.
    fn gates_are_right(&self, checked: &[Checked], labels: &[Block]) -> bool {
        let numbers: Vec<u64> = checked.iter().map(|c| self.base + u64::from(c.index)).collect();
        let tables: Vec<GateTable> = checked.iter().map(|c| self.tables[c.index as usize]).collect();
        let wire = |wire: usize| -> Vec<Block> { labels.iter().copied().skip(wire).step_by(3).collect() };
        let mut outputs = vec![Block::ZERO; checked.len()];
        evaluate(&numbers, &wire(0), &wire(1), &tables, &mut outputs);
        outputs == wire(2)
    }

    /// Step 9: whether checked authenticators accept the labels opened for their wires.
    fn authenticators_are_right(&self, checked: &[Checked], labels: &[Block]) -> bool {
        let base = self.authenticator_base();
        checked.iter().zip(labels).all(|(c, &label)| {
            accepts(
                base + u64::from(c.index),
                &self.authenticators[c.index as usize],
                label,
            )
        })
    }

    /// Puts gadgets together from their parts and solderings, which are in the order of [`Piece::solder`].
    fn assemble(&self, piece: &Piece<'_>, solderings: &[Block], epoch: &mut EvaluatorEpoch) {
        let mut solderings = solderings.iter().copied();
        let mut next = || solderings.next().unwrap_or_default();
        let table = |&index: &u32| self.tables[index as usize];
        match piece.kind {
            Gadget::And => {
                let mut buckets = epoch.ands.gates.writer();
                for (k, (gates, authenticators)) in piece.each().enumerate() {
                    piece.ahead(k, &self.tables, &self.authenticators);
                    let bucket = piece.gadgets.start + k;
                    for (i, index) in gates.iter().enumerate() {
                        buckets.set_gate(bucket, i, self.base + u64::from(*index), &table(index));
                        if i > 0 {
                            buckets.set_soldering(bucket, i, next(), next(), next());
                        }
                    }
                    self.add_authenticators(authenticators, &mut next, &mut epoch.ands.authenticators);
                }
            }
            Gadget::GarblerInput => {
                let inputs = &mut epoch.garbler_inputs;
                for (gates, authenticators) in piece.each() {
                    self.add_anchor(gates, &mut next, &mut inputs.anchors);
                    self.add_authenticators(authenticators, &mut next, &mut inputs.authenticators);
                }
            }
            Gadget::EvaluatorInput => {
                let inputs = &mut epoch.evaluator_inputs.authenticators;
                for (_, authenticators) in piece.each() {
                    self.add_authenticators(&authenticators[..1], &mut || Block::ZERO, inputs);
                    self.add_authenticators(&authenticators[1..], &mut next, inputs);
                }
            }
            Gadget::Anchor => {
                for (gates, _) in piece.each() {
                    self.add_anchor(gates, &mut next, &mut epoch.anchors.anchors);
                }
            }
        }
    }

    fn add_authenticators(&self, indices: &[u32], next: &mut dyn FnMut() -> Block, to: &mut Authenticators) {
        for &index in indices {
            to.numbers.push(index);
            to.authenticators.push(self.authenticators[index as usize]);
            to.solderings.push(next());
        }
    }

    fn add_anchor(&self, indices: &[u32], next: &mut dyn FnMut() -> Block, to: &mut Anchors) {
        for (i, &index) in indices.iter().enumerate() {
            to.numbers.push(index);
            to.tables.push(self.tables[index as usize]);
            let left = if i == 0 { Block::ZERO } else { next() };
            to.solderings.push([left, next()]);
        }
    }
}
