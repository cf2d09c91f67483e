//! `cenote shard`

use std::net::SocketAddr;

use cenote::shards::{Placement, work_for};
use cenote::text::tell;
use cenote::{PartyConfig, Result};
use cenote_console::{Command, Log};

use crate::args::Shard;

impl Command for Shard {
    fn run(&self, _: u8) -> Result<()> {
        let config = PartyConfig::load(&self.config)?;
        let placement = Placement {
            coordinator: self.coordinator.clone(),
            listen: self.listen,
            host: self.host.clone(),
            relayed: self.relay,
        };
        work_for(&config, &self.job, &placement, &mut |line| {
            tell(format_args!("{line}"))
        })
    }

    fn json(&self) -> bool {
        false
    }

    fn memory(&self) -> Option<u64> {
        self.memory
    }

    fn meets_peers(&self) -> bool {
        true
    }

    fn log(&self) -> Log {
        Log::Warnings
    }
}

/// Any address of this machine, and a free port.
pub(crate) const ANYWHERE: SocketAddr =
    SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::UNSPECIFIED), 0);
