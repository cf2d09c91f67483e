//! The coin of all parties, by which they hash the keys of their rows.
//!
//! Every party commits to a share, and to a digest of its own keys, before any share is opened: so nobody can choose keys that the coin puts into few parts. The
//! digest is never opened, and what commits to it tells nothing of it.

use cenote_net::PartyId;
use cenote_primitives::Entropy;
use cenote_session::{Error, Result};

use crate::all::All;
use crate::checks::COIN;
use crate::steps::{COMMIT, OPEN};

/// Bytes of a share, of a nonce, and of the coin.
const BYTES: usize = 32;

/// A hash of texts, none of which can pass for a part of another.
fn hash(context: &str, texts: &[&[u8]]) -> [u8; BYTES] {
    let mut hasher = blake3::Hasher::new_derive_key(context);
    for text in texts {
        hasher.update(&(text.len() as u64).to_le_bytes());
        hasher.update(text);
    }
    *hasher.finalize().as_bytes()
}

/// What commits `party` to a share, or to a digest of its keys, in the run of this name. `opening` begins with a nonce.
fn commitment(what: &str, run: &str, party: PartyId, opening: &[u8]) -> [u8; BYTES] {
    let texts: [&[u8]; 4] = [what.as_bytes(), run.as_bytes(), &[party.0], opening];
    hash("cenote 2026 shards coin commitment", &texts)
}

/// Tosses the coin of the run of this name.
///
/// # Errors
/// [`COIN`] for a party that says different commitments to different parties, or opens another share than it committed to; those of the channels.
pub(crate) fn toss(all: &mut All, run: &str, keys: &[u8; 32], entropy: &mut Entropy) -> Result<[u8; 32]> {
    let opening = entropy.bytes::<{ 2 * BYTES }>();
    let hidden = [entropy.bytes::<BYTES>(), *keys].concat();
    let own = [
        commitment("share", run, all.me, &opening),
        commitment("keys", run, all.me, &hidden),
    ];
    let committed = all.agree(COMMIT, own.as_flattened(), COIN)?;
    let opened = all.exchange(OPEN, &opening)?;
    for peer in all.pairs.iter().map(|pair| pair.peer) {
        let expected = commitment("share", run, peer, &opened[peer.index()]);
        if committed[peer.index()][..BYTES] != expected {
            let detail = "it opens another share than the one that it committed to";
            return Err(Error::cheated(COIN, peer, OPEN, detail));
        }
    }
    let mut texts = vec![run.as_bytes()];
    texts.extend(opened.iter().map(|opening| &opening[BYTES..]));
    Ok(hash("cenote 2026 shards coin", &texts))
}

/// The name of a job that begins in this run with this coin.
pub(crate) fn name(run: &str, coin: &[u8; 32]) -> [u8; 32] {
    hash("cenote 2026 shards job", &[run.as_bytes(), coin])
}

/// What a party remembers of its keys, to notice that they have changed.
pub(crate) fn keys_digest(keys: &[u8; 32]) -> [u8; 32] {
    hash("cenote 2026 shards keys", &[keys])
}

/// The name of the session of an attempt whose workers are at these places.
pub(crate) fn session(run: &str, shards: u32, attempt: &crate::Attempt, places: &[crate::Place]) -> String {
    let (shards, attempt) = (shards.to_string(), attempt.to_string());
    let mut texts = vec![run.as_bytes(), shards.as_bytes(), attempt.as_bytes()];
    let keys: Vec<[u8; 32]> = (places.iter().map(|place| &place.fingerprint))
        .map(crate::message::digits)
        .collect();
    for (place, key) in places.iter().zip(&keys) {
        texts.extend([place.address.as_bytes(), key]);
    }
    format!(
        "cenote shard {}",
        hex::encode(hash("cenote 2026 shards session", &texts))
    )
}
