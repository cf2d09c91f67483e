//! The AND gates that were evaluated and wait for verification.

use std::ops::Range;

use cenote_primitives::as_words_mut;

use crate::triple_check::{Pair, zero_pair};

/// The part of a log for which there is room at first.
const FEW: usize = 16;

/// Operands and results of gates, as shared, since the last verification. In place of the results `z` a log that is proved has `r_i` and `z_{i+1} ⊕ r_{i+1}`.
pub(crate) struct GateLog {
    pub(crate) x: Pair,
    pub(crate) y: Pair,
    pub(crate) z: Pair,
    /// 64-bit words in use.
    words: usize,
    /// The log is verified before it has more blocks than these, unless a single AND layer has more.
    limit: usize,
}

/// A stretch of the log: the words of both components of `x`, `y` and `z`.
pub(crate) struct Segment<'a> {
    pub(crate) x: [&'a mut [u64]; 2],
    pub(crate) y: [&'a mut [u64]; 2],
    pub(crate) z: [&'a mut [u64]; 2],
}

impl GateLog {
    /// An empty log for `limit` blocks of gates.
    pub(crate) fn new(limit: u64) -> Self {
        Self {
            x: zero_pair(0),
            y: zero_pair(0),
            z: zero_pair(0),
            words: 0,
            limit: usize::try_from(limit).expect("parameters fit this machine's memory"),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.words == 0
    }

    /// 64-bit words of gates that wait.
    pub(crate) fn words(&self) -> usize {
        self.words
    }

    /// Whether `words` more would exceed the limit, so that verification is due first.
    pub(crate) fn is_full_for(&self, words: usize) -> bool {
        self.words > 0 && self.words + words > self.limit * 8
    }

    /// The next `words` words, which hold leftovers and must be overwritten.
    pub(crate) fn extend(&mut self, words: usize) -> Segment<'_> {
        let range = self.words..self.words + words;
        self.words = range.end;
        let limit = self.limit;
        let segment = |pair| segment_of(pair, range.clone(), limit);
        Segment {
            x: segment(&mut self.x),
            y: segment(&mut self.y),
            z: segment(&mut self.z),
        }
    }

    /// Both components of the results in these words.
    pub(crate) fn products(&mut self, words: Range<usize>) -> [&mut [u64]; 2] {
        segment_of(&mut self.z, words, self.limit)
    }

    /// Completes the last `unit` blocks with good gates, whose operands and results are all zero; gives the number of
    /// blocks.
    pub(crate) fn pad(&mut self, unit: usize) -> usize {
        let missing = self.words.next_multiple_of(8 * unit) - self.words;
        let padding = self.extend(missing);
        for component in padding.x.into_iter().chain(padding.y).chain(padding.z) {
            component.fill(0);
        }
        self.words / 8
    }

    pub(crate) fn clear(&mut self) {
        self.words = 0;
    }

    /// Overwrites everything with zeros.
    pub(crate) fn wipe(&mut self) {
        for component in self.x.iter_mut().chain(&mut self.y).chain(&mut self.z) {
            component.wipe();
        }
        self.clear();
    }
}

fn segment_of(pair: &mut Pair, words: Range<usize>, limit: usize) -> [&mut [u64]; 2] {
    let blocks = words.end.div_ceil(8);
    pair.each_mut().map(|component| {
        if component.len() < blocks {
            // In two steps, since what was taken before is not given back at once, and not beyond the limit unless a single layer needs it. What is not
            // written takes no memory.
            let few = limit / FEW;
            let room = if blocks <= few { few } else { limit.max(blocks) };
            component.resize(room);
        }
        &mut as_words_mut(component)[words.clone()]
    })
}
