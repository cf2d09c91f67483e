//! What all parties do together, secretly.

mod calendar;
pub(crate) mod cell;
mod expr;
mod formula;
mod group;
mod join;
pub(crate) mod shards;
mod source;
mod text;
pub(crate) mod upload;
mod window;

use std::collections::VecDeque;
use std::ops::Range;

use cenote_primitives::BitMatrix;
use cenote_program::{Bits, Session};

use self::cell::{Cell, Layout, any, number};
use self::expr::Evaluator;
use self::shards::Taken;
use crate::expr::{Expr, ValueKind};
use crate::plan::physical::{Ordered, Physical, Step};
use crate::segment::Segments;

/// Secret rows.
pub(crate) struct Rows {
    pub(crate) columns: Vec<Cell>,
    /// Whether each counts.
    pub(crate) live: Bits,
    pub(crate) count: usize,
}

/// The steps of a query, being done.
pub(crate) struct Executor<'a> {
    pub(crate) session: &'a Session,
    /// What this party gives: of each upload the segments.
    pub(crate) given: VecDeque<VecDeque<BitMatrix>>,
    pub(crate) kept: Taken,
    pub(crate) segments: Segments,
    /// What must be 0 for the query to have an answer.
    pub(crate) failures: Vec<Bits>,
    /// How many secret steps were begun: each before those that it takes.
    pub(crate) begun: usize,
}

impl<'a> Executor<'a> {
    /// Does the next step, which is given its number.
    pub(super) fn step<R>(&mut self, done: impl FnOnce(&mut Self, usize) -> R) -> R {
        self.begun += 1;
        let step = self.begun;
        self.within(step, |executor| done(executor, step))
    }

    /// Whether anything has gone wrong so far.
    pub(crate) fn failed(&self) -> Bits {
        let nothing = self.session.public_bits(1, 0);
        self.failures.iter().fold(nothing, |any, failure| any.or(failure))
    }

    /// Does something that belongs to a step.
    pub(super) fn within<R>(&mut self, step: usize, done: impl FnOnce(&mut Self) -> R) -> R {
        let before = self.session.enter(step);
        let result = done(self);
        self.session.enter(before);
        result
    }

    /// All rows that `physical`, which nobody owns, gives.
    pub(crate) fn rows(&mut self, physical: &'a Physical) -> Rows {
        self.step(|executor, step| executor.rows_of(physical, step))
    }

    /// The same of a step that was begun.
    fn rows_of(&mut self, physical: &'a Physical, step: usize) -> Rows {
        match &*physical.step {
            Step::Join(join) if !join.probe_keys.is_empty() => self.joined(join),
            Step::Group {
                input,
                keys,
                functions,
                grouped,
            } => {
                let kinds: Vec<_> = input.columns.iter().map(|column| column.kind).collect();
                if !grouped {
                    let input = self.source(input);
                    return self.all_together(input, &kinds, functions, physical);
                }
                let rows = self.rows(input);
                let order = input.in_order_of_groups(*keys, functions);
                if let Some(order) = order.filter(|order| order.len() == *keys) {
                    return self.grouped_in_order(rows, (&kinds, physical), &order, functions);
                }
                let side_by_side = input.is_in_groups(*keys, functions);
                self.grouped(rows, (&kinds, physical), *keys, functions, side_by_side)
            }
            Step::First {
                input,
                order,
                rows: kept,
            } => {
                let rows = self.rows(input);
                self.first(rows, input, order, kept)
            }
            Step::Window { input, window } => {
                let rows = self.rows(input);
                self.windowed(rows, input, window, physical)
            }
            Step::Repeat { input, count } => {
                let rows = self.rows(input);
                self.repeated(rows, *count, physical)
            }
            Step::Kept { relation, .. } => self.of_shards(physical, *relation),
            _ => {
                let source = self.source_of(physical, step);
                self.all(source)
            }
        }
    }

    /// Rows of which an owner gave these fields.
    fn plain(&mut self, input: &Physical, mut fields: VecDeque<Bits>, count: usize) -> Rows {
        let live = next(&mut fields);
        let columns = (0..input.columns.len()).map(|column| self.cell(input, column, &mut fields, &live));
        Rows {
            columns: columns.collect(),
            live,
            count,
        }
    }

    /// A column of rows that their owner gives: it has its bounds in the rows that are `there`.
    fn cell(&mut self, input: &Physical, column: usize, fields: &mut VecDeque<Bits>, there: &Bits) -> Cell {
        if let Some(constant) = input.constant(column) {
            return self.constant(constant);
        }
        let info = input.columns[column];
        let value = next(fields);
        let null = info.nullable.then(|| next(fields));
        let cell = Cell { value, null };
        self.bounded(&cell, info.kind, info.kind.range(), there);
        cell
    }

    fn constant(&self, expr: &Expr) -> Cell {
        let mut evaluator = Evaluator {
            session: self.session,
            columns: &[],
            failures: Vec::new(),
        };
        evaluator.evaluate(expr, &self.session.public_bits(1, 1))
    }

    /// Notes a failure if a number of `kind` is not within `bounds` in a row that is `there`. Its bits may say that it is.
    pub(crate) fn bounded(
        &mut self,
        cell: &Cell,
        kind: ValueKind,
        bounds: Option<(i128, i128)>,
        there: &Bits,
    ) {
        let Some((least, most)) = bounds else { return };
        let (value, there) = match cell.present() {
            Some(present) => (&cell.value, &there.and(&present)),
            None => (&cell.value, there),
        };
        let (width, signed) = (kind.width(), kind.is_signed());
        let highest = i128::MAX >> (127 + u32::from(signed) - width);
        let lowest = if signed { -highest - 1 } else { 0 };
        let bound = |bound| number(self.session, width, bound);
        let below = (lowest < least).then(|| value.less(&bound(least), signed));
        let above = (most < highest).then(|| bound(most).less(value, signed));
        for outside in below.into_iter().chain(above) {
            self.failures.push(any(&outside.and(there)));
        }
    }

    fn evaluated(&mut self, rows: &Rows, exprs: &[Expr]) -> Vec<Cell> {
        let mut evaluator = Evaluator {
            session: self.session,
            columns: &rows.columns,
            failures: Vec::new(),
        };
        let cells = exprs
            .iter()
            .map(|expr| evaluator.evaluate(expr, &rows.live))
            .collect();
        let failures = evaluator.failures.iter().map(any);
        self.failures.extend(failures);
        cells
    }

    /// The rows of all parts. Each column of them is given up once it is put together.
    fn together(&mut self, mut parts: Vec<Rows>) -> Rows {
        let none = self.session.public_bits(1, 0);
        let counts: Vec<usize> = parts.iter().map(|part| part.count).collect();
        let joined = |all: Vec<Bits>| {
            let filled: Vec<Bits> = all
                .iter()
                .zip(&counts)
                .map(|(bits, &count)| bits.filling(count))
                .collect();
            Bits::concat(&filled.iter().collect::<Vec<_>>())
        };
        let mut rest: Vec<_> = parts
            .iter_mut()
            .map(|part| std::mem::take(&mut part.columns).into_iter())
            .collect();
        let mut columns = Vec::new();
        loop {
            let cells: Vec<Cell> = rest.iter_mut().filter_map(Iterator::next).collect();
            if cells.is_empty() {
                break;
            }
            let nullable = cells.iter().any(|cell| cell.null.is_some());
            let (values, nulls): (Vec<Bits>, Vec<Bits>) = cells
                .into_iter()
                .map(|cell| (cell.value, cell.null.unwrap_or_else(|| none.clone())))
                .unzip();
            columns.push(Cell {
                value: joined(values),
                null: nullable.then(|| joined(nulls)),
            });
        }
        Rows {
            columns,
            live: joined(parts.into_iter().map(|part| part.live).collect()),
            count: counts.iter().sum(),
        }
    }

    /// Each row as often as its column `count` says, and which of its copies it is.
    fn repeated(&mut self, rows: Rows, count: usize, physical: &Physical) -> Rows {
        let counts = rows.columns[count].or_zero().where_chosen(&rows.live);
        let (packed, layouts) = (rows.packed(), rows.layouts());
        let counts = counts.filling(rows.count);
        drop(rows);
        let [records, number, there, total] = packed.copied(&counts, physical.rows);
        self.limited(&total, physical.rows);
        let mut rows = Rows::of_packed(&records, &layouts);
        let width = physical.columns[layouts.len()].kind.width();
        rows.columns.push(Cell {
            value: number.resized(width, false),
            null: None,
        });
        Rows { live: there, ..rows }
    }

    fn first(&mut self, rows: Rows, input: &Physical, order: &[Ordered], kept: &Range<usize>) -> Rows {
        let keys: Vec<Bits> = order
            .iter()
            .map(|by| {
                let cell = &rows.columns[by.column];
                cell.key(input.columns[by.column].kind, by.descending, by.nulls_first)
            })
            .collect();
        let (record, key) = rows.record(&keys);
        let (end, layouts) = (kept.end.min(rows.count), rows.layouts());
        drop((rows, keys));
        let first = record.least(key, end);
        match kept.start {
            0 => Rows::of_record(&first, key, &layouts),
            start => Rows::of_record(&first.slice(start, end - start), key, &layouts),
        }
    }
}

/// The next field of those that were given.
fn next(fields: &mut VecDeque<Bits>) -> Bits {
    fields.pop_front().expect("there is one for each width")
}

impl Rows {
    /// Records with all of it, and whether they count as the lowest bit.
    pub(crate) fn packed(&self) -> Bits {
        let live = self.live.filling(self.count);
        let columns: Vec<Cell> = self.columns.iter().map(|cell| cell.filling(self.count)).collect();
        let parts: Vec<&Bits> = [&live]
            .into_iter()
            .chain(columns.iter().flat_map(Cell::parts))
            .collect();
        Bits::join(&parts)
    }

    pub(crate) fn layouts(&self) -> Vec<Layout> {
        self.columns.iter().map(Cell::layout).collect()
    }

    /// The rows that such records are, with columns of these layouts.
    pub(crate) fn of_packed(record: &Bits, layouts: &[Layout]) -> Rows {
        let mut from = 1;
        Rows {
            columns: layouts
                .iter()
                .map(|&layout| Cell::from_record(record, &mut from, layout))
                .collect(),
            live: record.part(0, 1),
            count: record.lanes(),
        }
    }

    /// Records with all of it, by keys of which the first counts most; and how many bits of them are the key. Rows that do not count come last.
    pub(crate) fn record(&self, keys: &[Bits]) -> (Bits, u32) {
        let dead = self.live.not();
        let keys: Vec<Bits> = keys
            .iter()
            .rev()
            .cloned()
            .chain([dead])
            .map(|bits| bits.filling(self.count))
            .collect();
        let width = keys.iter().map(Bits::width).sum();
        let columns: Vec<Cell> = self.columns.iter().map(|cell| cell.filling(self.count)).collect();
        let parts: Vec<&Bits> = keys.iter().chain(columns.iter().flat_map(Cell::parts)).collect();
        (Bits::join(&parts), width)
    }

    /// The rows that records are, whose keys have so many bits, with columns of these layouts.
    pub(crate) fn of_record(record: &Bits, key: u32, layouts: &[Layout]) -> Rows {
        let mut from = key;
        Rows {
            columns: layouts
                .iter()
                .map(|&layout| Cell::from_record(record, &mut from, layout))
                .collect(),
            live: record.part(key - 1, 1).not(),
            count: record.lanes(),
        }
    }
}
