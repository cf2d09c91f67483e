//! Circuits by file or by name.

use std::fs::File;
use std::path::Path;

use cenote_circuit::format;
use cenote_circuit::library::NameError;
pub use cenote_circuit::{Circuit, library};

pub use cenote_circuit::format::{Format, write};
pub use cenote_circuit::{BitOrder, Builder, Plan, Statistics, Value};

use crate::{Error, Result, files};

/// Circuit files above this size, 4 GiB, are refused: some 200 million gates of 20 bytes.
pub const MAX_FILE_BYTES: u64 = 4 << 30;

/// What a library circuit's name starts with wherever a file is meant otherwise.
pub const LIBRARY_PREFIX: &str = "lib:";

/// The circuit in the file at `path`, in Bristol Fashion or the older Bristol format.
///
/// # Errors
/// [`Error::Data`] with the line, if the file cannot be read, is no regular file, has more than [`MAX_FILE_BYTES`] or is no
/// circuit.
pub fn read_file(path: &Path) -> Result<Circuit> {
    let text = files::read(path, MAX_FILE_BYTES, "circuit file").map_err(|error| {
        let what = format!(
            "the circuit cannot be read: {error}; give a circuit file, or {LIBRARY_PREFIX}NAME for one of the library"
        );
        Error::data(path, None, what)
    })?;
    read_text(path, &text)
}

/// The circuit in `text`, which complaints call `path`.
///
/// # Errors
/// [`Error::Data`] with the line, if it is no circuit.
pub fn read_text(path: &Path, text: &str) -> Result<Circuit> {
    format::read(text).map_err(|error| Error::data(path, Some(error.line), error.reason))
}

/// The library's circuit called `name` (without the prefix).
///
/// # Errors
/// [`Error::Usage`] with the names there are, if there is none of that name, or with the sizes that it may have.
pub fn by_name(name: &str) -> Result<Circuit> {
    by_name_within(name, usize::MAX)
}

/// The same, if it comes to no more than `most` gates while it is built.
///
/// # Errors
/// As [`by_name`]; [`Error::Usage`] with the bound if it comes to more.
pub fn by_name_within(name: &str, most: usize) -> Result<Circuit> {
    library::by_name_within(name, most).map_err(|error| unknown(name, error))
}

fn unknown(name: &str, error: NameError) -> Error {
    Error::Usage(match error {
        NameError::Unknown => format!(
            "the library has no circuit \"{name}\"; it has {}",
            names().map(|(name, _)| name).collect::<Vec<_>>().join(", ")
        ),
        NameError::Gates(most) => format!(
            "the library's circuit \"{name}\" comes to more than {most} gates; use a smaller one and more lanes"
        ),
        NameError::Size(sizes) => format!("the library has no circuit \"{name}\" of that size: {sizes}"),
    })
}

/// The names that [`by_name`] knows, with what each computes. `N` stands for a width in bits.
pub fn names() -> impl Iterator<Item = (&'static str, &'static str)> {
    library::NAMES.iter().copied()
}

/// SHA-256 of a circuit's content, in hexadecimal: what parties compare.
pub fn digest(circuit: &Circuit) -> String {
    hex::encode(circuit.digest())
}

/// Writes `circuit` to a new file at `path`, or in the place of the one there.
///
/// # Errors
/// [`Error::Data`] if the file cannot be written; [`Error::Usage`] if the format has no room for the circuit.
pub fn write_file(circuit: &Circuit, format: Format, path: &Path) -> Result<()> {
    let fault = |error: std::io::Error| Error::data(path, None, format!("cannot be written: {error}"));
    let mut file = File::create(path).map_err(fault)?;
    format::write(circuit, format, &mut file).map_err(|error| match error {
        format::WriteError::Io(error) => fault(error),
        other => Error::Usage(other.to_string()),
    })
}

/// The circuit that `text` means: `lib:NAME`, a file, or the bare name of a library circuit where there is no such file.
///
/// # Errors
/// Those of [`read_file`] and [`by_name`].
pub fn open(text: &str) -> Result<Circuit> {
    match text.strip_prefix(LIBRARY_PREFIX) {
        Some(name) => by_name(name),
        None if Path::new(text).exists() => read_file(Path::new(text)),
        None => match library::by_name(text) {
            Ok(circuit) => Ok(circuit),
            Err(error @ (NameError::Size(_) | NameError::Gates(_))) => Err(unknown(text, error)),
            Err(NameError::Unknown) => read_file(Path::new(text)),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::tests::{irregular, refusal};

    #[test]
    fn a_bare_name_is_the_librarys_where_there_is_no_such_file() {
        assert_eq!(open("add8").unwrap(), open("lib:add8").unwrap());
        let text = open("no-such-circuit").unwrap_err().to_string();
        assert!(text.contains("cannot be read"), "{text}");
    }

    #[test]
    fn a_name_out_of_range_states_the_range() {
        for (name, part) in [
            ("add0", "N is 1 to 4096"),
            ("add99999999999999999999", "N is 1 to 4096"),
            ("multfull513", "N is 1 to 512"),
            ("exposure3x65-7", "P is 1 to 1024 and N 1 to 64"),
            ("sort4097x1", "M is 1 to 4096 and N 1 to 64, M · N at most 131072"),
        ] {
            for text in [format!("lib:{name}"), name.to_owned()] {
                let text = open(&text).unwrap_err().to_string();
                assert!(
                    text.contains(&format!("\"{name}\" of that size")) && text.contains(part),
                    "{text}"
                );
            }
        }
    }

    #[test]
    fn files_without_end_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let large = folder.path().join("large");
        File::create(&large).unwrap().set_len(MAX_FILE_BYTES + 1).unwrap();
        let text = refusal(&large, read_file);
        assert!(text.contains("more than the 4 GiB that a circuit file"), "{text}");
        for other in irregular(folder.path()) {
            let text = refusal(&other, read_file);
            assert!(text.contains("not a regular file"), "{text}");
        }
    }
}
