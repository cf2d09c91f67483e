//! Bits moved from lanes to lanes.

use bytemuck::{Pod, Zeroable};
use zeroize::Zeroizing;

use crate::transpose64;

/// Lanes that lie side by side in one of several matrices, once or several times over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Pod, Zeroable)]
#[repr(C)]
pub struct LaneRun {
    /// Which matrix.
    pub part: u32,
    /// The first lane.
    pub start: u32,
    /// Number of lanes.
    pub len: u32,
    /// How many times they come, one copy after the other.
    pub times: u32,
}

impl LaneRun {
    /// Lanes `start..start + len` of matrix `part`, once.
    pub fn new(part: u32, start: u32, len: u32) -> Self {
        Self {
            part,
            start,
            len,
            times: 1,
        }
    }

    /// Lanes that come of it.
    pub fn lanes(&self) -> usize {
        self.len as usize * self.times as usize
    }
}

/// Writes bits `from..from + bits` of `source` to bits `at..at + bits` of `target`, and leaves the others.
///
/// # Panics
/// If either has fewer bits.
pub fn copy_bits(target: &mut [u64], at: usize, source: &[u64], from: usize, bits: usize) {
    assert!(at + bits <= 64 * target.len() && from + bits <= 64 * source.len());
    let (mut at, mut from, mut left) = (at, from, bits);
    while left > 0 {
        let (word, shift) = (at / 64, at % 64);
        let take = left.min(64 - shift);
        let piece = read(source, from, take);
        let mask = (u64::MAX >> (64 - take)) << shift;
        target[word] = target[word] & !mask | piece << shift & mask;
        (at, from, left) = (at + take, from + take, left - take);
    }
}

/// Bits `from..from + bits`, of which there are 1 to 64; above them anything.
#[inline(always)]
fn read(source: &[u64], from: usize, bits: usize) -> u64 {
    let (word, shift) = (from / 64, from % 64);
    let low = source[word] >> shift;
    if shift + bits > 64 {
        low | source[word + 1] << (64 - shift)
    } else {
        low
    }
}

/// Sets bits `at..at + bits` to `bit`.
fn fill_bits(target: &mut [u64], at: usize, bit: bool, bits: usize) {
    let (mut at, mut left) = (at, bits);
    while left > 0 {
        let (word, shift) = (at / 64, at % 64);
        let take = left.min(64 - shift);
        let mask = (u64::MAX >> (64 - take)) << shift;
        target[word] = target[word] & !mask | if bit { mask } else { 0 };
        (at, left) = (at + take, left - take);
    }
}

/// Fills a row with the lanes of `runs`, one run after the other; `row` gives the same row of each part.
///
/// # Panics
/// If `target` has less room, or a run is not within its part.
fn arrange_row<'a>(target: &mut [u64], runs: &[LaneRun], row: impl Fn(usize) -> &'a [u64]) {
    let mut at = 0;
    for run in runs {
        let source = row(run.part as usize);
        let (start, len) = (run.start as usize, run.len as usize);
        if len == 1 {
            let bit = source[start / 64] >> (start % 64) & 1 == 1;
            fill_bits(target, at, bit, run.times as usize);
            at += run.times as usize;
        } else {
            for _ in 0..run.times {
                copy_bits(target, at, source, start, len);
                at += len;
            }
        }
    }
}

/// As [`arrange_row`], where each run is one lane.
fn gather_row<'a>(target: &mut [u64], runs: &[LaneRun], row: impl Fn(usize) -> &'a [u64]) {
    for (word, runs) in target.iter_mut().zip(runs.chunks(64)) {
        *word = runs.iter().rev().fold(0, |word, run| {
            let start = run.start as usize;
            word << 1 | row(run.part as usize)[start / 64] >> (start % 64) & 1
        });
    }
}

/// Lanes of a run, on average, from which on runs are copied row by row.
const LONG: usize = 32;

/// Rows of a matrix, of so many words each.
#[derive(Clone, Copy)]
pub struct Rows<'a> {
    /// The words of all rows.
    pub words: &'a [u64],
    /// Bits of a row.
    pub lanes: usize,
}

impl Rows<'_> {
    fn stride(&self) -> usize {
        self.lanes.div_ceil(64)
    }
}

/// Fills all of `rows` rows with the lanes of `runs`, one run after the other. The padding of rows becomes anything.
///
/// Many short runs are moved 64 rows at a time, as words of a lane each.
///
/// # Panics
/// If the target has another number of words, parts have fewer rows, or a run is not within its part.
pub fn arrange_rows(target: &mut [u64], rows: usize, runs: &[LaneRun], parts: &[Rows<'_>]) {
    let lanes: usize = runs.iter().map(LaneRun::lanes).sum();
    let stride = lanes.div_ceil(64);
    assert_eq!(
        target.len(),
        rows * stride,
        "the target has {rows} rows of {lanes} lanes"
    );
    let sources: usize = parts.iter().map(|part| part.lanes).sum();
    let short = lanes < LONG * runs.len();
    let single = runs.len() == lanes && runs.iter().all(|run| (run.len, run.times) == (1, 1));
    if single && (rows < 16 || sources > 4 * lanes) {
        for (row, words) in target.chunks_exact_mut(stride.max(1)).enumerate() {
            gather_row(words, runs, |part| {
                let part = &parts[part];
                &part.words[row * part.stride()..][..part.stride()]
            });
        }
        return;
    }
    if !short || rows < 16 || sources > 4 * lanes {
        for (row, words) in target.chunks_exact_mut(stride.max(1)).enumerate() {
            arrange_row(words, runs, |part| {
                let part = &parts[part];
                &part.words[row * part.stride()..][..part.stride()]
            });
        }
        return;
    }
    transposed(target, (rows, stride), runs, parts);
}

/// Words of a row that are moved together: a line of the cache.
const LINE: usize = 8;

/// As [`arrange_rows`], 64 rows at a time, as words of a lane each.
fn transposed(target: &mut [u64], (rows, stride): (usize, usize), runs: &[LaneRun], parts: &[Rows<'_>]) {
    // Where the lanes of each part begin.
    let mut starts = Vec::with_capacity(parts.len());
    let mut words = 0;
    for part in parts {
        starts.push(words);
        words += 64 * part.stride();
    }
    let mut columns = Zeroizing::new(vec![0u64; words]);
    for first in (0..rows).step_by(64) {
        let count = (rows - first).min(64);
        for (part, &start) in parts.iter().zip(&starts) {
            let own = part.stride();
            let rows = &part.words[first * own..][..count * own];
            for (words, tiles) in columns[start..][..64 * own].chunks_mut(64 * LINE).enumerate() {
                let (tiles, _) = tiles.as_chunks_mut::<64>();
                for (row, words) in rows.chunks_exact(own).map(|row| &row[LINE * words..]).enumerate() {
                    tiles
                        .iter_mut()
                        .zip(words)
                        .for_each(|(tile, word)| tile[row] = *word);
                }
                for tile in tiles {
                    tile[count..].fill(0);
                    transpose64(tile);
                }
            }
        }
        let mut moved = Moved::new(runs, parts, &starts);
        let mut tiles = Zeroizing::new([[0u64; 64]; LINE]);
        for word in (0..stride).step_by(LINE) {
            let tiles = &mut tiles[..LINE.min(stride - word)];
            moved.fill(tiles.as_flattened_mut(), &columns);
            tiles.iter_mut().for_each(transpose64);
            for (row, target) in target[first * stride..]
                .chunks_exact_mut(stride)
                .take(count)
                .enumerate()
            {
                let words = target[word..].iter_mut();
                words.zip(&*tiles).for_each(|(word, tile)| *word = tile[row]);
            }
        }
    }
}

/// The words of the lanes of runs, one after the other, where each lane of the parts is a word.
struct Moved<'a> {
    runs: &'a [LaneRun],
    /// Where the lanes of each part begin, and how many it has.
    parts: Vec<(usize, usize)>,
    /// Lanes of the first run that are taken already.
    taken: usize,
}

impl<'a> Moved<'a> {
    fn new(runs: &'a [LaneRun], parts: &[Rows<'_>], starts: &[usize]) -> Self {
        let lanes = parts.iter().map(|part| part.lanes);
        Self {
            runs,
            parts: starts.iter().copied().zip(lanes).collect(),
            taken: 0,
        }
    }

    /// Fills `next`, or as much of it as there are lanes.
    fn fill(&mut self, mut next: &mut [u64], columns: &[u64]) {
        while let ([run, others @ ..], false) = (self.runs, next.is_empty()) {
            let (part, len) = (run.part as usize, run.len as usize);
            let (start, lanes) = self.parts[part];
            assert!(run.start as usize + len <= lanes, "a run is within its part");
            let words = &columns[start + run.start as usize..][..len];
            let now = next.len().min(run.lanes() - self.taken);
            let mut filled;
            (filled, next) = next.split_at_mut(now);
            match words {
                [word] => filled.fill(*word),
                _ => {
                    let mut at = self.taken % len.max(1);
                    while !filled.is_empty() {
                        let copy;
                        (copy, filled) = filled.split_at_mut((len - at).min(filled.len()));
                        copy.copy_from_slice(&words[at..][..copy.len()]);
                        at = 0;
                    }
                }
            }
            self.taken += now;
            if self.taken == run.lanes() {
                (self.runs, self.taken) = (others, 0);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bit(words: &[u64], at: usize) -> bool {
        words[at / 64] >> (at % 64) & 1 == 1
    }

    #[test]
    fn bits_are_copied_between_any_places() {
        let source: Vec<u64> = (1..=5)
            .map(|x: u64| x.wrapping_mul(0x9e37_79b9_7f4a_7c15))
            .collect();
        for bits in [0, 1, 5, 63, 64, 65, 127, 128, 190] {
            for at in [0, 1, 31, 63, 64, 100] {
                for from in [0, 1, 33, 63, 64, 127] {
                    let mut target = vec![0xaaaa_aaaa_aaaa_aaaa; 5];
                    let before = target.clone();
                    copy_bits(&mut target, at, &source, from, bits);
                    for place in 0..320 {
                        let right = if (at..at + bits).contains(&place) {
                            bit(&source, place - at + from)
                        } else {
                            bit(&before, place)
                        };
                        assert_eq!(
                            bit(&target, place),
                            right,
                            "{bits} bits from {from} to {at}: {place}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn runs_follow_one_another() {
        let parts = [[0b1011u64, 0], [u64::MAX, 0b10]];
        let runs = [
            LaneRun::new(0, 1, 3),
            LaneRun {
                part: 1,
                start: 65,
                len: 1,
                times: 70,
            },
            LaneRun {
                part: 0,
                start: 1,
                len: 2,
                times: 2,
            },
            LaneRun::new(1, 64, 1),
        ];
        let mut row = [0; 2];
        arrange_row(&mut row, &runs, |part| &parts[part]);
        let all: Vec<bool> = (0..runs.iter().map(LaneRun::lanes).sum())
            .map(|at| bit(&row, at))
            .collect();
        let mut right = vec![true, false, true];
        right.extend([true; 70]);
        right.extend([true, false, true, false, false]);
        assert_eq!(all, right);
    }

    /// Many rows of short runs are what each row is by itself.
    #[test]
    fn all_rows_are_arranged_as_each_is() {
        let mut state = 1u64;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            state >> 11
        };
        let shapes = [(16, 100), (64, 65), (70, 129), (130, 1000), (3, 100)];
        // Runs of several lanes, of one each, and few of one each.
        let kinds = [(1, 2), (1, 1), (9, 1)];
        for ((rows, lanes), (fewer, longest)) in shapes
            .into_iter()
            .flat_map(|shape| kinds.map(|kind| (shape, kind)))
        {
            let parts: Vec<(Vec<u64>, usize)> = [lanes, lanes / 2 + 1]
                .into_iter()
                .map(|lanes: usize| {
                    (
                        (0..rows * lanes.div_ceil(64))
                            .map(|_| next() << 11 | next())
                            .collect(),
                        lanes,
                    )
                })
                .collect();
            let views: Vec<Rows<'_>> = parts
                .iter()
                .map(|(words, lanes)| Rows { words, lanes: *lanes })
                .collect();
            let runs: Vec<LaneRun> = (0..lanes / fewer)
                .map(|_| {
                    let part = (next() % 2) as u32;
                    let start = (next() % (views[part as usize].lanes as u64 - 2)) as u32;
                    LaneRun {
                        times: 1 + (next() % longest) as u32,
                        ..LaneRun::new(part, start, 1 + (next() % longest) as u32)
                    }
                })
                .collect();
            let total: usize = runs.iter().map(LaneRun::lanes).sum();
            let stride = total.div_ceil(64);
            let mut all = vec![0; rows * stride];
            arrange_rows(&mut all, rows, &runs, &views);
            for row in 0..rows {
                let mut alone = vec![0; stride];
                arrange_row(&mut alone, &runs, |part| {
                    let stride = views[part].stride();
                    &views[part].words[row * stride..][..stride]
                });
                for lane in 0..total {
                    assert_eq!(
                        bit(&all[row * stride..], lane),
                        bit(&alone, lane),
                        "row {row}, lane {lane}"
                    );
                }
            }
        }
    }
}
