//! Subqueries in conditions and expressions: each becomes a join with what it gives.
//!
//! A subquery may compare its columns with those of the query around it, for equality. Then its rows are grouped by these columns, and each row around is joined
//! with its group: so it is computed once for all rows. What it gives is a value made of the group, whether there is a group (EXISTS), or whether a group has
//! the value (IN). A condition that holds only if something is found keeps the rows that are found; elsewhere rows without a group have nulls.

mod conditions;

use std::cell::{Cell, RefCell};
use std::collections::HashMap;

use sqlparser::ast::{self, Spanned};

use self::conditions::{Compared, only_equal};
use super::expression::{Context, Grouping, at, or_else};
use super::from::From;
use super::group_by::{grouped, has_aggregates};
use super::literal::meeting;
use super::resolver::{Named, Resolver};
use super::scope::{Scope, place};
use super::window::{WINDOWED, has_windows};
use crate::error::{Error, Place, Result};
use crate::expr::{Comparison, Expr, Node, ValueKind};
use crate::relation::{Aggregate, Function, Relation};
use crate::work::few_columns;

/// From here on the columns of an expression are those of the query around it.
pub(super) const AROUND: usize = 1 << 24;
/// From here on they are those of joined subqueries, and so far apart.
const JOINED: usize = 1 << 25;
const APART: usize = 1 << 12;

/// What a relation is joined with.
struct Join {
    relation: Relation,
    /// Of the relation, and of this one.
    on: Vec<(Expr, Expr)>,
    /// Whether rows without a match are dropped.
    required: bool,
}

/// The subqueries of some conditions or expressions.
pub(super) struct Subqueries<'a> {
    resolver: &'a Resolver<'a>,
    named: &'a [Named<'a>],
    /// The columns with which they may compare theirs; nothing if they may not.
    around: Option<&'a Scope>,
    joins: RefCell<Vec<Join>>,
    /// Whether the condition at hand holds only where something is found.
    strict: Cell<bool>,
    /// What those stand for that were met: an expression may be resolved several times.
    known: RefCell<HashMap<*const ast::Expr, Expr>>,
}

/// A subquery of the simplest kind, or any.
enum Inner<'a> {
    Select(Box<Rows<'a>>),
    Whole(Relation),
}

/// The rows of a subquery, and what they are compared with.
struct Rows<'a> {
    select: &'a ast::Select,
    relation: Relation,
    scope: Scope,
    compared: Compared,
}

impl<'a> Subqueries<'a> {
    pub(super) fn new(resolver: &'a Resolver<'a>, named: &'a [Named<'a>], around: Option<&'a Scope>) -> Self {
        Self {
            resolver,
            named,
            around,
            joins: RefCell::default(),
            strict: Cell::new(false),
            known: RefCell::default(),
        }
    }

    /// What a subquery stands for; `tested` is what IN looks for.
    pub(super) fn resolved(&self, expr: &ast::Expr, tested: Option<Expr>) -> Result<Expr> {
        use ast::Expr as E;
        if let Some(known) = self.known.borrow().get(&std::ptr::from_ref(expr)) {
            return Ok(known.clone());
        }
        let found = match (expr, tested) {
            (E::Exists { subquery, negated }, _) => self.exists(subquery, *negated, at(expr)),
            (
                E::InSubquery {
                    subquery, negated, ..
                },
                Some(tested),
            ) => self.is_in(tested, subquery, *negated, at(expr)),
            (E::Subquery(subquery), _) => self.value(subquery, at(expr)),
            _ => Err(Error::query(at(expr), "write EXISTS (SELECT …) or IN (SELECT …)")),
        }?;
        self.known
            .borrow_mut()
            .insert(std::ptr::from_ref(expr), found.clone());
        Ok(found)
    }

    fn count(&self) -> usize {
        self.joins.borrow().len()
    }

    /// The rows of a subquery before it makes anything of them.
    fn inner<'q>(&self, query: &'q ast::Query) -> Result<Inner<'q>> {
        match &*query.body {
            ast::SetExpr::Select(select) if query.with.is_none() && query.limit_clause.is_none() => {
                let From { relation, scope } = self.resolver.from(&select.from, self.named)?;
                let condition = select.selection.as_ref();
                let (relation, compared) =
                    self.resolver
                        .kept(condition, (relation, &scope), self.named, self.around)?;
                Ok(Inner::Select(Box::new(Rows {
                    select,
                    relation,
                    scope,
                    compared,
                })))
            }
            _ => Ok(Inner::Whole(self.resolver.query(query, self.named)?.relation)),
        }
    }

    /// Joins with `relation`, whose columns are then these.
    fn join(&self, relation: Relation, on: Vec<(Expr, Expr)>, required: bool) -> Vec<Expr> {
        let mut joins = self.joins.borrow_mut();
        let first = JOINED + joins.len() * APART;
        let outer = !required && !on.is_empty();
        let columns = relation.columns.iter().enumerate();
        let columns = columns
            .map(|(at, info)| Expr::column(first + at, info.kind, info.nullable || outer))
            .collect();
        joins.push(Join {
            relation,
            on,
            required,
        });
        columns
    }

    fn exists(&self, query: &ast::Query, negated: bool, at: Option<Place>) -> Result<Expr> {
        let found = match self.inner(query)? {
            Inner::Select(rows) if !is_grouped(rows.select) => self.exists_row(*rows, at)?,
            Inner::Select(rows) => {
                rows.compared.refused(at)?;
                self.is_any(self.resolver.query(query, self.named)?.relation, at)?
            }
            Inner::Whole(relation) => self.is_any(relation, at)?,
        };
        Ok(if negated { found.not() } else { found })
    }

    /// Whether a relation, which is the same for all rows, has any.
    fn is_any(&self, relation: Relation, at: Option<Place>) -> Result<Expr> {
        let all = self.groups(relation, Vec::new(), vec![Aggregate::rows()], at)?;
        let columns = self.join(all, Vec::new(), true);
        Ok(
            Expr::compare(Comparison::Less, Expr::number(0, 0), columns[0].clone())
                .expect("both are numbers"),
        )
    }

    fn exists_row(&self, rows: Rows<'_>, at: Option<Place>) -> Result<Expr> {
        let Compared { equal, unequal } = rows.compared;
        if equal.is_empty() && unequal.is_empty() {
            return self.is_any(rows.relation, at);
        }
        if equal.is_empty() || unequal.len() > 1 {
            let what = "a subquery of EXISTS may compare its columns with those of the query around it by =, and besides by one <>";
            return Err(Error::query(at, what));
        }
        let (around, keys): (Vec<Expr>, Vec<Expr>) = equal.into_iter().unzip();
        // Something is not equal if the least or the greatest is not.
        let bounds = unequal.iter().flat_map(|(_, own)| {
            [Function::Least, Function::Greatest].map(|function| Aggregate {
                function,
                of: own.clone(),
            })
        });
        let count = keys.len();
        let groups = self.groups(rows.relation, keys, bounds.collect(), at)?;
        let on = around.into_iter().zip(groups.all()).collect();
        let strict = self.strict.get();
        let columns = self.join(groups, on, strict);
        let differs = unequal.into_iter().next().map(|(around, _)| {
            let differs = |bound: &Expr| {
                let same = Expr::compare(Comparison::Equal, bound.clone(), around.clone());
                same.expect("they were compared").not()
            };
            or_else(differs(&columns[count]).or(differs(&columns[count + 1])), false)
        });
        let matched = match strict {
            true => Expr::bool(true),
            false => columns[0].clone().missing().not(),
        };
        Ok(match differs {
            Some(differs) if strict => differs,
            Some(differs) => matched.and(differs),
            None => matched,
        })
    }

    fn is_in(&self, tested: Expr, query: &ast::Query, negated: bool, at: Option<Place>) -> Result<Expr> {
        let (relation, value, compared) = match self.inner(query)? {
            Inner::Select(rows) if !is_grouped(rows.select) => {
                let Rows {
                    select,
                    relation,
                    scope,
                    compared,
                } = *rows;
                let mut context = Context::new(&scope, self.resolver.work);
                let columns = self.resolver.projection(&select.projection, &mut context)?;
                let value = one_column(columns.into_iter().map(|(_, value)| value), at)?;
                (relation, value, compared)
            }
            Inner::Select(rows) => {
                rows.compared.refused(at)?;
                let relation = self.resolver.query(query, self.named)?.relation;
                let value = one_column(relation.all().into_iter(), at)?;
                (relation, value, Compared::default())
            }
            Inner::Whole(relation) => {
                let value = one_column(relation.all().into_iter(), at)?;
                (relation, value, Compared::default())
            }
        };
        if !compared.unequal.is_empty() {
            return Err(only_equal(at));
        }
        let (tested, value) = meeting(tested, value).map_err(|what| Error::query(at, what))?;
        if Expr::compare(Comparison::Equal, tested.clone(), value.clone()).is_none() {
            let (one, other) = (tested.kind.name(), value.kind.name());
            let what = format!("IN looks for {one} among {other}; compare values of the same type");
            return Err(Error::query(at, what));
        }
        let strict = self.strict.get() && !negated;
        let unknown = match strict || !(tested.nullable || value.nullable) {
            true => None,
            false => Some(self.is_unknown(&relation, (&tested, &value), &compared.equal, at)?),
        };
        let (mut around, mut keys): (Vec<Expr>, Vec<Expr>) = compared.equal.into_iter().unzip();
        around.push(tested);
        keys.push(value);
        let last = keys.len() - 1;
        let groups = self.groups(relation, keys, Vec::new(), at)?;
        let on = around.into_iter().zip(groups.all()).collect();
        let columns = self.join(groups, on, strict);
        if strict {
            return Ok(Expr::bool(true));
        }
        let found = columns[last].clone().missing().not();
        let found = match unknown {
            None => found,
            Some(unknown) => {
                let otherwise = Expr::choice(unknown, Expr::null(ValueKind::Bool), Expr::bool(false));
                Expr::choice(found, Expr::bool(true), otherwise.expect("both are truth values"))
                    .expect("both are truth values")
            }
        };
        Ok(if negated { found.not() } else { found })
    }

    /// Whether it is not known that a value is not among others if it was not found there: because it is null and there are others, or one of them is.
    fn is_unknown(
        &self,
        relation: &Relation,
        (tested, value): (&Expr, &Expr),
        equal: &[(Expr, Expr)],
        at: Option<Place>,
    ) -> Result<Expr> {
        self.resolver.work.make(relation.parts(), at)?;
        let (around, keys): (Vec<Expr>, Vec<Expr>) = equal.iter().cloned().unzip();
        let count = keys.len();
        let values = Aggregate {
            function: Function::Count,
            of: value.clone(),
        };
        let groups = self.groups(relation.clone(), keys, vec![Aggregate::rows(), values], at)?;
        let on = around.into_iter().zip(groups.all()).collect();
        let columns = self.join(groups, on, false);
        let or_zero = |count: &Expr| count.clone().with_default(Expr::number(0, 0));
        let [all, values] = [&columns[count], &columns[count + 1]].map(or_zero);
        let less = |x: Expr, y: Expr| Expr::compare(Comparison::Less, x, y).expect("both are numbers");
        let some = less(Expr::number(0, 0), all.clone());
        Ok(tested.clone().missing().and(some).or(less(values, all)))
    }

    /// The one value of a subquery.
    fn value(&self, query: &ast::Query, at: Option<Place>) -> Result<Expr> {
        let Inner::Select(rows) = self.inner(query)? else {
            return Err(no_value(at));
        };
        let Rows {
            select,
            relation,
            scope,
            compared,
        } = *rows;
        let grouping = self.resolver.grouping(select, &[], &scope, &relation)?;
        let Some(mut grouping) =
            grouping.filter(|grouping| grouping.keys.is_empty() && grouping.sets.is_none())
        else {
            return Err(no_value(at));
        };
        if select.having.is_some() || select.qualify.is_some() {
            return Err(no_value(at));
        }
        if !compared.unequal.is_empty() {
            return Err(only_equal(at));
        }
        let (around, keys): (Vec<Expr>, Vec<Expr>) = compared.equal.into_iter().unzip();
        let count = keys.len();
        (grouping.grouped, grouping.keys) = (count > 0, keys);
        let mut context = Context::grouped(&scope, self.resolver.work, Some(&mut grouping));
        let columns = self.resolver.projection(&select.projection, &mut context)?;
        let value = one_column(columns.into_iter().map(|(_, value)| value), at)?;
        let of_nothing = grouping.of_nothing(&value);
        let groups = grouped(relation, grouping, (self.resolver.work, at))?;
        let keys = groups.all().into_iter().take(count);
        let columns = keys.chain([value]).map(|column| (String::new(), column));
        let groups = groups.project(columns.collect());
        let on: Vec<(Expr, Expr)> = around.into_iter().zip(groups.all()).collect();
        let strict = self.strict.get() && matches!(of_nothing.node, Node::Null);
        let columns = self.join(groups, on, strict);
        let value = columns[count].clone();
        if count == 0 || matches!(of_nothing.node, Node::Null) {
            return Ok(value);
        }
        let missing = columns[0].clone().missing();
        Ok(Expr::choice(missing, of_nothing, value).expect("both are of a kind"))
    }

    /// Groups of the rows of a relation.
    fn groups(
        &self,
        relation: Relation,
        keys: Vec<Expr>,
        aggregates: Vec<Aggregate>,
        at: Option<Place>,
    ) -> Result<Relation> {
        few_columns(keys.len() + aggregates.len() + 2, at)?;
        let rows = relation.most_rows(self.resolver.schema);
        Ok(Relation {
            at,
            ..relation.grouped(keys, aggregates, rows)
        })
    }

    /// The relation with all that was joined, and these expressions over it.
    pub(super) fn joined(self, mut relation: Relation, exprs: Vec<Expr>) -> Result<(Relation, Vec<Expr>)> {
        let mut firsts = Vec::new();
        for Join {
            relation: other,
            on,
            required,
        } in self.joins.into_inner()
        {
            let first = relation.columns.len();
            few_columns(first + other.columns.len(), other.at)?;
            let all = relation.all();
            let on = on
                .into_iter()
                .map(|(around, own)| (placed(&around, &all, &firsts), own));
            let on: Vec<(Expr, Expr)> = on.collect();
            firsts.push(first);
            let at = relation.at;
            relation = match required || on.is_empty() {
                true => relation.inner_join(other, on),
                false => relation.left_join(other, on, at),
            };
        }
        let all = relation.all();
        let exprs = exprs.iter().map(|expr| placed(expr, &all, &firsts)).collect();
        Ok((relation, exprs))
    }
}

/// The expression where the columns of joined relations come from these places on.
fn placed(expr: &Expr, columns: &[Expr], firsts: &[usize]) -> Expr {
    expr.placed(&|part| match part.node {
        Node::Column(column) if column < JOINED => Some(columns[column].clone()),
        Node::Column(column) if column < WINDOWED => {
            let joined = column - JOINED;
            Some(columns[firsts[joined / APART] + joined % APART].clone())
        }
        // They come later.
        Node::Column(_) => Some(part.clone()),
        _ => None,
    })
}

fn no_value(at: Option<Place>) -> Error {
    let what = "a subquery that stands for a value must give one row: make it an aggregate without GROUP BY, such as SELECT MAX(x) FROM …";
    Error::query(at, what)
}

fn one_column(mut columns: impl Iterator<Item = Expr>, at: Option<Place>) -> Result<Expr> {
    match (columns.next(), columns.next()) {
        (Some(column), None) => Ok(column),
        _ => Err(Error::query(at, "this subquery must have one column")),
    }
}

/// Whether SELECT makes something of groups, or of the rows around each.
fn is_grouped(select: &ast::Select) -> bool {
    let keys = match &select.group_by {
        ast::GroupByExpr::Expressions(keys, _) => !keys.is_empty(),
        ast::GroupByExpr::All(_) => true,
    };
    keys || has_aggregates(select, &[]) || has_windows(select)
}

impl Grouping {
    /// What an expression of a group is for a group of no rows.
    fn of_nothing(&self, expr: &Expr) -> Expr {
        expr.over(&|column| {
            let aggregate = column
                .checked_sub(self.keys.len())
                .map(|at| &self.aggregates[at].0);
            match aggregate.map(|aggregate| (aggregate, aggregate.function)) {
                Some((aggregate, Function::Rows | Function::Count)) => {
                    Expr::number(0, 0).into_kind(aggregate.kind(self.rows, self.grouped).0)
                }
                Some((aggregate, _)) => Expr::null(aggregate.kind(self.rows, self.grouped).0),
                None => Expr::null(self.keys[column].kind),
            }
        })
    }
}

/// Where a subquery may not stand.
pub(super) fn misplaced(expr: &ast::Expr) -> Error {
    let what = "a subquery can stand in FROM, WHERE, HAVING and after SELECT, but not inside GROUP BY, ORDER BY, the condition of a JOIN or an aggregate";
    Error::query(place(expr.span()), what)
}
