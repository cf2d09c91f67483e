//! Tokens, sessions, and the audit log.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::{Scope, Timestamp};

/// A token to be made.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct NewToken {
    /// What it is named: who uses it, for what. The audit log shows it.
    pub name: String,
    /// What it may do: propose, approve, read, admin.
    #[cfg_attr(feature = "schema", schema(value_type = Vec<String>))]
    pub scopes: Vec<Scope>,
    /// Days until it ends; never if not given.
    #[serde(default)]
    pub days: Option<u32>,
}

/// A token that was made.
#[derive(Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct TokenMade {
    /// The token, shown this once.
    pub token: String,
}

/// A link for a browser that was made.
#[derive(Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct LoginMade {
    /// What begins one session, within 10 minutes: to be appended to the page's address after `#`.
    pub login: String,
}

/// What begins a session.
#[derive(Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Login {
    /// The login token.
    pub login: String,
}

macro_rules! secret {
    ($($name:ident),*) => {$(
        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(stringify!($name))
            }
        }
    )*};
}
secret!(TokenMade, LoginMade, Login);

/// Who calls.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Session {
    /// What the token was named.
    pub name: String,
    /// What it may do.
    #[cfg_attr(feature = "schema", schema(value_type = Vec<String>))]
    pub scopes: Vec<Scope>,
    /// When a session begins: what the header `X-CSRF-Token` of each call by cookie must be. It is told this once.
    pub csrf: Option<String>,
}

/// What a token is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TokenKind {
    /// Sent with each call.
    Bearer,
    /// Exchanged for a session, once.
    Login,
    /// A browser's cookie.
    Session,
}

impl TokenKind {
    /// All of them.
    pub const ALL: [TokenKind; 3] = [TokenKind::Bearer, TokenKind::Login, TokenKind::Session];

    /// Its name as text.
    pub fn as_str(self) -> &'static str {
        match self {
            TokenKind::Bearer => "bearer",
            TokenKind::Login => "login",
            TokenKind::Session => "session",
        }
    }
}

/// A token as lists show it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct TokenView {
    /// Its public name.
    pub id: String,
    /// What it is for: bearer, login, session.
    #[cfg_attr(feature = "schema", schema(value_type = String))]
    pub kind: TokenKind,
    /// What it was named.
    pub name: String,
    /// What it may do.
    #[cfg_attr(feature = "schema", schema(value_type = Vec<String>))]
    pub scopes: BTreeSet<Scope>,
    /// When it was made.
    #[cfg_attr(feature = "schema", schema(value_type = u64))]
    pub created_at: Timestamp,
    /// When it ends, if it does.
    #[cfg_attr(feature = "schema", schema(value_type = Option<u64>))]
    pub expires_at: Option<Timestamp>,
    /// When it was revoked, or used up.
    #[cfg_attr(feature = "schema", schema(value_type = Option<u64>))]
    pub revoked_at: Option<Timestamp>,
    /// When it was used last, to a minute.
    #[cfg_attr(feature = "schema", schema(value_type = Option<u64>))]
    pub used_at: Option<Timestamp>,
}

/// Lines of the audit log, the newest first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct AuditPage {
    /// The lines, each a JSON object.
    #[cfg_attr(feature = "schema", schema(value_type = Vec<Object>))]
    pub lines: Vec<serde_json::Value>,
}

/// The end of the audit log, all of which was checked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct AuditVerified {
    /// The lines.
    pub lines: u64,
    /// The hash of the last line, in hexadecimal.
    pub hash: String,
}
