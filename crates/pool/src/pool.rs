//! The pool: records of gadgets, drawn at random and replaced at once.

use std::collections::VecDeque;
use std::fmt;

use cenote_primitives::{Block, Prg, Sampler, prefer_huge_pages, prefetch};
use cenote_session::room;
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

/// The stream of a coin that decides what is drawn.
const STREAM: u64 = 1;

/// Draws whose records are asked for before the first of them is made.
const AHEAD: usize = 8;

/// Gadgets drawn together, at most.
const MOST: usize = 64;

/// A draw that cannot be: the buffer has fewer gadgets than it takes, or the pool is not full yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{wanted} gadgets are to be drawn, and there are {left} to take their places")]
pub struct Unready {
    /// The gadgets wanted.
    pub wanted: usize,
    /// Those in the buffer.
    pub left: usize,
}

/// `size` records of `stride` items, and a buffer of those that will replace them. Wiped on drop; `Debug` prints numbers only.
///
/// **Draws.** Draw number `j` takes `together` records from places that the coin of one delivery decides: the delivery of the record
/// that takes the first of the gaps. So what is drawn follows from the coins alone. When the pool is refilled, and what the records
/// drawn before are used for, changes nothing, even if it was chosen by someone who knew the coins.
pub struct Pool<T: Zeroize, F = Zeroizing<Vec<T>>> {
    size: usize,
    stride: usize,
    together: usize,
    /// Less than `size` of them until the pool is full for the first time. Never fewer than there were, so that no secret lies beyond them.
    records: Vec<T>,
    /// What takes the place of drawn records, in order: of the first delivery what is kept from `next` on.
    buffer: VecDeque<Delivery<F>>,
    /// The first of what is kept that has not been used.
    next: usize,
    /// The arrays of a delivery that is used up, for the next one.
    spare: F,
    /// Records in the buffer.
    left: usize,
    /// Places of the pool that are empty.
    gaps: Vec<u32>,
    drawn: u64,
}

/// Fresh records of items `T`, in whatever arrays they were made. They are wiped on drop.
pub trait Fresh<T>: Default + ZeroizeOnDrop {
    /// How many there are, of `stride` items each.
    ///
    /// # Panics
    /// If they are no whole records.
    fn count(&self, stride: usize) -> usize;

    /// Copies a record to where it belongs.
    fn copy(&self, number: usize, to: &mut [T]);

    /// Asks for a record that will be copied soon.
    fn ask(&self, _number: usize, _stride: usize) {}

    /// Bytes that it holds.
    fn bytes(&self) -> usize;

    /// Makes its arrays ready for other records.
    fn clear(&mut self);
}

/// One record after the other.
impl<T: Copy + Zeroize> Fresh<T> for Zeroizing<Vec<T>> {
    fn count(&self, stride: usize) -> usize {
        assert!(self.len().is_multiple_of(stride), "whole records");
        self.len() / stride
    }

    #[inline(always)]
    fn copy(&self, number: usize, to: &mut [T]) {
        let from = number * to.len();
        match to {
            [item] => *item = self[from],
            _ => to.copy_from_slice(&self[from..from + to.len()]),
        }
    }

    #[inline(always)]
    fn ask(&self, number: usize, stride: usize) {
        ask(self, number, stride);
    }

    fn bytes(&self) -> usize {
        size_of::<T>() * self.capacity()
    }

    fn clear(&mut self) {
        Vec::clear(self);
    }
}

/// The records of a draw, before others take their places.
pub struct Drawn<'a, T> {
    records: &'a [T],
    stride: usize,
    places: &'a [u32],
}

impl<'a, T> Drawn<'a, T> {
    /// One of them.
    ///
    /// # Panics
    /// If there are not so many.
    #[inline(always)]
    pub fn record(&self, number: usize) -> &'a [T] {
        let at = self.places[number] as usize * self.stride;
        &self.records[at..at + self.stride]
    }

    /// Each record.
    #[inline(always)]
    pub fn records(&self) -> impl ExactSizeIterator<Item = &'a [T]> {
        (0..self.places.len()).map(|number| self.record(number))
    }
}

/// Fresh records, the numbers of those that were not checked, and what their coin says to draw.
struct Delivery<F> {
    records: F,
    kept: Vec<u32>,
    draws: Sampler,
}

/// The first record in the buffer that no place was looked for yet: its delivery and its number there.
struct Ahead {
    delivery: usize,
    next: usize,
}

impl<T: Copy + Zeroize, F: Fresh<T>> Pool<T, F> {
    /// An empty pool for `size` records of `stride` items, of which `together` are drawn at a time.
    ///
    /// # Panics
    /// If there is no record in it, or none of 2^32 numbers is left for one, or a record has no items; if none are drawn
    /// together, or more than 64, or more than there are.
    pub fn new(size: usize, stride: usize, together: usize) -> Self {
        assert!(size > 0 && size <= u32::MAX as usize && stride > 0);
        assert!((1..=MOST.min(size)).contains(&together), "draws of {together}");
        Self {
            size,
            stride,
            together,
            records: Vec::new(),
            buffer: VecDeque::new(),
            next: 0,
            spare: F::default(),
            left: 0,
            gaps: Vec::new(),
            drawn: 0,
        }
    }

    /// A full pool as it was, but for the places that are empty: increasing numbers.
    ///
    /// # Panics
    /// If these are no whole records, or there is no such place.
    pub fn restored(
        [size, stride, together]: [usize; 3],
        mut records: Zeroizing<Vec<T>>,
        gaps: Vec<u32>,
    ) -> Self {
        assert_eq!(records.len(), size * stride, "whole records");
        assert!(gaps.is_sorted() && gaps.last().is_none_or(|&last| (last as usize) < size));
        records.spare_capacity_mut().zeroize();
        let mut pool = Self::new(size, stride, together);
        pool.records = std::mem::take(&mut *records);
        pool.gaps = gaps;
        pool
    }

    /// All records of a full pool, in order.
    pub fn records(&self) -> &[T] {
        &self.records
    }

    /// An empty pool as [`Pool::new`] makes it, with room for all of its records, which are `what`.
    ///
    /// # Errors
    /// [`cenote_session::Error::OutOfMemory`] if there is not as much.
    ///
    /// # Panics
    /// As [`Pool::new`].
    pub fn with_room([size, stride, together]: [usize; 3], what: &str) -> cenote_session::Result<Self> {
        let mut pool = Self::new(size, stride, together);
        pool.records = room::reserved(what, size.saturating_mul(stride))?;
        prefer_huge_pages(pool.records.spare_capacity_mut());
        Ok(pool)
    }

    /// Arrays for the records of fresh gadgets: such as were used before, if there are any.
    pub fn room(&mut self) -> F {
        self.spare.clear();
        std::mem::take(&mut self.spare)
    }

    /// Fresh gadgets, of which those with the numbers `kept` were not checked: in this order they fill the pool, or, once it is full,
    /// the buffer. What they replace is decided by `coin`, which was tossed after all of them were made.
    ///
    /// # Panics
    /// If these are no whole records, or one that is kept is not among them.
    pub fn refill(&mut self, records: F, mut kept: Vec<u32>, coin: Block)
    where
        T: Default,
    {
        let made = records.count(self.stride);
        assert!(
            kept.iter().all(|&number| (number as usize) < made),
            "records that there are"
        );
        let room = self.size - self.len();
        let mut gaps = self
            .gaps
            .split_off(self.gaps.len().saturating_sub(kept.len()))
            .into_iter();
        for &number in kept.iter().take(room) {
            let to = match gaps.next() {
                Some(gap) => gap as usize * self.stride,
                None => {
                    let end = self.records.len();
                    self.records.resize(end + self.stride, T::default());
                    end
                }
            };
            records.copy(number as usize, &mut self.records[to..to + self.stride]);
        }
        kept.drain(..room.min(kept.len()));
        if kept.is_empty() {
            self.spare = records;
        } else {
            self.left += kept.len();
            self.buffer.push_back(Delivery {
                records,
                kept,
                draws: draws(coin),
            });
        }
    }

    /// Whether it holds as many gadgets as it is for.
    pub fn is_full(&self) -> bool {
        self.len() == self.size
    }

    /// Gadgets in it.
    pub fn len(&self) -> usize {
        self.records.len() / self.stride - self.gaps.len()
    }

    /// Whether there is none in it.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Gadgets that can be drawn before it must be refilled.
    pub fn left(&self) -> usize {
        if self.is_full() { self.left } else { 0 }
    }

    /// The refills of which something is left in the buffer: what will be drawn next is decided by their coins, in order, and later ones'.
    pub fn pending(&self) -> usize {
        self.buffer.len()
    }

    /// Items of a record.
    pub fn stride(&self) -> usize {
        self.stride
    }

    /// Gadgets drawn so far.
    pub fn drawn(&self) -> u64 {
        self.drawn
    }

    /// Bytes that it holds.
    pub fn bytes(&self) -> u64 {
        let buffers = self.buffer.iter().map(|delivery| delivery.records.bytes());
        (size_of::<T>() * self.records.capacity() + self.spare.bytes() + buffers.sum::<usize>()) as u64
    }

    /// Draws so many times, and replaces what is drawn: appends its records to `out`, those of a draw together.
    /// No gadget is drawn twice.
    ///
    /// # Errors
    /// If the buffer has fewer gadgets.
    pub fn draw(&mut self, count: usize, out: &mut Vec<T>) -> Result<(), Unready> {
        let items = count.saturating_mul(self.together * self.stride);
        if self.wanted(count).is_ok() {
            reserve(out, items);
        }
        self.draw_each(count, |_, drawn| {
            drawn.records().for_each(|record| append(out, record));
        })
    }

    /// Draws so many times, and replaces what is drawn: `each` has the number of a draw and its records. No gadget is drawn twice, since
    /// a pool is empty after a panic of `each`.
    ///
    /// # Errors
    /// If the buffer has fewer gadgets.
    pub fn draw_each(
        &mut self,
        count: usize,
        mut each: impl FnMut(usize, Drawn<'_, T>),
    ) -> Result<(), Unready> {
        let wanted = self.wanted(count)?;
        let mut pool = std::mem::replace(self, Self::new(self.size, self.stride, self.together));
        // Places of the next draws, round and round: their records are on their way while those of a draw are copied.
        let mut places = [[0; MOST]; AHEAD];
        let mut ahead = Ahead {
            delivery: 0,
            next: pool.next,
        };
        for places in places.iter_mut().take(count) {
            pool.look(&mut ahead, places);
        }
        for draw in 0..count {
            let now = &mut places[draw % AHEAD];
            let drawn = Drawn {
                records: &pool.records,
                stride: pool.stride,
                places: &now[..pool.together],
            };
            each(draw, drawn);
            for &place in &now[..pool.together] {
                let at = place as usize * pool.stride;
                let Delivery { records, kept, .. } = pool.buffer.front().expect("there are enough");
                records.copy(kept[pool.next] as usize, &mut pool.records[at..at + pool.stride]);
                pool.next += 1;
                if pool.next == kept.len() {
                    pool.next = 0;
                    pool.spare = pool.buffer.pop_front().expect("the first").records;
                    // It is one of those whose places were looked for.
                    ahead.delivery -= 1;
                }
            }
            if count - draw > AHEAD {
                pool.look(&mut ahead, now);
            }
        }
        pool.left -= wanted;
        pool.drawn += wanted as u64;
        *self = pool;
        Ok(())
    }

    /// The gadgets of so many draws, if there are enough.
    fn wanted(&self, count: usize) -> Result<usize, Unready> {
        let wanted = count.saturating_mul(self.together);
        match self.left() {
            left if wanted > left => Err(Unready { wanted, left }),
            _ => Ok(wanted),
        }
    }

    /// The places of the next draw. Their records, and those that will replace them, are asked for.
    fn look(&mut self, ahead: &mut Ahead, places: &mut [u32; MOST]) {
        let places = &mut places[..self.together];
        let delivery = &mut self.buffer[ahead.delivery];
        distinct(&mut delivery.draws, self.size as u32, places);
        for &place in &*places {
            ask(&self.records, place as usize, self.stride);
        }
        let fresh = ahead.next..ahead.next + self.together;
        for &number in &delivery.kept[fresh.start..fresh.end.min(delivery.kept.len())] {
            delivery.records.ask(number as usize, self.stride);
        }
        ahead.next = fresh.end;
        while let Some(passed) = self
            .buffer
            .get(ahead.delivery)
            .map(|delivery| delivery.kept.len())
            && ahead.next >= passed
        {
            ahead.next -= passed;
            ahead.delivery += 1;
        }
    }
}

/// Asks for a record of an array.
#[inline(always)]
fn ask<T>(records: &[T], number: usize, stride: usize) {
    let at = number * stride;
    (at..at + stride)
        .step_by(const { 1 + 63 / size_of::<T>() })
        .for_each(|line| prefetch(records, line));
}

/// Memory that was never written is not touched: of a large pool that was hardly begun it would be most of the time.
impl<T: Zeroize, F> Drop for Pool<T, F> {
    fn drop(&mut self) {
        self.records.iter_mut().zeroize();
    }
}

impl<T: Zeroize, F> fmt::Debug for Pool<T, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "Pool({} of {}, {} left)",
            self.records.len() / self.stride,
            self.size,
            self.left
        )
    }
}

fn draws(coin: Block) -> Sampler {
    Sampler::from_stream(Prg::new(coin), STREAM)
}

/// The places of a pool of `size` gadgets, drawn `together` at a time, that may have been drawn with a coin that came with `kept` fresh gadgets
/// which were not checked, in increasing order.
pub fn touched(coin: Block, kept: usize, together: usize, size: usize) -> Vec<u32> {
    let mut sampler = draws(coin);
    // Each draw takes one of them at least.
    let mut places = vec![0; kept.div_ceil(together) * together];
    for draw in places.chunks_exact_mut(together) {
        distinct(&mut sampler, size as u32, draw);
    }
    places.sort_unstable();
    places.dedup();
    places
}

/// Makes room for `more` items, and leaves no copy of those that there are behind.
fn reserve<T: Copy + Zeroize>(items: &mut Vec<T>, more: usize) {
    if items.capacity() - items.len() < more {
        let mut larger = Vec::with_capacity(items.len() + more);
        larger.extend_from_slice(items);
        std::mem::swap(items, &mut larger);
        larger.zeroize();
    }
}

/// Appends a record, which is often one item.
#[inline(always)]
fn append<T: Copy>(to: &mut Vec<T>, record: &[T]) {
    match record {
        [item] => to.push(*item),
        _ => to.extend_from_slice(record),
    }
}

/// Different uniform numbers below `size`, in uniform order.
fn distinct(sampler: &mut Sampler, size: u32, places: &mut [u32]) {
    for at in 0..places.len() {
        let (before, rest) = places.split_at_mut(at);
        rest[0] = loop {
            let place = sampler.below(size);
            if !before.contains(&place) {
                break place;
            }
        };
    }
}

#[cfg(test)]
mod tests;
