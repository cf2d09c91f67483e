//! The code: each row of the noise gets the sum of ten elements of the secret, at random places that are public.
//!
//! A row whose places cancel in pairs would be the noise alone, whose bits are nearly always 0: everyone would know where such a bit is, and what it
//! is. The exclusive or of such a row's places is 0. Where it is 0, the last place moves to its neighbour, which makes it 1: no row is empty.

use std::ops::Range;

use cenote_primitives::{Block, Block512, Position, Prg};

/// Elements of the secret in a row.
pub const WEIGHT: usize = 10;

/// Rows whose places stand in [`LINES`] whole blocks.
const PERIOD: usize = 8;

/// Blocks of places of [`PERIOD`] rows.
const LINES: usize = PERIOD * WEIGHT * size_of::<u32>() / size_of::<Block512>();

/// Periods whose places are made at once.
const AT_ONCE: usize = 32;

/// The code of an iteration.
pub(super) struct Code<'a> {
    /// Where places come from.
    pub(super) places: &'a Prg,
    pub(super) iteration: u64,
}

impl Code<'_> {
    /// Rows of the noise, each plus its elements of `secret`, whose length is a power of two.
    pub(super) fn encode(&self, secret: &[Block], noise: &[Block], rows: Range<usize>, out: &mut [Block]) {
        assert!(secret.len().is_power_of_two() && out.len() == rows.len());
        let noise = &noise[rows.clone()];
        match secret.len() {
            SMALL => self.add::<SMALL>(secret, noise, rows, out),
            LARGE => self.add::<LARGE>(secret, noise, rows, out),
            HUGE => self.add::<HUGE>(secret, noise, rows, out),
            _ => self.add::<0>(secret, noise, rows, out),
        }
    }

    /// `K` is the length of the secret, or 0 if the compiler need not know it.
    fn add<const K: usize>(&self, secret: &[Block], noise: &[Block], rows: Range<usize>, out: &mut [Block]) {
        let mut places = [Block512::ZERO; AT_ONCE * LINES];
        let mut done = 0;
        while done < out.len() {
            let row = rows.start + done;
            let (period, skipped) = (row / PERIOD, row % PERIOD);
            let count = (AT_ONCE * PERIOD - skipped).min(out.len() - done);
            let lines = (skipped + count).div_ceil(PERIOD) * LINES;
            let at = Position {
                stream: self.iteration,
                index: (period * LINES) as u64,
            };
            self.places.fill(at, &mut places[..lines]);
            let (of_rows, _) = bytemuck::cast_slice::<_, u32>(&places).as_chunks::<WEIGHT>();
            let noise = &noise[done..done + count];
            let out = &mut out[done..done + count];
            match <&[Block; K]>::try_from(secret) {
                Ok(secret) => {
                    for ((out, &noise), places) in out.iter_mut().zip(noise).zip(&of_rows[skipped..]) {
                        let mut sum = noise;
                        for place in apart(*places, K.wrapping_sub(1)) {
                            sum ^= secret[place & K.wrapping_sub(1)];
                        }
                        *out = sum;
                    }
                }
                Err(_) => {
                    for ((out, &noise), places) in out.iter_mut().zip(noise).zip(&of_rows[skipped..]) {
                        let places = apart(*places, secret.len() - 1);
                        *out = places.into_iter().fold(noise, |sum, place| sum ^ secret[place]);
                    }
                }
            }
            done += count;
        }
    }
}

/// The places of a row in a secret of `most + 1` elements, a power of two: they do not all cancel.
#[inline(always)]
fn apart(drawn: [u32; WEIGHT], most: usize) -> [usize; WEIGHT] {
    let mut places = drawn.map(|place| u32::from_le(place) as usize & most);
    let sum = places.iter().fold(0, |sum, place| sum ^ place);
    places[WEIGHT - 1] ^= usize::from(sum == 0);
    places
}

/// Lengths of secrets that the loops are compiled for.
const SMALL: usize = 1 << 14;
const LARGE: usize = 1 << 16;
const HUGE: usize = 1 << 17;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_row_is_empty() {
        let most = 63;
        let pairs = [3, 5, 3, 5, 60, 60, 7, 0, 7, 0];
        let mut odd = [false; 64];
        apart(pairs.map(u32::to_le), most)
            .iter()
            .for_each(|&place| odd[place] ^= true);
        assert_eq!(odd.iter().filter(|&&odd| odd).count(), 2);
        // Others stay as they were drawn.
        let drawn = [3, 5, 3, 5, 60, 60, 7, 0, 7, 65];
        let expected = drawn.map(|place: u32| place as usize & most);
        assert_eq!(apart(drawn.map(u32::to_le), most), expected);
    }

    /// Over a secret of two elements a third of all rows would be empty: sums would be the noise.
    #[test]
    fn rows_of_short_secrets_have_something_of_them() {
        let prg = Prg::new(Block([1, 2]));
        let code = Code {
            places: &prg,
            iteration: 3,
        };
        let secret = [Block([1, 0]), Block([2, 0])];
        let noise = vec![Block::ZERO; 1000];
        let mut out = vec![Block::ZERO; 1000];
        code.encode(&secret, &noise, 0..1000, &mut out);
        assert!(out.iter().all(|&sum| sum != Block::ZERO));
    }
}
