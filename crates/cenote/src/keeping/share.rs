//! What a party has of a kept value, and its bytes.

use std::fmt;

use cenote_primitives::BitMatrix;
use zeroize::{Zeroize, Zeroizing};

/// What a party has of a kept value: rows of bits, one lane for each instance. Of the protocol's own shares, [`Protocol::KEPT_ROWS`](cenote_protocol::Protocol::KEPT_ROWS)
/// for each bit of the value; of others the share, four secrets and two tags of 64 bits.
pub struct Share(pub(super) BitMatrix);

impl fmt::Debug for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Share")
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.0.words_mut().zeroize();
    }
}

impl Share {
    pub(crate) fn of(bits: BitMatrix) -> Self {
        Share(bits)
    }

    pub(crate) fn into_bits(mut self) -> BitMatrix {
        std::mem::replace(&mut self.0, BitMatrix::zeros(0, 0))
    }

    /// Bytes of a share of so many rows and lanes.
    pub(crate) fn bytes_of(rows: usize, lanes: usize) -> usize {
        SHAPE + rows * lanes.div_ceil(8)
    }

    /// Its bytes: its shape, and row after row, each in as few as hold its lanes.
    pub fn to_bytes(&self) -> Zeroizing<Vec<u8>> {
        let size = Self::bytes_of(self.0.rows(), self.0.lanes());
        let mut bytes = Zeroizing::new(Vec::with_capacity(size));
        self.put(&mut bytes);
        bytes
    }

    /// Appends them to `bytes`, which must have [room](Self::bytes_of): growing would leave the old copy in memory unwiped.
    pub(crate) fn put(&self, bytes: &mut Vec<u8>) {
        let row = self.0.lanes().div_ceil(8);
        bytes.extend(shape(self.0.rows(), self.0.lanes()));
        for index in 0..self.0.rows() {
            let words = self.0.row(index).iter();
            bytes.extend(words.flat_map(|word| word.to_le_bytes()).take(row));
        }
    }

    /// The share of so many rows and lanes, of its bytes; nothing if they are of another shape.
    pub(crate) fn from_bytes(rows: usize, lanes: usize, bytes: &[u8]) -> Option<Self> {
        let row = lanes.div_ceil(8);
        let (found, bytes) = bytes.split_first_chunk::<SHAPE>()?;
        if *found != shape(rows, lanes) || row.checked_mul(rows) != Some(bytes.len()) || row == 0 {
            return None;
        }
        let mut share = Share(BitMatrix::try_zeros(rows, lanes)?);
        for (index, bytes) in bytes.chunks_exact(row).enumerate() {
            for (word, bytes) in share.0.row_mut(index).iter_mut().zip(bytes.chunks(8)) {
                let mut whole = [0; 8];
                whole[..bytes.len()].copy_from_slice(bytes);
                *word = u64::from_le_bytes(whole);
            }
        }
        share.0.mask_padding();
        Some(share)
    }
}

/// Bytes of the shape of a share.
pub(super) const SHAPE: usize = 16;

fn shape(rows: usize, lanes: usize) -> [u8; SHAPE] {
    let mut shape = [0; SHAPE];
    shape[..8].copy_from_slice(&(rows as u64).to_le_bytes());
    shape[8..].copy_from_slice(&(lanes as u64).to_le_bytes());
    shape
}
