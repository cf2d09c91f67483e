//! Values of columns, the same for both databases.

use crate::{Error, Result};

/// A value of a column, or a null of its type.
#[derive(Clone, PartialEq, Eq)]
pub(crate) enum Value {
    Integer(Option<i64>),
    Text(Option<String>),
    Bytes(Option<Vec<u8>>),
}

impl From<i64> for Value {
    fn from(value: i64) -> Self {
        Value::Integer(Some(value))
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Value::Integer(Some(i64::from(value)))
    }
}

impl From<Option<i64>> for Value {
    fn from(value: Option<i64>) -> Self {
        Value::Integer(value)
    }
}

impl From<&str> for Value {
    fn from(value: &str) -> Self {
        Value::Text(Some(value.to_owned()))
    }
}

impl From<String> for Value {
    fn from(value: String) -> Self {
        Value::Text(Some(value))
    }
}

impl From<Option<String>> for Value {
    fn from(value: Option<String>) -> Self {
        Value::Text(value)
    }
}

impl From<Vec<u8>> for Value {
    fn from(value: Vec<u8>) -> Self {
        Value::Bytes(Some(value))
    }
}

/// A row that was asked for.
pub(crate) struct Row(pub(super) Vec<Value>);

impl Row {
    /// The integer in column `column`, from 0.
    pub(crate) fn integer(&self, column: usize) -> Result<i64> {
        self.integer_or_null(column)?.ok_or_else(|| wrong(column))
    }

    pub(crate) fn integer_or_null(&self, column: usize) -> Result<Option<i64>> {
        match self.0.get(column) {
            Some(Value::Integer(value)) => Ok(*value),
            // SQLite's nulls have no type.
            Some(Value::Text(None) | Value::Bytes(None)) => Ok(None),
            _ => Err(wrong(column)),
        }
    }

    /// The text in column `column`, from 0.
    pub(crate) fn text(&self, column: usize) -> Result<&str> {
        self.text_or_null(column)?.ok_or_else(|| wrong(column))
    }

    pub(crate) fn text_or_null(&self, column: usize) -> Result<Option<&str>> {
        match self.0.get(column) {
            Some(Value::Text(value)) => Ok(value.as_deref()),
            Some(Value::Integer(None) | Value::Bytes(None)) => Ok(None),
            _ => Err(wrong(column)),
        }
    }

    /// The bytes in column `column`, from 0.
    pub(crate) fn bytes(&self, column: usize) -> Result<&[u8]> {
        match self.0.get(column) {
            Some(Value::Bytes(Some(value))) => Ok(value),
            _ => Err(wrong(column)),
        }
    }

    /// The bytes in column `column`, from 0, which may be missing.
    pub(crate) fn bytes_or_null(&self, column: usize) -> Result<Option<&[u8]>> {
        match self.0.get(column) {
            Some(Value::Bytes(value)) => Ok(value.as_deref()),
            Some(Value::Integer(None) | Value::Text(None)) => Ok(None),
            _ => Err(wrong(column)),
        }
    }

    /// The count in column `column`, from 0.
    pub(crate) fn count(&self, column: usize) -> Result<u64> {
        u64::try_from(self.integer(column)?).map_err(|_| wrong(column))
    }
}

fn wrong(column: usize) -> Error {
    Error::Corrupt(format!("a value of a wrong type in column {column}"))
}
