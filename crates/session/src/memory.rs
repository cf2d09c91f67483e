//! How much memory this process can have, and the refusal of work that needs more.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use crate::{Error, Result};

/// Bytes of memory that this process can still get: what the system says is available, or less if a control group that
/// the process is in leaves less. `None` where the system does not tell (other than Linux).
pub fn available() -> Option<u64> {
    available_at(Path::new("/"))
}

/// The most physical memory that this process has had, in bytes, where the system tells (Linux).
pub fn peak() -> Option<u64> {
    kilobytes(Path::new("/proc/self/status"), "VmHWM:")
}

/// The physical memory that this process has now, in bytes, where the system tells (Linux).
pub fn resident() -> Option<u64> {
    kilobytes(Path::new("/proc/self/status"), "VmRSS:")
}

/// The allocator's option on huge pages, in the environment.
const HUGE_PAGES: &str = "MIMALLOC_ALLOW_THP";

/// Leaves this process without huge pages from now on, unless the operator has said whether it has them. Each thread has a little memory of
/// its own, and with every little in huge pages a process with small work takes twice the memory that it needs.
pub fn avoid_huge_pages() {
    if std::env::var_os(HUGE_PAGES).is_some() {
        return;
    }
    #[cfg(target_os = "linux")]
    if let Err(error) = rustix::thread::disable_transparent_huge_pages(true) {
        tracing::warn!(
            "this process may take more memory than it needs: the system does not turn huge pages off: {error}"
        );
    }
}

/// What counts the bytes in use, if anything does.
static COUNT: OnceLock<fn() -> u64> = OnceLock::new();

/// Says what counts the bytes that this process has in use: its allocator, if that counts them. Only the first call has an effect.
pub fn count_with(count: fn() -> u64) {
    let _ = COUNT.set(count);
}

/// The bytes that this process has allocated and not freed, where its allocator counts them. [`resident`] has besides what the allocator
/// holds on to.
pub fn in_use() -> Option<u64> {
    COUNT.get().map(|count| count())
}

/// The limit that was set for this process; 0 is none.
static LIMIT: AtomicU64 = AtomicU64::new(0);

/// Sets the most bytes that [`admit`] lets this process take, unless that was set before; without it, that is what is
/// [`available`].
pub fn set_limit(bytes: u64) {
    let _ = LIMIT.compare_exchange(0, bytes.max(1), Ordering::Relaxed, Ordering::Relaxed);
}

/// Whether a limit was set.
pub fn is_limited() -> bool {
    LIMIT.load(Ordering::Relaxed) > 0
}

/// Sees that `needed` bytes are within the limit that was set, or without one within what is [`available`].
///
/// # Errors
/// [`Error::OutOfMemory`], with both numbers.
pub fn admit(needed: u64) -> Result<()> {
    match refusal(needed) {
        None => Ok(()),
        Some(why) => Err(Error::OutOfMemory(format!(
            "{why}: use fewer lanes or a smaller circuit, or give it more memory"
        ))),
    }
}

/// Why `needed` bytes are too many, with both numbers; nothing if they are not.
pub fn refusal(needed: u64) -> Option<String> {
    let limit = LIMIT.load(Ordering::Relaxed);
    beyond(needed, (limit > 0).then_some(limit))
}

fn beyond(needed: u64, limit: Option<u64>) -> Option<String> {
    let (most, whose) = match limit {
        Some(limit) => (
            limit,
            "is the limit that was set (`--memory`, or `memory` in the party file)",
        ),
        None => (
            LATELY.available(needed, available).unwrap_or(u64::MAX),
            "is what this machine has left for it",
        ),
    };
    (needed > most).then(|| {
        format!(
            "about {} of memory are needed, and {} {whose}",
            in_words(needed),
            in_words(most)
        )
    })
}

/// Work that takes less than this, or than this part of what was available lately, goes by that: asking the system takes longer than some such work does.
const SMALL: u64 = 64 << 20;
const SMALL_PART: u64 = 32;

/// How long what the system said holds for small work.
const HOLDS: Duration = Duration::from_secs(1);

/// What was available lately, and when.
struct Lately(Mutex<Option<(Instant, Option<u64>)>>);

impl Lately {
    /// What is available for so many bytes: the system is asked anew where that matters.
    fn available(&self, needed: u64, ask: impl FnOnce() -> Option<u64>) -> Option<u64> {
        let mut lately = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match *lately {
            Some((at, bytes)) if is_small(needed, bytes) && at.elapsed() < HOLDS => bytes,
            _ => {
                let bytes = ask();
                *lately = Some((Instant::now(), bytes));
                bytes
            }
        }
    }
}

/// Whether so many bytes are few beside what was available.
fn is_small(needed: u64, available: Option<u64>) -> bool {
    needed < SMALL.max(available.unwrap_or(0) / SMALL_PART)
}

static LATELY: Lately = Lately(Mutex::new(None));

/// `bytes` as people write them: three digits or so.
fn in_words(bytes: u64) -> String {
    let units = [("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3)];
    let bytes = bytes as f64;
    match units.into_iter().find(|&(_, unit)| bytes >= unit) {
        Some((name, unit)) if bytes / unit < 10.0 => format!("{:.1} {name}", bytes / unit),
        Some((name, unit)) => format!("{:.0} {name}", bytes / unit),
        None => format!("{bytes} bytes"),
    }
}

/// As [`available`], of the system whose files are below `root`.
fn available_at(root: &Path) -> Option<u64> {
    let groups = fs::read_to_string(root.join("proc/self/cgroup")).unwrap_or_default();
    let of_groups = groups.lines().filter_map(|line| {
        // Number, controllers, path: the second version of control groups has no controllers here.
        let mut fields = line.splitn(3, ':').skip(1);
        let (controllers, path) = (fields.next()?, fields.next()?);
        let (mount, names) = match controllers {
            "" => ("sys/fs/cgroup", ["memory.max", "memory.current"]),
            _ if controllers.split(',').any(|name| name == "memory") => (
                "sys/fs/cgroup/memory",
                ["memory.limit_in_bytes", "memory.usage_in_bytes"],
            ),
            _ => return None,
        };
        left_in_group(&root.join(mount), path.trim_start_matches('/'), names)
    });
    of_groups.chain(of_system(root)).min()
}

/// What is left of the limits of the group `path` and of those it is in. A container may see its own group as the first.
fn left_in_group(mount: &Path, path: &str, [limit, usage]: [&str; 2]) -> Option<u64> {
    let of_one = |folder: PathBuf| {
        let limit = number(&folder.join(limit))?;
        let used = number(&folder.join(usage))?.saturating_sub(cached(&folder));
        Some(limit.saturating_sub(used))
    };
    Path::new(path)
        .ancestors()
        .filter_map(|group| of_one(mount.join(group)))
        .min()
}

/// The number that is all of a file; `None` for words such as "max".
fn number(file: &Path) -> Option<u64> {
    fs::read_to_string(file).ok()?.trim().parse().ok()
}

/// Bytes of a group that the system takes back when they are needed.
fn cached(group: &Path) -> u64 {
    let text = fs::read_to_string(group.join("memory.stat")).unwrap_or_default();
    let value = |name| {
        text.lines()
            .find_map(|line| line.strip_prefix(name)?.trim().parse::<u64>().ok())
    };
    value("total_inactive_file ")
        .or_else(|| value("inactive_file "))
        .unwrap_or(0)
}

fn of_system(root: &Path) -> Option<u64> {
    kilobytes(&root.join("proc/meminfo"), "MemAvailable:")
}

/// The bytes that a file of the system tells in kB behind `name`.
fn kilobytes(file: &Path, name: &str) -> Option<u64> {
    let text = fs::read_to_string(file).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.trim()
        .strip_suffix("kB")?
        .trim()
        .parse::<u64>()
        .ok()?
        .checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A system with these files.
    fn system(files: &[(&str, &str)]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        root
    }

    const MEMINFO: (&str, &str) = ("proc/meminfo", "MemTotal: 9 kB\nMemAvailable:     2000 kB\n");

    #[test]
    fn the_least_of_all_limits_counts() {
        let of = |files: &[(&str, &str)]| available_at(system(files).path());
        assert_eq!(of(&[]), None);
        assert_eq!(of(&[MEMINFO]), Some(2_048_000));
        let second = [
            MEMINFO,
            ("proc/self/cgroup", "0::/outer/inner\n"),
            ("sys/fs/cgroup/outer/memory.max", "1000000\n"),
            ("sys/fs/cgroup/outer/memory.current", "300000\n"),
            (
                "sys/fs/cgroup/outer/memory.stat",
                "anon 5\ninactive_file 100000\n",
            ),
            ("sys/fs/cgroup/outer/inner/memory.max", "max\n"),
            ("sys/fs/cgroup/outer/inner/memory.current", "300000\n"),
        ];
        assert_eq!(of(&second), Some(800_000));
        // A container sees its own limit at the top.
        let contained = [
            MEMINFO,
            ("proc/self/cgroup", "0::/somewhere/else\n"),
            ("sys/fs/cgroup/memory.max", "500000"),
            ("sys/fs/cgroup/memory.current", "600000"),
        ];
        assert_eq!(of(&contained), Some(0));
        let first = [
            MEMINFO,
            ("proc/self/cgroup", "3:cpu,cpuacct:/a\n2:memory:/a\n"),
            ("sys/fs/cgroup/memory/a/memory.limit_in_bytes", "70000"),
            ("sys/fs/cgroup/memory/a/memory.usage_in_bytes", "20000"),
        ];
        assert_eq!(of(&first), Some(50_000));
    }

    #[test]
    fn small_work_goes_by_what_was_available_lately_and_large_work_does_not() {
        let lately = Lately(Mutex::new(None));
        assert_eq!(lately.available(1, || Some(7)), Some(7));
        assert_eq!(lately.available(SMALL - 1, || Some(8)), Some(7));
        assert_eq!(lately.available(SMALL, || Some(9)), Some(9));
        assert_eq!(lately.available(1, || Some(10)), Some(9));
        let long_ago = Instant::now().checked_sub(HOLDS).unwrap();
        *lately.0.lock().unwrap() = Some((long_ago, Some(11)));
        assert_eq!(lately.available(1, || Some(12)), Some(12));
        let much = SMALL_PART * 10 * SMALL;
        assert_eq!(lately.available(SMALL, || Some(much)), Some(much));
        assert_eq!(lately.available(10 * SMALL - 1, || Some(13)), Some(much));
        assert_eq!(lately.available(10 * SMALL, || Some(14)), Some(14));
    }

    #[test]
    fn work_that_does_not_fit_is_refused_with_what_it_needs() {
        assert_eq!(beyond(1000, Some(1000)), None);
        let text = beyond(61_000_000_000, Some(4 << 30)).unwrap();
        assert!(
            text.contains("about 61 GB") && text.contains("4.3 GB is the limit"),
            "{text}"
        );
        match beyond(u64::MAX, None) {
            // Where the system does not tell there is no limit but the numbers'.
            None => assert_eq!(available(), None),
            Some(text) => assert!(text.contains("this machine"), "{text}"),
        }
        assert_eq!(in_words(999), "999 bytes");
    }
}
