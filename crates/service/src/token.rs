//! Who may do what over a service's interfaces.
//!
//! A token is 256 random bits with a public name, `cenote_NAME_SECRET`. The database has a hash of the secret only, so that a copy of it lets
//! nobody in; a plain hash is enough, since such a secret cannot be guessed. A *bearer* token is sent with each call. A *login* token is
//! used once, within minutes, to begin a *session*, whose secret the browser keeps in a cookie. Each kind is refused where another
//! one is expected: a cookie, which browsers send unasked, is never taken for a bearer token.
//!
//! Login tokens that are made with a bearer token, and the sessions that are begun with them, end with it, when it expires or is revoked. They are
//! tokens of their own, listed and revoked like others.

mod secret;
mod tokens;

pub use cenote_api::Scope;
pub use cenote_api::view::{TokenKind, TokenView};
pub use secret::Secret;
pub use tokens::{Principal, Tokens};

#[cfg(test)]
pub(crate) mod tests;
