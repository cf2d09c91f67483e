//! Jobs that are queries: SQL over tables that the parties hold.

mod answers;
mod entry;
mod file;
mod parameters;
mod plan;
mod planned;
mod policy;
mod proposed;
mod report;
mod run;
pub(crate) mod shards;

pub use cenote_query::{Declared, OwnInput, Parameter, Place, PlanStep, Proposal, Query, Word, share, words};
pub use cenote_tables::{Table, show};

pub use self::entry::field;
pub(crate) use self::entry::{Columns, TableEntry, Unique, declared};
pub use self::file::{Instead, QueryJob};
#[cfg(test)]
pub(crate) use self::parameters::Values;
pub use self::plan::QueryPlan;
pub use self::policy::{AskedToday, Policy};
pub use self::proposed::{Ended, Far, Proposed, Run};
pub use self::report::{Answered, QueryReport};
pub(crate) use self::run::QueryPart;
pub use self::run::{check_party, coordinate_party, run_here, run_party};
pub(crate) use self::shards::placed_in_shards;
#[doc(hidden)]
pub use self::shards::{Overflow, OwnTables, Parts};
pub use self::shards::{ShardsPlan, TableInShards};

use crate::Error;

impl From<cenote_tables::Error> for Error {
    fn from(error: cenote_tables::Error) -> Self {
        Error::Table(error.to_string())
    }
}

impl From<cenote_query::Error> for Error {
    fn from(error: cenote_query::Error) -> Self {
        match error {
            cenote_query::Error::Session(error) => error.into(),
            cenote_query::Error::Rows { .. } | cenote_query::Error::NoAnswer => {
                Error::Table(error.to_string())
            }
            cenote_query::Error::Query { at, what } => Error::Query { at, what },
            cenote_query::Error::Declared(what) => Error::Usage(what),
        }
    }
}
