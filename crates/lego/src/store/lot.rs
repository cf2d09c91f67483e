//! Lots: what was made by one offline run, under one `Δ`.

use cenote_net::PartyId;
use cenote_store::{Item, ItemId, Runs, Stored};

use crate::order::Order;
use crate::party::Party;
use crate::settings::Config;
use crate::setup::GarblerKeys;

/// The protocol's name in descriptions of items.
pub(super) const PROTOCOL: &str = "lego";

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
