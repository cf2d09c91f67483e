//! `cenote peer`

use cenote::Result;
use clap::Subcommand;

use crate::console::print;
use crate::service::Reach;

#[derive(Debug, Subcommand)]
pub(crate) enum Peer {
    /// Let rules approve jobs with a party again, after you have found out why sessions with it broke off
    Settle {
        #[command(flatten)]
        reach: Reach,
        /// The party's number
        party: u8,
    },
}

pub(crate) fn run(command: &Peer) -> Result<()> {
    match command {
        Peer::Settle { reach, party } => {
            reach
                .open()?
                .delete(&format!("/api/v1/peers/{party}/unsettled"))?;
            print(&format!("rules decide again on jobs with party {party}\n"))
        }
    }
}
