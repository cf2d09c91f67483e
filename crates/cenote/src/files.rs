//! Reading the files that users name. Only regular files are: a pipe would wait for its other end, a device may have none.

use std::fs::{File, metadata};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// The folder for what does not fit into memory for a while, on a disk: `TMPDIR`, or else `/var/tmp`, since `/tmp` is often in memory.
pub(crate) fn scratch_folder() -> PathBuf {
    let on_disk = PathBuf::from("/var/tmp");
    match std::env::var_os("TMPDIR").is_none() && on_disk.is_dir() {
        true => on_disk,
        false => std::env::temp_dir(),
    }
}

/// Opens the regular file at `path`.
///
/// # Errors
/// The system's, and one that says so if there is something else.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    let regular = |is_file: bool| match is_file {
        true => Ok(()),
        false => Err(io::Error::other(
            "it is not a regular file, but a folder, pipe or device",
        )),
    };
    // Before it is opened: opening a pipe would wait.
    regular(metadata(path)?.is_file())?;
    let file = File::open(path)?;
    regular(file.metadata()?.is_file())?;
    Ok(file)
}

/// The text in the regular file at `path`, which has at most `limit` bytes; `kind` is what it is, for the message.
///
/// # Errors
/// As [`open`]; if the file is larger, or not UTF-8.
pub(crate) fn read(path: &Path, limit: u64, kind: &str) -> io::Result<String> {
    let file = open(path)?;
    let too_large = || {
        let units = [(30, "GiB"), (20, "MiB"), (0, "bytes")];
        let (size, unit) = units
            .map(|(power, unit)| (limit >> power, unit))
            .into_iter()
            .find(|(size, _)| *size > 0)
            .unwrap_or((0, "bytes"));
        io::Error::other(format!(
            "it has more than the {size} {unit} that a {kind} may have"
        ))
    };
    if file.metadata()?.len() > limit {
        return Err(too_large());
    }
    let mut text = String::new();
    // It may grow meanwhile.
    if file.take(limit + 1).read_to_string(&mut text)? as u64 > limit {
        return Err(too_large());
    }
    Ok(text)
}

/// Whether two paths lead to the same place, as far as that is there.
pub(crate) fn same_file(a: &Path, b: &Path) -> bool {
    let there = |path: &Path| path.canonicalize().ok();
    a == b || there(a).is_some_and(|place| there(b) == Some(place))
}

#[cfg(test)]
pub(crate) mod tests {
    use std::path::PathBuf;
    use std::sync::mpsc::channel;
    use std::time::Duration;

    use super::*;

    /// Things that are there and are no regular files, in `folder` and elsewhere.
    pub(crate) fn irregular(folder: &Path) -> Vec<PathBuf> {
        let mut others = vec![folder.to_owned()];
        if cfg!(unix) {
            let pipe = folder.join("pipe");
            let made = std::process::Command::new("mkfifo").arg(&pipe).status().unwrap();
            assert!(made.success());
            others.extend([pipe, "/dev/zero".into()]);
        }
        others
    }

    /// What `read` of `path` fails with, which must not take long.
    #[track_caller]
    pub(crate) fn refusal<T, E: std::fmt::Display>(
        path: &Path,
        read: impl FnOnce(&Path) -> Result<T, E> + Send + 'static,
    ) -> String {
        let (sender, receiver) = channel();
        let path = path.to_owned();
        std::thread::spawn(move || sender.send(read(&path).map(drop).map_err(|error| error.to_string())));
        let read = receiver.recv_timeout(Duration::from_secs(20));
        read.expect("it reads on and on").unwrap_err()
    }

    #[test]
    fn only_regular_files_of_bounded_size_are_read() {
        let folder = tempfile::tempdir().unwrap();
        for other in irregular(folder.path()) {
            let text = refusal(&other, |path| read(path, 100, "test"));
            assert!(text.contains("not a regular file"), "{text}");
        }
        let large = folder.path().join("large");
        std::fs::write(&large, "1").unwrap();
        assert_eq!(read(&large, 1, "test").unwrap(), "1");
        File::create(&large).unwrap().set_len((3 << 20) + 1).unwrap();
        let text = refusal(&large, |path| read(path, 3 << 20, "test"));
        assert_eq!(text, "it has more than the 3 MiB that a test may have");
    }
}
