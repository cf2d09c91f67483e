//! Groups made before a join: where the second table of a LEFT JOIN is only counted and added up, its rows are grouped by what they are joined by, so that it need not
//! be promised how often that comes.

use super::combine::slots;
use super::planner::Planner;
use crate::error::Result;
use crate::expr::Expr;
use crate::relation::{Aggregate, Function, Info, Operation, Relation};

impl Planner<'_> {
    /// The same groups made of groups of the second table; nothing if it need not or cannot be so.
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
        let Operation::Outer {
            left,
            right,
            on,
            full: false,
        } = &input.operation
        else {
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
                let of = part.clone();
                Aggregate {
                    function: aggregate.function.of_parts(),
                    of: match aggregate.function {
                        // A row without any counts too.
                        Function::Rows => of.with_default(Expr::number(1, 0)),
                        Function::Count => of.with_default(Expr::number(0, 0)),
                        _ => of,
                    },
                }
            });
        let joined = (**left).clone().left_join(groups, on, input.at);
        let groups = joined.grouped(keys.clone(), aggregates.collect(), 0);
        // Without keys there is a group though no row is in it, and a sum of no counts is null.
        let info = |(info, own): (&Info, &Info)| Info {
            nullable: own.nullable,
            ..info.clone()
        };
        let groups = Relation {
            columns: relation.columns.iter().zip(&groups.columns).map(info).collect(),
            at: relation.at,
            ..groups
        };
        let told = groups.all().into_iter().zip(&relation.columns);
        let told = told.map(|(column, info)| {
            let none = Expr::number(0, 0).into_kind(info.kind);
            let column = match info.nullable {
                true => column,
                false => column.with_default(none),
            };
            (info.name.clone(), column)
        });
        let told = told.collect();
        Ok(Some(groups.project(told)))
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
        right
            .clone()
            .grouped(by.to_vec(), made, right.most_rows(self.schema))
    }
}
