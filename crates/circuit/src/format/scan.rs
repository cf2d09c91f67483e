//! Lines and words of a circuit file.

use super::ParseError;

/// The lines of a text that are not blank, each with its number.
#[derive(Clone)]
pub(super) struct Lines<'t> {
    rest: &'t [u8],
    /// Number of the line last returned, or of the last line when there are no more.
    pub(super) number: usize,
}

impl<'t> Lines<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        Self {
            rest: text.as_bytes(),
            number: 0,
        }
    }

    pub(super) fn next(&mut self) -> Option<Line<'t>> {
        while !self.rest.is_empty() {
            let end = self.rest.iter().position(|&byte| byte == b'\n');
            let (line, rest) = match end {
                Some(end) => (&self.rest[..end], &self.rest[end + 1..]),
                None => (self.rest, &[][..]),
            };
            self.rest = rest;
            self.number += 1;
            let line = Line {
                number: self.number,
                rest: line.trim_ascii(),
            };
            if !line.rest.is_empty() {
                return Some(line);
            }
        }
        None
    }

    /// An error at the line where these lines stand.
    pub(super) fn error(&self, reason: impl Into<String>) -> ParseError {
        ParseError {
            line: self.number.max(1),
            reason: reason.into(),
        }
    }
}

/// What is left of a line.
#[derive(Clone)]
pub(super) struct Line<'t> {
    pub(super) number: usize,
    /// Without white space at either end.
    rest: &'t [u8],
}

impl<'t> Line<'t> {
    pub(super) fn error(&self, reason: impl Into<String>) -> ParseError {
        ParseError {
            line: self.number,
            reason: reason.into(),
        }
    }

    /// The next word.
    pub(super) fn word(&mut self) -> Option<&'t [u8]> {
        let end = self
            .rest
            .iter()
            .position(u8::is_ascii_whitespace)
            .unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest.trim_ascii_start();
        (!word.is_empty()).then_some(word)
    }

    /// The next word or bracket: `[` and `]` are words of their own.
    pub(super) fn token(&mut self) -> Option<&'t [u8]> {
        let end = match self.rest.first() {
            Some(b'[' | b']') => 1,
            _ => self
                .rest
                .iter()
                .position(|byte| byte.is_ascii_whitespace() || matches!(byte, b'[' | b']'))
                .unwrap_or(self.rest.len()),
        };
        let (token, rest) = self.rest.split_at(end);
        self.rest = rest.trim_ascii_start();
        (!token.is_empty()).then_some(token)
    }

    /// Takes the next token, which must be `expected`.
    pub(super) fn expect(&mut self, expected: &str) -> Result<(), ParseError> {
        match self.token() {
            Some(token) if token == expected.as_bytes() => Ok(()),
            Some(token) => Err(self.error(format!("{} should be `{expected}`", quote(token)))),
            None => Err(self.error(format!("the line ends where `{expected}` should be"))),
        }
    }

    /// Numbers between brackets; `what` names one in the error.
    pub(super) fn list(&mut self, what: &str) -> Result<Vec<u32>, ParseError> {
        self.expect("[")?;
        let mut numbers = Vec::new();
        loop {
            match self.token() {
                Some(b"]") => return Ok(numbers),
                Some(token) => numbers.push(self.parse(token, what)?),
                None => return Err(self.error("the line ends where `]` should be")),
            }
        }
    }

    /// Text between double quotes.
    pub(super) fn quoted(&mut self) -> Result<&'t [u8], ParseError> {
        let text = self.rest.strip_prefix(b"\"");
        let text = text.and_then(|text| Some((text, text.iter().position(|&byte| byte == b'"')?)));
        let (text, end) = text.ok_or_else(|| self.error("a text in double quotes should be here"))?;
        self.rest = text[end + 1..].trim_ascii_start();
        Ok(&text[..end])
    }

    /// Cuts off what follows `//`, and returns it.
    pub(super) fn comment(&mut self) -> Option<&'t [u8]> {
        let start = self.rest.windows(2).position(|pair| pair == b"//")?;
        let comment = self.rest[start + 2..].trim_ascii();
        self.rest = self.rest[..start].trim_ascii();
        Some(comment)
    }

    /// Whether nothing is left.
    pub(super) fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// The next word as a number; `what` names it in the error.
    pub(super) fn number(&mut self, what: &str) -> Result<u32, ParseError> {
        let word = self
            .word()
            .ok_or_else(|| self.error(format!("the line ends where {what} should be")))?;
        self.parse(word, what)
    }

    /// The line's words as numbers, all of them.
    pub(super) fn numbers(mut self, what: &str) -> Result<Vec<u32>, ParseError> {
        let mut numbers = Vec::new();
        while let Some(word) = self.word() {
            numbers.push(self.parse(word, what)?);
        }
        Ok(numbers)
    }

    /// Refuses more words.
    pub(super) fn end(&mut self) -> Result<(), ParseError> {
        match self.word() {
            None => Ok(()),
            Some(word) => Err(self.error(format!("{} is one word too many", quote(word)))),
        }
    }

    /// Whether all that is left is digits and white space.
    pub(super) fn is_numeric(&self) -> bool {
        self.rest
            .iter()
            .all(|byte| byte.is_ascii_digit() || byte.is_ascii_whitespace())
    }

    /// `word` as a number; `what` names it in the error.
    pub(super) fn parse(&self, word: &[u8], what: &str) -> Result<u32, ParseError> {
        let mut value = 0u32;
        for byte in word {
            if !byte.is_ascii_digit() {
                return Err(self.error(format!(
                    "{} is not a number, but {what} should be here",
                    quote(word)
                )));
            }
            value = value
                .checked_mul(10)
                .and_then(|value| value.checked_add(u32::from(byte - b'0')))
                .ok_or_else(|| self.error(format!("{} is too large for {what}", quote(word))))?;
        }
        Ok(value)
    }
}

/// A word for an error message: whatever it is, the message stays short and printable.
pub(super) fn quote(word: &[u8]) -> String {
    const SHOWN: usize = 24;
    let shown = &word[..word.len().min(SHOWN)];
    let dots = if word.len() > SHOWN { "…" } else { "" };
    format!("`{}{dots}`", shown.escape_ascii())
}
