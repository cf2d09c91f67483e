//! Which files were sound, and how they looked then.

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::time::SystemTime;

use crate::item::ItemId;

/// The files of each item that were sound, by their names.
pub(crate) type Sound = HashMap<ItemId, HashMap<String, Mark>>;

/// What changes if a file is replaced, or written to in the usual way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mark {
    length: u64,
    modified: Option<SystemTime>,
    inode: u64,
}

impl Mark {
    pub(crate) fn of(path: &Path) -> Option<Self> {
        let metadata = fs::metadata(path).ok()?;
        Some(Self {
            length: metadata.len(),
            modified: metadata.modified().ok(),
            #[cfg(unix)]
            inode: std::os::unix::fs::MetadataExt::ino(&metadata),
            #[cfg(not(unix))]
            inode: 0,
        })
    }
}
