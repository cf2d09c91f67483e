//! The files that outputs are written to.
//!
//! What an earlier run has left there is put aside before the parties meet, so that nobody takes it for a result of this one.

use std::ffi::OsString;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use cenote_session::{Error as EngineError, Parties};

use crate::{Error, Job, Output, Result};

/// What is added to the name of a file that is put aside.
const PREVIOUS: &str = ".previous";

/// The output files of a job, one entry for each output, where there is one to write here.
pub(crate) struct OutputFiles<'a>(Vec<Option<&'a Path>>);

impl<'a> OutputFiles<'a> {
    /// The files of those outputs of `job` whose receivers are `wanted`. Makes sure that they can be written and that what
    /// is there can be put aside, as far as can be known before.
    ///
    /// # Errors
    /// [`Error::Data`] if a file cannot be written, or there is something else than a regular file, such as a symbolic link;
    /// [`EngineError::DiskFull`].
    pub(crate) fn check(job: &'a Job, wanted: impl Fn(&Parties) -> bool) -> Result<Self> {
        let files = job.output_files().iter().zip(job.receivers());
        let files: Vec<Option<&Path>> = files
            .map(|(file, to)| file.as_deref().filter(|_| wanted(to)))
            .collect();
        files.iter().flatten().try_for_each(|file| check_writable(file))?;
        Ok(OutputFiles(files))
    }

    /// Renames the files that are there: `NAME` becomes `NAME.previous`, in the place of an older one.
    ///
    /// # Errors
    /// [`Error::Data`] if one cannot be renamed.
    pub(crate) fn put_aside(&self) -> Result<()> {
        self.0.iter().flatten().try_for_each(|file| put_aside(file))
    }

    /// Writes the values of `outputs` that are known.
    ///
    /// # Errors
    /// [`Error::Data`] if a file cannot be written; [`EngineError::DiskFull`].
    pub(crate) fn write(&self, outputs: &[Output]) -> Result<()> {
        for (output, file) in outputs.iter().zip(&self.0) {
            if let (Some(values), Some(file)) = (&output.values, file) {
                write(file, values)?;
            }
        }
        Ok(())
    }
}

/// Writes `values`, one a line, to a new file at `path`, whole or not at all. Outputs are private to who learns them: on Unix
/// only the owner may read the file (mode 0600), whatever was there before.
fn write(path: &Path, values: &[String]) -> Result<()> {
    let write = || -> io::Result<()> {
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

/// Sees that a file can be written at `path`.
///
/// # Errors
/// As [`OutputFiles::check`].
pub(crate) fn check_writable(path: &Path) -> Result<()> {
    let check = || {
        // Where the disk is full, an empty file can be made all the same.
        beside(path)?.as_file().write_all(&[0; 1 << 12])?;
        is_file(&previous(path))
    };
    check().map(drop).map_err(|error| unwritable(path, &error))
}

/// Renames the file at `path`, if there is one.
///
/// # Errors
/// As [`OutputFiles::put_aside`].
pub(crate) fn put_aside(path: &Path) -> Result<()> {
    let rename = || match is_file(path)? {
        true => std::fs::rename(path, previous(path)),
        false => Ok(()),
    };
    rename().map_err(|error| {
        let what = format!("cannot be renamed to {}: {error}", previous(path).display());
        Error::data(path, None, what)
    })
}

fn previous(path: &Path) -> PathBuf {
    let mut name = path.file_name().map_or_else(OsString::new, OsString::from);
    name.push(PREVIOUS);
    path.with_file_name(name)
}

fn unwritable(path: &Path, error: &io::Error) -> Error {
    match EngineError::file(path, "cannot be written", error) {
        full @ EngineError::DiskFull(_) => full.into(),
        _ => Error::data(path, None, format!("cannot be written: {error}")),
    }
}

/// Whether there is a file at `path`. Anything else there is an error.
fn is_file(path: &Path) -> io::Result<bool> {
    match std::fs::symlink_metadata(path) {
        Ok(there) if there.is_file() => Ok(true),
        Ok(_) => Err(io::Error::other(format!(
            "{} is not a regular file; remove it or name another",
            path.display()
        ))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// A new file for its owner only, to take the place of the one at `path`. It goes away when dropped.
fn beside(path: &Path) -> io::Result<tempfile::NamedTempFile> {
    is_file(path)?;
    cenote_tables::beside(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries(folder: &Path) -> usize {
        std::fs::read_dir(folder).unwrap().count()
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
            let checked = check_writable(elsewhere).unwrap_err().to_string();
            assert_eq!(checked, error);
        }
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "0x1\n0x2\n");

        let missing = folder.path().join("nowhere/out");
        let error = check_writable(&missing).unwrap_err().to_string();
        assert!(error.contains("nowhere/out: cannot be written"), "{error}");
        assert_eq!(write(&missing, &[]).unwrap_err().to_string(), error);
        assert_eq!(entries(folder.path()), 2, "no file is left behind");
    }

    #[test]
    fn an_older_file_is_put_aside() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sum.csv");
        let aside = folder.path().join("sum.csv.previous");
        put_aside(&path).unwrap();
        assert_eq!(entries(folder.path()), 0, "there was none");
        for text in ["first", "second"] {
            std::fs::write(&path, text).unwrap();
            put_aside(&path).unwrap();
            assert!(!path.exists());
            assert_eq!(std::fs::read_to_string(&aside).unwrap(), text);
        }
        // A run that fails leaves nothing, so the next one keeps what was put aside.
        put_aside(&path).unwrap();
        assert_eq!(std::fs::read_to_string(&aside).unwrap(), "second");

        std::fs::remove_file(&aside).unwrap();
        std::fs::create_dir(&aside).unwrap();
        let error = check_writable(&path).unwrap_err().to_string();
        assert!(
            error.contains("sum.csv.previous is not a regular file"),
            "{error}"
        );
    }
}
