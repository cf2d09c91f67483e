//! Kernels of replicated secret sharing among three parties: component `0` is the party's first, `1` its second.

use crate::cpu::multiversion;
use crate::{Block512, as_words, as_words_mut};

multiversion! {
    /// The local part of a multiplication: `z ^= x0·y0 ⊕ x0·y1 ⊕ x1·y0`, bit by bit. On entry `z` holds a share of zero.
    ///
    /// # Panics
    /// If the slices differ in length.
    pub fn multiply_into(
        x0: &[u64],
        x1: &[u64],
        y0: &[u64],
        y1: &[u64],
        z: &mut [u64],
    ) {
        let n = z.len();
        let (x0, x1, y0, y1) = (&x0[..n], &x1[..n], &y0[..n], &y1[..n]);
        for i in 0..n {
            z[i] ^= (x0[i] & (y0[i] ^ y1[i])) ^ (x1[i] & y0[i]);
        }
    }
}

/// Masks a sharing `x` with `a` for opening: `theirs` is the second component of `x ⊕ a`, which the previous party lacks;
/// `ours` is the sum of the two components that this party holds.
///
/// # Panics
/// If the slices differ in length.
pub fn mask(
    x0: &[Block512],
    x1: &[Block512],
    a0: &[Block512],
    a1: &[Block512],
    theirs: &mut [Block512],
    ours: &mut [Block512],
) {
    let [x0, x1, a0, a1] = [x0, x1, a0, a1].map(as_words);
    mask_words(x0, x1, a0, a1, as_words_mut(theirs), as_words_mut(ours));
}

multiversion! {
    // Words, since the compiler vectorises loops over them and not those over blocks.
    fn mask_words(x0: &[u64], x1: &[u64], a0: &[u64], a1: &[u64], theirs: &mut [u64], ours: &mut [u64]) {
        let n = theirs.len();
        let (x0, x1, a0, a1, ours) = (&x0[..n], &x1[..n], &a0[..n], &a1[..n], &mut ours[..n]);
        for i in 0..n {
            theirs[i] = x1[i] ^ a1[i];
            ours[i] = theirs[i] ^ x0[i] ^ a0[i];
        }
    }
}

/// The operands of [`check_product`]: all slices of one length.
pub struct ProductCheck<'a> {
    /// The product under test, both components.
    pub z: [&'a [Block512]; 2],
    /// The spent triple's first factor.
    pub a: [&'a [Block512]; 2],
    /// The spent triple's second factor.
    pub b: [&'a [Block512]; 2],
    /// The spent triple's product.
    pub c: [&'a [Block512]; 2],
    /// `x ⊕ a`, opened.
    pub rho: &'a [Block512],
    /// `y ⊕ b`, opened.
    pub sigma: &'a [Block512],
    /// Whether each of this party's components is component 0, to which public constants are added.
    pub constant: [bool; 2],
}

/// Computes `t = z ⊕ c ⊕ σ·a ⊕ ρ·b ⊕ ρσ`, which is a sharing of zero iff the two triples agree: `next` gets the sum of
/// both components (this party's word to the next party), `previous` the second one (its word to the previous).
///
/// # Panics
/// If the slices differ in length.
pub fn check_product(operands: &ProductCheck<'_>, next: &mut [Block512], previous: &mut [Block512]) {
    let (next, previous) = (as_words_mut(next), as_words_mut(previous));
    check_product_words(&operands.words(), next, previous);
}

/// The operands of [`check_product`], as words.
pub(crate) struct ProductWords<'a> {
    factors: [&'a [u64]; 4],
    products: [&'a [u64]; 4],
    opened: [&'a [u64]; 2],
    constant: [u64; 2],
}

impl<'a> ProductCheck<'a> {
    pub(crate) fn words(&self) -> ProductWords<'a> {
        let ProductCheck {
            z,
            a,
            b,
            c,
            rho,
            sigma,
            constant,
        } = *self;
        ProductWords {
            factors: [a[0], a[1], b[0], b[1]].map(as_words),
            products: [z[0], z[1], c[0], c[1]].map(as_words),
            opened: [rho, sigma].map(as_words),
            constant: constant.map(|holds| if holds { u64::MAX } else { 0 }),
        }
    }
}

multiversion! {
    fn check_product_words(operands: &ProductWords<'_>, next: &mut [u64], previous: &mut [u64]) {
        let ProductWords { factors, products, opened, constant } = *operands;
        let n = next.len();
        let previous = &mut previous[..n];
        let (a0, a1, b0, b1) = (&factors[0][..n], &factors[1][..n], &factors[2][..n], &factors[3][..n]);
        let (z0, z1, c0, c1) = (&products[0][..n], &products[1][..n], &products[2][..n], &products[3][..n]);
        let (rho, sigma) = (&opened[0][..n], &opened[1][..n]);
        for i in 0..n {
            let (r, s) = (rho[i], sigma[i]);
            let both = r & s;
            let t0 = z0[i] ^ c0[i] ^ (s & a0[i]) ^ (r & b0[i]) ^ (both & constant[0]);
            let t1 = z1[i] ^ c1[i] ^ (s & a1[i]) ^ (r & b1[i]) ^ (both & constant[1]);
            next[i] = t0 ^ t1;
            previous[i] = t1;
        }
    }
}

/// `into ^= from`.
///
/// # Panics
/// If the slices differ in length.
pub fn xor_into(into: &mut [Block512], from: &[Block512]) {
    xor_words_into(as_words_mut(into), as_words(from));
}

multiversion! {
    /// `into ^= from`.
    ///
    /// # Panics
    /// If the slices differ in length.
    pub fn xor_words_into(into: &mut [u64], from: &[u64]) {
        assert_eq!(into.len(), from.len());
        for (into, from) in into.iter_mut().zip(from) {
            *into ^= *from;
        }
    }
}
