//! How parties come to know each other: one invites, the others join.
//!
//! Party 0 listens, and gives each other party an invitation over a channel that is private: it holds party 0's fingerprint and a secret of one
//! use. Who joins speaks TLS with the key of that fingerprint and nobody else, and shows the secret.
//!
//! Against one who has changed invitations on their way, all parties compare a short code. Each commits to a nonce before any nonce is
//! shown, and the code is a digest of the names, addresses, fingerprints and nonces of all, in their order. So whoever stands between parties has one guess in 10^12, and
//! cannot search for keys that go with a code; and a party 0 that tells the others different things is found out as surely.

mod code;
mod invitation;
mod inviter;
mod joiner;
mod met;
mod timed;
mod words;

pub use invitation::{Invitation, NoInvitation};
pub use inviter::Inviter;
pub use joiner::join;
pub use met::Met;

#[cfg(test)]
mod tests;
