//! A section's report as a short table for people.

use super::steady::{Mode, SteadyReport};
use cenote::tables::memory_row;
use cenote::text::{Table, grouped, s};
use cenote::{Link, Protocol, Verification};

impl SteadyReport {
    /// The report as a short table.
    pub fn table(&self) -> String {
        let mut table = Table::new("l");
        self.setting(&mut table);
        self.section(&mut table);
        if let (Some(ring), Some(share)) = (&self.ring, self.ring_share) {
            table.row(&[&"wire", &ring.line()]);
            let used = format!("the section used {:.1}% of what the wire carries", 100.0 * share);
            table.row(&[&"", &used]);
        }
        table.row(&[
            &"processors",
            &format_args!(
                "{:.1}% of {} cores, {:.2} ns of a core per {} and party",
                self.cpu.percent,
                self.machine.cores,
                self.cpu.ns_per_gate,
                self.each()
            ),
        ]);
        if let Some(latency) = self.latency_ms {
            let text = format!("{latency:.1} ms from a segment's inputs to its outputs, under this load");
            table.row(&[&"latency", &text]);
        }
        memory_row(&mut table, &self.peak_memory_bytes, self.memory_bound_bytes);
        table.row(&[&"machine", &self.machine.line()]);
        table.to_string()
    }

    /// What costs are stated for.
    fn each(&self) -> &'static str {
        match self.mode {
            Mode::Offline => "triple",
            Mode::Full | Mode::Online => "AND",
        }
    }

    /// What was measured.
    fn setting(&self, table: &mut Table) {
        let settings = &self.settings;
        let number = |name: &str| self.parameters[name].as_u64().unwrap_or(0);
        table.row(&[
            &"protocol",
            &format_args!(
                "{}, error 2^{:.1}, over {}, {} worker{}",
                Protocol::from(*settings).describe(),
                self.error_log2,
                self.transport,
                settings.workers,
                s(settings.workers),
            ),
        ]);
        if self.link != Link::default() {
            table.row(&[&"links", &self.link]);
        }
        let parameters = match settings.variant {
            Some(Verification::Proofs) => format!(
                "batches of {} gates, weights of {} bits",
                number("gates_per_batch"),
                number("weight_bits")
            ),
            _ => format!(
                "N = {}, B = {}, C = {}, L = {}",
                number("N"),
                number("B"),
                number("C"),
                number("L")
            ),
        };
        table.row(&[
            &"parameters",
            &format_args!("{parameters}: {:.3} bits per AND", self.declared_bits_per_and),
        ]);
        let phase = match self.mode {
            Mode::Full if settings.variant == Some(Verification::Proofs) => {
                "gates proved while others are evaluated"
            }
            Mode::Full => "triples made while gates are evaluated, as many as are used",
            Mode::Offline => "only triples made",
            Mode::Online => "only gates evaluated, with triples in stock",
        };
        table.row(&[&"mode", &format_args!("{}: {phase}", self.mode)]);
        if self.mode != Mode::Offline {
            table.row(&[
                &"circuit",
                &format_args!(
                    "{}: {} ANDs, depth {}; {} lanes opened together",
                    self.circuit.name,
                    grouped(self.circuit.and_gates),
                    grouped(self.circuit.and_depth),
                    grouped(self.segment_lanes)
                ),
            ]);
        }
    }

    /// What the section did, how fast, and what was sent for it.
    fn section(&self, table: &mut Table) {
        let (count, what, rate) = match self.and_gates_per_second {
            Some(rate) => (self.and_gates, "ANDs", rate),
            None => (self.triples, "triples", self.triples_per_second.unwrap_or(0.0)),
        };
        table.row(&[
            &"section",
            &format_args!(
                "{} {what}, {} batch{} per worker, in {:.3} s after {:.3} s of warm-up",
                grouped(count),
                self.batches,
                if self.batches == 1 { "" } else { "es" },
                self.seconds,
                self.warm_up_seconds
            ),
        ]);
        table.row(&[
            &"rate",
            &format_args!("{} {what} per second", grouped(rate as u64)),
        ]);
        let total = self
            .bits_per_and_total
            .map_or_else(String::new, |bits| format!(" ({bits:.3} with the warm-up)"));
        let each = self.each();
        table.row(&[
            &"sent",
            &format_args!(
                "{:.3} bits per {each}{total}, {:.3} Gbit/s by each party",
                self.bits_per_and, self.gbit_per_second
            ),
        ]);
    }
}
