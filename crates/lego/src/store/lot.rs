//! Lots: what was made by one offline run, under one `Δ`.

use std::ops::Range;

use cenote_net::{Channel, PartyId};
use cenote_primitives::Block;
use cenote_session::Result;
use cenote_store::{Item, ItemId, Runs, Stored};
use zeroize::Zeroizing;

use super::PROTOCOL;
use crate::counters::Counters;
use crate::material::{EvaluatorEpoch, EvaluatorStock, GarblerEpoch, GarblerStock};
use crate::order::Order;
use crate::settings::Config;
use crate::setup::{EvaluatorKeys, GarblerKeys};
use cenote_commit::{CODE_BITS, Receiver, Share};

/// A lot in a folder, for people and programs to look at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredLot {
    /// Its name.
    pub id: ItemId,
    /// Whether this party is the garbler of its material.
    pub garbler: bool,
    /// When it was made by this party's clock, in milliseconds since 1970.
    pub made: u64,
    /// Its statistical security in bits.
    pub security: u32,
    /// What is left.
    pub left: Order,
    /// The peer, if it said that it had none of it when a session last compared. No job can use it then.
    pub lacked_by: Vec<PartyId>,
}

impl StoredLot {
    /// What `stored` is, if it is a lot.
    pub fn of(stored: &Stored) -> Option<Self> {
        let Item {
            id,
            role,
            settings,
            made,
            ..
        } = &stored.item;
        (stored.item.protocol == PROTOCOL).then(|| Self {
            id: *id,
            garbler: role == GarblerKeys::ROLE,
            made: *made,
            security: settings.parse().unwrap_or(0),
            left: order(&stored.left),
            lacked_by: stored.lacked_by.clone(),
        })
    }
}

/// Number of items of each kind.
pub(super) fn order(left: &Runs) -> Order {
    Order::from_counts([0, 1, 2, 3, 4, 5].map(|kind| left.count(kind)))
}

/// What sessions must have to use a lot: the security.
pub(super) fn settings(config: &Config) -> String {
    config.security.to_string()
}

/// One of the two sides of a lot.
pub(crate) trait SideOfLot: Sized {
    /// What it is called.
    const ROLE: &str;
    /// What one epoch makes.
    type Epoch: super::pack::Kinds;
    /// Where sessions take material from.
    type Stock;

    fn setup(channel: &mut dyn Channel, config: &mut Config) -> Result<Self>;
    fn generate(
        &mut self,
        channels: &mut [Box<dyn Channel>],
        config: &mut Config,
        order: &Order,
        sink: &mut dyn FnMut(Self::Epoch) -> Result<()>,
    ) -> Result<()>;
    fn counters(&mut self) -> &mut Counters;
    /// What is needed to use the material, and nothing that makes more.
    fn write(&self) -> Zeroizing<Vec<u8>>;
    /// The inverse of `write`.
    fn read(bytes: &[u8], counters: Counters) -> Option<Self>;
    /// Puts some items of a kind after what is in `stock`.
    fn push(stock: &mut Self::Stock, epoch: Self::Epoch, ranges: [Range<usize>; 6]);
}

fn written(parts: &[&[u8]]) -> Zeroizing<Vec<u8>> {
    let mut bytes = Zeroizing::new(Vec::with_capacity(parts.iter().map(|part| part.len()).sum()));
    parts.iter().for_each(|part| bytes.extend_from_slice(part));
    bytes
}

impl SideOfLot for GarblerKeys {
    const ROLE: &str = "garbler";
    type Epoch = GarblerEpoch;
    type Stock = GarblerStock;

    fn setup(channel: &mut dyn Channel, config: &mut Config) -> Result<Self> {
        Self::setup(channel, config)
    }

    fn generate(
        &mut self,
        channels: &mut [Box<dyn Channel>],
        config: &mut Config,
        order: &Order,
        sink: &mut dyn FnMut(Self::Epoch) -> Result<()>,
    ) -> Result<()> {
        self.generate(channels, config, order, sink)
    }

    fn counters(&mut self) -> &mut Counters {
        &mut self.counters
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
            delta: Zeroizing::new(bytemuck::try_pod_read_unaligned(delta).ok()?),
            delta_share: Zeroizing::new(bytemuck::try_pod_read_unaligned(share).ok()?),
            counters,
        })
    }

    fn push(stock: &mut GarblerStock, epoch: GarblerEpoch, ranges: [Range<usize>; 6]) {
        stock.push_some(epoch, ranges);
    }
}

impl SideOfLot for EvaluatorKeys {
    const ROLE: &str = "evaluator";
    type Epoch = EvaluatorEpoch;
    type Stock = EvaluatorStock;

    fn setup(channel: &mut dyn Channel, config: &mut Config) -> Result<Self> {
        Self::setup(channel, config)
    }

    fn generate(
        &mut self,
        channels: &mut [Box<dyn Channel>],
        config: &mut Config,
        order: &Order,
        sink: &mut dyn FnMut(Self::Epoch) -> Result<()>,
    ) -> Result<()> {
        self.generate(channels, config, order, sink)
    }

    fn counters(&mut self) -> &mut Counters {
        &mut self.counters
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
            delta_share: Zeroizing::new(bytemuck::try_pod_read_unaligned(share).ok()?),
            counters,
        })
    }

    fn push(stock: &mut EvaluatorStock, epoch: EvaluatorEpoch, ranges: [Range<usize>; 6]) {
        stock.push_some(epoch, ranges);
    }
}
