//! Reading a whole log.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use super::line::{self, MAX_LINE};
use super::{Fault, Head};

/// Reads the log at `path` and checks every line. With the `head` that the database has, the file must have that many lines and end
/// so; what a service writes after them meanwhile is left for the next time. Without one, for a copy of the file alone, all of it
/// is read. Gives the head as found, which two copies of a log have in common if they are equal.
///
/// # Errors
/// The first line that is wrong.
pub fn verify(path: &Path, head: Option<&Head>) -> Result<Head, Fault> {
    let unreadable = |error: std::io::Error| Fault::File(format!("{}: {error}", path.display()));
    let file = File::open(path).map_err(unreadable)?;
    let length = file.metadata().map_err(unreadable)?.len();
    let limit = head.map_or(u64::MAX, |head| head.length);
    let mut reader = BufReader::with_capacity(1 << 20, file.take(limit));
    let found = follow_to_end(&mut reader, &Head::empty()).map_err(|fault| match (fault, head) {
        (Fault::Torn { line }, Some(head)) if length < head.length => Fault::Short {
            lines: line - 1,
            recorded: head.number,
        },
        (Fault::File(error), _) => Fault::File(format!("{}: {error}", path.display())),
        (fault, _) => fault,
    })?;
    match head {
        Some(head) if found.length < head.length => Err(Fault::Short {
            lines: found.number,
            recorded: head.number,
        }),
        Some(head) if found != *head => Err(Fault::Changed {
            line: found.number,
            what: "it is not the line that the database recorded",
        }),
        _ => Ok(found),
    }
}

/// Checks that all lines of `reader` go on from this head.
pub(super) fn follow_to_end(reader: &mut impl BufRead, from: &Head) -> Result<Head, Fault> {
    let mut found = from.clone();
    let mut line = Vec::new();
    while next_line(reader, &mut line)? {
        if line.last() != Some(&b'\n') && line.len() < MAX_LINE {
            let line = found.number + 1;
            return Err(Fault::Torn { line });
        }
        found = match line::follow(&found, &line) {
            Err(Fault::OutOfOrder { line, found }) if found > line => {
                return Err(where_is(reader, line, found)?);
            }
            followed => followed?,
        };
    }
    Ok(found)
}

/// Instead of a line a later one was found: whether the line comes after it, or is missing.
fn where_is(reader: &mut impl BufRead, line: u64, found: u64) -> Result<Fault, Fault> {
    let mut other = Vec::new();
    while next_line(reader, &mut other)? {
        if line::number(&other) == Some(line) {
            return Ok(Fault::OutOfOrder { line, found });
        }
    }
    Ok(Fault::Missing { line, next: found })
}

/// Reads a line with its line feed, of bounded length. Gives whether there was one.
fn next_line(reader: &mut impl BufRead, line: &mut Vec<u8>) -> Result<bool, Fault> {
    line.clear();
    let read = reader.take(MAX_LINE as u64).read_until(b'\n', line);
    read.map(|read| read > 0)
        .map_err(|error| Fault::File(error.to_string()))
}
