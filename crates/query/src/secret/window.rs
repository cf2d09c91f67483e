//! Windows over secret rows: sorted, scanned from partition to partition, and filled.

use cenote_program::Bits;

use super::cell::{Cell, any};
use super::group::{Accumulated, made, scanned};
use super::{Executor, Rows};
use crate::expr::ValueKind;
use crate::plan::physical::{Column, Ordered, Physical};
use crate::plan::window::Windowed;
use crate::relation::Function;
use crate::window::{Made, Reach};

/// Rows in their order.
struct Sorted {
    rows: Rows,
    /// Whether each is the first of its partition, and of those that are equal to it.
    partition: Bits,
    peers: Bits,
}

impl Executor<'_> {
    /// The rows of `input` with what is made of those around each.
    pub(super) fn windowed(
        &mut self,
        rows: Rows,
        input: &Physical,
        window: &Windowed,
        physical: &Physical,
    ) -> Rows {
        let added = &physical.columns[input.columns.len()..];
        if window.is_unordered() {
            return self.of_all(rows, input, window, added);
        }
        let sorted = rows.in_order(input, window);
        let cells = sorted.made(input, window, added, &mut self.failures);
        let mut rows = sorted.rows;
        rows.columns.extend(cells);
        rows
    }

    /// Rows with what is made of all of them, which is the same in each.
    fn of_all(&mut self, mut rows: Rows, input: &Physical, window: &Windowed, added: &[Column]) -> Rows {
        let live = rows.live.filling(rows.count);
        for ((function, of), info) in window.made.iter().zip(added) {
            let Made::Total(function, _) = function else {
                unreachable!("it is of all rows")
            };
            let total = rows.accumulated(input, *function, *of, &live).total();
            self.failures.extend(total.overflows(info.kind));
            rows.columns.push(total.cell(info.kind, info.nullable));
        }
        rows
    }
}

impl Rows {
    /// What a function makes of each row.
    fn accumulated(
        &self,
        input: &Physical,
        function: Function,
        of: Option<usize>,
        live: &Bits,
    ) -> Accumulated {
        match of {
            None => rows_of(live, self.count),
            Some(of) => {
                let cell = self.columns[of].filling(self.count);
                made(&cell, live, function, input.columns[of].kind, self.count)
            }
        }
    }

    /// The rows by partition and order, those that do not count last. Each column is in a record once: as a part of the key, or behind it.
    fn in_order(self, input: &Physical, window: &Windowed) -> Sorted {
        let count = self.count;
        let cells: Vec<Cell> = self.columns.iter().map(|cell| cell.filling(count)).collect();
        let key =
            |by: &Ordered| cells[by.column].key(input.columns[by.column].kind, by.descending, by.nulls_first);
        let keys: Vec<Bits> = window.order.iter().rev().map(key).collect();
        let others: Vec<usize> = (0..cells.len())
            .filter(|&column| window.order.iter().all(|by| by.column != column))
            .collect();
        let dead = self.live.not().filling(count);
        let carried = others.iter().flat_map(|&column| cells[column].parts());
        let parts: Vec<&Bits> = keys.iter().chain([&dead]).chain(carried).collect();
        let width = keys.iter().map(Bits::width).sum::<u32>() + 1;
        let record = Bits::join(&parts).sorted(width);
        let mut columns: Vec<Option<Cell>> = vec![None; cells.len()];
        let mut from = 0;
        for by in window.order.iter().rev() {
            let kind = input.columns[by.column].kind;
            let of = (cells[by.column].layout(), kind);
            columns[by.column] = Some(Cell::from_key(
                &record,
                &mut from,
                of,
                by.descending,
                by.nulls_first,
            ));
        }
        from = width;
        for column in others {
            columns[column] = Some(Cell::from_record(&record, &mut from, cells[column].layout()));
        }
        // The keys of rows, of which the last counts least.
        let starts = |first: usize| {
            let others: u32 = keys[..keys.len() - first].iter().map(Bits::width).sum();
            record.part(others, width - others).starts()
        };
        let partition = starts(window.partition);
        let peers = if window.peers == window.partition {
            partition.clone()
        } else {
            starts(window.peers)
        };
        Sorted {
            rows: Rows {
                columns: columns.into_iter().flatten().collect(),
                live: record.part(width - 1, 1).not(),
                count,
            },
            partition,
            peers,
        }
    }
}

/// How many rows count so far.
fn rows_of(live: &Bits, count: usize) -> Accumulated {
    let cell = Cell {
        value: live.clone(),
        null: None,
    };
    made(&cell, live, Function::Rows, ValueKind::Bool, count)
}

/// Where the value that a row has comes from.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Fill {
    /// From the last row of a segment, or else from its first.
    from_last: bool,
    /// Whether segments are of equal rows, or else partitions.
    of_peers: bool,
}

impl Fill {
    const ALL: [(bool, bool); 4] = [(false, false), (false, true), (true, false), (true, true)];

    /// Whence a row has what is made; nothing if it has it of itself.
    fn of(made: Made) -> Option<Self> {
        let (from_last, of_peers) = match made {
            Made::DenseRank | Made::Shifted(_) | Made::Last(Reach::Row) | Made::Total(_, Reach::Row) => {
                return None;
            }
            Made::Rank => (false, true),
            Made::First => (false, false),
            Made::Last(Reach::Peers) | Made::Total(_, Reach::Peers) => (true, true),
            Made::Last(Reach::Partition) | Made::Total(_, Reach::Partition) => (true, false),
        };
        Some(Fill { from_last, of_peers })
    }
}

impl Sorted {
    /// What is made for each row.
    fn made(
        &self,
        input: &Physical,
        window: &Windowed,
        added: &[Column],
        failures: &mut Vec<Bits>,
    ) -> Vec<Cell> {
        let totals = self.totals(input, window);
        let columns = window.made.iter().zip(&totals);
        let mut values: Vec<Vec<Bits>> = columns
            .map(|((_, of), total)| match (total, of) {
                (Some(total), _) => total.parts().cloned().collect(),
                (None, of) => of
                    .iter()
                    .flat_map(|&of| self.rows.columns[of].parts().cloned())
                    .collect(),
            })
            .collect();
        for (from_last, of_peers) in Fill::ALL {
            let fill = Fill { from_last, of_peers };
            let those = window
                .made
                .iter()
                .zip(&mut values)
                .filter(|((made, _), _)| Fill::of(*made) == Some(fill));
            let mut those: Vec<&mut Bits> = those.flat_map(|(_, parts)| parts).collect();
            if those.is_empty() {
                continue;
            }
            let record = Bits::join(&those.iter().map(|part| &**part).collect::<Vec<_>>());
            let filled = self.filled(&record, fill);
            let mut from = 0;
            for part in &mut those {
                let width = part.width();
                **part = filled.part(from, width);
                from += width;
            }
        }
        let columns = window.made.iter().zip(totals).zip(values).zip(added);
        columns
            .map(|((((made, of), total), parts), info)| {
                let of = of.map(|of| &self.rows.columns[of]);
                match (total, made, of) {
                    (Some(total), ..) => {
                        let total = total.next(&Bits::join(&parts.iter().collect::<Vec<_>>()), &mut 0);
                        let over = total.overflows(info.kind);
                        failures.extend(over.map(|over| any(&over.and(&self.rows.live))));
                        total.cell(info.kind, info.nullable)
                    }
                    (None, Made::Shifted(places), Some(of)) => self.shifted(of, *places),
                    _ => {
                        let mut parts = parts.into_iter();
                        Cell {
                            value: parts.next().expect("it is made of a column"),
                            null: parts.next(),
                        }
                    }
                }
            })
            .collect()
    }

    /// Sums and counts of the rows of a partition up to each, and its least and greatest values.
    fn totals(&self, input: &Physical, window: &Windowed) -> Vec<Option<Accumulated>> {
        let mut known: Vec<(Function, Option<usize>, bool)> = Vec::new();
        let places = window.made.iter().map(|(made, of)| {
            let wanted = match made {
                Made::Total(function, _) => (*function, *of, false),
                Made::Rank => (Function::Rows, None, false),
                Made::DenseRank => (Function::Rows, None, true),
                Made::Shifted(_) | Made::First | Made::Last(_) => return None,
            };
            let at = known.iter().position(|other| *other == wanted);
            Some(at.unwrap_or_else(|| {
                known.push(wanted);
                known.len() - 1
            }))
        });
        let places: Vec<Option<usize>> = places.collect();
        if known.is_empty() {
            return vec![None; places.len()];
        }
        let of_rows = known.iter().map(|&(function, of, firsts)| match firsts {
            true => rows_of(&self.peers, self.rows.count),
            false => self.rows.accumulated(input, function, of, &self.rows.live),
        });
        let totals = scanned(of_rows.collect(), &self.partition);
        places
            .into_iter()
            .map(|at| at.map(|at| totals[at].clone()))
            .collect()
    }

    /// What stands in the first or the last row of each segment, in all of its rows.
    fn filled(&self, values: &Bits, fill: Fill) -> Bits {
        let starts = if fill.of_peers {
            &self.peers
        } else {
            &self.partition
        };
        let fill_forward = |values: &Bits, starts: &Bits| values.scanned(starts, |first, _| first.clone());
        if !fill.from_last {
            return fill_forward(values, starts);
        }
        let back: Vec<usize> = (0..self.rows.count).rev().collect();
        let ends = self.moved(starts, 1).gather(&back);
        fill_forward(&values.gather(&back), &ends).gather(&back)
    }

    /// For each place the bit so many places after it, or before it if there are fewer than none, and 1 where there is none.
    fn moved(&self, bits: &Bits, places: i64) -> Bits {
        let count = self.rows.count;
        let far = usize::try_from(places.unsigned_abs()).unwrap_or(count).min(count);
        let ones = |lanes: usize| bits.session().public_bits(1, 1).filling(lanes);
        match (far, count - far) {
            (0, _) => bits.clone(),
            (_, 0) => ones(count),
            (far, kept) if places > 0 => Bits::concat(&[&bits.slice(far, kept), &ones(far)]),
            (far, kept) => Bits::concat(&[&ones(far), &bits.slice(0, kept)]),
        }
    }

    /// The value of the row so many places before each, or after it if there are fewer than none: null where it is of another partition.
    fn shifted(&self, of: &Cell, places: i64) -> Cell {
        let count = self.rows.count;
        let far = usize::try_from(places.unsigned_abs()).unwrap_or(count).min(count);
        if far == count {
            return Cell {
                value: of.value.clone(),
                null: Some(of.value.session().public_bits(1, 1).filling(count)),
            };
        }
        // Whether one of the last rows, as many as `reached`, begins a partition.
        let (mut begins, mut reached) = (self.partition.clone(), 1);
        while reached < far {
            let more = reached.min(far - reached);
            begins = begins.or(&self.moved(&begins, -(more as i64)));
            reached += more;
        }
        let outside = if places < 0 {
            self.moved(&begins, far as i64)
        } else {
            begins
        };
        let from = |bits: &Bits| {
            let (first, last) = (bits.slice(0, count - far), bits.slice(far, count - far));
            match places < 0 {
                true => Bits::concat(&[&last, &bits.slice(0, far)]),
                false => Bits::concat(&[&bits.slice(0, far), &first]),
            }
        };
        let null = of.null.as_ref().map(|null| from(null).or(&outside));
        Cell {
            value: from(&of.value),
            null: Some(null.unwrap_or(outside)),
        }
    }
}
