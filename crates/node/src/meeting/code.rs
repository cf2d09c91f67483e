//! The short code that all parties compare, and the commitments that keep anybody from searching for one.

use cenote::Fingerprint;
use subtle::ConstantTimeEq;

use crate::founding::Member;

const COMMITMENT: &str = "cenote meeting commitment 1";
const CODE: &str = "cenote meeting code 2";

/// What a party adds to the code.
pub(crate) type Nonce = [u8; 16];

/// A nonce, by which nobody can choose the code.
pub(crate) fn nonce() -> Result<Nonce, getrandom::Error> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes)?;
    Ok(bytes)
}

/// What a party says of its nonce before it hears of any other.
pub(crate) fn commitment(fingerprint: &Fingerprint, nonce: &Nonce) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new_derive_key(COMMITMENT);
    hasher.update(fingerprint.to_string().as_bytes());
    hasher.update(nonce);
    *hasher.finalize().as_bytes()
}

/// Whether two secrets are one.
pub(crate) fn equal(a: &[u8], b: &[u8]) -> bool {
    a.ct_eq(b).into()
}

/// The code of parties with these names, addresses, fingerprints and nonces, in their order: three times four digits.
pub(crate) fn code(parties: &[(Member, Nonce)]) -> String {
    let mut hasher = blake3::Hasher::new_derive_key(CODE);
    let mut add = |part: &[u8]| {
        hasher.update(&(part.len() as u64).to_le_bytes()).update(part);
    };
    for (member, nonce) in parties {
        add(member.name.as_bytes());
        add(&[u8::from(member.address.is_some())]);
        add(member.address.as_deref().unwrap_or_default().as_bytes());
        add(member.fingerprint.to_string().as_bytes());
        add(nonce);
    }
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&hasher.finalize().as_bytes()[..16]);
    let number = u128::from_le_bytes(bytes) % 1_000_000_000_000;
    let part = |place: u32| number / 10_000u128.pow(place) % 10_000;
    format!("{:04} {:04} {:04}", part(2), part(1), part(0))
}
