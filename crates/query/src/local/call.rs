//! Functions without a circuit, row by row.

use super::column::{Column, Values};
use super::expr::{Failed, Input, Result, either, matters, text_width};
use crate::call::{Call, Value};
use crate::expr::{Expr, ValueKind, kinds};

impl Input<'_> {
    /// The results of a function, which is null where one of its arguments is.
    pub(super) fn called(self, call: Call, parts: &[Expr], kind: ValueKind) -> Result<Column> {
        let arguments = parts
            .iter()
            .map(|part| self.evaluate(part))
            .collect::<Result<Vec<Column>>>()?;
        let of = kinds(parts);
        let nulls = arguments
            .iter()
            .fold(None, |nulls, argument| either(&nulls, &argument.nulls));
        let width = usize::from(text_width(kind));
        let (mut numbers, mut texts) = (Vec::new(), Vec::new());
        let mut row_of = Vec::with_capacity(parts.len());
        for row in 0..self.rows {
            let result = if matters(row, nulls.as_deref(), self.active) {
                row_of.clear();
                row_of.extend(arguments.iter().map(|argument| value(argument, row)));
                Some(call.result(&row_of, &of).ok_or(Failed)?)
            } else {
                None
            };
            match (kind, result) {
                (ValueKind::Text(_), result) => {
                    if let Some(Value::Text(text)) = result {
                        texts.extend(text.into_bytes());
                    }
                    if texts.len() > (row + 1) * width {
                        return Err(Failed);
                    }
                    texts.resize((row + 1) * width, 0);
                }
                (_, Some(Value::Number(number))) => numbers.push(number),
                _ => numbers.push(0),
            }
        }
        Ok(Column {
            values: match kind {
                ValueKind::Text(_) => Values::Text(width, texts),
                _ => Values::Numbers(numbers),
            },
            nulls,
        })
    }
}

/// A value that is there. What an owner gives as text is UTF-8, as the files that it reads are.
fn value(column: &Column, row: usize) -> Value {
    match &column.values {
        Values::Numbers(numbers) => Value::Number(numbers[row]),
        Values::Text(width, bytes) => {
            let text = &bytes[row * width..][..*width];
            let end = text
                .iter()
                .rposition(|&byte| byte != 0)
                .map_or(0, |last| last + 1);
            Value::Text(String::from_utf8_lossy(&text[..end]).into_owned())
        }
    }
}
