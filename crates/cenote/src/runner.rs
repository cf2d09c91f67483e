//! One party's run of a program, from the handshake to the report.

use std::fmt;
use std::str::FromStr;
use std::time::{Duration, Instant};

use cenote_circuit::BitOrder;
use cenote_net::{Channel, PartyId, agree};
use cenote_primitives::BitMatrix;
use serde::{Deserialize, Serialize};

use crate::program::Executed;
use crate::protocol::Finished;
use crate::report::{CircuitDescription, Description, Output, PartyCosts, PartyReport, Seconds};
use crate::stock::Stock;
use crate::{Error, Program, Protocol, Result};
pub use cenote_session::Connections;

/// What the parties compare before they compute, by name, in order. Never a secret.
pub type Fields = Vec<(String, String)>;

/// How often two parties look closer at what differs. A peer that names differences without end is not followed.
const MAX_LOOKS: usize = 8;

/// How the parties are joined.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Transport {
    /// Threads of one process: for benchmarks.
    Memory,
    /// Plain TCP, neither private nor authentic: for benchmarks.
    Tcp,
    /// Mutual TLS 1.3 with pinned keys.
    Tls,
}

impl Transport {
    /// The name on command lines and in reports.
    pub fn name(self) -> &'static str {
        match self {
            Transport::Memory => "memory",
            Transport::Tcp => "tcp",
            Transport::Tls => "tls",
        }
    }
}

impl fmt::Display for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Transport {
    type Err = String;

    fn from_str(name: &str) -> std::result::Result<Self, String> {
        [Transport::Memory, Transport::Tcp, Transport::Tls]
            .into_iter()
            .find(|transport| transport.name() == name)
            .ok_or_else(|| "the transport is memory, tcp or tls".into())
    }
}

/// What the parties of a program compare besides the program, before they compute. `()` is nothing.
pub trait AlsoAgree {
    /// The fields. Names do not clash with those of the program.
    fn fields(&self) -> Fields;

    /// Fields that show more closely where two parties differ that differ in the field `differing`: compared next,
    /// and so on, at most eight times, until there are none.
    fn finer(&self, differing: &str) -> Option<Fields>;
}

impl AlsoAgree for () {
    fn fields(&self) -> Fields {
        Fields::new()
    }

    fn finer(&self, _: &str) -> Option<Fields> {
        None
    }
}

/// What one party has at the end.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// One entry for each output value: its bits, wires × lanes, where this party is entitled to them.
    pub outputs: Vec<Option<BitMatrix>>,
    /// The same as text, and what it cost.
    pub report: PartyReport,
}

/// One party of a computation, ready to meet its peers.
#[derive(Clone, Copy)]
pub struct Party<'a> {
    /// Which party it is.
    pub me: PartyId,
    /// The protocol and its security.
    pub protocol: &'a Protocol,
    /// What is computed.
    pub program: &'a Program,
    /// One entry for each input value: its bits where this party owns it.
    pub inputs: &'a [Option<BitMatrix>],
    /// What else the parties compare before they compute.
    pub also_agree: &'a dyn AlsoAgree,
    /// How the parties are joined, for the report.
    pub transport: Transport,
}

impl Party<'_> {
    /// Connects, compares what the parties were told, computes, and ends the session. `progress` is told the AND gates
    /// done, of how many.
    ///
    /// # Errors
    /// [`Error::Protocol`] if a peer is missing, different, lost, or caught cheating; what `connect` fails with. What happens
    /// after this party has learnt its outputs is no error, but a warning in the report.
    pub fn run(
        self,
        connect: impl FnOnce() -> Result<Connections>,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<Outcome> {
        self.run_with(None, connect, progress)
    }

    /// Like [`Party::run`], with what is in `stock` instead of what is made in the session. All parties must do the
    /// same.
    ///
    /// # Errors
    /// As [`Party::run`]; [`Error::Protocol`] also if the stock does not suffice; [`Error::Usage`] if it is of another protocol.
    pub fn run_online<'s>(
        self,
        stock: impl Into<Stock<'s>>,
        connect: impl FnOnce() -> Result<Connections>,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<Outcome> {
        self.run_with(Some(stock.into()), connect, progress)
    }

    fn run_with(
        self,
        stock: Option<Stock<'_>>,
        connect: impl FnOnce() -> Result<Connections>,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<Outcome> {
        let start = Instant::now();
        let mut seconds = Seconds::default();
        let session = self.protocol.session(self.program)?;
        let mut connections = connect()?;
        seconds.add("connect", start.elapsed());
        tracing::info!(me = %self.me, "connected to all peers");

        let run = Instant::now();
        self.agree(&mut connections)?;
        let Finished {
            executed: Executed { outputs, unfinished },
            costs,
            parameters,
            error_log2,
            mut warnings,
        } = session.run(&self, connections, stock, progress)?;
        warnings.extend(unfinished.map(|error| {
            format!(
                "the outputs of {} are verified and right, but the session did not end in agreement, so its peers may lack \
                 theirs: {error}",
                self.me
            )
        }));
        for warning in &warnings {
            tracing::warn!("{warning}");
        }
        seconds.add("run", run.elapsed());
        seconds.add("total", start.elapsed());

        let report = PartyReport {
            description: Description {
                protocol: *self.protocol,
                transport: self.transport,
                parameters,
                error_log2,
                circuit: CircuitDescription::new(self.program),
                lanes: self.program.lanes() as u64,
            },
            outputs: Output::all(self.program, &outputs),
            costs: PartyCosts::new(self.me.0, &costs, seconds),
            warnings,
        };
        Ok(Outcome { outputs, report })
    }

    /// Compares what the parties were told, with all peers even if the first differs: so each party learns whether it or
    /// another is the odd one out.
    fn agree(&self, connections: &mut Connections) -> Result<()> {
        let mut outcome = Ok(());
        // In the order of the pairs' numbers, the same at all parties: nobody waits in a circle.
        for channel in connections.first() {
            match self.agree_with(channel) {
                Err(error @ cenote_net::Error::Mismatch { .. }) => outcome = outcome.and(Err(error)),
                other => other?,
            }
        }
        Ok(outcome?)
    }

    fn agree_with(&self, channel: &mut dyn Channel) -> cenote_net::Result<()> {
        let mut outcome = compare(channel, &self.fields());
        // Both ends see the same field differ first, and look closer at it.
        for _ in 0..MAX_LOOKS {
            let Err(cenote_net::Error::Mismatch { field, .. }) = &outcome else {
                break;
            };
            let Some(finer) = self.also_agree.finer(field) else {
                break;
            };
            match compare(channel, &finer) {
                Ok(()) => break,
                closer => outcome = closer,
            }
        }
        outcome
    }

    /// Everything public that must be the same at all parties, the most telling differences first.
    fn fields(&self) -> Fields {
        let program = self.program;
        let list = |items: Vec<String>| {
            if items.is_empty() {
                "none".to_owned()
            } else {
                items.join(" ")
            }
        };
        let orders = |values: &[cenote_circuit::Value]| {
            let name = |value: &cenote_circuit::Value| match value.order {
                BitOrder::Lsb => "lsb".to_owned(),
                BitOrder::Msb => "msb".to_owned(),
            };
            list(values.iter().map(name).collect())
        };
        let circuit = program.circuit();
        let named = |(name, value): (&str, String)| (name.to_owned(), value);
        let mut fields: Fields = vec![named(("version", env!("CARGO_PKG_VERSION").to_owned()))];
        fields.extend(self.protocol.fields());
        let of_program = [
            (
                "input owners",
                list(program.owners().iter().map(|owner| owner.0.to_string()).collect()),
            ),
            (
                "output receivers",
                list(program.receivers().iter().map(ToString::to_string).collect()),
            ),
            ("input orders", orders(circuit.inputs())),
            ("output orders", orders(circuit.outputs())),
            ("circuit", program.digest()),
        ];
        fields.extend(of_program.map(named));
        fields.extend(self.also_agree.fields());
        fields.push(("lanes".into(), program.lanes().to_string()));
        fields
    }
}

fn compare(channel: &mut dyn Channel, fields: &Fields) -> cenote_net::Result<()> {
    let fields: Vec<(&str, String)> = fields
        .iter()
        .map(|(name, value)| (name.as_str(), value.clone()))
        .collect();
    agree(channel, &fields)
}

/// Runs all parties as threads of this process, joined by memory, for benchmarks and tests. `inputs` has the bits of
/// every input value.
///
/// # Errors
/// The first failure, in the order of the parties.
pub fn run_in_memory(
    protocol: &Protocol,
    program: &Program,
    inputs: &[BitMatrix],
    timeout: Duration,
    progress: &mut (dyn FnMut(u64, u64) + Send),
) -> Result<Vec<Outcome>> {
    let connections = Connections::in_memory(&protocol.topology(), timeout);
    as_threads(connections, progress, |me, connections, progress| {
        let own: Vec<Option<BitMatrix>> = program
            .owners()
            .iter()
            .zip(inputs)
            .map(|(&owner, bits)| (owner == me).then(|| bits.clone()))
            .collect();
        let party = Party {
            me,
            protocol,
            program,
            inputs: &own,
            also_agree: &(),
            transport: Transport::Memory,
        };
        party.run(|| Ok(connections), progress)
    })
}

/// Runs `party` as a thread for each party's connections, and gives what they return, in order. The first party tells of
/// its progress.
///
/// # Errors
/// The first failure, in the order of the parties.
pub fn as_threads<T: Send>(
    connections: Vec<Connections>,
    progress: &mut (dyn FnMut(u64, u64) + Send),
    party: impl Fn(PartyId, Connections, &mut dyn FnMut(u64, u64)) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    let mut progress = Some(progress);
    let party = &party;
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0u8..)
            .map(PartyId)
            .zip(connections)
            .map(|(me, connections)| {
                let mut progress = progress.take();
                scope.spawn(move || {
                    party(me, connections, &mut |done, total| {
                        if let Some(progress) = progress.as_mut() {
                            progress(done, total);
                        }
                    })
                })
            })
            .collect();
        let panicked = || Error::local("running a party", std::io::Error::other("its thread panicked"));
        let results: Vec<_> = threads
            .into_iter()
            .map(|thread| thread.join().unwrap_or_else(|_| Err(panicked())))
            .collect();
        results.into_iter().collect()
    })
}

#[cfg(test)]
mod tests {
    use cenote_net::{ChannelOptions, memory_pair};

    use super::*;
    use crate::Parties;
    use crate::circuits::by_name;

    /// Would look closer for ever.
    struct Curious;

    impl AlsoAgree for Curious {
        fn fields(&self) -> Fields {
            Fields::new()
        }

        fn finer(&self, _: &str) -> Option<Fields> {
            Some(Fields::new())
        }
    }

    #[test]
    fn a_peer_that_names_differences_without_end_is_not_followed() {
        let circuit = by_name("add2").unwrap();
        let program = Program::new("t", circuit, vec![PartyId(0); 2], vec![Parties::all(3)], 1).unwrap();
        let party = Party {
            me: PartyId(0),
            protocol: &Protocol::default(),
            program: &program,
            inputs: &[None, None],
            also_agree: &Curious,
            transport: Transport::Memory,
        };
        let options = ChannelOptions::with_timeout(Duration::from_secs(20));
        let (mut here, mut there) = memory_pair(PartyId(0), PartyId(1), options);
        let followed = std::thread::spawn(move || {
            let differs = |turn| vec![("difference".to_owned(), format!("{turn}"))];
            let mismatch = |turn: &usize| {
                matches!(
                    compare(&mut there, &differs(*turn)),
                    Err(cenote_net::Error::Mismatch { .. })
                )
            };
            (0..100).take_while(mismatch).count()
        });
        let outcome = party.agree_with(&mut here);
        drop(here);
        assert!(
            matches!(outcome, Err(cenote_net::Error::Mismatch { .. })),
            "{outcome:?}"
        );
        assert_eq!(followed.join().unwrap(), MAX_LOOKS + 1);
    }
}
