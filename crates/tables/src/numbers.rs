//! Whole numbers of a column, each in no more bytes than those of its type need.

use std::fmt;
use std::ops::Range;

/// Whole numbers. They are kept in as few bytes as the bounds that were said of them need; what is beyond these has all of them take 16.
///
/// Numbers are equal if they are the same, however they are kept. `Debug` tells how many they are.
#[derive(Clone)]
pub struct Numbers(Vector);

/// Declares the sizes, from the smallest on, and what is done with a vector of whichever there is.
macro_rules! sizes {
    ($($name:ident $type:ty),*) => {
        #[derive(Clone)]
        enum Vector { $($name(Vec<$type>)),* }

        #[allow(irrefutable_let_patterns, reason = "one text for all sizes")]
        impl Numbers {
            /// None, of numbers from `least` to `most`.
            pub fn within(least: i128, most: i128) -> Self {
                $(if <$type>::try_from(least).is_ok() && <$type>::try_from(most).is_ok() {
                    return Numbers(Vector::$name(Vec::new()));
                })*
                Numbers(Vector::I128(Vec::new()))
            }

            /// Adds a number.
            pub fn push(&mut self, number: i128) {
                match &mut self.0 {
                    $(Vector::$name(numbers) => if let Ok(small) = <$type>::try_from(number) {
                        numbers.push(small);
                        return;
                    })*
                }
                let mut all = self.range(0..self.len());
                all.push(number);
                *self = all.into();
            }

            /// Adds numbers, up to the first error.
            pub(crate) fn extend<E>(&mut self, numbers: impl Iterator<Item = Result<i128, E>>) -> Result<(), E> {
                let mut numbers = numbers;
                match &mut self.0 {
                    $(Vector::$name(kept) => {
                        for number in numbers.by_ref() {
                            let number = number?;
                            match <$type>::try_from(number) {
                                Ok(small) => kept.push(small),
                                Err(_) => {
                                    self.push(number);
                                    break;
                                }
                            }
                        }
                    })*
                }
                numbers.try_for_each(|number| Ok(self.push(number?)))
            }

            /// Sets the number in a place.
            pub fn set(&mut self, row: usize, number: i128) {
                match &mut self.0 {
                    $(Vector::$name(numbers) => if let Ok(small) = <$type>::try_from(number) {
                        numbers[row] = small;
                        return;
                    })*
                }
                let mut all = self.range(0..self.len());
                all[row] = number;
                *self = all.into();
            }

            /// Adds those in these places of `other`.
            pub(crate) fn append(&mut self, other: &Numbers, places: impl Iterator<Item = usize>) {
                match (&mut self.0, &other.0) {
                    $((Vector::$name(own), Vector::$name(numbers)) => {
                        own.extend(places.map(|place| numbers[place]));
                    })*
                    _ => places.for_each(|place| self.push(other.get(place))),
                }
            }

            /// Those in these places.
            pub fn gather(&self, places: impl Iterator<Item = usize>) -> Self {
                match &self.0 {
                    $(Vector::$name(numbers) => {
                        Numbers(Vector::$name(places.map(|place| numbers[place]).collect()))
                    })*
                }
            }

            /// The same from the least to the greatest.
            #[must_use]
            pub fn sorted(mut self) -> Self {
                match &mut self.0 {
                    $(Vector::$name(numbers) => numbers.sort_unstable()),*
                }
                self
            }
        }
    };
}

/// Does the same with the vector of whichever size there is.
macro_rules! any {
    ($kept:expr, $numbers:ident => $what:expr) => {
        match $kept {
            Vector::U8($numbers) => $what,
            Vector::I8($numbers) => $what,
            Vector::U16($numbers) => $what,
            Vector::I16($numbers) => $what,
            Vector::U32($numbers) => $what,
            Vector::I32($numbers) => $what,
            Vector::U64($numbers) => $what,
            Vector::I64($numbers) => $what,
            Vector::I128($numbers) => $what,
        }
    };
}

sizes!(U8 u8, I8 i8, U16 u16, I16 i16, U32 u32, I32 i32, U64 u64, I64 i64, I128 i128);

#[allow(
    clippy::unnecessary_cast,
    clippy::cast_lossless,
    reason = "one text for all sizes"
)]
impl Numbers {
    /// How many there are.
    pub fn len(&self) -> usize {
        any!(&self.0, numbers => numbers.len())
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number in a place.
    pub fn get(&self, row: usize) -> i128 {
        any!(&self.0, numbers => numbers[row] as i128)
    }

    /// Those in these places, as they are calculated with.
    pub fn range(&self, rows: Range<usize>) -> Vec<i128> {
        any!(&self.0, numbers => numbers[rows].iter().map(|&number| number as i128).collect())
    }

    /// The low 32 bits of those in these places.
    pub(crate) fn low_32(&self, rows: Range<usize>) -> Vec<i32> {
        any!(&self.0, numbers => numbers[rows].iter().map(|&number| number as i32).collect())
    }

    /// The low 64 bits of those in these places.
    pub(crate) fn low_64(&self, rows: Range<usize>) -> Vec<i64> {
        any!(&self.0, numbers => numbers[rows].iter().map(|&number| number as i64).collect())
    }

    /// All of them, in their order.
    pub fn iter(&self) -> impl Iterator<Item = i128> + '_ {
        (0..self.len()).map(|row| self.get(row))
    }

    /// Bytes that each takes.
    pub fn bytes(&self) -> usize {
        fn each<T>(_: &[T]) -> usize {
            size_of::<T>()
        }
        any!(&self.0, numbers => each(numbers))
    }

    /// Makes room for so many, if there is any.
    pub(crate) fn make_room(&mut self, rows: usize) {
        any!(&mut self.0, numbers => drop(numbers.try_reserve_exact(rows)));
    }

    pub(crate) fn shrink_to_fit(&mut self) {
        any!(&mut self.0, numbers => numbers.shrink_to_fit());
    }
}

impl From<Vec<i128>> for Numbers {
    fn from(numbers: Vec<i128>) -> Self {
        Numbers(Vector::I128(numbers))
    }
}

impl PartialEq for Numbers {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && self.iter().eq(other.iter())
    }
}

impl Eq for Numbers {}

impl fmt::Debug for Numbers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} numbers", self.len())
    }
}
