//! The tables that a query names, before it is known what they are.

use std::fmt;

use sqlparser::ast::Ident;

use super::on_a_large_stack;
use super::parse::parse;
use super::resolver::Resolver;
use super::scope::{means, place};
use crate::error::{Error, Place, Result};
use crate::schema::{Declared, MAX_TABLES, Schema};
use crate::work::Work;

/// A table as a query names it: by its name, or by that of its party and its own, such as `north.orders`.
#[derive(Clone, Debug)]
pub struct TableName {
    party: Option<Ident>,
    name: Ident,
    /// Where it stands.
    pub at: Option<Place>,
}

impl TableName {
    pub(super) fn new(party: Option<&Ident>, name: &Ident) -> Self {
        TableName {
            party: party.cloned(),
            name: name.clone(),
            at: place(party.unwrap_or(name).span),
        }
    }

    /// The name without the party.
    pub fn name(&self) -> &str {
        &self.name.value
    }

    /// Whether the party stands before it.
    pub fn has_party(&self) -> bool {
        self.party.is_some()
    }

    /// Whether it can mean the table `name` of the party `party`.
    pub fn can_mean(&self, party: &str, name: &str) -> bool {
        self.party.as_ref().is_none_or(|wanted| means(wanted, party)) && means(&self.name, name)
    }

    /// Whether it is what a job calls `table`.
    pub(super) fn is_of(&self, table: &str) -> bool {
        match &self.party {
            None => means(&self.name, table),
            Some(party) => table
                .match_indices('.')
                .any(|(at, _)| means(party, &table[..at]) && means(&self.name, &table[at + 1..])),
        }
    }
}

impl fmt::Display for TableName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.party {
            Some(party) => write!(f, "{party}.{}", self.name),
            None => self.name.fmt(f),
        }
    }
}

/// The tables that the query `sql` names, in the order of their first places, each as `find` declares it. In `schema` is everything but the tables.
///
/// # Errors
/// [`Error::Query`] with the place: what else is wrong with the query, or what `find` says of a table.
pub fn tables_named(
    sql: &str,
    mut schema: Schema,
    find: &mut (dyn FnMut(&TableName) -> std::result::Result<Declared, String> + Send),
) -> Result<Vec<Declared>> {
    on_a_large_stack(|| {
        let query = parse(sql, &schema.parameters)?;
        // Each round finds one more.
        for _ in 0..=MAX_TABLES {
            let work = Work::default();
            let resolver = Resolver::new(&schema, &work);
            let resolved = resolver.query(&query, &[]);
            let Some(missing) = resolver.missing.take() else {
                return resolved.map(|_| schema.tables);
            };
            let found = find(&missing).map_err(|what| Error::query(missing.at, what))?;
            if !missing.is_of(&found.name) {
                return resolved.map(|_| schema.tables);
            }
            schema.tables.push(found);
        }
        Err(Error::query(
            None,
            format!("it uses more than {MAX_TABLES} tables; use fewer"),
        ))
    })
}
