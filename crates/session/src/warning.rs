//! Trouble that did no harm to the outputs.

use std::fmt;

use serde::{Deserialize, Serialize};

/// What a party should know of a session besides its outputs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Warning {
    /// What it is about.
    pub kind: WarningKind,
    /// In words.
    pub text: String,
}

/// What a warning is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WarningKind {
    /// The peer deviated from the protocol, and this party noticed it. To tell the peer so would tell it of this party's inputs.
    PeerCheated,
    /// Checks of what the parties keep in stock failed or were cut off before.
    ChecksCutOff,
    /// The session did not end in agreement.
    NoAgreement,
}

impl WarningKind {
    /// As alarms are told apart.
    pub fn name(self) -> &'static str {
        match self {
            WarningKind::PeerCheated => "peer-cheated",
            WarningKind::ChecksCutOff => "checks-cut-off",
            WarningKind::NoAgreement => "no-agreement",
        }
    }
}

impl Warning {
    /// A warning in these words.
    pub fn new(kind: WarningKind, text: impl Into<String>) -> Self {
        Warning {
            kind,
            text: text.into(),
        }
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}
