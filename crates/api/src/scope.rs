//! What tokens may do.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Something that a token may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scope {
    /// Propose jobs, and fetch their results.
    Propose,
    /// Approve and decline, and drop kept values.
    Approve,
    /// See jobs, peers and stock.
    Read,
    /// Everything else: tokens, policy, stock.
    Admin,
}

impl Scope {
    /// All of them.
    pub const ALL: [Scope; 4] = [Scope::Propose, Scope::Approve, Scope::Read, Scope::Admin];

    /// Its name as text.
    pub fn as_str(self) -> &'static str {
        match self {
            Scope::Propose => "propose",
            Scope::Approve => "approve",
            Scope::Read => "read",
            Scope::Admin => "admin",
        }
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
