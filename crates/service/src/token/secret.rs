//! Texts of tokens, and what the database has of them.

use std::collections::BTreeSet;

use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

use super::{Principal, Scope, TokenKind, TokenView};
use crate::audit::{Actor, Event};
use crate::database::{Connection, Row, Transaction, Value};
use crate::{Error, Result, Timestamp, random};

/// Bytes of a token's text: `cenote_`, 16 digits, `_`, 64 digits.
const LENGTH: usize = 7 + 16 + 1 + 64;
const CONTEXT: &str = "cenote service token 1";

/// A token's text, shown once to who asked for it and kept nowhere. It is wiped when dropped, and `Debug` does not show it.
pub struct Secret(Zeroizing<String>);

impl Secret {
    /// The text.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret")
    }
}

macro_rules! columns {
    () => {
        "id, kind, name, hash, scopes, created_at, expires_at, revoked_at, used_at, parent"
    };
}
pub(super) use columns;

/// A token that is not in the database yet.
pub(super) struct New {
    pub(super) principal: Principal,
    kind: TokenKind,
    hash: String,
    expires_at: Option<Timestamp>,
}

impl New {
    pub(super) fn draw(
        kind: TokenKind,
        name: &str,
        scopes: BTreeSet<Scope>,
        expires_at: Option<Timestamp>,
    ) -> Result<(Self, Secret)> {
        let id = hex::encode(random::<8>()?);
        let bits = Zeroizing::new(random::<32>()?);
        let secret = Zeroizing::new(hex::encode(bits.as_slice()));
        // A text that grew would leave copies.
        let mut text = Zeroizing::new(String::with_capacity(LENGTH));
        for part in ["cenote_", &id, "_", &secret] {
            text.push_str(part);
        }
        let new = New {
            kind,
            hash: hash(&secret),
            expires_at,
            principal: Principal {
                id,
                name: name.to_owned(),
                scopes,
                parent: None,
            },
        };
        Ok((new, Secret(text)))
    }

    /// The token that it was made with, if it was made with one that is there.
    pub(super) fn parent_now(&self, transaction: &mut Transaction<'_>) -> Result<Option<TokenView>> {
        let Some(parent) = &self.principal.parent else {
            return Ok(None);
        };
        let found = Token::find(transaction.connection(), parent)?;
        Ok(found.map(|token| token.shown))
    }

    /// Ends the oldest session of its parent where that has `most` already.
    pub(super) fn end_oldest_session(
        &self,
        transaction: &mut Transaction<'_>,
        most: usize,
        now: Timestamp,
    ) -> Result<()> {
        let Some(parent) = &self.principal.parent else {
            return Ok(());
        };
        let open = transaction.rows(
            "SELECT id FROM token WHERE parent = $1 AND kind = 'session' AND revoked_at IS NULL AND expires_at > $2 \
             ORDER BY created_at, id",
            &[Value::from(parent.as_str()), Value::from(now.column())],
        )?;
        let Some(oldest) = open.first().filter(|_| open.len() >= most) else {
            return Ok(());
        };
        let token = oldest.text(0)?.to_owned();
        transaction.run(
            "UPDATE token SET revoked_at = $2 WHERE id = $1",
            &[Value::from(token.as_str()), Value::from(now.column())],
        )?;
        let by = Actor::Service;
        transaction.audit(now, &Event::TokenRevoked { token, by })
    }

    /// The bearer tokens of its name that are valid.
    pub(super) fn namesakes(&self, transaction: &mut Transaction<'_>, now: Timestamp) -> Result<Vec<String>> {
        let rows = transaction.rows(
            "SELECT id FROM token WHERE kind = 'bearer' AND name = $1 AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $2)",
            &[
                Value::from(self.principal.name.as_str()),
                Value::from(now.column()),
            ],
        )?;
        rows.iter().map(|row| Ok(row.text(0)?.to_owned())).collect()
    }

    /// Lets it end at `latest`, or before with its parent.
    pub(super) fn end_by(&mut self, parent: Option<Timestamp>, latest: Timestamp) {
        self.expires_at = Some(parent.map_or(latest, |parent| parent.min(latest)));
    }

    /// Puts a token that `by` has asked for into the database, and a line of it into the audit log.
    pub(super) fn make(self, transaction: &mut Transaction<'_>, by: Actor, now: Timestamp) -> Result<()> {
        self.insert(transaction, now)?;
        transaction.audit(
            now,
            &Event::TokenMade {
                token: self.principal.id,
                name: self.principal.name,
                scopes: self.principal.scopes.into_iter().collect(),
                by,
            },
        )
    }

    pub(super) fn insert(&self, transaction: &mut Transaction<'_>, now: Timestamp) -> Result<()> {
        let scopes: Vec<&str> = self.principal.scopes.iter().map(|scope| scope.as_str()).collect();
        transaction.run(
            "INSERT INTO token (id, kind, name, hash, scopes, created_at, expires_at, parent) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
            &[
                Value::from(self.principal.id.as_str()),
                Value::from(self.kind.as_str()),
                Value::from(self.principal.name.as_str()),
                Value::from(self.hash.as_str()),
                Value::from(scopes.join(" ")),
                Value::from(now.column()),
                Value::from(self.expires_at.map(Timestamp::column)),
                Value::from(self.principal.parent.clone()),
            ],
        )?;
        Ok(())
    }
}

/// A token of the database.
pub(super) struct Token {
    hash: String,
    pub(super) parent: Option<String>,
    pub(super) shown: TokenView,
}

impl Token {
    /// The token of this public name.
    pub(super) fn find(connection: &mut Connection, id: &str) -> Result<Option<Self>> {
        connection
            .one(
                concat!("SELECT ", columns!(), " FROM token WHERE id = $1"),
                &[Value::from(id)],
            )?
            .map(|row| Token::read(&row))
            .transpose()
    }

    /// The token of a row of the [`columns`].
    pub(super) fn read(row: &Row) -> Result<Self> {
        let wrong = |what: &str| Error::Corrupt(format!("a token with a wrong {what}"));
        let kind = row.text(1)?;
        let time = |column| Ok::<_, Error>(row.integer_or_null(column)?.map(Timestamp::from_column));
        let mut scopes = BTreeSet::new();
        for name in row.text(4)?.split(' ') {
            let scope = Scope::ALL.into_iter().find(|scope| scope.as_str() == name);
            scopes.insert(scope.ok_or_else(|| wrong("scope"))?);
        }
        Ok(Token {
            hash: row.text(3)?.to_owned(),
            parent: row.text_or_null(9)?.map(str::to_owned),
            shown: TokenView {
                id: row.text(0)?.to_owned(),
                kind: TokenKind::ALL
                    .into_iter()
                    .find(|known| known.as_str() == kind)
                    .ok_or_else(|| wrong("kind"))?,
                name: row.text(2)?.to_owned(),
                scopes,
                created_at: Timestamp::from_column(row.integer(5)?),
                expires_at: time(6)?,
                revoked_at: time(7)?,
                used_at: time(8)?,
            },
        })
    }

    pub(super) fn principal(self) -> Principal {
        Principal {
            id: self.shown.id,
            name: self.shown.name,
            scopes: self.shown.scopes,
            parent: self.parent,
        }
    }
}

/// The token if it is valid. The hashes are compared in constant time, also where there is no such token.
pub(super) fn judge(token: Option<Token>, kind: TokenKind, hash: &str, now: Timestamp) -> Result<Token> {
    let none = "0".repeat(64);
    let expected = token.as_ref().map_or(&none, |token| &token.hash);
    let right = bool::from(expected.as_bytes().ct_eq(hash.as_bytes()));
    token
        .filter(|token| right && token.shown.kind == kind && is_valid(&token.shown, now))
        .ok_or(Error::Token)
}

/// Whether it was not revoked and has not expired.
pub(super) fn is_valid(token: &TokenView, now: Timestamp) -> bool {
    token.revoked_at.is_none() && token.expires_at.is_none_or(|end| now < end)
}

/// A token's public name and the hash of its secret.
pub(super) fn read_text(text: &str) -> Result<(String, String)> {
    let digits = |text: &str| text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    let (id, secret) = (text.len() == LENGTH)
        .then(|| text.strip_prefix("cenote_")?.split_once('_'))
        .flatten()
        .filter(|(id, secret)| id.len() == 16 && digits(id) && digits(secret))
        .ok_or(Error::Token)?;
    Ok((id.to_owned(), hash(secret)))
}

fn hash(secret: &str) -> String {
    hex::encode(blake3::derive_key(CONTEXT, secret.as_bytes()))
}
