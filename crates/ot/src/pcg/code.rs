//! The code: each row of the noise gets the sum of ten elements of the secret, at random places that are public.

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
                        for &place in places {
                            sum ^= secret[u32::from_le(place) as usize & K.wrapping_sub(1)];
                        }
                        *out = sum;
                    }
                }
                Err(_) => {
                    for ((out, &noise), places) in out.iter_mut().zip(noise).zip(&of_rows[skipped..]) {
                        let places = places
                            .iter()
                            .map(|&place| u32::from_le(place) as usize & (secret.len() - 1));
                        *out = places.fold(noise, |sum, place| sum ^ secret[place]);
                    }
                }
            }
            done += count;
        }
    }
}

/// Lengths of secrets that the loops are compiled for.
const SMALL: usize = 1 << 14;
const LARGE: usize = 1 << 16;
const HUGE: usize = 1 << 17;
