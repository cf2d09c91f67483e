//! Names, and what they stand for.

use sqlparser::ast::Ident;
use sqlparser::tokenizer::Span;

use crate::error::{Error, Place, Result};
use crate::expr::{Expr, Kind};

/// A column that can be named.
#[derive(Clone, Debug)]
pub(super) struct Visible {
    /// The table that it is a column of, as the query calls it.
    pub(super) table: Option<String>,
    pub(super) name: String,
    /// Its place in the relation.
    pub(super) index: usize,
    pub(super) kind: Kind,
    pub(super) nullable: bool,
    /// Whether it is found by its name alone: of two columns that are joined by their name, one is.
    pub(super) alone: bool,
}

impl Visible {
    pub(super) fn expr(&self) -> Expr {
        Expr::column(self.index, self.kind, self.nullable)
    }
}

/// The columns that can be named in a part of a query.
#[derive(Clone, Debug, Default)]
pub(super) struct Scope(pub(super) Vec<Visible>);

/// The place where something begins, if the parser knows it.
pub(super) fn place(span: Span) -> Option<Place> {
    (span.start.line > 0).then_some(Place {
        line: span.start.line,
        column: span.start.column,
    })
}

/// Whether a name in the query means `name`: case matters only in quotes.
pub(super) fn means(ident: &Ident, name: &str) -> bool {
    match ident.quote_style {
        Some(_) => ident.value == name,
        None => ident.value.eq_ignore_ascii_case(name),
    }
}

impl Scope {
    /// The columns called `name`, of `table` if it is given.
    pub(super) fn find(&self, table: Option<&Ident>, name: &Ident) -> Result<&Visible> {
        let mut found = self.0.iter().filter(|visible| {
            let of_table = match (table, &visible.table) {
                (None, _) => visible.alone,
                (Some(wanted), Some(table)) => means(wanted, table),
                (Some(_), None) => false,
            };
            of_table && means(name, &visible.name)
        });
        let at = place(name.span);
        let called = match table {
            Some(table) => format!("{table}.{name}"),
            None => name.to_string(),
        };
        match (found.next(), found.next()) {
            (Some(one), None) => Ok(one),
            (Some(one), Some(other)) => {
                let table = |visible: &Visible| visible.table.clone().unwrap_or_else(|| "a subquery".into());
                let (one, other) = (table(one), table(other));
                let what = match one == other {
                    true => {
                        format!("{called} is the name of two columns of {one}; give one another name with AS")
                    }
                    false => format!(
                        "{called} is a column of {one} and of {other}; write the table before it, such as {one}.{name}"
                    ),
                };
                Err(Error::query(at, what))
            }
            (None, _) => Err(Error::query(
                at,
                format!("there is no column {called}; there are {}", self.names()),
            )),
        }
    }

    fn names(&self) -> String {
        let name = |visible: &Visible| match &visible.table {
            Some(table) => format!("{table}.{}", visible.name),
            None => visible.name.clone(),
        };
        let names: Vec<String> = self.0.iter().map(name).collect();
        match names.len() {
            0 => "none here".into(),
            1..=20 => names.join(", "),
            more => format!("{} and {} more", names[..20].join(", "), more - 20),
        }
    }
}
