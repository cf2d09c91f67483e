//! What a party does with its own rows, in the clear, some of them at a time.

mod call;
mod check;
pub(crate) mod column;
mod expr;
mod formula;
mod group;
mod rows;
mod wide;
mod window;

use std::cmp::Ordering;
use std::ops::Range;

use cenote_tables::{Column as TableColumn, Table};

pub use self::check::{Promise, Repeats};
pub(crate) use self::check::{check, check_rows, promises};
use self::column::Column;
pub(crate) use self::expr::{evaluate, padded, text_width, truths};
use self::group::Groups;
use self::rows::Rows;
pub(crate) use self::rows::{AllRows, compare};
use crate::error::{Error, Result};
use crate::expr::Expr;
use crate::listed::List;
use crate::plan::physical::{Join, Physical, Step};
use crate::schema::Schema;
use crate::segment::Segments;

/// This party's tables, in the places of those of the schema.
pub(crate) struct OwnTables<'a> {
    pub(crate) schema: &'a Schema,
    pub(crate) tables: &'a [Option<Table>],
    pub(crate) segments: Segments,
}

impl OwnTables<'_> {
    /// Calls `each` with the rows that `physical`, which this party owns, gives, some at a time.
    ///
    /// # Errors
    /// [`Error::Rows`] if they do not keep what is promised, or a calculation goes wrong; those of `each`.
    pub(crate) fn each(&self, physical: &Physical, each: &mut dyn FnMut(Rows) -> Result<()>) -> Result<()> {
        match &*physical.step {
            Step::Scan { table, columns } => {
                let own = self.tables.get(*table).and_then(Option::as_ref);
                let own =
                    own.ok_or_else(|| Error::rows(&self.schema.tables[*table].name, "its rows are missing"))?;
                let declared = &self.schema.tables[*table];
                let columns = columns
                    .iter()
                    .map(|&column| (&own.columns[column], declared.list(column)));
                let columns: Vec<(&TableColumn, Option<List>)> = columns.collect();
                self.pieces(own.rows, |rows| {
                    let count = rows.len();
                    let columns = columns.iter().map(|(column, list)| {
                        let column = Column::of(column, rows.clone());
                        match list {
                            Some(list) => column.places(list),
                            None => column,
                        }
                    });
                    each(Rows {
                        columns: columns.collect(),
                        count,
                    })
                })
            }
            Step::Project(input, exprs) => {
                self.each(input, &mut |rows| each(self.projected(physical, &rows, exprs)?))
            }
            Step::Filter(input, condition) => {
                self.each(input, &mut |rows| each(self.kept_by(physical, rows, condition)?))
            }
            Step::Join(join) => self.joined(physical, join, each),
            Step::Union(inputs) => inputs.iter().try_for_each(|input| self.each(input, each)),
            Step::Group { .. } => each(self.grouped(physical)?),
            Step::First {
                input,
                order,
                rows: kept,
            } => {
                let rows = self.all_rows(input)?;
                let mut places: Vec<usize> = (0..rows.count).collect();
                places.sort_by(|&one, &other| compare(&rows.columns, order, one, other));
                places.truncate(kept.end);
                places.drain(..kept.start.min(places.len()));
                self.pieces(places.len(), |part| each(rows.at(&places[part])))
            }
            Step::Window { input, window } => self.windowed(physical, (input, window), each),
            Step::Share(..)
            | Step::Paired(_)
            | Step::Verify { .. }
            | Step::Repeat { .. }
            | Step::Kept { .. } => {
                unreachable!("what is secret has no owner")
            }
        }
    }

    /// Calls `each` with the places of so many rows, some at a time.
    fn pieces(&self, rows: usize, mut each: impl FnMut(Range<usize>) -> Result<()>) -> Result<()> {
        let size = self.segments.clear();
        (0..rows)
            .step_by(size)
            .try_for_each(|from| each(from..rows.min(from + size)))
    }

    /// All rows that `physical`, which this party owns, gives.
    ///
    /// # Errors
    /// As [`OwnTables::each`].
    pub(crate) fn all_rows(&self, physical: &Physical) -> Result<AllRows> {
        let columns = physical.columns.iter().map(|column| column::none(column.kind));
        let mut kept = AllRows {
            columns: columns.collect(),
            count: 0,
        };
        self.each(physical, &mut |rows| {
            let columns = kept.columns.iter_mut().zip(&rows.columns);
            columns.for_each(|(kept, more)| column::keep(kept, more));
            kept.count += rows.count;
            Ok(())
        })?;
        Ok(kept)
    }

    fn projected(&self, physical: &Physical, rows: &Rows, exprs: &[Expr]) -> Result<Rows> {
        let columns = exprs
            .iter()
            .map(|expr| evaluate(expr, &rows.columns, rows.count, None))
            .collect::<std::result::Result<Vec<_>, _>>();
        Ok(Rows {
            columns: columns.map_err(|_| self.failed(physical))?,
            count: rows.count,
        })
    }

    /// The rows for which `condition` holds.
    fn kept_by(&self, physical: &Physical, rows: Rows, condition: &Expr) -> Result<Rows> {
        let condition = self.projected(physical, &rows, std::slice::from_ref(condition))?;
        let kept = truths(&condition.columns[0]);
        let places: Vec<usize> = (0..rows.count).filter(|&row| kept[row]).collect();
        Ok(match places.len() == rows.count {
            true => rows,
            false => rows.gather(&places),
        })
    }

    /// The groups of rows that a step of groups gives.
    fn grouped(&self, physical: &Physical) -> Result<Rows> {
        let Step::Group {
            input,
            keys,
            functions,
            grouped,
        } = &*physical.step
        else {
            unreachable!("a step of groups")
        };
        let kinds = physical.columns.iter().map(|column| column.kind);
        let mut groups = Groups::new(kinds, *keys, functions, *grouped);
        self.each(input, &mut |rows| {
            groups.add(&rows);
            Ok(())
        })?;
        if groups.count() > physical.rows {
            let what = format!(
                "there are {} groups, but `distinct` allows {}",
                groups.count(),
                physical.rows
            );
            return Err(Error::rows(&self.names(physical), what));
        }
        groups.finish().ok_or_else(|| self.failed(physical))
    }

    fn joined(
        &self,
        physical: &Physical,
        join: &Join,
        each: &mut dyn FnMut(Rows) -> Result<()>,
    ) -> Result<()> {
        let (size, mut left) = (self.segments.clear(), physical.rows);
        let lookup = self.all_rows(&join.lookup)?;
        let keys = &join.lookup_keys;
        let (order, whole) = lookup.sorted(keys);
        let order = &order[..whole];
        let mut run = 0;
        for at in 0..order.len() {
            let again = at > 0 && lookup.same(keys, order[at - 1] as usize, order[at] as usize);
            run = if again { run + 1 } else { 1 };
            if run > join.slots {
                let what = format!(
                    "a key of a join occurs more often than the {} times that `unique` or `at_most` allows",
                    join.slots
                );
                return Err(Error::rows(&self.names(&join.lookup), what));
            }
        }
        let mut used = vec![false; if join.rest { lookup.count } else { 0 }];
        self.each(&join.probe, &mut |probe| {
            let compared = |row: usize, place: u32| {
                let pairs = join.probe_keys.iter().zip(keys);
                let each = pairs.map(|(&own, &key)| {
                    probe.columns[own].compare(row, &lookup.columns[key], place as usize)
                });
                each.fold(Ordering::Equal, Ordering::then)
            };
            let (mut firsts, mut others) = (Vec::new(), Vec::new());
            let mut told = |firsts: &mut Vec<usize>, others: &mut Vec<Option<usize>>| {
                let own = probe.columns.iter().map(|column| column.gather(firsts));
                let found = lookup.columns.iter().map(|column| Column::at(column, others));
                let rows = Rows {
                    columns: own.chain(found).collect(),
                    count: firsts.len(),
                };
                firsts.clear();
                others.clear();
                each(rows)
            };
            for row in 0..probe.count {
                let from = match join.probe_keys.iter().any(|&key| probe.columns[key].is_null(row)) {
                    true => order.len(),
                    false => order.partition_point(|&place| compared(row, place).is_gt()),
                };
                let found = order[from..]
                    .iter()
                    .take_while(|&&place| compared(row, place).is_eq())
                    .map(|&place| Some(place as usize));
                let mut found = found.peekable();
                let alone = (join.outer && found.peek().is_none()).then_some(None);
                for other in found.chain(alone) {
                    left = left.checked_sub(1).ok_or_else(|| self.too_many(physical))?;
                    if let (true, Some(other)) = (join.rest, other) {
                        used[other] = true;
                    }
                    firsts.push(row);
                    others.push(other);
                    if firsts.len() == size {
                        told(&mut firsts, &mut others)?;
                    }
                }
            }
            told(&mut firsts, &mut others)
        })?;
        self.unfound(join, (&lookup, &used), each)
    }

    /// Rows of `lookup` that were not `used`, with nulls before them.
    fn unfound(
        &self,
        join: &Join,
        (lookup, used): (&AllRows, &[bool]),
        each: &mut dyn FnMut(Rows) -> Result<()>,
    ) -> Result<()> {
        let mut rest: Vec<usize> = Vec::with_capacity(used.iter().filter(|used| !**used).count());
        rest.extend((0..used.len()).filter(|&row| !used[row]));
        self.pieces(rest.len(), |part| {
            let none = vec![None; part.len()];
            let nulls = join.probe.columns.iter();
            let nulls = nulls.map(|info| Column::at(&column::none(info.kind), &none));
            let rows = lookup.at(&rest[part]);
            each(Rows {
                columns: nulls.chain(rows.columns).collect(),
                count: rows.count,
            })
        })
    }

    fn too_many(&self, physical: &Physical) -> Error {
        let what = format!(
            "a join has more than {} rows, the most that `max_join_rows` allows",
            physical.rows
        );
        Error::rows(&self.names(physical), what)
    }

    fn failed(&self, physical: &Physical) -> Error {
        Error::rows(
            &self.names(physical),
            "on its rows a calculation of the query overflows, divides by zero, or has a text that is too long, or not of the type to which it is cast",
        )
    }

    /// The tables that a step is of, for messages.
    fn names(&self, physical: &Physical) -> String {
        let mut names = Vec::new();
        tables(physical, &mut |table| {
            names.push(self.schema.tables[table].name.clone())
        });
        names.sort();
        names.dedup();
        names.join(", ")
    }
}

/// Whether a party's own rows can fail it in the steps that it does alone, though they keep what is promised of its tables.
pub(crate) fn may_fail(physical: &Physical) -> bool {
    match &*physical.step {
        // Sums overflow, and there may be more groups or rows than have room.
        Step::Group { .. } | Step::Join(_) | Step::Window { .. } => true,
        _ => physical.exprs().iter().any(Expr::may_fail) || physical.inputs().into_iter().any(may_fail),
    }
}

/// Calls `each` with all tables that a step is of.
pub(crate) fn tables(physical: &Physical, each: &mut impl FnMut(usize)) {
    match &*physical.step {
        Step::Scan { table, .. } => each(*table),
        Step::Kept { .. } => (),
        Step::Project(input, _) | Step::Filter(input, _) | Step::Share(input, _) => tables(input, each),
        Step::Group { input, .. } | Step::Verify { input, .. } => tables(input, each),
        Step::First { input, .. } | Step::Window { input, .. } | Step::Repeat { input, .. } => {
            tables(input, each)
        }
        Step::Union(inputs) => inputs.iter().for_each(|input| tables(input, each)),
        Step::Paired(parts) => parts.iter().for_each(|part| tables(&part.input, each)),
        Step::Join(join) => {
            tables(&join.probe, each);
            tables(&join.lookup, each);
        }
    }
}
