//! The queries, and how many rows their answers have.

use serde::{Serialize, Serializer};

use super::tables::Written;

/// The texts, which differ from those of the specification where SQL allows several ways to write a thing.
const TEXTS: [&str; 22] = [
    include_str!("../../../query/tests/tpch/queries/q1.sql"),
    include_str!("../../../query/tests/tpch/queries/q2.sql"),
    include_str!("../../../query/tests/tpch/queries/q3.sql"),
    include_str!("../../../query/tests/tpch/queries/q4.sql"),
    include_str!("../../../query/tests/tpch/queries/q5.sql"),
    include_str!("../../../query/tests/tpch/queries/q6.sql"),
    include_str!("../../../query/tests/tpch/queries/q7.sql"),
    include_str!("../../../query/tests/tpch/queries/q8.sql"),
    include_str!("../../../query/tests/tpch/queries/q9.sql"),
    include_str!("../../../query/tests/tpch/queries/q10.sql"),
    include_str!("../../../query/tests/tpch/queries/q11.sql"),
    include_str!("../../../query/tests/tpch/queries/q12.sql"),
    include_str!("../../../query/tests/tpch/queries/q13.sql"),
    include_str!("../../../query/tests/tpch/queries/q14.sql"),
    include_str!("../../../query/tests/tpch/queries/q15.sql"),
    include_str!("../../../query/tests/tpch/queries/q16.sql"),
    include_str!("../../../query/tests/tpch/queries/q17.sql"),
    include_str!("../../../query/tests/tpch/queries/q18.sql"),
    include_str!("../../../query/tests/tpch/queries/q19.sql"),
    include_str!("../../../query/tests/tpch/queries/q20.sql"),
    include_str!("../../../query/tests/tpch/queries/q21.sql"),
    include_str!("../../../query/tests/tpch/queries/q22.sql"),
];

/// The share of the value of all stock in the text of the eleventh query, which is of the full size.
const FRACTION: (&str, f64) = ("0.0001000000", 0.0001);

/// A query, by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asked(u8);

impl Serialize for Asked {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.name())
    }
}

impl Asked {
    /// All of them.
    pub fn all() -> impl Iterator<Item = Asked> {
        (1..=TEXTS.len() as u8).map(Asked)
    }

    /// The query of this number, if there is one.
    pub fn numbered(number: u8) -> Option<Asked> {
        Asked::all().find(|asked| asked.0 == number)
    }

    /// Its name.
    pub fn name(self) -> String {
        format!("q{}", self.0)
    }

    /// Its text, for tables at `scale`.
    pub(super) fn text(self, scale: f64) -> String {
        let (text, share) = FRACTION;
        TEXTS[usize::from(self.0) - 1].replace(text, &format!("{:.10}", share / scale))
    }

    /// The most rows that its answer has: what its text and the values of TPC-H allow.
    pub(super) fn answer_rows(self, written: &Written) -> usize {
        match self.0 {
            1 => 6,
            3 => 10,
            4 => 5,
            5 => 25,
            6 | 14 | 17 | 19 => 1,
            7 => 4,
            8 | 12 => 2,
            9 => 175,
            10 => 20,
            11 => written.rows("part"),
            13 => 64,
            15 | 20 => written.rows("supplier"),
            16 => written.rows("partsupp"),
            22 => 7,
            _ => 100,
        }
    }
}
