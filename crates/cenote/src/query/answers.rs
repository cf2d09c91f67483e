//! The list of the queries that were asked of a party's tables within a day.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use cenote_store::durable;

use crate::{Error, Result};

/// Seconds of a day.
const DAY: u64 = 86_400;

/// What is added to the name of a policy's file for the list.
const ANSWERS: &str = ".answers";

/// What is added to the name of the list for the file that is locked while the list is read and written.
const LOCK: &str = ".lock";

/// Most bytes of the list.
const MAX_LIST: u64 = 16 << 20;

/// How long another process of this party may keep the list.
const PATIENCE: Duration = Duration::from_secs(10);

/// A query that was asked of a table: a line of the list, `SECONDS TABLE` or `SECONDS/JOB TABLE`.
#[derive(Clone, PartialEq, Eq)]
struct Asked {
    at: u64,
    /// The job of a service, which counts once.
    job: Option<String>,
    table: String,
}

impl Asked {
    fn parse(line: &str) -> Option<Self> {
        let (when, table) = line.split_once(' ')?;
        let (at, job) = match when.split_once('/') {
            Some((at, job)) => (at, Some(job.to_owned())),
            None => (when, None),
        };
        Some(Asked {
            at: at.parse().ok()?,
            job,
            table: table.to_owned(),
        })
    }

    /// Whether it was asked within the day before `now`. Of a clock that was set back, what is in the future counts too.
    fn is_of_today(&self, now: u64) -> bool {
        self.at.saturating_add(DAY) > now
    }

    fn line(&self) -> String {
        match &self.job {
            Some(job) => format!("{}/{job} {}\n", self.at, self.table),
            None => format!("{} {}\n", self.at, self.table),
        }
    }
}

/// Seconds since the beginning of 1970.
fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs())
}

/// A table of which only so many queries may be asked within a day.
pub(super) struct Limit<'a> {
    pub(super) table: &'a str,
    pub(super) most: u64,
}

/// The list beside a policy.
pub(super) struct Answers {
    path: PathBuf,
    patience: Duration,
}

impl Answers {
    pub(super) fn beside(policy: &Path) -> Self {
        Answers {
            path: with(policy, ANSWERS),
            patience: PATIENCE,
        }
    }

    /// Counts a query of these tables. What was counted for the same `job` before is not counted again. Gives the first table of which too many
    /// were asked, and how many; nothing is counted then.
    pub(super) fn count<'a>(
        &self,
        limits: &'a [Limit<'a>],
        job: Option<&str>,
    ) -> Result<std::result::Result<(), (&'a Limit<'a>, u64)>> {
        let _lock = self.locked()?;
        let now = now();
        let mut asked = self.read()?;
        asked.retain(|asked| asked.is_of_today(now));
        let known = |table: &str| {
            job.is_some()
                && asked
                    .iter()
                    .any(|asked| asked.job.as_deref() == job && asked.table == table)
        };
        let new: Vec<&Limit<'_>> = limits.iter().filter(|limit| !known(limit.table)).collect();
        for limit in &new {
            let count = asked.iter().filter(|asked| asked.table == limit.table).count() as u64;
            if count >= limit.most {
                return Ok(Err((limit, count)));
            }
        }
        if new.is_empty() {
            return Ok(Ok(()));
        }
        asked.extend(new.iter().map(|limit| Asked {
            at: now,
            job: job.map(str::to_owned),
            table: limit.table.to_owned(),
        }));
        let text: String = asked.iter().map(Asked::line).collect();
        self.write(&text).map_err(|error| self.failed(error))?;
        Ok(Ok(()))
    }

    /// How many queries were asked within a day of each of these tables. The list is replaced whole, so it is read without a lock.
    pub(super) fn counted(&self, limits: &[Limit<'_>]) -> Result<Vec<u64>> {
        let asked = self.read()?;
        let now = now();
        let of = |limit: &Limit<'_>| {
            let counts = |asked: &&Asked| asked.is_of_today(now) && asked.table == limit.table;
            asked.iter().filter(counts).count() as u64
        };
        Ok(limits.iter().map(of).collect())
    }

    fn failed(&self, error: std::io::Error) -> Error {
        Error::local(
            format!("keeping the list of answers {}", self.path.display()),
            error,
        )
    }

    /// Another process of this party may ask at the same moment.
    fn locked(&self) -> Result<File> {
        let path = with(&self.path, LOCK);
        let failed = |error| {
            Error::local(
                format!("locking the list of answers by {}", path.display()),
                error,
            )
        };
        durable::lock(&path, self.patience)
            .map_err(failed)?
            .ok_or_else(|| {
                let what = format!(
                    "another process has kept it locked for {} s; end it, and ask again",
                    self.patience.as_secs()
                );
                failed(std::io::Error::new(std::io::ErrorKind::TimedOut, what))
            })
    }

    fn read(&self) -> Result<Vec<Asked>> {
        let mut text = Vec::new();
        match File::open(&self.path) {
            Ok(list) => list
                .take(MAX_LIST + 1)
                .read_to_end(&mut text)
                .map_err(|error| self.failed(error))?,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(self.failed(error)),
        };
        if text.len() as u64 > MAX_LIST {
            let what = format!("the list of answers has more than {MAX_LIST} bytes; lower `answers_per_day`");
            return Err(Error::data(&self.path, None, what));
        }
        let lines = text.strip_suffix(b"\n").unwrap_or(&text);
        if lines.is_empty() {
            return Ok(Vec::new());
        }
        let asked = |(number, line): (usize, &[u8])| {
            std::str::from_utf8(line).ok().and_then(Asked::parse).ok_or_else(|| {
                let what = "this is no line of a list of answers, and what it counted is not known; mend it, or remove it and ask less today";
                Error::data(&self.path, Some(number), what)
            })
        };
        (1..).zip(lines.split(|byte| *byte == b'\n')).map(asked).collect()
    }

    /// Puts a whole list in the place of the one before.
    fn write(&self, text: &str) -> std::io::Result<()> {
        let mut list = cenote_tables::beside(&self.path)?;
        list.write_all(text.as_bytes())?;
        list.as_file().sync_all()?;
        list.persist(&self.path)?;
        let folder = self.path.parent().filter(|folder| *folder != Path::new(""));
        File::open(folder.unwrap_or(Path::new(".")))?.sync_all()
    }
}

fn with(path: &Path, more: &str) -> PathBuf {
    let mut name = path.to_owned().into_os_string();
    name.push(more);
    name.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(answers: &Answers, most: u64, job: Option<&str>) -> std::result::Result<(), String> {
        let limits = [Limit { table: "loans", most }];
        match answers.count(&limits, job) {
            Ok(Ok(())) => Ok(()),
            Ok(Err((_, count))) => Err(format!("{count} already")),
            Err(error) => Err(error.to_string()),
        }
    }

    #[test]
    fn queries_are_counted_for_a_day_and_jobs_once() {
        let folder = tempfile::tempdir().unwrap();
        let answers = Answers::beside(&folder.path().join("policy.toml"));
        assert_eq!(count(&answers, 3, None), Ok(()));
        assert_eq!(count(&answers, 3, None), Ok(()));
        assert_eq!(count(&answers, 3, Some("a")), Ok(()));
        assert_eq!(count(&answers, 3, Some("b")), Err("3 already".into()));
        assert_eq!(count(&answers, 3, Some("a")), Ok(()));
        let list = folder.path().join("policy.toml.answers");
        let text = std::fs::read_to_string(&list).unwrap();
        assert_eq!(text.lines().count(), 3, "{text}");
        let limits = ["loans", "people"].map(|table| Limit { table, most: 3 });
        assert_eq!(answers.counted(&limits).unwrap(), [3, 0]);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            assert_eq!(list.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        }
        // A day later they may be asked again.
        let old: String = text
            .lines()
            .map(|line| {
                let mut asked = Asked::parse(line).unwrap();
                asked.at -= DAY;
                asked.line()
            })
            .collect();
        std::fs::write(&list, old).unwrap();
        assert_eq!(answers.counted(&limits).unwrap(), [0, 0]);
        assert_eq!(count(&answers, 1, Some("b")), Ok(()));
        assert_eq!(std::fs::read_to_string(&list).unwrap().lines().count(), 1);
    }

    /// Whoever has the list open while another query is counted still has the whole list of before: it is never cut short in its place.
    #[test]
    fn the_list_is_replaced_whole() {
        let folder = tempfile::tempdir().unwrap();
        let answers = Answers::beside(&folder.path().join("policy.toml"));
        count(&answers, 9, None).unwrap();
        let before = File::open(&answers.path).unwrap();
        count(&answers, 9, None).unwrap();
        assert_eq!(std::io::read_to_string(before).unwrap().lines().count(), 1);
        assert_eq!(std::fs::read_to_string(&answers.path).unwrap().lines().count(), 2);
        assert_eq!(
            std::fs::read_dir(folder.path()).unwrap().count(),
            2,
            "the list and its lock"
        );
    }

    #[test]
    fn what_cannot_be_read_counts_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let answers = Answers::beside(&folder.path().join("policy.toml"));
        count(&answers, 9, None).unwrap();
        let good = std::fs::read(&answers.path).unwrap();
        for bad in [&b"yesterday loans\n"[..], b"12\n", b"\n", b"\xff 3\n"] {
            std::fs::write(&answers.path, [&good, bad].concat()).unwrap();
            let told = count(&answers, 9, None).unwrap_err();
            assert!(
                told.contains("policy.toml.answers") && told.contains("line 2"),
                "{told}"
            );
            let kept = std::fs::read(&answers.path).unwrap();
            assert_eq!(kept, [&good, bad].concat());
        }
        std::fs::write(&answers.path, good.repeat(1 + MAX_LIST as usize / good.len())).unwrap();
        let told = count(&answers, u64::MAX, None).unwrap_err();
        assert!(
            told.contains("policy.toml.answers") && told.contains("more than"),
            "{told}"
        );
    }

    #[test]
    fn a_list_that_stays_locked_is_not_waited_for_for_ever() {
        let folder = tempfile::tempdir().unwrap();
        let mut answers = Answers::beside(&folder.path().join("policy.toml"));
        answers.patience = Duration::from_millis(50);
        let held = answers.locked().unwrap();
        let told = count(&answers, 9, None).unwrap_err();
        assert!(
            told.contains("policy.toml.answers.lock") && told.contains("another process"),
            "{told}"
        );
        drop(held);
        // A process that another test starts has the lock's file until it begins.
        answers.patience = PATIENCE;
        assert_eq!(count(&answers, 9, None), Ok(()));
    }
}
