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
    let mut reader = BufReader::with_capacity(1 << 20, file.take(head.map_or(u64::MAX, |head| head.length)));
    let mut found = Head::empty();
    let mut line = Vec::new();
    loop {
        line.clear();
        let read = (&mut reader)
            .take(MAX_LINE as u64)
            .read_until(b'\n', &mut line)
            .map_err(unreadable)?;
        if read == 0 {
            break;
        }
        if line.last() != Some(&b'\n') && read < MAX_LINE {
            // Cut off, or changed so that it does not end where it should.
            return Err(match head {
                Some(head) if found.length + (read as u64) < head.length => Fault::Short {
                    lines: found.number,
                    recorded: head.number,
                },
                _ => Fault::Changed {
                    line: found.number + 1,
                    what: "it has no end",
                },
            });
        }
        found = line::follow(&found, &line)?;
    }
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
