//! Robust opening of outputs (spec `three-party`, Section 4): both holders of the component that a receiver lacks send
//! it, one in full, the other as a hash, and the receiver aborts unless they agree.

use cenote_net::PartyId;
use cenote_primitives::{BitMatrix, as_bytes, as_bytes_mut};
use cenote_session::{Error, Parties, Result, WireVector, room};
use sha2::{Digest, Sha256};

use crate::checks;
use crate::engine::AllVerified;
use crate::online::input::{pack_rows, packed_words, unpack_rows};
use crate::ring::Ring;
use crate::steps;
use crate::wires::{ThreeWires, WIRES};

/// Opens `wires` to the parties in `to`, once whatever they depend on has been verified.
pub(crate) fn open(
    _verified: AllVerified,
    me: PartyId,
    wires: &ThreeWires,
    to: Parties,
    ring: &mut Ring,
) -> Result<Option<BitMatrix>> {
    let (rows, lanes) = (wires.wires(), wires.lanes());
    let components = wires.components()?;
    if to.contains(ring.previous.peer()) {
        ring.previous
            .send(steps::OUTPUT, as_bytes(&pack_rows(&components[1], lanes)?))?;
        ring.previous.flush()?;
    }
    if to.contains(ring.next.peer()) {
        ring.next
            .send(steps::OUTPUT_HASH, &digest(&pack_rows(&components[0], lanes)?))?;
        ring.next.flush()?;
    }
    if !to.contains(me) {
        return Ok(None);
    }
    let mut missing = room::zeroed::<u64>(WIRES, packed_words(rows, lanes))?;
    ring.next.recv(steps::OUTPUT, as_bytes_mut(&mut missing))?;
    let mut hash = [0; 32];
    ring.previous.recv(steps::OUTPUT_HASH, &mut hash)?;
    if digest(&missing) != hash {
        let detail = "the peers sent different shares of an output";
        return Err(Error::cheated(
            checks::OUTPUT_OPENING,
            None,
            steps::OUTPUT_HASH,
            detail,
        ));
    }
    let mut bits = room::bits(WIRES, rows, lanes)?;
    unpack_rows(&missing, lanes, bits.words_mut());
    for component in components {
        bits.words_mut()
            .iter_mut()
            .zip(component)
            .for_each(|(bit, share)| *bit ^= share);
    }
    bits.mask_padding();
    Ok(Some(bits))
}

fn digest(packed: &[u64]) -> [u8; 32] {
    Sha256::digest(as_bytes(packed)).into()
}
