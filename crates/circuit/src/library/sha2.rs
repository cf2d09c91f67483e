//! SHA-256 and SHA-512 (FIPS 180-4).
//!
//! A block, state or digest is the integer that its hexadecimal string spells, least significant bit first. This is the
//! order of the Bristol Fashion circuits.
//!
//! Additions of several words are one sum in columns. For least depth only `e` and `a` of each round and the words of
//! the schedule are ever brought into one word; all else stays in carry-save form.

use super::columns::Columns;
use super::goal::Goal;
use super::timed::{Timed, timed, untimed};
use crate::{Bit, BitOrder, Builder, Circuit};

type Word = Vec<Timed>;

/// What tells the two functions apart.
struct Variant {
    /// Bits of a word.
    word: usize,
    rounds: usize,
    /// Rotations that mix `a` and `e`.
    mix_a: [usize; 3],
    mix_e: [usize; 3],
    /// Two rotations and a shift that mix an early and a late word of the schedule.
    early: [usize; 3],
    late: [usize; 3],
}

const SHA256: Variant = Variant {
    word: 32,
    rounds: 64,
    mix_a: [2, 13, 22],
    mix_e: [6, 11, 25],
    early: [7, 18, 3],
    late: [17, 19, 10],
};

const SHA512: Variant = Variant {
    word: 64,
    rounds: 80,
    mix_a: [28, 34, 39],
    mix_e: [14, 18, 41],
    early: [1, 8, 7],
    late: [19, 61, 6],
};

/// The compression function of SHA-256: inputs `block` (512 wires) and `state` (256 wires), output `state`, all
/// [`BitOrder::Lsb`].
pub fn sha256_compress(goal: Goal) -> Circuit {
    SHA256.compress(goal)
}

/// The compression function of SHA-512: inputs `block` (1024 wires) and `state` (512 wires), output `state`, all
/// [`BitOrder::Lsb`].
pub fn sha512_compress(goal: Goal) -> Circuit {
    SHA512.compress(goal)
}

/// The SHA-256 digest of one padded block: input `block` (512 wires), output `digest` (256 wires), both
/// [`BitOrder::Lsb`]. The initial state is built in; the padding is up to the caller.
pub fn sha256_single_block(goal: Goal) -> Circuit {
    let mut b = Builder::new();
    let block = b.input("block", 512, BitOrder::Lsb);
    let digest = sha256_block(&mut b, &block, &sha256_initial_state(), goal);
    b.output("digest", &digest, BitOrder::Lsb);
    b.finish()
}

/// The initial state of SHA-256, as constants.
pub fn sha256_initial_state() -> Vec<Bit> {
    SHA256.initial_state()
}

/// The initial state of SHA-512, as constants.
pub fn sha512_initial_state() -> Vec<Bit> {
    SHA512.initial_state()
}

/// The state of SHA-256 after `block`. Blocks chain: the result is the `state` of the next call.
///
/// # Panics
/// If `block` is not 512 bits or `state` is not 256 bits.
pub fn sha256_block(b: &mut Builder, block: &[Bit], state: &[Bit], goal: Goal) -> Vec<Bit> {
    SHA256.block(b, block, state, goal)
}

/// The state of SHA-512 after `block`. Blocks chain as for [`sha256_block`].
///
/// # Panics
/// If `block` is not 1024 bits or `state` is not 512 bits.
pub fn sha512_block(b: &mut Builder, block: &[Bit], state: &[Bit], goal: Goal) -> Vec<Bit> {
    SHA512.block(b, block, state, goal)
}

impl Variant {
    fn compress(&self, goal: Goal) -> Circuit {
        let mut b = Builder::new();
        let block = b.input("block", 16 * self.word as u32, BitOrder::Lsb);
        let state = b.input("state", 8 * self.word as u32, BitOrder::Lsb);
        let next = self.block(&mut b, &block, &state, goal);
        b.output("state", &next, BitOrder::Lsb);
        b.finish()
    }

    fn initial_state(&self) -> Vec<Bit> {
        from_words(primes().take(8).map(|p| self.root_fraction(p, 2)).collect())
    }

    fn block(&self, b: &mut Builder, block: &[Bit], state: &[Bit], goal: Goal) -> Vec<Bit> {
        assert_eq!(block.len(), 16 * self.word, "a block has 16 words");
        assert_eq!(state.len(), 8 * self.word, "a state has 8 words");
        let schedule = self.message_schedule(b, self.words(block), goal);
        let initial = self.words(state);
        let mut now = initial.clone();
        for (w, k) in schedule.iter().zip(primes().map(|p| self.root_fraction(p, 3))) {
            let (next_a, next_e) = self.round(b, &now, w, &k, goal);
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
    fn round(&self, b: &mut Builder, state: &[Word], w: &Word, k: &Word, goal: Goal) -> (Word, Word) {
        let [a, a1, a2, d, e, f, g, h] = state else {
            unreachable!("a state has eight words")
        };
        let choice: Word = (0..self.word).map(|i| e[i].mux(b, f[i], g[i])).collect();
        // The latest word, `a`, goes where it is XORed last.
        let majority: Word = (0..self.word).map(|i| a1[i].majority(b, a2[i], a[i])).collect();
        let e_mixed = xor3(b, self.mix_e.map(|right| rotate(e, right)));
        let a_mixed = xor3(b, self.mix_a.map(|right| rotate(a, right)));
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
                let next_a = sum(b, &[&x, &y, &not_d, &one, &a_mixed, &majority], goal);
                (next_a, next_e)
            }
        }
    }

    /// One word for each round.
    fn message_schedule(&self, b: &mut Builder, block: Vec<Word>, goal: Goal) -> Vec<Word> {
        let mix = |b: &mut Builder, word: &Word, [first, second, down]: [usize; 3]| {
            xor3(b, [rotate(word, first), rotate(word, second), shift(word, down)])
        };
        let mut w = block;
        for t in 16..self.rounds {
            let early = mix(b, &w[t - 15], self.early);
            let late = mix(b, &w[t - 2], self.late);
            let next = sum(b, &[&late, &w[t - 7], &early, &w[t - 16]], goal);
            w.push(next);
        }
        w
    }

    /// Word 0 first, each least significant bit first.
    fn words(&self, value: &[Bit]) -> Vec<Word> {
        value.chunks(self.word).rev().map(timed).collect()
    }

    /// The first bits of the fraction of the square or cube root of `n`, no square or cube, as a word of constants.
    fn root_fraction(&self, n: u64, degree: u32) -> Word {
        // The root is found bit by bit. Numbers are in digits of 32 bits, the least significant first.
        let digits = self.word / 32;
        let below = |root: &[u64]| {
            let power = (1..degree).fold(root.to_vec(), |power, _| product(&power, root));
            // The digits above the fraction make an integer, and the root of `n` is none.
            let integer = power[digits * degree as usize..].iter().rev();
            integer.fold(0, |sum, digit| sum << 32 | digit) < n
        };
        let mut root = vec![0u64; digits + 1];
        for bit in (0..self.word + 8).rev() {
            root[bit / 32] |= 1 << (bit % 32);
            if !below(&root) {
                root[bit / 32] ^= 1 << (bit % 32);
            }
        }
        (0..self.word)
            .map(|i| Bit::constant(root[i / 32] >> (i % 32) & 1 == 1).into())
            .collect()
    }
}

fn columns(words: &[&Word]) -> Columns {
    let mut columns = Columns::new(words[0].len());
    for word in words {
        columns.push_word(0, word);
    }
    columns
}

fn sum(b: &mut Builder, words: &[&Word], goal: Goal) -> Word {
    columns(words).sum(b, goal)
}

fn xor3(b: &mut Builder, [x, y, z]: [Word; 3]) -> Word {
    (0..x.len())
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

fn from_words(words: Vec<Word>) -> Vec<Bit> {
    words.iter().rev().flat_map(|word| untimed(word)).collect()
}

fn primes() -> impl Iterator<Item = u64> {
    (2u64..).filter(|n| (2..*n).take_while(|d| d * d <= *n).all(|d| !n.is_multiple_of(d)))
}

/// The product of numbers in digits of 32 bits.
fn product(x: &[u64], y: &[u64]) -> Vec<u64> {
    let mut product = vec![0; x.len() + y.len()];
    for (i, x) in x.iter().enumerate() {
        let mut carry = 0;
        for (j, y) in y.iter().enumerate() {
            let sum = product[i + j] + x * y + carry;
            product[i + j] = sum & u64::from(u32::MAX);
            carry = sum >> 32;
        }
        product[i + y.len()] = carry;
    }
    product
}
