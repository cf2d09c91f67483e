//! Every operator does what Rust's wrapping one does, at every kind of width.

use cenote_net::PartyId;
use cenote_program::{Int, Integer, Secret, Session, Uint, Word};
use cenote_session::ClearEngine;
use proptest::prelude::*;

const ME: PartyId = PartyId(0);

fn session() -> Session {
    Session::new(ClearEngine::new(ME, Vec::new()))
}

fn row<T: Word>(session: &Session, values: &[T]) -> Secret<T> {
    session.input(ME, values.len(), Some(values))
}

/// A type of integers with what is right.
trait Oracle: Integer {
    fn number(self) -> i128;
}

impl<const N: u32> Oracle for Uint<N> {
    fn number(self) -> i128 {
        self.get() as i128
    }
}

impl<const N: u32> Oracle for Int<N> {
    fn number(self) -> i128 {
        self.get()
    }
}

/// The words with the bits of `all`: the extremes too.
fn words<T: Word>(all: &[u128]) -> Vec<T> {
    let extremes = [0, 1, u128::MAX, 1 << (T::BITS - 1), (1 << (T::BITS - 1)) - 1];
    all.iter()
        .chain(&extremes)
        .map(|&bits| T::from_bits(bits))
        .collect()
}

fn wrapped<T: Word>(bits: u128) -> T {
    T::from_bits(bits)
}

fn check<T: Oracle>(xs: &[u128], ys: &[u128], bys: [u32; 3]) {
    let session = session();
    let (mut xs, mut ys) = (words::<T>(xs), words::<T>(ys));
    ys.rotate_left(2);
    // Each extreme meets each other.
    for x in words::<T>(&[]) {
        for y in words::<T>(&[]) {
            xs.push(x);
            ys.push(y);
        }
    }
    let (x, y) = (row(&session, &xs), row(&session, &ys));
    let pairs: Vec<(T, T)> = xs.iter().copied().zip(ys.iter().copied()).collect();
    let words = |name: &str, got: &Secret<T>, right: &dyn Fn(u128, u128) -> u128| {
        let right: Vec<T> = pairs
            .iter()
            .map(|(x, y)| wrapped(right(x.to_bits(), y.to_bits())))
            .collect();
        assert_eq!(
            session.open(got).unwrap(),
            right,
            "{name}, {} bits, signed {}",
            T::BITS,
            T::SIGNED
        );
    };
    words("+", &(&x + &y), &u128::wrapping_add);
    words("-", &(&x - &y), &u128::wrapping_sub);
    words("*", &(&x * &y), &u128::wrapping_mul);
    words("&", &(&x & &y), &|x, y| x & y);
    words("|", &(&x | &y), &|x, y| x | y);
    words("^", &(&x ^ &y), &|x, y| x ^ y);
    words("!", &!&x, &|x, _| !x);
    words("neg", &-&x, &|x, _| x.wrapping_neg());
    let public = ys[0];
    words("+ public", &(&x + public), &|x, _| {
        x.wrapping_add(public.to_bits())
    });
    let single = row(&session, &ys[..1]);
    words("* single", &(&x * &single), &|x, _| {
        x.wrapping_mul(public.to_bits())
    });
    let low = |x: u128| T::from_bits(x);
    for by in bys {
        words("shl", &(&x << by), &|x, _| x.checked_shl(by).unwrap_or(0));
        words("shr", &(&x >> by), &|x, _| {
            let number = low(x).number();
            match (T::SIGNED, number < 0) {
                (true, true) => (number >> by.min(127)) as u128,
                _ => (number as u128).checked_shr(by).unwrap_or(0),
            }
        });
        words("rotate", &x.rotate_left(by), &|x, _| {
            let by = by % T::BITS;
            let kept = T::BITS - by;
            x << by | if kept == 128 { 0 } else { x >> kept }
        });
        words("rotate back", &x.rotate_left(by).rotate_right(by), &|x, _| x);
    }
    words("/", &(&x / &y), &|x, y| quotient(low(x), low(y)).0 as u128);
    words("%", &(&x % &y), &|x, y| quotient(low(x), low(y)).1 as u128);
    words("/ public", &(&x / public), &|x, _| {
        quotient(low(x), public).0 as u128
    });
    let places = y.cast::<Uint<9>>() & Uint::new(511);
    let number = |y: u128| (low(y).number() as u128 & 511) as u32;
    words("secret shl", &x.shift_left(&places), &|x, y| {
        x.checked_shl(number(y)).unwrap_or(0)
    });
    words("secret shr", &x.shift_right(&places), &|x, y| {
        let value = low(x).number();
        match (T::SIGNED, value < 0) {
            (true, true) => (value >> number(y).min(127)) as u128,
            _ => (value as u128).checked_shr(number(y)).unwrap_or(0),
        }
    });
    let rotated = |x: u128, by: u32| {
        let by = by % T::BITS;
        let kept = T::BITS - by;
        x << by | if kept == 128 { 0 } else { x >> kept }
    };
    words("secret rotation", &x.rotate_left_by(&places), &|x, y| {
        rotated(x, number(y))
    });
    words("secret rotation back", &x.rotate_right_by(&places), &|x, y| {
        rotated(x, T::BITS - number(y) % T::BITS)
    });
    words("min", &x.min(&y), &|x, y| {
        let (x, y) = (low(x), low(y));
        if less(x, y) { x.to_bits() } else { y.to_bits() }
    });
    words("max", &x.max(&y), &|x, y| {
        let (x, y) = (low(x), low(y));
        if less(x, y) { y.to_bits() } else { x.to_bits() }
    });
    words("bits", &Secret::from_bits(&x.bits()), &|x, _| x);
    words("select", &x.lt(&y).select(&y, &x), &|x, y| {
        if less(low(x), low(y)) { y } else { x }
    });
    let flags = |name: &str, got: &Secret<bool>, right: &dyn Fn(T, T) -> bool| {
        let right: Vec<bool> = pairs.iter().map(|&(x, y)| right(x, y)).collect();
        assert_eq!(session.open(got).unwrap(), right, "{name}, {} bits", T::BITS);
    };
    flags("<", &x.lt(&y), &|x, y| less(x, y));
    flags(">", &x.gt(&y), &|x, y| less(y, x));
    flags("<=", &x.le(&y), &|x, y| !less(y, x));
    flags(">=", &x.ge(&y), &|x, y| !less(x, y));
    flags("=", &x.equals(&y), &|x, y| x == y);
    flags("!=", &x.differs(&y), &|x, y| x != y);
    let ones = session.open(&x.count_ones()).unwrap();
    assert!(
        ones.iter()
            .zip(&xs)
            .all(|(&ones, x)| ones == x.to_bits().count_ones())
    );
    let zeros = session.open(&(x.leading_zeros(), x.trailing_zeros())).unwrap();
    for (x, (&leading, &trailing)) in xs.iter().zip(zeros.0.iter().zip(&zeros.1)) {
        let bits = x.to_bits();
        assert_eq!(
            (leading, trailing),
            (
                bits.leading_zeros() + T::BITS - 128,
                bits.trailing_zeros().min(T::BITS)
            )
        );
    }
    let (wide, narrow) = session.open(&(x.cast::<i128>(), x.cast::<Uint<3>>())).unwrap();
    for (x, (wide, narrow)) in xs.iter().zip(wide.iter().zip(&narrow)) {
        assert_eq!((*wide, narrow.get()), (x.number(), x.number() as u128 & 7));
    }
}

/// Quotient and remainder as they are documented.
fn quotient<T: Oracle>(x: T, y: T) -> (i128, i128) {
    let (a, b) = (x.number(), y.number());
    match (y.to_bits(), T::SIGNED) {
        (0, _) => (-1, a),
        (_, true) => (a.wrapping_div(b), a.wrapping_rem(b)),
        (_, false) => (
            (x.to_bits() / y.to_bits()) as i128,
            (x.to_bits() % y.to_bits()) as i128,
        ),
    }
}

/// Whether x < y: a 128-bit number without sign may look negative.
fn less<T: Oracle>(x: T, y: T) -> bool {
    if T::SIGNED {
        x.number() < y.number()
    } else {
        x.to_bits() < y.to_bits()
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(3) })]

    #[test]
    fn operators_are_right(
        xs in prop::collection::vec(any::<u128>(), 190),
        ys in prop::collection::vec(any::<u128>(), 190),
        bys in prop::array::uniform3(0u32..140),
    ) {
        macro_rules! widths {
            ($($width:literal),*) => {$(
                check::<Uint<$width>>(&xs, &ys, bys);
                check::<Int<$width>>(&xs, &ys, bys);
            )*};
        }
        widths!(1, 2, 3, 5, 8, 13, 16, 31, 32, 33, 63, 64, 65, 100, 127, 128);
    }
}
