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
                tiles.iter_mut().zip(words).for_each(|(tile, word)| tile[row] = *word);
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
    assert!(rows.end <= 64 * width, "rows {rows:?} of records of {width} words");
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
                words.iter_mut().zip(&*tiles).for_each(|(word, tile)| *word = tile[row % 64]);
                put(row, LINE * line, &words[..count]);
            }
        }
    }
}

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
        let source = &parts[run.part as usize].as_chunks::<N>().0[run.start as usize..][..run.len as usize];
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
