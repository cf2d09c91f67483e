//! Reading TOML files so that every complaint has its line.

use std::fs::File;
use std::io::Read;
use std::ops::Range;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;

use crate::{Error, Result};

/// Larger files are not job or party files.
const MAX_BYTES: u64 = 64 << 20;

/// Where the parts of a read file stand.
pub(crate) struct Source {
    path: PathBuf,
    text: String,
}

impl Source {
    /// Reads the TOML file at `path`; keys that `T` does not know are refused.
    pub(crate) fn read<T: DeserializeOwned>(path: &Path) -> Result<(T, Source)> {
        let fault = |what: String| Error::config(path, None, what);
        let mut text = String::new();
        File::open(path)
            .and_then(|file| file.take(MAX_BYTES + 1).read_to_string(&mut text))
            .map_err(|error| fault(format!("cannot be read: {error}")))?;
        if text.len() as u64 > MAX_BYTES {
            return Err(fault(
                "is too large for a file of settings; put values into files of their own".into(),
            ));
        }
        let source = Source {
            path: path.to_owned(),
            text,
        };
        // The parser's own display quotes the line, which may hold an input; its message does not.
        let value = toml::from_str(&source.text).map_err(|error| match error.span() {
            Some(span) => source.fault(span, error.message()),
            None => fault(error.message().to_owned()),
        })?;
        Ok((value, source))
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
