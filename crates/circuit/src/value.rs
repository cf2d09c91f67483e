//! Text, numbers and the wires of a value.
//!
//! A number is [`Value::words`] words, the least significant first, whose bits from the value's width on are zero. Text is
//! as people write numbers, the most significant digit first. The [`BitOrder`] of the value says which bit of the number is
//! on its first wire.

use std::ops::Range;

use cenote_primitives::{BitMatrix, transpose64};

use crate::ir::{BitOrder, Value};

/// Why a number was not laid on the wires of a value. The message does not repeat the number, which may be private.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ValueError {
    /// There are no digits.
    #[error("the number has no digits")]
    Empty,
    /// A character is not a digit.
    #[error("character {position} is not a {} digit", if *.radix == 16 { "hexadecimal" } else { "decimal" })]
    NotADigit {
        /// Where, counted from 1.
        position: usize,
        /// 10 or 16.
        radix: u32,
    },
    /// There are more hexadecimal digits than the value takes, even if they are zero.
    #[error("{found} hexadecimal digits are too many for a value of {width} bits, which takes {limit}")]
    TooLong {
        /// Digits found.
        found: usize,
        /// How many the value takes.
        limit: usize,
        /// Width of the value.
        width: u32,
    },
    /// The number is 2^width or more.
    #[error("the number does not fit in {width} bits")]
    TooLarge {
        /// Width of the value.
        width: u32,
    },
}

/// The largest power of ten in a word, and its exponent.
const TEN_POWER: (u64, usize) = (10_000_000_000_000_000_000, 19);

impl Value {
    /// The words of a number on this value's wires.
    pub fn words(&self) -> usize {
        (self.width as usize).div_ceil(64)
    }

    /// Reads a number written in hexadecimal after `0x`, or else in decimal.
    ///
    /// # Errors
    /// Those of [`Value::parse_hex`] and [`Value::parse_decimal`]; `number` may be written to all the same.
    ///
    /// # Panics
    /// If `number` is not [`Value::words`] long.
    pub fn parse(&self, text: &str, number: &mut [u64]) -> Result<(), ValueError> {
        if text.starts_with("0x") || text.starts_with("0X") {
            self.parse_hex(text, number)
        } else {
            self.parse_decimal(text, number)
        }
    }

    /// Reads a number in hexadecimal, with or without `0x`. Leading zeros may be missing.
    ///
    /// # Errors
    /// [`ValueError`] if it is empty, has a character that is no digit, or has more digits than the value takes.
    ///
    /// # Panics
    /// As [`Value::parse`].
    pub fn parse_hex(&self, text: &str, number: &mut [u64]) -> Result<(), ValueError> {
        self.clear(number);
        let digits = text
            .strip_prefix("0x")
            .or_else(|| text.strip_prefix("0X"))
            .unwrap_or(text);
        check_digits(digits, text.len() - digits.len(), 16)?;
        let (found, limit) = (digits.len(), self.width.div_ceil(4).max(1) as usize);
        if found > limit {
            return Err(ValueError::TooLong {
                found,
                limit,
                width: self.width,
            });
        }
        // A value without wires takes one digit, which is on no word.
        let mut beyond = 0;
        for (position, digit) in digits.bytes().rev().enumerate() {
            let word = number.get_mut(position / 16).unwrap_or(&mut beyond);
            *word |= u64::from(hex_digit(digit)) << (position % 16 * 4);
        }
        self.check_fits(number, beyond)
    }

    /// Reads a number in decimal, of any size that the value takes.
    ///
    /// # Errors
    /// [`ValueError`] if it is empty, has a character that is no digit, or is too large.
    ///
    /// # Panics
    /// As [`Value::parse`].
    pub fn parse_decimal(&self, text: &str, number: &mut [u64]) -> Result<(), ValueError> {
        self.clear(number);
        check_digits(text, 0, 10)?;
        let digits = text.trim_start_matches('0').as_bytes();
        let (head, chunks) = digits.split_at(digits.len() % TEN_POWER.1);
        for chunk in std::iter::once(head).chain(chunks.chunks_exact(TEN_POWER.1)) {
            let value = |sum: u64, digit: &u8| sum * 10 + u64::from(digit - b'0');
            let mut carry = chunk.iter().fold(0, value);
            for word in number.iter_mut() {
                let product = u128::from(*word) * u128::from(TEN_POWER.0) + u128::from(carry);
                (*word, carry) = (product as u64, (product >> 64) as u64);
            }
            self.check_fits(number, carry)?;
        }
        Ok(())
    }

    /// The number in hexadecimal, one digit for each four bits begun, without `0x`.
    ///
    /// # Panics
    /// As [`Value::parse`].
    pub fn hex(&self, number: &[u64]) -> String {
        assert_eq!(number.len(), self.words(), "the words of the value");
        (0..self.width.div_ceil(4) as usize)
            .rev()
            .map(|position| {
                let digit = number[position / 16] >> (position % 16 * 4) & 15;
                char::from_digit(digit as u32, 16).expect("four bits are a digit")
            })
            .collect()
    }

    /// Lays `numbers`, one after the other, on the lanes from `64 · group` on, at most 64 of them, of the rows that are the
    /// value's wires (see [`Circuit::input_range`](crate::Circuit::input_range)).
    ///
    /// # Panics
    /// If there is not one row per wire, or the matrix has no such rows or lanes.
    pub fn store(&self, numbers: &[u64], matrix: &mut BitMatrix, rows: Range<usize>, group: usize) {
        assert_eq!(rows.len(), self.width as usize, "one row per wire");
        let words = self.words();
        let lanes = numbers.len().checked_div(words).unwrap_or(0);
        assert!(
            lanes <= 64 && 64 * group + lanes <= matrix.lanes(),
            "lanes of the matrix"
        );
        if lanes == 0 {
            return;
        }
        for word in 0..words {
            let mut tile = [0; 64];
            for (lane, number) in tile.iter_mut().zip(numbers.chunks_exact(words)) {
                *lane = number[word];
            }
            transpose64(&mut tile);
            for (significance, &bits) in (64 * word..self.width as usize).zip(&tile) {
                matrix.row_mut(rows.start + self.wire(significance))[group] = bits;
            }
        }
    }

    /// Reads the numbers on the lanes from `64 · group` on, as many as there are up to 64, one after the other.
    ///
    /// # Panics
    /// If there is not one row per wire, or the matrix has no such rows or lanes.
    pub fn load(&self, matrix: &BitMatrix, rows: Range<usize>, group: usize) -> Vec<u64> {
        assert_eq!(rows.len(), self.width as usize, "one row per wire");
        let (words, lanes) = (self.words(), (matrix.lanes() - 64 * group).min(64));
        let mut numbers = vec![0; lanes * words];
        for word in 0..words {
            let mut tile = [0; 64];
            for (bits, significance) in tile.iter_mut().zip(64 * word..self.width as usize) {
                *bits = matrix.row(rows.start + self.wire(significance))[group];
            }
            transpose64(&mut tile);
            for (number, &bits) in numbers.chunks_exact_mut(words).zip(&tile) {
                number[word] = bits;
            }
        }
        numbers
    }

    fn clear(&self, number: &mut [u64]) {
        assert_eq!(number.len(), self.words(), "the words of the value");
        number.fill(0);
    }

    /// Refuses a number with bits beyond the width, or any in `beyond`, which is the word after its last.
    fn check_fits(&self, number: &[u64], beyond: u64) -> Result<(), ValueError> {
        let used = self.width % 64;
        let spare = if used == 0 { 0 } else { u64::MAX << used };
        if beyond == 0 && number.last().is_none_or(|last| last & spare == 0) {
            Ok(())
        } else {
            Err(ValueError::TooLarge { width: self.width })
        }
    }

    /// The wire of a significance.
    fn wire(&self, significance: usize) -> usize {
        match self.order {
            BitOrder::Lsb => significance,
            BitOrder::Msb => self.width as usize - 1 - significance,
        }
    }
}

/// Checks that all of `digits`, before which `prefix` characters stand, are digits, and that there are any.
fn check_digits(digits: &str, prefix: usize, radix: u32) -> Result<(), ValueError> {
    if digits.is_empty() {
        return Err(ValueError::Empty);
    }
    match digits.chars().position(|character| !character.is_digit(radix)) {
        None => Ok(()),
        Some(position) => Err(ValueError::NotADigit {
            position: prefix + position + 1,
            radix,
        }),
    }
}

/// The value of a hexadecimal digit.
fn hex_digit(digit: u8) -> u8 {
    match digit {
        b'0'..=b'9' => digit - b'0',
        _ => (digit | 0x20) - b'a' + 10,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn value(width: u32, order: BitOrder) -> Value {
        Value {
            name: "v".into(),
            width,
            order,
        }
    }

    fn parsed(value: &Value, text: &str) -> Result<Vec<u64>, ValueError> {
        let mut number = vec![u64::MAX; value.words()];
        value.parse(text, &mut number).map(|()| number)
    }

    /// The bits on the wires of the only lane, by the definition: one at a time.
    fn slowly(number: &[u64], value: &Value) -> Vec<bool> {
        let bit = |significance: usize| number[significance / 64] >> (significance % 64) & 1 == 1;
        let bits = (0..value.width as usize).map(bit);
        match value.order {
            BitOrder::Lsb => bits.collect(),
            BitOrder::Msb => bits.rev().collect(),
        }
    }

    #[test]
    fn order_decides_where_the_least_significant_bit_lies() {
        let expected = [false, true, true, false, false]; // 6
        for (order, text) in [(BitOrder::Lsb, "6"), (BitOrder::Msb, "0x6")] {
            let value = value(5, order);
            let mut matrix = BitMatrix::zeros(5, 1);
            value.store(&parsed(&value, text).unwrap(), &mut matrix, 0..5, 0);
            let mut bits: Vec<bool> = (0..5).map(|row| matrix.get(row, 0)).collect();
            if order == BitOrder::Msb {
                bits.reverse();
            }
            assert_eq!(bits, expected);
        }
    }

    proptest! {
        /// Numbers of any width on any lanes, against the definition, and back.
        #[test]
        fn lanes_are_laid_as_defined(
            width in 0..200u32,
            lsb in any::<bool>(),
            lanes in 1..200usize,
            first in 0..3usize,
            seed in any::<u64>(),
        ) {
            let value = value(width, if lsb { BitOrder::Lsb } else { BitOrder::Msb });
            let (width, words) = (width as usize, value.words());
            let mut state = seed;
            let numbers: Vec<Vec<u64>> = (0..lanes).map(|_| {
                let mut number: Vec<u64> = (0..words).map(|_| {
                    state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    state ^ state >> 29
                }).collect();
                if let (Some(last), used @ 1..) = (number.last_mut(), width % 64) {
                    *last &= (1 << used) - 1;
                }
                number
            }).collect();
            let rows = first..first + width;
            let mut matrix = BitMatrix::zeros(first + width + 1, lanes);
            let flat = numbers.concat();
            for (group, numbers) in flat.chunks((64 * words).max(1)).enumerate() {
                value.store(numbers, &mut matrix, rows.clone(), group);
            }
            for (lane, number) in numbers.iter().enumerate() {
                let bits = slowly(number, &value);
                for row in 0..matrix.rows() {
                    let expected = rows.contains(&row) && bits[row - first];
                    prop_assert_eq!(matrix.get(row, lane), expected);
                }
            }
            let mut padded = matrix.clone();
            padded.mask_padding();
            prop_assert_eq!(&padded, &matrix);
            let loaded: Vec<u64> = (0..matrix.stride())
                .flat_map(|group| value.load(&matrix, rows.clone(), group))
                .collect();
            prop_assert_eq!(loaded, flat);
        }

        #[test]
        fn all_ways_of_writing_agree(number in any::<u128>(), width in 128..260u32) {
            let value = value(width, BitOrder::Lsb);
            let mut expected = vec![0; value.words()];
            expected[..2].copy_from_slice(&[number as u64, (number >> 64) as u64]);
            for text in [format!("{number}"), format!("00{number}"), format!("0x{number:x}"), format!("0X{number:X}")] {
                prop_assert_eq!(parsed(&value, &text), Ok(expected.clone()));
            }
            let mut bare = vec![0; value.words()];
            value.parse_hex(&format!("{number:x}"), &mut bare).unwrap();
            prop_assert_eq!(&bare, &expected);
            let digits = width.div_ceil(4) as usize;
            prop_assert_eq!(value.hex(&expected), format!("{number:0digits$x}"));
        }
    }

    #[test]
    fn wide_decimals() {
        // 2^200, computed elsewhere.
        let power = "1606938044258990275541962092341162602522202993782792835301376";
        let wide = value(201, BitOrder::Lsb);
        let number = parsed(&wide, power).unwrap();
        assert_eq!(wide.hex(&number), format!("1{}", "0".repeat(50)));
        for width in [192, 199, 200] {
            assert_eq!(
                parsed(&value(width, BitOrder::Lsb), power),
                Err(ValueError::TooLarge { width })
            );
        }
        assert_eq!(parsed(&value(7, BitOrder::Lsb), "000000000000"), Ok(vec![0]));
    }

    #[test]
    fn refusals() {
        let five = value(5, BitOrder::Msb);
        let large = Err(ValueError::TooLarge { width: 5 });
        assert_eq!(parsed(&five, "31"), Ok(vec![31]));
        assert_eq!(parsed(&five, "32"), large);
        assert_eq!(parsed(&five, "999999999999999999999999999999999999999999"), large);
        assert_eq!(parsed(&five, "0x1f"), Ok(vec![31]));
        assert_eq!(parsed(&five, "0x20"), large);
        let word = value(64, BitOrder::Lsb);
        assert_eq!(parsed(&word, "18446744073709551615"), Ok(vec![u64::MAX]));
        assert_eq!(
            parsed(&word, "18446744073709551616"),
            Err(ValueError::TooLarge { width: 64 })
        );
        for text in ["", "0x"] {
            assert_eq!(parsed(&five, text), Err(ValueError::Empty));
        }
        let messages = [
            ("1-", "character 2 is not a decimal digit"),
            ("+1", "character 1 is not a decimal digit"),
            ("0x1g", "character 4 is not a hexadecimal digit"),
            (
                "0x01f",
                "3 hexadecimal digits are too many for a value of 5 bits, which takes 2",
            ),
            ("32", "the number does not fit in 5 bits"),
        ];
        for (text, message) in messages {
            assert_eq!(parsed(&five, text).unwrap_err().to_string(), message);
        }
    }

    #[test]
    fn a_value_without_wires_is_zero() {
        let none = value(0, BitOrder::Lsb);
        assert_eq!(parsed(&none, "0"), Ok(vec![]));
        assert_eq!(parsed(&none, "0x0"), Ok(vec![]));
        assert_eq!(parsed(&none, "1"), Err(ValueError::TooLarge { width: 0 }));
        assert_eq!(parsed(&none, "0x1"), Err(ValueError::TooLarge { width: 0 }));
        assert_eq!(none.hex(&[]), "");
    }
}
