//! Numbers and tables as people write and read them.

use std::fmt::{self, Display};
use std::io::Write;

/// Reads a whole number: `1048576`, `2^20`, `35M` (thousands: K, M, G, T) or `512Mi` (1024s: Ki, Mi, Gi, Ti).
///
/// # Errors
/// What to write instead.
pub fn quantity(text: &str) -> Result<u64, String> {
    let refusal =
        || "give a whole number, such as 1048576, 2^20, 35M (millions) or 512Mi (times 1024^2)".to_owned();
    if let Some((base, exponent)) = text.split_once('^') {
        let base: u64 = base.parse().map_err(|_| refusal())?;
        let power = exponent.parse().ok().and_then(|e| base.checked_pow(e));
        return power.ok_or_else(refusal);
    }
    let digits = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let unit: u64 = match unit {
        "" => 1,
        "K" | "k" => 1_000,
        "M" => 1_000_000,
        "G" => 1_000_000_000,
        "T" => 1_000_000_000_000,
        "Ki" => 1 << 10,
        "Mi" => 1 << 20,
        "Gi" => 1 << 30,
        "Ti" => 1 << 40,
        _ => return Err(refusal()),
    };
    if let Ok(whole) = number.parse::<u64>() {
        return whole.checked_mul(unit).ok_or_else(refusal);
    }
    // 1.5G
    let value = number.parse::<f64>().map_err(|_| refusal())? * unit as f64;
    if value.fract() == 0.0 && value < (1u64 << 53) as f64 {
        Ok(value as u64)
    } else {
        Err(refusal())
    }
}

/// Like [`quantity`], of something of which there is at least one.
///
/// # Errors
/// What to write instead.
pub fn count(text: &str) -> Result<u64, String> {
    match quantity(text)? {
        0 => Err("give at least 1".into()),
        number => Ok(number),
    }
}

/// Writes a line on standard error in one piece, so that it is not mixed with those of other processes there. Nobody reading it is no
/// failure.
pub fn tell(line: impl Display) {
    let line = format!("{line}\n");
    let _ = std::io::stderr().write_all(line.as_bytes());
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

/// Bytes as people read them: `12.3 kB`.
pub fn amount(bytes: u64) -> String {
    let units = [(1_000_000_000, "GB"), (1_000_000, "MB"), (1000, "kB")];
    match units.into_iter().find(|(unit, _)| bytes >= *unit) {
        Some((unit, name)) => format!("{:.1} {name}", bytes as f64 / unit as f64),
        None => format!("{bytes} byte{}", s(bytes)),
    }
}

/// Bytes in the largest unit that leaves a number of at least 1.
pub fn bytes(number: f64) -> String {
    let units = [(1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB")];
    match units.into_iter().find(|(unit, _)| number >= *unit) {
        Some((unit, name)) => format!("{:.2} {name}", number / unit),
        None => format!("{number:.0} bytes"),
    }
}

/// The ending of a noun that `count` stands before.
pub fn s(count: impl Into<u64>) -> &'static str {
    if count.into() == 1 { "" } else { "s" }
}

/// Lines of cells, in columns two spaces apart.
#[derive(Clone, Debug)]
pub struct Table {
    columns: &'static str,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// Without rows. `columns` has a letter for each column: `l` if its cells stand to the left, `r` to the right. Columns
    /// beyond the last letter are as the last.
    pub fn new(columns: &'static str) -> Self {
        let rows = Vec::new();
        Table { columns, rows }
    }

    /// Adds a row.
    pub fn row(&mut self, cells: &[&dyn Display]) {
        self.rows.push(cells.iter().map(ToString::to_string).collect());
    }
}

impl Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let width = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(column));
            cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..columns).map(width).collect();
        let letters = self.columns.chars();
        for row in &self.rows {
            let mut line = String::new();
            let sides = letters.clone().chain(letters.clone().last().into_iter().cycle());
            for ((cell, &width), side) in row.iter().zip(&widths).zip(sides) {
                let cell = match side {
                    'l' => format!("{cell:<width$}  "),
                    _ => format!("{cell:>width$}  "),
                };
                line.push_str(&cell);
            }
            writeln!(f, "{}", line.trim_end())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_with_units_and_powers() {
        for (text, value) in [
            ("0", 0),
            ("1048576", 1 << 20),
            ("2^20", 1 << 20),
            ("35M", 35_000_000),
            ("1.5G", 1_500_000_000),
            ("10k", 10_000),
            ("512Mi", 512 << 20),
            ("18446744073709551615", u64::MAX),
        ] {
            assert_eq!(quantity(text), Ok(value), "{text}");
        }
        for text in [
            "",
            "-1",
            "1.5",
            "2^64",
            "2^x",
            "1e3",
            "M",
            "1MM",
            "1.2.3K",
            "99999999T",
            "NaN",
        ] {
            assert!(
                quantity(text).unwrap_err().starts_with("give a whole number"),
                "{text}"
            );
        }
        assert_eq!(
            (count("2K"), count("0")),
            (Ok(2000), Err("give at least 1".into()))
        );
    }

    #[test]
    fn numbers_are_printed_for_people() {
        let thousands = [0, 999, 1000, 1_234_567].map(grouped);
        assert_eq!(thousands, ["0", "999", "1,000", "1,234,567"]);
        assert_eq!([999.0, 1.25e9].map(bytes), ["999 bytes", "1.25 GB"]);
        assert_eq!(megabytes(1_250_000), "1.2");
        let amounts = [0, 1, 999, 12_345, 830_000_000, 2_540_000_000].map(amount);
        let expected = ["0 bytes", "1 byte", "999 bytes", "12.3 kB", "830.0 MB", "2.5 GB"];
        assert_eq!(amounts, expected);
        assert_eq!([0u64, 1, 2].map(s), ["s", "", "s"]);
    }

    #[test]
    fn cells_stand_in_columns() {
        let mut table = Table::new("lr");
        table.row(&[&"", &"bits", &"β"]);
        table.row(&[&"name", &7, &"10"]);
        table.row(&[&"a longer name"]);
        let lines = [
            "               bits   β",
            "name              7  10",
            "a longer name",
        ];
        assert_eq!(table.to_string(), lines.join("\n") + "\n");
        assert_eq!(Table::new("l").to_string(), "");
    }
}
