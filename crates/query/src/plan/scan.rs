//! Tables: of which columns rows are read, and what their owner promises of these.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::physical::{Column, Facts, Physical, Step, values};
use super::planner::Planner;
use crate::expr::{Expr, ValueKind};
use crate::schema::Declared;

impl Planner<'_> {
    /// The columns of a table that `wanted` is of.
    pub(super) fn scan(&self, table: usize, wanted: &[Expr]) -> Physical {
        let declared = &self.schema.tables[table];
        let mut used = BTreeSet::new();
        wanted.iter().for_each(|expr| {
            expr.columns(&mut |column| {
                used.insert(column);
            })
        });
        let columns: Vec<usize> = used.into_iter().collect();
        let places: BTreeMap<usize, usize> = columns
            .iter()
            .enumerate()
            .map(|(at, &column)| (column, at))
            .collect();
        let info = |&column: &usize| {
            let field = &declared.fields[column];
            Column {
                kind: ValueKind::of(field.kind),
                nullable: field.nullable,
            }
        };
        let moved = wanted
            .iter()
            .map(|expr| {
                expr.over(&|old| {
                    let Column { kind, nullable } = info(&old);
                    Expr::column(places[&old], kind, nullable)
                })
            })
            .collect();
        let rows = Physical {
            columns: columns.iter().map(info).collect(),
            rows: declared.max_rows,
            owner: Some(declared.party),
            facts: promised(declared, &columns, &places),
            step: Arc::new(Step::Scan { table, columns }),
        };
        match self.schema.secret_only {
            true => rows.shared(&[]).project(moved),
            false => rows.project(moved),
        }
    }
}

/// What the owner of a table promises of these of its columns; `places` says where each stands among them.
fn promised(declared: &Declared, columns: &[usize], places: &BTreeMap<usize, usize>) -> Facts {
    let place = |name: &str| places.get(&declared.column(name)?).copied();
    let unique = declared.unique.iter().map(|name| (name, 1));
    let at_most = declared.at_most.iter().map(|(name, &count)| (name, count));
    let distinct = columns.iter().map(|&column| {
        let field = &declared.fields[column];
        let own = declared
            .distinct
            .get(&field.name)
            .map(|&count| count as u64 + u64::from(field.nullable))
            .or_else(|| values(ValueKind::of(field.kind), field.nullable));
        own.map(|own| own.min(declared.max_rows as u64))
    });
    Facts {
        at_most: unique
            .chain(at_most)
            .filter_map(|(name, count)| Some((vec![place(name)?], count)))
            .collect(),
        distinct: distinct.collect(),
    }
}
