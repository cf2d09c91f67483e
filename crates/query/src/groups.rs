//! Small groups, which an answer leaves out where the job says so.

use std::collections::BTreeSet;

use crate::error::{Error, Result};
use crate::expr::{Comparison, Expr};
use crate::relation::{Aggregate, Function, Info, Operation, Relation};
use crate::schema::MAX_ROWS;

/// Leaves groups of fewer rows out of an answer.
pub(crate) fn large_groups(relation: &mut Relation, least: u64) -> Result<()> {
    let at = relation.at;
    match &mut relation.operation {
        Operation::Project(input, exprs) => {
            let before = input.columns.len();
            large_groups(input, least)?;
            debug_assert_eq!(input.columns.len(), before, "{exprs:?}");
            Ok(())
        }
        Operation::Filter(input, _) | Operation::First(input, ..) | Operation::Window(input, _) => {
            large_groups(input, least)
        }
        Operation::Group {
            input,
            aggregates,
            grouped,
            made_of,
            ..
        } => {
            once_each(input)?;
            let rows = Aggregate::rows();
            let (kind, nullable) = rows.kind(MAX_ROWS as u64, *grouped);
            aggregates.push(match *made_of {
                None => rows,
                Some(column) => Aggregate {
                    function: Function::Sum,
                    of: input.all()[column].clone(),
                },
            });
            let told = relation.columns.clone();
            let count = Expr::column(told.len(), kind, nullable);
            let enough = Expr::compare(Comparison::Less, count, Expr::number(i128::from(least), 0));
            let enough = enough.expect("both are numbers").not();
            let mut group = relation.clone();
            group.columns.push(Info {
                name: String::new(),
                kind,
                nullable,
            });
            let filtered = group.filter(enough);
            let all = filtered.all();
            let columns = told
                .into_iter()
                .zip(all)
                .map(|(info, expr)| (info.name, expr))
                .collect();
            *relation = filtered.project(columns);
            Ok(())
        }
        Operation::Union(_) => Err(Error::query(
            at,
            "the job sets `min_group`, and totals beside groups, as ROLLUP and UNION give them, would tell of groups that are left out; ask for one grouping",
        )),
        _ => Err(Error::query(
            at,
            "the job sets `min_group`, so the answer must be made of groups, without subqueries beside them; use GROUP BY, or SUM, COUNT, MIN, MAX or AVG",
        )),
    }
}

/// Sees that the rows of no table are added up several times, which would make small groups seem large.
fn once_each(relation: &Relation) -> Result<()> {
    if let Operation::Union(inputs) = &relation.operation {
        let mut seen = BTreeSet::new();
        for input in inputs {
            let tables = input.scanned();
            if !seen.is_disjoint(&tables) {
                let what = "the job sets `min_group`, so the rows of one table may come once only where they are counted; leave out UNION of a table with \
                            itself, and ROLLUP, CUBE and GROUPING SETS below a GROUP BY or DISTINCT";
                return Err(Error::query(relation.at, what));
            }
            seen.extend(tables);
        }
    }
    relation.inputs().into_iter().try_for_each(once_each)
}
