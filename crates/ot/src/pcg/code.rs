//! The code: each row of the noise gets the sum of ten elements of the secret, at random places that are public.
//!
//! A row whose places cancel in pairs would be the noise alone, whose bits are nearly always 0: everyone would know where such a bit is, and what it
//! is. The exclusive or of such a row's places is 0. Where it is 0, the last place moves to its neighbour, which makes it 1: no row is empty.

use std::hint::black_box;
use std::ops::Range;

use bytemuck::{Pod, Zeroable};
use cenote_primitives::lanes::{Kernel, Lanes, run};
use cenote_primitives::{Block, Block512, Position, Prg};

/// Elements of the secret in a row.
pub const WEIGHT: usize = 10;

/// A place in a secret of up to 2^16 elements.
type Place = u16;

/// The base-2 logarithm of the most elements that a secret has.
pub(super) const MOST: u32 = Place::BITS;

/// Rows whose places stand in [`LINES`] whole blocks.
const PERIOD: usize = 16;

/// Blocks of places of [`PERIOD`] rows.
const LINES: usize = PERIOD * WEIGHT * size_of::<Place>() / size_of::<Block512>();

/// Periods whose places are made at once.
const AT_ONCE: usize = 32;

/// The MAC of a bit of this side and the key of one of the other's, side by side in one cache line: a row takes both from the same places.
#[derive(Clone, Copy, Default, Pod, Zeroable)]
#[repr(C, align(32))]
pub(super) struct Pair {
    pub(super) mac: Block,
    pub(super) key: Block,
}

impl zeroize::DefaultIsZeroes for Pair {}

/// The code of an iteration.
pub(super) struct Code<'a> {
    /// Where places come from.
    pub(super) places: &'a Prg,
    pub(super) iteration: u64,
}

/// MACs and keys of rows.
pub(super) struct Rows<'a> {
    pub(super) macs: &'a mut [Block],
    pub(super) keys: &'a mut [Block],
}

impl Code<'_> {
    /// Rows, each the `noise` of it, MAC and key, plus its elements of `secret`, whose length is a power of two.
    pub(super) fn encode(&self, secret: &[Pair], noise: [&[Block]; 2], rows: Range<usize>, out: Rows<'_>) {
        assert!(secret.len().is_power_of_two() && noise.iter().all(|noise| noise.len() == rows.len()));
        assert!(out.macs.len() == rows.len() && out.keys.len() == rows.len());
        let mut places = [Block512::ZERO; AT_ONCE * LINES];
        let mut done = 0;
        while done < rows.len() {
            let row = rows.start + done;
            let (period, skipped) = (row / PERIOD, row % PERIOD);
            let of = done..rows.len().min(done + AT_ONCE * PERIOD - skipped);
            let lines = (skipped + of.len()).div_ceil(PERIOD) * LINES;
            let at = Position {
                stream: self.iteration,
                index: (period * LINES) as u64,
            };
            self.places.fill(at, &mut places[..lines]);
            let (places, _) = bytemuck::cast_slice::<_, Place>(&places).as_chunks::<WEIGHT>();
            let add = Add {
                secret,
                places: &places[skipped..][..of.len()],
                noise: noise.map(|noise| &noise[of.clone()]),
                out: Rows {
                    macs: &mut out.macs[of.clone()],
                    keys: &mut out.keys[of.clone()],
                },
            };
            run(add);
            done = of.end;
        }
    }
}

/// Rows with these places.
struct Add<'a> {
    secret: &'a [Pair],
    places: &'a [[Place; WEIGHT]],
    noise: [&'a [Block]; 2],
    out: Rows<'a>,
}

impl Kernel for Add<'_> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self, _: &L) {
        match self.secret.len() {
            SMALL => self.of_length::<SMALL>(),
            LARGE => self.of_length::<LARGE>(),
            _ => self.of_length::<0>(),
        }
    }
}

impl Add<'_> {
    /// `K` is the length of the secret, or 0 if the compiler need not know it.
    #[inline(always)]
    fn of_length<const K: usize>(self) {
        let most = self.secret.len() - 1;
        let known = <&[Pair; K]>::try_from(self.secret);
        let [macs, keys] = self.noise;
        let noise = macs.iter().zip(keys);
        let out = self.out.macs.iter_mut().zip(self.out.keys);
        for (((to_mac, to_key), (&mac, &key)), places) in out.zip(noise).zip(self.places) {
            let mut sum: [u64; 4] = bytemuck::cast(Pair { mac, key });
            // A row at a time: whole rows side by side would be gathers, which are slower.
            for place in apart(*black_box(places), most) {
                let pair = match known {
                    Ok(secret) => secret[place & K.wrapping_sub(1)],
                    Err(_) => self.secret[place],
                };
                let pair: [u64; 4] = bytemuck::cast(pair);
                for i in 0..4 {
                    sum[i] ^= pair[i];
                }
            }
            Pair {
                mac: *to_mac,
                key: *to_key,
            } = bytemuck::cast(sum);
        }
    }
}

/// The places of a row in a secret of `most + 1` elements, a power of two: they do not all cancel.
#[inline(always)]
fn apart(drawn: [Place; WEIGHT], most: usize) -> [usize; WEIGHT] {
    let mut places = drawn.map(|place| usize::from(Place::from_le(place)) & most);
    let sum = places.iter().fold(0, |sum, place| sum ^ place);
    places[WEIGHT - 1] ^= usize::from(sum == 0);
    places
}

/// Lengths of secrets that the loops are compiled for.
const SMALL: usize = 1 << 14;
const LARGE: usize = 1 << 15;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_row_is_empty() {
        let most = 63;
        let pairs = [3, 5, 3, 5, 60, 60, 7, 0, 7, 0];
        let mut odd = [false; 64];
        apart(pairs.map(Place::to_le), most)
            .iter()
            .for_each(|&place| odd[place] ^= true);
        assert_eq!(odd.iter().filter(|&&odd| odd).count(), 2);
        // Others stay as they were drawn.
        let drawn = [3, 5, 3, 5, 60, 60, 7, 0, 7, 65];
        let expected = drawn.map(|place: Place| usize::from(place) & most);
        assert_eq!(apart(drawn.map(Place::to_le), most), expected);
    }

    /// Over a secret of two elements a third of all rows would be empty: sums would be the noise.
    #[test]
    fn rows_of_short_secrets_have_something_of_them() {
        let prg = Prg::new(Block([1, 2]));
        let code = Code {
            places: &prg,
            iteration: 3,
        };
        let secret = [1, 2].map(|number| Pair {
            mac: Block([number, 0]),
            key: Block([0, number]),
        });
        let noise = vec![Block::ZERO; 1000];
        let [mut macs, mut keys] = [(); 2].map(|()| vec![Block::ZERO; 1000]);
        let out = Rows {
            macs: &mut macs,
            keys: &mut keys,
        };
        code.encode(&secret, [&noise, &noise], 0..1000, out);
        for (mac, key) in macs.into_iter().zip(keys) {
            assert!(mac != Block::ZERO && key.0 == [0, mac.0[0]]);
        }
    }
}
