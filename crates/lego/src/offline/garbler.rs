//! Generate at the garbler.

mod open;
mod send;

use crate::checks;
use cenote_net::Channel;
use cenote_primitives::{Block, as_bytes_mut, wipe};
use cenote_session::{Error, Result};
use zeroize::Zeroizing;

use super::shape::Shape;
use super::workers::{at_all, parts, split};
use crate::counters::Committed;
use crate::material::{Commitments, GarblerEpoch};
use crate::offline::challenge::{Drawn, cut};
use crate::offline::solder::{Deal, Gadget, Wires};
use crate::order::Order;
use crate::party::generate;
use crate::room;
use crate::room::{AUTHENTICATORS, BUCKETS, GATES, INPUTS};
use crate::settings::Config;
use crate::setup::{GarblerKeys, spent};
use crate::steps::CHALLENGE;
use cenote_commit::{BATCH_UNIT, Share};
use cenote_garble::Base;
use open::Opening;
use send::Part;
pub(super) use send::units;
pub(crate) use send::{Honest, Maker};

/// All wires of an epoch, as the garbler knows them.
struct Labels {
    gates: Zeroizing<Vec<[Block; 3]>>,
    gate_shares: Zeroizing<Vec<[Share; 3]>>,
    authenticators: Commitments,
}

/// A session that ends early has hardly written them, and does not touch the rest.
impl Drop for Labels {
    fn drop(&mut self) {
        wipe(&mut self.gates);
        wipe(&mut self.gate_shares);
        wipe(&mut self.authenticators.messages);
        wipe(&mut self.authenticators.shares);
    }
}

impl GarblerKeys {
    /// Generates what `order` asks for, and perhaps some more, and hands it to `sink` epoch by epoch.
    ///
    /// May be called at any time, with the same order at the evaluator. There is a thread for each channel, if there are
    /// several: all lead to the evaluator, which must use as many, in the same order.
    ///
    /// # Errors
    /// If a check fails, of which the peer is told, or a channel or the sink does. The session is over then.
    ///
    /// # Panics
    /// If there is no channel.
    pub fn generate(
        &mut self,
        channels: &mut [Box<dyn Channel>],
        config: &mut Config,
        order: &Order,
        sink: &mut dyn FnMut(GarblerEpoch) -> Result<()>,
    ) -> Result<()> {
        generate(self, channels, config, order, sink)
    }

    /// Generates one epoch, with a maker for each channel.
    pub(crate) fn epoch(
        &mut self,
        channels: &mut [Box<dyn Channel>],
        shape: &Shape,
        makers: &mut [impl Maker + Send],
    ) -> Result<GarblerEpoch> {
        let mut epoch = GarblerEpoch::default();
        let peer = channels[0].peer();
        let source = self.source.as_mut().ok_or_else(spent)?;
        // Step 2.
        let strings = shape.order.evaluator_inputs as usize;
        if strings > 0 {
            let strings = source.ots.correlated(&mut *channels[0], strings)?;
            epoch.evaluator_inputs.strings.messages = Zeroizing::new(strings);
        }
        // Steps 3 to 7.
        let committed = self.send(channels, shape, makers, epoch)?;
        // Steps 8, 11 and 12.
        let mut seed = [Block::ZERO];
        channels[0].recv(CHALLENGE, as_bytes_mut(&mut seed))?;
        let (labels, mut epoch) = committed.bind(&mut self.counters, seed[0]);
        let Some(drawn) = cut(seed[0], &shape.gates, &shape.authenticators)? else {
            let detail = "it leaves too few gates or authenticators";
            return Err(Error::cheated(checks::CHALLENGE, peer, CHALLENGE, detail));
        };
        if shape.gates.generated > 0 {
            self.open(channels, shape, &labels, drawn, &mut epoch)?;
        }
        Ok(epoch)
    }

    /// Steps 3 to 7: all that is committed to, and nothing that depends on the evaluator's seed.
    fn send(
        &mut self,
        channels: &mut [Box<dyn Channel>],
        shape: &Shape,
        makers: &mut [impl Maker + Send],
        mut epoch: GarblerEpoch,
    ) -> Result<Committed<(Labels, GarblerEpoch)>> {
        let workers = channels.len();
        let counts = [
            shape.gates.generated,
            shape.authenticators.generated,
            shape.leaked(),
            shape.order.ports as usize,
        ];
        let ranges = counts.map(|count| split(count, BATCH_UNIT, workers));
        let mut labels = Labels {
            gates: room::secret(GATES, counts[0])?,
            gate_shares: room::secret(GATES, counts[0])?,
            authenticators: commitments(AUTHENTICATORS, counts[1])?,
        };
        let mut leaked = commitments(INPUTS, counts[2])?;
        epoch.ports = commitments(INPUTS, counts[3])?;
        let strings = &epoch.evaluator_inputs.strings.messages[..];
        let mut gates = parts(&mut labels.gates, &ranges[0], 1).into_iter();
        let mut gate_shares = parts(&mut labels.gate_shares, &ranges[0], 1).into_iter();
        let [mut authenticators, mut leaks, mut ports] = [
            (&mut labels.authenticators, &ranges[1]),
            (&mut leaked, &ranges[2]),
            (&mut epoch.ports, &ranges[3]),
        ]
        .map(|(all, ranges)| {
            let messages = parts(&mut all.messages, ranges, 1);
            messages
                .into_iter()
                .zip(parts(&mut all.shares, ranges, 1))
                .collect::<Vec<_>>()
                .into_iter()
        });
        let all_units = (0..workers).map(|worker| units(&ranges, worker)).sum();
        let reserved = self.counters.reserve(all_units, counts[0] + counts[1]);
        let mut unit = reserved.unit;
        let mut jobs = Vec::with_capacity(workers);
        for worker in 0..workers {
            let from = |items: usize| Base {
                number: reserved.base.number + items as u64,
                ..reserved.base
            };
            let of_strings = |at: usize| at.min(strings.len());
            let leak = &ranges[2][worker];
            jobs.push(Part {
                unit,
                gates_from: from(ranges[0][worker].start),
                gates: gates.next().unwrap_or_default(),
                gate_shares: gate_shares.next().unwrap_or_default(),
                authenticators_from: from(counts[0] + ranges[1][worker].start),
                authenticators: authenticators.next().unwrap_or_default(),
                strings: &strings[of_strings(leak.start)..of_strings(leak.end)],
                leaked: leaks.next().unwrap_or_default(),
                ports: ports.next().unwrap_or_default(),
            });
            unit += units(&ranges, worker);
        }
        let source = self.source.as_ref().ok_or_else(spent)?;
        let delta = *self.delta;
        let jobs = jobs.into_iter().zip(makers).collect();
        at_all(channels, jobs, |channel, (part, maker): (Part<'_>, _)| {
            part.send(&source.committer, channel, delta, maker)
        })?;
        let count = strings.len();
        epoch.evaluator_inputs.strings.shares = room::copy(INPUTS, &leaked.shares[..count])?;
        epoch.masks = Commitments {
            messages: room::copy(INPUTS, &leaked.messages[count..])?,
            shares: room::copy(INPUTS, &leaked.shares[count..])?,
        };
        Ok(reserved.committed((labels, epoch)))
    }

    /// Steps 8, 11 and 12: opens what is checked, solders the rest, and keeps the labels of the gadgets.
    fn open(
        &self,
        channels: &mut [Box<dyn Channel>],
        shape: &Shape,
        labels: &Labels,
        drawn: [Drawn; 2],
        epoch: &mut GarblerEpoch,
    ) -> Result<()> {
        let workers = channels.len();
        let [ands, garbler_inputs, evaluator_inputs, anchors, ..] = shape.counts();
        epoch.ands.messages = room::secret(BUCKETS, ands)?;
        epoch.ands.shares = room::secret(BUCKETS, ands)?;
        epoch.garbler_inputs = commitments(INPUTS, garbler_inputs)?;
        epoch.evaluator_inputs.labels = commitments(INPUTS, evaluator_inputs)?;
        epoch.anchors = commitments(INPUTS, anchors)?;
        let cuts = drawn.map(Drawn::shuffled);
        let deal = Deal::new(shape, &cuts);
        let ranges = Gadget::ALL.map(|kind| split(deal.count(kind), Gadget::ALIGNED, workers));
        let kept: [(&mut [Block], &mut [Share]); 4] = [
            (
                bytemuck::cast_slice_mut(&mut epoch.ands.messages),
                bytemuck::cast_slice_mut(&mut epoch.ands.shares),
            ),
            both(&mut epoch.garbler_inputs),
            both(&mut epoch.evaluator_inputs.labels),
            both(&mut epoch.anchors),
        ];
        let mut kept: Vec<_> = kept
            .into_iter()
            .zip(Gadget::ALL.iter().zip(&ranges))
            .map(|((messages, shares), (kind, ranges))| {
                parts(messages, ranges, kind.kept())
                    .into_iter()
                    .zip(parts(shares, ranges, kind.kept()))
            })
            .collect();
        let checked = cuts.each_ref().map(|cut| split(cut.checked.len(), 1, workers));
        let blocks = Wires {
            gates: &labels.gates,
            authenticators: &labels.authenticators.messages,
            delta: *self.delta,
        };
        let shares = Wires {
            gates: &labels.gate_shares,
            authenticators: &labels.authenticators.shares,
            delta: *self.delta_share,
        };
        let jobs = (0..workers)
            .map(|worker| Opening {
                transcript: self.counters.transcript_of_epoch().of_worker(worker),
                blocks: &blocks,
                shares: &shares,
                checked: [0, 1].map(|kind| &cuts[kind].checked[checked[kind][worker].clone()]),
                deal: &deal,
                gadgets: std::array::from_fn(|kind| {
                    let (messages, shares) = kept[kind].next().unwrap_or_default();
                    (ranges[kind][worker].clone(), messages, shares)
                }),
            })
            .collect();
        at_all(channels, jobs, |channel, opening| opening.run(channel)).map(|_| ())
    }
}

fn commitments(what: &str, count: usize) -> Result<Commitments> {
    Ok(Commitments {
        messages: room::secret(what, count)?,
        shares: room::secret(what, count)?,
    })
}

fn both(all: &mut Commitments) -> (&mut [Block], &mut [Share]) {
    (&mut all.messages, &mut all.shares)
}
