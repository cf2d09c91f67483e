//! The coordination of a job, from the first word between the coordinators to the last.

use std::time::Duration;

use cenote_net::PartyId;
use cenote_primitives::Entropy;
use cenote_session::{Connections, Topology, handshake};

use crate::all::All;
use crate::course::Course;
use crate::ledger::Ledger;
use crate::peers::Peers;
use crate::resume::resume;
use crate::{Crew, Error, Inbox, JobName, Piece, Progress, Result};

/// The connections of the coordinators of so many parties: between any two of them one channel for what the lower party says, and one for what the
/// higher says, so that each side has a thread that only receives and one that only sends.
pub fn topology(parties: u8) -> Topology {
    Topology {
        name: "coordinators".into(),
        parties,
        workers: 1,
        purposes: &["what the lower party says", "what the higher party says"],
        shared: &[],
    }
}

/// How long a coordinator waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// For any word of a peer: as long as the connections do. This party says that it is there four times as often.
    pub silence: Duration,
    /// For the workers of an attempt to listen at all parties; then it is lost.
    pub listen: Duration,
    /// For a peer to say that an attempt has ended there too, once it has ended here.
    pub end: Duration,
    /// For any piece to start, while none runs.
    pub idle: Duration,
}

/// Whose coordinator this is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Party {
    /// Which party's.
    pub me: PartyId,
    /// A digest of the keys of its rows, to which it commits before the coin is tossed. It is not sent, and must be the same when the job goes on later.
    pub keys: [u8; 32],
    /// How long it waits.
    pub limits: Limits,
}

/// A job of which all pieces are done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Done {
    /// The name of the job.
    pub name: JobName,
    /// The coin of its parties.
    pub coin: [u8; 32],
    /// The number of the attempt that counts, for each shard.
    pub shards: Vec<u32>,
    /// The number of the merge's attempt that counts.
    pub merge: u32,
    /// Attempts that were handed out in all.
    pub handed_out: u32,
}

/// Hands out the pieces of the ledger's job to this party's `crew` until all are done, in agreement with the coordinators of the other parties.
///
/// The `connections` are those of [`topology`], to peers whose keys are pinned, and go to nobody but the coordinators. What a coordinator says there of the
/// addresses and keys of its own workers needs no other signature, since nobody passes on what another coordinator says.
///
/// A job that has begun before goes on where its coordinators stopped, unless a check failed in it. Whatever happens, no attempt is made twice under one
/// [`JobName`]. [`Event::Stop`](crate::Event::Stop) is heard once the coordinators have compared where they stand; before that, interrupt the channels
/// ([`Channel::interrupter`](cenote_net::Channel::interrupter)).
///
/// # Errors
/// [`Error`] says how it may end otherwise. The peers are told, and the workers of attempts that run are ended.
pub fn coordinate(
    party: &Party,
    mut connections: Connections,
    ledger: &mut Ledger,
    crew: &mut dyn Crew,
    inbox: Inbox,
    progress: &mut dyn FnMut(&Progress),
) -> Result<Done> {
    let run = handshake(party.me, &mut connections, &ledger.job().all_terms(), &())?;
    let mut all = All::new(party.me, connections)?;
    let lost = resume(&mut all, &run, &party.keys, ledger, &mut Entropy::os());
    let lost = lost.inspect_err(|error| all.abort(error))?;
    begin(ledger, crew, &lost);
    let peers = Peers::start(all, &inbox.sender)?;
    let mut course = Course::new(party, &run, ledger, crew, peers);
    let outcome = course.run(&inbox.receiver, progress);
    let code = outcome.as_ref().err().map(|error| error.reason(party.me).code());
    course.stop(code);
    outcome.and_then(|()| done(ledger))
}

/// Tells the crew where the job stands.
fn begin(ledger: &Ledger, crew: &mut dyn Crew, lost: &[crate::Attempt]) {
    let Some(begun) = ledger.begun() else { return };
    crew.begin(&begun.name, &begun.coin);
    lost.iter().for_each(|attempt| crew.end(attempt));
    for piece in ledger.job().all_pieces() {
        if let Some(number) = ledger.done(piece) {
            crew.keep(&crate::Attempt { piece, number });
        }
    }
}

/// What came of the job.
fn done(ledger: &Ledger) -> Result<Done> {
    let unfinished = || Error::Session(cenote_session::Error::Internal("a piece is not done".into()));
    let number = |piece| ledger.done(piece).ok_or_else(unfinished);
    let begun = ledger.begun().ok_or_else(unfinished)?;
    Ok(Done {
        name: begun.name,
        coin: begun.coin,
        shards: (0..ledger.job().shards())
            .map(|shard| number(Piece::Shard(shard)))
            .collect::<Result<_>>()?,
        merge: number(Piece::Merge)?,
        handed_out: ledger.book().handed_out(),
    })
}
