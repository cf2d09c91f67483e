//! A test whether two sides have the same password, which tells a cheater no more than whether one guess is right: the balanced PAKE CPace
//! over Ristretto255 with SHA-512 (draft-irtf-cfrg-cpace, `CPaceRistretto255`), with key confirmation both ways.
//!
//! - Both hash the password, their names and the run's to a generator g, draw y, and send Y = y·g ([`Share`]).
//! - With the other's Y' both know K = y·Y', and hash it with the run's name and both shares (`transcript_ir`, the side that comes first is
//!   the initiator). Each sends a tag of its own share and checks the other's ([`Tags`]).
//!
//! A share alone is uniform whatever the password is. A tag tells whoever made up the other share whether one password is right: that from
//! which it made its own share, if it did. A password of another run, role or pair of sides gives another tag.
//!
//! Whoever tests has to count failures: a run in which a tag was sent and none accepted is a guess of the other side's.
//!
//! All operations on secrets take constant time. What comes from the peer may be any bytes.

use cenote_primitives::Entropy;
use curve25519_dalek::RistrettoPoint;
use curve25519_dalek::ristretto::CompressedRistretto;
use curve25519_dalek::scalar::Scalar;
use curve25519_dalek::traits::IsIdentity;
use sha2::{Digest, Sha512};
use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

/// Bytes of a share, and of a tag.
pub const BYTES: usize = 32;

const DSI: &[u8] = b"CPaceRistretto255";

const DSI_ISK: &[u8] = b"CPaceRistretto255_ISK";

/// Bytes that SHA-512 takes in at a time.
const HASH_BLOCK: usize = 128;

/// What a run is bound to besides the password, the same at both sides.
#[derive(Clone, Copy, Debug)]
pub struct Context<'a> {
    /// The name of the run, which no other one has.
    pub run: &'a [u8],
    /// Who the sides are, each in its role.
    pub sides: &'a [u8],
    /// What each side's tag says besides, of the first and of the second.
    pub roles: [&'a [u8]; 2],
}

/// A side's share, and the secret of it.
///
/// `Debug` prints the type only.
pub struct Share<'a> {
    context: Context<'a>,
    is_first: bool,
    secret: Zeroizing<Scalar>,
    sent: [u8; BYTES],
}

/// The tags of both sides.
///
/// `Debug` prints the type only.
pub struct Tags {
    own: [u8; BYTES],
    others: Zeroizing<[u8; BYTES]>,
}

impl<'a> Share<'a> {
    /// The share of the first side, or of the second.
    pub fn new(password: &[u8], context: Context<'a>, is_first: bool, entropy: &mut Entropy) -> Self {
        let secret = loop {
            let secret = Scalar::from_bytes_mod_order_wide(&Zeroizing::new(entropy.bytes()));
            // Never, but for chance.
            if secret != Scalar::ZERO {
                break Zeroizing::new(secret);
            }
        };
        Self::with(password, context, is_first, secret)
    }

    fn with(password: &[u8], context: Context<'a>, is_first: bool, secret: Zeroizing<Scalar>) -> Self {
        let generator = generator(password, &context);
        let sent = Zeroizing::new(*generator * *secret).compress().0;
        Self {
            context,
            is_first,
            secret,
            sent,
        }
    }

    /// What is sent.
    pub fn bytes(&self) -> &[u8; BYTES] {
        &self.sent
    }

    /// The tags, if `theirs` is a share: a point but the neutral one.
    pub fn tags(self, theirs: &[u8; BYTES]) -> Option<Tags> {
        let shares = match self.is_first {
            true => [&self.sent, theirs],
            false => [theirs, &self.sent],
        };
        let key = key(&self.context, shares, &*agreed(&self.secret, theirs)?);
        let [first, second] = [0, 1].map(|side| tag(&key, shares[side], self.context.roles[side]));
        let (own, others) = match self.is_first {
            true => (first, second),
            false => (second, first),
        };
        Some(Tags {
            own,
            others: Zeroizing::new(others),
        })
    }
}

impl Tags {
    /// What is sent.
    pub fn own(&self) -> &[u8; BYTES] {
        &self.own
    }

    /// Whether the other side has sent its tag: then its password is the same.
    pub fn accept(&self, theirs: &[u8; BYTES]) -> bool {
        self.others.ct_eq(theirs).into()
    }
}

/// g.
fn generator(password: &[u8], context: &Context<'_>) -> Zeroizing<RistrettoPoint> {
    let filled = 1 + prefixed(password.len()) + prefixed(DSI.len());
    let zeros = [0; HASH_BLOCK];
    let mut hasher = Sha512::new();
    let zeros = &zeros[..HASH_BLOCK.saturating_sub(filled)];
    for part in [DSI, password, zeros, context.sides, context.run] {
        add(&mut hasher, part);
    }
    let uniform: Zeroizing<[u8; 64]> = Zeroizing::new(hasher.finalize().into());
    Zeroizing::new(RistrettoPoint::from_uniform_bytes(&uniform))
}

/// K, encoded.
fn agreed(secret: &Scalar, theirs: &[u8; BYTES]) -> Option<Zeroizing<[u8; BYTES]>> {
    let theirs = CompressedRistretto(*theirs).decompress()?;
    // The order is a prime and the secret not 0: it is neutral if the share is.
    let agreed = Zeroizing::new(theirs * secret);
    (!agreed.is_identity()).then(|| Zeroizing::new(agreed.compress().0))
}

/// The key of tags, from the intermediate session key.
fn key(context: &Context<'_>, shares: [&[u8; BYTES]; 2], agreed: &[u8; BYTES]) -> Zeroizing<[u8; BYTES]> {
    let of_session = session_key(context, shares, agreed);
    let mut hasher = Sha512::new();
    hasher.update(b"CPaceMac");
    hasher.update(context.run);
    hasher.update(of_session.as_slice());
    let key: Zeroizing<[u8; 64]> = Zeroizing::new(hasher.finalize().into());
    Zeroizing::new(*key.first_chunk().expect("it is longer"))
}

/// ISK.
fn session_key(
    context: &Context<'_>,
    shares: [&[u8; BYTES]; 2],
    agreed: &[u8; BYTES],
) -> Zeroizing<[u8; 64]> {
    let ([first, second], [of_first, of_second]) = (shares, context.roles);
    let mut hasher = Sha512::new();
    for part in [DSI_ISK, context.run, agreed, first, of_first, second, of_second] {
        add(&mut hasher, part);
    }
    Zeroizing::new(hasher.finalize().into())
}

/// The tag of a side.
fn tag(key: &[u8; BYTES], share: &[u8; BYTES], role: &[u8]) -> [u8; BYTES] {
    let mut hasher = blake3::Hasher::new_keyed(key);
    for part in [share, role] {
        let (length, count) = length(part.len());
        hasher.update(&length[..count]).update(part);
    }
    let tag = *hasher.finalize().as_bytes();
    zeroize::Zeroize::zeroize(&mut hasher);
    tag
}

/// Hashes a string with its length before it.
fn add(hasher: &mut Sha512, part: &[u8]) {
    let (length, count) = length(part.len());
    hasher.update(&length[..count]);
    hasher.update(part);
}

/// Bytes of a string of so many with its length before it.
fn prefixed(bytes: usize) -> usize {
    length(bytes).1 + bytes
}

/// A length in LEB128, and how many bytes that takes.
fn length(mut length: usize) -> ([u8; 10], usize) {
    let mut bytes = [0; 10];
    let mut count = 0;
    loop {
        let more = length > 127;
        bytes[count] = (length & 127) as u8 | if more { 128 } else { 0 };
        count += 1;
        length >>= 7;
        if !more {
            return (bytes, count);
        }
    }
}

/// Strings, each with its length before it.
pub fn strings(parts: &[&[u8]]) -> Vec<u8> {
    let mut all = Vec::new();
    for part in parts {
        let (length, count) = length(part.len());
        all.extend_from_slice(&length[..count]);
        all.extend_from_slice(part);
    }
    all
}

impl std::fmt::Debug for Share<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Share")
    }
}

impl std::fmt::Debug for Tags {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Tags")
    }
}

#[cfg(test)]
mod tests;
