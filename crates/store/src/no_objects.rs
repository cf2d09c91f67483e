//! Object stores, where the program was built without them.

use std::convert::Infallible;
use std::path::PathBuf;
use std::time::Duration;

use cenote_session::{Error, Result};

const NONE: &str = "this program was built without object stores; build it with the feature `object-store`, or leave `shards_store` out";

/// There are none.
pub(crate) struct Objects(Infallible);

/// Sees that `url` is that of an object store, of which there are none.
///
/// # Errors
/// That there are none.
pub fn check_objects_url(_url: &str) -> std::result::Result<(), String> {
    Err(NONE.into())
}

impl Objects {
    pub(crate) fn open(
        url: &str,
        _under: &str,
        _options: impl IntoIterator<Item = (String, String)>,
        _deadline: Duration,
    ) -> Result<Self> {
        Err(Error::Storage(format!("{url}: {NONE}")))
    }

    pub(crate) fn path(&self, _name: &str) -> PathBuf {
        match self.0 {}
    }

    pub(crate) fn write(&self, _name: &str, _bytes: Vec<u8>) -> Result<()> {
        match self.0 {}
    }

    pub(crate) fn read(&self, _name: &str, _most: usize) -> Result<Vec<u8>> {
        match self.0 {}
    }

    pub(crate) fn remove_all(&self) {
        match self.0 {}
    }
}
