//! What an instruction does with values: its name, and how many of what it takes and gives.

use std::ops::RangeInclusive;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Any number from here on.
const fn from(least: usize) -> RangeInclusive<usize> {
    least..=usize::MAX
}

/// Exactly so many.
const fn just(count: usize) -> RangeInclusive<usize> {
    count..=count
}

macro_rules! operations {
    ($($(#[$doc:meta])* $variant:ident $name:literal ($operands:expr; $numbers:expr) $results:literal;)*) => {
        /// What is done with values. In `signed` operations a number says whether operands are in two's complement: 1, or 0 if not.
        ///
        /// Two operands have as many bits, and as many secrets, or one of them a single one, which is in every place then.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
        pub enum Operation {
            $($(#[$doc])* $variant,)*
        }

        impl Operation {
            /// Its name.
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            /// How many values it takes.
            pub fn operands(self) -> RangeInclusive<usize> {
                match self { $(Self::$variant => $operands,)* }
            }

            /// How many public numbers it takes.
            pub fn numbers(self) -> RangeInclusive<usize> {
                match self { $(Self::$variant => $numbers,)* }
            }

            /// How many values it gives.
            pub fn results(self) -> u64 {
                match self { $(Self::$variant => $results,)* }
            }
        }

        impl FromStr for Operation {
            type Err = ();

            fn from_str(name: &str) -> Result<Self, ()> {
                match name { $($name => Ok(Self::$variant),)* _ => Err(()) }
            }
        }

        #[cfg(test)]
        pub(super) const ALL: &[Operation] = &[$(Operation::$variant),*];
    };
}

operations! {
    /// Bit by bit.
    And "and" (just(2); just(0)) 1;
    /// Bit by bit.
    Or "or" (just(2); just(0)) 1;
    /// Bit by bit.
    Xor "xor" (just(2); just(0)) 1;
    /// Bit by bit.
    Not "not" (just(1); just(0)) 1;
    /// Modulo 2 to the number of bits.
    Add "add" (just(2); just(0)) 1;
    /// Modulo 2 to the number of bits.
    Subtract "sub" (just(2); just(0)) 1;
    /// Modulo 2 to the number of bits.
    Multiply "mul" (just(2); just(0)) 1;
    /// In two's complement.
    Negate "neg" (just(1); just(0)) 1;
    /// The quotient rounded down; 0 where the divisor is 0. `signed`.
    FloorDivide "floordiv" (just(2); just(1)) 1;
    /// What is left then, with the sign of the divisor; 0 where the divisor is 0. `signed`.
    Modulo "mod" (just(2); just(1)) 1;
    /// Whether the first is less: one bit. `signed`.
    Less "less" (just(2); just(1)) 1;
    /// Whether both are equal: one bit.
    Equal "equal" (just(2); just(0)) 1;
    /// The lesser of both. `signed`.
    Minimum "min" (just(2); just(1)) 1;
    /// The greater of both. `signed`.
    Maximum "max" (just(2); just(1)) 1;
    /// The second where the first, a bit, is 1, and the third where it is 0.
    Select "select" (just(3); just(0)) 1;
    /// So many low bits, or all and zeros above them, or copies of the top bit. The width, and `signed`.
    Resize "resize" (just(1); just(2)) 1;
    /// Bits from a place on. The place, and how many.
    Part "part" (just(1); just(2)) 1;
    /// The bits of all, one above the other, the first lowest.
    Join "join" (from(1); just(0)) 1;
    /// Up by so many places.
    ShiftLeft "shl" (just(1); just(1)) 1;
    /// Down by so many places. The places, and `signed`.
    ShiftRight "shr" (just(1); just(2)) 1;
    /// Up by as many places as the second, an unsigned number of any width, says.
    ShiftLeftBy "shl_by" (just(2); just(0)) 1;
    /// Down by as many places as the second says. `signed`.
    ShiftRightBy "shr_by" (just(2); just(1)) 1;
    /// Secrets from a place on. The place, and how many.
    Slice "slice" (just(1); just(2)) 1;
    /// The secrets in these places.
    Take "take" (just(1); from(1)) 1;
    /// All rows, one after the other.
    Concat "concat" (from(1); just(0)) 1;
    /// A single secret in so many places.
    Fill "fill" (just(1); just(1)) 1;
    /// Blocks of secrets, one after the other, added place by place. The bits of the sums, `signed`, and the secrets of a block: 1 for the sum of all.
    Sum "sum" (just(1); just(3)) 1;
    /// The least of the row. `signed`.
    Least "least" (just(1); just(1)) 1;
    /// The greatest of the row. `signed`.
    Greatest "greatest" (just(1); just(1)) 1;
    /// The first place that has the least, in 64 bits. `signed`.
    PlaceOfLeast "argmin" (just(1); just(1)) 1;
    /// The first place that has the greatest, in 64 bits. `signed`.
    PlaceOfGreatest "argmax" (just(1); just(1)) 1;
    /// How many bits of the row are 1, in 64 bits.
    Count "count" (just(1); just(0)) 1;
    /// Whether all bits of the row are 1.
    All "all" (just(1); just(0)) 1;
    /// Whether any bit of the row is 1.
    Any "any" (just(1); just(0)) 1;
    /// The sum up to each place, in as many bits.
    CumulativeSum "cumsum" (just(1); just(0)) 1;
    /// The records from the smallest key on: so many of their lowest bits. The bits, and `signed`.
    Sort "sort" (just(1); just(2)) 1;
    /// The records in an order that nobody knows.
    Shuffle "shuffle" (just(1); just(0)) 1;
    /// The records whose bit, the first operand, is 1, in their order, with zeros after them; and how many they are, in 64 bits.
    Compact "compact" (just(2); just(0)) 2;
    /// For each key of the third: whether it is among those of the first, the record of the second that has it, zeros where there is none; and, for all, whether the keys ascend, the
    /// first ones strictly. If they do not, nothing is found. `signed`.
    Lookup "lookup" (just(3); just(1)) 3;
    /// Whether each place of a sorted row is the first with its value.
    Starts "starts" (just(1); just(0)) 1;
    /// Where these bits say what places are the first of a segment, whether each is the last.
    Ends "ends" (just(1); just(0)) 1;
    /// For each place what becomes of the values of its segment, of which the first operand says where they start, up to it. 0 for their sum, 1 for the least, 2 for the
    /// greatest; and `signed`.
    Scan "scan" (just(2); just(2)) 1;
    /// Secrets that nobody chose. Their bits, and how many.
    Random "random" (just(0); just(2)) 1;
    /// An oblivious memory of the blocks of a row.
    Memory "memory" (just(1); just(0)) 1;
    /// The block of a memory at an index, 0 if there is none. `signed`, as the index is.
    Read "read" (just(2); just(1)) 1;
    /// Makes the third the block of the first at the index that is the second, if there is one. `signed`.
    Write "write" (just(3); just(1)) 0;
    /// The block of a memory at an index as it was; from then on it is the last operand where the second, a bit, is 1. The index is the third. `signed`.
    Access "access" (just(4); just(1)) 1;
    /// All results of a function, one above the other.
    Call "call" (from(2); just(0)) 1;
}
