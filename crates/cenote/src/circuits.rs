//! Circuits by file or by name.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use cenote_circuit::format;
pub use cenote_circuit::{Circuit, library};

pub use cenote_circuit::format::Format;
pub use cenote_circuit::{BitOrder, Builder, Plan, Statistics, Value};

use crate::{Error, Result};

/// Circuit files above this size are refused: a gate takes some 20 bytes, and a circuit has fewer than 2^32 wires.
const MAX_BYTES: u64 = 1 << 37;

/// What a library circuit's name starts with wherever a file is meant otherwise.
pub const LIBRARY_PREFIX: &str = "lib:";

/// The circuit in the file at `path`, in Bristol Fashion or the older Bristol format.
///
/// # Errors
/// [`Error::Data`] with the line, if the file cannot be read or is no circuit.
pub fn read_file(path: &Path) -> Result<Circuit> {
    let mut text = String::new();
    File::open(path).and_then(|file| file.take(MAX_BYTES).read_to_string(&mut text)).map_err(|error| {
        let what = format!(
            "the circuit cannot be read: {error}; give a circuit file, or {LIBRARY_PREFIX}NAME for one of the library"
        );
        Error::data(path, None, what)
    })?;
    format::read(&text).map_err(|error| Error::data(path, Some(error.line), error.reason))
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

/// The circuit that `text` means: `lib:NAME`, or a file.
///
/// # Errors
/// Those of [`read_file`] and [`by_name`].
pub fn open(text: &str) -> Result<Circuit> {
    match text.strip_prefix(LIBRARY_PREFIX) {
        Some(name) => by_name(name),
        None => read_file(Path::new(text)),
    }
}
