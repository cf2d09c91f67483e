//! Groups made before a join: where the second table of a LEFT JOIN is only counted and added up, its rows are grouped by what they are joined by, so that it need not
//! be promised how often that comes.

use super::combine::slots;
use super::planner::Planner;
use crate::error::Result;
use crate::expr::{Expr, ValueKind};
use crate::relation::{Aggregate, Function, Info, Operation, Relation};

impl Planner<'_> {
    /// The same groups made of groups of the second table; nothing if it need not or cannot be so.
    pub(super) fn grouped_before_join(&self, relation: &Relation) -> Result<Option<Relation>> {
        let Operation::Group {
            input,
            keys,
            aggregates,
            grouped,
            ..
        } = &relation.operation
        else {
            return Ok(None);
        };
        let Operation::Left { left, right, on } = &input.operation else {
            return Ok(None);
        };
        let count = left.columns.len();
        let is_of = |expr: &Expr, second: bool| {
            let mut all = true;
            expr.columns(&mut |column| all &= (column >= count) == second);
            all
        };
        let can_be_made = |aggregate: &Aggregate| match aggregate.function {
            Function::Rows => true,
            _ => is_of(&aggregate.of, true) && aggregate.of.is_null_with_columns(),
        };
        if !keys.iter().all(|key| is_of(key, false)) || !aggregates.iter().all(can_be_made) {
            return Ok(None);
        }
        let own: Vec<Expr> = on.iter().map(|(_, own)| own.clone()).collect();
        let lookup = self.plan(right, &own)?;
        if slots(&lookup, &(0..own.len()).collect::<Vec<_>>()).is_some() {
            return Ok(None);
        }
        let groups = self.groups_of(right, &own, aggregates, count);
        let made = groups.all().into_iter().enumerate();
        let made: Vec<Expr> = made
            .map(|(at, own)| Expr::column(count + at, own.kind, true))
            .collect();
        let on: Vec<(Expr, Expr)> = on.iter().map(|(x, _)| x.clone()).zip(groups.all()).collect();
        let aggregates = aggregates
            .iter()
            .zip(&made[own.len()..])
            .map(|(aggregate, part)| {
                let (function, of) = match aggregate.function {
                    // A row without any counts too.
                    Function::Rows => (Function::Sum, or_else(part, 1)),
                    Function::Count => (Function::Sum, or_else(part, 0)),
                    function => (function, part.clone()),
                };
                Aggregate { function, of }
            });
        let aggregates = aggregates.collect();
        let nullable = |info: &Info| Info {
            nullable: true,
            ..info.clone()
        };
        let joined = Relation {
            columns: left
                .columns
                .iter()
                .cloned()
                .chain(groups.columns.iter().map(nullable))
                .collect(),
            at: input.at,
            operation: Operation::Left {
                left: left.clone(),
                right: Box::new(groups),
                on,
            },
        };
        Ok(Some(Relation {
            columns: relation.columns.clone(),
            at: relation.at,
            operation: Operation::Group {
                input: Box::new(joined),
                keys: keys.clone(),
                aggregates,
                grouped: *grouped,
                made_of: None,
            },
        }))
    }

    /// Groups of the second table by what it is joined by, with what is made of each; its columns come after `count` others.
    fn groups_of(&self, right: &Relation, by: &[Expr], aggregates: &[Aggregate], count: usize) -> Relation {
        let all = right.all();
        let made: Vec<Aggregate> = aggregates
            .iter()
            .map(|aggregate| Aggregate {
                function: aggregate.function,
                of: aggregate.of.over(&|column| all[column - count].clone()),
            })
            .collect();
        let rows = right.most_rows(self.schema);
        let info = |(kind, nullable): (ValueKind, bool)| Info {
            name: String::new(),
            kind,
            nullable,
        };
        let of_keys = by.iter().map(|key| info((key.kind, key.nullable)));
        let of_groups = made.iter().map(|aggregate| info(aggregate.kind(rows, true)));
        Relation {
            columns: of_keys.chain(of_groups).collect(),
            at: right.at,
            operation: Operation::Group {
                input: Box::new(right.clone()),
                keys: by.to_vec(),
                aggregates: made,
                grouped: true,
                made_of: None,
            },
        }
    }
}

/// A number, or another where it is null.
fn or_else(number: &Expr, other: i128) -> Expr {
    let missing = number.clone().missing();
    let mut chosen = Expr::choice(missing, Expr::number(other, 0), number.clone()).expect("both are numbers");
    chosen.nullable = false;
    chosen
}
