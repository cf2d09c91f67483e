//! FROM: tables, subqueries and joins, and what their columns are called.

use sqlparser::ast::{self, JoinConstraint, JoinOperator, Spanned, TableFactor};
use sqlparser::tokenizer::Span;

use super::expression::Context;
use super::literal;
use super::named::TableName;
use super::resolver::{Named, Resolver};
use super::scope::{Scope, Visible, means, place, rename, short};
use crate::error::{Error, Place, Result};
use crate::expr::{Comparison, Expr};
use crate::near::{meant, nearest};
use crate::relation::{Info, Operation, Relation};
use crate::schema::MAX_TABLES;
use crate::work::few_columns;

/// How many steps of a query may follow from one another, such as those of a subquery of a subquery.
const MAX_STEPS: usize = 100;

/// What FROM gives.
pub(super) struct From {
    pub(super) relation: Relation,
    pub(super) scope: Scope,
}

impl Resolver<'_> {
    pub(super) fn from(&self, tables: &[ast::TableWithJoins], named: &[Named<'_>]) -> Result<From> {
        let mut all: Option<From> = None;
        for table in tables {
            let next = self.joined(table, named)?;
            all = Some(match all {
                None => next,
                Some(all) => self.combined(all, next)?,
            });
        }
        all.ok_or_else(|| Error::query(None, "FROM and a table are missing"))
    }

    fn joined(&self, table: &ast::TableWithJoins, named: &[Named<'_>]) -> Result<From> {
        let mut all = self.factor(&table.relation, named)?;
        for join in &table.joins {
            let next = self.factor(&join.relation, named)?;
            let span = join.relation.span();
            all = match &join.join_operator {
                JoinOperator::Join(constraint) | JoinOperator::Inner(constraint) => {
                    let left = all.relation.columns.len();
                    let mut all = self.combined(all, next)?;
                    let condition = self.constraint(constraint, &mut all.scope, left, span)?;
                    all.relation = all.relation.filter(condition);
                    all
                }
                JoinOperator::Left(constraint) | JoinOperator::LeftOuter(constraint) => {
                    self.outer((all, next), constraint, false, span)?
                }
                JoinOperator::CrossJoin(JoinConstraint::None) => self.combined(all, next)?,
                JoinOperator::Right(constraint) | JoinOperator::RightOuter(constraint) => {
                    let count = next.scope.0.len();
                    let mut all = self.outer((next, all), constraint, false, span)?;
                    // As they stand in the query.
                    all.scope.0.rotate_left(count);
                    all
                }
                JoinOperator::FullOuter(constraint) => self.outer((all, next), constraint, true, span)?,
                _ => {
                    let what = "only JOIN, LEFT JOIN, RIGHT JOIN, FULL JOIN and CROSS JOIN are supported";
                    return Err(Error::query(place(span), what));
                }
            };
        }
        Ok(all)
    }

    /// All combinations of the rows of both.
    pub(super) fn combined(&self, left: From, right: From) -> Result<From> {
        let shift = left.relation.columns.len();
        few_columns(shift + right.relation.columns.len(), right.relation.at)?;
        let mut scope = left.scope;
        let before = scope.0.len();
        for visible in right.scope.0 {
            if let Some(table) = &visible.table
                && scope.0[..before]
                    .iter()
                    .any(|other| other.table.as_ref() == Some(table))
            {
                let what = format!("FROM has two tables called {table}; rename one with AS");
                return Err(Error::query(right.relation.at, what));
            }
            scope.0.push(Visible {
                index: visible.index + shift,
                ..visible
            });
        }
        let columns = [&left.relation.columns[..], &right.relation.columns[..]].concat();
        let at = left.relation.at;
        let relation = Relation {
            operation: Operation::Inner(vec![left.relation, right.relation], Vec::new()),
            columns,
            at,
        };
        Ok(From { relation, scope })
    }

    /// The condition of a join whose first table has `left` columns; what is joined by its name is then found by it once.
    pub(super) fn constraint(
        &self,
        constraint: &JoinConstraint,
        scope: &mut Scope,
        left: usize,
        span: Span,
    ) -> Result<Expr> {
        match constraint {
            JoinConstraint::On(condition) => Context::new(scope, self.work).condition(condition),
            JoinConstraint::Using(names) => {
                let names = names
                    .iter()
                    .map(|name| name.0.last().and_then(|part| part.as_ident()).cloned());
                let names: Option<Vec<ast::Ident>> = names.collect();
                let names = names.filter(|names| !names.is_empty());
                let names = names
                    .ok_or_else(|| Error::query(place(span), "write the names of columns after USING"))?;
                self.using(&names, scope, left, place(span))
            }
            JoinConstraint::Natural => {
                let (first, second): (Vec<&Visible>, Vec<&Visible>) = scope
                    .0
                    .iter()
                    .filter(|visible| visible.alone)
                    .partition(|visible| visible.index < left);
                let has = |of: &[&Visible], name: &str| {
                    of.iter().any(|other| other.name.eq_ignore_ascii_case(name))
                };
                let common = second.iter().filter(|visible| has(&first, &visible.name));
                let names: Vec<ast::Ident> = common.map(|visible| ast::Ident::new(&visible.name)).collect();
                if names.is_empty() {
                    let what =
                        "NATURAL JOIN needs columns of one name in both tables; write ON a.key = b.key";
                    return Err(Error::query(place(span), what));
                }
                self.using(&names, scope, left, place(span))
            }
            JoinConstraint::None => Err(Error::query(
                place(span),
                "a JOIN needs a condition: write ON a.key = b.key, or USING (key)",
            )),
        }
    }

    /// The condition that columns of these names are equal, each of which is then found by its name once.
    fn using(&self, names: &[ast::Ident], scope: &mut Scope, left: usize, at: Option<Place>) -> Result<Expr> {
        let mut all = Vec::new();
        for name in names {
            let at = place(name.span).or(at);
            let (first, second): (Vec<_>, Vec<_>) =
                scope.0.iter().cloned().partition(|visible| visible.index < left);
            let one = Scope(first).find(None, name)?.clone();
            let other = Scope(second).find(None, name)?.clone();
            for visible in &mut scope.0 {
                if visible.index == other.index {
                    visible.alone = false;
                }
            }
            let (x, y) = literal::meeting(one.expr(), other.expr()).map_err(|what| Error::query(at, what))?;
            let same = Expr::compare(Comparison::Equal, x, y).ok_or_else(|| {
                let what = format!(
                    "{name} is {} in one table and {} in the other; join columns of the same type",
                    one.kind.name(),
                    other.kind.name()
                );
                Error::query(at, what)
            })?;
            all.push(same);
        }
        Ok(Expr::all(all).expect("there is a name"))
    }

    fn factor(&self, factor: &TableFactor, named: &[Named<'_>]) -> Result<From> {
        let (mut relation, alias, name) = match factor {
            TableFactor::Table {
                name,
                alias,
                args: None,
                with_hints,
                version: None,
                with_ordinality: false,
                partitions,
                json_path: None,
                sample: None,
                index_hints,
            } if with_hints.is_empty() && partitions.is_empty() && index_hints.is_empty() => {
                let (party, ident) = match &name.0[..] {
                    [ast::ObjectNamePart::Identifier(ident)] => (None, ident),
                    [
                        ast::ObjectNamePart::Identifier(party),
                        ast::ObjectNamePart::Identifier(ident),
                    ] => (Some(party), ident),
                    _ => {
                        return Err(Error::query(
                            place(name.span()),
                            "write the name of a table alone, or behind that of its party: party.table",
                        ));
                    }
                };
                let called = alias.as_ref().map_or(ident, |alias| &alias.name);
                (self.table(party, ident, named)?, alias, Some(called))
            }
            TableFactor::Derived {
                lateral: false,
                subquery,
                alias,
                sample: None,
            } => {
                let called = alias.as_ref().map(|alias| &alias.name);
                (self.query(subquery, named)?.relation, alias, called)
            }
            TableFactor::NestedJoin {
                table_with_joins,
                alias: None,
            } => return self.joined(table_with_joins, named),
            other => {
                return Err(Error::query(
                    place(other.span()),
                    "FROM takes tables, and subqueries in brackets",
                ));
            }
        };
        let at = place(factor.span());
        name.map_or(Ok(()), short)?;
        few_steps(&relation, at)?;
        if let Some(alias) = alias {
            rename(&mut relation, alias)?;
        }
        relation.at = at;
        let scope = Scope::of(&relation, name.map(|name| name.value.as_str()));
        Ok(From { relation, scope })
    }

    /// Sees that a query does not use too many tables with so many more.
    pub(super) fn use_tables(&self, more: usize, at: Option<Place>) -> Result<()> {
        let tables = self.tables.get() + more;
        if tables > MAX_TABLES {
            let what = format!(
                "it uses more than {MAX_TABLES} tables, counting those of a subquery each time it is named; use fewer"
            );
            return Err(Error::query(at, what));
        }
        self.tables.set(tables);
        Ok(())
    }

    fn table(&self, party: Option<&ast::Ident>, name: &ast::Ident, named: &[Named<'_>]) -> Result<Relation> {
        let called = |known: &&Named<'_>| party.is_none() && means(name, &known.name.value);
        let known = named.iter().rev().find(called);
        self.use_tables(known.map_or(1, |known| known.relation.tables()), place(name.span))?;
        if let Some(known) = known {
            self.work.make(known.relation.parts(), place(name.span))?;
            return Ok((*known.relation).clone());
        }
        let wanted = TableName::new(party, name);
        let mut tables = self.schema.tables.iter();
        let Some(at) = tables.position(|table| wanted.is_of(&table.name)) else {
            let names = || self.schema.tables.iter().map(|table| table.name.as_str());
            let what = format!(
                "there is no table {wanted}{}; the tables are {}",
                meant(&nearest(&name.value, names())),
                names().collect::<Vec<_>>().join(", ")
            );
            let at = wanted.at;
            self.missing.replace(Some(wanted));
            return Err(Error::query(at, what));
        };
        let table = &self.schema.tables[at];
        self.work.make(table.fields.len(), place(name.span))?;
        let info = |(column, field): (usize, &cenote_tables::Field)| Info {
            name: field.name.clone(),
            kind: table.kind(column),
            nullable: field.nullable,
        };
        Ok(Relation {
            operation: Operation::Scan(at),
            columns: table.fields.iter().enumerate().map(info).collect(),
            at: place(name.span),
        })
    }
}

/// Sees that not more steps follow from one another than may.
pub(super) fn few_steps(relation: &Relation, at: Option<Place>) -> Result<()> {
    if relation.steps() <= MAX_STEPS {
        return Ok(());
    }
    let what =
        format!("it takes more than {MAX_STEPS} steps one after the other; use fewer subqueries and windows");
    Err(Error::query(at, what))
}
