//! What the two sides have in common: their pools, how these stay full, and when they are copied to disk.

use std::sync::Arc;

use cenote_net::{Channel, Meter};
use cenote_params::computational::JimuUse;
use cenote_params::pool::Parameters;
use cenote_pool::Pool;
use cenote_pool::kept::{Copies, Copy, KeptPool, MOST_COINS};
use cenote_primitives::{BitMatrix, Block, as_bytes};
use cenote_session::{Error, Result, room};
use zeroize::Zeroizing;

use super::group::INPUTS;
use super::history::History;
use super::transfers::Transfers;
use crate::cell::Cell;
use crate::gadget::{GadgetKind, Shape};
use crate::offline::{Delivery, Maker, Order};
use crate::settings::{MUX_WIDTH, Sizes};
use crate::wires::{JimuWires, Known};

/// A copy is made whenever so many times the pool has been drawn since the one before.
const POOLS_BETWEEN_COPIES: u64 = 4;

/// Deliveries between copies, at most: a journal has the coins since the copy before the last.
const MOST_BETWEEN_COPIES: u64 = MOST_COINS as u64 / 4;

/// What the two sides have in common.
pub(crate) struct Common {
    pub(crate) sizes: Sizes,
    pub(crate) cell: Cell,
    pub(crate) history: History,
    /// Of each kind, if there is a pool of it.
    supplies: [Option<Supply>; 2],
    /// The records of what was drawn last.
    pub(crate) drawn: Zeroizing<Vec<Block>>,
    maker: Maker,
    /// Deliveries of each kind that are still to be ordered before they are needed.
    ahead: [u64; 2],
    /// Labels of the evaluator's inputs.
    pub(super) transfers: Transfers,
    /// What is on disk, if the pools are kept.
    kept: Option<Arc<KeptPool>>,
    /// The number of the next delivery of each kind.
    next: [u64; 2],
    /// The number of the session over the pool.
    session: u64,
}

/// How gadgets come to a side: in buffers of so many, some of them ahead; and what there is on disk.
pub(crate) struct Supplied {
    pub(crate) buffers: [u32; 2],
    pub(crate) ahead: [u64; 2],
    pub(crate) copies: Copies,
    pub(crate) kept: Option<Arc<KeptPool>>,
    /// The number of the session over the pool.
    pub(crate) session: u64,
}

/// A pool of gadgets of one kind.
pub(crate) struct Supply {
    pub(crate) shape: Shape,
    pub(crate) pool: Pool<Block>,
    pub(crate) parameters: Parameters,
    /// Gadgets made at once.
    pub(crate) buffer: usize,
    /// Whether the copy on disk is one that was found there and lacks much.
    is_stale: bool,
}

impl Common {
    /// `record` is how many blocks a record of this side's takes. `buffers` are the gadgets of each kind made at once, and `ahead` how
    /// many buffers of each are made before they are needed.
    pub(crate) fn new(
        sizes: Sizes,
        cell: Cell,
        supplied: Supplied,
        record: impl Fn(Shape) -> usize,
        maker: Maker,
    ) -> Result<Self> {
        let Supplied {
            buffers,
            ahead,
            copies: [gates, muxes],
            kept,
            session,
        } = supplied;
        let supply =
            |kind: GadgetKind, parameters: &Parameters, width: usize, copy: Option<Copy>| -> Result<Supply> {
                let blocks = sizes.blocks();
                let shape = Shape { blocks, width };
                let size = parameters.pool_size() as usize;
                let (stride, together) = (record(shape), parameters.bucket() as usize);
                let is_stale = copy.as_ref().is_some_and(|(_, gaps)| !gaps.is_empty());
                let pool = match copy {
                    Some((records, gaps)) => Pool::restored([size, stride, together], records, gaps),
                    None => {
                        let what = format!("a pool of {size} gadgets");
                        Pool::with_room([size, stride, together], &what)?
                    }
                };
                Ok(Supply {
                    shape,
                    pool,
                    parameters: parameters.clone(),
                    buffer: buffers[kind as usize] as usize,
                    is_stale,
                })
            };
        let mux = sizes
            .mux
            .as_ref()
            .map(|mux| supply(GadgetKind::Mux, mux, MUX_WIDTH, muxes));
        let next = [GadgetKind::And, GadgetKind::Mux]
            .map(|kind| kept.as_ref().map_or(0, |kept| kept.next(kind as usize)));
        Ok(Self {
            cell,
            history: History::new(&sizes),
            supplies: [
                Some(supply(GadgetKind::And, &sizes.pool, 1, gates)?),
                mux.transpose()?,
            ],
            drawn: Zeroizing::default(),
            maker,
            ahead,
            kept,
            next,
            transfers: Transfers::new(sizes.security, session),
            session,
            sizes,
        })
    }

    /// The kinds of which there is a pool.
    pub(crate) fn kinds(&self) -> impl Iterator<Item = GadgetKind> + use<> {
        let there = self.supplies.each_ref().map(Option::is_some);
        [GadgetKind::And, GadgetKind::Mux]
            .into_iter()
            .filter(move |kind| there[*kind as usize])
    }

    /// Gates of a gadget of the kind for gates that have an operand in common; 0 if there is none.
    pub(crate) fn mux_width(&self) -> usize {
        self.supplies[1].as_ref().map_or(0, |supply| supply.shape.width)
    }

    /// Wires with public bits. `negate` adds to a cell what negation adds.
    pub(crate) fn constant(
        &self,
        values: &BitMatrix,
        negate: impl Fn(&mut [Block]),
        known: Option<Known>,
    ) -> Result<JimuWires> {
        let (wires, lanes, size) = (values.rows(), values.lanes(), self.cell.size());
        let mut cells = room::secret(INPUTS, wires * lanes * size)?;
        let ones = cells.chunks_exact_mut(size).zip(values.bits());
        ones.filter(|(_, bit)| *bit).for_each(|(cell, _)| negate(cell));
        let history = self.history.of_outputs(wires, lanes);
        Ok(JimuWires::new(wires, lanes, cells, history, known))
    }

    /// Gates that a wire is anchored to.
    pub(crate) fn anchor(&self) -> usize {
        self.sizes.anchor.bucket as usize
    }

    pub(crate) fn supply(&self, kind: GadgetKind) -> &Supply {
        self.supplies[kind as usize]
            .as_ref()
            .expect("there is a pool of the kind")
    }

    pub(crate) fn supply_mut(&mut self, kind: GadgetKind) -> &mut Supply {
        self.supplies[kind as usize]
            .as_mut()
            .expect("there is a pool of the kind")
    }

    /// Puts deliveries into a pool until `count` gadgets can be drawn. What `online` has queued is sent first: the peer may have to read
    /// it before it orders the same.
    pub(crate) fn ready(&mut self, kind: GadgetKind, count: usize, online: &mut dyn Channel) -> Result<()> {
        self.ready_telling(kind, count, online, &mut |_| ())
    }

    /// The same, telling how many gadgets are in the pool.
    pub(crate) fn ready_telling(
        &mut self,
        kind: GadgetKind,
        count: usize,
        online: &mut dyn Channel,
        told: &mut dyn FnMut(usize),
    ) -> Result<()> {
        let count = count.next_multiple_of(self.supply(kind).parameters.bucket() as usize);
        while self.supply(kind).pool.left() < count {
            if self.maker.ordered(kind) == 0 {
                self.order(kind);
            }
            online.flush()?;
            let Delivery {
                records, kept, coin, ..
            } = self.maker.take(kind)?;
            self.supply_mut(kind).pool.refill(records, kept, coin);
            self.next[kind as usize] += 1;
            self.copy_if_due(kind)?;
            told(self.supply(kind).pool.len());
            if self.ahead[kind as usize] > 0 {
                self.ahead[kind as usize] -= 1;
                self.order(kind);
            }
        }
        Ok(())
    }

    /// The first delivery by whose coin something may yet be drawn.
    fn open(&self, kind: GadgetKind) -> u64 {
        self.next[kind as usize] - self.supply(kind).pool.pending() as u64
    }

    fn copy_if_due(&mut self, kind: GadgetKind) -> Result<()> {
        let Some(kept) = self.kept.clone() else {
            return Ok(());
        };
        let (open, supply) = (self.open(kind), self.supply_mut(kind));
        let pool = &supply.pool;
        let sizes = [pool.len(), supply.buffer].map(|gadgets| gadgets as u64);
        if pool.is_full() && (supply.is_stale || is_due(&kept, kind, open, sizes)) {
            kept.copy(kind as usize, &[as_bytes(pool.records())], open)?;
            supply.is_stale = false;
        }
        Ok(())
    }

    /// Copies pools that are kept, for the next session: nothing more is drawn in this one. What would have been drawn next by coins that are
    /// known is left out by who puts it back: otherwise a party that has a say in when sessions end could take back coins.
    pub(crate) fn leave(&self) -> Result<()> {
        let Some(kept) = &self.kept else {
            return Ok(());
        };
        for kind in self.kinds() {
            let pool = &self.supply(kind).pool;
            if pool.is_full() {
                kept.copy(kind as usize, &[as_bytes(pool.records())], self.open(kind))?;
            }
        }
        Ok(())
    }

    /// What is on disk, if the pools are kept.
    pub(crate) fn kept(&self) -> Option<&KeptPool> {
        self.kept.as_deref()
    }

    fn order(&mut self, kind: GadgetKind) {
        let supply = self.supply_mut(kind);
        let order = Order {
            kind,
            shape: supply.shape,
            count: supply.buffer,
            threshold: supply.parameters.check_threshold(),
            spare: supply.pool.room(),
        };
        self.maker.order(order);
    }

    pub(crate) fn maker(&mut self) -> &mut Maker {
        &mut self.maker
    }

    /// What went over the channel of the pool.
    pub(crate) fn meter(&self) -> Meter {
        self.maker.meter()
    }

    /// Fails if the making of gadgets has failed.
    pub(crate) fn check(&self) -> Result<()> {
        self.maker.check()
    }

    /// Draws `count` times `each` gadgets, for which the pool must be [`ready`](Common::ready). Whatever they are for, they are drawn in
    /// buckets.
    pub(crate) fn draw(&mut self, kind: GadgetKind, count: usize, each: usize) -> Result<()> {
        let supply = self.supplies[kind as usize]
            .as_mut()
            .expect("there is a pool of the kind");
        self.drawn.clear();
        let buckets = (count * each).div_ceil(supply.parameters.bucket() as usize);
        let drawn = supply.pool.draw(buckets, &mut self.drawn);
        drawn.map_err(|unready| Error::Internal(unready.to_string()))?;
        if let Some(kept) = &self.kept {
            let records = self.drawn.chunks_exact(supply.pool.stride());
            // A record ends with the number of its first gate.
            kept.used(records.filter_map(|record| record.last().map(|block| block.0[1])))?;
        }
        self.drawn.truncate(count * each * supply.pool.stride());
        Ok(())
    }

    /// What the primitives have been used for in all sessions over the pools, about. Of gates, those that were delivered or are in the pools, and
    /// as many more as are checked.
    pub(crate) fn used(&self) -> JimuUse {
        let gates = self
            .supplies
            .iter()
            .flatten()
            .zip(self.next)
            .map(|(supply, next)| {
                let pool = &supply.pool;
                let kept = (pool.len() + pool.left()) as f64 + pool.drawn() as f64;
                let of_session = kept / (1.0 - supply.parameters.check_rate());
                // Deliveries of all sessions, as large as those of this one.
                let delivered = (next * supply.buffer as u64) as f64;
                of_session.max(delivered) * supply.shape.width as f64
            });
        JimuUse {
            sessions: (self.session + 1) as f64,
            gates: gates.sum(),
            blocks: self.sizes.blocks() as u32,
            seeds: self.sizes.labels.length().into(),
            transfers: self.transfers.count() as f64,
        }
    }
}

/// Whether a copy is due of a full pool from which something may yet be drawn from delivery `open` and later ones: of `size` gadgets,
/// drawn from deliveries of so many each.
fn is_due(kept: &KeptPool, kind: GadgetKind, open: u64, [size, buffer]: [u64; 2]) -> bool {
    let period = (POOLS_BETWEEN_COPIES * size / buffer.max(1)).clamp(2, MOST_BETWEEN_COPIES);
    let copied = kept.copied(kind as usize);
    copied.is_none_or(|copied| open >= copied.saturating_add(period))
}
