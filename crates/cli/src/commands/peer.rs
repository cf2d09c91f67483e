//! `cenote peer`

use cenote::Result;
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
    },
}

impl Command for Peer {
    fn run(&self, _: u8) -> Result<()> {
        let Peer::Settle { reach, party } = self;
        reach
            .open()?
            .delete(&format!("/api/v1/peers/{party}/unsettled"))?;
        print(&format!("rules decide again on jobs with party {party}\n"))
    }
}
