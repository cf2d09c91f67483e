//! Parameters of a query, and the calls that give their values.

use std::collections::BTreeMap;

use cenote_query::{Parameter, Schema};
use cenote_tables::Type;
use toml::Spanned;

use super::file::QueryJob;
use crate::settings_file::SettingsFile;
use crate::standing::{Calls, StandingEntry};
use crate::{Error, Result};

/// The sample of a parameter's values by which a query is planned if it must be one.
pub(super) const GREATEST: usize = 2;

/// Whence the values of a query's parameters are.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Values<'a> {
    /// They are these.
    Given(&'a BTreeMap<String, String>),
    /// One of the [samples](Parameter::samples).
    Sample(usize),
}

impl QueryJob {
    /// How often it may be called, and by whom, if it stands.
    pub fn calls(&self) -> Option<&Calls> {
        self.calls.as_ref()
    }

    /// The parameters, with the values that this is planned with.
    pub fn parameters(&self) -> &[Parameter] {
        &self.query().schema().parameters
    }

    /// The values of a call as their types are written.
    ///
    /// # Errors
    /// [`Error::Usage`]: one is missing, unknown, or not of its type. Values are not quoted.
    pub fn values<'a>(
        &self,
        given: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<BTreeMap<String, String>> {
        let given: BTreeMap<&str, &str> = given.into_iter().collect();
        let unknown = given
            .keys()
            .find(|name| self.parameters().iter().all(|declared| declared.name() != **name));
        if let Some(name) = unknown {
            return Err(Error::Usage(format!("the query has no parameter {name:?}")));
        }
        let value = |declared: &Parameter| {
            let name = declared.name();
            let text = given
                .get(name)
                .ok_or_else(|| Error::Usage(format!("the value of parameter {name:?} is missing")))?;
            let parameter = Parameter::new(name, declared.kind(), text).map_err(Error::Usage)?;
            Ok((name.to_owned(), parameter.value().to_owned()))
        };
        self.parameters().iter().map(value).collect()
    }
}

/// Sees that a query which is proposed stands if it has parameters, and is not cut if it stands.
pub(super) fn check_proposed(
    source: &SettingsFile,
    standing: Option<&Spanned<StandingEntry>>,
    parameters: &BTreeMap<Spanned<String>, Spanned<String>>,
    is_cut: bool,
) -> Result<()> {
    match standing {
        Some(standing) if is_cut => Err(source.fault(
            standing.span(),
            "a query that stands is not cut into shards; leave `shards` out, or the table `standing`",
        )),
        None if !parameters.is_empty() => Err(source.fault_in_general(
            "a query that is proposed with parameters stands, and each call gives their values: add [standing] with `calls` and `callers`, or write the values \
             in the query",
        )),
        _ => Ok(()),
    }
}

/// The parameters that a job declares, with their values.
pub(super) fn parameters(
    source: &SettingsFile,
    declared: BTreeMap<Spanned<String>, Spanned<String>>,
    values: Values<'_>,
) -> Result<Vec<Parameter>> {
    if let Values::Given(values) = values
        && let Some(name) = values
            .keys()
            .find(|name| declared.keys().all(|declared| declared.get_ref() != *name))
    {
        return Err(source.fault_in_general(format!(
            "a value is given for parameter {name}, which [parameters] does not declare"
        )));
    }
    let parameter = |(name, kind): (Spanned<String>, Spanned<String>)| {
        let (at, name) = (name.span(), name.into_inner());
        let fault = |what: String| source.fault(at.clone(), what);
        let text = kind.get_ref().to_ascii_lowercase();
        let text = text.trim().strip_suffix(" not null").unwrap_or(&text);
        let read: Type = text
            .parse()
            .map_err(|what| source.fault(kind.span(), format!("parameter {name}: {what}")))?;
        match values {
            Values::Sample(sample) => Parameter::samples(&name, read).map(|samples| samples[sample].clone()),
            Values::Given(values) => match values.get(&name) {
                Some(value) => Parameter::new(&name, read, value),
                None => Err(format!(
                    "the query has a parameter {name}: give its value with --parameter {name}=VALUE"
                )),
            },
        }
        .map_err(fault)
    };
    declared.into_iter().map(parameter).collect()
}

/// How often a query may be called, and by whom: by one party, whose values all learn.
pub(super) fn calls(
    source: &SettingsFile,
    standing: &Spanned<StandingEntry>,
    schema: &Schema,
) -> Result<Calls> {
    let to: Vec<u8> = schema.answer.to.iter().map(|party| party.0).collect();
    let usual = if to.len() == 1 { to } else { Vec::new() };
    let unknown = "say which party calls the query: add `callers = [N]`";
    let calls = standing
        .get_ref()
        .calls((usual, unknown), schema.parties, source)?;
    match calls.callers.len() {
        1 => Ok(calls),
        _ => Err(source.fault(
            standing.span(),
            "a query that stands has one caller, which gives the values of its parameters: write `callers = [N]`",
        )),
    }
}
