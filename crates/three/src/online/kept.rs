//! Shares that outlive a session. What a party holds of verified wires are components `i` and `i + 1` of replicated sharings, of which any other two
//! parties hold the rest: two honest ones fix the values between them, so that a later session goes on with the shares as they are. The holders of each
//! component compare their digests of it first. A party that tells the right digest and computes with another share does what it may do in any
//! session with the shares that it has, and is caught as there.

use cenote_net::PartyId;
use cenote_primitives::{BitMatrix, as_bytes};
use cenote_session::{Error, Result, WireVector, room};
use sha2::{Digest, Sha256};

use crate::checks;
use crate::engine::AllVerified;
use crate::ring::Ring;
use crate::steps;
use crate::wires::{ThreeWires, WIRES};

/// This party's share of `wires`, once whatever they depend on has been verified: component `i` of all, then component `i + 1`.
pub(crate) fn keep(_verified: AllVerified, wires: &ThreeWires) -> Result<BitMatrix> {
    let mut share = room::bits(WIRES, 2 * wires.wires(), wires.lanes())?;
    let [first, second] = wires.components()?;
    let (to_first, to_second) = share.words_mut().split_at_mut(first.len());
    to_first.copy_from_slice(first);
    to_second.copy_from_slice(second);
    share.mask_padding();
    Ok(share)
}

/// The wires of a share that was kept, which the holders of each component compare.
///
/// # Errors
/// [`Error::BadInput`] if the share is of another number of wires.
pub(crate) fn take(wires: usize, share: &BitMatrix, ring: &mut Ring) -> Result<ThreeWires> {
    if share.rows() != 2 * wires {
        let rows = share.rows();
        return Err(Error::BadInput(format!(
            "a share of {wires} wires has two rows for each, not {rows} in all"
        )));
    }
    let mut taken = ThreeWires::zeros(wires, share.lanes())?;
    let components = taken.components_mut();
    let words = components[0].len();
    for (component, words) in components
        .iter_mut()
        .zip(share.words().chunks_exact(words.max(1)))
    {
        component.copy_from_slice(words);
    }
    let components = components.each_ref();
    let digests = components.map(|component| digest(wires, share.lanes(), component));
    let mut heard = [[0; 32]; 2];
    let Ring { previous, next } = ring;
    // The previous party has component `i` as well, the next one component `i + 1`.
    let mut others = [previous, next];
    for (other, digest) in others.iter_mut().zip(&digests) {
        other.send(steps::KEPT_SHARE, digest)?;
        other.flush()?;
    }
    for (other, heard) in others.iter_mut().zip(&mut heard) {
        other.recv(steps::KEPT_SHARE, heard)?;
    }
    let differs = others
        .iter()
        .zip(digests.iter().zip(&heard))
        .find(|(_, (ours, theirs))| ours != theirs);
    match differs {
        None => Ok(taken),
        Some((other, _)) => Err(differing(other.peer())),
    }
}

fn differing(peer: PartyId) -> Error {
    let detail = "its share of a kept value is not what it held";
    Error::cheated(checks::KEPT_SHARE, peer, steps::KEPT_SHARE, detail)
}

fn digest(wires: usize, lanes: usize, component: &[u64]) -> [u8; 32] {
    Sha256::new()
        .chain_update(b"cenote three kept share 1")
        .chain_update((wires as u64).to_le_bytes())
        .chain_update((lanes as u64).to_le_bytes())
        .chain_update(as_bytes(component))
        .finalize()
        .into()
}
