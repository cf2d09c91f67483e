//! A job file as it is written.

use std::fmt;
use std::path::PathBuf;

use cenote_circuit::Value;
use serde::{Deserialize, Deserializer};
use toml::Spanned;

use crate::Result;
use crate::keeping::{Keep, Take};
use crate::settings_file::SettingsFile;
use crate::standing::StandingEntry;

/// Days that a value is kept for that does not say.
const KEPT_DAYS: u16 = 30;
/// Days that a value is kept for, at most.
const MOST_DAYS: u16 = 366;
/// Bytes of the name of a kept value, at most.
const MOST_NAME: usize = 64;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct JobFile {
    pub(super) protocol: Option<Spanned<String>>,
    pub(super) circuit: Spanned<String>,
    pub(super) lanes: Option<Spanned<u64>>,
    pub(super) shards: Option<Spanned<u32>>,
    pub(super) attempts: Option<Spanned<u32>>,
    pub(super) standing: Option<Spanned<StandingEntry>>,
    #[serde(default, rename = "input")]
    pub(super) inputs: Vec<Spanned<InputEntry>>,
    #[serde(default, rename = "output")]
    pub(super) outputs: Vec<Spanned<OutputEntry>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct InputEntry {
    pub(super) party: Option<Spanned<u8>>,
    pub(super) hex: Option<Spanned<Secret>>,
    pub(super) file: Option<PathBuf>,
    pub(super) order: Option<Spanned<String>>,
    pub(super) kept: Option<Spanned<String>>,
    pub(super) of: Option<Spanned<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct OutputEntry {
    pub(super) to: Option<Spanned<Vec<Spanned<u8>>>>,
    pub(super) order: Option<Spanned<String>>,
    pub(super) file: Option<Spanned<PathBuf>>,
    pub(super) keep: Option<Spanned<String>>,
    pub(super) days: Option<Spanned<u16>>,
}

impl InputEntry {
    /// Whether the parties hold the value together.
    pub(super) fn is_kept(&self) -> bool {
        self.kept.is_some()
    }

    /// The kept value that the input `value` is, if it is one.
    pub(super) fn take(&self, value: &Value, source: &SettingsFile) -> Result<Option<Take>> {
        let Some(name) = &self.kept else {
            return match &self.of {
                Some(of) => Err(source.fault(
                    of.span(),
                    "`of` says which job kept a value; write `kept = \"NAME\"` too",
                )),
                None => Ok(None),
            };
        };
        if self.party.is_some() || self.hex.is_some() || self.file.is_some() {
            let what = "a value that is kept comes from no party; leave `party`, `hex` and `file` out";
            return Err(source.fault(name.span(), what));
        }
        Ok(Some(Take {
            input: value.name.clone(),
            name: kept_name(source, name)?,
            of: self.of.as_ref().map(|of| of.get_ref().clone()),
            width: value.width,
        }))
    }
}

impl OutputEntry {
    /// The name and time under which the output `value` is kept, if it is.
    pub(super) fn keep(&self, value: &Value, source: &SettingsFile) -> Result<Option<Keep>> {
        let Some(name) = &self.keep else {
            return match &self.days {
                Some(days) => Err(source.fault(
                    days.span(),
                    "`days` is for an output that is kept; write `keep = \"NAME\"` too",
                )),
                None => Ok(None),
            };
        };
        if self.to.is_some() || self.file.is_some() {
            let what = "an output is opened or kept, not both; leave `to` and `file` out";
            return Err(source.fault(name.span(), what));
        }
        let days = self.days.as_ref().map_or(KEPT_DAYS, |days| *days.get_ref());
        if !(1..=MOST_DAYS).contains(&days) {
            let span = self.days.as_ref().map_or(name.span(), Spanned::span);
            return Err(source.fault(span, format!("a value is kept for 1 to {MOST_DAYS} days")));
        }
        Ok(Some(Keep {
            output: value.name.clone(),
            name: kept_name(source, name)?,
            days,
            width: value.width,
        }))
    }
}

/// The name of a kept value.
fn kept_name(source: &SettingsFile, name: &Spanned<String>) -> Result<String> {
    let text = name.get_ref();
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if text.is_empty() || text.len() > MOST_NAME || text.starts_with('.') || !text.chars().all(plain) {
        let what = format!(
            "the name of a kept value has 1 to {MOST_NAME} letters, digits, \"-\", \"_\" and \".\", and does not begin with \".\""
        );
        return Err(source.fault(name.span(), what));
    }
    Ok(text.clone())
}

impl JobFile {
    /// Three if party 2 gives or learns something, or two.
    pub(super) fn parties(&self) -> u8 {
        let owners = self
            .inputs
            .iter()
            .filter_map(|input| input.get_ref().party.as_ref());
        let owners = owners.map(|party| *party.get_ref());
        let entitled = self
            .outputs
            .iter()
            .filter_map(|output| output.get_ref().to.as_ref());
        let receivers = entitled.flat_map(|to| to.get_ref());
        let last = owners.chain(receivers.map(|party| *party.get_ref())).max();
        if last.is_some_and(|last| last > 1) { 3 } else { 2 }
    }
}

/// A private value as it stands in the job. Neither `Debug` nor any message quotes it.
#[derive(Clone)]
pub(super) struct Secret(pub(super) String);

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

impl<'de> Deserialize<'de> for Secret {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        struct Text;
        const WANTED: &str = "`hex` is a string of hexadecimal digits, such as \"0x1f\"";
        impl serde::de::Visitor<'_> for Text {
            type Value = Secret;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(WANTED)
            }

            fn visit_str<E>(self, text: &str) -> std::result::Result<Secret, E> {
                Ok(Secret(text.to_owned()))
            }

            // The default messages for numbers quote them.
            fn visit_i64<E: serde::de::Error>(self, _: i64) -> std::result::Result<Secret, E> {
                Err(E::custom(WANTED))
            }

            fn visit_u64<E: serde::de::Error>(self, _: u64) -> std::result::Result<Secret, E> {
                Err(E::custom(WANTED))
            }

            fn visit_i128<E: serde::de::Error>(self, _: i128) -> std::result::Result<Secret, E> {
                Err(E::custom(WANTED))
            }

            fn visit_u128<E: serde::de::Error>(self, _: u128) -> std::result::Result<Secret, E> {
                Err(E::custom(WANTED))
            }

            fn visit_f64<E: serde::de::Error>(self, _: f64) -> std::result::Result<Secret, E> {
                Err(E::custom(WANTED))
            }
        }
        deserializer.deserialize_any(Text)
    }
}
