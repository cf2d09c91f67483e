//! Functions that can be computed of secrets.

use cenote_tables::MAX_CHARS;

use super::pattern::{Wanted, wanted};
use super::{Call, Part};
use crate::expr::{Expr, Node};

/// How a function is computed of its first argument, which is secret; the others are public.
pub(crate) enum Circuit {
    OfDay,
    /// Whether a text is like a pattern.
    Like(Vec<Wanted>),
    /// The characters of a text from a place on, and no more than a number of them.
    Characters {
        skipped: u32,
        count: Option<u32>,
    },
}

impl Call {
    /// How it is computed secretly, if it can be.
    pub(crate) fn circuit(self, parts: &[Expr]) -> Option<Circuit> {
        let number = |at: usize| match parts.get(at)?.node {
            Node::Number(number) => Some(number),
            _ => None,
        };
        let text = |at: usize| {
            let text = String::from_utf8_lossy(parts.get(at)?.as_text()?).into_owned();
            Some(text.trim_end_matches('\0').to_owned())
        };
        // No text has more characters.
        let few = |number: i128| number.clamp(0, MAX_CHARS.into()) as u32;
        Some(match self {
            Call::Part(Part::IsoWeek | Part::IsoYear) => return None,
            Call::Part(_) | Call::Begin(_) => Circuit::OfDay,
            Call::Like {
                escape,
                any_case: false,
            } => Circuit::Like(wanted(&text(1)?, escape)),
            Call::Ends => {
                let end = text(1)?;
                Circuit::Like(
                    [Wanted::Anything]
                        .into_iter()
                        .chain(end.chars().map(Wanted::Exactly))
                        .collect(),
                )
            }
            Call::Slice => {
                let from = number(1)?;
                let first = from.max(1);
                let count = match parts.len() {
                    2 => None,
                    _ => Some(few(from.saturating_add(number(2)?.max(0)).saturating_sub(first))),
                };
                let skipped = few(first - 1);
                Circuit::Characters { skipped, count }
            }
            Call::Left if number(1)? >= 0 => Circuit::Characters {
                skipped: 0,
                count: Some(few(number(1)?)),
            },
            _ => return None,
        })
    }

    /// What has no circuit, in words, of a function by this name that has none.
    pub(crate) fn without_circuit(self, name: &str) -> String {
        match self {
            Call::Like { any_case: false, .. } | Call::Ends => {
                format!("{name} with a pattern that is not a constant text")
            }
            Call::Slice => format!("{name} with numbers that are not constants"),
            Call::Left => format!("{name} with a number that is not a constant from 0 on"),
            _ => name.into(),
        }
    }

    /// About how many gates a circuit for it has.
    pub(crate) fn gates(self, parts: &[Expr]) -> u64 {
        let bytes = u64::from(parts[0].kind.width() / 8);
        match self.circuit(parts) {
            Some(Circuit::Like(pattern)) => bytes * (10 + 5 * pattern.len() as u64),
            Some(Circuit::Characters { skipped, count }) => {
                let (skipped, count) = (u64::from(skipped), u64::from(count.unwrap_or(0)).min(bytes));
                bytes.min(3 * skipped) * 8 * bytes + 5 * (skipped.pow(2) + count.pow(2))
            }
            // Three divisions, of fewer and fewer bits.
            _ => 3000,
        }
    }
}
