//! Oblivious transfer between two parties, either of which may be malicious.
//!
//! One set-up of base OTs ([`DeltaSender::new`], [`DeltaReceiver::new`]) gives any number of correlated strings under one
//! difference `Δ` ([`DeltaSender::correlated`]), which are a garbler's input labels, and of random OTs
//! ([`DeltaSender::random`]), which seed commitments. Another set-up gives any number of authenticated bits ([`bits`]), one of both
//! sides at once ([`mutual`]), of which a generator makes far more ([`pcg`]), and base OTs alone give one side some of the other's seeds ([`watch`]).
//! Beside these stands a test of equality from public-key cryptography ([`pake`]). In come a channel and randomness; out go strings.
//! Nothing is returned before the check of what it depends on.
//!
//! **Extension.** Ishai, Kilian, Nissim and Petrank (CRYPTO 2003): the Δ-sender chose one of two keys k_c0, k_c1 in each of
//! 298 base OTs, by the bits of d; authenticated bits take 64 or 128. For uniform choices x of as many rows as wanted, the
//! Δ-receiver sends the columns U_c = G(k_c0) ⊕ G(k_c1) ⊕ x and keeps T_c = G(k_c0); the Δ-sender makes
//! Q_c = G(k_c,d_c) ⊕ d_c U_c = T_c ⊕ d_c x. Row i of Q is that of T, plus d if x_i is 1. G is a PRG whose positions are used
//! once in the life of a set-up.
//!
//! **Check.** That x is the same in all columns is checked by a universal hash, as in SoftSpokenOT (Roy, CRYPTO 2022, with
//! the repetition code, its k = 1): when all columns of a chunk are there the Δ-sender draws α in GF(2^128); the Δ-receiver
//! answers with the hashes X of x and Y_c of each T_c; those of Q_c must be Y_c ⊕ d_c X. The hash is the polynomial in α with
//! the rows as coefficients, blinded by 128 rows that serve nothing else. Any two different columns of a chunk collide with
//! probability below 2^-117, so some do with one below 2^-101. But for that, a receiver that used another x in k columns
//! than in the rest passes only if it guesses k bits of d, those of these columns.
//! (The check of Keller, Orsini and Scholl, CRYPTO 2015, folds all columns to one equation, and the proof that it bounds
//! the guesses is flawed, as Roy shows; here each column has an equation of its own.)
//!
//! **Δ.** Guesses that succeed reveal bits of d. The strings are therefore not rows but their image under a linear map, from
//! which any 40 bits of d tell nothing of `Δ`, the image of d; see `extractor.rs`. More than 40 bits in all the life of
//! a set-up are guessed with probability 2^-41. This holds only as long as a failed check ends the set-up, so the two sides
//! refuse all calls after a failure.
//!
//! **Rounds and bytes.** Set-up: one message each way, 32 bytes to the Δ-sender, 19,072 to the Δ-receiver. Extension: the
//! columns, 298 bits a row, in chunks of at most 130,560 rows (a multiple of 512, 128 of them blinding), and for each
//! chunk 16 bytes of challenge and 4,784 of answer. The next chunk is sent before the challenge on the last is there, so
//! both sides hold two: with the masked choices, 10 MB at the Δ-sender and 15 MB at the Δ-receiver, however many rows.
#![forbid(unsafe_code)]

mod base;
pub mod bits;
pub mod checks;
mod columns;
mod extension;
mod extractor;
pub mod mutual;
pub mod pake;
pub mod pcg;
mod random;
mod receiver;
mod sender;
mod state;
pub mod steps;
pub mod watch;

/// What room is asked for.
const STRINGS: &str = "strings of oblivious transfers";

pub use receiver::{Chosen, DeltaReceiver};
pub use sender::DeltaSender;

#[cfg(test)]
mod tests;
