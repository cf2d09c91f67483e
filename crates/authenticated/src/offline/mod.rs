//! Filling the pool: leaky ANDs (steps 1 to 3 of the specification).
//!
//! For each lot: authenticated bits x, y, z; a short block each way; a bit each way that makes z the product; an equality test of short sums,
//! which tells one bit; and the coin that decides what is drawn from here on.
//!
//! Of blocks and sums only the lowest bits count, so many as `cenote_params::short` says. All else is whole: the hash's inputs, MACs and keys, z, and what
//! is garbled later.

pub(crate) mod equality;
mod leaky;
mod lots;
mod short;

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

use cenote_net::Channel;
use cenote_pool::kept::{Copy, KeptPool};
use cenote_pool::{Drawn, Fresh, Pool, Role};
use cenote_primitives::{Block, as_bytes, as_bytes_mut, prefetch};
use cenote_session::{Error, MESSAGE_FORM, Result, room};
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

pub(crate) use self::lots::Lots;
use self::short::Short;
use crate::kept::Numbers;
use crate::settings::Sizes;
use crate::setup::{Blocks, Keys, ONE, is_packed, packed, spread};
use crate::{checks, steps};

/// A leaky AND: this party's MACs of x, y and z, and its keys of the other party's.
pub(crate) type Record = [Block; RECORD];

/// Blocks of a [`Record`].
pub(crate) const RECORD: usize = 6;

/// Leaky ANDs in a message.
const AT_ONCE: usize = 4096;

/// Leaky ANDs that both parties send before they receive the other's: no more than channels hold.
const WINDOW: usize = 1 << 19;

/// Masks made at once, at most.
const MASKS_AT_ONCE: usize = 1 << 20;

/// What room is asked for.
const WHAT: &str = "leaky ANDs";

/// Authenticated bits that nothing has been made of, for masks: MACs of this party's and keys of the other's, in the order in which they came.
#[derive(Default)]
pub(crate) struct Masks {
    batches: VecDeque<[Blocks; 2]>,
    /// The first of the first batch that has not been taken.
    next: usize,
    left: usize,
    /// Arrays that were used up.
    spare: [Blocks; 2],
}

impl Masks {
    pub(crate) fn left(&self) -> usize {
        self.left
    }

    /// Appends MACs and keys of so many to `to`.
    ///
    /// # Panics
    /// If there are fewer.
    pub(crate) fn take(&mut self, count: usize, to: &mut [Blocks; 2]) {
        assert!(count <= self.left, "masks were made for what is taken");
        self.left -= count;
        let mut wanted = count;
        while wanted > 0 {
            let batch = self.batches.front().expect("there are more");
            let of = self.next..batch[0].len().min(self.next + wanted);
            for (to, from) in to.iter_mut().zip(batch) {
                to.extend_from_slice(&from[of.clone()]);
            }
            wanted -= of.len();
            self.next = of.end;
            if self.next == batch[0].len() {
                self.next = 0;
                self.spare = self.batches.pop_front().expect("the first");
            }
        }
    }

    fn add(&mut self, macs: &[Block], keys: &[Block]) {
        if macs.is_empty() {
            return;
        }
        self.left += macs.len();
        let mut batch = std::mem::take(&mut self.spare);
        for (to, from) in batch.iter_mut().zip([macs, keys]) {
            to.clear();
            if to.capacity() < from.len() {
                *to = Zeroizing::new(Vec::with_capacity(from.len()));
            }
            to.extend_from_slice(from);
        }
        self.batches.push_back(batch);
    }
}

/// The leaky ANDs of a lot, where they were made: MACs and keys of all x, then of all y, then of all z, and then of masks.
#[derive(Default)]
pub(crate) struct Made {
    count: usize,
    macs: Blocks,
    keys: Blocks,
}

impl ZeroizeOnDrop for Made {}

impl Fresh<Record> for Made {
    fn count(&self, _: usize) -> usize {
        self.count
    }

    #[inline(always)]
    fn copy(&self, number: usize, to: &mut [Record]) {
        let [x, y, z] = [0, 1, 2].map(|part| part * self.count + number);
        let (macs, keys) = (&self.macs, &self.keys);
        to[0] = [macs[x], macs[y], macs[z], keys[x], keys[y], keys[z]];
    }

    /// About once for all that are in a line.
    #[inline(always)]
    fn ask(&self, number: usize, _: usize) {
        if number.is_multiple_of(64 / size_of::<Block>()) {
            for part in 0..3 {
                prefetch(&self.macs, part * self.count + number);
                prefetch(&self.keys, part * self.count + number);
            }
        }
    }

    fn bytes(&self) -> usize {
        size_of::<Block>() * (self.macs.capacity() + self.keys.capacity())
    }

    /// All of it is written over.
    fn clear(&mut self) {}
}

/// Leaky ANDs and masks of a party.
pub(crate) struct Supply {
    pub(crate) pool: Pool<Record, Made>,
    /// If the pool is kept.
    numbers: Option<Numbers>,
    pub(crate) masks: Masks,
    /// Leaky ANDs of a triple.
    pub(crate) bucket: usize,
    size: usize,
    pub(crate) lots: Lots,
    sums: Blocks,
}

impl Supply {
    /// An empty pool, or, if there is something on disk, what is left of that one.
    pub(crate) fn new(
        sizes: &Sizes,
        mut lots: Lots,
        kept: Option<(Arc<KeptPool>, Option<Copy>)>,
    ) -> Result<Self> {
        let size = sizes.pool.pool_size as usize;
        let (numbers, restored) = match kept {
            Some((kept, copy)) => {
                let (numbers, pool) = Numbers::new(kept, sizes, copy)?;
                (Some(numbers), pool)
            }
            None => (None, None),
        };
        let pool = match restored {
            Some(pool) => {
                lots.restored(pool.len());
                pool
            }
            None => Pool::with_room([size, 1, sizes.bucket()], &format!("a pool of {size} leaky ANDs"))?,
        };
        Ok(Self {
            pool,
            numbers,
            masks: Masks::default(),
            bucket: sizes.bucket(),
            size,
            lots,
            sums: Blocks::default(),
        })
    }

    /// Whether there are triples, and masks of their products, for so many gates.
    pub(crate) fn has(&self, gates: usize) -> bool {
        self.pool.left() >= gates.saturating_mul(self.bucket) && self.masks.left() >= gates
    }

    /// Draws the leaky ANDs of so many triples: `each` has the number of a triple and what it is made of.
    pub(crate) fn draw(&mut self, gates: usize, each: impl FnMut(usize, Drawn<'_, Record>)) -> Result<()> {
        if let Some(numbers) = &mut self.numbers {
            numbers.draw(gates)?;
        }
        let drawn = self.pool.draw_each(gates, each);
        drawn.map_err(|unready| Error::Internal(unready.to_string()))
    }

    /// Copies a pool that is kept, for the next session: nothing more is drawn in this one.
    pub(crate) fn leave(&self) -> Result<()> {
        match &self.numbers {
            Some(numbers) => numbers.leave(self.pool.records()),
            None => Ok(()),
        }
    }

    /// Makes lots until there are triples for so many gates. `told` hears how many leaky ANDs are in the pool.
    pub(crate) fn ready(
        &mut self,
        keys: &mut Keys,
        channel: &mut dyn Channel,
        gates: usize,
        told: &mut dyn FnMut(u64),
    ) -> Result<()> {
        while self.pool.left() < gates.saturating_mul(self.bucket) {
            let begun = Instant::now();
            let lot = self.lots.next();
            let room = self.pool.len() + self.pool.left() + lot;
            let drawable = room.saturating_sub(self.size);
            let masks = (drawable / self.bucket).saturating_sub(self.masks.left());
            let round_trip = self.refill(keys, channel, lot, masks)?;
            self.lots
                .agree(keys.role, channel, [begun.elapsed(), round_trip])?;
            told(self.pool.len() as u64);
        }
        self.ready_masks(keys, channel, gates)
    }

    /// Makes masks until there are so many.
    pub(crate) fn ready_masks(
        &mut self,
        keys: &mut Keys,
        channel: &mut dyn Channel,
        count: usize,
    ) -> Result<()> {
        while self.masks.left() < count {
            let missing = (count - self.masks.left()).min(MASKS_AT_ONCE);
            let mut macs = room::secret(WHAT, missing)?;
            let mut theirs = room::secret(WHAT, missing)?;
            keys.extend(channel, &mut macs, &mut theirs)?;
            self.masks.add(&macs, &theirs);
        }
        Ok(())
    }

    /// Makes `count` leaky ANDs, puts them into the pool, and makes so many masks. Gives how long the coin took.
    fn refill(
        &mut self,
        keys: &mut Keys,
        channel: &mut dyn Channel,
        count: usize,
        masks: usize,
    ) -> Result<Duration> {
        let all = 3 * count + masks;
        let mut made = self.pool.room();
        made.count = count;
        for (array, size) in [
            (&mut made.macs, all),
            (&mut made.keys, all),
            (&mut self.sums, count),
        ] {
            if array.capacity() < size {
                *array = room::secret(WHAT, size)?;
            }
            array.resize(size, Block::ZERO);
        }
        keys.extend(channel, &mut made.macs, &mut made.keys)?;
        self.masks.add(&made.macs[3 * count..], &made.keys[3 * count..]);
        let mut lot = Lot {
            count,
            macs: &mut made.macs[..3 * count],
            keys: &mut made.keys[..3 * count],
        };
        lot.make(keys, channel, &mut self.sums[..count])?;
        // What was made is compared, and in its place.
        let asked = Instant::now();
        let coin = keys.coin(channel, steps::COIN)?;
        let round_trip = asked.elapsed();
        if let Some(numbers) = &mut self.numbers {
            numbers.made(coin, count)?;
        }
        self.pool.refill(made, (0..count as u32).collect(), coin);
        Ok(round_trip)
    }
}

/// A lot: MACs and keys of all x, then of all y, then of all z.
pub(crate) struct Lot<'a> {
    pub(crate) count: usize,
    pub(crate) macs: &'a mut [Block],
    pub(crate) keys: &'a mut [Block],
}

impl Lot<'_> {
    fn parts(&self, of: &Range<usize>) -> [[&[Block]; 3]; 2] {
        [&*self.macs, &*self.keys].map(|all| [0, 1, 2].map(|part| &all[part * self.count..][of.clone()]))
    }

    /// Sends this party's blocks, and begins its sums.
    fn send_blocks(
        &self,
        keys: &Keys,
        window: Range<usize>,
        first: u64,
        sums: &mut [Block],
        channel: &mut dyn Channel,
    ) -> Result<()> {
        let mut blocks = Blocks::default();
        let mut short = Short::new(keys.leaky_bits());
        for of in pieces(window, AT_ONCE) {
            blocks.resize(of.len(), Block::ZERO);
            let [own, other] = self.parts(&of);
            let hashed = leaky::Hashed {
                delta: *keys.delta,
                start: keys.start,
                first: first + of.start as u64,
            };
            leaky::make(hashed, own, other, &mut blocks, &mut sums[of]);
            short.cut(&blocks);
            short.send(channel, steps::LEAKY)?;
        }
        Ok(())
    }

    /// Receives the other party's blocks, and ends the sums.
    fn receive_blocks(
        &self,
        keys: &Keys,
        window: Range<usize>,
        sums: &mut [Block],
        channel: &mut dyn Channel,
    ) -> Result<()> {
        let mut short = Short::new(keys.leaky_bits());
        for of in pieces(window, AT_ONCE) {
            short.receive(channel, steps::LEAKY, of.len())?;
            short.add_if(&self.macs[of.clone()], &mut sums[of]);
        }
        Ok(())
    }

    /// Makes z the product of x and y, and compares that with the other party. It takes about 0.1 ms besides what each leaky AND takes.
    pub(crate) fn make(
        &mut self,
        keys: &mut Keys,
        channel: &mut dyn Channel,
        sums: &mut [Block],
    ) -> Result<()> {
        let first = self.multiply(keys, channel, sums)?;
        self.compare(keys, channel, sums, first)
    }

    /// Makes z the product of x and y if the other party is honest. Gives the first tweak, and `sums` that are the same at both parties then, in as
    /// many bits as leaky ANDs have.
    pub(crate) fn multiply(
        &mut self,
        keys: &mut Keys,
        channel: &mut dyn Channel,
        sums: &mut [Block],
    ) -> Result<u64> {
        let first = keys.counters.leaky(self.count);
        // All that fits is sent before anything is waited for.
        for window in pieces(0..self.count, WINDOW) {
            self.send_blocks(keys, window.clone(), first, sums, channel)?;
            self.receive_blocks(keys, window, sums, channel)?;
        }
        self.correct(keys, channel, sums)?;
        Ok(first)
    }

    /// Exchanges bits that tell where z is no product, and changes it there.
    fn correct(&mut self, keys: &Keys, channel: &mut dyn Channel, sums: &mut [Block]) -> Result<()> {
        let count = self.count;
        let ours = packed::<1>(sums);
        let mut wrong = vec![0; ours.len()];
        let bytes = count.div_ceil(8);
        channel.send(steps::PRODUCTS, &as_bytes(&ours)[..bytes])?;
        channel.flush()?;
        channel.recv(steps::PRODUCTS, &mut as_bytes_mut(&mut wrong)[..bytes])?;
        if !is_packed(&wrong, count) {
            let detail = format!("they are no {count} packed bits");
            return Err(Error::cheated(
                MESSAGE_FORM,
                channel.peer(),
                steps::PRODUCTS,
                detail,
            ));
        }
        wrong
            .iter_mut()
            .zip(&ours)
            .for_each(|(theirs, ours)| *theirs ^= ours);
        // Where it is wrong the garbler's share of z changes.
        let (z, change) = match keys.role {
            Role::Garbler => (&mut *self.macs, ONE),
            Role::Evaluator => (&mut *self.keys, keys.negation()),
        };
        for (at, (sum, z)) in sums.iter_mut().zip(&mut z[2 * count..]).enumerate() {
            let wrong = spread(&wrong, at);
            *sum ^= *keys.delta & wrong;
            *z ^= change & wrong;
        }
        Ok(())
    }

    /// Compares the sums with the other party's.
    pub(crate) fn compare(
        &self,
        keys: &mut Keys,
        channel: &mut dyn Channel,
        sums: &[Block],
        first: u64,
    ) -> Result<()> {
        let digest = digest(keys, sums);
        equality::test(keys, channel, &digest, [first, sums.len() as u64])
    }
}

/// A digest of the bits of all sums that are compared.
pub(crate) fn digest(keys: &mut Keys, sums: &[Block]) -> equality::Digest {
    let mut hasher = keys.digest("leaky ANDs");
    let mut short = Short::new(keys.leaky_bits());
    for sums in sums.chunks(AT_ONCE) {
        short.cut(sums);
        short.hash(&mut hasher);
    }
    let digest = Zeroizing::new(*hasher.finalize().as_bytes());
    hasher.zeroize();
    digest
}

/// `all`, in pieces of so many.
fn pieces(all: Range<usize>, at_once: usize) -> impl Iterator<Item = Range<usize>> {
    let end = all.end;
    all.step_by(at_once)
        .map(move |first| first..end.min(first + at_once))
}

/// Says that the leaky ANDs of the other party are none.
fn unequal(channel: &dyn Channel) -> Error {
    let detail = "they are not what both parties computed of them";
    Error::cheated(checks::LEAKY_AND, channel.peer(), steps::CONFIRM_EQUALITY, detail)
}
