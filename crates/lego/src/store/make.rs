//! The offline phase: two parties make material together, and each puts its part on its disk.

use std::time::{SystemTime, UNIX_EPOCH};

use cenote_net::{Channel, PartyId};
use cenote_session::Result;
use cenote_store::{Item, ItemId, Keys, Making, Peers, Run, Store};

use super::lot::{PROTOCOL, settings};
use crate::failure::told_all;
use crate::material::{Epoch, GROUP, Holder};
use crate::order::Order;
use crate::party::{Party, generate};
use crate::settings::Config;
use crate::steps::STORED;

/// Bytes of a piece, about.
const PIECE_BYTES: usize = 4 << 20;

/// Sets up with the peer at the other end of all `channels`, generates what `order` asks for, epoch by
/// epoch, and puts it in `store` as one lot. `progress` is told what is done.
///
/// If the run does not come to its good end at both parties, whatever ends it, nothing of it is kept: who cheated in one
/// epoch may have been luckier in another, or have fallen silent when it saw that it was not. The peer is told after that.
///
/// # Errors
/// [`cenote_session::Error::Storage`] if a file cannot be written; otherwise what set-up and generating fail with.
pub(crate) fn make<K: Party>(
    store: &Store,
    me: PartyId,
    channels: &mut [Box<dyn Channel>],
    config: &mut Config,
    order: &Order,
    progress: &mut dyn FnMut(Order),
) -> Result<ItemId> {
    let mut keys = K::setup(&mut *channels[0], config)?;
    let made = begin(store, me, &mut keys, config).and_then(|making| {
        let mut put = [0; 6];
        generate(&mut keys, channels, config, order, &mut |epoch| {
            put_epoch(&making, &mut put, &epoch)?;
            progress(Order::from_counts(put));
            Ok(())
        })?;
        stored(&mut *channels[0])?;
        making.confirm()?;
        Ok(making.id())
    });
    told_all(channels, made)
}

fn begin<K: Party>(store: &Store, me: PartyId, keys: &mut K, config: &Config) -> Result<Making> {
    // A clock before 1970 is no reason to fail.
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    store.begin(&Item {
        id: ItemId(keys.counters().id()),
        protocol: PROTOCOL.into(),
        party: me,
        role: K::ROLE.into(),
        settings: settings(config),
        made: now.as_millis() as u64,
        peers: Peers::default(),
        keys: Keys(keys.write()),
    })
}

/// Puts an epoch on the disk, after the `put` items of each kind that are there.
fn put_epoch(making: &Making, put: &mut [u64; 6], epoch: &Epoch<impl Holder>) -> Result<()> {
    let sizes = epoch.counts().into_iter().zip(epoch.item_bytes());
    for ((kind, put), (count, bytes)) in (0..).zip(put).zip(sizes) {
        // AND buckets lie in groups.
        let step = (PIECE_BYTES / bytes.max(1)).max(GROUP) / GROUP * GROUP;
        for start in (0..count).step_by(step) {
            let range = start..count.min(start + step);
            let numbers = *put + range.start as u64..*put + range.end as u64;
            making.put(Run::new(kind, numbers), &[&epoch.pack(kind, range)?])?;
        }
        *put += count as u64;
    }
    Ok(())
}

/// Tells the peer that all is on this party's disk, and waits for its word.
fn stored(channel: &mut dyn Channel) -> Result<()> {
    channel.send(STORED, &[])?;
    channel.recv(STORED, &mut [])?;
    Ok(())
}
