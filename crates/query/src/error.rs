//! What goes wrong with a query.

use std::fmt;

/// A place in the text of a query: line and column, from 1 on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The line.
    pub line: u64,
    /// The column, in characters.
    pub column: u64,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}", self.line, self.column)
    }
}

/// What goes wrong with a query.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The query is wrong, or asks for what there is not.
    #[error("the query{}: {what}", .at.map_or_else(String::new, |at| format!(", {at}")))]
    Query {
        /// Where.
        at: Option<Place>,
        /// What is wrong, and what to write instead.
        what: String,
    },
    /// The tables as they are declared are wrong.
    #[error("{0}")]
    Declared(String),
    /// This party's own rows cannot be used. Nobody else is told why.
    #[error("table {table}: {what}")]
    Rows {
        /// The table.
        table: String,
        /// What is wrong. Values are not quoted.
        what: String,
    },
    /// The answer is not told.
    #[error(
        "the query has no answer: a calculation overflowed or divided by zero, the answer has more rows than its `max_rows` or a join more than `max_join_rows`, or a table breaks \
         a promise (`unique`, `at_most`, `distinct`, `same_rows_as`). Nobody is told which, because that would reveal something about rows"
    )]
    NoAnswer,
    /// What happened to the session.
    #[error(transparent)]
    Session(#[from] cenote_program::Error),
}

/// What a query gives.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// Why this party's rows of `table` cannot be used.
    pub(crate) fn rows(table: &str, what: impl Into<String>) -> Self {
        Error::Rows {
            table: table.into(),
            what: what.into(),
        }
    }

    pub(crate) fn query(at: Option<Place>, what: impl Into<String>) -> Self {
        Error::Query {
            at,
            // Names of the query stand in it, which may have been made to steer a screen.
            what: what.into().chars().map(cenote_tables::printable).collect(),
        }
    }
}
