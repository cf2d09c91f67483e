//! `cenote peer`

use cenote::Result;
use cenote_api::view;
use cenote_console::service::Reach;
use cenote_console::{Command, print};
use clap::Subcommand;

#[derive(Debug, Subcommand)]
pub(crate) enum Peer {
    /// Let rules approve jobs with a party again, after you have found out why runs with it broke off
    Settle {
        #[command(flatten)]
        reach: Reach,
        /// The party's number
        party: u8,
        /// How often sessions had broken off when you looked, as the alarm says; if the record has changed since, nothing is settled [default: show what is
        /// on record and settle it]
        #[arg(long)]
        times: Option<u64>,
        /// With --times: a check had failed, or a bound was passed
        #[arg(long, requires = "times")]
        grave: bool,
    },
}

impl Command for Peer {
    fn run(&self, _: u8) -> Result<()> {
        let Peer::Settle {
            reach,
            party,
            times,
            grave,
        } = self;
        let (service, path) = (reach.open()?, format!("/api/v1/peers/{party}/unsettled"));
        let (times, grave) = match times {
            Some(times) => (*times, *grave),
            None => {
                let seen: view::Unsettled = service.get(&path)?;
                (seen.times, seen.grave)
            }
        };
        service.delete(&format!("{path}?times={times}&grave={grave}"))?;
        let grave = if grave {
            ", and a check had failed or a bound was passed"
        } else {
            ""
        };
        print(&format!(
            "settled: sessions with party {party} had broken off {times} times{grave}\nrules decide again on jobs with party {party}\n"
        ))
    }
}
