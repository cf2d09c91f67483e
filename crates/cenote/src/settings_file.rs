//! Reading TOML files so that every complaint has its line.

use std::ops::Range;
use std::path::{Path, PathBuf};

use cenote_protocol::Setting;
use serde::de::DeserializeOwned;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::{Error, Result, files};

/// Larger files are not job or party files.
const MAX_BYTES: u64 = 64 << 20;

/// A setting as a file states it, of a protocol that the file may not know.
pub(crate) struct StatedSetting {
    pub(crate) key: String,
    /// Where its value stands.
    pub(crate) span: Range<usize>,
    value: Value,
}

enum Value {
    Number(i64),
    Text(String),
    Other,
}

impl StatedSetting {
    fn new(key: String, value: &Spanned<DeValue<'_>>) -> Self {
        StatedSetting {
            key,
            span: value.span(),
            value: match value.get_ref() {
                DeValue::String(text) => Value::Text(text.to_string()),
                DeValue::Integer(number) => {
                    i64::from_str_radix(number.as_str(), number.radix()).map_or(Value::Other, Value::Number)
                }
                _ => Value::Other,
            },
        }
    }

    /// The same of a table within a file.
    pub(crate) fn of(key: String, value: &Spanned<toml::Value>) -> Self {
        StatedSetting {
            key,
            span: value.span(),
            value: match value.get_ref() {
                toml::Value::String(text) => Value::Text(text.clone()),
                toml::Value::Integer(number) => Value::Number(*number),
                _ => Value::Other,
            },
        }
    }

    /// The value.
    pub(crate) fn setting(&self) -> Setting<'_> {
        match &self.value {
            Value::Number(number) => Setting::Number(*number),
            Value::Text(text) => Setting::Text(text),
            Value::Other => Setting::Other,
        }
    }
}

/// A settings file that was read: its name and its text, for complaints that have a line.
pub(crate) struct SettingsFile {
    path: PathBuf,
    text: String,
}

impl SettingsFile {
    /// Reads the TOML file at `path`; keys that `T` does not know are refused.
    pub(crate) fn read<T: DeserializeOwned>(path: &Path) -> Result<(T, SettingsFile)> {
        let (value, _, source) = Self::read_with(path, |_| false)?;
        Ok((value, source))
    }

    /// Reads the TOML file at `path`, and keeps apart the keys that are `settings`; other keys that `T` does not know are refused.
    pub(crate) fn read_with<T: DeserializeOwned>(
        path: &Path,
        settings: impl Fn(&str) -> bool,
    ) -> Result<(T, Vec<StatedSetting>, SettingsFile)> {
        let text = files::read(path, MAX_BYTES, "file of settings").map_err(|error| {
            let what = format!(
                "cannot be read: {error}; give a readable TOML file, with values in files of their own"
            );
            Error::config(path, None, what)
        })?;
        Self::parse_with(path, text, settings)
    }

    /// The same for the `text` of a file, which complaints call `path`.
    pub(crate) fn parse_with<T: DeserializeOwned>(
        path: &Path,
        text: String,
        settings: impl Fn(&str) -> bool,
    ) -> Result<(T, Vec<StatedSetting>, SettingsFile)> {
        let fault = |what: String| Error::config(path, None, what);
        let source = SettingsFile {
            path: path.to_owned(),
            text,
        };
        // The parser's own display quotes the line, which may hold an input; its message does not.
        let wrong = |error: toml::de::Error| match error.span() {
            Some(span) => source.fault(span, error.message()),
            None => fault(error.message().to_owned()),
        };
        let mut table = DeTable::parse(&source.text).map_err(wrong)?;
        let keys: Vec<String> = table
            .get_ref()
            .keys()
            .map(|key| key.get_ref().to_string())
            .collect();
        let mut stated = Vec::new();
        for key in keys.into_iter().filter(|key| settings(key)) {
            if let Some(value) = table.get_mut().remove(key.as_str()) {
                stated.push(StatedSetting::new(key, &value));
            }
        }
        let value = T::deserialize(toml::Deserializer::from(table)).map_err(wrong)?;
        Ok((value, stated, source))
    }

    /// What complaints call the file.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// A complaint about the text at `span`.
    pub(crate) fn fault(&self, span: Range<usize>, what: impl Into<String>) -> Error {
        Error::config(&self.path, Some(self.line(&span)), what)
    }

    /// The line of `span`, from 1.
    pub(crate) fn line(&self, span: &Range<usize>) -> usize {
        let before = self.text.get(..span.start).unwrap_or(&self.text);
        before.matches('\n').count() + 1
    }

    /// A complaint about the whole file.
    pub(crate) fn fault_in_general(&self, what: impl Into<String>) -> Error {
        Error::config(&self.path, None, what)
    }

    /// `path` as written in this file: relative to its folder.
    pub(crate) fn resolve(&self, path: impl AsRef<Path>) -> PathBuf {
        match self.path.parent() {
            Some(folder) => folder.join(path),
            None => path.as_ref().to_owned(),
        }
    }
}
