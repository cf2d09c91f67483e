//! Huge pages in services of three parties: none.
//!
//! The allocator asks for them for all that it has. A service has hundreds of threads, each with a little memory, and with
//! every little in huge pages of its own, small jobs take half as much processor time again and gigabytes. What three parties
//! compute gains nothing by them; two-party protocols with large pools do. The allocator reads its options before `main`, so a
//! service begins anew with this one, unless the operator has set it.

use std::env;

/// The option of the allocator, in the environment.
const OPTION: &str = "MIMALLOC_ALLOW_THP";

/// Begins this process anew without huge pages, if it serves one of three `parties` and nobody has said whether it has them. To be
/// called before anything is done that cannot be done again.
pub(crate) fn set(parties: usize) {
    if parties < 3 || env::var_os(OPTION).is_some() {
        return;
    }
    #[cfg(target_os = "linux")]
    {
        use std::os::unix::process::CommandExt;

        let anew = env::current_exe().map(|program| {
            let mut command = std::process::Command::new(program);
            let mut arguments = env::args_os();
            command.arg0(arguments.next().unwrap_or_default());
            // Returns only if it fails.
            command.args(arguments).env(OPTION, "0").exec()
        });
        let (Ok(error) | Err(error)) = anew;
        eprintln!("this service may take more memory than it needs: {OPTION}=0 could not be set: {error}");
    }
}
