//! One party's run of a program, from the handshake to the report.

use std::fmt;
use std::str::FromStr;
use std::time::{Duration, Instant};

use cenote_circuit::BitOrder;
use cenote_net::PartyId;
use cenote_primitives::BitMatrix;
use cenote_session::{AnyWires, Engine, handshake};
use cenote_store::Store;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::registry::Prepared;
use crate::report::{
    CircuitDescription, Description, NO_ERROR_LOG2, Output, PartyCosts, PartyReport, Seconds, no_agreement,
    told,
};
use crate::stop::Session;
use crate::{Error, Program, Protocol, Result};
pub use cenote_session::{AlsoAgree, Connections, Terms};

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

/// What one party has at the end.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// One entry for each output value: its bits, wires × lanes, where this party is entitled to them.
    pub outputs: Vec<Option<BitMatrix>>,
    /// The same as text, and what it cost.
    pub report: PartyReport,
    /// Whether the session has ended in agreement. If not, this party has its outputs all the same.
    pub is_agreed: bool,
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
    /// How long each phase of the session may take; ten minutes and a hundred times what its traffic takes at 1 MB/s if `None`.
    pub phase_timeout: Option<Duration>,
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
        let prepared = self.protocol.prepare(&self.program.demand())?;
        self.run_prepared(prepared, None, connect, progress)
    }

    /// Like [`Party::run`], with what is in `stock` instead of what is made in the session. All parties must do the same.
    ///
    /// # Errors
    /// As [`Party::run`]; [`Error::Protocol`] also if the stock does not suffice.
    pub fn run_online(
        self,
        stock: &Store,
        connect: impl FnOnce() -> Result<Connections>,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<Outcome> {
        let prepared = self.protocol.prepare(&self.program.demand())?;
        self.run_prepared(prepared, Some(stock), connect, progress)
    }

    /// Either of these, with the parameters for the program, as [`Protocol::prepare`] has found them.
    ///
    /// # Errors
    /// Theirs.
    pub fn run_prepared(
        self,
        prepared: Prepared,
        stock: Option<&Store>,
        connect: impl FnOnce() -> Result<Connections>,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<Outcome> {
        let start = Instant::now();
        let mut seconds = Seconds::default();
        prepared.admit(self.program, [self.me])?;
        let memory_bytes = prepared.memory_bytes(self.program, self.me);
        let mut connections = connect()?;
        seconds.add("connect", start.elapsed());
        tracing::info!(me = %self.me, "connected to all peers");

        let run = Instant::now();
        let limit = self.phase_timeout;
        let phases =
            connections.phases(limit.unwrap_or_else(|| prepared.phase_limit(&self.program.demand())));
        phases.begin("the handshake");
        let terms = self.terms(&prepared, stock.is_some());
        let session = handshake(self.me, &mut connections, &terms, self.also_agree)?;
        let parameters = prepared.parameters(stock);
        phases.begin("the set-up");
        let mut engine = prepared.start(self.me, connections, &session, stock)?;
        tracing::info!(me = %self.me, protocol = self.protocol.name(), "session started");
        let executed = self
            .program
            .execute_within(&phases, &mut *engine, self.inputs, progress);
        let executed = match executed {
            Ok(executed) => executed,
            Err(error) => {
                self.also_agree.warned(told(engine.warnings()));
                return Err(error);
            }
        };
        let description = self.description(&*engine, parameters);
        let (mut costs, mut warnings) = (engine.costs(), engine.warnings());
        drop(engine);
        let is_agreed = executed.unfinished.is_none();
        warnings.extend(executed.unfinished.map(|error| no_agreement(self.me, &error)));
        let warnings = told(warnings);
        costs.memory_bytes = costs.memory_bytes.max(memory_bytes);
        seconds.add("run", run.elapsed());
        seconds.add("total", start.elapsed());

        let outputs = executed.outputs;
        let report = PartyReport {
            description,
            outputs: Output::all(self.program, &outputs),
            costs: PartyCosts::new(self.me.0, &costs, seconds),
            warnings,
        };
        Ok(Outcome {
            outputs,
            report,
            is_agreed,
        })
    }

    /// What was computed, with these parameters, and how sure it is.
    fn description(
        &self,
        engine: &dyn Engine<Wires = AnyWires>,
        parameters: serde_json::Value,
    ) -> Description {
        Description {
            protocol: self.protocol.clone(),
            transport: self.transport,
            parameters,
            error_log2: engine.error_bound().max(NO_ERROR_LOG2),
            computational_bits: Some(engine.computational_bits()).filter(|bits| bits.is_finite()),
            circuit: CircuitDescription::new(self.program),
            lanes: self.program.lanes() as u64,
        }
    }

    /// Everything public that must be the same at all parties, the most telling differences first.
    pub(crate) fn terms(&self, prepared: &Prepared, stored: bool) -> Terms {
        let mut terms = prepared.terms(stored);
        terms.extend(compared(self.program));
        terms.extend(self.also_agree.terms());
        terms
    }
}

/// What parties compare of a program, the most telling differences first.
pub(crate) fn compared(program: &Program) -> Terms {
    let orders = |values: &[cenote_circuit::Value]| {
        let name = |value: &cenote_circuit::Value| match value.order {
            BitOrder::Lsb => "lsb".to_owned(),
            BitOrder::Msb => "msb".to_owned(),
        };
        list(values.iter().map(name).collect())
    };
    let circuit = program.circuit();
    let named = |(name, value): (&str, String)| (name.to_owned(), value);
    let terms = [
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
        ("lanes", program.lanes().to_string()),
    ];
    terms.map(named).to_vec()
}

/// Most bytes of a list that is compared as it is.
const LONG: usize = 1000;

/// A list in few words: what comes several times is told once, and of a long one the digest.
fn list(items: Vec<String>) -> String {
    let mut runs: Vec<(&str, usize)> = Vec::new();
    for item in &items {
        match runs.last_mut() {
            Some((last, times)) if *last == item => *times += 1,
            _ => runs.push((item, 1)),
        }
    }
    let told = |&(item, times): &(&str, usize)| match times {
        1 => item.to_owned(),
        _ => format!("{item} ({times} times)"),
    };
    let text = runs.iter().map(told).collect::<Vec<_>>().join(" ");
    match text.len() {
        0 => "none".into(),
        len if len > LONG => format!(
            "{} with SHA-256 {}",
            items.len(),
            hex::encode(Sha256::digest(&text))
        ),
        _ => text,
    }
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
            phase_timeout: None,
        };
        party.run(|| Ok(connections), progress)
    })
}

/// Runs `party` as a thread for each party's connections, and gives what they return, in order. The first party tells of
/// its progress. They end in order at the operator's word.
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
    let work = |session: &Session| {
        std::thread::scope(|scope| {
            let threads: Vec<_> = (0u8..)
                .map(PartyId)
                .zip(connections)
                .map(|(me, connections)| {
                    let connections = session.interrupts(connections);
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
    };
    Session::run("all its parties have ended", work)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_short_and_tell_differences() {
        let of = |items: &[&str]| list(items.iter().map(ToString::to_string).collect());
        assert_eq!(of(&[]), "none");
        assert_eq!(of(&["0", "1", "1", "0"]), "0 1 (2 times) 0");
        assert_eq!(of(&["0,1,2"; 5000]), "0,1,2 (5000 times)");
        let mut many: Vec<&str> = ["0", "1"].repeat(2000);
        let before = of(&many);
        assert!(
            before.len() < 100 && before.starts_with("4000 with SHA-256 "),
            "{before}"
        );
        many.swap(17, 18);
        assert_ne!(of(&many), before);
    }
}
