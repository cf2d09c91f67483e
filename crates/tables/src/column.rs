//! A column while it is made: every value is checked against the field on its way in.

use crate::error::Problem;
use crate::table::{Column, Field, Values};
use crate::text::parse;
use crate::types::Type;

/// A column while it is made.
///
/// # Errors
/// A value that the field does not allow is refused; what is wrong with it is told, and not what it is.
pub struct Builder {
    kind: Type,
    nullable: bool,
    /// The least and greatest number.
    range: (i128, i128),
    values: Values,
    nulls: Option<Vec<bool>>,
    rows: usize,
}

impl Builder {
    /// A column that will have so many rows at most. Room is made for all of them at once, of which only what is written to takes memory: a column that grew
    /// would leave twice as much behind.
    pub fn new(field: &Field, max_rows: usize) -> Self {
        let mut values = Values::none(field.kind);
        values.make_room(max_rows);
        Builder {
            kind: field.kind,
            nullable: field.nullable,
            range: field.kind.range().unwrap_or_default(),
            values,
            nulls: None,
            rows: 0,
        }
    }

    /// A number, as [`Type`] says that it is kept.
    pub fn number(&mut self, number: i128) -> Result<(), Problem> {
        if number < self.range.0 || number > self.range.1 {
            return Err(Problem::Range(self.kind));
        }
        match &mut self.values {
            Values::Numbers(numbers) => numbers.push(number),
            Values::Text(..) => return Err(Problem::Form(self.kind)),
        }
        self.pushed(false);
        Ok(())
    }

    /// Many numbers, up to the first that is refused.
    pub fn numbers(&mut self, numbers: impl Iterator<Item = Result<i128, Problem>>) -> Result<(), Problem> {
        let (least, most) = self.range;
        let kind = self.kind;
        let checked = numbers.map(|number| match number? {
            number if (least..=most).contains(&number) => Ok(number),
            _ => Err(Problem::Range(kind)),
        });
        let added = match &mut self.values {
            Values::Numbers(kept) => kept.extend(checked),
            Values::Text(..) => Err(Problem::Form(kind)),
        };
        self.rows = self.values.rows();
        if let Some(nulls) = &mut self.nulls {
            nulls.resize(self.rows, false);
        }
        added
    }

    /// A text.
    pub fn text(&mut self, text: &[u8]) -> Result<(), Problem> {
        let (Values::Text(width, bytes), Type::Char(most)) = (&mut self.values, self.kind) else {
            return Err(Problem::Form(self.kind));
        };
        if std::str::from_utf8(text).is_err() {
            return Err(Problem::NotUtf8);
        }
        if text.contains(&0) {
            return Err(Problem::ZeroByte);
        }
        if text.len() > *width {
            return Err(Problem::TooLong(most));
        }
        bytes.extend_from_slice(text);
        bytes.resize(bytes.len() + *width - text.len(), 0);
        self.pushed(false);
        Ok(())
    }

    /// A value as CSV files have it, with quotes around text: text as it is, and nothing but blanks for no other value.
    pub fn cell(&mut self, cell: &[u8]) -> Result<(), Problem> {
        match self.kind {
            Type::Char(_) => self.text(cell),
            kind => match parse(kind, cell)? {
                Some(number) => self.number(number),
                None => self.null(),
            },
        }
    }

    /// No value.
    pub fn null(&mut self) -> Result<(), Problem> {
        if !self.nullable {
            return Err(Problem::Null);
        }
        match &mut self.values {
            Values::Numbers(numbers) => numbers.push(0),
            Values::Text(width, bytes) => bytes.resize(bytes.len() + *width, 0),
        }
        self.pushed(true);
        Ok(())
    }

    fn pushed(&mut self, null: bool) {
        if null || self.nulls.is_some() {
            let rows = self.rows;
            self.nulls.get_or_insert_with(|| vec![false; rows]).push(null);
        }
        self.rows += 1;
    }

    /// Values so far.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The column.
    pub fn finish(mut self) -> Column {
        self.values.shrink_to_fit();
        Column {
            values: self.values,
            nulls: self.nulls,
        }
    }
}
