//! Other processes: what the system tells of them, and signals.
#![cfg(target_os = "linux")]

use std::process::Command;

/// A process. Its number may be that of another soon after its end; the start tells them apart.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Process {
    pub(crate) id: u32,
    /// In ticks of the system's clock since the machine's start.
    started: u64,
}

impl Process {
    /// The process that has this number now.
    fn with(id: u32) -> Option<Self> {
        let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
        let (_, fields) = stat.rsplit_once(") ")?;
        let mut fields = fields.split(' ');
        let ended = fields.next()?.starts_with(['Z', 'X']);
        // The 22nd of all; the state is the third.
        let started = fields.nth(22 - 4)?.parse().ok()?;
        (!ended).then_some(Self { id, started })
    }

    /// Whether it has not ended.
    pub(crate) fn alive(self) -> bool {
        Self::with(self.id).is_some_and(|other| other.started == self.started)
    }
}

/// The children of a process that have not ended, in the order in which they were started.
pub(crate) fn children(parent: u32) -> Vec<Process> {
    let path = format!("/proc/{parent}/task/{parent}/children");
    let list = std::fs::read_to_string(path).unwrap_or_default();
    let ids = list.split_whitespace().map(|id| id.parse().unwrap());
    ids.filter_map(Process::with).collect()
}

/// Bytes that a process has written, to sockets too.
pub(crate) fn written(id: u32) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/{id}/io")).unwrap_or_default();
    let bytes = text.lines().find_map(|line| line.strip_prefix("wchar: "));
    bytes.and_then(|bytes| bytes.parse().ok()).unwrap_or(0)
}

pub(crate) fn kill(id: u32, signal: &str) {
    assert!(
        Command::new("kill")
            .args([signal, &id.to_string()])
            .status()
            .unwrap()
            .success()
    );
}

/// Whether this process was started with interrupts ignored, as shells start what runs in the background.
pub(crate) fn interrupts_are_ignored() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask & 1 << (2 - 1) != 0)
}

#[test]
fn a_process_is_told_from_a_later_one_with_its_number() {
    let mut child = Command::new("cat")
        .stdin(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let seen = Process::with(child.id()).unwrap();
    let earlier = Process {
        started: seen.started - 1,
        ..seen
    };
    assert!(seen.alive());
    assert!(!earlier.alive());
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(!seen.alive());
}
