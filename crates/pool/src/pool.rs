//! The pool: records of gadgets, drawn at random and replaced at once.

use std::collections::VecDeque;
use std::fmt;

use cenote_primitives::{Block, Prg, Sampler, prefer_huge_pages, prefetch};
use zeroize::{Zeroize, Zeroizing};

/// The stream of a coin that decides what is drawn.
const STREAM: u64 = 1;

/// Buckets whose records are asked for before the first of them is read.
const AHEAD: usize = 16;

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
pub struct Pool<T: Zeroize> {
    size: usize,
    stride: usize,
    /// Less than `size` of them until the pool is full for the first time.
    records: Zeroizing<Vec<T>>,
    /// What takes the place of drawn records, in order: of the first delivery what is kept from `next` on.
    buffer: VecDeque<Delivery<T>>,
    /// The first of what is kept that has not been used.
    next: usize,
    /// The array of a delivery that is used up, for the next one.
    spare: Zeroizing<Vec<T>>,
    /// Records in the buffer.
    left: usize,
    /// What the last coin says to draw.
    draws: Option<Sampler>,
    drawn: u64,
}

/// Fresh records, and the numbers of those that were not checked.
struct Delivery<T: Zeroize> {
    records: Zeroizing<Vec<T>>,
    kept: Vec<u32>,
}

impl<T: Copy + Zeroize> Pool<T> {
    /// An empty pool for `size` records of `stride` items.
    ///
    /// # Panics
    /// If there is no record in it, or none of 2^32 numbers is left for one, or a record has no items.
    pub fn new(size: usize, stride: usize) -> Self {
        assert!(size > 0 && size <= u32::MAX as usize && stride > 0);
        Self {
            size,
            stride,
            records: Zeroizing::default(),
            buffer: VecDeque::new(),
            next: 0,
            spare: Zeroizing::default(),
            left: 0,
            draws: None,
            drawn: 0,
        }
    }

    /// Takes the room for all records.
    ///
    /// # Errors
    /// If there is not as much memory: the bytes that it would take.
    pub fn reserve(&mut self) -> Result<(), u64> {
        let items = self.size.saturating_mul(self.stride);
        let reserved = self.records.try_reserve_exact(items);
        reserved.map_err(|_| (items as u64).saturating_mul(size_of::<T>() as u64))?;
        prefer_huge_pages(self.records.spare_capacity_mut());
        Ok(())
    }

    /// An empty array for the records of fresh gadgets: one that was used before, if there is one.
    pub fn room(&mut self) -> Zeroizing<Vec<T>> {
        self.spare.clear();
        std::mem::take(&mut self.spare)
    }

    /// Fresh gadgets, of which those with the numbers `kept` were not checked: in this order they fill the pool, or, once it is full,
    /// the buffer. From here on `coin` decides what is drawn; it was tossed after all of them were made.
    ///
    /// # Panics
    /// If these are no whole records, or one that is kept is not among them.
    pub fn refill(&mut self, records: Zeroizing<Vec<T>>, mut kept: Vec<u32>, coin: Block) {
        assert!(records.len().is_multiple_of(self.stride), "whole records");
        let room = self.size - self.len();
        for &number in kept.iter().take(room) {
            let at = number as usize * self.stride;
            self.records.extend_from_slice(&records[at..at + self.stride]);
        }
        kept.drain(..room.min(kept.len()));
        assert!(
            kept.iter()
                .all(|&number| (number as usize) < records.len() / self.stride),
            "records that there are"
        );
        if kept.is_empty() {
            self.spare = records;
        } else {
            self.left += kept.len();
            self.buffer.push_back(Delivery { records, kept });
        }
        self.draws = Some(Sampler::from_stream(Prg::new(coin), STREAM));
    }

    /// Whether it holds as many gadgets as it is for.
    pub fn is_full(&self) -> bool {
        self.records.len() == self.size * self.stride
    }

    /// Gadgets in it.
    pub fn len(&self) -> usize {
        self.records.len() / self.stride
    }

    /// Whether there is none in it.
    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// Gadgets that can be drawn before it must be refilled.
    pub fn left(&self) -> usize {
        if self.is_full() { self.left } else { 0 }
    }

    /// Gadgets drawn so far.
    pub fn drawn(&self) -> u64 {
        self.drawn
    }

    /// Bytes that it holds.
    pub fn bytes(&self) -> u64 {
        let buffers: usize = self
            .buffer
            .iter()
            .map(|delivery| delivery.records.capacity())
            .sum();
        (size_of::<T>() * (self.records.capacity() + buffers + self.spare.capacity())) as u64
    }

    /// Draws `count` times `each` gadgets, and replaces them: appends their records to `out`, those of a draw together.
    /// No gadget is drawn twice.
    ///
    /// # Errors
    /// If the buffer has fewer gadgets.
    ///
    /// # Panics
    /// If more than 64 are drawn together, or more than the pool holds.
    pub fn draw(&mut self, count: usize, each: usize, out: &mut Vec<T>) -> Result<(), Unready> {
        let wanted = count.saturating_mul(each);
        let left = self.left();
        let Some(sampler) = self.draws.as_mut().filter(|_| wanted <= left) else {
            return Err(Unready { wanted, left });
        };
        assert!(each <= MOST.min(self.size), "draws of more than a pool has");
        out.reserve(wanted * self.stride);
        // While the records of one batch of draws are copied, those of the next are on their way.
        let mut places = [[0; AHEAD * MOST]; 2];
        let batch = |first: usize| count.saturating_sub(first).min(AHEAD) * each;
        let mut look = |places: &mut [u32], records: &[T]| {
            for draw in places.chunks_exact_mut(each.max(1)) {
                distinct(sampler, self.size as u32, draw);
            }
            for &place in &*places {
                let at = place as usize * self.stride;
                for line in (at..at + self.stride).step_by(const { 64 / size_of::<T>() }) {
                    prefetch(records, line);
                }
            }
        };
        look(&mut places[0][..batch(0)], &self.records);
        for first in (0..count).step_by(AHEAD) {
            look(&mut places[1][..batch(first + AHEAD)], &self.records);
            for draw in places[0][..batch(first)].chunks_exact(each.max(1)) {
                for &place in draw {
                    let at = place as usize * self.stride;
                    out.extend_from_slice(&self.records[at..at + self.stride]);
                }
                for &place in draw {
                    let at = place as usize * self.stride;
                    let Delivery { records, kept } = self.buffer.front().expect("there are enough");
                    let from = kept[self.next] as usize * self.stride;
                    self.records[at..at + self.stride].copy_from_slice(&records[from..from + self.stride]);
                    self.next += 1;
                    if self.next == kept.len() {
                        self.next = 0;
                        self.spare = self.buffer.pop_front().expect("the first").records;
                    }
                }
            }
            places.swap(0, 1);
        }
        self.left -= wanted;
        self.drawn += wanted as u64;
        Ok(())
    }
}

impl<T: Zeroize> fmt::Debug for Pool<T> {
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
