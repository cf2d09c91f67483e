//! What the paper reports, from the data file beside this one.

use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

use cenote::Link;

/// The tables of Nielsen, Schneider and Trifiletti (NDSS 2017).
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Paper {
    #[serde(rename = "setting")]
    settings: Vec<Setting>,
    #[serde(rename = "commitment")]
    commitments: Vec<Commitment>,
    #[serde(rename = "timing")]
    timings: Vec<TimingColumns>,
    #[serde(rename = "data")]
    data: Vec<DataColumns>,
}

/// Two machines and what joined them (Section VI).
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Setting {
    name: String,
    pub(super) title: String,
    pub(super) machines: String,
    pub(super) rtt_ms: f64,
    pub(super) gbit_per_second: f64,
}

/// A row of Table III.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Commitment {
    /// Strings of 128 bits.
    pub strings: u64,
    /// Threads of each party.
    pub threads: u32,
    /// Microseconds per string to commit.
    pub commit_us: f64,
    /// The same with the base OTs.
    pub commit_with_setup_us: f64,
    /// Microseconds per string to open.
    pub decommit_us: f64,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct TimingColumns {
    setting: String,
    circuit: String,
    instances: Vec<u64>,
    base_ots: Vec<f64>,
    independent: Vec<f64>,
    dependent: Vec<f64>,
    online_latency: Vec<f64>,
    online_throughput: Vec<f64>,
}

/// A row of Table IV: milliseconds per circuit at the evaluator.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Timing {
    /// Where it was measured.
    pub setting: String,
    pub base_ots_ms: f64,
    /// Preprocessing that knows nothing of the circuit.
    pub independent_ms: f64,
    /// Preprocessing of the circuit.
    pub dependent_ms: f64,
    /// From inputs to outputs of one circuit.
    pub online_latency_ms: f64,
    /// The same for all circuits side by side, over their number.
    pub online_throughput_ms: f64,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct DataColumns {
    circuit: String,
    instances: Vec<u64>,
    beta: Vec<u32>,
    alpha: Vec<u32>,
    p_gate_log2: Vec<i32>,
    p_auth_log2: Vec<i32>,
    base_ots: Vec<f64>,
    independent: Vec<f64>,
    dependent: Vec<f64>,
    online: Vec<f64>,
}

/// A row of Table V: parameters, and bytes that the evaluator received for all circuits together.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Data {
    /// Garbled gates in an AND bucket.
    pub beta: u32,
    /// Authenticators in an AND bucket.
    pub alpha: u32,
    /// The base-2 logarithm of the share of gates that were checked.
    pub p_gate_log2: i32,
    /// The base-2 logarithm of the share of authenticators that were checked.
    pub p_auth_log2: i32,
    pub base_ots: f64,
    /// Preprocessing that knows nothing of the circuit.
    pub independent: f64,
    /// Preprocessing of the circuit.
    pub dependent: f64,
    /// From inputs to outputs.
    pub online: f64,
}

static PAPER: LazyLock<Paper> =
    LazyLock::new(|| toml::from_str(include_str!("paper.toml")).expect("the paper's tables are well formed"));

/// The paper's tables.
pub(super) fn paper() -> &'static Paper {
    &PAPER
}

/// What the paper calls the circuit that was measured here: AES-128 or SHA-256, whatever their gates.
pub(super) fn circuit_of_paper(name: &str) -> Option<&'static str> {
    let file = name
        .rsplit(['/', '\\', ':'])
        .next()
        .unwrap_or(name)
        .to_lowercase();
    let plain: String = file.chars().filter(char::is_ascii_alphanumeric).collect();
    if plain.starts_with("aes128") || plain.starts_with("aesnonexpanded") {
        Some("aes128")
    } else if plain.starts_with("sha256") {
        Some("sha256")
    } else {
        None
    }
}

impl Paper {
    /// Where the paper measured over a link like this one: the WAN over one with a millisecond or more, else the fast LAN.
    pub(super) fn setting(&self, link: &Link) -> &Setting {
        let name = if link.rtt_ms >= 1.0 { "aws-wan" } else { "aws-lan" };
        self.settings
            .iter()
            .find(|setting| setting.name == name)
            .expect("the setting is in the file")
    }

    /// The rows of Table III.
    pub(super) fn commitments(&self) -> &[Commitment] {
        &self.commitments
    }

    /// The row of Table IV for so many instances of a circuit.
    pub(super) fn timing(&self, setting: &Setting, circuit: &str, instances: u64) -> Option<Timing> {
        let columns = self
            .timings
            .iter()
            .find(|columns| columns.setting == setting.name && columns.circuit == circuit)?;
        let at = columns.instances.iter().position(|&known| known == instances)?;
        Some(Timing {
            setting: setting.title.clone(),
            base_ots_ms: columns.base_ots[at],
            independent_ms: columns.independent[at],
            dependent_ms: columns.dependent[at],
            online_latency_ms: columns.online_latency[at],
            online_throughput_ms: columns.online_throughput[at],
        })
    }

    /// The row of Table V for so many instances of a circuit.
    pub(super) fn data(&self, circuit: &str, instances: u64) -> Option<Data> {
        let columns = self.data.iter().find(|columns| columns.circuit == circuit)?;
        let at = columns.instances.iter().position(|&known| known == instances)?;
        Some(Data {
            beta: columns.beta[at],
            alpha: columns.alpha[at],
            p_gate_log2: columns.p_gate_log2[at],
            p_auth_log2: columns.p_auth_log2[at],
            base_ots: columns.base_ots[at],
            independent: columns.independent[at],
            dependent: columns.dependent[at],
            online: columns.online[at],
        })
    }

    /// The numbers of instances of a circuit in Table V.
    pub(super) fn instances(&self, circuit: &str) -> &[u64] {
        let columns = self.data.iter().find(|columns| columns.circuit == circuit);
        columns.map_or(&[], |columns| &columns.instances)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_columns_of_a_table_are_of_one_length_and_agree_with_table_2() {
        let paper = paper();
        for columns in &paper.timings {
            let length = columns.instances.len();
            for column in [
                &columns.base_ots,
                &columns.independent,
                &columns.dependent,
                &columns.online_latency,
                &columns.online_throughput,
            ] {
                assert_eq!(column.len(), length, "{} {}", columns.setting, columns.circuit);
            }
            assert!(
                paper
                    .settings
                    .iter()
                    .any(|setting| setting.name == columns.setting)
            );
        }
        let lan = paper.setting(&Link::default());
        let row = paper.timing(lan, "aes128", 128).unwrap();
        assert_eq!(
            (row.independent_ms, row.dependent_ms, row.online_throughput_ms),
            (14.85, 0.68, 0.09)
        );
        let row = paper.timing(lan, "sha256", 1).unwrap();
        assert_eq!(
            (row.independent_ms, row.dependent_ms, row.online_latency_ms),
            (478.54, 164.40, 11.19)
        );
        for circuit in ["aes128", "sha256"] {
            for &instances in paper.instances(circuit) {
                let data = paper.data(circuit, instances).unwrap();
                // Two labels of 16 bytes for each gate are soldered, at the least.
                assert!(data.dependent / instances as f64 > 200e3, "{circuit} {instances}");
                assert_eq!(data.alpha + 1, data.beta);
                assert!(paper.timing(lan, circuit, instances).is_some());
            }
        }
        assert!(paper.timing(lan, "aes128", 127).is_none() && paper.data("des", 1).is_none());
        assert_eq!(paper.commitments().len(), 7);
    }

    #[test]
    fn circuits_are_known_by_their_names() {
        for name in ["lib:aes128", "../x/aes_128.txt", "AES-non-expanded.txt"] {
            assert_eq!(circuit_of_paper(name), Some("aes128"), "{name}");
        }
        assert_eq!(circuit_of_paper("x/sha-256.txt"), Some("sha256"));
        assert_eq!(circuit_of_paper("lib:add64"), None);
    }
}
