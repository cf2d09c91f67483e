//! Generate at the evaluator.

mod open;
mod receive;

use cenote_net::Channel;
use cenote_primitives::{as_bytes, wipe};
use cenote_session::{Error, Result};
use zeroize::Zeroizing;

use super::garbler::units;
use super::shape::Shape;
use super::workers::{at_all, parts, split};
use crate::counters::Committed;
use crate::material::{EvaluatorEpoch, Gadgets};
use crate::offline::challenge::{Drawn, cut};
use crate::offline::solder::{Deal, Gadget, Wires};
use crate::order::Order;
use crate::party::generate;
use crate::room;
use crate::room::{AUTHENTICATORS, BUCKETS, GATES, INPUTS};
use crate::settings::Config;
use crate::setup::{EvaluatorKeys, spent};
use crate::steps::CHALLENGE;
use cenote_commit::{BATCH_UNIT, Share};
use cenote_garble::{Authenticator, Base, Buckets, GateTable};
use open::{GadgetsMut, Opening};
use receive::Part;

/// How often a seed is drawn that leaves too few. Once is already as unlikely as a bad bucket.
const DRAWS: usize = 64;

/// All gadgets of an epoch, as the evaluator has them.
struct Received {
    /// The number of the first gate.
    base: Base,
    tables: Vec<GateTable>,
    gate_shares: Zeroizing<Vec<[Share; 3]>>,
    authenticators: Vec<Authenticator>,
    authenticator_shares: Zeroizing<Vec<Share>>,
}

/// A session that ends early has hardly written them, and does not touch the rest.
impl Drop for Received {
    fn drop(&mut self) {
        wipe(&mut self.gate_shares);
        wipe(&mut self.authenticator_shares);
    }
}

impl EvaluatorKeys {
    /// As [`GarblerKeys::generate`](crate::GarblerKeys::generate), with the same order.
    ///
    /// # Errors
    /// As there.
    ///
    /// # Panics
    /// If there is no channel.
    pub fn generate(
        &mut self,
        channels: &mut [Box<dyn Channel>],
        config: &mut Config,
        order: &Order,
        sink: &mut dyn FnMut(EvaluatorEpoch) -> Result<()>,
    ) -> Result<()> {
        generate(self, channels, config, order, sink)
    }

    /// Generates one epoch.
    pub(crate) fn epoch(
        &mut self,
        channels: &mut [Box<dyn Channel>],
        config: &mut Config,
        shape: &Shape,
    ) -> Result<EvaluatorEpoch> {
        let mut epoch = EvaluatorEpoch::default();
        // Step 2.
        let strings = shape.order.evaluator_inputs as usize;
        if strings > 0 {
            let source = self.source.as_mut().ok_or_else(spent)?;
            let chosen = source.correlated(&mut *channels[0], &mut config.entropy, strings)?;
            epoch.evaluator_inputs.strings = Zeroizing::new(chosen.strings);
        }
        // Steps 3 to 7.
        let committed = self.receive(channels, config, shape, epoch)?;
        // Steps 8, 11 and 12.
        let mut seeds = (0..DRAWS).map(|_| config.entropy.block());
        let draw = |seed| {
            let drawn = cut(seed, &shape.gates, &shape.authenticators).transpose()?;
            Some(drawn.map(|drawn| (seed, drawn)))
        };
        let Some((seed, drawn)) = seeds.find_map(draw).transpose()? else {
            let what = "no seed leaves enough gates and authenticators";
            return Err(Error::Internal(what.into()));
        };
        channels[0].send(CHALLENGE, as_bytes(&[seed]))?;
        channels[0].flush()?;
        let (received, mut epoch) = committed.bind(&mut self.counters, seed);
        if shape.gates.generated > 0 {
            self.open(channels, shape, &received, drawn, &mut epoch)?;
        }
        Ok(epoch)
    }

    /// Steps 3 to 7.
    fn receive(
        &mut self,
        channels: &mut [Box<dyn Channel>],
        config: &mut Config,
        shape: &Shape,
        mut epoch: EvaluatorEpoch,
    ) -> Result<Committed<(Received, EvaluatorEpoch)>> {
        let workers = channels.len();
        let counts = [
            shape.gates.generated,
            shape.authenticators.generated,
            shape.leaked(),
            shape.order.ports as usize,
        ];
        let ranges = counts.map(|count| split(count, BATCH_UNIT, workers));
        let all_units = (0..workers).map(|worker| units(&ranges, worker)).sum();
        let reserved = self.counters.reserve(all_units, counts[0] + counts[1]);
        let mut received = Received {
            base: reserved.base,
            tables: room::zeroed(GATES, counts[0])?,
            gate_shares: room::secret(GATES, counts[0])?,
            authenticators: room::zeroed(AUTHENTICATORS, counts[1])?,
            authenticator_shares: room::secret(AUTHENTICATORS, counts[1])?,
        };
        let mut leaked = room::secret::<Share>(INPUTS, counts[2])?;
        let mut last_bits = room::secret::<u8>(INPUTS, counts[2])?;
        epoch.ports = room::secret(INPUTS, counts[3])?;
        let strings = epoch.evaluator_inputs.strings.len();
        let mut tables = parts(&mut received.tables, &ranges[0], 1).into_iter();
        let mut gate_shares = parts(&mut received.gate_shares, &ranges[0], 1).into_iter();
        let mut authenticators = parts(&mut received.authenticators, &ranges[1], 1).into_iter();
        let mut authenticator_shares = parts(&mut received.authenticator_shares, &ranges[1], 1).into_iter();
        let mut leaks = parts(&mut leaked, &ranges[2], 1).into_iter();
        let mut bits = parts(&mut last_bits, &ranges[2], 1).into_iter();
        let mut ports = parts(&mut epoch.ports, &ranges[3], 1).into_iter();
        let mut unit = reserved.unit;
        let mut jobs = Vec::with_capacity(workers);
        for worker in 0..workers {
            let of_strings = |at: usize| at.min(strings);
            let leak = &ranges[2][worker];
            jobs.push(Part {
                unit,
                coins: config.entropy.prg(),
                tables: tables.next().unwrap_or_default(),
                gate_shares: gate_shares.next().unwrap_or_default(),
                authenticators: authenticators.next().unwrap_or_default(),
                authenticator_shares: authenticator_shares.next().unwrap_or_default(),
                strings: of_strings(leak.end) - of_strings(leak.start),
                leaked: leaks.next().unwrap_or_default(),
                last_bits: bits.next().unwrap_or_default(),
                ports: ports.next().unwrap_or_default(),
            });
            unit += units(&ranges, worker);
        }
        let receiver = &self.receiver;
        at_all(channels, jobs, |channel, part| part.receive(receiver, channel))?;
        epoch.evaluator_inputs.string_shares = room::copy(INPUTS, &leaked[..strings])?;
        epoch.masks.shares = room::copy(INPUTS, &leaked[strings..])?;
        epoch.masks.bits = room::copy(INPUTS, &last_bits[strings..])?;
        Ok(reserved.committed((received, epoch)))
    }

    /// Steps 8, 9, 11 and 12: checks what is opened, and puts the rest together. Nothing of `epoch` is to be used if this
    /// fails.
    fn open(
        &self,
        channels: &mut [Box<dyn Channel>],
        shape: &Shape,
        received: &Received,
        drawn: [Drawn; 2],
        epoch: &mut EvaluatorEpoch,
    ) -> Result<()> {
        let workers = channels.len();
        received.make_room(shape, epoch)?;
        let cuts = drawn.map(Drawn::shuffled);
        let deal = Deal::new(shape, &cuts);
        let ranges = Gadget::ALL.map(|kind| split(deal.count(kind), Gadget::ALIGNED, workers));
        let checked = cuts.each_ref().map(|cut| split(cut.checked.len(), 1, workers));
        let shares = Wires {
            gates: &received.gate_shares,
            authenticators: &received.authenticator_shares,
            delta: *self.delta_share,
        };
        let mut gadgets = GadgetsMut::of(epoch).split(&ranges).into_iter();
        let jobs = (0..workers)
            .map(|worker| Opening {
                verifier: self
                    .receiver
                    .verify(self.counters.transcript_of_epoch().of_worker(worker).bytes()),
                shares: &shares,
                received,
                checked: [0, 1].map(|kind| &cuts[kind].checked[checked[kind][worker].clone()]),
                deal: &deal,
                ranges: std::array::from_fn(|kind| ranges[kind][worker].clone()),
                gadgets: gadgets.next().unwrap_or_default(),
            })
            .collect();
        at_all(channels, jobs, |channel, opening| opening.run(channel)).map(|_| ())
    }
}

impl Received {
    /// The number of the first authenticator.
    fn authenticator_base(&self) -> Base {
        Base {
            number: self.base.number + self.tables.len() as u64,
            ..self.base
        }
    }

    /// Room for all gadgets of an epoch.
    fn make_room(&self, shape: &Shape, epoch: &mut EvaluatorEpoch) -> Result<()> {
        let [ands, garbler_inputs, evaluator_inputs, anchors, ..] = shape.counts();
        let authenticators =
            |what, size, count| Gadgets::with_room(what, size, self.authenticator_base(), count);
        let room_for_anchors = |count| Gadgets::with_room(INPUTS, shape.beta_input, self.base, count);
        let [numbers, blocks] = Buckets::lengths(shape.beta, ands);
        let (numbers, blocks) = (room::zeroed(BUCKETS, numbers)?, room::zeroed(BUCKETS, blocks)?);
        epoch.ands.shares = room::secret(BUCKETS, ands)?;
        epoch.ands.gates = Buckets::from_parts(shape.beta, self.base, ands, numbers, blocks);
        epoch.ands.authenticators = authenticators(BUCKETS, shape.alpha, ands)?;
        epoch.garbler_inputs.shares = room::secret(INPUTS, garbler_inputs)?;
        epoch.garbler_inputs.anchors = room_for_anchors(garbler_inputs)?;
        epoch.garbler_inputs.authenticators = authenticators(INPUTS, shape.alpha_input, garbler_inputs)?;
        epoch.evaluator_inputs.shares = room::secret(INPUTS, evaluator_inputs)?;
        epoch.evaluator_inputs.authenticators = authenticators(INPUTS, shape.alpha_input, evaluator_inputs)?;
        epoch.anchors.shares = room::secret(INPUTS, anchors)?;
        epoch.anchors.anchors = room_for_anchors(anchors)?;
        Ok(())
    }
}
