//! A test whether both parties have the same digest, which tells a cheater no more than whether one guess at it is right.
//!
//! The sums of leaky ANDs are short, so a digest of them must not be seen by anyone who could search for them: it is the password of a PAKE
//! ([`cenote_ot::pake`]). One guess is right with small probability, and the first one that is wrong has to be the last under these differences:
//!
//! - A test has the keys of its party for itself until it ends, so no two are under way under one difference.
//! - The party notes on the disk that a test has begun before it confirms. From then on whatever ends the session without an accepted tag ends the
//!   pool: a check that fails at once, and anything else when the next session finds the note.
//! - Nothing else is made of the sums or of the digest.

use cenote_net::{Channel, PartyId};
use cenote_ot::pake::{self, Context, Share};
use cenote_pool::Role;
use cenote_session::{Error, MESSAGE_FORM, Result};
use zeroize::Zeroizing;

use super::unequal;
use crate::setup::Keys;
use crate::steps;

/// What is compared.
pub(crate) type Digest = Zeroizing<[u8; blake3::OUT_LEN]>;

/// Compares `digest` with the other party's, of the lot of `count` leaky ANDs from tweak `first` on.
pub(crate) fn test(
    keys: &mut Keys,
    channel: &mut dyn Channel,
    digest: &Digest,
    [first, count]: [u64; 2],
) -> Result<()> {
    let run = run(keys, [first, count]);
    let sides = sides(keys.role, channel.peer());
    let context = Context {
        run: &run,
        sides: &sides,
        roles: NAMES,
    };
    let is_first = keys.role == Role::Garbler;
    let share = Share::new(&**digest, context, is_first, &mut keys.entropy);
    channel.send(steps::AGREE_EQUALITY, share.bytes())?;
    channel.flush()?;
    let mut theirs = [0; pake::BYTES];
    channel.recv(steps::AGREE_EQUALITY, &mut theirs)?;
    let Some(tags) = share.tags(&theirs) else {
        let detail = "it is no point, or the neutral one";
        let peer = channel.peer();
        return Err(Error::cheated(MESSAGE_FORM, peer, steps::AGREE_EQUALITY, detail));
    };
    // Whoever has this party's tag sees whether its guess was right.
    if let Some(kept) = &keys.kept {
        kept.checking()?;
    }
    channel.send(steps::CONFIRM_EQUALITY, tags.own())?;
    channel.flush()?;
    channel.recv(steps::CONFIRM_EQUALITY, &mut theirs)?;
    match tags.accept(&theirs) {
        true => Ok(()),
        false => Err(unequal(channel)),
    }
}

/// What the parties are called, by their roles.
pub(crate) const NAMES: [&[u8]; 2] = [b"garbler", b"evaluator"];

/// Both parties in their roles, to the one with this role and peer.
pub(crate) fn sides(role: Role, peer: PartyId) -> Vec<u8> {
    let [mine, theirs] = [[1 - peer.0], [peer.0]];
    let [garbler, evaluator] = match role {
        Role::Garbler => [&mine, &theirs],
        Role::Evaluator => [&theirs, &mine],
    };
    pake::strings(&[NAMES[0], garbler, NAMES[1], evaluator])
}

/// The name of the test: no other one under the same difference has the same number and start.
pub(crate) fn run(keys: &mut Keys, numbers: [u64; 2]) -> [u8; blake3::OUT_LEN] {
    let mut hasher = keys.digest("equality of leaky ANDs");
    hasher.update(&keys.start.to_bytes());
    for number in numbers {
        hasher.update(&number.to_le_bytes());
    }
    hasher.update(&keys.leaky_bits().to_le_bytes());
    *hasher.finalize().as_bytes()
}
