//! Circuits by name, for command lines.

use super::{
    AesSbox, Goal, add, aes, equal, exposure_over_limit, is_zero, less_than, less_than_signed, multiply,
    multiply_full, negate, popcount, sha256_compress, sha256_single_block, sort_integers, subtract,
};
use crate::{Bit, BitOrder, Builder, Circuit};

/// What [`by_name`] knows: the form of a name, and what the circuit computes.
///
/// `N` stands for a width in bits, `P` for a number of parties, `M` for a number of elements, `L`
/// for a number. Any name may end in `-depth`, for least
/// AND depth instead of fewest ANDs, and those of AES also in `-balanced`.
pub const NAMES: &[(&str, &str)] = &[
    ("addN", "sum = x + y mod 2^N"),
    ("subN", "difference = x - y mod 2^N"),
    ("negN", "negative = -x mod 2^N"),
    ("multN", "product = x · y mod 2^N"),
    ("multfullN", "product = x · y, 2N bits"),
    ("ltN", "less = (x < y), unsigned"),
    ("sltN", "less = (x < y), two's complement"),
    ("eqN", "equal = (x = y)"),
    ("zeroN", "zero = (x = 0)"),
    ("popcountN", "count = number of ones of x"),
    ("aes128", "ciphertext = AES-128 of message under key"),
    ("aes192", "ciphertext = AES-192 of message under key"),
    ("aes256", "ciphertext = AES-256 of message under key"),
    ("sha256", "state = SHA-256 compression of block into state"),
    ("sha256-single", "digest = SHA-256 of one padded block"),
    (
        "exposurePxN-L",
        "over = (bank0 + … > L), P parties with N bits each",
    ),
    (
        "sortMxN",
        "sorted0 ≤ sorted1 ≤ … = x0, x1, …, M unsigned integers of N bits",
    ),
    (
        "ssortMxN",
        "sorted0 ≤ sorted1 ≤ … = x0, x1, …, M integers of N bits in two's complement",
    ),
];

/// Widest operand of the circuits of linear size.
const MAX_WIDTH: u32 = 4096;
/// Widest operand of multiplications.
const MAX_FACTOR: u32 = 512;
/// Most elements to sort.
const MAX_ELEMENTS: usize = 4096;
/// Widest element to sort.
const MAX_ELEMENT: u32 = 64;
/// Most bits to sort, in all elements together: 8.9 million ANDs, which take about 2 GB to plan.
const MAX_SORTED: usize = 1 << 17;

/// The circuit called `name` (see [`NAMES`]), or `None` if there is none, or if it would be huge: operands have at most
/// 4096 bits (factors 512), an exposure at most 1024 parties of 64 bits, a list to sort at most 4096 elements of 64 bits and
/// 2^17 bits in all.
///
/// ```
/// use cenote_circuit::library::by_name;
/// assert_eq!(by_name("add32").unwrap().statistics().ands, 31);
/// assert_eq!(by_name("add32-depth").unwrap().statistics().and_depth, 5);
/// assert!(by_name("add").is_none());
/// ```
pub fn by_name(name: &str) -> Option<Circuit> {
    if let Some(name) = name.strip_suffix("-balanced") {
        return Some(aes(aes_key_bits(name)?, AesSbox::Balanced));
    }
    let (name, goal) = match name.strip_suffix("-depth") {
        Some(name) => (name, Goal::LeastDepth),
        None => (name, Goal::FewestAnds),
    };
    if let Some(key_bits) = aes_key_bits(name) {
        return Some(aes(key_bits, goal));
    }
    match name {
        "sha256" => return Some(sha256_compress(goal)),
        "sha256-single" => return Some(sha256_single_block(goal)),
        _ => {}
    }
    if let Some(rest) = name.strip_prefix("exposure") {
        return exposure(rest, goal);
    }
    if let Some(rest) = name.strip_prefix("sort") {
        return sort(rest, false, goal);
    }
    if let Some(rest) = name.strip_prefix("ssort") {
        return sort(rest, true, goal);
    }
    let (operation, width) = name.split_at(name.find(|c: char| c.is_ascii_digit())?);
    let width: u32 = number(width)?;
    let limit = if operation.starts_with("mult") {
        MAX_FACTOR
    } else {
        MAX_WIDTH
    };
    if width == 0 || width > limit {
        return None;
    }
    Some(match operation {
        "add" => binary(width, "sum", |b, x, y| add(b, x, y, goal)),
        "sub" => binary(width, "difference", |b, x, y| subtract(b, x, y, goal)),
        "mult" => binary(width, "product", |b, x, y| multiply(b, x, y, goal)),
        "multfull" => binary(width, "product", |b, x, y| multiply_full(b, x, y, goal)),
        "lt" => binary(width, "less", |b, x, y| vec![less_than(b, x, y, goal)]),
        "slt" => binary(width, "less", |b, x, y| vec![less_than_signed(b, x, y, goal)]),
        "eq" => binary(width, "equal", |b, x, y| vec![equal(b, x, y)]),
        "neg" => unary(width, "negative", |b, x| negate(b, x, goal)),
        "zero" => unary(width, "zero", |b, x| vec![is_zero(b, x)]),
        "popcount" => unary(width, "count", popcount),
        _ => return None,
    })
}

fn aes_key_bits(name: &str) -> Option<u32> {
    match name {
        "aes128" => Some(128),
        "aes192" => Some(192),
        "aes256" => Some(256),
        _ => None,
    }
}

/// `PxN-L`.
fn exposure(rest: &str, goal: Goal) -> Option<Circuit> {
    let (parties, rest) = rest.split_once('x')?;
    let (width, limit) = rest.split_once('-')?;
    let (parties, width, limit) = (number(parties)?, number(width)?, number(limit)?);
    let sizes = (1..=1024).contains(&parties) && (1..=64).contains(&width);
    sizes.then(|| exposure_over_limit(parties, width, limit, goal))
}

/// `MxN`.
fn sort(rest: &str, signed: bool, goal: Goal) -> Option<Circuit> {
    let (count, width) = rest.split_once('x')?;
    let (count, width): (usize, u32) = (number(count)?, number(width)?);
    let sizes = (1..=MAX_ELEMENTS).contains(&count)
        && (1..=MAX_ELEMENT).contains(&width)
        && count * width as usize <= MAX_SORTED;
    sizes.then(|| sort_integers(count, width, signed, goal))
}

/// A number in decimal: digits only, where [`str::parse`] would allow a sign.
fn number<T: std::str::FromStr>(digits: &str) -> Option<T> {
    let plain = digits.bytes().all(|byte| byte.is_ascii_digit());
    digits.parse().ok().filter(|_| plain)
}

fn binary(width: u32, result: &str, f: impl FnOnce(&mut Builder, &[Bit], &[Bit]) -> Vec<Bit>) -> Circuit {
    let mut b = Builder::new();
    let x = b.input("x", width, BitOrder::Lsb);
    let y = b.input("y", width, BitOrder::Lsb);
    let bits = f(&mut b, &x, &y);
    b.output(result, &bits, BitOrder::Lsb);
    b.finish()
}

fn unary(width: u32, result: &str, f: impl FnOnce(&mut Builder, &[Bit]) -> Vec<Bit>) -> Circuit {
    let mut b = Builder::new();
    let x = b.input("x", width, BitOrder::Lsb);
    let bits = f(&mut b, &x);
    b.output(result, &bits, BitOrder::Lsb);
    b.finish()
}
