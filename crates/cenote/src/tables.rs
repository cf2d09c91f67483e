//! Reports as short tables for people.

use std::fmt::Write as _;

use crate::Report;
use crate::text::{Table, amount, grouped, s};

impl Report {
    /// The costs as a short table.
    pub fn cost_table(&self) -> String {
        let mut table = Table::new("l");
        let d = &self.description;
        let work = d.computational_bits;
        let work = work.map_or_else(String::new, |bits| format!(", work 2^{bits:.0}"));
        table.row(&[
            &"protocol",
            &format_args!(
                "{}, error 2^{:.1}{work}, over {}",
                d.protocol.describe(),
                d.error_log2,
                d.transport
            ),
        ]);
        table.row(&[
            &"circuit",
            &format_args!(
                "{}: {} ANDs, depth {}, × {} lane{}",
                d.circuit.name,
                grouped(d.circuit.and_gates),
                grouped(d.circuit.and_depth),
                grouped(d.lanes),
                s(d.lanes)
            ),
        ]);
        let gates = format!("{} in {} rounds", grouped(self.and_gates), grouped(self.rounds));
        table.row(&[&"AND gates", &gates]);
        let phases: Vec<String> = self
            .seconds
            .iter()
            .filter(|&(phase, seconds)| phase != "total" && seconds >= 0.0005)
            .map(|(phase, seconds)| format!("{phase} {seconds:.3}"))
            .collect();
        let seconds = format!("{:.3} ({})", self.seconds.of("total"), phases.join(", "));
        table.row(&[&"seconds", &seconds]);
        let rate = format!("{} ANDs per second", grouped(self.and_gates_per_second as u64));
        table.row(&[&"rate", &rate]);
        let per_and = self
            .bits_per_and
            .map_or_else(String::new, |bits| format!(", {bits:.2} bits per AND"));
        let sent: Vec<String> = self.bytes_sent.iter().map(|&bytes| amount(bytes)).collect();
        table.row(&[&"sent", &format_args!("{} by party{per_and}", sent.join(", "))]);
        memory_row(&mut table, &self.peak_memory_bytes, self.memory_bound_bytes);
        table.to_string()
    }

    /// The outputs as a short table: at most `lanes` values of each.
    pub fn output_table(&self, lanes: usize) -> String {
        let mut table = String::new();
        for output in &self.outputs {
            let to: Vec<String> = output.to.iter().map(u8::to_string).collect();
            let to = format!("to party {}", to.join(", "));
            let Some(values) = &output.values else {
                let _ = writeln!(table, "{} ({to}): not for this party", output.name);
                continue;
            };
            match values.as_slice() {
                [value] => {
                    let _ = writeln!(table, "{} ({to}): {}", output.name, shown(value, output.width));
                }
                values => {
                    let _ = writeln!(
                        table,
                        "{} ({to}), {} lanes:",
                        output.name,
                        grouped(values.len() as u64)
                    );
                    for (lane, value) in values.iter().enumerate().take(lanes) {
                        let _ = writeln!(table, "  {lane:>6}  {}", shown(value, output.width));
                    }
                    if values.len() > lanes {
                        let more = grouped((values.len() - lanes) as u64);
                        let _ = writeln!(
                            table,
                            "  … {more} more: name a `file` in [[output]], or use --json"
                        );
                    }
                }
            }
        }
        table
    }
}

/// A value with its decimal form where that is short.
fn shown(value: &str, width: u32) -> String {
    match u64::from_str_radix(value.trim_start_matches("0x"), 16) {
        Ok(number) if width <= 64 => format!("{value}  {number}"),
        _ => value.to_owned(),
    }
}

/// Adds a row on the most memory of each process, beside the bound of one party, where the system tells.
pub fn memory_row(table: &mut Table, peaks: &[Option<u64>], bound: u64) {
    let peaks: Vec<String> = peaks.iter().flatten().map(|&bytes| amount(bytes)).collect();
    if !peaks.is_empty() {
        let (peaks, bound) = (peaks.join(", "), amount(bound));
        let text = format_args!("{peaks} (protocol at most {bound} per party)");
        table.row(&[&"peak memory", &text]);
    }
}
