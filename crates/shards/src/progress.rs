//! How far a job is, for people.

use cenote_net::PartyId;

use crate::Attempt;

/// How far a job is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Pieces, the merge included.
    pub pieces: u32,
    /// Those that are done.
    pub done: u32,
    /// Attempts that were handed out, those under earlier names of the job included.
    pub handed_out: u32,
    /// What runs at this party, in order.
    pub running: Vec<Running>,
    /// What the other coordinators say of themselves.
    pub peers: Vec<PeerProgress>,
}

/// An attempt that runs at this party.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Running {
    /// Which.
    pub attempt: Attempt,
    /// Steps that its worker has made.
    pub done: u64,
    /// Of so many; 0 before it has said so.
    pub total: u64,
}

/// What another coordinator says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PeerProgress {
    /// Whose it is.
    pub party: PartyId,
    /// How many more pieces could start there.
    pub free: u32,
    /// Steps that its running pieces have made together.
    pub done: u64,
    /// Of so many.
    pub total: u64,
}
