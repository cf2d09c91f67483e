//! Reports as short tables for people, and what such tables are made of.

use std::fmt::Write as _;

use crate::Report;

impl Report {
    /// The costs as a short table.
    pub fn cost_table(&self) -> String {
        let mut rows: Vec<(&str, String)> = Vec::new();
        let d = &self.description;
        rows.push((
            "protocol",
            format!(
                "{}, error 2^{:.1}, over {}",
                d.protocol.describe(),
                d.error_log2,
                d.transport
            ),
        ));
        rows.push((
            "circuit",
            format!(
                "{}: {} ANDs, depth {}, × {} lane{}",
                d.circuit.name,
                grouped(d.circuit.and_gates),
                grouped(d.circuit.and_depth),
                grouped(d.lanes),
                if d.lanes == 1 { "" } else { "s" }
            ),
        ));
        rows.push((
            "AND gates",
            format!("{} in {} rounds", grouped(self.and_gates), grouped(self.rounds)),
        ));
        let phases: Vec<String> = self
            .seconds
            .iter()
            .filter(|&(phase, seconds)| phase != "total" && seconds >= 0.0005)
            .map(|(phase, seconds)| format!("{phase} {seconds:.3}"))
            .collect();
        rows.push((
            "seconds",
            format!("{:.3} ({})", self.seconds.of("total"), phases.join(", ")),
        ));
        rows.push((
            "rate",
            format!("{} ANDs per second", grouped(self.and_gates_per_second as u64)),
        ));
        let sent: Vec<String> = self.bytes_sent.iter().map(|&bytes| megabytes(bytes)).collect();
        let per_and = self
            .bits_per_and
            .map_or_else(String::new, |bits| format!(", {bits:.2} bits per AND"));
        rows.push(("sent", format!("{} MB by party{per_and}", sent.join(", "))));
        rows.extend(memory_row(&self.peak_memory_bytes, self.memory_bound_bytes));
        in_rows(&rows)
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

/// The row on the most memory of each process, beside the bound of one party, where the system tells.
pub fn memory_row(peaks: &[Option<u64>], bound: u64) -> Option<(&'static str, String)> {
    let peaks: Vec<String> = peaks.iter().flatten().map(|&bytes| megabytes(bytes)).collect();
    let text = || {
        format!(
            "{} MB (protocol at most {} per party)",
            peaks.join(", "),
            megabytes(bound)
        )
    };
    (!peaks.is_empty()).then(|| ("peak memory", text()))
}

/// Names and texts, one pair a line.
pub fn in_rows(rows: &[(&str, String)]) -> String {
    let mut table = String::new();
    for (name, text) in rows {
        writeln!(table, "{name:<12} {text}").expect("writing to a string succeeds");
    }
    table
}

/// A number with its thousands apart.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Bytes as megabytes.
pub fn megabytes(bytes: u64) -> String {
    format!("{:.1}", bytes as f64 / 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_set_apart() {
        assert_eq!(grouped(0), "0");
        assert_eq!(grouped(999), "999");
        assert_eq!(grouped(1000), "1,000");
        assert_eq!(grouped(1_234_567), "1,234,567");
    }
}
