//! The order of rows, and the first of them.

use std::ops::Range;

use sqlparser::ast;
use sqlparser::tokenizer::Span;

use super::expression;
use super::resolver::Resolved;
use super::scope::place;
use crate::error::{Error, Result};
use crate::expr::Expr;
use crate::relation::{Operation, Order, Relation};

/// A key of ORDER BY, which is `expr` of the rows. Nulls come last unless it says otherwise, as in DuckDB and, in ascending order, PostgreSQL.
pub(super) fn ordered_by(by: &ast::OrderByExpr, expr: Expr) -> Result<Order> {
    let descending = match by.options.sort {
        None | Some(ast::OrderBySort::Asc) => false,
        Some(ast::OrderBySort::Desc) => true,
        Some(ast::OrderBySort::Using(_)) => {
            let what = "ORDER BY takes ASC or DESC";
            return Err(Error::query(expression::at(&by.expr), what));
        }
    };
    if by.with_fill.is_some() {
        return Err(Error::query(
            expression::at(&by.expr),
            "WITH FILL is not supported",
        ));
    }
    Ok(Order {
        by: expr,
        descending,
        nulls_first: by.options.nulls_first.unwrap_or(false),
    })
}

/// Some rows, if there is a limit; or else the order that the answer is shown in.
pub(super) fn first(relation: Relation, order: Vec<Order>, limit: Option<Range<usize>>) -> Resolved {
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

/// The place of the column of the answer that has this number.
pub(super) fn numbered(number: &str, span: Span, columns: usize) -> Result<usize> {
    let at = number.parse().ok().and_then(|at: usize| at.checked_sub(1));
    at.filter(|&at| at < columns).ok_or_else(|| {
        let what = format!("the answer has no column {number}; its last is {columns}");
        Error::query(place(span), what)
    })
}
