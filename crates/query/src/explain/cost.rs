//! What steps take, in words.

use cenote_program::StepTally;

/// What a step takes, and which part of `all` ANDs.
pub fn share(takes: &StepTally, all: u64) -> String {
    match takes.and_gates {
        0 => "no ANDs".into(),
        own => {
            let percent = 100.0 * own as f64 / all.max(own) as f64;
            let percent = match percent {
                ..1.0 => "less than 1".into(),
                percent => format!("{percent:.0}"),
            };
            format!("{} ANDs, {percent} %", rounded(own))
        }
    }
}

/// A number with three digits that count.
pub(crate) fn rounded(number: u64) -> String {
    let units = [(1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")];
    let number_of = |unit: f64| number as f64 / unit;
    // 999,500 is 1.00 M.
    let found = units.into_iter().find(|(unit, _)| number_of(*unit) >= 0.9995);
    match found.map(|(unit, name)| (number_of(unit), name)) {
        Some((many, name)) if number >= 1000 => {
            let places = match many {
                ..9.995 => 2,
                ..99.95 => 1,
                _ => 0,
            };
            format!("{many:.places$} {name}")
        }
        _ => number.to_string(),
    }
}
