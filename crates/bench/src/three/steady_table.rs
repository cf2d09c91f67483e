//! A section's report as a short table for people.

use super::steady::{Mode, SteadyReport};
use cenote::tables::{grouped, in_rows, memory_row};

impl SteadyReport {
    /// The report as a short table.
    pub fn table(&self) -> String {
        let mut rows: Vec<(&str, String)> = Vec::new();
        let settings = &self.settings;
        let number = |name: &str| self.parameters[name].as_u64().unwrap_or(0);
        rows.push((
            "protocol",
            format!(
                "{}, {}, views by {}, error 2^{:.1}, over {}, {} worker{}",
                self.protocol,
                settings.variant,
                settings.view_check,
                self.error_log2,
                self.transport,
                settings.workers,
                if settings.workers == 1 { "" } else { "s" },
            ),
        ));
        rows.push((
            "parameters",
            format!(
                "N = {}, B = {}, C = {}, L = {}: {:.3} bits per AND",
                number("N"),
                number("B"),
                number("C"),
                number("L"),
                self.declared_bits_per_and
            ),
        ));
        let phase = match self.mode {
            Mode::Full => "triples made while gates are evaluated, as many as are used",
            Mode::Offline => "only triples made",
            Mode::Online => "only gates evaluated, with triples in stock",
        };
        rows.push(("mode", format!("{}: {phase}", self.mode)));
        if self.mode != Mode::Offline {
            rows.push((
                "circuit",
                format!(
                    "{}: {} ANDs, depth {}; {} lanes opened together",
                    self.circuit.name,
                    grouped(self.circuit.and_gates),
                    grouped(self.circuit.and_depth),
                    grouped(self.segment_lanes)
                ),
            ));
        }
        let (count, what, rate) = match self.and_gates_per_second {
            Some(rate) => (self.and_gates, "ANDs", rate),
            None => (self.triples, "triples", self.triples_per_second.unwrap_or(0.0)),
        };
        rows.push((
            "section",
            format!(
                "{} {what}, {} batch{} per worker, in {:.3} s after {:.3} s of warm-up",
                grouped(count),
                self.batches,
                if self.batches == 1 { "" } else { "es" },
                self.seconds,
                self.warm_up_seconds
            ),
        ));
        rows.push(("rate", format!("{} {what} per second", grouped(rate as u64))));
        let total = self
            .bits_per_and_total
            .map_or_else(String::new, |bits| format!(" ({bits:.3} with the warm-up)"));
        let each = if self.mode == Mode::Offline {
            "triple"
        } else {
            "AND"
        };
        rows.push((
            "sent",
            format!(
                "{:.3} bits per {each}{total}, {:.3} Gbit/s by each party",
                self.bits_per_and, self.gbit_per_second
            ),
        ));
        if let (Some(ring), Some(share)) = (&self.ring, self.ring_share) {
            rows.push(("wire", ring.line()));
            rows.push((
                "",
                format!("the section used {:.1}% of what the wire carries", 100.0 * share),
            ));
        }
        rows.push((
            "processors",
            format!(
                "{:.1}% of {} cores, {:.2} ns of a core per {each} and party",
                self.cpu.percent, self.machine.cores, self.cpu.ns_per_gate
            ),
        ));
        if let Some(latency) = self.latency_ms {
            rows.push((
                "latency",
                format!("{latency:.1} ms from a segment's inputs to its outputs, under this load"),
            ));
        }
        rows.extend(memory_row(&self.peak_memory_bytes, self.memory_bound_bytes));
        rows.push(("machine", self.machine.line()));
        in_rows(&rows)
    }
}
