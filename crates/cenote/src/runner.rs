//! One party's run of a program, from the handshake to the report.

use std::fmt;
use std::str::FromStr;
use std::time::{Duration, Instant};

use cenote_circuit::BitOrder;
use cenote_engine::Engine;
use cenote_net::{Channel, ChannelOptions, PartyId, agree, memory_pair};
use cenote_primitives::BitMatrix;
use cenote_three::store::StockFolder;
use cenote_three::{Config, Lag, Links, Ring, ThreeEngine};
use serde::{Deserialize, Serialize};

use crate::program::Executed;
use crate::report::{Description, Output, PartyCosts, PartyReport, Seconds};
use crate::{Error, Program, Result, Three};

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
    pub protocol: &'a Three,
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
        connect: impl FnOnce() -> Result<Vec<Links>>,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<Outcome> {
        self.run_with(None, connect, progress)
    }

    /// Like [`Party::run`], with triples from `stock` instead of fresh ones. All parties must do the same.
    ///
    /// # Errors
    /// As [`Party::run`]; [`Error::Protocol`] also if the stock does not suffice.
    pub fn run_online(
        self,
        stock: &StockFolder,
        connect: impl FnOnce() -> Result<Vec<Links>>,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<Outcome> {
        self.run_with(Some(stock), connect, progress)
    }

    fn run_with(
        self,
        stock: Option<&StockFolder>,
        connect: impl FnOnce() -> Result<Vec<Links>>,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<Outcome> {
        let start = Instant::now();
        let mut seconds = Seconds::default();
        let parameters = self
            .protocol
            .parameters(self.program.plan(), self.program.lanes())?;
        let mut links = connect()?;
        seconds.add("connect", start.elapsed());
        tracing::info!(me = %self.me, "connected to both peers");

        let run = Instant::now();
        let first = links
            .first_mut()
            .ok_or_else(|| Error::Usage("a party has at least one worker".into()))?;
        self.agree(&mut first.evaluator)?;
        let mut config = Config::new(parameters.clone(), self.program.digest());
        config.view_check = self.protocol.view_check;
        config.lag = Lag::Measured;
        let mut engine = match stock {
            Some(stock) => ThreeEngine::start_online(self.me, links, config, stock)?,
            None => ThreeEngine::start(self.me, links, config)?,
        };
        tracing::info!(me = %self.me, variant = %parameters.variant(), "session started");
        let total = self.program.and_gates();
        let Executed { outputs, unfinished } = self
            .program
            .execute(&mut engine, self.inputs, |done| progress(done, total))?;
        let warnings = Vec::from_iter(unfinished.map(|error| {
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
            description: Description::new(self.protocol, &parameters, self.program, self.transport),
            outputs: Output::all(self.program, &outputs),
            costs: PartyCosts::new(self.me.0, &engine.costs(), seconds),
            warnings,
        };
        Ok(Outcome { outputs, report })
    }

    /// Compares what the parties were told, with both peers even if the first differs: so each party learns whether it or
    /// another is the odd one out.
    fn agree(&self, ring: &mut Ring) -> Result<()> {
        // In the order of the pairs' numbers, the same at all parties: nobody waits in a circle.
        let mut channels = [&mut ring.previous, &mut ring.next];
        channels.sort_by_key(|channel| channel.peer());
        let mut outcome = Ok(());
        for channel in channels {
            match self.agree_with(channel.as_mut()) {
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
        let mut fields: Fields = [
            ("version", env!("CARGO_PKG_VERSION").to_owned()),
            ("protocol", "three".to_owned()),
            ("variant", self.protocol.variant.to_string()),
            ("view check", self.protocol.view_check.to_string()),
            ("security", self.protocol.security.to_string()),
            ("workers", self.protocol.workers.to_string()),
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
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .to_vec();
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

/// Runs all three parties as threads of this process, joined by memory, for benchmarks and tests. `inputs` has the bits of
/// every input value.
///
/// # Errors
/// The first failure, in the order of the parties.
pub fn run_in_memory(
    protocol: &Three,
    program: &Program,
    inputs: &[BitMatrix],
    timeout: Duration,
    progress: &mut (dyn FnMut(u64, u64) + Send),
) -> Result<Vec<Outcome>> {
    let links = memory_links(protocol.workers, timeout);
    let mut progress = Some(progress);
    std::thread::scope(|scope| {
        let threads: Vec<_> = links
            .into_iter()
            .enumerate()
            .map(|(party, links)| {
                let me = PartyId(party as u8);
                let mut progress = progress.take();
                scope.spawn(move || {
                    let own: Vec<Option<BitMatrix>> = program
                        .owners()
                        .iter()
                        .zip(inputs)
                        .map(|(&owner, bits)| (owner == me).then(|| bits.clone()))
                        .collect();
                    let transport = Transport::Memory;
                    let party = Party {
                        me,
                        protocol,
                        program,
                        inputs: &own,
                        also_agree: &(),
                        transport,
                    };
                    party.run(|| Ok(links), &mut |done, total| {
                        if let Some(progress) = progress.as_mut() {
                            progress(done, total);
                        }
                    })
                })
            })
            .collect();
        let join = |thread: std::thread::ScopedJoinHandle<'_, Result<Outcome>>| {
            thread.join().unwrap_or_else(|_| {
                Err(Error::local(
                    "running a party",
                    std::io::Error::other("its thread panicked"),
                ))
            })
        };
        threads
            .into_iter()
            .map(join)
            .collect::<Vec<_>>()
            .into_iter()
            .collect()
    })
}

/// The links of each party, joined by memory.
pub(crate) fn memory_links(workers: u8, timeout: Duration) -> [Vec<Links>; 3] {
    let options = ChannelOptions::with_timeout(timeout);
    let mut links: [Vec<Links>; 3] = Default::default();
    for _ in 0..workers {
        let rings = memory_rings(&options).into_iter().zip(memory_rings(&options));
        for (party, (generator, evaluator)) in links.iter_mut().zip(rings) {
            party.push(Links { generator, evaluator });
        }
    }
    links
}

/// The ring of each party.
fn memory_rings(options: &ChannelOptions) -> Vec<Ring> {
    let pair = |a, b| memory_pair(PartyId(a), PartyId(b), options.clone());
    let ((zero_one, one_zero), (one_two, two_one), (two_zero, zero_two)) =
        (pair(0, 1), pair(1, 2), pair(2, 0));
    vec![
        Ring {
            previous: Box::new(zero_two),
            next: Box::new(zero_one),
        },
        Ring {
            previous: Box::new(one_zero),
            next: Box::new(one_two),
        },
        Ring {
            previous: Box::new(two_one),
            next: Box::new(two_zero),
        },
    ]
}

#[cfg(test)]
mod tests {
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
            protocol: &Three::default(),
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
