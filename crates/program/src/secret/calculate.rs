//! The operators.

use std::ops::{Add, BitAnd, BitOr, BitXor, Mul, Neg, Not, Shl, Shr, Sub};

use super::{Operand, Secret};
use crate::op::Op;
use crate::word::{Integer, Word};

macro_rules! operators {
    ($($bound:ident $operator:ident $method:ident $op:expr;)*) => {$(
        impl<T: $bound, R: Operand<T>> $operator<R> for &Secret<T> {
            type Output = Secret<T>;

            #[track_caller]
            fn $method(self, other: R) -> Secret<T> {
                self.with(other, $op, T::BITS)
            }
        }

        impl<T: $bound, R: Operand<T>> $operator<R> for Secret<T> {
            type Output = Secret<T>;

            #[track_caller]
            fn $method(self, other: R) -> Secret<T> {
                self.with(other, $op, T::BITS)
            }
        }
    )*};
}

operators! {
    Integer Add add Op::Add;
    Integer Sub sub Op::Subtract;
    Integer Mul mul Op::Multiply;
    Word BitAnd bitand Op::And;
    Word BitOr bitor Op::Or;
    Word BitXor bitxor Op::Xor;
}

macro_rules! unary {
    ($($bound:ident $operator:ident $method:ident $op:expr;)*) => {$(
        impl<T: $bound> $operator for &Secret<T> {
            type Output = Secret<T>;

            #[track_caller]
            fn $method(self) -> Secret<T> {
                self.alone($op, T::BITS)
            }
        }

        impl<T: $bound> $operator for Secret<T> {
            type Output = Secret<T>;

            #[track_caller]
            fn $method(self) -> Secret<T> {
                self.alone($op, T::BITS)
            }
        }
    )*};
}

unary! {
    Word Not not Op::Not;
    Integer Neg neg Op::Negate;
}

macro_rules! shifts {
    ($($operator:ident $method:ident $by:ident $op:expr;)*) => {$(
        impl<T: Integer> $operator<u32> for &Secret<T> {
            type Output = Secret<T>;

            #[track_caller]
            fn $method(self, $by: u32) -> Secret<T> {
                self.alone($op, T::BITS)
            }
        }

        impl<T: Integer> $operator<u32> for Secret<T> {
            type Output = Secret<T>;

            #[track_caller]
            fn $method(self, $by: u32) -> Secret<T> {
                self.alone($op, T::BITS)
            }
        }
    )*};
}

shifts! {
    Shl shl by Op::ShiftLeft(by);
    Shr shr by Op::ShiftRight { by, signed: T::SIGNED };
}

impl<T: Integer> Secret<T> {
    /// The bits rotated upwards by `by` places.
    #[track_caller]
    pub fn rotate_left(&self, by: u32) -> Self {
        self.alone(Op::RotateLeft(by % T::BITS), T::BITS)
    }

    /// The bits rotated downwards by `by` places.
    #[track_caller]
    pub fn rotate_right(&self, by: u32) -> Self {
        self.rotate_left(T::BITS - by % T::BITS)
    }
}
