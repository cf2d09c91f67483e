//! Promises that would make a query cheaper, if tables keep them: what somebody who writes a job may want to know, and nothing that computes a query.

mod candidates;
mod promise;

use cenote_program::Abilities;
use serde::Serialize;

use self::candidates::candidates;
use self::promise::Promise;
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
    /// Promises that are not declared yet, each of which alone would make at least a fifth of its ANDs needless: those that save most first. `sql` is
    /// its text, and `and_gates` what it takes with these abilities.
    pub fn proposals(&self, sql: &str, abilities: Abilities, and_gates: u64) -> Vec<Proposal> {
        let mut exchanges = 0u64;
        let mut proposals = Vec::new();
        for promises in candidates(self.physical(), self.schema()).into_iter().take(MOST) {
            let Some(query) = with(&promises, sql, self.schema()) else {
                continue;
            };
            let own = query.exchanges();
            if own > MOST_EXCHANGES - exchanges {
                break;
            }
            exchanges += own;
            let Ok(tally) = query.tally(abilities) else {
                continue;
            };
            if u128::from(tally.and_gates) * 5 <= u128::from(and_gates) * 4 {
                proposals.push(Proposal {
                    told: told(&promises, self.schema(), and_gates, tally.and_gates),
                    promises: promises
                        .iter()
                        .map(|one| one.declaration(self.schema()))
                        .collect(),
                    and_gates: tally.and_gates,
                });
            }
        }
        proposals.sort_by_key(|proposal| proposal.and_gates);
        proposals
    }
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
