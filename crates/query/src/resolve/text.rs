//! Functions of texts. One party computes them of its own columns; few have a circuit.

use cenote_tables::MAX_CHARS;
use sqlparser::ast::{self, TrimWhereField};

use super::expression::{Context, at};
use crate::call::{Call, Named};
use crate::error::{Error, Result};
use crate::expr::{Comparison, Expr, Node, ValueKind};

impl Context<'_> {
    /// A text.
    fn text(&mut self, expr: &ast::Expr, name: &str) -> Result<Expr> {
        let value = self.expression(expr)?;
        match (value.kind, &value.node) {
            (_, Node::Null) => Ok(Expr::null(ValueKind::Text(1))),
            (ValueKind::Text(_), _) => Ok(value),
            (kind, _) => {
                let what = format!(
                    "{name} needs text, but this is {}; CAST(… AS varchar) makes text of it",
                    kind.name()
                );
                Err(Error::query(at(expr), what))
            }
        }
    }

    /// A whole number.
    fn whole(&mut self, expr: &ast::Expr, name: &str) -> Result<Expr> {
        let value = self.expression(expr)?;
        match (value.kind, &value.node) {
            (_, Node::Null) => Ok(Expr::null(ValueKind::exactly(0, 0))),
            (ValueKind::Number { scale: 0, .. }, _) => Ok(value),
            (kind, _) => {
                let what = match kind {
                    ValueKind::Number { .. } => "a number with decimal places; use ROUND",
                    kind => kind.name(),
                };
                let what = format!("{name} needs a whole number here, but this is {what}");
                Err(Error::query(at(expr), what))
            }
        }
    }

    /// A function of texts, if `name` is one with such arguments.
    pub(super) fn of_text(
        &mut self,
        whole: &ast::Expr,
        name: &str,
        of: &[&ast::Expr],
    ) -> Result<Option<Expr>> {
        let named = |name| Named { name, at: at(whole) };
        let (call, name, parts) = match (name, of) {
            ("UPPER" | "UCASE", [x]) => (Call::Upper, "UPPER", vec![self.text(x, name)?]),
            ("LOWER" | "LCASE", [x]) => (Call::Lower, "LOWER", vec![self.text(x, name)?]),
            ("REVERSE", [x]) => (Call::Reverse, "REVERSE", vec![self.text(x, name)?]),
            ("LENGTH" | "LEN" | "CHAR_LENGTH" | "CHARACTER_LENGTH", [x]) => {
                (Call::Length, "LENGTH", vec![self.text(x, name)?])
            }
            ("OCTET_LENGTH" | "STRLEN", [x]) => (Call::Bytes, "OCTET_LENGTH", vec![self.text(x, name)?]),
            ("STRPOS" | "INSTR", [x, part]) | ("POSITION" | "LOCATE" | "CHARINDEX", [part, x]) => (
                Call::Position,
                "POSITION",
                vec![self.text(part, name)?, self.text(x, name)?],
            ),
            ("CONTAINS", [x, part]) => {
                let parts = vec![self.text(part, name)?, self.text(x, name)?];
                let place = Expr::call(Call::Position, named("CONTAINS"), parts);
                return self
                    .compared(whole, Comparison::Less, Expr::number(0, 0), place)
                    .map(Some);
            }
            ("STARTS_WITH" | "PREFIX", [x, start]) => {
                let (x, start) = (self.text(x, name)?, self.text(start, name)?);
                if let Node::Text(bytes) = &start.node {
                    let bytes = bytes.iter().copied().take_while(|byte| *byte != 0).collect();
                    return Ok(Some(x.starts_with(bytes)));
                }
                (Call::Begins, "STARTS_WITH", vec![x, start])
            }
            ("ENDS_WITH" | "SUFFIX", [x, end]) => (
                Call::Ends,
                "ENDS_WITH",
                vec![self.text(x, name)?, self.text(end, name)?],
            ),
            ("CONCAT", [first, rest @ ..]) => {
                let mut all = self.or_empty(whole, first)?;
                for next in rest {
                    let next = self.or_empty(whole, next)?;
                    all = self.fitting(whole, Expr::call(Call::Join, named("CONCAT"), vec![all, next]))?;
                }
                return Ok(Some(all));
            }
            _ => return self.part_of_text(whole, name, of),
        };
        Ok(Some(Expr::call(call, named(name), parts)))
    }

    /// A part of a text, or a text with other parts, if `name` is such a function.
    fn part_of_text(&mut self, whole: &ast::Expr, name: &str, of: &[&ast::Expr]) -> Result<Option<Expr>> {
        let blank = || Expr::constant(Node::Text(b" ".to_vec()), ValueKind::Text(1));
        let (call, name, parts) = match (name, of) {
            ("LEFT", [x, count]) => (
                Call::Left,
                "LEFT",
                vec![self.text(x, name)?, self.whole(count, name)?],
            ),
            ("RIGHT", [x, count]) => (
                Call::Right,
                "RIGHT",
                vec![self.text(x, name)?, self.whole(count, name)?],
            ),
            ("REPLACE", [x, old, new]) => {
                let parts = [x, old, new].map(|part| self.text(part, name));
                (
                    Call::Replace,
                    "REPLACE",
                    parts.into_iter().collect::<Result<_>>()?,
                )
            }
            ("SUBSTRING" | "SUBSTR", [x, from, rest @ ..]) if rest.len() < 2 => {
                let mut parts = vec![self.text(x, name)?, self.whole(from, name)?];
                for count in rest {
                    parts.push(self.whole(count, name)?);
                }
                (Call::Slice, "SUBSTRING", parts)
            }
            ("TRIM" | "BTRIM" | "LTRIM" | "RTRIM", [x, rest @ ..]) if rest.len() < 2 => {
                let those = match rest.first() {
                    Some(those) => self.text(those, name)?,
                    None => blank(),
                };
                let (start, end) = (name != "RTRIM", name != "LTRIM");
                (
                    Call::Trim { start, end },
                    "TRIM",
                    vec![self.text(x, name)?, those],
                )
            }
            ("LPAD" | "RPAD", [x, count, rest @ ..]) if rest.len() < 2 => {
                let with = match rest.first() {
                    Some(with) => self.text(with, name)?,
                    None => blank(),
                };
                let start = name == "LPAD";
                let parts = vec![self.text(x, name)?, self.whole(count, name)?, with];
                (Call::Pad { start }, if start { "LPAD" } else { "RPAD" }, parts)
            }
            _ => return Ok(None),
        };
        let named = Named { name, at: at(whole) };
        Ok(Some(Expr::call(call, named, parts)))
    }

    /// A value as text, and no text where it is null.
    fn or_empty(&mut self, whole: &ast::Expr, x: &ast::Expr) -> Result<Expr> {
        let value = self.expression(x)?;
        let value = written(
            value,
            Named {
                name: "CONCAT",
                at: at(whole),
            },
        );
        Ok(value.with_default(Expr::constant(Node::Text(vec![0]), ValueKind::Text(1))))
    }

    /// `x || y`.
    pub(super) fn joined(&mut self, whole: &ast::Expr, x: Expr, y: Expr) -> Result<Expr> {
        let named = Named {
            name: "||",
            at: at(whole),
        };
        let parts = vec![written(x, named), written(y, named)];
        Ok(Expr::call(Call::Join, named, parts))
    }

    pub(super) fn trimmed(
        &mut self,
        whole: &ast::Expr,
        side: Option<TrimWhereField>,
        (of, those): (&ast::Expr, Option<&ast::Expr>),
    ) -> Result<Expr> {
        let name = match side {
            Some(TrimWhereField::Leading) => "LTRIM",
            Some(TrimWhereField::Trailing) => "RTRIM",
            _ => "TRIM",
        };
        let of: Vec<&ast::Expr> = std::iter::once(of).chain(those).collect();
        let trimmed = self.of_text(whole, name, &of)?;
        Ok(trimmed.expect("it has these arguments"))
    }

    /// Whether a text is like a pattern.
    pub(super) fn like(
        &mut self,
        whole: &ast::Expr,
        (x, pattern): (&ast::Expr, &ast::Expr),
        (escape, any_case): (Option<&ast::Expr>, bool),
    ) -> Result<Expr> {
        let name = if any_case { "ILIKE" } else { "LIKE" };
        let (x, wanted) = (self.text(x, name)?, self.text(pattern, name)?);
        let wrong = |what: &str| Error::query(at(pattern), what);
        let one = || wrong("ESCAPE takes one character, such as ESCAPE '!'");
        let escape = match escape {
            None => None,
            Some(ast::Expr::Value(value)) => match &value.value {
                ast::Value::SingleQuotedString(text) => {
                    let mut chars = text.chars();
                    let escape = chars.next().ok_or_else(one)?;
                    if chars.next().is_some() {
                        return Err(one());
                    }
                    Some(escape)
                }
                _ => return Err(one()),
            },
            Some(_) => return Err(one()),
        };
        let named = Named {
            name,
            at: at(pattern),
        };
        let Node::Text(bytes) = &wanted.node else {
            return Ok(Expr::call(
                Call::Like { escape, any_case },
                named,
                vec![x, wanted],
            ));
        };
        let text = String::from_utf8_lossy(bytes).trim_end_matches('\0').to_owned();
        if escape.is_none() && text.contains('\\') {
            return Err(wrong(
                "say with ESCAPE what a backslash in a pattern means: ESCAPE '\\' or ESCAPE '!'",
            ));
        }
        let fixed = text.strip_suffix('%').unwrap_or(&text);
        let is_fixed = !fixed.contains(['%', '_']) && escape.is_none_or(|escape| !text.contains(escape));
        if any_case || !is_fixed {
            return Ok(Expr::call(
                Call::Like { escape, any_case },
                named,
                vec![x, wanted],
            ));
        }
        match text.ends_with('%') {
            true => Ok(x.starts_with(fixed.as_bytes().to_vec())),
            false => self.compared(whole, Comparison::Equal, x, wanted),
        }
    }

    /// A value cast to text of at most so many bytes, or of as many as it needs.
    pub(super) fn cast_to_text(&self, whole: &ast::Expr, x: Expr, most: Option<u16>) -> Result<Expr> {
        let named = Named {
            name: "CAST to text",
            at: at(whole),
        };
        let from = x.kind.name();
        let text = written(x, named);
        let (ValueKind::Text(own), Some(most)) = (text.kind, most) else {
            return Ok(text);
        };
        if text.node == Node::Null || own <= most {
            return Ok(text.into_kind(ValueKind::Text(most)));
        }
        let what = format!(
            "{from} may take {own} bytes as text, and {most} do not hold them; cast it to varchar({own}), and take a part of it with LEFT"
        );
        Err(Error::query(at(whole), what))
    }
}

/// A value as text.
fn written(x: Expr, named: Named) -> Expr {
    match (x.kind, &x.node) {
        (_, Node::Null) => Expr::null(ValueKind::Text(1)),
        (ValueKind::Text(_), _) => x,
        _ => Expr::call(Call::Write, named, vec![x]),
    }
}

/// The most bytes that a type of text has, if it says so; nothing if it is no type of text.
pub(super) fn width(kind: &ast::DataType) -> Option<std::result::Result<Option<u16>, String>> {
    use ast::DataType as D;
    let length = match kind {
        D::Text | D::String(None) => None,
        D::Varchar(length) | D::CharacterVarying(length) | D::CharVarying(length) | D::Nvarchar(length) => {
            length.as_ref()
        }
        D::Char(length @ Some(_)) | D::Character(length @ Some(_)) => length.as_ref(),
        _ => return None,
    };
    Some(match length {
        None => Ok(None),
        Some(ast::CharacterLength::IntegerLength { length, .. })
            if (1..=u64::from(MAX_CHARS)).contains(length) =>
        {
            Ok(Some(*length as u16))
        }
        Some(_) => Err(format!("text has 1 to {MAX_CHARS} bytes")),
    })
}
