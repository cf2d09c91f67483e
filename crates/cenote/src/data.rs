//! Files of values: one value a line, one lane each.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use cenote_circuit::{Value, ValueError};
use cenote_primitives::BitMatrix;
use cenote_session::room;

use crate::{Error, Result, files};

/// Most bits (wires times lanes) of all inputs or all outputs of a job: 32 GiB of them.
pub const MAX_BITS: u64 = 1 << 38;

/// What room is asked for.
const INPUTS: &str = "inputs";

/// The lines of a file, each checked for length before it is kept, numbered from 1.
pub(crate) struct Lines<'a> {
    path: &'a Path,
    reader: Box<dyn BufRead + 'a>,
    longest: usize,
    number: usize,
    buffer: Vec<u8>,
}

impl<'a> Lines<'a> {
    /// Opens `path`, of whose lines none is longer than `longest` bytes.
    pub(crate) fn open(path: &'a Path, longest: usize) -> Result<Self> {
        let file = files::open(path).map_err(|error| {
            Error::data(
                path,
                None,
                format!("cannot be read: {error}; give a readable file (paths are relative to the job file)"),
            )
        })?;
        Ok(Self::over(path, Box::new(BufReader::new(file)), longest))
    }

    fn over(path: &'a Path, reader: Box<dyn BufRead + 'a>, longest: usize) -> Self {
        Lines {
            path,
            reader,
            longest,
            number: 0,
            buffer: Vec::new(),
        }
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
/// [`Error::Data`] if it cannot be read, a line is too long for `value`, or the first line is none: a header, for one, which
/// would be counted.
pub(crate) fn count(path: &Path, value: &Value) -> Result<usize> {
    let mut lines = Lines::open(path, longest_line(value))?;
    let mut number = vec![0; value.words()];
    let mut count = 0;
    while let Some(line) = lines.next()? {
        if line.is_empty() {
            continue;
        }
        if count == 0 {
            let parsed = value.parse(line, &mut number);
            parsed.map_err(|error| lines.fault(hint(&error, lines.number())))?;
        }
        count = lines.number();
    }
    match count {
        0 => Err(Error::data(path, None, "has no values; write one value a line")),
        count => Ok(count),
    }
}

/// The values of the file at `path` as bits, one row for each wire of `value`, one lane for each line.
///
/// A line holds one value, hexadecimal after `0x` or decimal.
///
/// # Errors
/// [`Error::Data`] with the line, if a line is no value of that width, or there are not `lanes` values. The text of the
/// line is not quoted. A lack of memory.
pub(crate) fn read(path: &Path, value: &Value, lanes: usize) -> Result<BitMatrix> {
    read_lines(Lines::open(path, longest_line(value))?, value, lanes)
}

/// The values that `reader` gives, as [`read`] reads those of a file; complaints call it `name`.
///
/// # Errors
/// As [`read`].
pub(crate) fn read_from<'a>(
    name: &'a str,
    reader: Box<dyn BufRead + 'a>,
    value: &Value,
    lanes: usize,
) -> Result<BitMatrix> {
    read_lines(
        Lines::over(Path::new(name), reader, longest_line(value)),
        value,
        lanes,
    )
}

fn read_lines(mut lines: Lines<'_>, value: &Value, lanes: usize) -> Result<BitMatrix> {
    let path = lines.path;
    let (width, words) = (value.width as usize, value.words());
    let mut bits = room::bits(INPUTS, width, lanes)?;
    let mut numbers = vec![0; 64 * words];
    let (mut found, mut empty) = (0, None);
    while let Some(line) = lines.next()? {
        if line.is_empty() {
            empty.get_or_insert(lines.number());
            continue;
        }
        if let Some(empty) = empty {
            return Err(Error::data(path, Some(empty), "is empty; write one value a line"));
        }
        if found < lanes {
            let number = &mut numbers[found % 64 * words..][..words];
            let parsed = value.parse(line, number);
            parsed.map_err(|error| lines.fault(hint(&error, lines.number())))?;
            if found % 64 == 63 {
                value.store(&numbers, &mut bits, 0..width, found / 64);
            }
        }
        found += 1;
    }
    if found != lanes {
        let what = format!(
            "has {found} values, but the job has {lanes} lanes: write one value a line, one line a lane"
        );
        return Err(Error::data(path, None, what));
    }
    value.store(&numbers[..lanes % 64 * words], &mut bits, 0..width, lanes / 64);
    Ok(bits)
}

/// What is wrong with the line of that number.
fn hint(error: &ValueError, line: usize) -> String {
    match error {
        ValueError::NotADigit { .. } if line == 1 => {
            format!("{error}; a file of values has no header, and hexadecimal values start with 0x")
        }
        ValueError::NotADigit { radix: 10, .. } => format!("{error}; write hexadecimal values as 0x…"),
        _ => error.to_string(),
    }
}

/// One number, of `value`, in every one of `lanes` lanes.
///
/// # Errors
/// A lack of memory.
pub(crate) fn repeat(number: &[u64], value: &Value, lanes: usize) -> Result<BitMatrix> {
    let width = value.width as usize;
    let mut once = BitMatrix::zeros(width, 1);
    value.store(number, &mut once, 0..width, 0);
    let mut matrix = room::bits(INPUTS, width, lanes)?;
    for row in (0..width).filter(|&row| once.get(row, 0)) {
        matrix.row_mut(row).fill(u64::MAX);
    }
    matrix.mask_padding();
    Ok(matrix)
}

/// `value` in each lane, as `0x` and hexadecimal digits.
///
/// # Panics
/// If the rows of `bits` are not as many as the wires of `value`.
pub(crate) fn format(bits: &BitMatrix, value: &Value) -> Vec<String> {
    let words = value.words();
    if words == 0 {
        return vec!["0x".into(); bits.lanes()];
    }
    let mut texts = Vec::with_capacity(bits.lanes());
    for group in 0..bits.stride() {
        let numbers = value.load(bits, 0..bits.rows(), group);
        let text = |number| format!("0x{}", value.hex(number));
        texts.extend(numbers.chunks_exact(words).map(text));
    }
    texts
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use cenote_circuit::BitOrder;

    use super::*;
    use crate::files::tests::{irregular, refusal};

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
        assert_eq!(format(&msb, &value(4, BitOrder::Msb)), ["0x5", "0x6", "0x0"]);
        assert_eq!(format(&lsb, &value(4, BitOrder::Lsb)), ["0x5", "0x6", "0x0"]);
    }

    #[test]
    fn lanes_that_there_is_no_room_for_are_refused() {
        let value = value(5, BitOrder::Msb);
        for lanes in [1 << 60, usize::MAX] {
            for result in [repeat(&[1], &value, lanes), read(file("1").path(), &value, lanes)] {
                let error = result.unwrap_err();
                assert!(error.to_string().contains("no room for inputs"), "{error}");
            }
        }
    }

    #[test]
    fn a_repeated_value_fills_every_lane() {
        let value = value(5, BitOrder::Msb);
        let bits = repeat(&[0x1d], &value, 70).unwrap();
        assert_eq!(format(&bits, &value), vec!["0x1d"; 70]);
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
            // The fault, before the number of lines that it has led to.
            (
                "v\n1\n2\n3\n",
                1,
                "character 1 is not a decimal digit; a file of values has no header",
            ),
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
        let text = read(file("1\n2\n3\n4\n").path(), &byte, 3)
            .unwrap_err()
            .to_string();
        assert!(text.contains("has 4 values, but the job has 3 lanes"), "{text}");
        let text = read(Path::new("/nowhere/values"), &byte, 1)
            .unwrap_err()
            .to_string();
        assert!(text.starts_with("/nowhere/values: cannot be read"), "{text}");
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
    /// Any number of lanes, of values of more than a word and of none.
    #[test]
    fn what_is_read_is_what_was_written() {
        for (width, lanes) in [(0, 3), (1, 64), (7, 65), (64, 128), (130, 200)] {
            for order in [BitOrder::Lsb, BitOrder::Msb] {
                let value = value(width, order);
                let text = |lane: usize| match width {
                    0 => "0x0".to_owned(),
                    _ => {
                        let digits = (1 + lane % 3).to_string().repeat(width.div_ceil(4) as usize - 1);
                        format!("0x{digits}1")
                    }
                };
                let texts: Vec<String> = (0..lanes).map(text).collect();
                let file = file(&texts.join("\n"));
                assert_eq!(count(file.path(), &value).unwrap(), lanes);
                let bits = read(file.path(), &value, lanes).unwrap();
                assert_eq!((bits.rows(), bits.lanes()), (width as usize, lanes));
                if width > 0 {
                    assert_eq!(format(&bits, &value), texts);
                }
            }
        }
    }

    #[test]
    fn a_header_is_noticed_before_lines_are_counted() {
        let byte = value(8, BitOrder::Lsb);
        let text = count(file("value\n1\n2\n").path(), &byte)
            .unwrap_err()
            .to_string();
        assert!(
            text.contains("line 1:") && text.contains("has no header"),
            "{text}"
        );
        let text = count(file("\n\n").path(), &byte).unwrap_err().to_string();
        assert!(text.contains("has no values"), "{text}");
    }

    #[test]
    fn what_is_no_regular_file_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        for other in irregular(folder.path()) {
            let text = refusal(&other, |path| read(path, &value(8, BitOrder::Lsb), 1));
            assert!(text.contains("not a regular file"), "{text}");
        }
    }
}
