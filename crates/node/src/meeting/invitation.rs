//! The text that invites a party.

use std::fmt;
use std::io::BufRead;
use std::str::FromStr;

use cenote::Fingerprint;
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use crate::Error;

/// What an invitation begins with.
const PREFIX: &str = "cenote-invitation-2.";
/// Longer texts are none.
const LONGEST: usize = 4096;

/// Invites one party. It is a secret until it was used.
#[derive(Clone, PartialEq, Eq)]
pub struct Invitation {
    /// Where the inviting party listens.
    pub address: String,
    /// What it is known by.
    pub fingerprint: Fingerprint,
    /// What it is called.
    pub name: String,
    /// Which party the invited one will be.
    pub party: u8,
    /// Of how many.
    pub parties: u8,
    pub(crate) secret: [u8; 16],
}

/// Without the secret.
impl fmt::Debug for Invitation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Invitation(party {} by {})", self.party, self.name)
    }
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Text {
    address: String,
    fingerprint: String,
    name: String,
    party: u8,
    parties: u8,
    secret: String,
}

/// A text is no invitation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "this is no invitation; copy all that `cenote invite` printed, which begins with cenote-invitation-2."
)]
pub struct NoInvitation;

impl Invitation {
    /// That in the first line of `input` that is not empty.
    ///
    /// # Errors
    /// That nothing can be read, or that it is no invitation.
    pub fn read(input: impl BufRead) -> Result<Self, Error> {
        let mut input = input.take(LONGEST as u64);
        let mut line = Zeroizing::new(String::with_capacity(LONGEST));
        while line.trim().is_empty() {
            let read = input
                .read_line(&mut line)
                .map_err(|error| Error::Machine(format!("reading the invitation: {error}")))?;
            if read == 0 {
                break;
            }
        }
        line.parse()
            .map_err(|error: NoInvitation| Error::Settings(error.to_string()))
    }

    /// The text to send.
    pub fn text(&self) -> String {
        let text = Text {
            address: self.address.clone(),
            fingerprint: self.fingerprint.to_string(),
            name: self.name.clone(),
            party: self.party,
            parties: self.parties,
            secret: hex::encode(self.secret),
        };
        let text = serde_json::to_vec(&text).unwrap_or_default();
        format!("{PREFIX}{}", hex::encode(text))
    }
}

impl FromStr for Invitation {
    type Err = NoInvitation;

    fn from_str(text: &str) -> Result<Self, NoInvitation> {
        let text: String = text
            .chars()
            .filter(|c| !c.is_whitespace())
            .take(LONGEST)
            .collect();
        let bytes = text.strip_prefix(PREFIX).and_then(|text| hex::decode(text).ok());
        let text: Text = bytes
            .and_then(|bytes| serde_json::from_slice(&bytes).ok())
            .ok_or(NoInvitation)?;
        let mut secret = [0; 16];
        hex::decode_to_slice(&text.secret, &mut secret).map_err(|_| NoInvitation)?;
        let fits = (2..=3).contains(&text.parties) && (1..text.parties).contains(&text.party);
        Ok(Invitation {
            address: text.address,
            fingerprint: text.fingerprint.parse().map_err(|_| NoInvitation)?,
            name: text.name,
            party: text.party,
            parties: text.parties,
            secret,
        })
        .and_then(|invitation| if fits { Ok(invitation) } else { Err(NoInvitation) })
    }
}
