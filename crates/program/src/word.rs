//! What a secret can be: a bit, or an integer of 1 to 128 bits.

use std::fmt;

/// A public value that a secret can hold.
pub trait Word: Copy + PartialEq + fmt::Debug + 'static {
    /// How many wires hold it.
    const BITS: u32;
    /// Whether it is in two's complement.
    const SIGNED: bool;

    /// Its bits, the least significant first; above them zeros.
    fn to_bits(self) -> u128;

    /// The value of these bits; those above [`Word::BITS`] are ignored.
    fn from_bits(bits: u128) -> Self;
}

/// A [`Word`] that is calculated with.
pub trait Integer: Word {}

/// An unsigned integer of `N` bits, 1 to 128.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Uint<const N: u32>(u128);

/// An integer of `N` bits in two's complement, 1 to 128.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Int<const N: u32>(i128);

/// The bits of a word of `width` bits.
pub(crate) fn mask(width: u32) -> u128 {
    match width {
        0 => 0,
        _ => u128::MAX >> (128 - width.min(128)),
    }
}

/// The number of which these are the low `width` bits in two's complement.
fn extended(bits: u128, width: u32) -> i128 {
    let above = 128 - width;
    (bits << above) as i128 >> above
}

impl<const N: u32> Uint<N> {
    const WIDTH: () = assert!(N >= 1 && N <= 128, "an integer has 1 to 128 bits");

    /// `value mod 2^N`.
    pub fn new(value: u128) -> Self {
        let () = Self::WIDTH;
        Self(value & mask(N))
    }

    /// Its value.
    pub fn get(self) -> u128 {
        self.0
    }
}

impl<const N: u32> Int<N> {
    const WIDTH: () = assert!(N >= 1 && N <= 128, "an integer has 1 to 128 bits");

    /// The number that has the low `N` bits of `value` in two's complement.
    pub fn new(value: i128) -> Self {
        let () = Self::WIDTH;
        Self(extended(value as u128, N))
    }

    /// Its value.
    pub fn get(self) -> i128 {
        self.0
    }
}

impl<const N: u32> fmt::Debug for Uint<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<const N: u32> fmt::Debug for Int<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<const N: u32> Word for Uint<N> {
    const BITS: u32 = N;
    const SIGNED: bool = false;

    fn to_bits(self) -> u128 {
        self.0
    }

    fn from_bits(bits: u128) -> Self {
        Self::new(bits)
    }
}

impl<const N: u32> Word for Int<N> {
    const BITS: u32 = N;
    const SIGNED: bool = true;

    fn to_bits(self) -> u128 {
        self.0 as u128 & mask(N)
    }

    fn from_bits(bits: u128) -> Self {
        Self::new(bits as i128)
    }
}

impl<const N: u32> Integer for Uint<N> {}
impl<const N: u32> Integer for Int<N> {}

impl Word for bool {
    const BITS: u32 = 1;
    const SIGNED: bool = false;

    fn to_bits(self) -> u128 {
        self.into()
    }

    fn from_bits(bits: u128) -> Self {
        bits & 1 == 1
    }
}

macro_rules! integers {
    ($($type:ty: $signed:literal),*) => {$(
        impl Word for $type {
            const BITS: u32 = <$type>::BITS;
            const SIGNED: bool = $signed;

            fn to_bits(self) -> u128 {
                self as u128 & mask(<$type>::BITS)
            }

            fn from_bits(bits: u128) -> Self {
                bits as $type
            }
        }

        impl Integer for $type {}
    )*};
}

integers!(u8: false, u16: false, u32: false, u64: false, u128: false, i8: true, i16: true, i32: true, i64: true, i128: true);

#[cfg(test)]
mod tests {
    use super::*;

    fn round<T: Word>(value: T) {
        assert_eq!(T::from_bits(value.to_bits()), value);
        assert_eq!(T::from_bits(value.to_bits() | !mask(T::BITS)), value);
        assert_eq!(value.to_bits() & !mask(T::BITS), 0);
    }

    #[test]
    fn words_are_their_bits() {
        round(true);
        round(200u8);
        round(-100i8);
        round(i128::MIN);
        round(u128::MAX);
        round(Uint::<5>::new(77));
        round(Int::<5>::new(-3));
        round(Int::<128>::new(-3));
        assert_eq!((Uint::<5>::new(33).get(), Int::<5>::new(17).get()), (1, -15));
        assert_eq!(((-1i16).to_bits(), Int::<3>::new(-1).to_bits()), (0xffff, 7));
    }
}
