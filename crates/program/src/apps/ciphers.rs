//! AES and SHA-256 of secrets.

use cenote_circuit::library;

use crate::function::call;
use crate::op::Called;
use crate::secret::Secret;
use crate::value::Value;

/// The AES-128 ciphertext of `message` under `key`, both as numbers whose most significant byte is the first: 6,400 ANDs, of which 1,280 are the key's.
#[track_caller]
pub fn aes128(key: &Secret<u128>, message: &Secret<u128>) -> Secret<u128> {
    let encrypt = Called::new("AES-128", 6400, |b, operands, goal| {
        library::aes_encrypt(b, operands[0], operands[1], goal)
    });
    let mut results = call(&encrypt, &[key.value(), message.value()], &[128]);
    Secret::of(results.remove(0))
}

/// Bytes of a block.
const BLOCK: usize = 64;

/// The SHA-256 digest of a message, a secret for each byte: 22,271 ANDs for every 64 bytes, padding included. With rows, message `i` has the bytes of place `i`.
///
/// # Panics
/// If the message is empty: its digest is no secret.
#[track_caller]
pub fn sha256(message: &[Secret<u8>]) -> Vec<Secret<u8>> {
    let session = message.first().expect("a message has bytes").session();
    let lanes = message.iter().map(Secret::len).max().unwrap_or(1);
    let bits = message.len() as u64 * 8;
    let mut padded = message.to_vec();
    padded.push(session.public(0x80));
    let zeros = (BLOCK - (padded.len() + 8) % BLOCK) % BLOCK;
    padded.resize(padded.len() + zeros, session.public(0));
    padded.extend(bits.to_be_bytes().map(|byte| session.public(byte)));

    let mut state: Option<Value> = None;
    for block in padded.chunks(BLOCK) {
        // The first byte is the most significant.
        let bytes: Vec<Value> = block
            .iter()
            .rev()
            .map(|byte| byte.value().spread(lanes))
            .collect();
        let block = Value::join(&bytes.iter().collect::<Vec<_>>());
        let operands: Vec<&Value> = std::iter::once(&block).chain(&state).collect();
        let compress = match state {
            None => Called::new("SHA-256, first block", 22_271, |b, operands, goal| {
                library::sha256_block(b, operands[0], &library::sha256_initial_state(), goal)
            }),
            Some(_) => Called::new("SHA-256, a block", 22_271, |b, operands, goal| {
                library::sha256_block(b, operands[0], operands[1], goal)
            }),
        };
        state = Some(call(&compress, &operands, &[256]).remove(0));
    }
    let digest = state.expect("there is a block");
    (0..32)
        .rev()
        .map(|byte| Secret::of(digest.part(8 * byte, 8)))
        .collect()
}
