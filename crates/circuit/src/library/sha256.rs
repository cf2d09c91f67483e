//! SHA-256 (FIPS 180-4).
//!
//! A block, state or digest is the integer that its hexadecimal string spells, least significant bit first. This is the
//! order of the Bristol Fashion circuit.
//!
//! Additions of several words are one sum in columns. For least depth only `e` and `a` of each round and the words of
//! the schedule are ever brought into one word; all else stays in carry-save form.

use super::Goal;
use super::columns::Columns;
use super::integer::constant;
use super::timed::{Timed, timed, untimed};
use crate::{Bit, BitOrder, Builder, Circuit};

type Word = Vec<Timed>;

/// The compression function: inputs `block` (512 wires) and `state` (256 wires), output `state`, all
/// [`BitOrder::Lsb`].
pub fn sha256_compress(goal: Goal) -> Circuit {
    let mut b = Builder::new();
    let block = b.input("block", 512, BitOrder::Lsb);
    let state = b.input("state", 256, BitOrder::Lsb);
    let next = sha256_block(&mut b, &block, &state, goal);
    b.output("state", &next, BitOrder::Lsb);
    b.finish()
}

/// The digest of one padded block: input `block` (512 wires), output `digest` (256 wires), both [`BitOrder::Lsb`]. The
/// initial state is built in; the padding is up to the caller.
pub fn sha256_single_block(goal: Goal) -> Circuit {
    let mut b = Builder::new();
    let block = b.input("block", 512, BitOrder::Lsb);
    let digest = sha256_block(&mut b, &block, &sha256_initial_state(), goal);
    b.output("digest", &digest, BitOrder::Lsb);
    b.finish()
}

/// The initial state of SHA-256, as constants.
pub fn sha256_initial_state() -> Vec<Bit> {
    let words = primes().take(8).map(|p| root_fraction(p, 2));
    from_words(words.map(|word| timed(&constant(word.into(), 32))).collect())
}

/// The state after `block`. Blocks chain: the result is the `state` of the next call.
///
/// # Panics
/// If `block` is not 512 bits or `state` is not 256 bits.
pub fn sha256_block(b: &mut Builder, block: &[Bit], state: &[Bit], goal: Goal) -> Vec<Bit> {
    assert_eq!(block.len(), 512, "a block has 512 bits");
    assert_eq!(state.len(), 256, "a state has 256 bits");
    let schedule = message_schedule(b, words(block), goal);
    let initial = words(state);
    let mut now = initial.clone();
    for (w, k) in schedule.iter().zip(primes().map(|p| root_fraction(p, 3))) {
        let k = timed(&constant(k.into(), 32));
        let (next_a, next_e) = round(b, &now, w, &k, goal);
        // All words move on by one; the last falls out.
        now.rotate_right(1);
        (now[0], now[4]) = (next_a, next_e);
    }
    let next = initial
        .iter()
        .zip(&now)
        .map(|(x, y)| sum(b, &[x, y], goal))
        .collect();
    from_words(next)
}

/// The new `a` and `e`.
fn round(b: &mut Builder, state: &[Word], w: &Word, k: &Word, goal: Goal) -> (Word, Word) {
    let [a, a1, a2, d, e, f, g, h] = state else {
        unreachable!("a state has eight words")
    };
    let choice: Word = (0..32).map(|i| e[i].mux(b, f[i], g[i])).collect();
    // The latest word, `a`, goes where it is XORed last.
    let majority: Word = (0..32).map(|i| a1[i].majority(b, a2[i], a[i])).collect();
    let e_mixed = xor3(b, [&rotate(e, 6), &rotate(e, 11), &rotate(e, 25)]);
    let a_mixed = xor3(b, [&rotate(a, 2), &rotate(a, 13), &rotate(a, 22)]);
    match goal {
        Goal::FewestAnds => {
            let t1 = sum(b, &[h, &e_mixed, &choice, k, w], goal);
            let next_a = sum(b, &[&t1, &a_mixed, &majority], goal);
            (next_a, sum(b, &[d, &t1], goal))
        }
        Goal::LeastDepth => {
            let [x, y] = columns(&[d, h, &e_mixed, &choice, k, w]).carry_save(b);
            let next_e = sum(b, &[&x, &y], goal);
            // x + y is T1 + d, so d is taken off again: -d = !d + 1.
            let not_d: Word = d.iter().map(|&bit| !bit).collect();
            let one = vec![Timed::from(Bit::TRUE)];
            (sum(b, &[&x, &y, &not_d, &one, &a_mixed, &majority], goal), next_e)
        }
    }
}

/// All 64 words.
fn message_schedule(b: &mut Builder, block: Vec<Word>, goal: Goal) -> Vec<Word> {
    let mut w = block;
    for t in 16..64 {
        let early = &w[t - 15];
        let early = xor3(b, [&rotate(early, 7), &rotate(early, 18), &shift(early, 3)]);
        let late = &w[t - 2];
        let late = xor3(b, [&rotate(late, 17), &rotate(late, 19), &shift(late, 10)]);
        let next = sum(b, &[&late, &w[t - 7], &early, &w[t - 16]], goal);
        w.push(next);
    }
    w
}

fn columns(words: &[&Word]) -> Columns {
    let mut columns = Columns::new(32);
    for word in words {
        columns.push_word(0, word);
    }
    columns
}

fn sum(b: &mut Builder, words: &[&Word], goal: Goal) -> Word {
    columns(words).sum(b, goal)
}

fn xor3(b: &mut Builder, words: [&Word; 3]) -> Word {
    let [x, y, z] = words;
    (0..32)
        .map(|i| {
            let pair = x[i].xor(b, y[i]);
            pair.xor(b, z[i])
        })
        .collect()
}

fn rotate(word: &Word, right: usize) -> Word {
    let mut word = word.clone();
    word.rotate_left(right);
    word
}

fn shift(word: &Word, right: usize) -> Word {
    let zeros = std::iter::repeat_n(Bit::FALSE.into(), right);
    word[right..].iter().copied().chain(zeros).collect()
}

/// Word 0 first, each least significant bit first.
fn words(value: &[Bit]) -> Vec<Word> {
    value.chunks(32).rev().map(timed).collect()
}

fn from_words(words: Vec<Word>) -> Vec<Bit> {
    words.iter().rev().flat_map(|word| untimed(word)).collect()
}

fn primes() -> impl Iterator<Item = u64> {
    (2u64..).filter(|n| (2..*n).take_while(|d| d * d <= *n).all(|d| !n.is_multiple_of(d)))
}

/// The first 32 bits of the fraction of the square or cube root of `n`.
fn root_fraction(n: u64, degree: u32) -> u32 {
    // The largest r with r^degree ≤ n · 2^(32 · degree), whose low half is the fraction.
    let target = u128::from(n) << (32 * degree);
    let mut root = 0u128;
    for bit in (0..40).rev() {
        let candidate = root | 1 << bit;
        if candidate.pow(degree) <= target {
            root = candidate;
        }
    }
    root as u32
}
