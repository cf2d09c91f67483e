//! The records of a CSV file, one at a time, out of a buffer that grows to the longest of them at most.
//!
//! The crate `csv` takes any bytes as some record: it reads `"1"2` as 12, and a last field whose quote is never closed. Here these are errors, since nobody
//! else sees a table that was read wrongly.

use std::borrow::Cow;
use std::io::Read;

use crate::error::Problem;

/// Most bytes of a record.
pub(crate) const MAX_RECORD: usize = 16 << 20;

/// What UTF-8 files of some programs begin with.
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// Bytes that are read at once.
const CHUNK: usize = 1 << 18;

/// What is read of a file, as records with fields.
///
/// Fields are between commas, records between line ends, LF or CR LF. A field that begins with a quote goes on to the next single quote;
/// two quotes in it stand for one. Quotes elsewhere stand for themselves. A byte order mark at the beginning is skipped. Blank lines are no records, unless [`Records::take_blank_lines`] says so.
pub(crate) struct Records<R> {
    source: R,
    buffer: Vec<u8>,
    /// Where in the buffer the next record begins.
    next: usize,
    /// Whether the buffer holds the rest of the file.
    ended: bool,
    /// The line on which the next record begins, from 1.
    line: usize,
    fields: Vec<Span>,
    /// Whether a blank line is a record with one empty field.
    blank_lines: bool,
}

/// A field: a piece of the buffer.
#[derive(Clone, Copy)]
struct Span {
    from: usize,
    to: usize,
    /// Whether it has quotes around it.
    quoted: bool,
    /// Whether two quotes stand for one in it.
    doubled: bool,
}

pub(crate) struct Record<'a> {
    buffer: &'a [u8],
    fields: &'a [Span],
    /// The line on which it begins, from 1.
    pub(crate) line: usize,
}

impl<'a> Record<'a> {
    pub(crate) fn len(&self) -> usize {
        self.fields.len()
    }

    /// Whether the field in this place has quotes around it.
    pub(crate) fn is_quoted(&self, place: usize) -> bool {
        self.fields[place].quoted
    }

    /// The field in this place.
    pub(crate) fn get(&self, place: usize) -> Cow<'a, [u8]> {
        let Span {
            from, to, doubled, ..
        } = self.fields[place];
        let bytes = &self.buffer[from..to];
        if !doubled {
            return Cow::Borrowed(bytes);
        }
        let mut single = Vec::with_capacity(bytes.len());
        let mut rest = bytes.iter();
        while let Some(&byte) = rest.next() {
            single.push(byte);
            if byte == b'"' {
                rest.next();
            }
        }
        Cow::Owned(single)
    }
}

/// What goes wrong, and the line on which the record begins.
pub(crate) type Broken = (usize, Problem);

/// What a scan of the buffer finds.
enum Found {
    /// A record, and where the next one begins.
    Record { next: usize },
    /// The buffer ends within a record.
    Part,
}

impl<R: Read> Records<R> {
    pub(crate) fn new(source: R) -> Self {
        Records {
            source,
            buffer: Vec::new(),
            next: 0,
            ended: false,
            line: 1,
            fields: Vec::new(),
            blank_lines: false,
        }
    }

    /// From now on a blank line is a record: in a file with one column it is a row whose cell is empty.
    pub(crate) fn take_blank_lines(&mut self) {
        self.blank_lines = true;
    }

    /// The next record, if there is one.
    pub(crate) fn next(&mut self) -> Result<Option<Record<'_>>, Broken> {
        loop {
            if self.next == self.buffer.len() && self.ended {
                return Ok(None);
            }
            match self.scan().map_err(|problem| (self.line, problem))? {
                Found::Record { next } => {
                    let from = std::mem::replace(&mut self.next, next);
                    let line = self.line;
                    // Only quoted fields hold line ends, so most records are of one line.
                    self.line += match self.buffer[from..next].contains(&b'"') {
                        true => self.buffer[from..next]
                            .iter()
                            .filter(|&&byte| byte == b'\n')
                            .count(),
                        false => 1,
                    };
                    let blank = matches!(self.fields[..], [Span { from: start, to, .. }] if start == to && start == from);
                    if blank && !self.blank_lines {
                        continue;
                    }
                    return Ok(Some(Record {
                        buffer: &self.buffer,
                        fields: &self.fields,
                        line,
                    }));
                }
                Found::Part => self.fill().map_err(|problem| (self.line, problem))?,
            }
        }
    }

    /// Finds the fields of the record that begins at `next`.
    fn scan(&mut self) -> Result<Found, Problem> {
        self.fields.clear();
        let bytes = &self.buffer[..];
        let mut from = self.next;
        loop {
            let found = match bytes.get(from) {
                Some(b'"') => quoted(bytes, from, self.ended)?,
                _ => Some(unquoted(bytes, from)),
            };
            let Some((span, after)) = found else {
                return Ok(Found::Part);
            };
            let ends_line = match (bytes.get(after), bytes.get(after + 1)) {
                (None, _) if !self.ended => return Ok(Found::Part),
                (None, _) => after,
                (Some(b'\n'), _) => after + 1,
                (Some(b'\r'), Some(b'\n')) => after + 2,
                (Some(b'\r'), None) if self.ended => after + 1,
                (Some(b'\r'), None) => return Ok(Found::Part),
                (Some(b','), _) => {
                    self.fields.push(span);
                    from = after + 1;
                    continue;
                }
                _ => return Err(Problem::BehindQuote),
            };
            // An unquoted field reaches up to the line feed.
            let to = match bytes[span.from..span.to].last() {
                Some(b'\r') if after == span.to => span.to - 1,
                _ => span.to,
            };
            self.fields.push(Span { to, ..span });
            return Ok(Found::Record { next: ends_line });
        }
    }

    /// Reads on, after moving the record that is not yet whole to the front of the buffer.
    fn fill(&mut self) -> Result<(), Problem> {
        self.buffer.drain(..self.next);
        self.next = 0;
        if self.buffer.len() > MAX_RECORD {
            return Err(Problem::LongRow(MAX_RECORD));
        }
        // A record is scanned anew each time, so that the buffer grows with it.
        let more = self.buffer.len().max(CHUNK);
        let begins = self.line == 1 && self.buffer.is_empty();
        let read = (&mut self.source).take(more as u64).read_to_end(&mut self.buffer);
        self.ended = read.map_err(Problem::Unreadable)? < more;
        if begins && self.buffer.starts_with(BYTE_ORDER_MARK) {
            self.next = BYTE_ORDER_MARK.len();
        }
        Ok(())
    }
}

/// The field that begins at `from`, and where it ends.
fn unquoted(bytes: &[u8], from: usize) -> (Span, usize) {
    let ends = |&byte: &u8| byte == b',' || byte == b'\n';
    let to = bytes[from..]
        .iter()
        .position(ends)
        .map_or(bytes.len(), |length| from + length);
    (
        Span {
            from,
            to,
            quoted: false,
            doubled: false,
        },
        to,
    )
}

/// The field that begins with the quote at `from`, and what is behind its last quote; nothing if the buffer ends before.
fn quoted(bytes: &[u8], from: usize, ended: bool) -> Result<Option<(Span, usize)>, Problem> {
    let mut doubled = false;
    let mut at = from + 1;
    while let Some(length) = bytes[at..].iter().position(|&byte| byte == b'"') {
        at += length + 1;
        match bytes.get(at) {
            Some(b'"') => (doubled, at) = (true, at + 1),
            None if !ended => return Ok(None),
            _ => {
                return Ok(Some((
                    Span {
                        from: from + 1,
                        to: at - 1,
                        quoted: true,
                        doubled,
                    },
                    at,
                )));
            }
        }
    }
    match ended {
        true => Err(Problem::OpenQuote),
        false => Ok(None),
    }
}
