//! Tables: of which columns rows are read, and what their owner promises of these.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::facts::Facts;
use super::physical::{Column, Physical, Step, values};
use super::planner::Planner;
use crate::expr::Expr;
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
        let info = |&column: &usize| Column {
            kind: declared
                .list(column)
                .map_or(declared.kind(column), |list| list.kind()),
            nullable: declared.fields[column].nullable,
        };
        let infos: Vec<Column> = columns.iter().map(info).collect();
        let moved = wanted
            .iter()
            .map(|expr| {
                expr.over(&|old| {
                    let Column { kind, nullable } = infos[places[&old]];
                    Expr::column(places[&old], kind, nullable)
                })
            })
            .collect();
        let rows = Physical {
            facts: promised(declared, (&columns, &infos), &places),
            columns: infos,
            rows: declared.max_rows,
            owner: Some(declared.party),
            step: Arc::new(Step::Scan { table, columns }),
        };
        match self.schema.secret_only {
            true => rows.shared(&[]).project(moved),
            false => rows.project(moved),
        }
    }
}

/// What the owner of a table promises of these of its columns, of which `infos` are; `places` says where each stands among them.
fn promised(
    declared: &Declared,
    (columns, infos): (&[usize], &[Column]),
    places: &BTreeMap<usize, usize>,
) -> Facts {
    let place = |name: &String| places.get(&declared.column(name)?).copied();
    let unique = declared.unique.iter().map(|names| (&names[..], 1));
    let at_most = declared.at_most.iter();
    let at_most = at_most.map(|(name, &count)| (std::slice::from_ref(name), count));
    let distinct = columns.iter().zip(infos).map(|(&column, info)| {
        let promised = declared.distinct.get(&declared.fields[column].name);
        let end = declared.end(column).and_then(|end| u64::try_from(end).ok());
        let counts = promised.map(|&count| count as u64).into_iter().chain(end);
        let counts = counts.map(|count| count.saturating_add(info.nullable.into()));
        let all = counts.chain(values(info.kind, info.nullable)).min();
        all.map(|all| all.min(declared.max_rows as u64))
    });
    let at_most = unique
        .chain(at_most)
        .filter_map(|(names, count)| Some((names.iter().map(place).collect::<Option<_>>()?, count)));
    let at_most: Vec<(Vec<usize>, usize)> = at_most.collect();
    // Nulls come more than once.
    let is_key = |of: &[usize]| of.iter().all(|&place| !infos[place].nullable);
    let keys: Vec<Vec<usize>> = at_most
        .iter()
        .filter(|(of, count)| *count == 1 && is_key(of))
        .map(|(of, _)| of.clone())
        .collect();
    let mut facts = Facts::new(at_most, distinct.collect());
    for key in keys {
        facts.depend(key, 0..columns.len(), false);
    }
    facts
}
