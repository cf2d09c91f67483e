//! Where a measurement runs: what says how its parties are joined, and the run itself.

use std::path::Path;
use std::time::Duration;

use crate::Place;
use cenote::local::Setting;
use cenote::{Link, Result, Transport};

use cenote_console::args::{Form, seconds};
use cenote_console::{Progress, child, write_file};

/// What all measurements take.
#[derive(Debug, clap::Args)]
pub(crate) struct How {
    /// Seconds to wait for a party that sends nothing
    #[arg(long, value_name = "SECONDS", value_parser = seconds, default_value = "60")]
    pub(crate) timeout: Duration,
    /// Seconds that a measurement may take in all [default: no limit]
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub(crate) phase_timeout: Option<Duration>,
    #[command(flatten)]
    pub(crate) form: Form,
}

impl How {
    pub(crate) fn setting(&self, transport: Transport) -> Setting {
        Setting {
            transport,
            timeout: self.timeout,
            phase_timeout: self.phase_timeout,
        }
    }
}

/// What a measurement over one transport takes.
#[derive(Debug, clap::Args)]
pub(crate) struct Where {
    /// How the parties are joined: memory (threads of one process), tcp or tls (processes)
    #[arg(long, default_value = "tls")]
    pub(crate) transport: Transport,
    #[command(flatten)]
    pub(crate) how: How,
}

impl Where {
    pub(crate) fn setting(&self) -> Setting {
        self.how.setting(self.transport)
    }
}

/// How slow the link is.
#[derive(Debug, clap::Args)]
pub(crate) struct Slowed {
    /// Slow the link down: none, lan (0.16 ms, 9.52 Gbit/s), wan (81 ms, 3 Gbit/s), or RTT,RATE in ms and Gbit/s
    #[arg(long, default_value = "none")]
    pub(crate) link: Link,
}

/// Runs a measurement of parties joined as in `setting`, with a progress bar called `what` until it is over.
pub(super) fn measured<T>(
    what: &str,
    verbose: u8,
    setting: Setting,
    run: impl FnOnce(&mut Place<'_>, &Progress) -> Result<T>,
) -> Result<T> {
    let progress = Progress::start(what);
    let child = child(verbose)?;
    let mut place = Place {
        setting,
        command: &child,
        progress: &mut |done, total| progress.set(done, total),
    };
    run(&mut place, &progress)
}

/// Writes a drawing to `file`, if there is one.
pub(super) fn draw(file: Option<&Path>, svg: impl FnOnce() -> String) -> Result<()> {
    file.map_or(Ok(()), |file| write_file(file, svg().as_bytes()))
}
