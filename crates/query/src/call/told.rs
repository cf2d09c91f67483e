//! Functions in the words of SQL.

use super::{Call, Part, Period};

impl Call {
    /// The function of parts that are told already.
    pub(crate) fn told(self, parts: &[String]) -> String {
        let part = |at: usize| parts.get(at).map_or("", String::as_str);
        let named = |name: &str| format!("{name}({})", parts.join(", "));
        match self {
            Call::Part(of) => format!("EXTRACT({} FROM {})", of.name(), part(0)),
            Call::Begin(period) => format!("DATE_TRUNC('{}', {})", period.name(), part(0)),
            Call::Months => format!("({} + interval '{} months')", part(0), part(1)),
            Call::Like { escape, any_case } => {
                let name = if any_case { "ILIKE" } else { "LIKE" };
                let escape = escape.map_or_else(String::new, |escape| format!(" ESCAPE '{escape}'"));
                format!("({} {name} {}{escape})", part(0), part(1))
            }
            Call::Join => format!("({} || {})", part(0), part(1)),
            Call::Position => format!("POSITION({} IN {})", part(0), part(1)),
            Call::Write => format!("CAST({} AS varchar)", part(0)),
            Call::Read(kind) => format!("CAST({} AS {kind})", part(0)),
            Call::Trim { start, end } => named(match (start, end) {
                (true, false) => "LTRIM",
                (false, true) => "RTRIM",
                _ => "TRIM",
            }),
            Call::Pad { start } => named(if start { "LPAD" } else { "RPAD" }),
            Call::Upper => named("UPPER"),
            Call::Lower => named("LOWER"),
            Call::Reverse => named("REVERSE"),
            Call::Length => named("LENGTH"),
            Call::Bytes => named("OCTET_LENGTH"),
            Call::Slice => named("SUBSTRING"),
            Call::Left => named("LEFT"),
            Call::Right => named("RIGHT"),
            Call::Replace => named("REPLACE"),
            Call::Begins => named("STARTS_WITH"),
            Call::Ends => named("ENDS_WITH"),
        }
    }
}

impl Part {
    fn name(self) -> &'static str {
        match self {
            Part::Year => "YEAR",
            Part::Quarter => "QUARTER",
            Part::Month => "MONTH",
            Part::Day => "DAY",
            Part::DayOfYear => "DOY",
            Part::IsoWeek => "WEEK",
            Part::IsoYear => "ISOYEAR",
        }
    }
}

impl Period {
    fn name(self) -> &'static str {
        match self {
            Period::Month => "month",
            Period::Quarter => "quarter",
            Period::Year => "year",
        }
    }
}
