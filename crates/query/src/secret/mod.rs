//! What all parties do together, secretly.

pub(crate) mod cell;
mod expr;
mod group;
mod join;
pub(crate) mod upload;

use std::collections::VecDeque;

use cenote_primitives::BitMatrix;
use cenote_program::{Bits, Session};

use self::cell::{Cell, any, number};
use self::expr::{Evaluator, truth};
use self::upload::{Shape, Upload};
use crate::expr::{Expr, Kind};
use crate::plan::physical::{Ordered, Physical, Step};

/// Secret rows.
pub(crate) struct Rows {
    pub(crate) columns: Vec<Cell>,
    /// Whether each counts.
    pub(crate) live: Bits,
    pub(crate) count: usize,
}

/// The steps of a query, being done.
pub(crate) struct Secretly<'a> {
    pub(crate) session: &'a Session,
    /// What this party gives.
    pub(crate) given: VecDeque<BitMatrix>,
    /// What must be 0 for the query to have an answer.
    pub(crate) failures: Vec<Bits>,
}

impl Secretly<'_> {
    /// The rows that `physical`, which nobody owns, gives.
    pub(crate) fn rows(&mut self, physical: &Physical) -> Rows {
        match &physical.step {
            Step::Share(input, keys) => self.plain(input, keys),
            Step::Project(input, exprs) => {
                let rows = self.rows(input);
                let columns = self.evaluated(&rows, exprs);
                Rows { columns, ..rows }
            }
            Step::Filter(input, condition) => {
                let rows = self.rows(input);
                let condition = self.evaluated(&rows, std::slice::from_ref(condition));
                let live = rows.live.and(&truth(&condition[0]));
                Rows { live, ..rows }
            }
            Step::Join(join) => self.joined(join),
            Step::Paired(parts) => self.paired(parts),
            Step::Union(inputs) => {
                let parts: Vec<Rows> = inputs
                    .iter()
                    .map(|input| match input.owner {
                        None => self.rows(input),
                        Some(_) => self.plain(input, &[]),
                    })
                    .collect();
                self.together(parts)
            }
            Step::Group {
                input,
                keys,
                functions,
                grouped,
            } => {
                let rows = self.rows(input);
                let kinds: Vec<_> = input.columns.iter().map(|column| column.kind).collect();
                self.grouped(rows, (&kinds, physical), *keys, functions, *grouped)
            }
            Step::Verify {
                input,
                conditions,
                count,
                most,
            } => {
                let rows = self.rows(input);
                self.verified(rows, conditions, *count, *most)
            }
            Step::First { input, order, count } => {
                let rows = self.rows(input);
                self.first(rows, input, order, *count)
            }
            Step::Scan { .. } => unreachable!("a table has an owner"),
        }
    }

    /// The bits that somebody gives, field by field.
    fn uploaded(&mut self, upload: &Upload<'_>) -> VecDeque<Bits> {
        let mine = upload.owner() == self.session.me();
        let bits = mine.then(|| self.given.pop_front()).flatten();
        let columns =
            self.session
                .input_bits(upload.owner(), &upload.widths(), upload.input.rows, bits.as_ref());
        columns.into()
    }

    fn plain(&mut self, input: &Physical, keys: &[usize]) -> Rows {
        let mut fields = self.uploaded(&Upload {
            input,
            shape: Shape::Plain { keys },
        });
        let live = next(&mut fields);
        let columns = (0..input.columns.len()).map(|column| self.cell(input, column, &mut fields, &live));
        Rows {
            columns: columns.collect(),
            live,
            count: input.rows,
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
    pub(crate) fn bounded(&mut self, cell: &Cell, kind: Kind, bounds: Option<(i128, i128)>, there: &Bits) {
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

    fn together(&mut self, parts: Vec<Rows>) -> Rows {
        let none = self.session.public_bits(1, 0);
        let filled = |bits: &Bits, part: &Rows| bits.filling(part.count);
        let joined = |of: &dyn Fn(&Rows) -> Bits| {
            let all: Vec<Bits> = parts.iter().map(of).collect();
            Bits::concat(&all.iter().collect::<Vec<_>>())
        };
        let columns = (0..parts[0].columns.len())
            .map(|column| {
                let nullable = parts.iter().any(|part| part.columns[column].null.is_some());
                Cell {
                    value: joined(&|part| filled(&part.columns[column].value, part)),
                    null: nullable.then(|| {
                        joined(&|part| filled(part.columns[column].null.as_ref().unwrap_or(&none), part))
                    }),
                }
            })
            .collect();
        Rows {
            columns,
            live: joined(&|part| filled(&part.live, part)),
            count: parts.iter().map(|part| part.count).sum(),
        }
    }

    /// The same rows; it is a failure if a condition does not hold for one of them, or column `count` adds up to more than `most`.
    fn verified(&mut self, rows: Rows, conditions: &[Expr], count: usize, most: usize) -> Rows {
        let held = self.evaluated(&rows, conditions);
        let live = rows.live.filling(rows.count);
        for held in held {
            self.failures.push(any(&live.and(&truth(&held).not())));
        }
        let counts = rows.columns[count]
            .or_zero()
            .filling(rows.count)
            .where_chosen(&live);
        let wider = |value: &Bits, width: u32| value.resized(width, false);
        let total = counts.fold(
            |x, y| {
                let width = x.width() + 1;
                wider(x, width).add(&wider(y, width))
            },
            wider,
        );
        let width = total.width().max(64);
        let most = number(self.session, width, most as i128);
        self.failures.push(most.less(&wider(&total, width), false));
        rows
    }

    fn first(&mut self, rows: Rows, input: &Physical, order: &[Ordered], count: usize) -> Rows {
        let keys: Vec<Bits> = order
            .iter()
            .map(|by| {
                let cell = &rows.columns[by.column];
                cell.key(input.columns[by.column].kind, by.descending, by.nulls_first)
            })
            .collect();
        let (record, key) = rows.record(&keys);
        rows.of_record(&record.least(key, count.min(rows.count)), key)
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

    /// The rows that such records are.
    pub(crate) fn of_packed(&self, record: &Bits) -> Rows {
        let mut from = 1;
        Rows {
            columns: self
                .columns
                .iter()
                .map(|cell| Cell::from_record(record, &mut from, cell))
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

    /// The rows that records are, whose keys have so many bits.
    pub(crate) fn of_record(&self, record: &Bits, key: u32) -> Rows {
        let mut from = key;
        Rows {
            columns: self
                .columns
                .iter()
                .map(|cell| Cell::from_record(record, &mut from, cell))
                .collect(),
            live: record.part(key - 1, 1).not(),
            count: record.lanes(),
        }
    }
}
