//! Other processes: what the system tells of them, and signals.
#![cfg(target_os = "linux")]

use std::process::Command;

/// The children of a process, in the order in which they were started.
pub(crate) fn children(parent: u32) -> Vec<u32> {
    let path = format!("/proc/{parent}/task/{parent}/children");
    let list = std::fs::read_to_string(path).unwrap_or_default();
    list.split_whitespace().map(|id| id.parse().unwrap()).collect()
}

/// Whether a process is there and has not ended.
pub(crate) fn alive(id: u32) -> bool {
    std::fs::read_to_string(format!("/proc/{id}/stat")).is_ok_and(|stat| {
        let state = stat
            .rsplit_once(") ")
            .map(|(_, rest)| rest.starts_with(['Z', 'X']));
        state == Some(false)
    })
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
