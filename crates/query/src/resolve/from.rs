//! FROM: tables, subqueries and joins, and what their columns are called.

use sqlparser::ast::{self, JoinConstraint, JoinOperator, Spanned, TableFactor};
use sqlparser::tokenizer::Span;

use super::expression::Context;
use super::scope::{Scope, Visible, means, place};
use super::{MAX_STEPS, Named, Resolver, rename, short};
use crate::error::{Error, Result};
use crate::expr::{Comparison, Expr};
use crate::relation::{Info, Operation, Relation};
use crate::schema::MAX_TABLES;
use crate::work::few_columns;

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
        all.ok_or_else(|| Error::query(None, "it needs FROM and a table"))
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
                    self.left(all, next, constraint, span)?
                }
                JoinOperator::CrossJoin(JoinConstraint::None) => self.combined(all, next)?,
                _ => {
                    let what = "of joins there are JOIN and LEFT JOIN; a RIGHT JOIN is a LEFT JOIN with the tables exchanged";
                    return Err(Error::query(place(span), what));
                }
            };
        }
        Ok(all)
    }

    /// All combinations of the rows of both.
    fn combined(&self, left: From, right: From) -> Result<From> {
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
                let what = format!("two tables are called {table} in FROM; give one another name with AS");
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
    fn constraint(
        &self,
        constraint: &JoinConstraint,
        scope: &mut Scope,
        left: usize,
        span: Span,
    ) -> Result<Expr> {
        match constraint {
            JoinConstraint::On(condition) => Context::new(scope, self.work).condition(condition),
            JoinConstraint::Using(names) => {
                let mut all: Option<Expr> = None;
                for name in names {
                    let Some(name) = name.0.last().and_then(|part| part.as_ident()) else {
                        return Err(Error::query(place(span), "USING names columns"));
                    };
                    let (first, second): (Vec<_>, Vec<_>) =
                        scope.0.iter().cloned().partition(|visible| visible.index < left);
                    let one = Scope(first).find(None, name)?.clone();
                    let other = Scope(second).find(None, name)?.clone();
                    for visible in &mut scope.0 {
                        if visible.index == other.index {
                            visible.alone = false;
                        }
                    }
                    let same =
                        Expr::compare(Comparison::Equal, one.expr(), other.expr()).ok_or_else(|| {
                            let what = format!(
                                "{name} is {} in one table and {} in the other",
                                one.kind.name(),
                                other.kind.name()
                            );
                            Error::query(place(name.span), what)
                        })?;
                    all = Some(match all {
                        None => same,
                        Some(all) => all.and(same),
                    });
                }
                all.ok_or_else(|| Error::query(place(span), "USING names columns"))
            }
            JoinConstraint::Natural => Err(Error::query(
                place(span),
                "NATURAL JOIN is not there; write USING and the columns",
            )),
            JoinConstraint::None => Err(Error::query(
                place(span),
                "a join needs ON and a condition, or USING and columns",
            )),
        }
    }

    fn left(&self, left: From, right: From, constraint: &JoinConstraint, span: Span) -> Result<From> {
        let shift = left.relation.columns.len();
        for side in [&left, &right] {
            self.work.make(side.relation.parts(), place(span))?;
        }
        let combined = self.combined(
            From {
                relation: left.relation.clone(),
                scope: left.scope,
            },
            From {
                relation: right.relation.clone(),
                scope: right.scope,
            },
        )?;
        let mut scope = combined.scope;
        let condition = self.constraint(constraint, &mut scope, shift, span)?;
        let mut on = Vec::new();
        let (mut kept, mut conditions) = (right.relation, Vec::new());
        for condition in condition.conjuncts() {
            let side = |expr: &Expr| {
                let (mut left, mut right) = (false, false);
                expr.columns(&mut |column| if column < shift { left = true } else { right = true });
                (left, right)
            };
            let moved = |expr: &Expr| {
                expr.over(&|column| {
                    let info = &kept.columns[column - shift];
                    Expr::column(column - shift, info.kind, info.nullable)
                })
            };
            if let crate::expr::Node::Compare(Comparison::Equal, x, y) = &condition.node {
                match (side(x), side(y)) {
                    ((true, false), (false, true)) => {
                        on.push(((**x).clone(), moved(y)));
                        continue;
                    }
                    ((false, true), (true, false)) => {
                        on.push(((**y).clone(), moved(x)));
                        continue;
                    }
                    _ => (),
                }
            }
            if side(&condition).0 {
                let what = "the condition of a LEFT JOIN is that columns of both are equal, and conditions on the second table alone";
                return Err(Error::query(place(span), what));
            }
            conditions.push(moved(&condition));
        }
        if let Some(condition) = Expr::all(conditions) {
            kept = kept.filter(condition);
        }
        if on.is_empty() {
            return Err(Error::query(
                place(span),
                "a LEFT JOIN needs a column of each table that are equal",
            ));
        }
        for visible in &mut scope.0 {
            visible.nullable |= visible.index >= shift;
        }
        let mut columns = combined.relation.columns;
        columns[shift..]
            .iter_mut()
            .for_each(|column| column.nullable = true);
        let relation = Relation {
            columns,
            at: place(span),
            operation: Operation::Left {
                left: Box::new(left.relation),
                right: Box::new(kept),
                on,
            },
        };
        Ok(From { relation, scope })
    }

    fn factor(&self, factor: &TableFactor, named: &[Named<'_>]) -> Result<From> {
        let (mut relation, name) = match factor {
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
                let Some(ident) = name
                    .0
                    .first()
                    .and_then(|part| part.as_ident())
                    .filter(|_| name.0.len() == 1)
                else {
                    return Err(Error::query(
                        place(name.span()),
                        "a table is called by its name alone",
                    ));
                };
                let relation = self.table(ident, named)?;
                let called = alias.as_ref().map_or(ident, |alias| &alias.name);
                short(called)?;
                let called = called.value.clone();
                (relation, called)
            }
            TableFactor::Derived {
                lateral: false,
                subquery,
                alias,
                sample: None,
            } => {
                let relation = self.query(subquery, named)?.relation;
                alias.as_ref().map_or(Ok(()), |alias| short(&alias.name))?;
                let called = alias
                    .as_ref()
                    .map_or_else(String::new, |alias| alias.name.value.clone());
                (relation, called)
            }
            TableFactor::NestedJoin {
                table_with_joins,
                alias: None,
            } => return self.joined(table_with_joins, named),
            other => {
                return Err(Error::query(
                    place(other.span()),
                    "a table, or a subquery in brackets, stands in FROM",
                ));
            }
        };
        if relation.steps() > MAX_STEPS {
            let what = format!(
                "it is of more than {MAX_STEPS} steps that follow from one another; ask with fewer subqueries"
            );
            return Err(Error::query(place(factor.span()), what));
        }
        if let TableFactor::Table {
            alias: Some(alias), ..
        }
        | TableFactor::Derived {
            alias: Some(alias), ..
        } = factor
        {
            rename(&mut relation, alias)?;
        }
        relation.at = place(factor.span());
        let visible = |(index, info): (usize, &Info)| Visible {
            table: (!name.is_empty()).then(|| name.clone()),
            name: info.name.clone(),
            index,
            kind: info.kind,
            nullable: info.nullable,
            alone: true,
        };
        let scope = Scope(relation.columns.iter().enumerate().map(visible).collect());
        Ok(From { relation, scope })
    }

    fn table(&self, name: &ast::Ident, named: &[Named<'_>]) -> Result<Relation> {
        let known = named.iter().rev().find(|known| means(name, &known.name.value));
        let tables = self.tables.get() + known.map_or(1, |known| known.relation.tables());
        if tables > MAX_TABLES {
            let what = format!(
                "with subqueries put in wherever they are named, it is of more than {MAX_TABLES} tables"
            );
            return Err(Error::query(place(name.span), what));
        }
        self.tables.set(tables);
        if let Some(known) = known {
            self.work.make(known.relation.parts(), place(name.span))?;
            return Ok((*known.relation).clone());
        }
        let at = self
            .schema
            .tables
            .iter()
            .position(|table| means(name, &table.name));
        let Some(at) = at else {
            let names: Vec<&str> = self
                .schema
                .tables
                .iter()
                .map(|table| table.name.as_str())
                .collect();
            let what = format!("there is no table {name}; there are {}", names.join(", "));
            return Err(Error::query(place(name.span), what));
        };
        let table = &self.schema.tables[at];
        self.work.make(table.fields.len(), place(name.span))?;
        let info = |field: &cenote_tables::Field| Info {
            name: field.name.clone(),
            kind: crate::expr::Kind::of(field.kind),
            nullable: field.nullable,
        };
        Ok(Relation {
            operation: Operation::Scan(at),
            columns: table.fields.iter().map(info).collect(),
            at: place(name.span),
        })
    }
}
