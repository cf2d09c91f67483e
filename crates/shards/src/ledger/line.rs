//! A line for each entry, all of one length, so that what a crash left of one is told from damage.

use crate::book::Entry;
use crate::{Attempt, JobName, Piece};

/// Bytes of a line: what happened, the piece, the attempt's number, a digest, and what separates them.
pub(super) const BYTES: usize = 10 + 1 + 8 + 1 + 8 + 1 + SEAL + 1;

/// Characters of a digest.
const SEAL: usize = 16;

/// A digest that tells a text from a damaged one.
pub(super) fn seal(text: &[u8]) -> String {
    let hash = blake3::derive_key("cenote 2026 shards ledger", text);
    hex::encode(&hash[..SEAL / 2])
}

/// Line `number`, from 0, of the job of this name.
pub(super) fn write(name: &JobName, number: u64, entry: Entry) -> String {
    let (
        what,
        Attempt {
            piece,
            number: attempt,
        },
    ) = match entry {
        Entry::HandedOut(attempt) => ("handed-out", attempt),
        Entry::Done(attempt) => ("done", attempt),
        Entry::Lost(attempt) => ("lost", attempt),
        Entry::Failed(attempt) => ("failed", attempt),
    };
    let piece = match piece {
        Piece::Shard(index) => index.to_string(),
        Piece::Merge => "merge".into(),
    };
    let text = format!("{what:<10} {piece:>8} {attempt:>8}");
    let sealed = seal(format!("{name} {number} {text}").as_bytes());
    format!("{text} {sealed}\n")
}

/// The entry of a line, or `None` for what [`write`] does not write.
fn read(name: &JobName, number: u64, line: &[u8]) -> Option<Entry> {
    let text = std::str::from_utf8(line).ok()?;
    let mut fields = text.split_whitespace();
    let what = fields.next()?;
    let piece = match fields.next()? {
        "merge" => Piece::Merge,
        index => Piece::Shard(index.parse().ok()?),
    };
    let attempt = Attempt {
        piece,
        number: fields.next()?.parse().ok()?,
    };
    let entry = match what {
        "handed-out" => Entry::HandedOut(attempt),
        "done" => Entry::Done(attempt),
        "lost" => Entry::Lost(attempt),
        "failed" => Entry::Failed(attempt),
        _ => return None,
    };
    (write(name, number, entry).as_bytes() == line).then_some(entry)
}

/// The entries of a file, without what a crash may have left at its end: a part of a line, a last line that was not written through, or room for lines that has
/// zeros only.
///
/// # Errors
/// In words, for other damage.
pub(super) fn read_all(name: &JobName, bytes: &[u8]) -> Result<Vec<Entry>, String> {
    let mut entries = Vec::new();
    let mut rest = bytes;
    while let Some((line, after)) = rest.split_at_checked(BYTES) {
        let Some(entry) = read(name, entries.len() as u64, line) else {
            break;
        };
        entries.push(entry);
        rest = after;
    }
    if rest.len() > BYTES && rest.iter().any(|byte| *byte != 0) {
        return Err(format!(
            "is damaged from line {} on; keep it, and begin the job anew with another folder",
            entries.len() + 1
        ));
    }
    Ok(entries)
}
