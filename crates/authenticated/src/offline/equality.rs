//! A test whether both parties have the same digest: both commit before either opens.

use cenote_net::Channel;
use cenote_pool::Role;
use cenote_session::{Error, Result};
use subtle::ConstantTimeEq;

use super::unequal;
use crate::setup::Keys;
use crate::{checks, steps};

type Digest = [u8; blake3::OUT_LEN];

/// The commitment of a party to its digest.
fn commitment(key: &Digest, role: Role, opening: &[Digest; 2]) -> Digest {
    let mut hasher = blake3::Hasher::new_keyed(key);
    hasher.update(&[role as u8]).update(opening.as_flattened());
    *hasher.finalize().as_bytes()
}

/// Compares `digest` with the other party's.
pub(super) fn test(keys: &mut Keys, channel: &mut dyn Channel, digest: &Digest) -> Result<()> {
    let key = *keys.digest("equality").finalize().as_bytes();
    let opening = [keys.entropy.bytes(), *digest];
    channel.send(steps::COMMIT_EQUALITY, &commitment(&key, keys.role, &opening))?;
    channel.flush()?;
    let mut committed = Digest::default();
    channel.recv(steps::COMMIT_EQUALITY, &mut committed)?;
    // The other party can no longer choose its digest, and is about to see whether it will be caught.
    if let Some(kept) = &keys.kept {
        kept.checking()?;
    }
    channel.send(steps::OPEN_EQUALITY, opening.as_flattened())?;
    channel.flush()?;
    let mut opened = [Digest::default(); 2];
    channel.recv(steps::OPEN_EQUALITY, opened.as_flattened_mut())?;
    let theirs = commitment(&key, keys.role.other(), &opened);
    if !bool::from(theirs.ct_eq(&committed)) {
        let detail = "it opens another digest than the one that it committed to";
        let peer = channel.peer();
        return Err(Error::cheated(
            checks::EQUALITY,
            peer,
            steps::OPEN_EQUALITY,
            detail,
        ));
    }
    match bool::from(opened[1].ct_eq(digest)) {
        true => Ok(()),
        false => Err(unequal(channel)),
    }
}
