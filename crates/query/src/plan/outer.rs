//! LEFT JOIN and FULL JOIN: what is asked of each table, and which looks the other up.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use super::atoms::Placed;
use super::combine::{join, slots};
use super::many::ManyToMany;
use super::physical::{Join, Physical};
use super::planner::Planner;
use crate::error::{Error, Place, Result};
use crate::expr::{Expr, ValueKind};
use crate::relation::{Operation, Relation};

/// The two tables of an outer join.
struct Tables<'a> {
    tables: [&'a Relation; 2],
    /// Whether all columns of one are null in rows that lack it.
    may_lack: [bool; 2],
}

impl Tables<'_> {
    fn first(&self, side: usize) -> usize {
        [0, self.tables[0].columns.len()][side]
    }

    /// The column, behind all that there are, which is null in rows that lack this table, and true in others.
    fn marker(&self, side: usize) -> usize {
        self.tables[0].columns.len() + self.tables[1].columns.len() + side
    }

    /// Which table a column of the join is of.
    fn side(&self, column: usize) -> usize {
        let of_second = (self.first(1)..self.marker(0)).contains(&column) || column == self.marker(1);
        usize::from(of_second)
    }

    /// An expression over the columns of a table, over those of the join.
    fn joined(&self, side: usize, expr: &Expr, kind: ValueKind) -> Expr {
        let lacks = self.may_lack[side];
        let column = |column: usize| {
            let info = &self.tables[side].columns[column];
            Expr::column(self.first(side) + column, info.kind, info.nullable || lacks)
        };
        let expr = expr.over(&column).into_kind(kind);
        Expr {
            nullable: expr.nullable || lacks,
            ..expr
        }
    }

    /// Expressions over the columns of the join that are of one table alone, over its own.
    fn own(&self, side: usize, exprs: &[Expr]) -> Vec<Expr> {
        let own = |column: usize| {
            if column == self.marker(side) {
                return Expr::bool(true);
            }
            let column = column - self.first(side);
            let info = &self.tables[side].columns[column];
            Expr::column(column, info.kind, info.nullable)
        };
        exprs.iter().map(|expr| expr.over(&own)).collect()
    }

    /// What is wanted, where functions without a circuit of a table that rows may lack are computed before the join, though they may not be null where its columns are: in rows
    /// that lack it they are what they are of nulls. Also these functions.
    fn with_defaults(&self, wanted: &[Expr]) -> (Vec<Expr>, Vec<Expr>) {
        let calls = RefCell::new(Vec::new());
        let place = |part: &Expr| {
            let mut sides = [false; 2];
            part.columns(&mut |column| sides[self.side(column)] = true);
            let side = match sides {
                [true, false] => 0,
                [false, true] => 1,
                _ => return None,
            };
            if !part.is_call() || !self.may_lack[side] || part.is_null_with_columns() {
                return None;
            }
            let mut kinds = BTreeMap::new();
            part.each_column(&mut |column, kind| {
                kinds.insert(column, kind);
            });
            let default = part.over(&|column| Expr::null(kinds[&column]));
            let call = Expr {
                nullable: true,
                ..part.clone()
            };
            calls.borrow_mut().push(call.clone());
            let missing = Expr::column(self.marker(side), Expr::bool(true).kind, true).missing();
            Some(Expr {
                nullable: part.nullable,
                ..Expr::choice(missing, default, call)?
            })
        };
        let wanted = wanted.iter().map(|expr| expr.placed(&place)).collect();
        (wanted, calls.into_inner())
    }
}

impl Planner<'_> {
    /// What is wanted of each row of one table with those of another that have its keys, or with nulls; if it is full, also of each row of the other that has none.
    pub(super) fn outer(&self, relation: &Relation, wanted: &[Expr]) -> Result<Physical> {
        let Operation::Outer {
            left,
            right,
            on,
            full,
        } = &relation.operation
        else {
            unreachable!("it is called for outer joins");
        };
        let at = relation.at;
        let tables = Tables {
            tables: [left, right],
            may_lack: [*full, true],
        };
        let (mut keys, mut atoms) = ([Vec::new(), Vec::new()], [Vec::new(), Vec::new()]);
        for (x, y) in on {
            let kind = x
                .kind
                .unified(y.kind)
                .ok_or_else(|| Error::query(at, "join columns of the same type"))?;
            for (side, key) in [x, y].into_iter().enumerate() {
                let key = tables.joined(side, key, kind);
                keys[side].push(self.add(&mut atoms[side], key, at)?);
            }
        }
        // Of a table that rows may lack, what is null where its columns are.
        let (wanted, calls) = tables.with_defaults(wanted);
        for call in &calls {
            let mut side = 0;
            call.columns(&mut |column| side = tables.side(column));
            self.add(&mut atoms[side], call.clone(), at)?;
        }
        let side = |column: usize| tables.side(column);
        let whole = |side: usize, part: &Expr| {
            !tables.may_lack[side] || part.is_null_with_columns() || calls.contains(part)
        };
        for expr in &wanted {
            self.atoms(expr, (&side, &whole), &mut atoms, at)?;
        }
        let planned = [0, 1].map(|side| self.plan(tables.tables[side], &tables.own(side, &atoms[side])));
        let [first, second] = planned;
        let sides = [first?, second?];
        let (joined, lookup) = match cheapest(&sides, &keys, *full) {
            Some((own, lookup)) => (join(own, at)?, lookup),
            None => (self.often(&sides, &keys, *full, at)?, 1),
        };
        let atoms_of = |side: usize| atoms[side].iter().map(move |atom| (side, atom));
        let both = (0..).zip(atoms_of(1 - lookup).chain(atoms_of(lookup)));
        // A key that is not null where its columns are is another in rows that lack it.
        let told = both.filter(|(_, (side, atom))| whole(*side, atom));
        let places: Vec<Placed> = told.map(|(at, (_, atom))| (at, Rc::new(atom.clone()))).collect();
        let wanted = self.placed(&wanted, &places, at)?;
        Ok(joined.project(wanted))
    }

    /// A left join in which keys come several times on both sides.
    fn often(
        &self,
        [probe, lookup]: &[Physical; 2],
        [probe_keys, lookup_keys]: &[Vec<usize>; 2],
        full: bool,
        at: Option<Place>,
    ) -> Result<Physical> {
        let may_come_often = !full && self.schema.answer.min_group < 2 && !self.schema.secret_only;
        let often = if may_come_often { OFTEN } else { "" };
        let most = self.most_joined().filter(|_| !full && lookup.owner.is_some());
        let most = most.ok_or_else(|| Error::query(at, format!("{ONCE}{often}")))?;
        let join = ManyToMany {
            probe,
            lookup,
            probe_keys: probe_keys.clone(),
            lookup_keys: lookup_keys.clone(),
            most: most.min(probe.rows.saturating_mul(lookup.rows)),
            outer: true,
            at,
        };
        Ok(join.joined(self.schema.parties == 3)?.0)
    }
}

const ONCE: &str = "the job must say how often a key occurs in one of the two tables of this outer join; add `unique` or `at_most` for the column that the tables are \
                    joined by";
const OFTEN: &str = ". If it comes several times in both tables of a LEFT JOIN, and the second is of one party alone, the job can say instead how many rows the \
                     join may have: add `max_join_rows` beside `query`";

/// The join of these sides by these keys with the fewest rows, and which of them is looked up.
fn cheapest(sides: &[Physical; 2], keys: &[Vec<usize>; 2], full: bool) -> Option<(Join, usize)> {
    let is_kept = [true, full];
    let join = |lookup: usize| {
        let probe = 1 - lookup;
        let join = Join {
            slots: slots(&sides[lookup], &keys[lookup])?,
            probe: sides[probe].clone(),
            lookup: sides[lookup].clone(),
            probe_keys: keys[probe].clone(),
            lookup_keys: keys[lookup].clone(),
            outer: is_kept[probe],
            rest: is_kept[lookup],
        };
        Some((join, lookup))
    };
    [1, 0]
        .into_iter()
        .filter_map(join)
        .min_by_key(|(join, _)| join.rows())
}
