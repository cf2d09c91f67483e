//! From the text of a query to operations on relations: names are found, types are checked.

mod expression;
mod from;
mod function;
mod literal;
mod scope;
mod select;

use std::cell::Cell;
use std::rc::Rc;

use sqlparser::ast::{self, SetExpr, SetOperator, SetQuantifier, Spanned, Statement};
use sqlparser::dialect::GenericDialect;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::{Token, Tokenizer};

use self::scope::{means, place};
use crate::error::{Error, Place, Result};
use crate::expr::{Expr, Kind, Node};
use crate::relation::{Info, Operation, Order, Relation};
use crate::schema::{MAX_NAME, MAX_ROWS, Schema};
use crate::work::{Work, few_columns};

/// Longest text of a query, in bytes.
const MAX_LENGTH: usize = 1 << 16;
/// Most words and signs of a query, constants and commas not counted.
const MAX_WORDS: usize = 2000;
/// How deep parts of a query may stand within one another.
const MAX_DEPTH: usize = 40;
/// How many steps of a query may follow from one another, such as those of a subquery of a subquery.
const MAX_STEPS: usize = 100;

/// A query that makes sense.
#[derive(Debug)]
pub(crate) struct Resolved {
    pub(crate) relation: Relation,
    /// The order of the answer, if it is one of its own columns: where each stands, and what it is ordered by.
    pub(crate) order: Vec<Order>,
    /// Whether the rows of the relation come in the order that the query wants.
    pub(crate) is_ordered: bool,
}

/// The query `sql` over the tables of `schema`.
///
/// # Errors
/// [`Error::Query`] with the place.
pub(crate) fn resolve(sql: &str, schema: &Schema, work: &Work) -> Result<Resolved> {
    if sql.len() > MAX_LENGTH {
        return Err(Error::query(None, format!("it has more than {MAX_LENGTH} bytes")));
    }
    let dialect = GenericDialect {};
    let tokens = Tokenizer::new(&dialect, sql).tokenize_with_location();
    let tokens = tokens.map_err(|error| unparsed(&error.into(), sql))?;
    // What is read stands as deep within other parts as there are words.
    if tokens.iter().filter(|token| is_word(&token.token)).count() > MAX_WORDS {
        let what = format!("it has more than {MAX_WORDS} words and signs besides constants and commas");
        return Err(Error::query(None, what));
    }
    let statements = Parser::new(&dialect)
        .with_recursion_limit(MAX_DEPTH)
        .with_tokens_with_locations(tokens)
        .parse_statements()
        .map_err(|error| unparsed(&error, sql))?;
    let query = match statements.as_slice() {
        [Statement::Query(query)] => query,
        [other] => {
            return Err(Error::query(
                place(other.span()),
                "a query begins with SELECT or WITH",
            ));
        }
        [] => return Err(Error::query(None, "it is empty")),
        _ => {
            return Err(Error::query(
                place(statements[1].span()),
                "there is one query to a job",
            ));
        }
    };
    let resolver = Resolver {
        schema,
        work,
        tables: Cell::new(0),
    };
    resolver.query(query, &[])
}

fn is_word(token: &Token) -> bool {
    !matches!(
        token,
        Token::Whitespace(_) | Token::Comma | Token::Number(..) | Token::SingleQuotedString(_) | Token::EOF
    )
}

/// What the parser says, with the place apart.
fn unparsed(error: &ParserError, sql: &str) -> Error {
    let text = match error {
        ParserError::TokenizerError(text) | ParserError::ParserError(text) => text.clone(),
        ParserError::RecursionLimitExceeded => {
            return Error::query(
                None,
                format!("its parts stand within one another more than {MAX_DEPTH} deep"),
            );
        }
    };
    let found = text.rsplit_once(" at Line: ").and_then(|(what, at)| {
        let (line, column) = at.split_once(", Column: ")?;
        let at = Place {
            line: line.trim().parse().ok()?,
            column: column.trim().parse().ok()?,
        };
        Some((what.to_owned(), at))
    });
    match found {
        Some((what, at)) => Error::query(Some(at), format!("cannot be read: {what}")),
        // What is missing is missing at the end.
        None => Error::query(
            text.ends_with("EOF").then(|| end(sql)),
            format!("cannot be read: {text}"),
        ),
    }
}

/// The place behind the last character.
fn end(sql: &str) -> Place {
    let sql = sql.trim_end();
    let last = sql.lines().last().unwrap_or_default();
    Place {
        line: sql.lines().count().max(1) as u64,
        column: last.chars().count() as u64 + 1,
    }
}

/// A subquery of WITH.
struct Named<'a> {
    name: &'a ast::Ident,
    relation: Rc<Relation>,
}

struct Resolver<'a> {
    schema: &'a Schema,
    work: &'a Work,
    /// Tables so far.
    tables: Cell<usize>,
}

impl Resolver<'_> {
    fn query(&self, query: &ast::Query, outer: &[Named<'_>]) -> Result<Resolved> {
        let mut named: Vec<Named<'_>> = outer
            .iter()
            .map(|known| Named {
                name: known.name,
                relation: Rc::clone(&known.relation),
            })
            .collect();
        if let Some(with) = &query.with {
            if with.recursive {
                return Err(Error::query(
                    place(with.with_token.0.span),
                    "WITH RECURSIVE is not there",
                ));
            }
            for cte in &with.cte_tables {
                let mut relation = self.query(&cte.query, &named)?.relation;
                rename(&mut relation, &cte.alias)?;
                named.push(Named {
                    name: &cte.alias.name,
                    relation: Rc::new(relation),
                });
            }
        }
        let refused = [
            (query.fetch.is_some(), "FETCH is not there; write LIMIT"),
            (!query.locks.is_empty(), "FOR UPDATE is not there"),
            (query.for_clause.is_some(), "FOR is not there"),
            (
                query.settings.is_some() || query.format_clause.is_some(),
                "SETTINGS and FORMAT are not there",
            ),
            (!query.pipe_operators.is_empty(), "|> is not there"),
        ];
        refuse(place(query.span()), &refused)?;
        let limit = self.limit(query.limit_clause.as_ref())?;
        let by = match &query.order_by {
            None => &[][..],
            Some(ast::OrderBy {
                kind: ast::OrderByKind::Expressions(by),
                interpolate: None,
            }) => by,
            Some(_) => return Err(Error::query(place(query.span()), "ORDER BY names columns")),
        };
        match &*query.body {
            SetExpr::Select(select) => self.select(select, by, limit, &named),
            SetExpr::Query(query) if by.is_empty() && limit.is_none() => self.query(query, &named),
            body => {
                let relation = self.body(body, &named)?;
                self.ordered(relation, by, limit)
            }
        }
    }

    /// A relation ordered by columns of its own.
    fn ordered(&self, relation: Relation, by: &[ast::OrderByExpr], limit: Option<usize>) -> Result<Resolved> {
        few_columns(by.len(), relation.at)?;
        let order = by
            .iter()
            .map(|by| {
                let column = self.output(&relation, &by.expr)?.ok_or_else(|| {
                    Error::query(
                        expression::at(&by.expr),
                        "ORDER BY names columns of the answer here",
                    )
                })?;
                ordered_by(by, column)
            })
            .collect::<Result<Vec<_>>>()?;
        Ok(first(relation, order, limit))
    }

    /// The column of the answer that is meant by its name or number.
    fn output(&self, relation: &Relation, expr: &ast::Expr) -> Result<Option<Expr>> {
        let all = relation.all();
        match expr {
            ast::Expr::Identifier(name) => {
                let at = relation
                    .columns
                    .iter()
                    .position(|column| means(name, &column.name));
                Ok(at.map(|at| all[at].clone()))
            }
            ast::Expr::Value(value) => match &value.value {
                ast::Value::Number(number, _) => {
                    let at = select::numbered(number, value.span, all.len())?;
                    Ok(Some(all[at].clone()))
                }
                _ => Ok(None),
            },
            _ => Ok(None),
        }
    }

    fn limit(&self, clause: Option<&ast::LimitClause>) -> Result<Option<usize>> {
        let limit = match clause {
            None => return Ok(None),
            Some(ast::LimitClause::LimitOffset {
                limit,
                offset: None,
                limit_by,
            }) if limit_by.is_empty() => limit,
            Some(clause) => {
                let what = "OFFSET is not there; write LIMIT alone";
                return Err(Error::query(place(clause.span()), what));
            }
        };
        let Some(limit) = limit else { return Ok(None) };
        let wrong = || Error::query(expression::at(limit), "LIMIT takes a number of rows, at least 1");
        match limit {
            ast::Expr::Value(value) => match &value.value {
                ast::Value::Number(number, _) => match number.parse() {
                    Ok(0) | Err(_) => Err(wrong()),
                    Ok(count) => Ok(Some(count)),
                },
                _ => Err(wrong()),
            },
            _ => Err(wrong()),
        }
    }

    fn body(&self, body: &SetExpr, named: &[Named<'_>]) -> Result<Relation> {
        match body {
            SetExpr::Select(select) => Ok(self.select(select, &[], None, named)?.relation),
            SetExpr::Query(query) => Ok(self.query(query, named)?.relation),
            SetExpr::SetOperation {
                left,
                op,
                set_quantifier,
                right,
            } => {
                let at = place(body.span());
                let distinct = match (op, set_quantifier) {
                    (SetOperator::Union, SetQuantifier::All) => false,
                    (SetOperator::Union, SetQuantifier::None | SetQuantifier::Distinct) => true,
                    _ => return Err(Error::query(at, "of UNION, EXCEPT and INTERSECT, UNION is there")),
                };
                let both = [self.body(left, named)?, self.body(right, named)?];
                let union = union(both, at)?;
                Ok(if distinct { select::distinct(union) } else { union })
            }
            other => Err(Error::query(place(other.span()), "SELECT stands here")),
        }
    }
}

/// The rows of both, whose columns go together.
fn union(both: [Relation; 2], at: Option<Place>) -> Result<Relation> {
    let [left, right] = both;
    if left.columns.len() != right.columns.len() {
        let what = format!(
            "the parts of a UNION have {} columns and {}; they must have as many",
            left.columns.len(),
            right.columns.len()
        );
        return Err(Error::query(at, what));
    }
    let mut columns = Vec::new();
    for (one, other) in left.columns.iter().zip(&right.columns) {
        let kind = one.kind.unified(other.kind).ok_or_else(|| {
            let what = format!(
                "column {} of the parts of a UNION is {} and {}",
                one.name,
                one.kind.name(),
                other.kind.name()
            );
            Error::query(at, what)
        })?;
        columns.push(Info {
            name: one.name.clone(),
            kind,
            nullable: one.nullable || other.nullable,
        });
    }
    let mut inputs = Vec::new();
    for part in [left, right] {
        let same = part
            .columns
            .iter()
            .zip(&columns)
            .all(|(own, all)| own.kind == all.kind);
        let exprs = part.all().into_iter().zip(&columns);
        let exprs = exprs
            .map(|(own, all)| (all.name.clone(), own.into_kind(all.kind)))
            .collect();
        let part = if same { part } else { part.project(exprs) };
        // Parts of parts are parts.
        match part.operation {
            Operation::Union(parts) => inputs.extend(parts),
            _ => inputs.push(part),
        }
    }
    Ok(Relation {
        operation: Operation::Union(inputs),
        columns,
        at,
    })
}

fn ordered_by(by: &ast::OrderByExpr, expr: Expr) -> Result<Order> {
    let descending = match by.options.sort {
        None | Some(ast::OrderBySort::Asc) => false,
        Some(ast::OrderBySort::Desc) => true,
        Some(ast::OrderBySort::Using(_)) => {
            let what = "of orders there are ASC and DESC";
            return Err(Error::query(expression::at(&by.expr), what));
        }
    };
    if by.with_fill.is_some() {
        return Err(Error::query(expression::at(&by.expr), "WITH FILL is not there"));
    }
    Ok(Order {
        by: expr,
        descending,
        nulls_first: by.options.nulls_first.unwrap_or(!descending),
    })
}

/// The first rows, if there is a limit; or else the order that the answer is shown in.
fn first(relation: Relation, order: Vec<Order>, limit: Option<usize>) -> Resolved {
    match limit {
        None => Resolved {
            relation,
            order,
            is_ordered: false,
        },
        Some(limit) => Resolved {
            relation: Relation {
                columns: relation.columns.clone(),
                at: relation.at,
                operation: Operation::First(Box::new(relation), order.clone(), limit),
            },
            order,
            is_ordered: true,
        },
    }
}

/// Gives a subquery and its columns the names of an alias.
fn rename(relation: &mut Relation, alias: &ast::TableAlias) -> Result<()> {
    if alias.columns.is_empty() {
        return Ok(());
    }
    if alias.columns.len() != relation.columns.len() {
        let (names, columns) = (alias.columns.len(), relation.columns.len());
        let what = format!("{} names {names} columns, and there are {columns}", alias.name);
        return Err(Error::query(place(alias.name.span), what));
    }
    for (column, name) in relation.columns.iter_mut().zip(&alias.columns) {
        short(&name.name)?;
        column.name.clone_from(&name.name.value);
    }
    Ok(())
}

/// Sees that a name is not too long: it stands wherever its column does.
fn short(name: &ast::Ident) -> Result<()> {
    if name.value.len() <= MAX_NAME {
        return Ok(());
    }
    let what = format!("a name has at most {MAX_NAME} bytes");
    Err(Error::query(place(name.span), what))
}

fn refuse(at: Option<Place>, refused: &[(bool, &str)]) -> Result<()> {
    match refused.iter().find(|(is, _)| *is) {
        Some((_, what)) => Err(Error::query(at, *what)),
        None => Ok(()),
    }
}

/// The most rows that a relation may have.
fn most_rows(relation: &Relation, schema: &Schema) -> u64 {
    let rows = match &relation.operation {
        Operation::Scan(table) => schema.tables[*table].max_rows as u64,
        Operation::Project(input, _) | Operation::Filter(input, _) => most_rows(input, schema),
        Operation::Inner(inputs, _) => inputs.iter().fold(1, |rows, input| {
            u64::saturating_mul(rows, most_rows(input, schema))
        }),
        Operation::Left { left, right, .. } => {
            most_rows(left, schema).saturating_mul(most_rows(right, schema).max(1))
        }
        Operation::Union(inputs) => inputs
            .iter()
            .map(|input| most_rows(input, schema))
            .fold(0, u64::saturating_add),
        Operation::Group { grouped: false, .. } => 1,
        Operation::Group { input, .. } => most_rows(input, schema),
        Operation::First(input, _, limit) => most_rows(input, schema).min(*limit as u64),
    };
    rows.min(MAX_ROWS as u64)
}

/// A truth value that is known.
fn known(expr: &Expr) -> Option<bool> {
    match (&expr.node, expr.kind) {
        (Node::Number(value), Kind::Bool) => Some(*value == 1),
        _ => None,
    }
}
