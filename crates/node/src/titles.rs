//! What programs say that they compute, remembered: lists of jobs tell it of each.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use cenote::Stated;
use cenote_service::job::Digest;

use crate::locks::lock;

/// Programs of which it is remembered, at most.
const KNOWN: usize = 2000;

/// What programs say that they compute, by their digests.
#[derive(Default)]
pub(crate) struct Titles(Mutex<BTreeMap<Digest, Arc<Stated>>>);

impl Titles {
    /// What a program says, which `read` looks up where it is not known.
    pub(crate) fn get(&self, digest: Digest, read: impl FnOnce() -> Option<Stated>) -> Option<Arc<Stated>> {
        if let Some(known) = lock(&self.0).get(&digest) {
            return Some(Arc::clone(known));
        }
        let stated = Arc::new(read()?);
        let mut known = lock(&self.0);
        if known.len() >= KNOWN {
            known.clear();
        }
        known.insert(digest, Arc::clone(&stated));
        Some(stated)
    }
}
