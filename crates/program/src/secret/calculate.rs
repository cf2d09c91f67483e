//! The operators.
//!
//! Arithmetic is modulo 2 to the number of bits. Division by zero gives a quotient of ones only (the greatest number, or -1) and the dividend
//! as remainder; signed division truncates, and the least number divided by -1 is itself, with remainder 0. Shifts by as many places as
//! there are bits, or more, give 0, or of negative numbers to the right -1.

use std::ops::{Add, BitAnd, BitOr, BitXor, Div, Mul, Neg, Not, Rem, Shl, Shr, Sub};

use super::{Operand, Secret};
use crate::op::Op;
use crate::value::Value;
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

macro_rules! divisions {
    ($($operator:ident $method:ident $part:ident;)*) => {$(
        impl<T: Integer, R: Operand<T>> $operator<R> for &Secret<T> {
            type Output = Secret<T>;

            #[track_caller]
            fn $method(self, other: R) -> Secret<T> {
                self.divide(other).$part
            }
        }

        impl<T: Integer, R: Operand<T>> $operator<R> for Secret<T> {
            type Output = Secret<T>;

            #[track_caller]
            fn $method(self, other: R) -> Secret<T> {
                self.divide(other).$part
            }
        }
    )*};
}

divisions! {
    Div div quotient;
    Rem rem remainder;
}

/// What [`Secret::divide`] gives.
#[derive(Clone, Debug)]
pub struct Divided<T> {
    /// How often the divisor goes into the dividend.
    pub quotient: Secret<T>,
    /// What is left, with the sign of the dividend.
    pub remainder: Secret<T>,
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
    /// Quotient and remainder together, for hardly more than one of them.
    #[track_caller]
    pub fn divide(&self, divisor: impl Operand<T>) -> Divided<T> {
        let both: Secret<()> = self.with(divisor, Op::Divide { signed: T::SIGNED }, 2 * T::BITS);
        Divided {
            quotient: Secret::of(both.value().part(0, T::BITS)),
            remainder: Secret::of(both.value().part(T::BITS, T::BITS)),
        }
    }

    /// The bits moved upwards by a secret number of places.
    #[track_caller]
    pub fn shift_left<U: Integer>(&self, by: &Secret<U>) -> Self {
        self.moved(Op::ShiftLeftBy, by)
    }

    /// The bits moved downwards by a secret number of places; above come zeros, or for a signed type copies of the sign.
    #[track_caller]
    pub fn shift_right<U: Integer>(&self, by: &Secret<U>) -> Self {
        self.moved(Op::ShiftRightBy { signed: T::SIGNED }, by)
    }

    /// The bits rotated upwards by a secret number of places.
    #[track_caller]
    pub fn rotate_left_by<U: Integer>(&self, by: &Secret<U>) -> Self {
        self.moved(Op::RotateLeftBy, by)
    }

    /// The bits rotated downwards by a secret number of places.
    #[track_caller]
    pub fn rotate_right_by<U: Integer>(&self, by: &Secret<U>) -> Self {
        self.moved(Op::RotateRightBy, by)
    }

    /// By a number of places that is never negative: its bits count as those of an unsigned number.
    #[track_caller]
    fn moved<U: Integer>(&self, op: Op, by: &Secret<U>) -> Self {
        Secret::of(Value::apply(op, &[self.value(), by.value()], T::BITS))
    }

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
