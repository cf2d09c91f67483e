//! The file of a log, which follows what the database has recorded.

use std::fs::{File, OpenOptions};
use std::io::ErrorKind;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use super::line::{self, MAX_LINE};
use super::{Fault, Head, Line, verify};
use crate::error::is_full;

/// How much of a log is read when it is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Read {
    /// Every line.
    Whole,
    /// The end of what is settled, where this process has read the whole before.
    End,
}

/// The file of a log.
pub(crate) struct Log {
    path: PathBuf,
    file: File,
    /// What is in the file.
    written: u64,
}

impl Log {
    /// Opens the file at `path`, in which the lines up to `settled` must be, and writes those of `pending` that are missing. `pending` are the
    /// lines from `settled` to the recorded end. The file is on the disk when this returns.
    pub(crate) fn open(path: &Path, settled: &Head, pending: &[Line], read: Read) -> Result<Self, Fault> {
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(settled.number == 0)
            .truncate(false)
            .mode(0o600)
            .open(path)
            .map_err(|error| unusable(path, &error))?;
        compare_file(path, &file, settled, pending, read)?;
        let mut log = Log {
            path: path.to_owned(),
            file,
            written: settled.length,
        };
        log.append(pending)?;
        log.sync()?;
        Ok(log)
    }

    /// Writes lines after those that are there. After an error the same may be tried again.
    pub(crate) fn append(&mut self, lines: &[Line]) -> Result<(), Fault> {
        let bytes: Vec<u8> = lines.iter().flat_map(|line| line.text.bytes()).collect();
        self.file
            .write_all_at(&bytes, self.written)
            .map_err(|error| unusable(&self.path, &error))?;
        self.written += bytes.len() as u64;
        Ok(())
    }

    /// Puts what was written on the disk.
    pub(crate) fn sync(&self) -> Result<(), Fault> {
        self.file.sync_all().map_err(|error| unusable(&self.path, &error))
    }
}

fn unusable(path: &Path, error: &std::io::Error) -> Fault {
    match is_full(error) {
        true => Fault::Full(path.display().to_string()),
        false => Fault::File(format!("{}: {error}", path.display())),
    }
}

/// Compares the log at `path` with what its database has of it, as a service does that starts, and mends nothing.
///
/// # Errors
/// Why [`Log::open`] would refuse it.
pub(crate) fn compare(path: &Path, settled: &Head, pending: &[Line]) -> Result<(), Fault> {
    match File::open(path) {
        Ok(file) => compare_file(path, &file, settled, pending, Read::Whole),
        // Opening the log makes it.
        Err(error) if settled.number == 0 && error.kind() == ErrorKind::NotFound => Ok(()),
        Err(error) => Err(unusable(path, &error)),
    }
}

/// Sees that a log has the settled lines, and after them nothing but what the database has for its place, or what had not reached the disk.
fn compare_file(path: &Path, file: &File, settled: &Head, pending: &[Line], read: Read) -> Result<(), Fault> {
    let unusable = |error: std::io::Error| unusable(path, &error);
    let length = file.metadata().map_err(unusable)?.len();
    if settled.number > 0 && (read == Read::Whole || length < settled.length) {
        super::verify(path, Some(settled))?;
    } else {
        check_last(file, settled).map_err(unusable)??;
    }
    let expected: Vec<u8> = pending.iter().flat_map(|line| line.text.bytes()).collect();
    if length - settled.length > expected.len() as u64 {
        return Err(Fault::Long {
            lines: settled.number + pending.len() as u64,
        });
    }
    let mut found = vec![0; (length - settled.length) as usize];
    file.read_exact_at(&mut found, settled.length).map_err(unusable)?;
    // JSON has no zero bytes, so these were never written.
    let differs = |(is, should): (&u8, &u8)| is != should && *is != 0;
    let Some(place) = found.iter().zip(&expected).position(differs) else {
        return Ok(());
    };
    let before = expected.get(..place).unwrap_or_default();
    let line = settled.number + 1 + before.iter().filter(|byte| **byte == b'\n').count() as u64;
    Err(match verify::follow_to_end(&mut found.as_slice(), settled) {
        Err(fault @ (Fault::Missing { .. } | Fault::OutOfOrder { .. })) if fault.line() == Some(line) => {
            fault
        }
        _ => Fault::Changed {
            line,
            what: "it is not the line that the database recorded",
        },
    })
}

/// The hash of the whole line that ends after so many bytes of the log at `path`, if one does.
///
/// # Errors
/// Where the file cannot be read.
pub(crate) fn hash_at(path: &Path, length: u64) -> Result<Option<String>, Fault> {
    let unusable = |error: std::io::Error| unusable(path, &error);
    let file = File::open(path).map_err(unusable)?;
    match file.metadata().map_err(unusable)?.len() < length {
        true => Ok(None),
        false => last_hash(&file, length).map_err(unusable),
    }
}

/// Checks that the line which ends the settled part is the recorded one.
fn check_last(file: &File, settled: &Head) -> std::io::Result<Result<(), Fault>> {
    if settled.number == 0 {
        return Ok(Ok(()));
    }
    Ok(
        if last_hash(file, settled.length)?.as_ref() == Some(&settled.hash) {
            Ok(())
        } else {
            Err(Fault::Changed {
                line: settled.number,
                what: "it is not the line that the database recorded",
            })
        },
    )
}

/// The hash of the whole line that ends after so many bytes, of which there are as many.
fn last_hash(file: &File, length: u64) -> std::io::Result<Option<String>> {
    let from = length.saturating_sub(MAX_LINE as u64);
    let mut end = vec![0; (length - from) as usize];
    file.read_exact_at(&mut end, from)?;
    let body = end.split_last().map_or(&[][..], |(_, body)| body);
    let start = body
        .iter()
        .rposition(|byte| *byte == b'\n')
        .map_or(0, |at| at + 1);
    Ok(end.get(start..).and_then(line::own_hash))
}
