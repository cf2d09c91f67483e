//! Tokens, as callers see them.

use cenote_api::view::TokenView;

use super::word;
use crate::Timestamp;
use crate::token::Described;

impl From<Described> for TokenView {
    fn from(token: Described) -> Self {
        let millis = |time: Option<Timestamp>| time.map(Timestamp::millis);
        TokenView {
            id: token.id,
            kind: word(&token.kind),
            name: token.name,
            scopes: token.scopes.into_iter().collect(),
            created_at: token.created_at.millis(),
            expires_at: millis(token.expires_at),
            revoked_at: millis(token.revoked_at),
            used_at: millis(token.used_at),
        }
    }
}
