//! Windows over rows in the clear.

use std::ops::Range;

use super::OwnTables;
use super::column::{Column, Values};
use super::rows::{AllRows, Rows, compare};
use crate::error::Result;
use crate::plan::physical::Physical;
use crate::plan::window::Windowed;
use crate::relation::Function;
use crate::window::{Made, Reach};

/// All rows, and their order.
struct Ordered<'a> {
    rows: &'a AllRows,
    /// The places of rows, one after the other.
    places: Vec<usize>,
    /// Where the partition of each begins, and where it ends.
    partition: Vec<Range<u32>>,
    /// The same of those that are equal to it.
    peers: Vec<Range<u32>>,
}

impl OwnTables<'_> {
    /// Calls `each` with the rows of a window, which this party owns, some at a time.
    pub(super) fn windowed(
        &self,
        physical: &Physical,
        (input, window): (&Physical, &Windowed),
        each: &mut dyn FnMut(Rows) -> Result<()>,
    ) -> Result<()> {
        let rows = self.all_rows(input)?;
        let ordered = Ordered::new(&rows, window);
        let made = window.made.iter().map(|(made, of)| ordered.column(*made, *of));
        let made: Option<Vec<Column>> = made.collect();
        let made = made.ok_or_else(|| self.failed(physical))?;
        self.pieces(rows.count, |part| {
            let here: Vec<usize> = part.clone().collect();
            let mut rows = rows.at(&ordered.places[part]);
            rows.columns
                .extend(made.iter().map(|column| column.gather(&here)));
            each(rows)
        })
    }
}

impl<'a> Ordered<'a> {
    fn new(rows: &'a AllRows, window: &Windowed) -> Self {
        let mut places: Vec<usize> = (0..rows.count).collect();
        places.sort_by(|&one, &other| compare(&rows.columns, &window.order, one, other));
        let segments = |keys: usize| {
            let keys = &window.order[..keys];
            let same = |one: &usize, other: &usize| compare(&rows.columns, keys, *one, *other).is_eq();
            let mut segments = Vec::with_capacity(places.len());
            for segment in places.chunk_by(same) {
                let from = segments.len() as u32;
                let range = from..from + segment.len() as u32;
                segments.resize(segments.len() + segment.len(), range);
            }
            segments
        };
        let (partition, peers) = (segments(window.partition), segments(window.peers));
        Ordered {
            rows,
            places,
            partition,
            peers,
        }
    }

    /// The last row of the frame of a row.
    fn end(&self, row: usize, reach: Reach) -> usize {
        match reach {
            Reach::Row => row,
            Reach::Peers => self.peers[row].end as usize - 1,
            Reach::Partition => self.partition[row].end as usize - 1,
        }
    }

    /// What is made of column `of` for each row, in their order; nothing if a sum overflows.
    fn column(&self, made: Made, of: Option<usize>) -> Option<Column> {
        let rows = 0..self.places.len();
        let of_row = |row: &dyn Fn(usize) -> Option<usize>| {
            let places: Vec<Option<usize>> = rows.clone().map(row).collect();
            of.map(|of| Column::at(&self.rows.columns[of], &places))
        };
        let first = |row: usize| self.partition[row].start as usize;
        match made {
            Made::Rank => {
                Some(numbers(rows.map(|row| {
                    i128::from(self.peers[row].start - self.partition[row].start) + 1
                })))
            }
            Made::DenseRank => {
                let mut rank = 0;
                Some(numbers(rows.map(|row| {
                    let start = self.peers[row].start as usize;
                    rank = match start == row {
                        true if first(row) == row => 1,
                        more => rank + i128::from(more),
                    };
                    rank
                })))
            }
            Made::Shifted(places) => of_row(&|row| {
                let other = usize::try_from(i64::try_from(row).ok()?.checked_sub(places)?).ok()?;
                let partition = self.partition[row].start as usize..self.partition[row].end as usize;
                partition.contains(&other).then(|| self.places[other])
            }),
            Made::First => of_row(&|row| Some(self.places[first(row)])),
            Made::Last(reach) => of_row(&|row| Some(self.places[self.end(row, reach)])),
            Made::Total(function @ (Function::Least | Function::Greatest), reach) => {
                let best = self.best(of?, function);
                of_row(&|row| best[self.end(row, reach)])
            }
            Made::Total(function, reach) => self.totals(of, function, reach),
        }
    }

    /// Where the least or greatest value is of the rows up to each, if there is one.
    fn best(&self, of: usize, function: Function) -> Vec<Option<usize>> {
        let column = &self.rows.columns[of];
        let mut best: Option<usize> = None;
        let next = |(row, &place): (usize, &usize)| {
            if self.partition[row].start as usize == row {
                best = None;
            }
            if !column.is_null(place) {
                let better = best.is_none_or(|best| {
                    let order = column.values.compare(place, best);
                    if function == Function::Least {
                        order.is_lt()
                    } else {
                        order.is_gt()
                    }
                });
                best = if better { Some(place) } else { best };
            }
            best
        };
        self.places.iter().enumerate().map(next).collect()
    }

    /// Counts and sums.
    fn totals(&self, of: Option<usize>, function: Function, reach: Reach) -> Option<Column> {
        let column = of.map(|of| {
            let places: Vec<Option<usize>> = self.places.iter().copied().map(Some).collect();
            Column::at(&self.rows.columns[of], &places)
        });
        // The sum, how often it has gone beyond the greatest number more than beyond the least, and how many values there are.
        let (mut sum, mut over, mut count) = (0i128, 0i64, 0i128);
        let mut all = Vec::with_capacity(self.places.len());
        for row in 0..self.places.len() {
            if self.partition[row].start as usize == row {
                (sum, over, count) = (0, 0, 0);
            }
            if !column.as_ref().is_some_and(|column| column.is_null(row)) {
                count += 1;
                if let (Function::Sum, Some(Values::Numbers(numbers))) =
                    (function, column.as_ref().map(|column| &column.values))
                {
                    let (next, overflows) = sum.overflowing_add(numbers[row]);
                    over += i64::from(overflows) * if numbers[row] < 0 { -1 } else { 1 };
                    sum = next;
                }
            }
            all.push((sum, over, count));
        }
        let ends: Vec<usize> = (0..all.len()).map(|row| self.end(row, reach)).collect();
        if function != Function::Sum {
            return Some(numbers(ends.iter().map(|&end| all[end].2)));
        }
        if ends.iter().any(|&end| all[end].1 != 0) {
            return None;
        }
        let none: Vec<bool> = ends.iter().map(|&end| all[end].2 == 0).collect();
        Some(Column {
            nulls: none.contains(&true).then_some(none),
            ..numbers(ends.iter().map(|&end| all[end].0))
        })
    }
}

fn numbers(numbers: impl Iterator<Item = i128>) -> Column {
    Column {
        values: Values::Numbers(numbers.collect()),
        nulls: None,
    }
}
