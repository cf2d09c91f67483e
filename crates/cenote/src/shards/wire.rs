//! What a coordinator and the workers of its party say to each other, over a connection on which both show the party's key. A worker speaks, and the coordinator answers.

use cenote_net::{Channel, Step, Ticket, recv_sized, send_sized};
use cenote_shards::{Attempt, JobName, Outcome, Place};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::{Error, Result};

const STEP: Step = Step {
    code: 1,
    name: "shards of a party",
};

/// Bytes of a message, at most: of a report.
const MOST: usize = 1 << 18;

/// What a worker says.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Said {
    /// It computes parts of the job with this digest, and is reached through its coordinator's relay if this says so.
    Hello(String, bool),
    /// It can take an attempt.
    Free,
    /// It listens for its peers.
    Listens(Listens),
    /// It waits to hear where its peers are.
    Waits,
    /// It has done so much, of so much.
    Works(u64, u64),
    /// It is done: how, and what it cost, as JSON, if it came to a good end.
    Ended(Outcome, Option<String>),
}

/// Where a worker listens, and the fingerprint of its key there.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Listens {
    address: String,
    fingerprint: String,
}

impl From<&Place> for Listens {
    fn from(place: &Place) -> Self {
        Listens {
            address: place.address.clone(),
            fingerprint: place.fingerprint.to_string(),
        }
    }
}

impl TryFrom<Listens> for Place {
    type Error = Error;

    fn try_from(told: Listens) -> Result<Place> {
        let fingerprint = told.fingerprint.parse();
        Ok(Place {
            address: told.address,
            fingerprint: fingerprint.map_err(|_| strange("a fingerprint"))?,
        })
    }
}

/// What a coordinator answers.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Told {
    /// Nothing yet: ask again soon.
    Wait,
    /// The job has this name, and the coin that places rows.
    Begin(JobName, [u8; 32]),
    /// Listen for the peers of this attempt.
    Listen(Attempt),
    /// It is reached through the relay at this port of the coordinator, to which it shows this ticket.
    Relay(u16, Ticket),
    /// The peers are here, in the session of this name.
    Meet(String, Vec<Listens>),
    /// Go on.
    Go,
    /// The attempt does not count.
    End,
    /// There is nothing more to do: the job is done.
    Over,
    /// The coordinator goes, and the job is not done.
    Gone,
    /// The worker is at another job.
    Refused(String),
}

pub(super) fn strange(what: &str) -> Error {
    Error::local(
        "speaking with another process of this party",
        std::io::Error::other(format!("it says {what} that has no meaning")),
    )
}

pub(super) fn send(channel: &mut dyn Channel, said: &impl Serialize) -> Result<()> {
    let bytes = postcard::to_stdvec(said).map_err(|_| strange("something"))?;
    Ok(send_sized(channel, [STEP; 2], &bytes)?)
}

pub(super) fn receive<T: DeserializeOwned>(channel: &mut dyn Channel) -> Result<T> {
    let bytes = recv_sized(channel, [STEP; 2], MOST)?;
    postcard::from_bytes(&bytes).map_err(|_| strange("something"))
}
