//! Several secrets at once: what is revealed together, and what functions take and give.

use cenote_primitives::BitMatrix;

use crate::secret::Secret;
use crate::word::Word;

/// One or more secrets: a [`Secret`], a tuple or an array of some.
pub trait Values: Clone + sealed::Parts {}

pub(crate) mod sealed {
    use super::{BitMatrix, Secret};

    /// The part of [`super::Values`] that others need not know.
    #[allow(unnameable_types, reason = "nobody else implements it")]
    pub trait Parts {
        /// What is known once they are revealed.
        type Clear;
        /// Calls `each` with all secrets, in order.
        fn each(&self, each: &mut dyn FnMut(Secret<()>));
        /// Puts secrets together, each of as many bits as `next` is asked for, in the same order.
        fn made(next: &mut dyn FnMut(u32) -> Secret<()>) -> Self;
        /// Puts what was opened together, in the same order.
        fn clear(next: &mut dyn FnMut() -> BitMatrix) -> Self::Clear;
    }
}

impl<T: Word> sealed::Parts for Secret<T> {
    type Clear = Vec<T>;

    fn each(&self, each: &mut dyn FnMut(Secret<()>)) {
        each(Secret::of(self.value().clone()));
    }

    fn made(next: &mut dyn FnMut(u32) -> Secret<()>) -> Self {
        Secret::of(next(T::BITS).value().clone())
    }

    fn clear(next: &mut dyn FnMut() -> BitMatrix) -> Vec<T> {
        let values = next().transpose();
        (0..values.rows())
            .map(|lane| {
                let words = values.row(lane).iter().zip([0, 64]);
                T::from_bits(words.fold(0, |bits, (&word, at)| bits | u128::from(word) << at))
            })
            .collect()
    }
}

impl<T: Word> Values for Secret<T> {}

macro_rules! tuples {
    ($($name:ident $at:tt),*) => {
        impl<$($name: Values),*> sealed::Parts for ($($name,)*) {
            type Clear = ($($name::Clear,)*);

            fn each(&self, each: &mut dyn FnMut(Secret<()>)) {
                $(self.$at.each(each);)*
            }

            fn made(next: &mut dyn FnMut(u32) -> Secret<()>) -> Self {
                ($($name::made(next),)*)
            }

            fn clear(next: &mut dyn FnMut() -> BitMatrix) -> Self::Clear {
                ($($name::clear(next),)*)
            }
        }

        impl<$($name: Values),*> Values for ($($name,)*) {}
    };
}

tuples!(A 0, B 1);
tuples!(A 0, B 1, C 2);
tuples!(A 0, B 1, C 2, D 3);

impl<O: Values, const N: usize> sealed::Parts for [O; N] {
    type Clear = [O::Clear; N];

    fn each(&self, each: &mut dyn FnMut(Secret<()>)) {
        self.iter().for_each(|part| part.each(each));
    }

    fn made(next: &mut dyn FnMut(u32) -> Secret<()>) -> Self {
        std::array::from_fn(|_| O::made(next))
    }

    fn clear(next: &mut dyn FnMut() -> BitMatrix) -> Self::Clear {
        std::array::from_fn(|_| O::clear(next))
    }
}

impl<O: Values, const N: usize> Values for [O; N] {}
