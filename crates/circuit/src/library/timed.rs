//! Bits that know their AND depth, so that networks can combine what arrives first.

use crate::{Bit, Builder};

/// A bit and the number of ANDs on the longest path to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Timed {
    pub(super) bit: Bit,
    /// Its AND depth. Only differences matter: a caller may count from wherever it likes.
    pub(super) depth: u32,
}

impl From<Bit> for Timed {
    /// A bit that is there from the start.
    fn from(bit: Bit) -> Self {
        Timed { bit, depth: 0 }
    }
}

impl std::ops::Not for Timed {
    type Output = Timed;
    fn not(self) -> Timed {
        Timed {
            bit: !self.bit,
            depth: self.depth,
        }
    }
}

impl Timed {
    /// Whether it is one of the two constants.
    pub(super) fn is_constant(self) -> bool {
        self.bit.as_constant().is_some()
    }

    /// `self ⊕ other`, as deep as the deeper one.
    pub(super) fn xor(self, b: &mut Builder, other: Timed) -> Timed {
        let bit = b.xor(self.bit, other.bit);
        Self::settle(bit, self.depth.max(other.depth))
    }

    /// `self ∧ other`, one deeper than the deeper one, unless it folds to an operand or a constant.
    pub(super) fn and(self, b: &mut Builder, other: Timed) -> Timed {
        let bit = b.and(self.bit, other.bit);
        if bit == self.bit {
            self
        } else if bit == other.bit {
            other
        } else {
            Self::settle(bit, self.depth.max(other.depth) + 1)
        }
    }

    /// `if self { yes } else { no }`, with one AND.
    pub(super) fn mux(self, b: &mut Builder, yes: Timed, no: Timed) -> Timed {
        let differ = yes.xor(b, no);
        let change = self.and(b, differ);
        no.xor(b, change)
    }

    /// Whether at least two of three bits are set, with one AND.
    pub(super) fn majority(self, b: &mut Builder, y: Timed, z: Timed) -> Timed {
        let (left, right) = (self.xor(b, z), y.xor(b, z));
        let change = left.and(b, right);
        change.xor(b, z)
    }

    fn settle(bit: Bit, depth: u32) -> Timed {
        let depth = if bit.as_constant().is_some() { 0 } else { depth };
        Timed { bit, depth }
    }
}

/// The bits of `word`, all there from the start.
pub(super) fn timed(word: &[Bit]) -> Vec<Timed> {
    word.iter().copied().map(Timed::from).collect()
}

/// The bits without their depths.
pub(super) fn untimed(word: &[Timed]) -> Vec<Bit> {
    word.iter().map(|t| t.bit).collect()
}
