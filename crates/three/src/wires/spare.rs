//! Room for shares that were given up, zeroed, for those to come: the system would clear its pages once more.

use std::cell::RefCell;

use zeroize::Zeroize;

/// Words that are kept by a thread at most.
pub(crate) const MOST: usize = 8 << 20;

/// Words from which on room is kept: less is cheap.
const LEAST: usize = 1 << 13;

/// Vectors that are kept at most.
const VECTORS: usize = 64;

thread_local! {
    static SPARE: RefCell<Spare> = RefCell::default();
}

#[derive(Default)]
struct Spare {
    /// Zeros, those that were given up last at the end.
    vectors: Vec<Vec<u64>>,
    words: usize,
}

/// `words` zeros, if there are any that nobody uses, and not many more.
pub(super) fn take(words: usize) -> Option<Vec<u64>> {
    if words < LEAST {
        return None;
    }
    SPARE.with_borrow_mut(|spare| {
        let fits = |vector: &Vec<u64>| (words..=words + words / 4).contains(&vector.capacity());
        let mut vector = spare.vectors.remove(spare.vectors.iter().rposition(fits)?);
        spare.words -= vector.capacity();
        // All that was ever written of it was wiped.
        vector.resize(words, 0);
        Some(vector)
    })
}

/// Wipes shares, and keeps their room.
pub(super) fn give_up(mut vector: Vec<u64>) {
    vector.as_mut_slice().zeroize();
    if vector.capacity() < LEAST {
        return;
    }
    SPARE.with_borrow_mut(|spare| {
        spare.words += vector.capacity();
        spare.vectors.push(vector);
        while spare.words > MOST || spare.vectors.len() > VECTORS {
            spare.words -= spare.vectors.remove(0).capacity();
        }
    });
}

/// Frees all of it.
pub(crate) fn free() {
    SPARE.take();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_comes_back_zeroed_and_is_bounded() {
        free();
        give_up(vec![7; LEAST + 100]);
        assert!(take(LEAST / 2).is_none() && take(2 * LEAST).is_none());
        assert_eq!(take(LEAST), Some(vec![0; LEAST]));
        assert_eq!(take(LEAST), None);
        // What was taken for less counts, and comes back, as large as it is.
        give_up(vec![7; LEAST + 100]);
        give_up(take(LEAST).expect("it fits"));
        SPARE.with_borrow(|spare| assert_eq!(spare.words, LEAST + 100));
        assert_eq!(take(LEAST + 100), Some(vec![0; LEAST + 100]));
        for _ in 0..5 {
            give_up(vec![1; MOST / 4]);
        }
        SPARE.with_borrow(|spare| assert_eq!((spare.vectors.len(), spare.words), (4, MOST)));
        give_up(vec![1; MOST + 1]);
        SPARE.with_borrow(|spare| assert_eq!((spare.vectors.len(), spare.words), (0, 0)));
        for _ in 0..VECTORS + 3 {
            give_up(vec![1; LEAST]);
        }
        SPARE.with_borrow(|spare| assert_eq!(spare.vectors.len(), VECTORS));
        free();
        assert_eq!(take(LEAST), None);
    }
}
