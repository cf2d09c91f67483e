//! Circuits by name, for command lines.

use std::ops::RangeInclusive;

use super::aes::{aes, aes_inverse};
use super::columns::popcount;
use super::compact::build_compaction;
use super::count::{leading_zeros, trailing_zeros};
use super::divide::{divide, divide_signed};
use super::exposure::build_exposure;
use super::goal::Goal;
use super::integer::{absolute, add, equal, is_zero, less_than, less_than_signed, negate, subtract};
use super::keccak::{keccak_f1600, sha3_256_single_block};
use super::multiply::{multiply, multiply_full};
use super::permutation::build_permutation;
use super::sbox::AesSbox;
use super::sha2::{sha256_compress, sha256_single_block, sha512_compress};
use super::shift::{rotate_left, rotate_right, shift_left, shift_right, shift_right_signed};
use super::sort::build_sort;
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
    ("divN", "quotient, remainder = x / y, unsigned"),
    ("sdivN", "quotient, remainder = x / y, two's complement"),
    ("absN", "absolute = |x|, x in two's complement"),
    ("ltN", "less = (x < y), unsigned"),
    ("sltN", "less = (x < y), two's complement"),
    ("eqN", "equal = (x = y)"),
    ("zeroN", "zero = (x = 0)"),
    ("popcountN", "count = number of ones of x"),
    ("clzN", "count = number of zeros above the highest one of x"),
    ("ctzN", "count = number of zeros below the lowest one of x"),
    ("shlN", "shifted = x · 2^amount mod 2^N"),
    ("shrN", "shifted = x / 2^amount, unsigned"),
    ("sarN", "shifted = x / 2^amount, two's complement"),
    ("rotlN", "rotated = x turned left by amount mod N"),
    ("rotrN", "rotated = x turned right by amount mod N"),
    ("aes128", "ciphertext = AES-128 of message under key"),
    ("aes192", "ciphertext = AES-192 of message under key"),
    ("aes256", "ciphertext = AES-256 of message under key"),
    ("aes128-decrypt", "message of AES-128 ciphertext under key"),
    ("aes192-decrypt", "message of AES-192 ciphertext under key"),
    ("aes256-decrypt", "message of AES-256 ciphertext under key"),
    ("sha256", "state = SHA-256 compression of block into state"),
    ("sha256-single", "digest = SHA-256 of one padded block"),
    ("sha512", "state = SHA-512 compression of block into state"),
    ("keccak-f", "state = Keccak-f[1600] of state"),
    ("sha3-256-single", "digest = SHA3-256 of one padded block"),
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
    (
        "compactMxN",
        "y0, y1, … = those of x0, x1, … that valid marks, then the others; M of N bits",
    ),
    (
        "permuteMxN",
        "y0, y1, … = x0, x1, … through a permutation network; M of N bits",
    ),
];

/// Widest operand of the circuits of linear size.
const MAX_WIDTH: u32 = 4096;
/// Widest operand of multiplications and divisions.
const MAX_FACTOR: u32 = 512;
/// Most elements of a list.
const MAX_ELEMENTS: usize = 4096;
/// Most parties of an exposure.
const MAX_PARTIES: usize = 1024;
/// Widest exposure, and element of a list.
const MAX_ELEMENT: u32 = 64;
/// Most bits of a list, in all elements together: to sort them takes 8.9 million ANDs, and about 2 GB to plan.
const MAX_LIST: usize = 1 << 17;

/// A circuit on a number of elements of a width.
type MakeList = fn(&mut Builder, usize, u32, Goal);
/// A circuit on operands of a width.
type Make = fn(&mut Builder, u32, Goal);

/// Why there is no circuit of a name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// No name in [`NAMES`] has this form.
    #[error("there is no such circuit")]
    Unknown,
    /// One has, but the circuit would be empty or huge. Says which sizes there are.
    #[error("there is no circuit of that size: {0}")]
    Size(String),
    /// The circuit has more gates than it may.
    #[error("it has more than {0} gates")]
    Gates(usize),
}

/// The circuit called `name` (see [`NAMES`]).
///
/// # Errors
/// [`NameError::Size`] if it would be huge: operands have at most 4096 bits (factors and divisors 512), an exposure at most 1024 parties
/// of 64 bits, a list at most 4096 elements of 64 bits and 2^17 bits in all.
///
/// ```
/// use cenote_circuit::library::{NameError, by_name};
/// assert_eq!(by_name("add32").unwrap().statistics().ands, 31);
/// assert_eq!(by_name("add32-depth").unwrap().statistics().and_depth, 5);
/// assert_eq!(by_name("add"), Err(NameError::Unknown));
/// assert_eq!(by_name("add5000"), Err(NameError::Size("N is 1 to 4096".into())));
/// ```
pub fn by_name(name: &str) -> Result<Circuit, NameError> {
    by_name_within(name, usize::MAX)
}

/// The same, if it comes to no more than `most` gates under construction, some of which may not be needed in the end. It takes no memory
/// for more of them, and little time.
///
/// # Errors
/// As [`by_name`]; [`NameError::Gates`] if it comes to more.
pub fn by_name_within(name: &str, most: usize) -> Result<Circuit, NameError> {
    let mut b = Builder::within(most);
    let circuit = match build(&mut b, name)? {
        Some(circuit) => Some(circuit).filter(|circuit| circuit.gates().len() <= most),
        None => b.finish_within(),
    };
    circuit.ok_or(NameError::Gates(most))
}

/// Gives a circuit of one size, and builds one of any size in `b`, which is empty.
fn build(b: &mut Builder, name: &str) -> Result<Option<Circuit>, NameError> {
    if let Some(name) = name.strip_suffix("-balanced") {
        let aes = aes_by_name(name, AesSbox::Balanced);
        return aes.map(Some).ok_or(NameError::Unknown);
    }
    let (name, goal) = match name.strip_suffix("-depth") {
        Some(name) => (name, Goal::LeastDepth),
        None => (name, Goal::FewestAnds),
    };
    if let Some(aes) = aes_by_name(name, goal) {
        return Ok(Some(aes));
    }
    match name {
        "sha256" => return Ok(Some(sha256_compress(goal))),
        "sha256-single" => return Ok(Some(sha256_single_block(goal))),
        "sha512" => return Ok(Some(sha512_compress(goal))),
        "keccak-f" => return Ok(Some(keccak_f1600())),
        "sha3-256-single" => return Ok(Some(sha3_256_single_block())),
        _ => {}
    }
    if let Some(rest) = name.strip_prefix("exposure") {
        exposure(b, rest, goal)?;
        return Ok(None);
    }
    let lists: [(_, MakeList); 4] = [
        ("sort", |b, count, width, goal| {
            build_sort(b, count, width, false, goal)
        }),
        ("ssort", |b, count, width, goal| {
            build_sort(b, count, width, true, goal)
        }),
        ("compact", |b, count, width, _| build_compaction(b, count, width)),
        ("permute", |b, count, width, _| build_permutation(b, count, width)),
    ];
    for (prefix, make) in lists {
        if let Some(rest) = name.strip_prefix(prefix) {
            let (count, width) = list_sizes(rest)?;
            make(b, count, width, goal);
            return Ok(None);
        }
    }
    let digits = name.find(|c: char| c.is_ascii_digit());
    let (operation, width) = name.split_at(digits.ok_or(NameError::Unknown)?);
    let make: Make = match operation {
        "add" => |b, width, goal| binary(b, width, "sum", |b, x, y| add(b, x, y, goal)),
        "sub" => |b, width, goal| binary(b, width, "difference", |b, x, y| subtract(b, x, y, goal)),
        "mult" => |b, width, goal| binary(b, width, "product", |b, x, y| multiply(b, x, y, goal)),
        "multfull" => |b, width, goal| binary(b, width, "product", |b, x, y| multiply_full(b, x, y, goal)),
        "div" => |b, width, goal| division(b, width, |b, x, y| divide(b, x, y, goal)),
        "sdiv" => |b, width, goal| division(b, width, |b, x, y| divide_signed(b, x, y, goal)),
        "abs" => |b, width, goal| unary(b, width, "absolute", |b, x| absolute(b, x, goal)),
        "clz" => |b, width, goal| unary(b, width, "count", |b, x| leading_zeros(b, x, goal)),
        "ctz" => |b, width, goal| unary(b, width, "count", |b, x| trailing_zeros(b, x, goal)),
        "shl" => |b, width, goal| by_amount(b, width, "shifted", |b, x, n| shift_left(b, x, n, goal)),
        "shr" => |b, width, goal| by_amount(b, width, "shifted", |b, x, n| shift_right(b, x, n, goal)),
        "sar" => |b, width, goal| by_amount(b, width, "shifted", |b, x, n| shift_right_signed(b, x, n, goal)),
        "rotl" => |b, width, goal| by_amount(b, width, "rotated", |b, x, n| rotate_left(b, x, n, goal)),
        "rotr" => |b, width, goal| by_amount(b, width, "rotated", |b, x, n| rotate_right(b, x, n, goal)),
        "lt" => |b, width, goal| binary(b, width, "less", |b, x, y| vec![less_than(b, x, y, goal)]),
        "slt" => |b, width, goal| binary(b, width, "less", |b, x, y| vec![less_than_signed(b, x, y, goal)]),
        "eq" => |b, width, _| binary(b, width, "equal", |b, x, y| vec![equal(b, x, y)]),
        "neg" => |b, width, goal| unary(b, width, "negative", |b, x| negate(b, x, goal)),
        "zero" => |b, width, _| unary(b, width, "zero", |b, x| vec![is_zero(b, x)]),
        "popcount" => |b, width, _| unary(b, width, "count", popcount),
        _ => return Err(NameError::Unknown),
    };
    let most = match operation {
        "mult" | "multfull" | "div" | "sdiv" => MAX_FACTOR,
        _ => MAX_WIDTH,
    };
    let width = number(width, 1..=most, &format!("N is 1 to {most}"))?;
    make(b, width, goal);
    Ok(None)
}

fn aes_by_name(name: &str, sbox: impl Into<AesSbox>) -> Option<Circuit> {
    let (name, make): (_, fn(u32, AesSbox) -> Circuit) = match name.strip_suffix("-decrypt") {
        Some(name) => (name, |key_bits, sbox| aes_inverse(key_bits, sbox)),
        None => (name, |key_bits, sbox| aes(key_bits, sbox)),
    };
    let key_bits = match name {
        "aes128" => 128,
        "aes192" => 192,
        "aes256" => 256,
        _ => return None,
    };
    Some(make(key_bits, sbox.into()))
}

/// `PxN-L`.
fn exposure(b: &mut Builder, rest: &str, goal: Goal) -> Result<(), NameError> {
    let (parties, rest) = rest.split_once('x').ok_or(NameError::Unknown)?;
    let (width, limit) = rest.split_once('-').ok_or(NameError::Unknown)?;
    let sizes = format!("P is 1 to {MAX_PARTIES} and N 1 to {MAX_ELEMENT}, L below 2^64");
    let parties = number(parties, 1..=MAX_PARTIES, &sizes)?;
    let width = number(width, 1..=MAX_ELEMENT, &sizes)?;
    let limit = number(limit, 0..=u64::MAX, &sizes)?;
    build_exposure(b, parties, width, limit, goal);
    Ok(())
}

/// `MxN`.
fn list_sizes(rest: &str) -> Result<(usize, u32), NameError> {
    let (count, width) = rest.split_once('x').ok_or(NameError::Unknown)?;
    let sizes = format!("M is 1 to {MAX_ELEMENTS} and N 1 to {MAX_ELEMENT}, M · N at most {MAX_LIST}");
    let count = number(count, 1..=MAX_ELEMENTS, &sizes)?;
    let width = number(width, 1..=MAX_ELEMENT, &sizes)?;
    if count * width as usize > MAX_LIST {
        return Err(NameError::Size(sizes));
    }
    Ok((count, width))
}

/// A number in decimal: digits only, where [`str::parse`] would allow a sign; and in `range`, of which `sizes` tells.
fn number<T: std::str::FromStr + PartialOrd>(
    digits: &str,
    range: RangeInclusive<T>,
    sizes: &str,
) -> Result<T, NameError> {
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(NameError::Unknown);
    }
    match digits.parse() {
        Ok(number) if range.contains(&number) => Ok(number),
        _ => Err(NameError::Size(sizes.to_owned())),
    }
}

fn binary(
    b: &mut Builder,
    width: u32,
    result: &str,
    f: impl FnOnce(&mut Builder, &[Bit], &[Bit]) -> Vec<Bit>,
) {
    let x = b.input("x", width, BitOrder::Lsb);
    let y = b.input("y", width, BitOrder::Lsb);
    let bits = f(b, &x, &y);
    b.output(result, &bits, BitOrder::Lsb);
}

fn division(
    b: &mut Builder,
    width: u32,
    f: impl FnOnce(&mut Builder, &[Bit], &[Bit]) -> (Vec<Bit>, Vec<Bit>),
) {
    let x = b.input("x", width, BitOrder::Lsb);
    let y = b.input("y", width, BitOrder::Lsb);
    let (quotient, remainder) = f(b, &x, &y);
    b.output("quotient", &quotient, BitOrder::Lsb);
    b.output("remainder", &remainder, BitOrder::Lsb);
}

/// The amount is just wide enough for `width` itself.
fn by_amount(
    b: &mut Builder,
    width: u32,
    result: &str,
    f: impl FnOnce(&mut Builder, &[Bit], &[Bit]) -> Vec<Bit>,
) {
    let x = b.input("x", width, BitOrder::Lsb);
    let amount = b.input("amount", width.ilog2() + 1, BitOrder::Lsb);
    let bits = f(b, &x, &amount);
    b.output(result, &bits, BitOrder::Lsb);
}

fn unary(b: &mut Builder, width: u32, result: &str, f: impl FnOnce(&mut Builder, &[Bit]) -> Vec<Bit>) {
    let x = b.input("x", width, BitOrder::Lsb);
    let bits = f(b, &x);
    b.output(result, &bits, BitOrder::Lsb);
}
