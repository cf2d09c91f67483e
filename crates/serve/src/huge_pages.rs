//! Huge pages in services of three parties: none.
//!
//! A service has hundreds of threads, each with a little memory, and with every little in huge pages of its own, small jobs take half
//! as much processor time again and gigabytes. What three parties compute gains nothing by them; two-party protocols with large
//! pools do.

use std::env;

/// The allocator's option on huge pages, in the environment.
const OPTION: &str = "MIMALLOC_ALLOW_THP";

/// Leaves this process without huge pages from now on, if it serves one of three `parties` and the operator has not said whether it
/// has them.
pub(crate) fn set(parties: usize) {
    if parties < 3 || env::var_os(OPTION).is_some() {
        return;
    }
    #[cfg(target_os = "linux")]
    if let Err(error) = rustix::thread::disable_transparent_huge_pages(true) {
        eprintln!(
            "this service may take more memory than it needs: the system does not turn huge pages off: {error}"
        );
    }
}
