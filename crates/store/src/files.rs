//! Deleting single files.

use std::fs;
use std::io;
use std::path::Path;

/// Deletes a file that is never used whether it is deleted or not.
pub(crate) fn remove_or_warn(path: &Path) {
    if let Err(error) = remove_if_there(path) {
        tracing::warn!(path = %path.display(), %error, "a file of stock that is of no use any more cannot be deleted");
    }
}

/// Deletes a file; that there is none is no error.
pub(crate) fn remove_if_there(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}
