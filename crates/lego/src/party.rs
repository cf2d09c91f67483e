//! What is done alike with either party's keys.

use bytemuck::try_pod_read_unaligned;
use cenote_commit::{CODE_BITS, Receiver, Share};
use cenote_net::Channel;
use cenote_primitives::Block;
use cenote_session::Result;
use zeroize::Zeroizing;

use crate::counters::Counters;
use crate::failure::told_all;
use crate::material::{Epoch, EvaluatorEpoch, GarblerEpoch, Holder};
use crate::memory::{EVALUATOR_USE, GARBLER_USE};
use crate::offline::garbler::Honest;
use crate::offline::shape::{Shape, epochs};
use crate::offline::{AGREED, Estimate, agreed, compare};
use crate::order::Order;
use crate::settings::Config;
use crate::setup::{EvaluatorKeys, GarblerKeys, spent};
use crate::steps::ORDER;

/// One of the two parties, by its keys.
pub(crate) trait Party: Holder + Sized {
    /// What it is called.
    const ROLE: &str;

    /// Bytes that using an item of each kind takes.
    const USE: [u64; 6];

    /// Sets a session up; the peer is told of a failure.
    fn setup(channel: &mut dyn Channel, config: &mut Config) -> Result<Self>;

    fn counters(&mut self) -> &mut Counters;

    /// Whether these keys make material, and not only use what is stored.
    fn can_make(&self) -> bool;

    /// Compares with the peer what is to be made.
    fn agree(channel: &mut dyn Channel, ours: &[u8; AGREED]) -> Result<()>;

    /// Generates one epoch.
    fn make(
        &mut self,
        channels: &mut [Box<dyn Channel>],
        config: &mut Config,
        shape: &Shape,
    ) -> Result<Epoch<Self>>;

    /// What an epoch's [`Estimate`] says of this party: bytes held until it is finished, and bytes of an item of each kind.
    fn memory(epoch: &Estimate) -> (u64, [u64; 6]);

    /// What is needed to use material, and nothing that makes more.
    fn write(&self) -> Zeroizing<Vec<u8>>;

    /// The inverse of `write`.
    fn read(bytes: &[u8], counters: Counters) -> Option<Self>;
}

/// Generates what `order` asks for: see [`GarblerKeys::generate`].
pub(crate) fn generate<P: Party>(
    keys: &mut P,
    channels: &mut [Box<dyn Channel>],
    config: &mut Config,
    order: &Order,
    sink: &mut dyn FnMut(Epoch<P>) -> Result<()>,
) -> Result<()> {
    keys.counters().alive()?;
    if !keys.can_make() {
        return Err(spent());
    }
    config.check()?;
    let result = generate_all(keys, channels, config, order, sink);
    if let Err(error) = &result {
        keys.counters().failed = Some(error.to_string());
    }
    told_all(channels, result)
}

fn generate_all<P: Party>(
    keys: &mut P,
    channels: &mut [Box<dyn Channel>],
    config: &mut Config,
    order: &Order,
    sink: &mut dyn FnMut(Epoch<P>) -> Result<()>,
) -> Result<()> {
    let ours = agreed(order, config, channels.len());
    P::agree(&mut *channels[0], &ours)?;
    let (orders, security) = epochs(order, config)?;
    for order in orders {
        let shape = Shape::new(&order, security)?;
        sink(keys.make(channels, config, &shape)?)?;
    }
    Ok(())
}

fn written(parts: &[&[u8]]) -> Zeroizing<Vec<u8>> {
    let mut bytes = Zeroizing::new(Vec::with_capacity(parts.iter().map(|part| part.len()).sum()));
    parts.iter().for_each(|part| bytes.extend_from_slice(part));
    bytes
}

impl Party for GarblerKeys {
    const ROLE: &str = "garbler";
    const USE: [u64; 6] = GARBLER_USE;

    fn setup(channel: &mut dyn Channel, config: &mut Config) -> Result<Self> {
        Self::setup(channel, config)
    }

    fn counters(&mut self) -> &mut Counters {
        &mut self.counters
    }

    fn can_make(&self) -> bool {
        self.source.is_some()
    }

    fn agree(channel: &mut dyn Channel, ours: &[u8; AGREED]) -> Result<()> {
        let mut theirs = [0; AGREED];
        channel.recv(ORDER, &mut theirs)?;
        compare(&theirs, ours, channel.peer())
    }

    fn make(
        &mut self,
        channels: &mut [Box<dyn Channel>],
        _: &mut Config,
        shape: &Shape,
    ) -> Result<GarblerEpoch> {
        self.epoch(channels, shape, &mut vec![Honest; channels.len()])
    }

    fn memory(epoch: &Estimate) -> (u64, [u64; 6]) {
        (epoch.garbler_buffer, epoch.garbler_items)
    }

    fn write(&self) -> Zeroizing<Vec<u8>> {
        written(&[
            bytemuck::bytes_of(&*self.delta),
            bytemuck::bytes_of(&*self.delta_share),
        ])
    }

    fn read(bytes: &[u8], counters: Counters) -> Option<Self> {
        let (delta, share) = bytes.split_at_checked(size_of::<Block>())?;
        Some(Self {
            source: None,
            delta: Zeroizing::new(try_pod_read_unaligned(delta).ok()?),
            delta_share: Zeroizing::new(try_pod_read_unaligned(share).ok()?),
            counters,
        })
    }
}

impl Party for EvaluatorKeys {
    const ROLE: &str = "evaluator";
    const USE: [u64; 6] = EVALUATOR_USE;

    fn setup(channel: &mut dyn Channel, config: &mut Config) -> Result<Self> {
        Self::setup(channel, config)
    }

    fn counters(&mut self) -> &mut Counters {
        &mut self.counters
    }

    fn can_make(&self) -> bool {
        self.source.is_some()
    }

    /// The garbler compares.
    fn agree(channel: &mut dyn Channel, ours: &[u8; AGREED]) -> Result<()> {
        channel.send(ORDER, ours)?;
        Ok(channel.flush()?)
    }

    fn make(
        &mut self,
        channels: &mut [Box<dyn Channel>],
        config: &mut Config,
        shape: &Shape,
    ) -> Result<EvaluatorEpoch> {
        self.epoch(channels, config, shape)
    }

    fn memory(epoch: &Estimate) -> (u64, [u64; 6]) {
        (epoch.evaluator_buffer, epoch.evaluator_items)
    }

    fn write(&self) -> Zeroizing<Vec<u8>> {
        written(&[
            bytemuck::bytes_of(&*self.delta_share),
            bytemuck::cast_slice(&self.choices),
        ])
    }

    fn read(bytes: &[u8], counters: Counters) -> Option<Self> {
        let (share, choices) = bytes.split_at_checked(size_of::<Share>())?;
        if choices.len() != CODE_BITS.div_ceil(64) * 8 {
            return None;
        }
        let choices = Zeroizing::new(bytemuck::pod_collect_to_vec::<u8, u64>(choices));
        Some(Self {
            source: None,
            // It verifies openings, for which no seeds are needed, and will receive no commitments.
            receiver: Receiver::new(&choices, &[Block::ZERO; CODE_BITS]),
            choices,
            delta_share: Zeroizing::new(try_pod_read_unaligned(share).ok()?),
            counters,
        })
    }
}
