//! Secrets: one value that nobody knows, or a row of them.

mod calculate;
mod fold;
mod rows;

pub use calculate::Divided;

use std::fmt;
use std::marker::PhantomData;
use std::panic::Location;

use crate::op::Op;
use crate::session::Session;
use crate::value::Value;
use crate::word::{Integer, Word};

/// A secret `T`, or a row of them, one in each lane.
///
/// What is done with a row is done with each of its secrets, at the price of far fewer messages than one by one. A single secret
/// (or a public value) meets a row as if it were in every place of it; rows that meet must have one length. A mistake in this is told by the
/// next [`Session::reveal`], with its place in the program.
///
/// Arithmetic is modulo 2 to the number of bits, in two's complement for signed types. A clone is the same secret. `Debug` tells the shape only.
///
/// What would tell a secret does not compile: a branch on it,
///
/// ```compile_fail,E0308
/// fn f(x: cenote_program::Secret<bool>) -> u8 { if x { 1 } else { 2 } }
/// ```
/// a comparison whose outcome is public,
///
/// ```compile_fail,E0369
/// fn f(x: cenote_program::Secret<u8>, y: cenote_program::Secret<u8>) -> bool { x == y }
/// ```
/// a secret index,
///
/// ```compile_fail,E0277
/// fn f(table: [u8; 4], x: cenote_program::Secret<u8>) -> u8 { table[x] }
/// ```
/// nor does calculating with different types, or with what is no number:
///
/// ```compile_fail,E0277
/// fn f(x: cenote_program::Secret<u8>, y: cenote_program::Secret<u16>) -> cenote_program::Secret<u8> { x + y }
/// ```
/// ```compile_fail,E0277
/// fn f(x: cenote_program::Secret<bool>) -> cenote_program::Secret<bool> { x.clone() + x }
/// ```
pub struct Secret<T> {
    value: Value,
    of: PhantomData<fn() -> T>,
}

impl<T> Clone for Secret<T> {
    fn clone(&self) -> Self {
        Self {
            value: self.value.clone(),
            of: PhantomData,
        }
    }
}

impl<T> fmt::Debug for Secret<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.value.fmt(f)
    }
}

impl<T> Secret<T> {
    pub(crate) fn of(value: Value) -> Self {
        Self {
            value,
            of: PhantomData,
        }
    }

    pub(crate) fn value(&self) -> &Value {
        &self.value
    }

    /// The session that it belongs to.
    pub fn session(&self) -> &Session {
        self.value.session()
    }

    /// Secrets in the row; 1 for a single one.
    #[allow(clippy::len_without_is_empty, reason = "a row is never empty")]
    pub fn len(&self) -> usize {
        self.value.lanes()
    }
}

/// What a `Secret<T>` is calculated with: another one, or a public `T`.
pub trait Operand<T>: sealed::Into<T> {}

mod sealed {
    use super::{Secret, Session};

    /// The part of [`super::Operand`] that others need not know.
    #[allow(unnameable_types, reason = "nobody else implements it")]
    pub trait Into<T> {
        fn secret(self, session: &Session) -> Secret<T>;
    }
}

impl<T> sealed::Into<T> for Secret<T> {
    fn secret(self, _: &Session) -> Secret<T> {
        self
    }
}

impl<T> sealed::Into<T> for &Secret<T> {
    fn secret(self, _: &Session) -> Secret<T> {
        self.clone()
    }
}

impl<T: Word> sealed::Into<T> for T {
    fn secret(self, session: &Session) -> Secret<T> {
        Secret::of(session.constant(T::BITS, self.to_bits()))
    }
}

impl<T> Operand<T> for Secret<T> {}
impl<T> Operand<T> for &Secret<T> {}
impl<T: Word> Operand<T> for T {}

impl<T: Word> Secret<T> {
    /// The result of `op` on this and another one.
    #[track_caller]
    pub(crate) fn with<R>(&self, other: impl Operand<T>, op: Op, width: u32) -> Secret<R> {
        let other = other.secret(self.session());
        Secret::of(Value::apply(op, &[&self.value, &other.value], width))
    }

    /// The result of `op` on this alone.
    #[track_caller]
    pub(crate) fn alone<R>(&self, op: Op, width: u32) -> Secret<R> {
        Secret::of(Value::apply(op, &[&self.value], width))
    }

    /// Whether both are equal.
    #[track_caller]
    pub fn equals(&self, other: impl Operand<T>) -> Secret<bool> {
        self.with(other, Op::Equal, 1)
    }

    /// Whether they differ.
    #[track_caller]
    pub fn differs(&self, other: impl Operand<T>) -> Secret<bool> {
        !self.equals(other)
    }

    /// Bit `at`, counted from the least significant.
    #[track_caller]
    pub fn bit(&self, at: u32) -> Secret<bool> {
        if at >= T::BITS {
            let what = format!("there is no bit {at} in {} bits", T::BITS);
            return Secret::of(self.session().misuse(what, Location::caller(), 1, self.len()));
        }
        self.alone(Op::Part(at), 1)
    }

    /// All bits, the least significant first.
    #[track_caller]
    pub fn bits(&self) -> Vec<Secret<bool>> {
        (0..T::BITS).map(|at| self.bit(at)).collect()
    }

    /// The number with these bits, the least significant first: as many as the type has.
    ///
    /// # Panics
    /// If there are no bits: there is no session to tell of the mistake.
    #[track_caller]
    pub fn from_bits(bits: &[Secret<bool>]) -> Self {
        let parts: Vec<&Value> = bits.iter().map(|bit| &bit.value).collect();
        if parts.len() != T::BITS as usize {
            let what = format!("{} bits were given for a number of {}", parts.len(), T::BITS);
            let session = parts.first().expect("a number has bits").session();
            return Secret::of(session.misuse(what, Location::caller(), T::BITS, parts[0].lanes()));
        }
        Secret::of(Value::apply(Op::Join, &parts, T::BITS))
    }

    /// The number of bits that are 1.
    #[track_caller]
    pub fn count_ones(&self) -> Secret<u32> {
        self.alone(Op::CountOnes, 32)
    }

    /// The number of zeros above the topmost bit that is 1; the number of bits if none is.
    #[track_caller]
    pub fn leading_zeros(&self) -> Secret<u32> {
        self.alone(Op::LeadingZeros, 32)
    }

    /// The number of zeros below the lowest bit that is 1; the number of bits if none is.
    #[track_caller]
    pub fn trailing_zeros(&self) -> Secret<u32> {
        self.alone(Op::TrailingZeros, 32)
    }
}

impl<T: Integer> Secret<T> {
    /// Whether this is less.
    #[track_caller]
    pub fn lt(&self, other: impl Operand<T>) -> Secret<bool> {
        self.with(other, Op::Less { signed: T::SIGNED }, 1)
    }

    /// Whether this is greater.
    #[track_caller]
    pub fn gt(&self, other: impl Operand<T>) -> Secret<bool> {
        let other = other.secret(self.session());
        other.lt(self)
    }

    /// Whether this is less or equal.
    #[track_caller]
    pub fn le(&self, other: impl Operand<T>) -> Secret<bool> {
        !self.gt(other)
    }

    /// Whether this is greater or equal.
    #[track_caller]
    pub fn ge(&self, other: impl Operand<T>) -> Secret<bool> {
        !self.lt(other)
    }

    /// The lesser of both.
    #[track_caller]
    pub fn min(&self, other: impl Operand<T>) -> Self {
        let other = other.secret(self.session());
        other.lt(self).select(&other, self)
    }

    /// The greater of both.
    #[track_caller]
    pub fn max(&self, other: impl Operand<T>) -> Self {
        let other = other.secret(self.session());
        other.lt(self).select(self, &other)
    }

    /// As another type of integer: the low bits, or all with zeros above, or for a signed `T` copies of the sign.
    #[track_caller]
    pub fn cast<U: Integer>(&self) -> Secret<U> {
        self.alone(Op::Resize { signed: T::SIGNED }, U::BITS)
    }
}

impl Secret<bool> {
    /// `yes` where this is true, and `no` where it is not.
    #[track_caller]
    pub fn select<T: Word>(&self, yes: impl Operand<T>, no: impl Operand<T>) -> Secret<T> {
        let (yes, no) = (yes.secret(self.session()), no.secret(self.session()));
        Secret::of(Value::apply(
            Op::Select,
            &[&self.value, &yes.value, &no.value],
            T::BITS,
        ))
    }

    /// 1 where this is true, and 0 where it is not.
    #[track_caller]
    pub fn to_integer<T: Integer>(&self) -> Secret<T> {
        self.alone(Op::Resize { signed: false }, T::BITS)
    }
}
