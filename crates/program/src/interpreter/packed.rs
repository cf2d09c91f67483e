//! Values on their way between a program and its parties.

use std::fmt;

use cenote_primitives::{BitMatrix, as_bytes, as_bytes_mut};
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// Bits of `rows` wires in `lanes` places.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Packed {
    rows: u32,
    lanes: usize,
    #[serde(with = "serde_bytes")]
    words: Vec<u8>,
}

impl fmt::Debug for Packed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Packed({} bits × {})", self.rows, self.lanes)
    }
}

/// Bytes of a number of `width` bits: 8, or 16 if it has more than 64.
fn bytes_of(width: u32) -> usize {
    if width <= 64 { 8 } else { 16 }
}

impl Packed {
    /// Numbers of `width` bits, at most 128, each of 8 bytes, the least significant first, or of 16 if they have more than 64 bits. Bits above are left out.
    ///
    /// # Errors
    /// [`Error::BadInput`] if there are none, or not all of one.
    pub fn of_numbers(width: u32, numbers: &[u8]) -> Result<Self> {
        let each = bytes_of(width);
        if !(1..=128).contains(&width) || numbers.is_empty() || !numbers.len().is_multiple_of(each) {
            let what = format!("{} bytes are no numbers of {width} bits", numbers.len());
            return Err(Error::BadInput(what));
        }
        let mut rows = BitMatrix::zeros(numbers.len() / each, width as usize);
        for (lane, number) in numbers.chunks_exact(each).enumerate() {
            as_bytes_mut(rows.row_mut(lane)).copy_from_slice(number);
        }
        rows.mask_padding();
        Ok(Self::from(&rows.transpose()))
    }

    /// The numbers, as [`Packed::of_numbers`] takes them.
    ///
    /// # Errors
    /// [`Error::BadInput`] if they have more than 128 bits.
    pub fn numbers(&self) -> Result<Vec<u8>> {
        if !(1..=128).contains(&self.rows) {
            let what = format!("{} bits are no number that is told", self.rows);
            return Err(Error::BadInput(what));
        }
        let rows = self.bits()?.transpose();
        let each = bytes_of(self.rows);
        let mut numbers = Vec::with_capacity(rows.rows() * each);
        for lane in 0..rows.rows() {
            numbers.extend_from_slice(as_bytes(rows.row(lane)));
        }
        Ok(numbers)
    }

    /// Bits of each.
    pub fn width(&self) -> u32 {
        self.rows
    }

    /// How many there are.
    pub fn lanes(&self) -> usize {
        self.lanes
    }

    /// Bytes that it takes.
    pub fn size(&self) -> usize {
        self.words.len()
    }

    /// The words of its bits.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.words
    }

    /// Its bits.
    ///
    /// # Errors
    /// [`Error::BadInput`] if it has not as many bytes as it should.
    pub(super) fn bits(&self) -> Result<BitMatrix> {
        let wrong = || Error::BadInput(format!("{self:?} has {} bytes", self.words.len()));
        let words = (self.rows as usize).checked_mul(self.lanes.div_ceil(64));
        if words.and_then(|words| words.checked_mul(8)) != Some(self.words.len()) {
            return Err(wrong());
        }
        let mut bits = BitMatrix::try_zeros(self.rows as usize, self.lanes).ok_or_else(wrong)?;
        as_bytes_mut(bits.words_mut()).copy_from_slice(&self.words);
        bits.mask_padding();
        Ok(bits)
    }
}

impl From<&BitMatrix> for Packed {
    fn from(bits: &BitMatrix) -> Self {
        Self {
            rows: bits.rows() as u32,
            lanes: bits.lanes(),
            words: as_bytes(bits.words()).to_vec(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_packed_and_told_again() {
        for (width, number) in [(1, 1u64), (7, 99), (32, 0xdead_beef), (64, u64::MAX - 5)] {
            let numbers: Vec<u8> = (0..130)
                .flat_map(|at| (number >> (at % 3)).to_le_bytes())
                .collect();
            let packed = Packed::of_numbers(width, &numbers).unwrap();
            assert_eq!((packed.width(), packed.lanes()), (width, 130));
            assert_eq!(packed.numbers().unwrap(), numbers);
            assert!(!format!("{packed:?}").contains("words"));
        }
        let wide = (1u128 << 127 | 77).to_le_bytes();
        assert_eq!(Packed::of_numbers(128, &wide).unwrap().numbers().unwrap(), wide);
        // What is above is left out.
        let told = Packed::of_numbers(3, &0xffu64.to_le_bytes()).unwrap().numbers();
        assert_eq!(told.unwrap(), 7u64.to_le_bytes());
    }

    #[test]
    fn what_has_another_size_is_refused() {
        for (width, bytes) in [(0, 8), (129, 16), (8, 0), (8, 12), (65, 8)] {
            assert!(
                Packed::of_numbers(width, &vec![0; bytes]).is_err(),
                "{width} {bytes}"
            );
        }
        let mut packed = Packed::of_numbers(8, &[0; 16]).unwrap();
        packed.lanes = usize::MAX;
        assert!(packed.bits().is_err());
        packed.lanes = 65;
        assert!(packed.numbers().is_err());
        packed.rows = 200;
        assert!(packed.numbers().is_err());
    }
}
