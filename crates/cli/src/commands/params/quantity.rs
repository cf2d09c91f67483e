//! Numbers on the command line and in tables.

/// Reads a whole number: `1048576`, `2^20`, `35M` (thousands: K, M, G, T) or `512Mi` (1024s: Ki, Mi, Gi, Ti).
pub(crate) fn quantity(text: &str) -> Result<u64, String> {
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

/// A number with its thousands apart.
pub(super) fn grouped(number: u64) -> String {
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

/// Bytes in the largest unit that leaves a number of at least 1.
pub(super) fn bytes(number: f64) -> String {
    let units = [(1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB")];
    match units.into_iter().find(|(unit, _)| number >= *unit) {
        Some((unit, name)) => format!("{:.2} {name}", number / unit),
        None => format!("{number:.0} bytes"),
    }
}

/// A probability as a percentage.
pub(super) fn percent(probability: f64) -> String {
    format!("{:.3}%", 100.0 * probability)
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
            assert!(quantity(text).is_err(), "{text}");
        }
    }

    #[test]
    fn numbers_are_printed_for_people() {
        assert_eq!(
            (grouped(999).as_str(), grouped(1_234_567).as_str()),
            ("999", "1,234,567")
        );
        assert_eq!(
            (bytes(999.0), bytes(1.25e9)),
            ("999 bytes".into(), "1.25 GB".into())
        );
        assert_eq!(percent(0.12345), "12.345%");
    }
}
