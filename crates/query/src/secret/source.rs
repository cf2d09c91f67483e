//! Rows that are made segment by segment, so that no more of them are there at once.

use std::collections::VecDeque;

use cenote_primitives::BitMatrix;
use cenote_program::Bits;

use super::cell::{Cell, any, number};
use super::expr::truth;
use super::join::with_only;
use super::upload::{Shape, Upload, of_parts};
use super::{Executor, Rows};
use crate::expr::Expr;
use crate::plan::physical::{Part, Physical, Step};

/// What somebody gives, and how much of it was taken.
pub(super) struct Giving<'a> {
    upload: Upload<'a>,
    /// The segments, if they are this party's.
    given: VecDeque<BitMatrix>,
    taken: usize,
}

/// Rows to come.
pub(super) struct RowSource<'a> {
    /// The number of the step that gives them.
    step: usize,
    from: Origin<'a>,
}

/// What rows come from.
enum Origin<'a> {
    Given(Giving<'a>),
    Paired(Vec<(&'a Part, Giving<'a>)>),
    Project(Box<RowSource<'a>>, &'a [Expr]),
    Filter(Box<RowSource<'a>>, &'a Expr),
    Verify {
        input: Box<RowSource<'a>>,
        conditions: &'a [Expr],
        count: usize,
        most: usize,
        /// How many rows there are in all groups so far.
        total: Option<Bits>,
    },
    Union(VecDeque<RowSource<'a>>),
    /// Each row with the only one of another table.
    WithOnly {
        probe: Box<RowSource<'a>>,
        lookup: Rows,
        outer: bool,
    },
    /// Rows that are all there.
    Whole {
        rows: Rows,
        taken: usize,
    },
}

impl<'a> Executor<'a> {
    /// The rows that `physical`, which nobody owns, gives. What is given for them is taken up at once, in its order.
    pub(super) fn source(&mut self, physical: &'a Physical) -> RowSource<'a> {
        self.step(|executor, step| executor.source_of(physical, step))
    }

    /// The same of a step that was begun.
    pub(super) fn source_of(&mut self, physical: &'a Physical, step: usize) -> RowSource<'a> {
        let boxed = |source: RowSource<'a>| Box::new(source);
        let from = match &*physical.step {
            Step::Share(input, keys) => Origin::Given(self.giving(Upload {
                input,
                shape: Shape::Plain { keys },
            })),
            Step::Project(input, exprs) => Origin::Project(boxed(self.source(input)), exprs),
            Step::Filter(input, condition) => Origin::Filter(boxed(self.source(input)), condition),
            Step::Paired(parts) => {
                let given = of_parts(parts).map(|upload| self.giving(upload));
                Origin::Paired(parts.iter().zip(given).collect())
            }
            Step::Union(inputs) => {
                let inputs = inputs.iter().map(|input| match input.owner {
                    None => self.source(input),
                    Some(_) => RowSource {
                        step,
                        from: Origin::Given(self.giving(Upload {
                            input,
                            shape: Shape::Plain { keys: &[] },
                        })),
                    },
                });
                Origin::Union(inputs.collect())
            }
            Step::Verify {
                input,
                conditions,
                count,
                most,
            } => Origin::Verify {
                input: boxed(self.source(input)),
                conditions,
                count: *count,
                most: *most,
                total: None,
            },
            Step::Join(join) if join.probe_keys.is_empty() => Origin::WithOnly {
                probe: boxed(self.source(&join.probe)),
                lookup: self.rows(&join.lookup),
                outer: join.outer,
            },
            Step::Join(_)
            | Step::Group { .. }
            | Step::First { .. }
            | Step::Window { .. }
            | Step::Repeat { .. }
            | Step::Kept { .. } => Origin::Whole {
                rows: self.rows_of(physical, step),
                taken: 0,
            },
            Step::Scan { .. } => unreachable!("a table has an owner"),
        };
        RowSource { step, from }
    }

    pub(super) fn giving(&mut self, upload: Upload<'a>) -> Giving<'a> {
        let mine = upload.owner() == self.session.me();
        Giving {
            given: mine.then(|| self.given.pop_front()).flatten().unwrap_or_default(),
            upload,
            taken: 0,
        }
    }

    /// The next segment of what is given, field by field, and how many rows it has.
    pub(super) fn taken(&mut self, giving: &mut Giving<'a>) -> Option<(VecDeque<Bits>, usize)> {
        let Giving { upload, given, taken } = giving;
        let count = (upload.input.rows - *taken).min(upload.segment(self.segments));
        if count == 0 {
            return None;
        }
        *taken += count;
        let bits = given.pop_front();
        let fields = self
            .session
            .input_bits(upload.owner(), &upload.widths(), count, bits.as_ref());
        Some((fields.into(), count))
    }

    /// The next segment of rows; nothing if there are no more.
    pub(super) fn next(&mut self, source: &mut RowSource<'a>) -> Option<Rows> {
        self.within(source.step, |executor| executor.next_from(&mut source.from))
    }

    fn next_from(&mut self, from: &mut Origin<'a>) -> Option<Rows> {
        match from {
            Origin::Given(giving) => {
                let (fields, count) = self.taken(giving)?;
                Some(self.plain(giving.upload.input, fields, count))
            }
            Origin::Paired(parts) => {
                let taken = parts.iter_mut().map(|(part, giving)| {
                    let (fields, count) = self.taken(giving)?;
                    Some((*part, fields, count))
                });
                let taken = taken.collect::<Option<Vec<_>>>()?;
                Some(self.paired(taken))
            }
            Origin::Project(input, exprs) => {
                let rows = self.next(input)?;
                let columns = self.evaluated(&rows, exprs);
                Some(Rows { columns, ..rows })
            }
            Origin::Filter(input, condition) => {
                let rows = self.next(input)?;
                let condition = self.evaluated(&rows, std::slice::from_ref(condition));
                let live = rows.live.and(&truth(&condition[0]));
                Some(Rows { live, ..rows })
            }
            Origin::Union(inputs) => loop {
                match self.next(inputs.front_mut()?) {
                    Some(rows) => return Some(rows),
                    None => inputs.pop_front(),
                };
            },
            Origin::Verify {
                input,
                conditions,
                count,
                most,
                total,
            } => match self.next(input) {
                Some(rows) => {
                    let counted = self.verified(&rows, conditions, *count);
                    *total = Some(match total.take() {
                        None => counted,
                        Some(before) => {
                            let width = before.width().max(counted.width()) + 1;
                            before.resized(width, false).add(&counted.resized(width, false))
                        }
                    });
                    Some(rows)
                }
                None => {
                    if let Some(total) = total.take() {
                        self.limited(&total, *most);
                    }
                    None
                }
            },
            Origin::WithOnly { probe, lookup, outer } => {
                let rows = self.next(probe)?;
                Some(with_only(rows, lookup, *outer))
            }
            Origin::Whole { rows, taken } => self.next_of(rows, taken),
        }
    }

    /// The next segment of rows that are all there, of which so many were taken.
    fn next_of(&self, rows: &mut Rows, taken: &mut usize) -> Option<Rows> {
        let size = self.segments.rows(rows.width());
        let count = (rows.count - *taken).min(size);
        let from = *taken;
        *taken += count;
        match count {
            0 => None,
            count if count == rows.count => Some(std::mem::replace(
                rows,
                Rows {
                    columns: Vec::new(),
                    live: self.session.public_bits(1, 0),
                    count,
                },
            )),
            count => Some(rows.slice(from, count)),
        }
    }

    /// It is a failure if there are more rows than `most`.
    pub(super) fn limited(&mut self, total: &Bits, most: usize) {
        let width = total.width().max(64);
        let most = number(self.session, width, most as i128);
        self.failures.push(most.less(&total.resized(width, false), false));
    }

    /// All rows that are left.
    pub(super) fn all(&mut self, mut source: RowSource<'a>) -> Rows {
        if let Origin::Whole { rows, taken: 0 } = source.from {
            return rows;
        }
        let mut parts = Vec::new();
        while let Some(rows) = self.next(&mut source) {
            parts.push(rows);
        }
        match parts.len() {
            1 => parts.remove(0),
            _ => self.together(parts),
        }
    }

    /// Of a segment: it is a failure if a condition does not hold for one of its rows. Gives what column `count` adds up to.
    fn verified(&mut self, rows: &Rows, conditions: &[Expr], count: usize) -> Bits {
        let held = self.evaluated(rows, conditions);
        let live = rows.live.filling(rows.count);
        for held in held {
            self.failures.push(any(&live.and(&truth(&held).not())));
        }
        let counts = rows.columns[count]
            .or_zero()
            .filling(rows.count)
            .where_chosen(&live);
        summed(&counts, false)
    }

    /// At most `most` rows that count, put together; more of them are a failure.
    pub(crate) fn at_most_of(&mut self, physical: &'a Physical, most: usize) -> Rows {
        let mut source = self.source(physical);
        let mut parts: Vec<Rows> = Vec::new();
        let mut counts: Option<Bits> = None;
        while let Some(rows) = self.next(&mut source) {
            // The last segment may be the first, and then all are put together at once.
            if rows.count == physical.rows || most.saturating_mul(2) > rows.count {
                parts.push(rows);
                continue;
            }
            let (record, count) = rows.packed().compacted_to(&rows.live.filling(rows.count), most);
            let width = 64;
            let count = count.resized(width, false);
            counts = Some(match counts {
                None => count,
                Some(before) => before.add(&count),
            });
            parts.push(Rows::of_packed(&record, &rows.layouts()));
        }
        // What was put together in vain is more than there may be.
        if let Some(counts) = counts {
            let limit = number(self.session, counts.width(), most as i128);
            self.failures.push(limit.less(&counts, false));
        }
        let rows = match parts.len() {
            1 => parts.remove(0),
            _ => self.together(parts),
        };
        self.at_most(rows, most)
    }
}

/// The sum of a row of numbers, which gets wider as it grows.
pub(super) fn summed(numbers: &Bits, signed: bool) -> Bits {
    let wider = |value: &Bits, width: u32| value.resized(width, signed);
    numbers.fold(
        |x, y| {
            let width = x.width() + 1;
            wider(x, width).add(&wider(y, width))
        },
        wider,
    )
}

impl Rows {
    /// Bits of a row.
    pub(super) fn width(&self) -> u64 {
        let parts = self.columns.iter().flat_map(Cell::parts);
        parts.map(|part| u64::from(part.width())).sum::<u64>() + 1
    }

    fn slice(&self, from: usize, count: usize) -> Rows {
        // What is the same in all rows stays so.
        let slice = |bits: &Bits| match bits.lanes() {
            1 => bits.clone(),
            _ => bits.slice(from, count),
        };
        Rows {
            columns: self
                .columns
                .iter()
                .map(|cell| Cell {
                    value: slice(&cell.value),
                    null: cell.null.as_ref().map(slice),
                })
                .collect(),
            live: slice(&self.live),
            count,
        }
    }
}
