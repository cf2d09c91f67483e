//! Why a set of parameters, or a request for one, is refused.

use std::fmt;
use std::ops::RangeInclusive;

use serde::Serialize;

/// No parameters are given out: which conditions fail, and what would satisfy them.
#[derive(Clone, Debug, PartialEq, Serialize, thiserror::Error)]
pub struct Refusal {
    /// What was asked for, in a few words ("on-demand", "pool").
    pub subject: String,
    /// Every condition that fails. Never empty.
    pub violated: Vec<Violation>,
    /// The nearest parameters that satisfy all conditions, where any exist.
    pub nearest: Vec<Setting>,
}

/// One condition that does not hold.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Violation {
    /// The condition with its source: "C >= 3 (Theorem 3.10)".
    pub condition: String,
    /// The offending values: "C = 2".
    pub found: String,
}

/// One parameter and its value.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Setting {
    /// The parameter's name as the papers write it, or the request's field.
    pub name: &'static str,
    /// Its value, in the parameter's own unit.
    pub value: f64,
}

impl Setting {
    /// A parameter of this name and value.
    #[must_use]
    pub fn new(name: &'static str, value: f64) -> Self {
        Self { name, value }
    }
}

impl Refusal {
    /// A refusal without reasons yet, of what is called `subject`.
    #[must_use]
    pub fn new(subject: impl Into<String>) -> Self {
        Self {
            subject: subject.into(),
            violated: Vec::new(),
            nearest: Vec::new(),
        }
    }

    /// Refuses a number of `subject`'s that is outside its range, and names the nearest that is not.
    ///
    /// # Errors
    /// That refusal.
    pub(crate) fn unless_within(
        subject: &str,
        name: &'static str,
        range: RangeInclusive<u64>,
        found: u64,
    ) -> Result<(), Self> {
        let (least, most) = (*range.start(), *range.end());
        if range.contains(&found) {
            return Ok(());
        }
        let nearest = found.clamp(least, most) as f64;
        Err(Self::new(subject)
            .because(
                format!("{least} <= {name} <= {most}"),
                format!("{name} = {found}"),
            )
            .nearest(vec![Setting::new(name, nearest)]))
    }

    /// Adds a condition that fails.
    #[must_use]
    pub fn because(mut self, condition: impl Into<String>, found: impl Into<String>) -> Self {
        self.violated.push(Violation {
            condition: condition.into(),
            found: found.into(),
        });
        self
    }

    /// Sets the nearest parameters.
    #[must_use]
    pub fn nearest(mut self, settings: Vec<Setting>) -> Self {
        self.nearest = settings;
        self
    }

    /// The nearest satisfying value of the parameter called `name`, if it is among them.
    #[must_use]
    pub fn nearest_value(&self, name: &str) -> Option<f64> {
        self.nearest.iter().find(|s| s.name == name).map(|s| s.value)
    }
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} = {}", self.name, self.value)
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.subject)?;
        for (i, v) in self.violated.iter().enumerate() {
            let separator = if i == 0 { "" } else { "; " };
            write!(f, "{separator}{} does not hold ({})", v.condition, v.found)?;
        }
        match self.nearest.as_slice() {
            [] => f.write_str("; no parameters satisfy it"),
            settings => {
                let list: Vec<String> = settings.iter().map(Setting::to_string).collect();
                write!(f, "; nearest: {}", list.join(", "))
            }
        }
    }
}
