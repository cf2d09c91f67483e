//! Where tests listen.

use std::sync::atomic::{AtomicU8, Ordering};

/// A loopback address that no other test uses, so that a port of it that was let go is still free.
pub fn own_host() -> String {
    static NEXT: AtomicU8 = AtomicU8::new(1);
    let process = std::process::id();
    let (a, b) = ((process >> 8) as u8, process as u8);
    // Elsewhere than on Linux, one address is all of the loopback interface.
    match NEXT.fetch_add(1, Ordering::Relaxed) {
        c if cfg!(target_os = "linux") => format!("127.{a}.{b}.{c}"),
        _ => "127.0.0.1".to_owned(),
    }
}
