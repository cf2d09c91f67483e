//! From the text of a query to its tree, no larger and no deeper than any may be.

use sqlparser::ast::{self, Spanned, Statement};
use sqlparser::dialect::GenericDialect;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::{Token, Tokenizer};

use super::scope::place;
use crate::error::{Error, Place, Result};
use crate::parameter::{Parameter, filled};

/// The operators that there are.
pub(super) const OPERATORS: &str = "+ - * / % || = <> < <= > >= AND OR NOT";

/// Longest text of a query, in bytes.
const MAX_LENGTH: usize = 1 << 16;
/// Most words and signs of a query, constants and commas not counted.
const MAX_WORDS: usize = 2000;
/// Most characters of an operator that a message tells.
const MAX_OPERATOR: usize = 40;
/// How deep parts of a query may stand within one another.
const MAX_DEPTH: usize = 40;

/// The one query that `sql` is, with the values of `parameters` in their places.
///
/// # Errors
/// [`Error::Query`] with the place; [`Error::Declared`] if it does not have one of the parameters.
pub(super) fn parse(sql: &str, parameters: &[Parameter]) -> Result<Box<ast::Query>> {
    if sql.len() > MAX_LENGTH {
        return Err(Error::query(
            None,
            format!("it is longer than {MAX_LENGTH} bytes; shorten it"),
        ));
    }
    let dialect = GenericDialect {};
    let tokens = Tokenizer::new(&dialect, sql).tokenize_with_location();
    let tokens = tokens.map_err(|error| unparsed(&error.into(), sql))?;
    // What is read stands as deep within other parts as there are words.
    if tokens.iter().filter(|token| is_word(&token.token)).count() > MAX_WORDS {
        let what = format!(
            "it has more than {MAX_WORDS} words and signs (constants and commas are not counted); ask for less at once"
        );
        return Err(Error::query(None, what));
    }
    let tokens = filled(tokens, parameters).map_err(|unused| {
        Error::Declared(format!(
            "the query has no parameter :{unused}; leave it out of [parameters]"
        ))
    })?;
    let mut statements = Parser::new(&dialect)
        .with_recursion_limit(MAX_DEPTH)
        .with_tokens_with_locations(tokens)
        .parse_statements()
        .map_err(|error| unparsed(&error, sql))?;
    if let Some(second) = statements.get(1) {
        return Err(Error::query(
            place(second.span()),
            "a job has one query; remove the second",
        ));
    }
    match statements.pop() {
        Some(Statement::Query(query)) => Ok(query),
        Some(other) => Err(Error::query(
            place(other.span()),
            "a query begins with SELECT or WITH",
        )),
        None => Err(Error::query(None, "it is empty; write SELECT …")),
    }
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
                format!("it is nested more than {MAX_DEPTH} deep; use fewer brackets and subqueries"),
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
        Some((what, at)) => Error::query(Some(at), unread(&what, at, sql)),
        // What is missing is missing at the end.
        None => Error::query(
            text.ends_with("EOF").then(|| end(sql)),
            format!("cannot be read: {text}"),
        ),
    }
}

/// What cannot be read. Of an operator that there is not, the parser tells how it keeps it.
fn unread(what: &str, at: Place, sql: &str) -> String {
    if !what.starts_with("No infix parser for token") {
        return format!("cannot be read: {what}");
    }
    let before = |place: u64| usize::try_from(place).map_or(0, |place| place.saturating_sub(1));
    let line = sql.lines().nth(before(at.line)).unwrap_or_default();
    let mut rest = line.chars().skip(before(at.column)).peekable();
    let in_word = |char: &char| char.is_alphanumeric() || *char == '_';
    let operator: String = match rest.peek().is_some_and(in_word) {
        true => rest.take_while(in_word).take(MAX_OPERATOR).collect(),
        false => rest.take(1).collect(),
    };
    let operator = operator.to_uppercase();
    format!("the operator {operator} is not supported; use {OPERATORS}")
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
