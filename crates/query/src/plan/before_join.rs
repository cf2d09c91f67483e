//! Groups made before a join: where one of two tables is only counted and added up, its rows are grouped by what it is joined by, so that it need not be promised how often that
//! comes. Each row of the other then counts as often as its group has rows: Σxy over the rows of the join is Σ(x·Σy).

use std::collections::BTreeSet;

use super::combine::slots;
use super::inner::{edge, flatten};
use super::planner::Planner;
use crate::error::Result;
use crate::expr::{Arithmetic, Expr, Node};
use crate::relation::{Aggregate, Function, Info, Operation, Relation};

/// Two tables that are joined.
struct TwoTables {
    /// Whose rows are kept, and whose are grouped.
    tables: [Relation; 2],
    /// Where their columns begin among those of the join.
    firsts: [usize; 2],
    /// What is equal, over the columns of each.
    on: Vec<(Expr, Expr)>,
    /// Whether a row of the first without any counts too, with nulls.
    outer: bool,
}

impl TwoTables {
    /// Which of the tables a column of the join is of.
    fn side(&self, column: usize) -> usize {
        let [kept, grouped] = self.firsts;
        usize::from((column >= kept.max(grouped)) == (grouped > kept))
    }

    /// The only table that an expression is of, or the first if it is of none; nothing if it is of both.
    fn only(&self, expr: &Expr) -> Option<usize> {
        let mut sides = [false; 2];
        expr.columns(&mut |column| sides[self.side(column)] = true);
        match sides {
            [_, false] => Some(0),
            [false, true] => Some(1),
            [true, true] => None,
        }
    }

    /// An expression of one table alone, over its columns.
    fn own(&self, side: usize, expr: &Expr) -> Expr {
        expr.over(&|column| {
            let column = column - self.firsts[side];
            let info = &self.tables[side].columns[column];
            Expr::column(column, info.kind, info.nullable)
        })
    }

    /// Whether the rows of a table are groups by what is equal.
    fn is_grouped(&self, side: usize) -> bool {
        let Operation::Group { keys, .. } = &self.tables[side].operation else {
            return false;
        };
        let ends = self.on.iter().map(|(x, y)| [x, y][side].as_column());
        let by: Option<BTreeSet<usize>> = ends.collect();
        by.is_some_and(|by| by.into_iter().eq(0..keys.len()))
    }

    /// The same with the first grouped.
    fn swapped(&self) -> Self {
        let [one, other] = self.tables.clone();
        Self {
            tables: [other, one],
            firsts: [self.firsts[1], self.firsts[0]],
            on: self.on.iter().cloned().map(|(x, y)| (y, x)).collect(),
            outer: self.outer,
        }
    }
}

/// What groups of a join are made of, once one of its tables is grouped.
#[derive(Default)]
struct Parts {
    /// Of each group of that table.
    grouped: Vec<Aggregate>,
    /// Of the rows of the join with these groups.
    made: Vec<Made>,
}

/// What is made of the rows of a join with groups.
struct Made {
    function: Function,
    /// A value of the table whose rows are kept, and which part of the groups it is taken with.
    own: Option<Expr>,
    part: Option<usize>,
}

impl Parts {
    fn part(&mut self, function: Function, of: Expr) -> usize {
        let part = Aggregate { function, of };
        let known = self.grouped.iter().position(|known| *known == part);
        known.unwrap_or_else(|| {
            self.grouped.push(part);
            self.grouped.len() - 1
        })
    }

    /// Adds what is needed for an aggregate; nothing if it cannot be made so.
    fn add(&mut self, aggregate: &Aggregate, tables: &TwoTables) -> Option<()> {
        let Aggregate { function, of } = aggregate;
        // It is made of all rows of the grouped table, also of those that are not joined, and is null in rows that lack it.
        let is_of_groups = |of: &Expr| {
            tables.only(of) == Some(1) && !of.may_fail() && (!tables.outer || of.is_null_with_columns())
        };
        let (own, part) = match (function, tables.only(of)) {
            (Function::Same, _) => return None,
            (Function::Rows, _) => (None, Some(self.part(Function::Rows, Expr::bool(true)))),
            (_, Some(1)) if is_of_groups(of) => (None, Some(self.part(*function, tables.own(1, of)))),
            (Function::Least | Function::Greatest, Some(0)) => (Some(tables.own(0, of)), None),
            (Function::Sum | Function::Count, Some(0)) => {
                let rows = self.part(Function::Rows, Expr::bool(true));
                (Some(tables.own(0, of)), Some(rows))
            }
            (Function::Sum | Function::Count, None) => {
                let Node::Arithmetic(Arithmetic::Multiply, x, y) = &of.node else {
                    return None;
                };
                let (own, grouped) = match tables.only(x) {
                    Some(0) => (x, y),
                    _ => (y, x),
                };
                if tables.only(own) != Some(0) || !is_of_groups(grouped) {
                    return None;
                }
                let part = self.part(*function, tables.own(1, grouped));
                (Some(tables.own(0, own)), Some(part))
            }
            _ => return None,
        };
        self.made.push(Made {
            function: *function,
            own,
            part,
        });
        Some(())
    }

    /// What is made of the rows of the join, in which the parts are columns from `first` on.
    fn aggregates(&self, first: usize, outer: bool, columns: &[Info]) -> Vec<Aggregate> {
        let none = || Expr::number(0, 0);
        let part = |at: usize| {
            let info = &columns[first + at];
            let part = Expr::column(first + at, info.kind, info.nullable);
            match self.grouped[at].function {
                // A row without any counts too.
                Function::Rows if outer => part.with_default(Expr::number(1, 0)),
                Function::Count if outer => part.with_default(none()),
                _ => part,
            }
        };
        let of = |made: &Made| match (made.own.clone(), made.part.map(part)) {
            (None, Some(part)) => part,
            (Some(own), Some(part)) if made.function == Function::Count => {
                Expr::choice(own.missing(), none(), part).expect("both are numbers")
            }
            (Some(own), Some(part)) => Expr::arithmetic(Arithmetic::Multiply, own, part),
            (own, None) => own.unwrap_or_else(none),
        };
        let aggregate = |made: &Made| Aggregate {
            function: made.function.of_parts(),
            of: of(made),
        };
        self.made.iter().map(aggregate).collect()
    }
}

impl Planner<'_> {
    /// The same groups made of groups of one of two tables; nothing if it need not or cannot be so.
    pub(super) fn grouped_before_join(&self, relation: &Relation) -> Result<Option<Relation>> {
        let Operation::Group {
            input,
            keys,
            aggregates,
            ..
        } = &relation.operation
        else {
            return Ok(None);
        };
        // With `min_group` a row must not count several times.
        if self.schema.answer.min_group > 1 {
            return Ok(None);
        }
        // What is made of columns that are computed after the join is made of those of the join.
        let (mut input, mut keys, mut aggregates) = (&**input, keys.clone(), aggregates.clone());
        while let Operation::Project(inner, exprs) = &input.operation {
            keys = self.composed(&keys, exprs, input.at)?;
            for aggregate in &mut aggregates {
                let of = self.composed(std::slice::from_ref(&aggregate.of), exprs, input.at)?;
                aggregate.of = of[0].clone();
            }
            input = &**inner;
        }
        let Some(tables) = self.two_tables(input)? else {
            return Ok(None);
        };
        // What was grouped so need not be grouped again.
        if [0, 1].into_iter().any(|side| tables.is_grouped(side)) {
            return Ok(None);
        }
        let made = |tables: TwoTables| {
            let mut parts = Parts::default();
            let fits = keys.iter().all(|key| tables.only(key) == Some(0))
                && aggregates
                    .iter()
                    .all(|aggregate| parts.add(aggregate, &tables).is_some());
            fits.then_some((tables, parts))
        };
        let swapped = (!tables.outer).then(|| tables.swapped());
        let mut ways: Vec<(TwoTables, Parts)> = [Some(tables), swapped]
            .into_iter()
            .flatten()
            .filter_map(made)
            .collect();
        // A party groups its own rows at no cost.
        ways.sort_by_key(|(tables, _)| !self.is_of_one(&tables.tables[1]));
        let Some((tables, parts)) = ways.into_iter().next() else {
            return Ok(None);
        };
        if self.is_promised(&tables)? {
            return Ok(None);
        }
        Ok(Some(self.of_groups_of_one(relation, &keys, &tables, parts)))
    }

    /// The two tables of a join on equal keys.
    fn two_tables(&self, input: &Relation) -> Result<Option<TwoTables>> {
        if let Operation::Outer {
            left,
            right,
            on,
            full: false,
        } = &input.operation
        {
            return Ok(Some(TwoTables {
                firsts: [0, left.columns.len()],
                tables: [(**left).clone(), (**right).clone()],
                on: on.clone(),
                outer: true,
            }));
        }
        let mut within = input;
        while let Operation::Filter(inner, _) = &within.operation {
            within = inner;
        }
        if !matches!(within.operation, Operation::Inner(..)) {
            return Ok(None);
        }
        self.work.make(input.parts(), input.at)?;
        let (mut inputs, mut conditions) = (Vec::new(), Vec::new());
        flatten(input, 0, &mut inputs, &mut conditions);
        let Ok([one, other]) = <[_; 2]>::try_from(inputs) else {
            return Ok(None);
        };
        // Both are planned once more to see what is promised of them.
        if one.relation.tables() + other.relation.tables() != 2 {
            return Ok(None);
        }
        let mut tables = TwoTables {
            firsts: [one.first, other.first],
            tables: [one.relation, other.relation],
            on: Vec::new(),
            outer: false,
        };
        let mut filters: [Vec<Expr>; 2] = Default::default();
        let input_of = |column: usize| usize::from(column >= tables.firsts[1]);
        let mut on = Vec::new();
        for condition in conditions {
            for condition in self.factored(condition, input.at)?.conjuncts() {
                match (tables.only(&condition), edge(&condition, &input_of)) {
                    (Some(side), _) => filters[side].push(tables.own(side, &condition)),
                    (None, Some(edge)) => {
                        let ends = edge.inputs.into_iter().zip(edge.sides);
                        let mut ends: Vec<_> =
                            ends.map(|(side, key)| (side, tables.own(side, &key))).collect();
                        ends.sort_by_key(|(side, _)| *side);
                        if let Ok([(_, x), (_, y)]) = <[_; 2]>::try_from(ends) {
                            on.push((x, y));
                        }
                    }
                    (None, None) => return Ok(None),
                }
            }
        }
        tables.on = on;
        for (table, filters) in tables.tables.iter_mut().zip(filters) {
            if let Some(filter) = Expr::all(filters) {
                *table = table.clone().filter(filter);
            }
        }
        Ok((!tables.on.is_empty()).then_some(tables))
    }

    /// Whether it can be relied on how often keys come, so that the tables can be joined as they are.
    fn is_promised(&self, tables: &TwoTables) -> Result<bool> {
        let (kept, grouped): (Vec<Expr>, Vec<Expr>) = tables.on.iter().cloned().unzip();
        let every: Vec<usize> = (0..tables.on.len()).collect();
        let is_known = |side: usize, keys: &[Expr]| -> Result<bool> {
            let table = self.plan(&tables.tables[side], keys)?;
            Ok(slots(&table, &every).is_some())
        };
        Ok(is_known(1, &grouped)? || !tables.outer && is_known(0, &kept)?)
    }

    /// Groups of the rows of one table and of groups of the other.
    fn of_groups_of_one(
        &self,
        relation: &Relation,
        keys: &[Expr],
        tables: &TwoTables,
        parts: Parts,
    ) -> Relation {
        let [kept, grouped] = &tables.tables;
        let (count, most) = (kept.columns.len(), grouped.most_rows(self.schema));
        let by: Vec<Expr> = tables.on.iter().map(|(_, own)| own.clone()).collect();
        let mut groups = grouped.clone().grouped(by, parts.grouped.clone(), most);
        if let Operation::Group { shown, .. } = &mut groups.operation {
            *shown = !tables
                .tables
                .iter()
                .all(|table| self.party_of(table) == self.party_of(grouped));
        }
        let on = tables.on.iter().map(|(x, _)| x.clone()).zip(groups.all());
        let on: Vec<(Expr, Expr)> = on.collect();
        let joined = match tables.outer {
            true => kept.clone().left_join(groups, on, relation.at),
            false => kept.clone().inner_join(groups, on),
        };
        let first = count + tables.on.len();
        let aggregates = parts.aggregates(first, tables.outer, &joined.columns);
        let keys = keys.iter().map(|key| tables.own(0, key)).collect();
        let groups = joined.grouped(keys, aggregates, kept.most_rows(self.schema));
        groups.promised_by(relation)
    }
}
