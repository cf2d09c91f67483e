//! What can be revealed at once.

use cenote_primitives::BitMatrix;

use crate::secret::Secret;
use crate::word::Word;

/// Opened bits, of which those of a value begin with some row: how many there are.
pub(crate) type Rows = (BitMatrix, usize, u32);

/// Secrets that are revealed together: a [`Secret`], a tuple or an array of some.
pub trait Opened: sealed::Parts {}

pub(crate) mod sealed {
    use super::{Rows, Secret};

    /// The part of [`super::Opened`] that others need not know.
    #[allow(unnameable_types, reason = "nobody else implements it")]
    pub trait Parts {
        /// What is known once they are revealed.
        type Clear;
        /// Calls `each` with all secrets, in order.
        fn each(&self, each: &mut dyn FnMut(Secret<()>));
        /// Puts together what `next` gives, in the same order.
        fn clear(next: &mut dyn FnMut() -> Rows) -> Self::Clear;
    }
}

impl<T: Word> sealed::Parts for Secret<T> {
    type Clear = Vec<T>;

    fn each(&self, each: &mut dyn FnMut(Secret<()>)) {
        each(Secret::of(self.value().clone()));
    }

    fn clear(next: &mut dyn FnMut() -> Rows) -> Vec<T> {
        let (bits, first, width) = next();
        let mut rows = BitMatrix::zeros(width as usize, bits.lanes());
        let stride = rows.stride();
        rows.words_mut()
            .copy_from_slice(&bits.words()[first * stride..(first + width as usize) * stride]);
        let values = rows.transpose();
        (0..values.rows())
            .map(|lane| {
                let words = values.row(lane).iter().zip([0, 64]);
                T::from_bits(words.fold(0, |bits, (&word, at)| bits | u128::from(word) << at))
            })
            .collect()
    }
}

impl<T: Word> Opened for Secret<T> {}

macro_rules! tuples {
    ($($name:ident $at:tt),*) => {
        impl<$($name: Opened),*> sealed::Parts for ($($name,)*) {
            type Clear = ($($name::Clear,)*);

            fn each(&self, each: &mut dyn FnMut(Secret<()>)) {
                $(self.$at.each(each);)*
            }

            fn clear(next: &mut dyn FnMut() -> Rows) -> Self::Clear {
                ($($name::clear(next),)*)
            }
        }

        impl<$($name: Opened),*> Opened for ($($name,)*) {}
    };
}

tuples!(A 0, B 1);
tuples!(A 0, B 1, C 2);
tuples!(A 0, B 1, C 2, D 3);

impl<O: Opened, const N: usize> sealed::Parts for [O; N] {
    type Clear = [O::Clear; N];

    fn each(&self, each: &mut dyn FnMut(Secret<()>)) {
        self.iter().for_each(|part| part.each(each));
    }

    fn clear(next: &mut dyn FnMut() -> Rows) -> Self::Clear {
        std::array::from_fn(|_| O::clear(next))
    }
}

impl<O: Opened, const N: usize> Opened for [O; N] {}
