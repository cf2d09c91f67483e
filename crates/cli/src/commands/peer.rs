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
    /// Go on although a party's folder, or this one's, was put back to an earlier state
    Acknowledge {
        #[command(flatten)]
        reach: Reach,
        /// The party's number, which may be that of this party
        party: u8,
        /// How many lines its audit log had, as the alarm says; if that has changed since, nothing is acknowledged [default: show what is on record and
        /// acknowledge it]
        #[arg(long)]
        lines: Option<u64>,
    },
}

impl Command for Peer {
    fn run(&self, _: u8) -> Result<()> {
        match self {
            Peer::Settle {
                reach,
                party,
                times,
                grave,
            } => settle(reach, *party, times.map(|times| (times, *grave))),
            Peer::Acknowledge { reach, party, lines } => acknowledge(reach, *party, *lines),
        }
    }
}

fn settle(reach: &Reach, party: u8, seen: Option<(u64, bool)>) -> Result<()> {
    let (service, path) = (reach.open()?, format!("/api/v1/peers/{party}/unsettled"));
    let (times, grave) = match seen {
        Some(seen) => seen,
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

fn acknowledge(reach: &Reach, party: u8, lines: Option<u64>) -> Result<()> {
    let (service, path) = (reach.open()?, format!("/api/v1/parties/{party}/put-back"));
    let lines = match lines {
        Some(lines) => lines,
        None => service.get::<view::PutBack>(&path)?.lines,
    };
    service.delete(&format!("{path}?lines={lines}"))?;
    print(&format!(
        "acknowledged: the folder of party {party} was put back to an earlier state, and its audit log had {lines} lines before\njobs begin again\n"
    ))
}
