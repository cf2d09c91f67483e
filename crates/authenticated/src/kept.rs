//! Pools on disk: what of this protocol's is kept ([`cenote_pool::kept`]).
//!
//! Both parties check: each notes, before it confirms the sums of a lot, that an equality test has begun. Who has spoilt leaky ANDs sees by the other
//! party's confirmation whether it will be caught.
//!
//! A record tells nobody which leaky AND it is: what the parties have of it is different. So their numbers are drawn from a pool of their
//! own, by the same coins. Copies are made when a session ends: to write one takes longer than to make the pool anew.

use std::sync::Arc;

use cenote_net::{Channel, PartyId, Step};
use cenote_pool::kept::{self, Copy, Identity, Keep, KeptPool, Shape, Spent};
use cenote_pool::session::{self, Begun};
use cenote_pool::{Pool, Role};
use cenote_primitives::{Block, Entropy, as_bytes};
use cenote_protocol::Facts;
use cenote_session::{Error, Result, Terms, room};
use cenote_store::{Store, Stored};
use zeroize::Zeroizing;

use crate::offline::{Made, RECORD, Record};
use crate::settings::{Config, MAX_LOT, Sizes};
use crate::setup::Base;
use crate::steps;

/// The coins of a journal make up for a copy until so many times the pool has been drawn: about one place in fifty is untouched then.
const POOLS_OF_A_COPY: u64 = 4;

/// What a session keeps.
struct Keeping<'a> {
    role: Role,
    config: &'a mut Config,
    security: u32,
}

/// The pool of a session: that which both parties keep and can put back, if there is a store, or a new one with `sizes`.
pub(crate) fn begin(
    me: PartyId,
    channel: &mut dyn Channel,
    config: &mut Config,
    sizes: Sizes,
    store: Option<&Store>,
) -> Result<Begun<Sizes, Base>> {
    let mut keeping = Keeping {
        role: Role::of(me, config.garbler),
        config,
        security: sizes.security,
    };
    session::begin(me, channel, &mut keeping, sizes, store)
}

/// What people should know of a pool.
pub(crate) fn facts(stored: &Stored) -> Facts {
    let mut facts = Identity::facts(&stored.item, &["leaky ANDs", "leaky bits"]);
    if !facts.is_empty() {
        facts.push(("circuits", kept::prepared(stored).into()));
    }
    facts
}

impl Keep for Keeping<'_> {
    const PROTOCOL: &'static str = "authenticated";
    const COPIES: &'static [&'static str] = &["leaky"];
    const STEP: Step = steps::KEPT_POOLS;
    const PREPARES: bool = true;
    type Sizes = Sizes;
    type Base = Base;

    fn security(&self) -> u32 {
        self.security
    }

    fn garbler(&self) -> PartyId {
        self.config.garbler
    }

    fn session(&mut self) -> &mut String {
        &mut self.config.session
    }

    fn entropy(&mut self) -> &mut Entropy {
        &mut self.config.entropy
    }

    fn numbers(sizes: &Sizes) -> Vec<u32> {
        vec![sizes.pool.pool_size as u32, sizes.leaky_bits]
    }

    fn sizes(&self, numbers: &[u32]) -> Option<Sizes> {
        let [pool, leaky_bits] = *numbers else { return None };
        let found = Sizes::search(self.security, pool).ok()?;
        (found.leaky_bits == leaky_bits).then_some(found)
    }

    fn terms(sizes: &Sizes) -> Terms {
        sizes.terms()
    }

    /// As if the session had to fill the pool.
    fn is_spent(&self, sizes: &Sizes, spent: &Spent) -> bool {
        let Config {
            demand, generator, ..
        } = *self.config;
        let session = sizes.session(demand, self.config.lots(), generator);
        sizes.within(&sizes.after(session, spent, 1)).is_err()
    }

    /// Records, and after them their numbers.
    fn shapes(&self, sizes: &Sizes) -> Vec<Shape> {
        let size = sizes.pool.pool_size as usize;
        vec![Shape {
            size,
            together: sizes.bucket(),
            blocks: size * RECORD + blocks_of_numbers(size),
        }]
    }

    fn number(shape: &Shape, copy: &[Block], place: usize) -> u64 {
        let numbers: &[u64] = bytemuck::cast_slice(&copy[shape.size * RECORD..]);
        numbers[place]
    }

    fn establish(&mut self, channel: &mut dyn Channel, _: &Sizes) -> Result<Base> {
        Base::establish(channel, self.config, self.role)
    }

    fn coin(base: &Base) -> Block {
        base.coin
    }

    fn encode(base: &Base) -> Zeroizing<Vec<u8>> {
        base.encode()
    }

    fn decode(&self, bytes: &[u8], _: &Sizes) -> Option<Base> {
        Base::decode(bytes, self.role)
    }
}

/// Blocks of a copy that have so many numbers, and room for as much as whole records have.
fn blocks_of_numbers(size: usize) -> usize {
    size.div_ceil(2).next_multiple_of(RECORD)
}

/// The numbers of the leaky ANDs of a pool that is kept: where their records are in the pool of records.
pub(crate) struct Numbers {
    kept: Arc<KeptPool>,
    size: usize,
    pool: Pool<u64>,
    drawn: Vec<u64>,
}

impl Numbers {
    /// Those of a full pool as they were, with the records; or of an empty one.
    pub(crate) fn new(
        kept: Arc<KeptPool>,
        sizes: &Sizes,
        copy: Option<Copy>,
    ) -> Result<(Self, Option<Pool<Record, Made>>)> {
        let [size, together] = [sizes.pool.pool_size as usize, sizes.bucket()];
        let (pool, records) = match copy {
            None => {
                let what = format!("the numbers of {size} leaky ANDs");
                (Pool::with_room([size, 1, together], &what)?, None)
            }
            Some((mut copy, gaps)) => {
                let numbers: &[u64] = bytemuck::cast_slice(&copy[size * RECORD..]);
                let numbers = room::copy("numbers of leaky ANDs", &numbers[..size])?;
                let records = bytemuck::allocation::try_cast_vec(std::mem::take(&mut *copy));
                let mut records: Zeroizing<Vec<Record>> = match records {
                    Ok(records) => Zeroizing::new(records),
                    // It has room for no whole number of records.
                    Err((_, copy)) => room::copy("leaky ANDs", Zeroizing::new(copy).as_chunks().0)?,
                };
                records.truncate(size);
                let records = Pool::restored([size, 1, together], records, gaps.clone());
                (Pool::restored([size, 1, together], numbers, gaps), Some(records))
            }
        };
        let numbers = Self {
            kept,
            size,
            pool,
            drawn: Vec::new(),
        };
        Ok((numbers, records))
    }

    /// Notes a lot of so many on the disk, of which nothing has been drawn yet.
    pub(crate) fn made(&mut self, coin: Block, count: usize) -> Result<()> {
        let first = self.kept.next(0) * u64::from(MAX_LOT);
        self.kept
            .made(0, coin, count, POOLS_OF_A_COPY * self.size as u64)?;
        let mut numbers = self.pool.room();
        numbers.extend((first..).take(count));
        self.pool.refill(numbers, (0..count as u32).collect(), coin);
        Ok(())
    }

    /// Draws the numbers of what is drawn so many times from the pool of records.
    pub(crate) fn draw(&mut self, count: usize) -> Result<()> {
        self.drawn.clear();
        let drawn = self.pool.draw(count, &mut self.drawn);
        drawn.map_err(|unready| Error::Internal(unready.to_string()))?;
        self.kept.used(self.drawn.iter().copied())
    }

    /// Copies the pool, of which these are all records, if it is full: nothing more is drawn in this session. What would have been drawn next by
    /// coins that are known is left out by who puts it back: otherwise a party that has a say in when sessions end could take back coins.
    pub(crate) fn leave(&self, records: &[Record]) -> Result<()> {
        if !self.pool.is_full() {
            return Ok(());
        }
        let numbers = self.pool.records();
        let padding = vec![0u64; 2 * blocks_of_numbers(numbers.len()) - numbers.len()];
        let pieces = [as_bytes(records), as_bytes(numbers), as_bytes(&padding)];
        let open = self.kept.next(0) - self.pool.pending() as u64;
        self.kept.copy(0, &pieces, open)
    }
}

#[cfg(test)]
mod tests;
