//! A protocol in the clear, as small as one can be: what a protocol's crate has besides its mathematics.
//!
//! With one line in the registry of `cenote` it can be named in jobs, run, and reported like the others.

use cenote_net::PartyId;
use cenote_protocol::{MaterialSource, Protocol, Setting};
use cenote_session::{Check, ClearEngine, Connections, Demand, Error, Result, Terms, Topology};
use serde::{Deserialize, Serialize};

/// The steps of the protocol.
pub mod steps {
    cenote_net::steps! {
        /// Every step.
        ALL;
        /// The password of the sender.
        PASSWORD = 0x501, "password";
    }
}

/// The checks of the protocol.
pub mod checks {
    cenote_session::checks! {
        /// Every check but the form of messages.
        ALL;
        /// A peer has another password.
        PASSWORD = 1, "password";
    }
}

/// Settings of the example, which computes in the clear.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Example {
    /// What all parties say to one another before they begin.
    pub password: u8,
}

impl Protocol for Example {
    const NAME: &'static str = "example";
    const SETTINGS: &'static [&'static str] = &["password"];
    const CHECKS: &'static [Check] = checks::ALL;
    /// AND gates.
    type Prepared = u64;
    /// Computes in the clear.
    type Engine = ClearEngine;
    /// It has no stock.
    type Material = ();

    fn set(&mut self, name: &str, value: Setting<'_>) -> std::result::Result<(), String> {
        match name {
            "password" => self.password = value.number(0..=255, "the password is a number from 0 to 255")?,
            _ => return Err(format!("there is no setting {name}")),
        }
        Ok(())
    }

    fn topology(&self) -> Topology {
        Topology {
            name: Self::NAME.into(),
            parties: 2,
            workers: 1,
            purposes: &["talk"],
            shared: &[],
        }
    }

    fn security(&self) -> u32 {
        0
    }

    fn variety(&self) -> String {
        "in the clear".into()
    }

    fn prepare(&self, demand: &Demand<'_>) -> std::result::Result<u64, String> {
        Ok(demand.ands())
    }

    fn terms(&self, ands: &u64) -> Terms {
        vec![("AND gates".into(), ands.to_string())]
    }

    fn parameters(&self, ands: &u64, _: &MaterialSource<'_>) -> serde_json::Value {
        (*ands).into()
    }

    fn start(
        &self,
        _: u64,
        me: PartyId,
        connections: Connections,
        _: &str,
        _: MaterialSource<'_>,
    ) -> Result<ClearEngine> {
        let mut channels = connections.channels();
        for channel in &mut channels {
            channel.send(steps::PASSWORD, &[self.password])?;
            channel.flush()?;
            let mut theirs = [0];
            channel.recv(steps::PASSWORD, &mut theirs)?;
            if theirs != [self.password] {
                let error = Error::cheated(
                    checks::PASSWORD,
                    channel.peer(),
                    steps::PASSWORD,
                    "it says another one",
                );
                channel.abort(error.reason().code());
                return Err(error);
            }
        }
        Ok(ClearEngine::new(me, channels))
    }
}
