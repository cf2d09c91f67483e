//! Tokens in the database.

use std::collections::BTreeSet;
use std::time::Duration;

use super::secret::{New, Secret, Token, columns, is_valid, judge, read_text};
use super::{Scope, TokenKind, TokenView};
use crate::audit::{Actor, Event};
use crate::database::{Flush, Transaction, Value};
use crate::words::steers;
use crate::{Database, Error, Result, Timestamp};

/// How long a login token can be used.
const LOGIN: Duration = Duration::from_secs(600);
/// How long a session lasts.
const SESSION: Duration = Duration::from_secs(12 * 3600);
/// Uses closer together are recorded as one.
const USE: Duration = Duration::from_secs(60);
/// Login tokens of one token that may wait to be used.
const LOGINS: u64 = 8;
/// Sessions of one token at once.
const SESSIONS: usize = 16;
/// Bytes of what a token is named, at most.
const NAME: usize = 64;

/// Who makes a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Principal {
    /// The token's public name.
    pub id: String,
    /// What it was named.
    pub name: String,
    /// What it may do.
    pub scopes: BTreeSet<Scope>,
    /// The token that it was made with, and with which it ends.
    pub parent: Option<String>,
}

impl Principal {
    /// The public name under which its calls are counted: that of the token that it was made with, or its own.
    pub fn counted_as(&self) -> &str {
        self.parent.as_ref().unwrap_or(&self.id)
    }

    /// Whether it may do what needs `scope`.
    ///
    /// # Errors
    /// [`Error::Scope`] if it may not.
    pub fn needs(&self, scope: Scope) -> Result<()> {
        if self.scopes.contains(&scope) {
            Ok(())
        } else {
            Err(Error::Scope(scope))
        }
    }

    /// How the audit log calls it.
    pub fn actor(&self) -> Actor {
        Actor::Person(self.name.clone())
    }
}

/// The tokens of a service.
#[derive(Debug, Clone)]
pub struct Tokens {
    database: Database,
}

impl Tokens {
    /// The tokens in `database`.
    pub fn new(database: Database) -> Self {
        Tokens { database }
    }

    /// Makes a bearer token. No two that are valid have one name: what a token submits belongs to its name.
    ///
    /// # Errors
    /// [`Error::TokenText`] where its name or scopes cannot be used.
    pub fn create(
        &self,
        name: &str,
        scopes: &BTreeSet<Scope>,
        expires_at: Option<Timestamp>,
        by: Actor,
        now: Timestamp,
    ) -> Result<Secret> {
        check(name, scopes)?;
        let (new, secret) = New::draw(TokenKind::Bearer, name, scopes.clone(), expires_at)?;
        self.database.write(move |transaction| {
            if new.namesakes(transaction, now)?.is_empty() {
                return new.make(transaction, by, now);
            }
            Err(Error::TokenText(
                "a valid token has this name; take another name, or revoke that token first (`cenote token list`)",
            ))
        })?;
        Ok(secret)
    }

    /// Makes a bearer token in the place of the one of this name, which is revoked.
    ///
    /// # Errors
    /// [`Error::TokenText`] where its name or scopes cannot be used.
    pub fn replace(&self, name: &str, scopes: &BTreeSet<Scope>, by: Actor, now: Timestamp) -> Result<Secret> {
        check(name, scopes)?;
        let (new, secret) = New::draw(TokenKind::Bearer, name, scopes.clone(), None)?;
        self.database.write(move |transaction| {
            for token in new.namesakes(transaction, now)? {
                revoke(transaction, token, by.clone(), now)?;
            }
            new.make(transaction, by, now)
        })?;
        Ok(secret)
    }

    /// Makes a login token, which begins one session within 10 minutes, with what `parent`, a bearer token, may do. It and the session that it begins end with that one.
    ///
    /// # Errors
    /// [`Error::Token`] where the parent is not valid any more; [`Error::TokenText`] where 8 of its login tokens wait to be used.
    pub fn create_login_of(&self, parent: &Principal, now: Timestamp) -> Result<Secret> {
        let (mut new, secret) = New::draw(TokenKind::Login, &parent.name, parent.scopes.clone(), None)?;
        new.principal.parent = Some(parent.id.clone());
        let by = parent.actor();
        self.database.write(move |transaction| {
            let parent = new.parent_now(transaction)?.ok_or(Error::Token)?;
            if !is_valid(&parent, now) {
                return Err(Error::Token);
            }
            let waiting = transaction
                .one(
                    "SELECT COUNT(*) FROM token WHERE parent = $1 AND kind = 'login' AND revoked_at IS NULL AND expires_at > $2",
                    &[Value::from(parent.id.as_str()), Value::from(now.column())],
                )?
                .map_or(Ok(0), |row| row.count(0))?;
            if waiting >= LOGINS {
                return Err(Error::TokenText(
                    "8 login tokens of this token wait to be used; use one of them, or wait some minutes",
                ));
            }
            new.end_by(parent.expires_at, now.after(LOGIN));
            new.make(transaction, by, now)
        })?;
        Ok(secret)
    }

    /// Whose token `text` is.
    ///
    /// # Errors
    /// [`Error::Token`], without a reason, where it is not one of this `kind`, was revoked or has expired. Login tokens are for
    /// [`Tokens::begin_session`] only.
    pub fn authenticate(&self, kind: TokenKind, text: &str, now: Timestamp) -> Result<Principal> {
        if kind == TokenKind::Login {
            return Err(Error::Token);
        }
        let (id, hash) = read_text(text)?;
        let known = id.clone();
        let token = self
            .database
            .read(move |connection| Token::find(connection, &id))?;
        let token = judge(token, kind, &hash, now)?;
        if token.shown.used_at.is_none_or(|used| used.after(USE) <= now) {
            let asked = self.database.begin_write(Flush::Later, move |transaction| {
                transaction.run(
                    "UPDATE token SET used_at = $2 WHERE id = $1 AND (used_at IS NULL OR used_at < $2)",
                    &[Value::from(known), Value::from(now.column())],
                )
            });
            // Not waited for: who may look at the alarms can do so where nothing can be written.
            if let Err(error) = asked.map(drop) {
                tracing::warn!(%error, "the use of a token cannot be recorded");
            }
        }
        Ok(token.principal())
    }

    /// Begins a session with a login token, which is used up by it. A session lasts 12 hours; a token's 17th at once ends its oldest.
    ///
    /// # Errors
    /// [`Error::Token`] where it is no login token, was used, or has expired.
    pub fn begin_session(&self, login: &str, now: Timestamp) -> Result<(Secret, Principal)> {
        let (id, hash) = read_text(login)?;
        // A stranger's guesses do not reach what writes.
        let known = id.clone();
        let token = self
            .database
            .read(move |connection| Token::find(connection, &known))?;
        judge(token, TokenKind::Login, &hash, now)?;
        self.database.write(move |transaction| {
            let token = Token::find(transaction.connection(), &id)?;
            let token = judge(token, TokenKind::Login, &hash, now)?;
            let (parent, token) = (token.parent, token.shown);
            transaction.run(
                "UPDATE token SET revoked_at = $2, used_at = $2 WHERE id = $1",
                &[Value::from(id.as_str()), Value::from(now.column())],
            )?;
            let (mut new, secret) = New::draw(TokenKind::Session, &token.name, token.scopes, None)?;
            new.principal.parent = parent;
            new.end_oldest_session(transaction, SESSIONS, now)?;
            let until = new.parent_now(transaction)?.and_then(|parent| parent.expires_at);
            new.end_by(until, now.after(SESSION));
            new.insert(transaction, now)?;
            transaction.audit(
                now,
                &Event::SessionBegun {
                    session: new.principal.id.clone(),
                    login: id,
                },
            )?;
            Ok((secret, new.principal))
        })
    }

    /// Revokes the token or ends the session of this public name, and what was made with it; whether anything was valid until then.
    ///
    /// # Errors
    /// Where the database cannot be written.
    pub fn revoke(&self, id: &str, by: Actor, now: Timestamp) -> Result<bool> {
        let token = id.to_owned();
        self.database
            .write(move |transaction| revoke(transaction, token, by, now))
    }

    /// All tokens, the oldest first.
    ///
    /// # Errors
    /// Where the database cannot be read.
    pub fn list(&self) -> Result<Vec<TokenView>> {
        self.database.read(|connection| {
            connection
                .rows(
                    concat!("SELECT ", columns!(), " FROM token ORDER BY created_at, id"),
                    &[],
                )?
                .iter()
                .map(|row| Ok(Token::read(row)?.shown))
                .collect()
        })
    }

    /// Forgets tokens and sessions that have expired; how many.
    ///
    /// # Errors
    /// Where the database cannot be written.
    pub fn sweep(&self, now: Timestamp) -> Result<u64> {
        self.database.write(move |transaction| {
            transaction.run(
                "DELETE FROM token WHERE expires_at IS NOT NULL AND expires_at <= $1",
                &[Value::from(now.column())],
            )
        })
    }
}

fn check(name: &str, scopes: &BTreeSet<Scope>) -> Result<()> {
    if name.is_empty() || name.len() > NAME || name.chars().any(steers) {
        return Err(Error::TokenText(
            "its name must have 1 to 64 bytes and no characters that steer a screen",
        ));
    }
    if scopes.is_empty() {
        return Err(Error::TokenText(
            "it could do nothing; give it at least one scope",
        ));
    }
    Ok(())
}

/// Revokes a token, and what was made with it.
fn revoke(transaction: &mut Transaction<'_>, token: String, by: Actor, now: Timestamp) -> Result<bool> {
    let changed = transaction.run(
        "UPDATE token SET revoked_at = $2 WHERE (id = $1 OR parent = $1) AND revoked_at IS NULL",
        &[Value::from(token.as_str()), Value::from(now.column())],
    )?;
    if changed > 0 {
        transaction.audit(now, &Event::TokenRevoked { token, by })?;
    }
    Ok(changed > 0)
}
