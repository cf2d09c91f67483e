//! Names, and what they stand for.

use sqlparser::ast::{Ident, TableAlias};
use sqlparser::tokenizer::Span;

use crate::error::{Error, Place, Result};
use crate::expr::{Expr, ValueKind};
use crate::near::{meant, nearest};
use crate::relation::{Info, Relation};
use crate::schema::MAX_NAME;

/// A column that can be named.
#[derive(Clone, Debug)]
pub(super) struct Visible {
    /// The table that it is a column of, as the query calls it.
    pub(super) table: Option<String>,
    pub(super) name: String,
    /// Its place in the relation.
    pub(super) index: usize,
    pub(super) kind: ValueKind,
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
    /// The columns of a relation that the query calls `table`.
    pub(super) fn of(relation: &Relation, table: Option<&str>) -> Self {
        let visible = |(index, info): (usize, &Info)| Visible {
            table: table.map(str::to_owned),
            name: info.name.clone(),
            index,
            kind: info.kind,
            nullable: info.nullable,
            alone: true,
        };
        Scope(relation.columns.iter().enumerate().map(visible).collect())
    }

    /// The columns of `table`, or all that are found by their name alone.
    pub(super) fn of_table<'a>(&'a self, table: Option<&Ident>) -> impl Iterator<Item = &'a Visible> {
        self.0
            .iter()
            .filter(move |visible| match (table, &visible.table) {
                (None, _) => visible.alone,
                (Some(wanted), Some(table)) => means(wanted, table),
                (Some(_), None) => false,
            })
    }

    /// The columns called `name`, of `table` if it is given.
    pub(super) fn find(&self, table: Option<&Ident>, name: &Ident) -> Result<&Visible> {
        let mut found = self.of_table(table).filter(|visible| means(name, &visible.name));
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
                        format!("{one} has two columns called {called}; rename one with AS")
                    }
                    false => format!(
                        "{one} and {other} both have a column {called}; put the name of the table before it, such as {one}.{name}"
                    ),
                };
                Err(Error::query(at, what))
            }
            (None, _) => {
                let others = self.0.iter().map(|visible| visible.name.as_str());
                let near = nearest(&name.value, others.filter(|other| *other != name.value));
                let what = format!("there is no column {called}{}; {}", meant(&near), self.names());
                Err(Error::query(at, what))
            }
        }
    }

    fn names(&self) -> String {
        let name = |visible: &Visible| match &visible.table {
            Some(table) => format!("{table}.{}", visible.name),
            None => visible.name.clone(),
        };
        let names: Vec<String> = self.0.iter().map(name).collect();
        match names.len() {
            0 => "there are none here".into(),
            1..=20 => format!("the columns are {}", names.join(", ")),
            more => format!(
                "the columns are {} and {} more",
                names[..20].join(", "),
                more - 20
            ),
        }
    }
}

/// Gives a subquery and its columns the names of an alias.
pub(super) fn rename(relation: &mut Relation, alias: &TableAlias) -> Result<()> {
    if alias.columns.is_empty() {
        return Ok(());
    }
    if alias.columns.len() != relation.columns.len() {
        let (names, columns) = (alias.columns.len(), relation.columns.len());
        let what = format!(
            "{} names {names} columns, but the subquery has {columns}",
            alias.name
        );
        return Err(Error::query(place(alias.name.span), what));
    }
    for (column, name) in relation.columns.iter_mut().zip(&alias.columns) {
        short(&name.name)?;
        column.name.clone_from(&name.name.value);
    }
    Ok(())
}

/// Sees that a name is not too long: it stands wherever its column does.
pub(super) fn short(name: &Ident) -> Result<()> {
    if name.value.len() <= MAX_NAME {
        return Ok(());
    }
    let what = format!("a name may be at most {MAX_NAME} bytes long");
    Err(Error::query(place(name.span), what))
}

/// Refuses the first of these parts of a query that is there.
pub(super) fn refuse(at: Option<Place>, refused: &[(bool, &str)]) -> Result<()> {
    match refused.iter().find(|(is, _)| *is) {
        Some((_, what)) => Err(Error::query(at, *what)),
        None => Ok(()),
    }
}
