//! Bits of a matrix lane by lane: bit `64·l + b` of a lane is bit `b` of its word `l`.

use std::ops::Range;

use zeroize::Zeroizing;

use crate::arrange::{LaneRun, Rows};
use crate::transpose64;

/// Words of a row that are moved together: a line of the cache.
pub(crate) const LINE: usize = 8;

/// Writes the lanes of `blocks`, which are words of a row, to the first words of as many records of `width` words each. What a record has beyond them stays.
///
/// # Panics
/// If records are shorter than the rows, or fewer than the lanes.
pub fn rows_to_lanes(rows: &Rows<'_>, blocks: Range<usize>, width: usize, records: &mut [u64]) {
    let stride = rows.stride();
    let count = rows.words.len().checked_div(stride).unwrap_or(0);
    assert!(count <= 64 * width, "{count} rows fit records of {width} words");
    let lanes = rows.lanes.min(64 * blocks.end) - rows.lanes.min(64 * blocks.start);
    let records = &mut records[..lanes * width];
    let mut tiles = Zeroizing::new([[0u64; 64]; LINE]);
    for (limb, rows) in rows.words.chunks(64 * stride.max(1)).enumerate() {
        let count = rows.len() / stride;
        for (line, records) in records.chunks_mut(64 * LINE * width).enumerate() {
            let first = blocks.start + LINE * line;
            let tiles = &mut tiles[..LINE.min(blocks.end - first)];
            for (row, words) in rows.chunks_exact(stride).enumerate() {
                let words = words[first..].iter();
                tiles
                    .iter_mut()
                    .zip(words)
                    .for_each(|(tile, word)| tile[row] = *word);
            }
            for tile in &mut *tiles {
                tile[count..].fill(0);
                transpose64(tile);
            }
            let lanes = records.chunks_exact_mut(width);
            lanes
                .zip(tiles.as_flattened())
                .for_each(|(lane, word)| lane[limb] = *word);
        }
    }
}

/// Tells `put` all words of `rows`, of records of `width` words, some at a time: the row, which of its words is the first, and the words.
///
/// # Panics
/// If records are shorter than the rows.
pub fn lanes_to_rows(
    records: &[u64],
    width: usize,
    rows: Range<usize>,
    mut put: impl FnMut(usize, usize, &[u64]),
) {
    assert!(
        rows.end <= 64 * width,
        "rows {rows:?} of records of {width} words"
    );
    let mut tiles = Zeroizing::new([[0u64; 64]; LINE]);
    let mut words = Zeroizing::new([0u64; LINE]);
    for (line, records) in records.chunks(64 * LINE * width).enumerate() {
        let there = records.len() / width;
        let count = there.div_ceil(64);
        for limb in rows.start / 64..rows.end.div_ceil(64) {
            let lanes = tiles.as_flattened_mut();
            lanes[there..].fill(0);
            lanes
                .iter_mut()
                .zip(records.chunks_exact(width))
                .for_each(|(slot, lane)| *slot = lane[limb]);
            tiles[..count].iter_mut().for_each(transpose64);
            let these = rows.start.max(64 * limb)..rows.end.min(64 * limb + 64);
            for row in these {
                words
                    .iter_mut()
                    .zip(&*tiles)
                    .for_each(|(word, tile)| *word = tile[row % 64]);
                put(row, LINE * line, &words[..count]);
            }
        }
    }
}

/// Lanes that are copied at once, though fewer may be meant.
pub(crate) const AT_ONCE: usize = 4;

/// Fills records of `width` words with the lanes of `runs`, one run after the other; `parts` are records of as many words.
///
/// # Panics
/// If `target` has another number of records, or a run is not within its part.
pub fn arrange_records(target: &mut [u64], width: usize, runs: &[LaneRun], parts: &[&[u64]]) {
    match width {
        1 => arrange_words::<1>(target, runs, parts),
        2 => arrange_words::<2>(target, runs, parts),
        3 => arrange_words::<3>(target, runs, parts),
        4 => arrange_words::<4>(target, runs, parts),
        _ => {
            let mut rest = target;
            for run in runs {
                let source = run.start as usize * width..(run.start + run.len) as usize * width;
                let source = &parts[run.part as usize][source];
                for _ in 0..run.times {
                    let now;
                    (now, rest) = rest.split_at_mut(source.len());
                    now.copy_from_slice(source);
                }
            }
            assert!(rest.is_empty(), "the runs fill the target");
        }
    }
}

fn arrange_words<const N: usize>(target: &mut [u64], runs: &[LaneRun], parts: &[&[u64]]) {
    let mut rest = target.as_chunks_mut::<N>().0;
    for run in runs {
        let source = &parts[run.part as usize].as_chunks::<N>().0[run.start as usize..];
        // More lanes are copied than are meant, since to ask how many they are takes longer; the next run writes over them.
        if run.times == 1
            && run.len as usize <= AT_ONCE
            && let (Some(now), Some(source)) =
                (rest.first_chunk_mut::<AT_ONCE>(), source.first_chunk::<AT_ONCE>())
        {
            *now = *source;
            rest = &mut rest[run.len as usize..];
            continue;
        }
        let source = &source[..run.len as usize];
        let now;
        (now, rest) = rest.split_at_mut(run.lanes());
        match *source {
            [lane] => now.fill(lane),
            _ => now
                .chunks_exact_mut(source.len().max(1))
                .for_each(|copy| copy.copy_from_slice(source)),
        }
    }
    assert!(rest.is_empty(), "the runs fill the target");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{BitMatrix, Block, Sampler, arrange_rows};

    fn random(rows: usize, lanes: usize, sampler: &mut Sampler) -> BitMatrix {
        let mut bits = BitMatrix::zeros(rows, lanes);
        bits.words_mut()
            .iter_mut()
            .for_each(|word| *word = sampler.next_u64());
        bits.mask_padding();
        bits
    }

    fn records(bits: &BitMatrix, width: usize) -> Vec<u64> {
        let mut records = vec![u64::MAX; bits.lanes() * width];
        let (words, lanes) = (bits.words(), bits.lanes());
        rows_to_lanes(&Rows { words, lanes }, 0..lanes.div_ceil(64), width, &mut records);
        records
    }

    #[test]
    fn rows_become_records_and_rows_again() {
        let mut sampler = Sampler::new(Block([1, 2]));
        for (rows, lanes, width) in [
            (1, 1, 1),
            (64, 64, 1),
            (65, 100, 2),
            (84, 513, 3),
            (200, 1025, 4),
            (7, 511, 2),
        ] {
            let bits = random(rows, lanes, &mut sampler);
            let all = records(&bits, width);
            for (lane, record) in all.chunks_exact(width).enumerate() {
                for row in 0..64 * rows.div_ceil(64) {
                    let bit = record[row / 64] >> (row % 64) & 1 == 1;
                    assert_eq!(bit, row < rows && bits.get(row, lane), "{row} {lane}");
                }
                let rest = &record[rows.div_ceil(64)..];
                assert!(rest.iter().all(|word| *word == u64::MAX), "the rest stays");
            }
            let some = rows / 3..rows;
            let mut back = BitMatrix::zeros(some.len(), lanes);
            let stride = back.stride();
            lanes_to_rows(&all, width, some.clone(), |row, first, words| {
                let at = (row - some.start) * stride + first;
                back.words_mut()[at..][..words.len()].copy_from_slice(words);
            });
            for (at, row) in some.enumerate() {
                assert_eq!(back.row(at), bits.row(row), "{row} of {rows} × {lanes}");
            }
        }
    }

    #[test]
    fn records_are_arranged_as_rows_are() {
        let mut sampler = Sampler::new(Block([3, 4]));
        for width in 1..=6 {
            let rows = 64 * width - 5;
            let parts = [100, 37].map(|lanes| random(rows, lanes, &mut sampler));
            let views = parts.each_ref().map(|part| Rows {
                words: part.words(),
                lanes: part.lanes(),
            });
            let all = parts.each_ref().map(|part| records(part, width));
            let mut runs: Vec<LaneRun> = (0..200)
                .map(|_| {
                    let (part, len) = (sampler.below(2), sampler.below(9));
                    let start = sampler.below([100, 37][part as usize] - len + 1);
                    LaneRun {
                        times: sampler.below(4),
                        ..LaneRun::new(part, start, len)
                    }
                })
                .collect();
            // To the end of a part, and of the target.
            runs.extend([LaneRun::new(0, 99, 1), LaneRun::new(1, 36, 1)]);
            let lanes = runs.iter().map(LaneRun::lanes).sum();
            let mut moved = BitMatrix::zeros(rows, lanes);
            arrange_rows(moved.words_mut(), rows, &runs, &views);
            moved.mask_padding();
            let mut target = vec![0; lanes * width];
            arrange_records(&mut target, width, &runs, &all.each_ref().map(|all| &all[..]));
            assert!(target == records(&moved, width), "records of {width} words");
        }
    }
}
