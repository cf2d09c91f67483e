//! Bits moved from lanes to lanes.

#[cfg(test)]
mod tests;

use std::ops::Range;

use bytemuck::{Pod, Zeroable};
use zeroize::Zeroizing;

use crate::pack::unpack_shifted;
use crate::records::{AT_ONCE, LINE, rows_to_lanes};
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
    // Up to the next whole word of the target.
    let head = (at.wrapping_neg() % 64).min(bits);
    if head > 0 {
        put(&mut target[at / 64], at % 64, read(source, from, head), head);
    }
    let (from, rest) = (from + head, bits - head);
    let (words, tail) = (rest / 64, rest % 64);
    let target = &mut target[(at + head) / 64..];
    let (whole, after) = target.split_at_mut(words);
    if words > 0 {
        let source = &source[from / 64..];
        match from % 64 {
            0 => whole.copy_from_slice(&source[..words]),
            shift => unpack_shifted(whole, shift as u32, source),
        }
    }
    if tail > 0 {
        put(&mut after[0], 0, read(source, from + 64 * words, tail), tail);
    }
}

/// Sets bits `at..at + bits` of a word, of which there are 1 to 64, to the low ones of `piece`.
#[inline(always)]
fn put(word: &mut u64, at: usize, piece: u64, bits: usize) {
    let mask = (u64::MAX >> (64 - bits)) << at;
    *word = *word & !mask | piece << at & mask;
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
    let piece = if bit { u64::MAX } else { 0 };
    let head = (at.wrapping_neg() % 64).min(bits);
    if head > 0 {
        put(&mut target[at / 64], at % 64, piece, head);
    }
    let (words, tail) = ((bits - head) / 64, (bits - head) % 64);
    let (whole, after) = target[(at + head) / 64..].split_at_mut(words);
    whole.fill(piece);
    if tail > 0 {
        put(&mut after[0], 0, piece, tail);
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

/// Whether runs with so many lanes are so short that lanes are moved one by one, and not row by row.
pub fn are_short(runs: &[LaneRun], lanes: usize) -> bool {
    lanes < LONG * runs.len()
}

/// Rows of a matrix, of so many words each.
#[derive(Clone, Copy)]
pub struct Rows<'a> {
    /// The words of all rows.
    pub words: &'a [u64],
    /// Bits of a row.
    pub lanes: usize,
}

impl Rows<'_> {
    pub(crate) fn stride(&self) -> usize {
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
    if lanes == 0 {
        return;
    }
    let used = used(runs, parts);
    let sources: usize = used.iter().map(|words| 64 * words.len()).sum();
    let short = are_short(runs, lanes);
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
    let whole = rows / 128 * 128;
    for first in (0..whole).step_by(128) {
        transposed::<2>(target, first..first + 128, runs, (parts, &used));
    }
    match rows - whole {
        0 => {}
        1..=64 => transposed::<1>(target, whole..rows, runs, (parts, &used)),
        _ => transposed::<2>(target, whole..rows, runs, (parts, &used)),
    }
}

/// The words of each part's rows that have all lanes of it that the runs name.
///
/// # Panics
/// If a run is not within its part.
fn used(runs: &[LaneRun], parts: &[Rows<'_>]) -> Vec<Range<usize>> {
    // The first lane of each part, and the one behind the last.
    let mut lanes = vec![(usize::MAX, 0); parts.len()];
    for run in runs.iter().filter(|run| run.len > 0) {
        let (first, end) = &mut lanes[run.part as usize];
        *first = (*first).min(run.start as usize);
        *end = (*end).max(run.start as usize + run.len as usize);
    }
    let words = lanes.iter().zip(parts).map(|(&(first, end), part)| {
        assert!(end <= part.lanes, "a run is within its part");
        first.min(end) / 64..end.div_ceil(64)
    });
    words.collect()
}

/// Lanes of as many words.
const LANES: usize = 64 * LINE;

/// As [`arrange_rows`], for some rows, as `LIMBS` words of a lane each.
fn transposed<const LIMBS: usize>(
    target: &mut [u64],
    rows: Range<usize>,
    runs: &[LaneRun],
    (parts, used): (&[Rows<'_>], &[Range<usize>]),
) {
    let (columns, starts) = columns::<LIMBS>(&rows, parts, used);
    let mut moved = Moved::<LIMBS> {
        lanes: Zeroizing::new([[0; LIMBS]; LANES + AT_ONCE]),
        tiles: Zeroizing::new([[0; 64]; LINE]),
        filled: 0,
        stride: runs.iter().map(LaneRun::lanes).sum::<usize>().div_ceil(64),
        word: 0,
        target,
        rows,
    };
    for run in runs.iter().filter(|run| run.len > 0) {
        let (part, len) = (run.part as usize, run.len as usize);
        let from = starts[part] + run.start as usize - 64 * used[part].start;
        if len <= AT_ONCE && run.times == 1 {
            moved.take(
                columns[from..]
                    .first_chunk()
                    .expect("there is room beyond the last"),
                len,
            );
            continue;
        }
        if let [lane] = columns[from..][..len] {
            moved.fill(lane, run.times as usize);
            continue;
        }
        for _ in 0..run.times {
            moved.copy(&columns[from..][..len]);
        }
    }
    moved.write();
}

/// The lanes of some rows that are used of each part, and where they begin. After the last is room for as many as are copied at once.
fn columns<const LIMBS: usize>(
    rows: &Range<usize>,
    parts: &[Rows<'_>],
    used: &[Range<usize>],
) -> (Zeroizing<Vec<[u64; LIMBS]>>, Vec<usize>) {
    let mut starts = Vec::with_capacity(parts.len());
    let mut lanes = 0;
    for words in used {
        starts.push(lanes);
        lanes += 64 * words.len();
    }
    let mut columns = Zeroizing::new(vec![[0u64; LIMBS]; lanes + AT_ONCE]);
    for ((part, used), &start) in parts.iter().zip(used).zip(&starts) {
        let own = part.stride();
        let rows = Rows {
            words: &part.words[rows.start * own..rows.end * own],
            lanes: part.lanes,
        };
        rows_to_lanes(&rows, used.clone(), LIMBS, columns[start..].as_flattened_mut());
    }
    (columns, starts)
}

/// Lanes on their way to rows of the target.
struct Moved<'a, const LIMBS: usize> {
    lanes: Zeroizing<[[u64; LIMBS]; LANES + AT_ONCE]>,
    tiles: Zeroizing<[[u64; 64]; LINE]>,
    /// How many there are.
    filled: usize,
    /// Words of a row.
    stride: usize,
    /// The first word that is not written.
    word: usize,
    target: &'a mut [u64],
    rows: Range<usize>,
}

impl<const LIMBS: usize> Moved<'_, LIMBS> {
    /// Takes the first `count` of these.
    #[inline(always)]
    fn take(&mut self, lanes: &[[u64; LIMBS]; AT_ONCE], count: usize) {
        self.lanes[self.filled..][..AT_ONCE].copy_from_slice(lanes);
        self.filled += count;
        if self.filled >= LANES {
            self.write();
        }
    }

    fn fill(&mut self, lane: [u64; LIMBS], mut times: usize) {
        while times > 0 {
            let now = times.min(LANES - self.filled);
            self.lanes[self.filled..][..now].fill(lane);
            self.filled += now;
            times -= now;
            if self.filled == LANES {
                self.write();
            }
        }
    }

    fn copy(&mut self, mut lanes: &[[u64; LIMBS]]) {
        while !lanes.is_empty() {
            let now;
            (now, lanes) = lanes.split_at(lanes.len().min(LANES - self.filled));
            self.lanes[self.filled..][..now.len()].copy_from_slice(now);
            self.filled += now.len();
            if self.filled == LANES {
                self.write();
            }
        }
    }

    /// Writes as many as fit into the words of a line.
    fn write(&mut self) {
        let words = LINE.min(self.stride - self.word);
        for limb in 0..LIMBS {
            let tiles = &mut self.tiles[..words];
            for (tile, lanes) in tiles.iter_mut().zip(self.lanes.chunks_exact(64)) {
                tile.iter_mut()
                    .zip(lanes)
                    .for_each(|(word, lane)| *word = lane[limb]);
                transpose64(tile);
            }
            let first = self.rows.start + 64 * limb;
            let rows = self.target[first * self.stride..].chunks_exact_mut(self.stride);
            for (row, target) in rows.take((self.rows.end - first).min(64)).enumerate() {
                let words = target[self.word..].iter_mut();
                words.zip(&*tiles).for_each(|(word, tile)| *word = tile[row]);
            }
        }
        self.word += words;
        self.lanes.copy_within(LANES.., 0);
        self.filled = self.filled.saturating_sub(LANES);
    }
}
