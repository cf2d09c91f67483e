//! Inputs (spec `three-party`, Section 5). Party `i` inputs `v`: component `i` is pseudorandom under the key that `i`
//! shares with `i - 1`; component `i + 1` is `v` masked with it, sent to `i + 1`; component `i + 2` is 0. The sharing is
//! consistent whatever `i` sends, because each component reaches its second holder in one way only.

use cenote_net::PartyId;
use cenote_primitives::{
    BitMatrix, Block512, as_bytes, as_bytes_mut, as_words, as_words_mut, pack_bits, unpack_bits,
};
use cenote_session::{Result, room};

use crate::ring::Ring;
use crate::setup::keys::{Counter, Keys};
use crate::steps;
use crate::wires::{ThreeWires, WIRES};

/// 64-bit words that a matrix of `rows` × `lanes` bits takes on the wire, packed densely.
pub(crate) fn packed_words(rows: usize, lanes: usize) -> usize {
    rows.saturating_mul(lanes).div_ceil(64)
}

/// Packs rows of `lanes` bits densely.
pub(crate) fn pack_rows(rows: &[u64], lanes: usize) -> Result<Vec<u64>> {
    let stride = lanes.div_ceil(64);
    let count = rows.len().checked_div(stride).unwrap_or(0);
    let mut packed = room::zeroed::<u64>(WIRES, packed_words(count, lanes))?;
    for (index, row) in rows.chunks_exact(stride.max(1)).enumerate() {
        pack_bits(&mut packed, index * lanes, row, lanes);
    }
    Ok(packed)
}

/// The inverse of [`pack_rows`].
pub(crate) fn unpack_rows(packed: &[u64], lanes: usize, rows: &mut [u64]) {
    for (index, row) in rows.chunks_exact_mut(lanes.div_ceil(64).max(1)).enumerate() {
        unpack_bits(row, packed, index * lanes, lanes);
    }
}

/// Shares the bits of `owner`. Only the owner gives `bits`.
pub(crate) fn share(
    me: PartyId,
    owner: PartyId,
    (wires, lanes): (usize, usize),
    bits: Option<&BitMatrix>,
    ring: &mut Ring,
    keys: &Keys,
    counter: &mut Counter,
) -> Result<ThreeWires> {
    let mut shares = ThreeWires::zeros(wires, lanes)?;
    let words = packed_words(wires, lanes);
    let at = counter.take(words.div_ceil(8));
    let mut mask = room::zeroed::<Block512>(WIRES, words.div_ceil(8))?;
    if let Some(bits) = bits {
        keys.component(0, at, &mut mask);
        unpack_rows(as_words(&mask), lanes, &mut shares.components_mut()[0]);
        let mut masked = pack_rows(bits.words(), lanes)?;
        masked
            .iter_mut()
            .zip(as_words(&mask))
            .for_each(|(bits, mask)| *bits ^= mask);
        ring.next.send(steps::INPUT, as_bytes(&masked))?;
        ring.next.flush()?;
        unpack_rows(&masked, lanes, &mut shares.components_mut()[1]);
    } else if owner == ring.previous.peer() {
        let masked = &mut as_words_mut(&mut mask)[..words];
        ring.previous.recv(steps::INPUT, as_bytes_mut(masked))?;
        unpack_rows(masked, lanes, &mut shares.components_mut()[0]);
    } else {
        debug_assert_ne!(me, owner, "the owner gives its bits");
        keys.component(1, at, &mut mask);
        unpack_rows(as_words(&mask), lanes, &mut shares.components_mut()[1]);
    }
    Ok(shares)
}
