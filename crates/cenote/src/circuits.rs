//! Circuits by file or by name.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use cenote_circuit::format;
pub use cenote_circuit::{Circuit, library};

pub use cenote_circuit::format::Format;
pub use cenote_circuit::{BitOrder, Builder, Plan, Statistics, Value};

use crate::{Error, Result};

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
    let text = read_text(path).map_err(|error| {
        let what = format!(
            "the circuit cannot be read: {error}; give a circuit file, or {LIBRARY_PREFIX}NAME for one of the library"
        );
        Error::data(path, None, what)
    })?;
    format::read(&text).map_err(|error| Error::data(path, Some(error.line), error.reason))
}

fn read_text(path: &Path) -> io::Result<String> {
    // Before it is opened: opening a pipe would wait for its other end.
    let metadata = std::fs::metadata(path)?;
    if !metadata.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    let too_large = || {
        let gib = MAX_FILE_BYTES >> 30;
        io::Error::other(format!(
            "it has more than the {gib} GiB that a circuit file may have"
        ))
    };
    if metadata.len() > MAX_FILE_BYTES {
        return Err(too_large());
    }
    let mut text = String::new();
    // It may grow meanwhile.
    let read = File::open(path)?
        .take(MAX_FILE_BYTES + 1)
        .read_to_string(&mut text)?;
    if read as u64 > MAX_FILE_BYTES {
        return Err(too_large());
    }
    Ok(text)
}

/// The library's circuit called `name` (without the prefix).
///
/// # Errors
/// [`Error::Usage`] with the names there are, if there is none of that name.
pub fn by_name(name: &str) -> Result<Circuit> {
    library::by_name(name).ok_or_else(|| {
        Error::Usage(format!(
            "the library has no circuit \"{name}\"; it has {}",
            names().map(|(name, _)| name).collect::<Vec<_>>().join(", ")
        ))
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
        None => match library::by_name(text) {
            Some(circuit) if !Path::new(text).exists() => Ok(circuit),
            _ => read_file(Path::new(text)),
        },
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_bare_name_is_the_librarys_where_there_is_no_such_file() {
        assert_eq!(open("add8").unwrap(), open("lib:add8").unwrap());
        assert!(open("no-such-circuit").is_err());
    }

    /// What reading `path` fails with, which must not take long.
    fn refusal(path: &Path) -> String {
        let (sender, receiver) = channel();
        let path = path.to_owned();
        std::thread::spawn(move || sender.send(read_file(&path).map(drop)));
        let read = receiver.recv_timeout(Duration::from_secs(5));
        read.expect("it reads on and on").unwrap_err().to_string()
    }

    #[test]
    fn files_without_end_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let large = folder.path().join("large");
        File::create(&large).unwrap().set_len(MAX_FILE_BYTES + 1).unwrap();
        let text = refusal(&large);
        assert!(text.contains("more than the 4 GiB"), "{text}");

        let mut others = vec![folder.path().to_owned()];
        if cfg!(unix) {
            let pipe = folder.path().join("pipe");
            let made = std::process::Command::new("mkfifo").arg(&pipe).status().unwrap();
            assert!(made.success());
            others.extend([pipe, "/dev/zero".into()]);
        }
        for other in others {
            let text = refusal(&other);
            assert!(text.contains("not a regular file"), "{text}");
        }
    }
}
