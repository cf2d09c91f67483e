//! Numbers of up to 512 bits.

use std::cmp::Ordering;

/// Words of 64 bits, the lowest first.
const WORDS: usize = 8;

/// A number by its sign and size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Wide {
    negative: bool,
    words: [u64; WORDS],
}

impl From<i128> for Wide {
    fn from(value: i128) -> Self {
        Wide {
            negative: value < 0,
            ..Wide::of(value.unsigned_abs())
        }
    }
}

impl Wide {
    pub(super) fn of(value: u128) -> Self {
        let mut words = [0; WORDS];
        (words[0], words[1]) = (value as u64, (value >> 64) as u64);
        Wide {
            negative: false,
            words,
        }
    }

    pub(super) fn is_zero(&self) -> bool {
        self.words == [0; WORDS]
    }

    pub(super) fn is_negative(&self) -> bool {
        self.negative && !self.is_zero()
    }

    /// The same size with the sign of another.
    pub(super) fn with_sign_of(self, other: &Wide) -> Self {
        Wide {
            negative: other.negative,
            ..self
        }
    }

    /// How large it is, whatever its sign, beside another.
    pub(super) fn size(&self, other: &Wide) -> Ordering {
        self.words.iter().rev().cmp(other.words.iter().rev())
    }

    /// Its size, if it has at most 128 bits.
    fn short(&self) -> Option<u128> {
        let high = self.words[2..].iter().any(|&word| word != 0);
        (!high).then(|| u128::from(self.words[1]) << 64 | u128::from(self.words[0]))
    }

    pub(super) fn narrow(&self) -> Option<i128> {
        let size = self.short()?;
        match self.negative {
            true => 0i128.checked_sub_unsigned(size),
            false => i128::try_from(size).ok(),
        }
    }

    /// The product; nothing if it is too long.
    pub(super) fn times(&self, other: &Wide) -> Option<Wide> {
        let mut words = [0; 2 * WORDS];
        for (at, &x) in self.words.iter().enumerate() {
            let mut carry = 0u128;
            for (place, &y) in other.words.iter().enumerate() {
                let sum = u128::from(words[at + place]) + u128::from(x) * u128::from(y) + carry;
                words[at + place] = sum as u64;
                carry = sum >> 64;
            }
            words[at + WORDS] = carry as u64;
        }
        let (low, high) = words.split_at(WORDS);
        let short = high.iter().all(|&word| word == 0);
        short.then(|| Wide {
            negative: self.negative != other.negative,
            words: low.try_into().expect("there are as many"),
        })
    }

    /// The difference; nothing if it is too long.
    pub(super) fn minus(&self, other: &Wide) -> Option<Wide> {
        if self.negative != other.negative {
            return self.added(other);
        }
        Some(match self.size(other) {
            Ordering::Less => Wide {
                negative: !self.negative,
                ..other.without(self)
            },
            _ => self.without(other),
        })
    }

    /// With the size of another added.
    fn added(&self, other: &Wide) -> Option<Wide> {
        let (mut sum, mut carry) = (*self, false);
        for (word, &more) in sum.words.iter_mut().zip(&other.words) {
            let (first, over) = word.overflowing_add(more);
            let (second, again) = first.overflowing_add(carry.into());
            (*word, carry) = (second, over || again);
        }
        (!carry).then_some(sum)
    }

    /// Without the size of another, which is no larger.
    fn without(&self, other: &Wide) -> Wide {
        let (mut rest, mut borrow) = (*self, false);
        for (word, &less) in rest.words.iter_mut().zip(&other.words) {
            let (first, under) = word.overflowing_sub(less);
            let (second, again) = first.overflowing_sub(borrow.into());
            (*word, borrow) = (second, under || again);
        }
        rest
    }

    fn bit(&self, at: usize) -> bool {
        self.words[at / 64] >> (at % 64) & 1 == 1
    }

    fn set(&mut self, at: usize) {
        self.words[at / 64] |= 1 << (at % 64);
    }

    fn bits(&self) -> usize {
        let top = self.words.iter().rposition(|&word| word != 0);
        top.map_or(0, |top| 64 * (top + 1) - self.words[top].leading_zeros() as usize)
    }

    fn divided(&self, divisor: &Wide) -> Option<(Wide, Wide)> {
        if let (Some(x), Some(y)) = (self.short(), divisor.short()) {
            return Some((Wide::of(x.checked_div(y)?), Wide::of(x.checked_rem(y)?)));
        }
        let (mut quotient, mut rest) = (Wide::of(0), Wide::of(0));
        for at in (0..self.bits()).rev() {
            rest = rest.added(&rest)?;
            rest.words[0] |= u64::from(self.bit(at));
            if rest.size(divisor) != Ordering::Less {
                rest = rest.without(divisor);
                quotient.set(at);
            }
        }
        Some((quotient, rest))
    }

    /// The quotient of the sizes, rounded down; nothing if the divisor is zero.
    pub(super) fn over(&self, divisor: &Wide) -> Option<Wide> {
        self.divided(divisor).map(|(quotient, _)| quotient)
    }

    /// The nearest number to the quotient by a divisor that is not negative, halves away from zero.
    pub(super) fn rounded(&self, divisor: &Wide) -> Option<Wide> {
        let (quotient, rest) = self.divided(divisor)?;
        let up = rest.added(&rest)?.size(divisor) != Ordering::Less;
        let rounded = quotient.added(&Wide::of(up.into()))?;
        Some(rounded.with_sign_of(self))
    }

    /// The nearest number to half of the square root of the size.
    pub(super) fn half_root(&self) -> Option<Wide> {
        let twice = match self.short() {
            Some(short) => Wide::of(short.isqrt()),
            None => {
                let mut root = Wide::of(0);
                for at in (0..self.bits().div_ceil(2)).rev() {
                    let mut more = root;
                    more.set(at);
                    if more.times(&more)?.size(self) != Ordering::Greater {
                        root = more;
                    }
                }
                root
            }
        };
        twice.added(&Wide::of(1))?.over(&Wide::of(2))
    }
}
