//! The offline phase: two parties make material together, and each puts its part on its disk.

use std::time::{SystemTime, UNIX_EPOCH};

use cenote_net::Channel;
use cenote_session::Result;

use super::lot::{Header, Label, LotId, PieceName, SideOfLot};
use super::pack::Kinds;
use super::{Counts, LOT, MaterialFolder, fault, folder_builder, sync_folder};
use crate::config::Config;
use crate::failure::told_all;
use crate::order::Order;
use crate::setup::{EvaluatorKeys, GarblerKeys};
use crate::steps::STORED;

/// Bytes of a piece, about.
const PIECE_BYTES: usize = 4 << 20;
/// Pieces begin at multiples of this many items: AND buckets lie in groups of four.
const ALIGNED: usize = super::pack::GROUP;

/// A lot that is being made. Afterwards it is there for sessions, or forgotten if nothing of it is there.
struct Making {
    folder: MaterialFolder,
    id: LotId,
    /// Items put so far.
    put: Counts,
}

impl Making {
    fn begin<K: SideOfLot>(folder: &MaterialFolder, keys: &mut K, config: &Config) -> Result<Self> {
        let id = LotId(keys.counters().id());
        // A clock before 1970 is no reason to fail.
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let header = Header {
            garbler: K::GARBLER,
            security: config.security,
            made: now.as_millis() as u64,
            session: config.session.clone(),
            keys: keys.write(),
        };
        let path = folder.lot_folder(&id);
        folder.in_making().push(id);
        let making = Self {
            folder: folder.clone(),
            id,
            put: [0; 6],
        };
        folder_builder()
            .create(&path)
            .and_then(|()| sync_folder(&folder.0.path))
            .map_err(|error| fault(&path, format_args!("cannot be made: {error}")))?;
        folder
            .0
            .seal
            .write(&path, LOT, &Label::Lot(id).bytes(), &header.encode())?;
        folder.record(&id, &[0; 6])?;
        Ok(making)
    }

    /// Puts an epoch on the disk.
    fn put(&mut self, epoch: &impl Kinds) -> Result<()> {
        let folder = self.folder.lot_folder(&self.id);
        for kind in 0..6 {
            let (count, bytes) = epoch.size(kind);
            let step = (PIECE_BYTES / bytes.max(1)).max(ALIGNED) / ALIGNED * ALIGNED;
            for start in (0..count).step_by(step) {
                let range = start..count.min(start + step);
                let name = PieceName {
                    kind: kind as u8,
                    first: self.put[kind] + start as u64,
                    count: range.len() as u64,
                };
                let label = Label::Piece(self.id, name).bytes();
                self.folder
                    .0
                    .seal
                    .write(&folder, &name.file_name(), &label, &epoch.pack(kind, range))?;
            }
            self.put[kind] += count as u64;
        }
        Ok(())
    }
}

impl Drop for Making {
    fn drop(&mut self) {
        if self.folder.lot_folder(&self.id).exists()
            && let Err(error) = self.folder.tidy(&self.id)
        {
            tracing::warn!(%error, "a lot of material cannot be cleared");
        }
        self.folder.in_making().retain(|known| *known != self.id);
    }
}

impl MaterialFolder {
    /// Sets up as the garbler with the evaluator at the other end of all `channels`, generates what `order` asks for, epoch by
    /// epoch, and puts it in this folder as one lot. `progress` is told what is done.
    ///
    /// If the run is cut off, by a crash or a lost peer, what both parties have can be used. If a check fails or the peer
    /// says so, the whole lot is deleted: who cheated in one epoch may have been luckier in another.
    ///
    /// # Errors
    /// [`cenote_session::Error::Storage`] if a file cannot be written; otherwise what [`GarblerKeys::setup`] and
    /// [`GarblerKeys::generate`] fail with.
    pub fn make_garbler(
        &self,
        channels: &mut [Box<dyn Channel>],
        config: &mut Config,
        order: &Order,
        progress: &mut dyn FnMut(Order),
    ) -> Result<LotId> {
        let keys = GarblerKeys::setup(&mut *channels[0], config)?;
        self.make(keys, channels, config, progress, |keys, channels, config, put| {
            keys.generate(channels, config, order, &mut |epoch| put(&epoch))
        })
    }

    /// [`MaterialFolder::make_garbler`] as the evaluator.
    ///
    /// # Errors
    /// The same.
    pub fn make_evaluator(
        &self,
        channels: &mut [Box<dyn Channel>],
        config: &mut Config,
        order: &Order,
        progress: &mut dyn FnMut(Order),
    ) -> Result<LotId> {
        let keys = EvaluatorKeys::setup(&mut *channels[0], config)?;
        self.make(keys, channels, config, progress, |keys, channels, config, put| {
            keys.generate(channels, config, order, &mut |epoch| put(&epoch))
        })
    }

    fn make<K: SideOfLot>(
        &self,
        mut keys: K,
        channels: &mut [Box<dyn Channel>],
        config: &mut Config,
        progress: &mut dyn FnMut(Order),
        generate: impl FnOnce(
            &mut K,
            &mut [Box<dyn Channel>],
            &mut Config,
            &mut dyn FnMut(&K::Epoch) -> Result<()>,
        ) -> Result<()>,
    ) -> Result<LotId> {
        let begun = Making::begin(self, &mut keys, config);
        let mut making = told_all(channels, begun)?;
        let id = making.id;
        let made = generate(&mut keys, channels, config, &mut |epoch| {
            making.put(epoch)?;
            progress(Order::from_counts(making.put));
            Ok(())
        });
        let made = made.and_then(|()| {
            let stored = stored(&mut *channels[0]);
            told_all(channels, stored)
        });
        if let Err(error) = &made
            && error.check().is_some()
            && let Err(error) = self.discard(&id)
        {
            tracing::error!(%error, "a lot of material in whose making a check failed cannot be deleted");
        }
        drop(making);
        made.map(|()| id)
    }
}

/// Tells the peer that all is on this party's disk, and waits for its word.
fn stored(channel: &mut dyn Channel) -> Result<()> {
    channel.send(STORED, &[])?;
    channel.recv(STORED, &mut [])?;
    Ok(())
}
