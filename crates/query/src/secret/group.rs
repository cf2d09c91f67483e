//! Groups of secret rows, and what is made of them.

use cenote_program::Bits;

use super::cell::{Cell, Layout, any, ordered};
use super::source::{RowSource, summed};
use super::{Executor, Rows};
use crate::expr::ValueKind;
use crate::plan::physical::{Column, Physical};
use crate::relation::Function;

/// What is made of the values of one function, as it is put together.
#[derive(Clone)]
pub(super) struct Accumulated {
    function: Function,
    /// A sum or count, or a key that orders as the value does.
    value: Bits,
    /// Whether there was any value; nothing where that does not matter.
    some: Option<Bits>,
    /// The kind of the values, and whether sums are in two's complement.
    kind: ValueKind,
}

impl Accumulated {
    pub(super) fn parts(&self) -> impl Iterator<Item = &Bits> {
        std::iter::once(&self.value).chain(&self.some)
    }

    /// As wide, but of nothing: it says how others are laid out.
    fn emptied(&self) -> Accumulated {
        let zeros = |bits: &Bits| super::cell::number(bits.session(), bits.width(), 0);
        Accumulated {
            value: zeros(&self.value),
            some: self.some.as_ref().map(zeros),
            ..self.clone()
        }
    }

    pub(super) fn next(&self, record: &Bits, from: &mut u32) -> Accumulated {
        let mut take = |width: u32| {
            *from += width;
            record.part(*from - width, width)
        };
        Accumulated {
            value: take(self.value.width()),
            some: self.some.as_ref().map(|_| take(1)),
            ..self.clone()
        }
    }

    /// Of two groups, of the same function.
    fn with(&self, other: &Accumulated) -> Accumulated {
        let some = match (&self.some, &other.some) {
            (Some(one), Some(other)) => Some(one.or(other)),
            _ => None,
        };
        let value = match self.function {
            Function::Rows | Function::Count | Function::Sum => self.value.add(&other.value),
            Function::Same => {
                let some = other.some.as_ref().expect("it is known of each row");
                some.select(&other.value, &self.value)
            }
            Function::Least | Function::Greatest => {
                let (one, two) = match self.function {
                    Function::Least => (&other.value, &self.value),
                    _ => (&self.value, &other.value),
                };
                let mut better = one.less(two, false);
                if let (Some(mine), Some(its)) = (&self.some, &other.some) {
                    better = its.and(&better.or(&mine.not()));
                }
                better.select(&other.value, &self.value)
            }
        };
        Accumulated {
            value,
            some,
            ..self.clone()
        }
    }

    /// Of each row, put together.
    pub(super) fn total(&self) -> Accumulated {
        if self.adds() {
            let lanes = self.value.lanes();
            // Sums get wider as they grow.
            let more = bits_for(lanes) - u32::from(self.function != Function::Sum);
            let narrow = self.value.resized(self.value.width() - more, self.signed());
            return Accumulated {
                value: summed(&narrow, self.signed()),
                some: self.some.as_ref().map(any),
                ..self.clone()
            };
        }
        let record = Bits::join(&self.parts().collect::<Vec<_>>());
        let best = record.fold(
            |x, y| {
                let both = self.next(x, &mut 0).with(&self.next(y, &mut 0));
                Bits::join(&both.parts().collect::<Vec<_>>())
            },
            |x, _| x.clone(),
        );
        self.next(&best, &mut 0)
    }

    /// Of the totals of two segments, the total.
    fn and_of(&self, other: &Accumulated) -> Accumulated {
        if !self.adds() {
            return self.with(other);
        }
        let width = self.value.width().max(other.value.width()) + 1;
        let wider = |made: &Accumulated| Accumulated {
            value: made.value.resized(width, self.signed()),
            ..made.clone()
        };
        wider(self).with(&wider(other))
    }

    fn adds(&self) -> bool {
        matches!(self.function, Function::Rows | Function::Count | Function::Sum)
    }

    /// Whether it is a sum in two's complement.
    fn signed(&self) -> bool {
        self.function == Function::Sum && self.kind.is_signed()
    }

    /// Whether a sum does not fit `kind`; nothing if its bounds say that it does.
    pub(super) fn overflows(&self, kind: ValueKind) -> Option<Bits> {
        let (own, width) = (self.value.width(), kind.width());
        let unbounded = |(least, most)| least == i128::MIN || most == i128::MAX;
        let signed = self.kind.is_signed();
        (self.function == Function::Sum && own > width && kind.range().is_some_and(unbounded)).then(|| {
            let cut = self.value.resized(width, signed);
            cut.resized(own, signed).equal(&self.value).not()
        })
    }

    /// The column of an answer of this kind.
    pub(super) fn cell(&self, kind: ValueKind, nullable: bool) -> Cell {
        let value = match self.function {
            Function::Rows | Function::Count => self.value.resized(kind.width(), false),
            Function::Sum => self.value.resized(kind.width(), self.kind.is_signed()),
            Function::Least | Function::Greatest | Function::Same => ordered(&self.value, self.kind),
        };
        let null = match (&self.some, nullable) {
            (Some(some), true) => Some(some.not()),
            _ => None,
        };
        Cell { value, null }
    }
}

/// Bits that count to `count`, and more.
fn bits_for(count: usize) -> u32 {
    usize::BITS - count.leading_zeros()
}

impl<'a> Executor<'a> {
    /// Groups `rows`, whose columns are of `kinds`, by the first `keys`. Those with the same keys may be `side_by_side` already.
    pub(super) fn grouped(
        &mut self,
        rows: Rows,
        (kinds, physical): (&[ValueKind], &Physical),
        keys: usize,
        functions: &[Function],
        side_by_side: bool,
    ) -> Rows {
        let live = rows.live.filling(rows.count);
        let cells: Vec<Cell> = rows.columns.iter().map(|cell| cell.filling(rows.count)).collect();
        // Sorted by the keys, groups stand side by side.
        let parts: Vec<Bits> = cells[..keys]
            .iter()
            .zip(kinds)
            .map(|(cell, kind)| cell.key(*kind, false, true))
            .collect();
        let dead = live.not();
        let key = Bits::join(&parts.iter().chain([&dead]).collect::<Vec<_>>());
        let width = key.width();
        let values: Vec<Cell> = cells[keys..]
            .iter()
            .zip(functions)
            .map(|(cell, function)| match function {
                // Nulls are the same, whatever their bits are.
                Function::Same => Cell {
                    value: cell.or_zero(),
                    null: cell.null.clone(),
                },
                _ => cell.clone(),
            })
            .collect();
        let carried: Vec<&Bits> = values
            .iter()
            .zip(functions)
            .flat_map(|(cell, function)| carried(cell, *function))
            .collect();
        let mut record = Bits::join(&[&[&key], carried.as_slice()].concat());
        let layouts: Vec<Layout> = cells[..keys].iter().chain(&values).map(Cell::layout).collect();
        let count = rows.count;
        // What was put together is not needed any more, and takes as much again.
        drop((rows, live, dead, key, cells, parts, values));
        if !side_by_side {
            record = record.sorted(width);
        }
        let key = record.part(0, width);
        let live = record.part(width - 1, 1).not();
        let mut from = 0;
        let mut result: Vec<Cell> = layouts
            .iter()
            .zip(&kinds[..keys])
            .map(|(&layout, &kind)| Cell::from_key(&key, &mut from, (layout, kind), false, true))
            .collect();
        let mut from = width;
        let mut sorted: Vec<Cell> = layouts[keys..]
            .iter()
            .zip(functions)
            .map(|(&layout, function)| again(&record, &mut from, layout, *function))
            .collect();
        drop(record);
        let starts = key.starts();
        self.failures.extend(differ(&sorted, functions, &starts, &live));
        let ends = self.ends(&starts);
        let made: Vec<Option<Accumulated>> = sorted
            .iter()
            .zip(functions)
            .zip(&kinds[keys..])
            .map(|((cell, function), kind)| {
                let is_made = *function != Function::Same;
                is_made.then(|| made(cell, &live, *function, *kind, count))
            })
            .collect();
        // What totals are made of goes with them.
        let mut functions = functions.iter();
        sorted.retain(|_| functions.next() == Some(&Function::Same));
        let mut same = sorted.into_iter();
        let live = live.and(&ends);
        let totals = self.totals(made, &starts, &live, &physical.columns[keys..]);
        result.extend(
            totals
                .into_iter()
                .filter_map(|total| total.or_else(|| same.next())),
        );
        let groups = Rows {
            columns: result,
            live,
            count,
        };
        self.at_most(groups, physical.rows)
    }

    /// Groups `rows`, which come in the order of their keys: the columns that are named in `order`, of which the first counts most. Some of them may not count. What is
    /// the same in each group is so by the steps before.
    pub(super) fn grouped_in_order(
        &mut self,
        rows: Rows,
        (kinds, physical): (&[ValueKind], &Physical),
        order: &[usize],
        functions: &[Function],
    ) -> Rows {
        let (count, keys) = (rows.count, order.len());
        let live = rows.live.filling(count);
        let mut cells: Vec<Cell> = rows.columns.iter().map(|cell| cell.filling(count)).collect();
        drop(rows);
        let parts: Vec<Bits> = order
            .iter()
            .rev()
            .map(|&key| ordered(&cells[key].value, kinds[key]))
            .collect();
        let key = Bits::join(&parts.iter().collect::<Vec<_>>());
        self.ascending(&key, count);
        let starts = key.starts();
        drop((key, parts));
        let ends = self.ends(&starts);
        let of_rows = cells.drain(keys..).zip(functions).zip(&kinds[keys..]);
        let all = of_rows.map(|((cell, function), kind)| Some(made(&cell, &live, *function, *kind, count)));
        let all = all.collect();
        let totals = self.totals(all, &starts, &ends, &physical.columns[keys..]);
        cells.extend(totals.into_iter().flatten());
        let groups = Rows {
            columns: cells,
            live: live
                .scanned(&starts, |earlier, later| earlier.or(later))
                .and(&ends),
            count,
        };
        self.at_most(groups, physical.rows)
    }

    /// Whether each row is the last of its group: groups begin where `starts` says.
    fn ends(&self, starts: &Bits) -> Bits {
        let end = self.session.public_bits(1, 1).filling(1);
        match starts.lanes() {
            1 => end,
            count => Bits::concat(&[&starts.slice(1, count - 1), &end]),
        }
    }

    /// What is made of each group, at its last row: groups begin where `starts` says.
    fn totals(
        &mut self,
        made: Vec<Option<Accumulated>>,
        starts: &Bits,
        live: &Bits,
        columns: &[Column],
    ) -> Vec<Option<Cell>> {
        let is_made: Vec<bool> = made.iter().map(Option::is_some).collect();
        let all: Vec<Accumulated> = made.into_iter().flatten().collect();
        if all.is_empty() {
            return vec![None; is_made.len()];
        }
        let mut totals = scanned(all, starts).into_iter();
        let mut cells = Vec::new();
        for (is_made, info) in is_made.into_iter().zip(columns) {
            let total = is_made.then(|| totals.next()).flatten();
            cells.push(total.map(|total| {
                let over = total.overflows(info.kind);
                self.failures.extend(over.map(|over| any(&over.and(live))));
                total.cell(info.kind, info.nullable)
            }));
        }
        cells
    }

    /// One group of all rows, whose columns are of `kinds`.
    pub(super) fn all_together(
        &mut self,
        mut source: RowSource<'a>,
        kinds: &[ValueKind],
        functions: &[Function],
        physical: &Physical,
    ) -> Rows {
        let mut totals: Option<Vec<Accumulated>> = None;
        while let Some(rows) = self.next(&mut source) {
            let live = rows.live.filling(rows.count);
            let of_rows = rows.columns.iter().zip(functions).zip(kinds);
            let here = of_rows.map(|((cell, function), kind)| {
                made(&cell.filling(rows.count), &live, *function, *kind, rows.count).total()
            });
            totals = Some(match totals.take() {
                None => here.collect(),
                Some(before) => before
                    .iter()
                    .zip(here)
                    .map(|(before, here)| before.and_of(&here))
                    .collect(),
            });
        }
        let totals = totals.expect("there are rows");
        let columns = totals.iter().zip(&physical.columns).map(|(total, info)| {
            self.failures.extend(total.overflows(info.kind));
            total.cell(info.kind, info.nullable)
        });
        Rows {
            columns: columns.collect(),
            live: self.session.public_bits(1, 1).filling(1),
            count: 1,
        }
    }

    /// Rows of which at most `most` count, put together; more of them are a failure.
    pub(crate) fn at_most(&mut self, rows: Rows, most: usize) -> Rows {
        if most >= rows.count {
            return rows;
        }
        let (packed, layouts) = (rows.packed(), rows.layouts());
        let live = rows.live.filling(rows.count);
        drop(rows);
        let (record, count) = packed.compacted_to(&live, most);
        let limit = super::cell::number(self.session, count.width(), most as i128);
        self.failures.push(limit.less(&count, false));
        Rows::of_packed(&record, &layouts)
    }
}

/// Whether values that are to be the same in all rows of a group are not, in sorted rows; nothing if none are.
fn differ(sorted: &[Cell], functions: &[Function], starts: &Bits, live: &Bits) -> Option<Bits> {
    let same = sorted
        .iter()
        .zip(functions)
        .filter(|(_, function)| **function == Function::Same);
    let parts: Vec<&Bits> = same.flat_map(|(cell, _)| cell.parts()).collect();
    if parts.is_empty() {
        return None;
    }
    let changes = Bits::join(&parts).starts();
    Some(any(&changes.and(&starts.not()).and(live)))
}

/// What is made of the rows of a segment up to each; segments begin where `starts` says.
pub(super) fn scanned(made: Vec<Accumulated>, starts: &Bits) -> Vec<Accumulated> {
    let joined =
        |made: &[Accumulated]| Bits::join(&made.iter().flat_map(Accumulated::parts).collect::<Vec<_>>());
    let all = joined(&made);
    let made: Vec<Accumulated> = made.iter().map(Accumulated::emptied).collect();
    let scanned = all.scanned(starts, |earlier, later| {
        let (mut one, mut two) = (0, 0);
        let both: Vec<Accumulated> = made
            .iter()
            .map(|made| made.next(earlier, &mut one).with(&made.next(later, &mut two)))
            .collect();
        joined(&both)
    });
    let mut from = 0;
    made.iter().map(|made| made.next(&scanned, &mut from)).collect()
}

/// What of a column a function needs of each row.
fn carried(cell: &Cell, function: Function) -> Vec<&Bits> {
    match function {
        Function::Rows => Vec::new(),
        Function::Count => cell.null.iter().collect(),
        _ => cell.parts().collect(),
    }
}

/// The same, from a record.
fn again(record: &Bits, from: &mut u32, layout: Layout, function: Function) -> Cell {
    match function {
        Function::Rows | Function::Count => {
            let null = (function == Function::Count && layout.nullable).then(|| {
                *from += 1;
                record.part(*from - 1, 1)
            });
            // The value does not matter.
            let value = record.part(0, 1);
            Cell { value, null }
        }
        _ => Cell::from_record(record, from, layout),
    }
}

/// What a function makes of each of `count` rows.
pub(super) fn made(
    cell: &Cell,
    live: &Bits,
    function: Function,
    kind: ValueKind,
    count: usize,
) -> Accumulated {
    let there = match cell.present() {
        Some(present) => live.and(&present),
        None => live.clone(),
    };
    let more = bits_for(count);
    let (value, some) = match function {
        Function::Rows => (live.resized(more, false), None),
        Function::Count => (there.resized(more, false), None),
        Function::Sum => {
            let value = cell.value.where_chosen(&there);
            (value.resized(value.width() + more, kind.is_signed()), Some(there))
        }
        Function::Least | Function::Greatest | Function::Same => (ordered(&cell.value, kind), Some(there)),
    };
    Accumulated {
        function,
        value,
        some,
        kind,
    }
}
