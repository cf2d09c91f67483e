//! Random OTs from rows of the extension, by a hash that breaks their correlation.
//!
//! The Δ-sender's strings are H(i, q_i) and H(i, q_i ⊕ d), the Δ-receiver's is H(i, t_i) for its t_i = q_i ⊕ x_i d. That
//! the other one stays pseudorandom is correlation robustness of H (Ishai, Kilian, Nissim, Petrank 2003), with the index
//! of the row as tweak, since a receiver that cheats has a say in the rows (Guo, Katz, Wang, Yu 2020). Rows have 298 bits
//! of which all but 40 are unknown; they are hashed as they are, before extraction. The hash is BLAKE3, keyed by the
//! session, as a random oracle, which the base OTs need anyhow: a hash from AES such as that of gates takes one block of
//! 128 bits, and would be faster only where random OTs are many. They are the seeds of commitments, some hundreds.

use cenote_primitives::Block;
use zeroize::Zeroizing;

use crate::extractor::Row;

/// H of a session.
pub(crate) struct RowHash {
    key: [u8; blake3::KEY_LEN],
}

impl RowHash {
    pub(crate) fn new(session: &[u8]) -> Self {
        Self {
            key: blake3::derive_key("Cenote 2025 OT extension: random OT", session),
        }
    }

    /// H(index, row). An index must be used for one row, and its sum with the difference, only.
    pub(crate) fn string(&self, index: u64, row: &Row) -> Block {
        let mut input = Zeroizing::new([[0; 8]; 1 + size_of::<Row>() / 8]);
        input[0] = index.to_le_bytes();
        for (bytes, word) in input[1..].iter_mut().zip(row) {
            *bytes = word.to_le_bytes();
        }
        let hash = Zeroizing::new(*blake3::keyed_hash(&self.key, input.as_flattened()).as_bytes());
        Block::from_bytes(*hash.first_chunk().expect("a hash has 32 bytes"))
    }
}
