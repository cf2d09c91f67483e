//! What a computation gave and what it cost, for people and for machines.

use std::time::Duration;

use cenote_circuit::BitOrder;
use cenote_net::PartyId;
use cenote_primitives::BitMatrix;
use cenote_session::{Costs, Error, Parties, Warning, WarningKind, memory};
use serde::de::{MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::{Program, Protocol, Transport, data};

/// What is told as the error of a session that made nothing that could be wrong: JSON has no infinity.
pub const NO_ERROR_LOG2: f64 = -1024.0;

/// How a session went that has ended.
pub(crate) struct Held<T> {
    /// What it came to; the error that there is no answer, which all parties know.
    pub(crate) result: crate::Result<T>,
    pub(crate) report: PartyReport,
    pub(crate) is_agreed: bool,
}

impl<T> Held<T> {
    /// The same, and `what` that it came to is.
    pub(crate) fn map<U>(self, what: impl FnOnce(T) -> U) -> Held<U> {
        Held {
            result: self.result.map(what),
            report: self.report,
            is_agreed: self.is_agreed,
        }
    }
}

/// Seconds by phase, in order. In JSON an object.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Seconds(Vec<(String, f64)>);

impl Seconds {
    /// Adds a phase, or time to it.
    pub fn add(&mut self, phase: &str, time: Duration) {
        match self.0.iter_mut().find(|(known, _)| known == phase) {
            Some((_, seconds)) => *seconds += time.as_secs_f64(),
            None => self.0.push((phase.to_owned(), time.as_secs_f64())),
        }
    }

    /// The seconds of `phase`, 0 if there was none.
    pub fn of(&self, phase: &str) -> f64 {
        self.0
            .iter()
            .find(|(known, _)| known == phase)
            .map_or(0.0, |&(_, seconds)| seconds)
    }

    /// The phases in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, f64)> {
        self.0.iter().map(|(phase, seconds)| (phase.as_str(), *seconds))
    }

    /// The longest time of each phase.
    fn longest(all: &[&Seconds]) -> Seconds {
        let mut longest = Seconds::default();
        for (phase, seconds) in all.iter().flat_map(|seconds| &seconds.0) {
            match longest.0.iter_mut().find(|(known, _)| known == phase) {
                Some((_, most)) => *most = most.max(*seconds),
                None => longest.0.push((phase.clone(), *seconds)),
            }
        }
        longest
    }
}

impl Serialize for Seconds {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (phase, seconds) in &self.0 {
            map.serialize_entry(phase, seconds)?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for Seconds {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Phases;
        impl<'de> Visitor<'de> for Phases {
            type Value = Seconds;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("seconds by phase")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Seconds, A::Error> {
                let mut phases = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    phases.push(entry);
                }
                Ok(Seconds(phases))
            }
        }
        deserializer.deserialize_map(Phases)
    }
}

/// The computation, the same at all parties.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Description {
    /// The protocol and its settings.
    #[serde(flatten)]
    pub protocol: Protocol,
    /// How the parties were joined.
    pub transport: Transport,
    /// The cut-and-choose parameters and what they promise.
    pub parameters: serde_json::Value,
    /// The base-2 logarithm of the probability that a wrong output passes.
    pub error_log2: f64,
    /// The base-2 logarithm of the operations that break the weakest primitive; `null` if the protocol rests on none.
    pub computational_bits: Option<f64>,
    /// What was computed.
    pub circuit: CircuitDescription,
    /// Instances side by side.
    pub lanes: u64,
}

/// A circuit in a report.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CircuitDescription {
    /// Its file or name.
    pub name: String,
    /// SHA-256 of its content, in hexadecimal.
    pub digest: String,
    /// AND gates of one instance.
    pub and_gates: u64,
    /// The most ANDs on a path.
    pub and_depth: u64,
}

impl CircuitDescription {
    /// The circuit of `program`.
    pub fn new(program: &Program) -> Self {
        let plan = program.plan();
        CircuitDescription {
            name: program.name().to_owned(),
            digest: program.digest(),
            and_gates: plan.and_count() as u64,
            and_depth: plan.and_depth() as u64,
        }
    }
}

/// An output value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Output {
    /// Its name in the circuit.
    pub name: String,
    /// Its wires.
    pub width: u32,
    /// `lsb` or `msb`: what its first wire is.
    pub order: String,
    /// The parties entitled to it.
    pub to: Vec<u8>,
    /// One hexadecimal number for each lane; `null` where no reported party is entitled.
    pub values: Option<Vec<String>>,
}

impl Output {
    /// The outputs of `program`, of which this party learnt `bits`.
    pub(crate) fn all(program: &Program, bits: &[Option<BitMatrix>]) -> Vec<Output> {
        let values = program.circuit().outputs();
        let output =
            |((value, &to), bits): ((&cenote_circuit::Value, &Parties), &Option<BitMatrix>)| Output {
                name: value.name.clone(),
                width: value.width,
                order: match value.order {
                    BitOrder::Lsb => "lsb".into(),
                    BitOrder::Msb => "msb".into(),
                },
                to: to.iter().map(|party| party.0).collect(),
                values: bits.as_ref().map(|bits| data::format(bits, value)),
            };
        values
            .iter()
            .zip(program.receivers())
            .zip(bits)
            .take(program.opened())
            .map(output)
            .collect()
    }
}

/// What it cost one party.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PartyCosts {
    /// The party.
    pub party: u8,
    /// AND gates evaluated, counted once per lane.
    pub and_gates: u64,
    /// Rounds on the critical path.
    pub rounds: u64,
    /// Seconds by phase; `run` is the protocol from start to end, `total` everything.
    pub seconds: Seconds,
    /// Bytes sent to all peers, with frames, before TLS.
    pub bytes_sent: u64,
    /// Bytes received from all peers, with frames, before TLS.
    pub bytes_received: u64,
    /// Messages sent to all peers.
    pub messages_sent: u64,
    /// Bits of message bodies sent per AND gate; `null` if there are none.
    pub bits_per_and: Option<f64>,
    /// The most memory that the party's process had; `null` where the system does not tell.
    pub peak_memory_bytes: Option<u64>,
    /// The most memory that the party's process may take, as it was known before it began.
    pub memory_bound_bytes: u64,
}

impl PartyCosts {
    pub(crate) fn new(party: u8, costs: &Costs, mut seconds: Seconds) -> Self {
        for &(phase, time) in &costs.phases {
            seconds.add(phase, time);
        }
        PartyCosts {
            party,
            and_gates: costs.and_gates,
            rounds: costs.rounds,
            seconds,
            bytes_sent: costs.traffic.bytes_sent,
            bytes_received: costs.traffic.bytes_received,
            messages_sent: costs.traffic.messages_sent,
            bits_per_and: costs.bits_per_and(),
            peak_memory_bytes: memory::peak(),
            memory_bound_bytes: costs.memory_bytes,
        }
    }
}

/// What one party has to tell of a computation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PartyReport {
    /// The computation.
    pub description: Description,
    /// What this party learnt.
    pub outputs: Vec<Output>,
    /// What it cost this party.
    pub costs: PartyCosts,
    /// What went wrong without harm to the outputs.
    pub warnings: Vec<Warning>,
}

/// What is told where the outputs are known and the session did not end in agreement.
pub(crate) fn no_agreement(me: PartyId, error: &Error) -> Warning {
    let text = format!(
        "what {me} learnt is verified and right, but the session did not end in agreement, so its peers may lack theirs: {error}"
    );
    Warning::new(WarningKind::NoAgreement, text)
}

/// What a session has warned of, once the log has it.
pub(crate) fn told(warnings: Vec<Warning>) -> Vec<Warning> {
    warnings.iter().for_each(|warning| tracing::warn!("{warning}"));
    warnings
}

/// The report of a computation: of one party, or of all that ran on this machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// The computation.
    #[serde(flatten)]
    pub description: Description,
    /// Each output of the circuit, with its values if a party that is reported learns it.
    pub outputs: Vec<Output>,
    /// AND gates evaluated, counted once per lane.
    pub and_gates: u64,
    /// Rounds on the critical path, the most of any party.
    pub rounds: u64,
    /// Seconds by phase, the longest of any party.
    pub seconds: Seconds,
    /// AND gates per second of the protocol's run, all phases of it included.
    pub and_gates_per_second: f64,
    /// Bytes sent, by party reported.
    pub bytes_sent: Vec<u64>,
    /// Bits of message bodies sent per AND gate, the mean of the parties reported; `null` if there are no AND gates.
    pub bits_per_and: Option<f64>,
    /// Peak memory, by process.
    pub peak_memory_bytes: Vec<Option<u64>>,
    /// The most memory that a party's process may take, as it was known before it began.
    pub memory_bound_bytes: u64,
    /// Each party reported.
    pub parties: Vec<PartyCosts>,
    /// What went wrong without harm to the outputs: sentences that name the party.
    pub warnings: Vec<String>,
}

impl Report {
    /// Puts the reports of parties of one computation together.
    ///
    /// # Errors
    /// A message if they are not of the same computation, or two parties learnt different values.
    ///
    /// # Panics
    /// If there are none.
    pub fn new(reports: Vec<PartyReport>) -> Result<Self, String> {
        let first = &reports[0];
        let description = first.description.clone();
        let mut outputs = first.outputs.clone();
        for report in &reports[1..] {
            if report.description != description || report.outputs.len() != outputs.len() {
                return Err("the parties report different computations".into());
            }
            for (known, output) in outputs.iter_mut().zip(&report.outputs) {
                match (&known.values, &output.values) {
                    (Some(a), Some(b)) if a != b => {
                        return Err(format!(
                            "the parties learnt different values of \"{}\"",
                            known.name
                        ));
                    }
                    (None, Some(values)) => known.values = Some(values.clone()),
                    _ => {}
                }
            }
        }
        let (parties, warnings): (Vec<PartyCosts>, Vec<_>) = reports
            .into_iter()
            .map(|report| (report.costs, report.warnings))
            .unzip();
        let seconds = Seconds::longest(&parties.iter().map(|party| &party.seconds).collect::<Vec<_>>());
        let and_gates = parties[0].and_gates;
        // Parties joined by memory are one process, whose memory each of them reports.
        let processes = if description.transport == Transport::Memory {
            &parties[..1]
        } else {
            &parties[..]
        };
        let shares: Vec<f64> = parties.iter().filter_map(|party| party.bits_per_and).collect();
        Ok(Report {
            description,
            outputs,
            and_gates,
            rounds: parties.iter().map(|party| party.rounds).max().unwrap_or(0),
            and_gates_per_second: and_gates as f64 / seconds.of("run").max(1e-9),
            seconds,
            bytes_sent: parties.iter().map(|party| party.bytes_sent).collect(),
            bits_per_and: (!shares.is_empty()).then(|| shares.iter().sum::<f64>() / shares.len() as f64),
            peak_memory_bytes: processes.iter().map(|party| party.peak_memory_bytes).collect(),
            memory_bound_bytes: parties
                .iter()
                .map(|party| party.memory_bound_bytes)
                .max()
                .unwrap_or(0),
            parties,
            warnings: warnings
                .concat()
                .into_iter()
                .map(|warning| warning.text)
                .collect(),
        })
    }

    /// The report of one party.
    pub fn of_one(report: PartyReport) -> Self {
        Self::new(vec![report]).expect("one party agrees with itself")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn costs(party: u8, bits_per_and: f64, run: f64) -> PartyCosts {
        PartyCosts {
            party,
            and_gates: 1000,
            rounds: 3 + u64::from(party),
            seconds: Seconds(vec![("run".into(), run), ("total".into(), run + 1.0)]),
            bytes_sent: 100 + u64::from(party),
            bytes_received: 100,
            messages_sent: 4,
            bits_per_and: Some(bits_per_and),
            peak_memory_bytes: Some(7_000_000),
            memory_bound_bytes: 5,
        }
    }

    fn report(party: u8, values: Option<&[&str]>) -> PartyReport {
        PartyReport {
            description: Description {
                protocol: Protocol::default(),
                transport: Transport::Tls,
                parameters: serde_json::json!({ "N": 8 }),
                error_log2: -40.5,
                computational_bits: Some(124.1),
                circuit: CircuitDescription {
                    name: "c".into(),
                    digest: "00".into(),
                    and_gates: 500,
                    and_depth: 2,
                },
                lanes: 2,
            },
            outputs: vec![Output {
                name: "out".into(),
                width: 8,
                order: "lsb".into(),
                to: vec![1, 2],
                values: values.map(|values| values.iter().map(|&value| value.to_owned()).collect()),
            }],
            costs: costs(party, 7.0 + f64::from(party), 0.5 * f64::from(party + 1)),
            warnings: (party == 1)
                .then(|| Warning::new(WarningKind::NoAgreement, "party 1 was alone"))
                .into_iter()
                .collect(),
        }
    }

    #[test]
    fn reports_are_put_together() {
        let values: &[&str] = &["0x01", "0xff"];
        let reports = vec![report(0, None), report(1, Some(values)), report(2, Some(values))];
        let report = Report::new(reports).unwrap();
        assert_eq!(report.outputs[0].values.as_ref().unwrap(), values);
        assert_eq!((report.rounds, report.bits_per_and), (5, Some(8.0)));
        assert_eq!(report.bytes_sent, [100, 101, 102]);
        assert_eq!(report.warnings, ["party 1 was alone"]);
        assert_eq!(report.seconds.of("run"), 1.5);
        assert!((report.and_gates_per_second - 1000.0 / 1.5).abs() < 1e-9);
        let text = serde_json::to_string(&report).unwrap();
        assert_eq!(serde_json::from_str::<Report>(&text).unwrap(), report);
        assert!(text.contains("\"seconds\":{\"run\":1.5,\"total\":2.5}"), "{text}");
        assert!(
            report.output_table(1).contains("0x01  1"),
            "{}",
            report.output_table(1)
        );
        assert!(
            report.output_table(1).contains("1 more"),
            "{}",
            report.output_table(1)
        );
        assert!(
            report
                .cost_table()
                .contains("error 2^-40.5, work 2^124, over tls"),
            "{}",
            report.cost_table()
        );
    }

    #[test]
    fn parties_that_learnt_different_values_are_noticed() {
        let reports = vec![
            report(1, Some(&["0x01", "0xff"])),
            report(2, Some(&["0x01", "0xfe"])),
        ];
        assert!(Report::new(reports).unwrap_err().contains("different values"));
        let mut other = report(2, None);
        other.description.lanes = 3;
        assert!(
            Report::new(vec![report(1, None), other])
                .unwrap_err()
                .contains("different computations")
        );
    }
}
