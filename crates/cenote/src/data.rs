//! Files of values: one value a line, one lane each.

use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Read, Write};
use std::ops::Range;
use std::path::Path;

use cenote_circuit::{Value, ValueError};
use cenote_primitives::BitMatrix;

use crate::{Error, Result};

/// Most bits (wires times lanes) of all inputs or all outputs of a job: 32 GiB of them.
pub const MAX_BITS: u64 = 1 << 38;

/// The lines of a file, each checked for length before it is kept, numbered from 1.
pub(crate) struct Lines<'a> {
    path: &'a Path,
    reader: BufReader<File>,
    longest: usize,
    number: usize,
    buffer: Vec<u8>,
}

impl<'a> Lines<'a> {
    /// Opens `path`, of whose lines none is longer than `longest` bytes.
    pub(crate) fn open(path: &'a Path, longest: usize) -> Result<Self> {
        let file = File::open(path).map_err(|error| {
            Error::data(
                path,
                None,
                format!("cannot be read: {error}; give a readable file (paths are relative to the job file)"),
            )
        })?;
        Ok(Lines {
            path,
            reader: BufReader::new(file),
            longest,
            number: 0,
            buffer: Vec::new(),
        })
    }

    /// The number of the line given last.
    pub(crate) fn number(&self) -> usize {
        self.number
    }

    /// The next line without its end and surrounding blanks, or `None` at the end of the file.
    pub(crate) fn next(&mut self) -> Result<Option<&str>> {
        self.buffer.clear();
        self.number += 1;
        let fault = |number, what: String| Error::data(self.path, Some(number), what);
        let read = (&mut self.reader)
            .take(self.longest as u64 + 2)
            .read_until(b'\n', &mut self.buffer)
            .map_err(|error| fault(self.number, format!("cannot be read: {error}")))?;
        if read == 0 {
            return Ok(None);
        }
        if read > self.longest + 1 && self.buffer.last() != Some(&b'\n') {
            return Err(fault(
                self.number,
                format!("is longer than the {} characters that fit", self.longest),
            ));
        }
        let text = std::str::from_utf8(&self.buffer)
            .map_err(|_| fault(self.number, "is not plain text; save the file as UTF-8".into()))?;
        let text = if self.number == 1 {
            text.trim_start_matches('\u{feff}')
        } else {
            text
        };
        Ok(Some(text.trim()))
    }

    /// An error about the line given last.
    pub(crate) fn fault(&self, what: impl Into<String>) -> Error {
        Error::data(self.path, Some(self.number), what)
    }
}

/// Longest line that can hold `value`, with room for leading zeros and blanks.
fn longest_line(value: &Value) -> usize {
    value.width as usize + 256
}

/// How many values the file at `path` holds: its lines, without empty ones at the end.
///
/// # Errors
/// [`Error::Data`] if it cannot be read or a line is too long for `value`.
pub fn count(path: &Path, value: &Value) -> Result<usize> {
    let mut lines = Lines::open(path, longest_line(value))?;
    let mut count = 0;
    while let Some(line) = lines.next()? {
        if !line.is_empty() {
            count = lines.number();
        }
    }
    Ok(count)
}

/// The values of the file at `path` as bits, one row for each wire of `value`, one lane for each line.
///
/// A line holds one value, hexadecimal after `0x` or decimal.
///
/// # Errors
/// [`Error::Data`] with the line, if there are not `lanes` values, or a line is no value of that width. The text of the
/// line is not quoted.
pub fn read(path: &Path, value: &Value, lanes: usize) -> Result<BitMatrix> {
    let found = count(path, value)?;
    if found != lanes {
        let what = format!(
            "has {found} values, but the job has {lanes} lanes: write one value a line, one line a lane"
        );
        return Err(Error::data(path, None, what));
    }
    let mut lines = Lines::open(path, longest_line(value))?;
    let width = value.width as usize;
    let mut bits = BitMatrix::zeros(width, lanes);
    for lane in 0..lanes {
        let parsed = match lines.next()? {
            Some("") => Err("is empty; write one value a line".to_owned()),
            Some(line) => value.parse(line).map_err(|error| hint(&error)),
            None => Err("is missing; the file changed while it was read".to_owned()),
        };
        let parsed = parsed.map_err(|what| lines.fault(what))?;
        value.store(&parsed, &mut bits, 0..width, lane);
    }
    Ok(bits)
}

fn hint(error: &ValueError) -> String {
    match error {
        ValueError::NotADigit { radix: 10, .. } => format!("{error}; write hexadecimal values as 0x…"),
        _ => error.to_string(),
    }
}

/// The bits of one value, given in wire order, in every one of `lanes` lanes.
pub(crate) fn repeat(bits: &[bool], lanes: usize) -> BitMatrix {
    let mut matrix = BitMatrix::zeros(bits.len(), lanes);
    for row in (0..bits.len()).filter(|&row| bits[row]) {
        matrix.row_mut(row).fill(u64::MAX);
    }
    matrix.mask_padding();
    matrix
}

/// `value` in each lane of the rows that hold it, as `0x` and hexadecimal digits.
///
/// # Panics
/// If `rows` are not as many as the wires of `value`, or not all within `bits`.
pub fn format(bits: &BitMatrix, rows: Range<usize>, value: &Value) -> Vec<String> {
    (0..bits.lanes())
        .map(|lane| format!("0x{}", value.hex_from_bits(&value.load(bits, rows.clone(), lane))))
        .collect()
}

/// Writes `values`, one a line, to a new file at `path` or in the place of the one there, whole or not at all. Outputs are
/// private to who learns them: on Unix only the owner may read the file (mode 0600), whatever was there before.
///
/// # Errors
/// [`Error::Data`] if it cannot be written, or there is something else than a regular file, such as a symbolic link.
pub fn write(path: &Path, values: &[String]) -> Result<()> {
    let write = || -> std::io::Result<()> {
        let file = beside(path)?;
        let mut writer = BufWriter::new(file.as_file());
        for value in values {
            writeln!(writer, "{value}")?;
        }
        writer.flush()?;
        drop(writer);
        file.as_file().sync_all()?;
        file.persist(path)?;
        Ok(())
    };
    write().map_err(|error| unwritable(path, &error))
}

/// Makes sure that [`write()`] can write to `path`, as far as can be known before.
///
/// # Errors
/// As [`write()`].
pub fn check_writable(path: &Path) -> Result<()> {
    beside(path).map(drop).map_err(|error| unwritable(path, &error))
}

fn unwritable(path: &Path, error: &std::io::Error) -> Error {
    Error::data(path, None, format!("cannot be written: {error}"))
}

/// A new file for its owner only, to take the place of the one at `path`. It goes away when dropped.
fn beside(path: &Path) -> std::io::Result<tempfile::NamedTempFile> {
    match std::fs::symlink_metadata(path) {
        Ok(there) if !there.is_file() => {
            return Err(std::io::Error::other(
                "what is there is not a regular file; remove it or name another",
            ));
        }
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let folder = match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    };
    tempfile::Builder::new()
        .prefix(".cenote-")
        .tempfile_in(folder)
        .map_err(|error| {
            std::io::Error::new(
                error.kind(),
                format!("no file can be made in its folder ({})", error.kind()),
            )
        })
}

#[cfg(test)]
mod tests {
    use cenote_circuit::BitOrder;

    use super::*;

    fn file(contents: &str) -> tempfile::NamedTempFile {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(contents.as_bytes()).unwrap();
        file
    }

    fn value(width: u32, order: BitOrder) -> Value {
        Value {
            name: "v".into(),
            width,
            order,
        }
    }

    fn column(bits: &BitMatrix, lane: usize) -> Vec<bool> {
        (0..bits.rows()).map(|row| bits.get(row, lane)).collect()
    }

    #[test]
    fn a_line_is_a_lane_in_either_order() {
        let file = file("\u{feff}5\r\n0x6\n 0 \n\n\n");
        let lsb = read(file.path(), &value(4, BitOrder::Lsb), 3).unwrap();
        assert_eq!(column(&lsb, 0), [true, false, true, false]);
        assert_eq!(column(&lsb, 1), [false, true, true, false]);
        assert_eq!(column(&lsb, 2), [false; 4]);
        let msb = read(file.path(), &value(4, BitOrder::Msb), 3).unwrap();
        assert_eq!(column(&msb, 0), [false, true, false, true]);
        assert_eq!(
            format(&msb, 0..4, &value(4, BitOrder::Msb)),
            ["0x5", "0x6", "0x0"]
        );
        assert_eq!(
            format(&lsb, 0..4, &value(4, BitOrder::Lsb)),
            ["0x5", "0x6", "0x0"]
        );
    }

    #[test]
    fn a_repeated_value_fills_every_lane() {
        let value = value(5, BitOrder::Msb);
        let bits = repeat(&value.parse("0x1d").unwrap(), 70);
        assert_eq!(format(&bits, 0..5, &value), vec!["0x1d"; 70]);
        let mut masked = bits.clone();
        masked.mask_padding();
        assert_eq!(bits, masked);
    }

    #[test]
    fn faults_name_file_and_line_and_never_the_value() {
        for (contents, line, part) in [
            ("1\n300\n2\n", 2, "does not fit in 8 bits"),
            ("1\n\n2\n", 2, "is empty"),
            (
                "1\n2\n12x\n",
                3,
                "not a decimal digit; write hexadecimal values as 0x",
            ),
            ("0xzz\n1\n2\n", 1, "not a hexadecimal digit"),
        ] {
            let file = file(contents);
            let text = read(file.path(), &value(8, BitOrder::Lsb), 3)
                .unwrap_err()
                .to_string();
            let text = text.strip_prefix(&file.path().display().to_string()).unwrap();
            assert!(text.starts_with(&format!(", line {line}:")), "{text}");
            assert!(text.contains(part), "{text}");
            assert!(
                !text.contains("300") && !text.contains("12x") && !text.contains("zz"),
                "{text}"
            );
        }
    }

    #[test]
    fn another_number_of_values_is_refused() {
        let byte = value(8, BitOrder::Lsb);
        let text = read(file("1\n2\n").path(), &byte, 3).unwrap_err().to_string();
        assert!(text.contains("has 2 values, but the job has 3 lanes"), "{text}");
        let text = read(Path::new("/nowhere/values"), &byte, 1)
            .unwrap_err()
            .to_string();
        assert!(text.starts_with("/nowhere/values: cannot be read"), "{text}");
    }

    #[cfg(unix)]
    #[test]
    fn outputs_are_for_their_owner_and_do_not_follow_links() {
        use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
        let folder = tempfile::tempdir().unwrap();
        let (path, link) = (folder.path().join("out"), folder.path().join("link"));
        let lines = |values: &[&str]| values.iter().map(|&value| value.to_owned()).collect::<Vec<_>>();
        std::fs::write(&path, "old and longer than what comes\n").unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
        let open = std::fs::File::open(&path).unwrap();
        write(&path, &lines(&["0x1", "0x2"])).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "0x1\n0x2\n");
        assert_eq!(path.metadata().unwrap().mode() & 0o777, 0o600);
        let old = std::io::read_to_string(open).unwrap();
        assert!(old.starts_with("old"), "who had the old file open learns nothing");

        symlink(&path, &link).unwrap();
        for elsewhere in [&link, folder.path()] {
            let error = write(elsewhere, &lines(&["0x3"])).unwrap_err().to_string();
            assert!(error.contains("not a regular file"), "{error}");
            assert!(check_writable(elsewhere).is_err());
        }
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "0x1\n0x2\n");

        let missing = folder.path().join("nowhere/out");
        let error = check_writable(&missing).unwrap_err().to_string();
        assert!(error.contains("nowhere/out: cannot be written"), "{error}");
        assert!(write(&missing, &[]).is_err());
        let entries = std::fs::read_dir(folder.path()).unwrap().count();
        assert_eq!(entries, 2, "no file is left behind");
    }

    #[test]
    fn endless_lines_and_binary_files_are_refused() {
        let byte = value(8, BitOrder::Lsb);
        let text = count(file(&"1".repeat(10_000)).path(), &byte)
            .unwrap_err()
            .to_string();
        assert!(
            text.contains("line 1: is longer than the 264 characters"),
            "{text}"
        );
        let mut binary = tempfile::NamedTempFile::new().unwrap();
        binary.write_all(&[b'1', b'\n', 0xff, 0xfe]).unwrap();
        let text = count(binary.path(), &byte).unwrap_err().to_string();
        assert!(text.contains("line 2: is not plain text"), "{text}");
    }
}
