//! Integers, bytes and text on the wires of a value.
//!
//! Every function goes through the [`BitOrder`] of the value: bits are listed in the order of the wires, numbers are
//! written as people write them, most significant digit or byte first.

use std::ops::Range;

use cenote_primitives::BitMatrix;

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
    /// There are more hexadecimal digits or bytes than the value takes, even if they are zero.
    #[error("{found} {unit} are too many for a value of {width} bits, which takes {limit}")]
    TooLong {
        /// Digits or bytes found.
        found: usize,
        /// "hexadecimal digits" or "bytes".
        unit: &'static str,
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
    /// The bits, in wire order, of a number written in hexadecimal after `0x`, or else in decimal.
    ///
    /// # Errors
    /// Those of [`Value::bits_from_hex`] and [`Value::bits_from_decimal`].
    pub fn parse(&self, text: &str) -> Result<Vec<bool>, ValueError> {
        if text.starts_with("0x") || text.starts_with("0X") {
            self.bits_from_hex(text)
        } else {
            self.bits_from_decimal(text)
        }
    }

    /// The bits, in wire order, of a number in hexadecimal, with or without `0x`. Leading zeros may be missing.
    ///
    /// # Errors
    /// [`ValueError`] if it is empty, has a character that is no digit, or has more digits than the value takes.
    pub fn bits_from_hex(&self, text: &str) -> Result<Vec<bool>, ValueError> {
        let digits = text
            .strip_prefix("0x")
            .or_else(|| text.strip_prefix("0X"))
            .unwrap_or(text);
        let prefix = text.len() - digits.len();
        let nibbles = digits_of(digits, prefix, 16)?;
        self.check_length(nibbles.len(), "hexadecimal digits", 4)?;
        self.lay(nibbles.len() * 4, |bit| {
            nibbles[nibbles.len() - 1 - bit / 4] >> (bit % 4) & 1 == 1
        })
    }

    /// The bits, in wire order, of a number in decimal, of any size that the value takes.
    ///
    /// # Errors
    /// [`ValueError`] if it is empty, has a character that is no digit, or is too large.
    pub fn bits_from_decimal(&self, text: &str) -> Result<Vec<bool>, ValueError> {
        let digits = digits_of(text, 0, 10)?;
        let leading = digits.iter().take_while(|&&digit| digit == 0).count();
        let digits = &digits[leading..];
        // A number of d digits is at least 10^(d-1), which is at least 8^(d-1).
        if digits.len() as u64 > u64::from(self.width) / 3 + 1 {
            return Err(ValueError::TooLarge { width: self.width });
        }
        let mut words: Vec<u64> = Vec::new();
        let (head, chunks) = digits.split_at(digits.len() % TEN_POWER.1);
        for chunk in std::iter::once(head).chain(chunks.chunks_exact(TEN_POWER.1)) {
            let mut carry = chunk.iter().fold(0, |sum, &digit| sum * 10 + u64::from(digit));
            for word in &mut words {
                let product = u128::from(*word) * u128::from(TEN_POWER.0) + u128::from(carry);
                (*word, carry) = (product as u64, (product >> 64) as u64);
            }
            if carry != 0 {
                words.push(carry);
            }
        }
        self.lay(words.len() * 64, |bit| words[bit / 64] >> (bit % 64) & 1 == 1)
    }

    /// The bits, in wire order, of a number given as bytes, most significant first. Leading zeros may be missing.
    ///
    /// # Errors
    /// [`ValueError`] if there are more bytes or bits than the value takes.
    pub fn bits_from_bytes(&self, bytes: &[u8]) -> Result<Vec<bool>, ValueError> {
        self.check_length(bytes.len(), "bytes", 8)?;
        self.lay(bytes.len() * 8, |bit| {
            bytes[bytes.len() - 1 - bit / 8] >> (bit % 8) & 1 == 1
        })
    }

    /// The bits, in wire order, of an integer.
    ///
    /// # Errors
    /// [`ValueError`] if it is 2^width or more.
    pub fn bits_from_integer(&self, integer: u128) -> Result<Vec<bool>, ValueError> {
        self.lay(128, |bit| integer >> bit & 1 == 1)
    }

    /// The number on the wires in hexadecimal, one digit for each four bits begun, without `0x`.
    ///
    /// # Panics
    /// If there is not one bit per wire.
    pub fn hex_from_bits(&self, bits: &[bool]) -> String {
        self.digits(bits, 4)
            .map(|digit| char::from_digit(digit as u32, 16).expect("four bits are a digit"))
            .collect()
    }

    /// The number on the wires in decimal.
    ///
    /// # Panics
    /// If there is not one bit per wire.
    pub fn decimal_from_bits(&self, bits: &[bool]) -> String {
        // Most significant word first.
        let mut words: Vec<u64> = self.digits(bits, 64).collect();
        let mut chunks = Vec::new();
        while let Some(first) = words.iter().position(|&word| word != 0) {
            words.drain(..first);
            let remainder = words.iter_mut().fold(0, |remainder, word| {
                let dividend = u128::from(remainder) << 64 | u128::from(*word);
                *word = (dividend / u128::from(TEN_POWER.0)) as u64;
                (dividend % u128::from(TEN_POWER.0)) as u64
            });
            chunks.push(remainder);
        }
        let mut text = chunks.pop().unwrap_or(0).to_string();
        for chunk in chunks.iter().rev() {
            text.push_str(&format!("{chunk:0width$}", width = TEN_POWER.1));
        }
        text
    }

    /// The number on the wires as bytes, most significant first, one for each eight bits begun.
    ///
    /// # Panics
    /// If there is not one bit per wire.
    pub fn bytes_from_bits(&self, bits: &[bool]) -> Vec<u8> {
        self.digits(bits, 8).map(|byte| byte as u8).collect()
    }

    /// The number on the wires, or `None` if it is 2^128 or more.
    ///
    /// # Panics
    /// If there is not one bit per wire.
    pub fn integer_from_bits(&self, bits: &[bool]) -> Option<u128> {
        self.digits(bits, 64).try_fold(0u128, |high, word| {
            (high >> 64 == 0).then_some(high << 64 | u128::from(word))
        })
    }

    /// Writes bits, in wire order, into one lane of `rows` (see
    /// [`Circuit::input_range`](crate::Circuit::input_range)).
    ///
    /// # Panics
    /// If there is not one bit and one row per wire, or the matrix has no such rows or lane.
    pub fn store(&self, bits: &[bool], matrix: &mut BitMatrix, rows: Range<usize>, lane: usize) {
        assert_eq!(bits.len(), self.width as usize, "one bit per wire");
        assert_eq!(rows.len(), self.width as usize, "one row per wire");
        for (row, &bit) in rows.zip(bits) {
            matrix.set(row, lane, bit);
        }
    }

    /// Reads bits, in wire order, from one lane of `rows` (see
    /// [`Circuit::output_range`](crate::Circuit::output_range)).
    ///
    /// # Panics
    /// If there is not one row per wire, or the matrix has no such rows or lane.
    pub fn load(&self, matrix: &BitMatrix, rows: Range<usize>, lane: usize) -> Vec<bool> {
        assert_eq!(rows.len(), self.width as usize, "one row per wire");
        rows.map(|row| matrix.get(row, lane)).collect()
    }

    fn check_length(&self, found: usize, unit: &'static str, bits: u32) -> Result<(), ValueError> {
        let limit = self.width.div_ceil(bits).max(1) as usize;
        if found <= limit {
            return Ok(());
        }
        Err(ValueError::TooLong {
            found,
            unit,
            limit,
            width: self.width,
        })
    }

    /// Lays on the wires a number of `length` bits, given by the bit of each significance.
    fn lay(&self, length: usize, bit: impl Fn(usize) -> bool) -> Result<Vec<bool>, ValueError> {
        let width = self.width as usize;
        if (width..length).any(&bit) {
            return Err(ValueError::TooLarge { width: self.width });
        }
        let bit = |significance: usize| significance < length && bit(significance);
        Ok((0..width).map(|wire| bit(self.significance(wire))).collect())
    }

    /// The number on the wires in digits of `size` bits, most significant first.
    fn digits(&self, bits: &[bool], size: usize) -> impl Iterator<Item = u64> {
        let width = self.width as usize;
        assert_eq!(bits.len(), width, "one bit per wire");
        (0..width.div_ceil(size)).rev().map(move |digit| {
            (digit * size..width.min((digit + 1) * size))
                .rev()
                .fold(0, |high, significance| {
                    high << 1 | u64::from(bits[self.significance(significance)])
                })
        })
    }

    /// The significance of a wire, and the wire of a significance.
    fn significance(&self, wire: usize) -> usize {
        match self.order {
            BitOrder::Lsb => wire,
            BitOrder::Msb => self.width as usize - 1 - wire,
        }
    }
}

/// The digits of a number of which `prefix` characters have been taken away.
fn digits_of(text: &str, prefix: usize, radix: u32) -> Result<Vec<u8>, ValueError> {
    if text.is_empty() {
        return Err(ValueError::Empty);
    }
    (prefix + 1..)
        .zip(text.chars())
        .map(|(position, character)| {
            let digit = character.to_digit(radix);
            digit
                .map(|digit| digit as u8)
                .ok_or(ValueError::NotADigit { position, radix })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ORDERS: [BitOrder; 2] = [BitOrder::Lsb, BitOrder::Msb];

    fn value(width: u32, order: BitOrder) -> Value {
        Value {
            name: "v".into(),
            width,
            order,
        }
    }

    #[test]
    fn order_decides_where_the_least_significant_bit_lies() {
        let expected = [false, true, true, false, false]; // 6
        assert_eq!(value(5, BitOrder::Lsb).parse("6").unwrap(), expected);
        let reversed: Vec<bool> = expected.into_iter().rev().collect();
        assert_eq!(value(5, BitOrder::Msb).parse("0x6").unwrap(), reversed);
    }

    #[test]
    fn all_ways_of_writing_agree() {
        let number = 0x0123_4567_89ab_cdef_fedc_ba98_7654_3210_u128;
        for order in ORDERS {
            for width in [121, 125, 128, 129, 200] {
                let value = value(width, order);
                let bits = value.bits_from_integer(number).unwrap();
                assert_eq!(value.parse(&number.to_string()).unwrap(), bits);
                assert_eq!(value.parse(&format!("0x{number:x}")).unwrap(), bits);
                assert_eq!(value.bits_from_hex(&format!("0X{number:X}")).unwrap(), bits);
                assert_eq!(value.bits_from_hex(&format!("{number:x}")).unwrap(), bits);
                assert_eq!(value.bits_from_bytes(&number.to_be_bytes()).unwrap(), bits);

                assert_eq!(value.integer_from_bits(&bits), Some(number));
                assert_eq!(value.decimal_from_bits(&bits), number.to_string());
                let digits = width.div_ceil(4) as usize;
                assert_eq!(value.hex_from_bits(&bits), format!("{number:0digits$x}"));
                let bytes = value.bytes_from_bits(&bits);
                assert_eq!(bytes.len(), width.div_ceil(8) as usize);
                assert!(bytes.ends_with(&number.to_be_bytes()));
            }
        }
    }

    #[test]
    fn wide_decimals() {
        // 2^200, computed elsewhere.
        let power = "1606938044258990275541962092341162602522202993782792835301376";
        for order in ORDERS {
            let wide = value(201, order);
            let bits = wide.parse(power).unwrap();
            assert_eq!(wide.hex_from_bits(&bits), format!("1{}", "0".repeat(50)));
            assert_eq!(wide.decimal_from_bits(&bits), power);
            assert_eq!(wide.integer_from_bits(&bits), None);
            assert_eq!(
                value(200, order).parse(power),
                Err(ValueError::TooLarge { width: 200 })
            );
        }
        let zero = value(7, BitOrder::Lsb);
        assert_eq!(zero.decimal_from_bits(&[false; 7]), "0");
        assert_eq!(zero.parse("000000000000").unwrap(), [false; 7]);
    }

    #[test]
    fn refusals() {
        let five = value(5, BitOrder::Msb);
        let large = Err(ValueError::TooLarge { width: 5 });
        assert_eq!(five.parse("31"), Ok(vec![true; 5]));
        assert_eq!(five.parse("32"), large);
        assert_eq!(five.parse("999999999999999999999999999999999999999999"), large);
        assert_eq!(five.parse("0x1f"), Ok(vec![true; 5]));
        assert_eq!(five.parse("0x20"), large);
        assert_eq!(five.bits_from_integer(32), large);
        assert_eq!(five.bits_from_bytes(&[0x20]), large);
        for text in ["", "0x"] {
            assert_eq!(five.parse(text), Err(ValueError::Empty));
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
            assert_eq!(five.parse(text).unwrap_err().to_string(), message);
        }
        assert_eq!(
            five.bits_from_bytes(&[0, 1]).unwrap_err().to_string(),
            "2 bytes are too many for a value of 5 bits, which takes 1"
        );
    }

    #[test]
    fn a_value_without_wires_is_zero() {
        let none = value(0, BitOrder::Lsb);
        assert_eq!(none.parse("0").unwrap(), []);
        assert_eq!(none.parse("1"), Err(ValueError::TooLarge { width: 0 }));
        assert_eq!(none.decimal_from_bits(&[]), "0");
        assert_eq!(none.hex_from_bits(&[]), "");
    }

    #[test]
    fn lanes_are_apart() {
        let value = value(3, BitOrder::Lsb);
        let mut matrix = BitMatrix::zeros(7, 70);
        value.store(&[true, false, true], &mut matrix, 2..5, 66);
        value.store(&[false, true, true], &mut matrix, 2..5, 1);
        assert_eq!(value.load(&matrix, 2..5, 66), [true, false, true]);
        assert_eq!(value.load(&matrix, 2..5, 1), [false, true, true]);
        assert_eq!(
            matrix.words().iter().map(|word| word.count_ones()).sum::<u32>(),
            4
        );
    }
}
