//! Promises that would make a query cheaper, if tables keep them: what somebody who writes a job may want to know, and nothing that computes a query.

mod candidates;
mod promise;

use cenote_program::Abilities;
use serde::Serialize;

use self::candidates::candidates;
use self::promise::{Promise, PromiseKind};
use crate::explain::rounded;
use crate::query::Query;
use crate::schema::Schema;

/// How many promises are tried.
const MOST: usize = 16;

/// How many exchanges of records, about, all tries together may be counted for: half of those of the largest query.
const MOST_EXCHANGES: u64 = 1 << 32;

/// Promises with which a query takes fewer ANDs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Proposal {
    /// What must be so, what to declare, and what becomes of the ANDs.
    pub told: String,
    /// The tables, and what to declare of each.
    pub promises: Vec<Declaration>,
    /// AND gates that the query takes then.
    pub and_gates: u64,
}

/// What to declare of a table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Declaration {
    /// The table.
    pub table: String,
    /// The line in a job's file; where it has numbers or values, as an example.
    pub declare: String,
}

impl Query {
    /// Promises that are not declared yet, with which at least a fifth of its ANDs would be needless: those that save most first. Each is told alone, with
    /// what must hold as well; and last those that go together, if they save a fifth more. `sql` is its text, and `and_gates` what it takes with these
    /// abilities.
    pub fn proposals(&self, sql: &str, abilities: Abilities, and_gates: u64) -> Vec<Proposal> {
        let mut exchanges = 0u64;
        let mut ands = |promises: &[Promise]| {
            let query = with(promises, sql, self.schema())?;
            exchanges = exchanges.saturating_add(query.exchanges());
            let tally = (exchanges <= MOST_EXCHANGES).then(|| query.tally(abilities));
            Some(tally?.ok()?.and_gates)
        };
        let all = candidates(self.physical(), self.schema());
        let together = together(&all);
        let mut proposals = Vec::new();
        for promises in all.into_iter().take(MOST) {
            if let Some(left) = ands(&promises)
                && saves(and_gates, left)
            {
                proposals.push(self.proposal(&promises, and_gates, left));
            }
        }
        let best = proposals.iter().map(|proposal| proposal.and_gates).min();
        if let Some(left) = ands(&together)
            && saves(best.unwrap_or(and_gates), left)
        {
            proposals.push(self.proposal(&together, and_gates, left));
        }
        proposals.sort_by_key(|proposal| proposal.and_gates);
        proposals
    }

    fn proposal(&self, promises: &[Promise], before: u64, after: u64) -> Proposal {
        Proposal {
            told: told(promises, self.schema(), before, after),
            promises: promises
                .iter()
                .map(|one| one.declaration(self.schema()))
                .collect(),
            and_gates: after,
        }
    }
}

/// Whether at least a fifth becomes needless.
fn saves(before: u64, after: u64) -> bool {
    u128::from(after) * 5 <= u128::from(before) * 4
}

/// Promises that may be given together, at most one for a column: how small its numbers are, or which values it has, or else how many. Whether a value
/// comes twice is another matter than what values there are.
fn together(all: &[Vec<Promise>]) -> Vec<Promise> {
    let mut chosen: Vec<Promise> = Vec::new();
    let flat = || all.iter().flatten();
    let how_many = |promise: &&Promise| matches!(promise.kind, PromiseKind::Distinct(..));
    for promise in flat().filter(|one| !how_many(one)).chain(flat().filter(how_many)) {
        let Some(column) = promise.kind.column() else {
            continue;
        };
        let is_new = |one: &Promise| (one.table, one.kind.column()) != (promise.table, Some(column));
        if chosen.iter().all(is_new) {
            chosen.push(promise.clone());
        }
    }
    chosen
}

/// The query, planned with these promises; nothing if they are refused.
fn with(promises: &[Promise], sql: &str, schema: &Schema) -> Option<Query> {
    let mut schema = schema.clone();
    promises.iter().for_each(|promise| promise.add(&mut schema));
    Query::new(sql, schema).ok()
}

fn told(promises: &[Promise], schema: &Schema, before: u64, after: u64) -> String {
    let conditions: Vec<String> = promises.iter().map(|one| one.condition(schema)).collect();
    let declare = promises.iter().map(|promise| {
        let Declaration { table, declare } = promise.declaration(schema);
        format!("`{declare}` for table {table}")
    });
    let declare: Vec<String> = declare.collect();
    let text = format!(
        "If {}, declare {}: {} → {} ANDs",
        conditions.join(" and "),
        declare.join(" and "),
        rounded(before),
        rounded(after)
    );
    text.chars().map(cenote_tables::printable).collect()
}
