//! Lines for the operator on what strangers can cause: one of a kind at a time.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// A line of the same kind is told again after this time at the earliest.
const QUIET: Duration = Duration::from_secs(10);

/// What has been told, by kind. There must be a bounded number of kinds.
pub(crate) struct Notices {
    told: Mutex<BTreeMap<String, Told>>,
    quiet: Duration,
    tell: Box<dyn Fn(&str) + Send + Sync>,
}

struct Told {
    at: Instant,
    /// How many lines were kept back since, and the last of them.
    more: u64,
    last: String,
}

impl Notices {
    /// Lines go to the log, as warnings.
    pub(crate) fn new() -> Self {
        Self::with(QUIET, |line| tracing::warn!("{line}"))
    }

    fn with(quiet: Duration, tell: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Self {
            told: Mutex::default(),
            quiet,
            tell: Box::new(tell),
        }
    }

    /// Tells `line` if none of its kind was told.
    pub(crate) fn once(&self, kind: impl Into<String>, line: &str) {
        let mut all = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        all.entry(kind.into()).or_insert_with(|| {
            (self.tell)(line);
            Told {
                at: Instant::now(),
                more: 0,
                last: String::new(),
            }
        });
    }

    /// Tells `line`, or counts it where one of its kind was told just now.
    pub(crate) fn notice(&self, kind: impl Into<String>, line: String) {
        let mut all = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        let told = all.entry(kind.into()).or_insert_with(|| Told {
            at: now.checked_sub(self.quiet).unwrap_or(now),
            more: 0,
            last: String::new(),
        });
        let since = now.duration_since(told.at);
        if since < self.quiet {
            (told.more, told.last) = (told.more + 1, line);
            return;
        }
        (self.tell)(&with_count(&line, told.more, since));
        (told.at, told.more) = (now, 0);
    }
}

fn with_count(line: &str, more: u64, since: Duration) -> String {
    match more {
        0 => line.to_owned(),
        more => format!(
            "{line} ({more} more like it in the last {:.0} s)",
            since.as_secs_f64().ceil()
        ),
    }
}

impl Drop for Notices {
    /// Tells how much was kept back.
    fn drop(&mut self) {
        let all = self.told.get_mut().unwrap_or_else(PoisonError::into_inner);
        for told in all.values().filter(|told| told.more > 0) {
            (self.tell)(&with_count(&told.last, told.more - 1, told.at.elapsed()));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn many_lines_of_a_kind_become_two() {
        let lines = Arc::new(Mutex::new(Vec::new()));
        let sink = lines.clone();
        let notices = Notices::with(Duration::from_secs(600), move |line: &str| {
            sink.lock().unwrap().push(line.to_owned());
        });
        for index in 0..100 {
            notices.notice("a", format!("a {index}"));
        }
        notices.once("b", "b");
        notices.once("b", "b again");
        notices.notice("c", "c".into());
        notices.notice("c", "c again".into());
        assert_eq!(*lines.lock().unwrap(), ["a 0", "b", "c"]);
        drop(notices);
        let lines = lines.lock().unwrap();
        let [told, last] = &lines[3..] else {
            panic!("{lines:?}");
        };
        assert!(told.starts_with("a 99 (98 more like it in the last "), "{told}");
        assert_eq!(last, "c again");
    }

    #[test]
    fn a_kind_is_told_again_after_a_while() {
        let lines = Arc::new(Mutex::new(Vec::new()));
        let sink = lines.clone();
        let notices = Notices::with(Duration::ZERO, move |line: &str| {
            sink.lock().unwrap().push(line.to_owned());
        });
        notices.notice("a", "first".into());
        notices.notice("a", "second".into());
        drop(notices);
        assert_eq!(*lines.lock().unwrap(), ["first", "second"]);
    }
}
