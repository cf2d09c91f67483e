//! Secret wires: replicated sharings of bits, a row of lanes per wire.

pub(crate) mod spare;

use std::fmt;
use std::ops::Range;
use std::sync::OnceLock;

use cenote_primitives::records::{arrange_records, lanes_to_rows, rows_to_lanes};
use cenote_primitives::{LaneRun, Rows, are_short, arrange_rows};
use cenote_session::{Piece, Result, WireVector, room};
use zeroize::Zeroizing;

/// What room is asked for.
pub(crate) const WIRES: &str = "shares of wires";

/// Replicated sharings of `wires` × `lanes` bits, as one party holds them: component `i` and component `i + 1` of each.
///
/// Both components are rows of 64-bit words like those of a [`cenote_primitives::BitMatrix`], but their padding bits
/// mean nothing. Both holders of a component have the same there too, since gates are checked with them. Of lanes that were moved one by one each is a
/// record, and rows are made of them where they are asked for. `Debug` prints the shape only.
#[derive(Clone)]
pub struct ThreeWires {
    wires: usize,
    lanes: usize,
    rows: OnceLock<[Vec<u64>; 2]>,
    records: Option<[Vec<u64>; 2]>,
}

/// How lanes lie that are to be arranged.
#[derive(Clone, Copy, PartialEq)]
enum Layout {
    Rows,
    Records,
}

impl ThreeWires {
    /// # Errors
    /// [`OutOfMemory`](cenote_session::Error::OutOfMemory) if there is no memory for them.
    pub(crate) fn zeros(wires: usize, lanes: usize) -> Result<Self> {
        let words = wires.saturating_mul(lanes.div_ceil(64));
        Ok(Self {
            wires,
            lanes,
            rows: OnceLock::from([zeros(words)?, zeros(words)?]),
            records: None,
        })
    }

    /// Records of [`ThreeWires::width`] words, all zero.
    ///
    /// # Errors
    /// As [`ThreeWires::zeros`].
    pub(crate) fn zero_records(wires: usize, lanes: usize) -> Result<Self> {
        let words = wires.div_ceil(64).saturating_mul(lanes);
        Ok(Self {
            wires,
            lanes,
            rows: OnceLock::new(),
            records: Some([zeros(words)?, zeros(words)?]),
        })
    }

    /// Words of a record.
    pub(crate) fn width(&self) -> usize {
        self.wires.div_ceil(64)
    }

    /// Whether records of so many wires take little more than their rows.
    pub(crate) fn fill_records(wires: usize) -> bool {
        wires > 0 && 8 * wires >= 5 * wires.next_multiple_of(64)
    }

    /// Both components as rows.
    ///
    /// # Errors
    /// As [`ThreeWires::zeros`].
    pub(crate) fn components(&self) -> Result<&[Vec<u64>; 2]> {
        if self.rows.get().is_none() {
            let words = self.wires * self.stride();
            let mut made = [zeros(words)?, zeros(words)?];
            for (index, component) in made.iter_mut().enumerate() {
                self.copy_rows(index, 0..self.wires, component);
            }
            // Whoever made them at the same time made the same.
            if let Err(made) = self.rows.set(made) {
                made.into_iter().for_each(spare::give_up);
            }
        }
        Ok(self.rows.get().expect("there are rows or records"))
    }

    /// Both components as rows, of wires that were made as such.
    pub(crate) fn components_mut(&mut self) -> &mut [Vec<u64>; 2] {
        self.rows.get_mut().expect("wires are written as rows")
    }

    /// Both components as records, if they are such.
    pub(crate) fn records(&self) -> Option<&[Vec<u64>; 2]> {
        self.records.as_ref()
    }

    /// Both components as records, of wires that were made as such.
    pub(crate) fn records_mut(&mut self) -> &mut [Vec<u64>; 2] {
        self.records.as_mut().expect("wires are written as records")
    }

    /// Writes some rows of a component one after the other.
    fn copy_rows(&self, index: usize, rows: Range<usize>, target: &mut [u64]) {
        let stride = self.stride();
        self.each_row(index, rows.clone(), 0..stride, |row, first, words| {
            put(&mut target[(row - rows.start) * stride + first..], words);
        });
    }

    /// Tells `put` of each of these rows of a component the words in `blocks`, some at a time: the row, which is the first, counted from the first block's, and the words.
    pub(crate) fn each_row(
        &self,
        index: usize,
        rows: Range<usize>,
        blocks: Range<usize>,
        mut put: impl FnMut(usize, usize, &[u64]),
    ) {
        match (self.rows.get(), &self.records) {
            (None, Some(records)) => {
                let width = self.width();
                let lanes = 64 * blocks.start..self.lanes.min(64 * blocks.end);
                lanes_to_rows(
                    &records[index][lanes.start * width..lanes.end * width],
                    width,
                    rows,
                    put,
                );
            }
            (all, _) => {
                let stride = self.stride();
                let all = &all.expect("there are rows or records")[index];
                rows.for_each(|row| put(row, 0, &all[row * stride..][blocks.clone()]));
            }
        }
    }

    /// The lanes of `runs`, one run after the other.
    pub(crate) fn arrange(parts: &[Piece<'_, Self>], runs: &[LaneRun]) -> Result<Self> {
        let wires = parts.first().map_or(0, |(_, range)| range.len());
        let lanes = runs.iter().map(LaneRun::lanes).sum();
        if Self::layout(parts, runs, wires, lanes) == Layout::Records {
            return Self::arrange_records(parts, runs, wires, lanes);
        }
        let mut arranged = Self::zeros(wires, lanes)?;
        let components: Vec<_> = parts
            .iter()
            .map(|(part, _)| part.components())
            .collect::<Result<_>>()?;
        for (index, component) in arranged.components_mut().iter_mut().enumerate() {
            let parts = parts.iter().zip(&components);
            let parts: Vec<Rows<'_>> = parts
                .map(|((part, range), components)| {
                    let stride = part.stride();
                    Rows {
                        words: &components[index][range.start * stride..range.end * stride],
                        lanes: part.lanes,
                    }
                })
                .collect();
            arrange_rows(component, wires, runs, &parts);
        }
        Ok(arranged)
    }

    /// How the lanes of `runs` come to lie.
    fn layout(parts: &[Piece<'_, Self>], runs: &[LaneRun], wires: usize, lanes: usize) -> Layout {
        let whole = parts.iter().all(|(part, range)| *range == (0..part.wires));
        if !whole || !Self::fill_records(wires) {
            return Layout::Rows;
        }
        let of_rows = parts.iter().filter(|(part, _)| part.records.is_none());
        let of_rows: usize = of_rows.map(|(part, _)| part.lanes).sum();
        match of_rows == 0 || are_short(runs, lanes) && of_rows <= 4 * lanes {
            true => Layout::Records,
            false => Layout::Rows,
        }
    }

    fn arrange_records(
        parts: &[Piece<'_, Self>],
        runs: &[LaneRun],
        wires: usize,
        lanes: usize,
    ) -> Result<Self> {
        let mut arranged = Self::zero_records(wires, lanes)?;
        let width = arranged.width();
        for (index, component) in arranged.records_mut().iter_mut().enumerate() {
            let made: Vec<_> = parts
                .iter()
                .map(|(part, _)| part.made_records(index))
                .collect::<Result<_>>()?;
            let records = parts
                .iter()
                .zip(&made)
                .map(|((part, _), made)| match (&part.records, made) {
                    (Some(records), _) => &records[index][..],
                    (None, made) => made,
                });
            arrange_records(component, width, runs, &records.collect::<Vec<_>>());
        }
        Ok(arranged)
    }

    /// Records of rows; none if there are records.
    fn made_records(&self, index: usize) -> Result<Zeroizing<Vec<u64>>> {
        if self.records.is_some() {
            return Ok(Zeroizing::default());
        }
        let mut made = room::secret(WIRES, self.width() * self.lanes)?;
        let rows = Rows {
            words: &self.components()?[index],
            lanes: self.lanes,
        };
        rows_to_lanes(&rows, 0..self.stride(), self.width(), &mut made);
        Ok(made)
    }

    /// 64-bit words in a row.
    pub(crate) fn stride(&self) -> usize {
        self.lanes.div_ceil(64)
    }
}

/// Writes words of a row, of which there are mostly as many as a line of the cache has.
pub(crate) fn put(target: &mut [u64], words: &[u64]) {
    match (target.first_chunk_mut::<8>(), words.first_chunk()) {
        (Some(target), Some(line)) if words.len() == line.len() => *target = *line,
        _ => target[..words.len()].copy_from_slice(words),
    }
}

fn zeros(words: usize) -> Result<Vec<u64>> {
    spare::take(words).map_or_else(|| room::zeroed(WIRES, words), Ok)
}

impl Drop for ThreeWires {
    fn drop(&mut self) {
        let both = [self.rows.take(), self.records.take()];
        both.into_iter().flatten().flatten().for_each(spare::give_up);
    }
}

impl WireVector for ThreeWires {
    fn wires(&self) -> usize {
        self.wires
    }

    fn lanes(&self) -> usize {
        self.lanes
    }

    fn select(&self, range: Range<usize>) -> Self {
        assert!(range.end <= self.wires, "wires {range:?} of {}", self.wires);
        let selected = [0, 1].map(|index| {
            let mut selected = vec![0; range.len() * self.stride()];
            self.copy_rows(index, range.clone(), &mut selected);
            selected
        });
        Self {
            wires: range.len(),
            lanes: self.lanes,
            rows: OnceLock::from(selected),
            records: None,
        }
    }

    fn concat(parts: &[&Self]) -> Self {
        let lanes = parts.first().expect("at least one part").lanes;
        assert!(
            parts.iter().all(|part| part.lanes == lanes),
            "all parts have the same lanes"
        );
        let wires = parts.iter().map(|part| part.wires).sum();
        let rows = [0, 1].map(|index| {
            let mut all = vec![0; wires * lanes.div_ceil(64)];
            let mut rest = &mut all[..];
            for part in parts {
                let own;
                (own, rest) = rest.split_at_mut(part.wires * part.stride());
                part.copy_rows(index, 0..part.wires, own);
            }
            all
        });
        Self {
            wires,
            lanes,
            rows: OnceLock::from(rows),
            records: None,
        }
    }
}

impl fmt::Debug for ThreeWires {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ThreeWires({} × {})", self.wires, self.lanes)
    }
}

#[cfg(test)]
mod tests {
    use cenote_session::Error;

    use super::*;

    /// Wires of which each bit of both components says where it is.
    fn numbered(wires: usize, lanes: usize) -> ThreeWires {
        let mut all = ThreeWires::zeros(wires, lanes).unwrap();
        for (component, words) in (1u64..).zip(all.components_mut()) {
            let mut state = component;
            words.iter_mut().for_each(|word| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                *word = state.rotate_left(20);
            });
        }
        all
    }

    fn bit(wires: &ThreeWires, component: usize, wire: usize, lane: usize) -> u64 {
        let words = &wires.components().unwrap()[component];
        words[wire * wires.stride() + lane / 64] >> (lane % 64) & 1
    }

    /// Whatever is made of lanes that were moved one by one is what is made of rows.
    #[test]
    fn lanes_side_by_side_are_rows() {
        for wires in [17, 50, 64, 84, 128] {
            let from = numbered(wires, 600);
            let places: Vec<u32> = (0..700).map(|lane| lane * 7919 % 600).collect();
            let runs: Vec<LaneRun> = places.iter().map(|&place| LaneRun::new(0, place, 1)).collect();
            let moved = ThreeWires::arrange(&[(&from, 0..wires)], &runs).unwrap();
            assert_eq!(moved.records().is_some(), wires != 17, "{wires}");
            let other = moved.clone();
            let again = ThreeWires::arrange(&[(&moved, 0..wires)], &[LaneRun::new(0, 3, 690)]).unwrap();
            assert_eq!(again.records().is_some(), wires != 17, "{wires}");
            // Before rows are made of them, and after it.
            let selected = moved.select(5..wires - 1);
            let joined = ThreeWires::concat(&[&moved, &selected]);
            for component in 0..2 {
                for (lane, &place) in places.iter().enumerate() {
                    for wire in [0, 5, 16, wires - 2, wires - 1] {
                        let right = bit(&from, component, wire, place as usize);
                        assert_eq!(bit(&joined, component, wire, lane), right);
                        assert_eq!(bit(&moved, component, wire, lane), right);
                        if (3..693).contains(&lane) {
                            assert_eq!(bit(&again, component, wire, lane - 3), right);
                        }
                        if (5..wires - 1).contains(&wire) {
                            assert_eq!(bit(&selected, component, wire - 5, lane), right);
                            assert_eq!(bit(&joined, component, wires + wire - 5, lane), right);
                        }
                    }
                }
                for wires_like_it in [&moved, &other] {
                    wires_like_it.each_row(component, 5..wires, 2..10, |wire, first, words| {
                        let row = &moved.components().unwrap()[component][wire * moved.stride()..];
                        assert_eq!(words, &row[2 + first..][..words.len()]);
                    });
                }
            }
        }
    }

    #[test]
    fn wires_that_there_is_no_room_for_are_refused() {
        for (wires, lanes) in [(1 << 40, 1 << 20), (usize::MAX, usize::MAX)] {
            match ThreeWires::zeros(wires, lanes) {
                Err(Error::OutOfMemory(what)) => assert!(what.contains(WIRES), "{what}"),
                other => panic!("{:?}", other.map(|_| ())),
            }
        }
    }
}
