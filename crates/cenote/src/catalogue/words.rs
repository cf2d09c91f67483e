//! Published tables in words, and as jobs declare them.

use std::fmt::Write as _;

use super::published::{Limits, PublishedTable, TableRule};

impl Limits {
    /// What may be asked, in words.
    pub fn words(&self) -> Vec<String> {
        match self {
            Limits::Free => vec!["its owner has no rules for tables, and decides on each job".into()],
            Limits::Closed => {
                vec!["nothing may be asked of it: its owner has rules, and none for this table".into()]
            }
            Limits::Rule(rule) => rule.words(),
        }
    }

    /// The least `min_group` of a job.
    pub fn min_group(&self) -> u64 {
        match self {
            Limits::Rule(rule) => rule.min_group,
            Limits::Free | Limits::Closed => 0,
        }
    }
}

impl TableRule {
    fn words(&self) -> Vec<String> {
        let mut words = Vec::new();
        if self.min_group > 0 {
            words.push(match self.min_group {
                1 => "a job must set min_group to at least 1".to_owned(),
                least => format!("an answer may not single out fewer than {least} rows: a job must set min_group to at least {least}"),
            });
        }
        if self.aggregates_only {
            words.push("an answer may tell of groups only, not of single rows".into());
        }
        if !self.hidden.is_empty() {
            words.push(format!(
                "an answer may have only sums and counts of {}",
                self.hidden.join(", ")
            ));
        }
        if let Some(most) = self.answers_per_day {
            words.push(match most {
                1 => "it may be asked once a day, by all parties together".into(),
                most => format!("it may be asked {most} times a day, by all parties together"),
            });
        }
        if words.is_empty() {
            words.push("its owner's rules set no limits".into());
        }
        words
    }
}

impl PublishedTable {
    /// What is promised of a column, in words.
    pub fn promises_of(&self, column: &str) -> Vec<String> {
        let mut words = Vec::new();
        if self.unique.iter().any(|columns| *columns == [column]) {
            words.push("unique".to_owned());
        }
        if let Some(most) = self.at_most.get(column) {
            words.push(format!("each value at most {most} times"));
        }
        if let Some(most) = self.distinct.get(column) {
            words.push(format!("at most {most} different values"));
        }
        if let Some(end) = self.below.get(column) {
            words.push(format!("from 0 to less than {end}"));
        }
        if let Some(values) = self.values.get(column) {
            let values: Vec<String> = values.iter().map(|value| format!("{value:?}")).collect();
            words.push(format!("only {}", values.join(", ")));
        }
        words
    }

    /// What is promised of several columns together, and of all rows, in words.
    pub fn promises(&self) -> Vec<String> {
        let together = self.unique.iter().filter(|columns| columns.len() > 1);
        let mut words: Vec<String> = together
            .map(|columns| format!("{} are unique together", columns.join(", ")))
            .collect();
        if let Some(other) = &self.same_rows_as {
            words.push(format!("the same keys as {other}"));
        }
        words
    }

    /// It as a job declares it that calls it `name`, and `same_rows` the table that has the same keys.
    pub fn declaration(&self, name: &str, party: u8, same_rows: Option<&str>) -> String {
        let mut text = format!(
            "[[table]]\nname = {}\nparty = {party}\ncolumns = {{ ",
            quoted(name)
        );
        let columns = self.columns.iter();
        let columns: Vec<String> = columns
            .map(|(name, kind)| format!("{} = {}", key(name), quoted(kind)))
            .collect();
        let _ = writeln!(text, "{} }}\nmax_rows = {}", columns.join(", "), self.max_rows);
        if !self.unique.is_empty() {
            let unique = self.unique.iter().map(|columns| match &columns[..] {
                [column] => quoted(column),
                columns => list(columns),
            });
            let _ = writeln!(text, "unique = [{}]", unique.collect::<Vec<_>>().join(", "));
        }
        let counts = [
            ("at_most", &self.at_most),
            ("distinct", &self.distinct),
            ("below", &self.below),
        ];
        for (promise, counts) in counts {
            table(
                &mut text,
                promise,
                counts.iter().map(|(name, count)| (name, count.to_string())),
            );
        }
        table(
            &mut text,
            "values",
            self.values.iter().map(|(name, values)| (name, list(values))),
        );
        if let Some(other) = same_rows {
            let _ = writeln!(text, "same_rows_as = {}", quoted(other));
        }
        text
    }
}

fn table<'a>(text: &mut String, promise: &str, entries: impl Iterator<Item = (&'a String, String)>) {
    let entries: Vec<String> = entries
        .map(|(name, value)| format!("{} = {value}", key(name)))
        .collect();
    if !entries.is_empty() {
        let _ = writeln!(text, "{promise} = {{ {} }}", entries.join(", "));
    }
}

fn list(texts: &[String]) -> String {
    let texts: Vec<String> = texts.iter().map(|text| quoted(text)).collect();
    format!("[{}]", texts.join(", "))
}

/// A text in TOML, on one line.
pub(super) fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for character in text.chars() {
        match character {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            character if character.is_control() => {
                let _ = write!(quoted, "\\u{:04x}", u32::from(character));
            }
            character => quoted.push(character),
        }
    }
    quoted + "\""
}

/// A key in TOML.
fn key(name: &str) -> String {
    let is_bare = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    match name.bytes().all(is_bare) && !name.is_empty() {
        true => name.to_owned(),
        false => quoted(name),
    }
}
