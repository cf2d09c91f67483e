//! Places that callers take: so many in all, so many for one token.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

pub(crate) struct Places(Arc<Mutex<Taken>>);

struct Taken {
    left: usize,
    each: usize,
    by: HashMap<String, usize>,
}

/// A place, for as long as it is held.
pub(crate) struct Place {
    taken: Arc<Mutex<Taken>>,
    token: String,
}

impl Places {
    pub(crate) fn new(all: usize, each: usize) -> Self {
        Places(Arc::new(Mutex::new(Taken {
            left: all,
            each,
            by: HashMap::new(),
        })))
    }

    /// A place for the token of this public name, if there is one left.
    pub(crate) fn take(&self, token: &str) -> Option<Place> {
        let mut taken = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let each = taken.each;
        let mine = taken.by.get(token).copied().unwrap_or(0);
        if taken.left == 0 || mine >= each {
            return None;
        }
        taken.left -= 1;
        taken.by.insert(token.to_owned(), mine + 1);
        Some(Place {
            taken: Arc::clone(&self.0),
            token: token.to_owned(),
        })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        taken.left += 1;
        if let Some(mine) = taken.by.get_mut(&self.token) {
            *mine -= 1;
            if *mine == 0 {
                taken.by.remove(&self.token);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_token_leaves_places_for_others() {
        let places = Places::new(3, 2);
        let first = places.take("a").expect("a place");
        let _second = places.take("a").expect("a place");
        assert!(places.take("a").is_none());
        let _third = places.take("b").expect("a place");
        assert!(places.take("c").is_none());
        drop(first);
        let _fourth = places.take("c").expect("a place");
        assert!(places.take("a").is_none());
    }
}
