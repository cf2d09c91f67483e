//! Every operator does what Rust's wrapping one does, at a few widths of each kind: the library's circuits have tests of their
//! own at many more.

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

/// Two operands of each lane, in the clear and as secrets.
struct Case<T> {
    session: Session,
    pairs: Vec<(T, T)>,
    x: Secret<T>,
    y: Secret<T>,
}

impl<T: Oracle> Case<T> {
    fn new(xs: &[u128], ys: &[u128]) -> Self {
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
        let pairs = xs.into_iter().zip(ys).collect();
        Self { session, pairs, x, y }
    }

    /// The second operand of the first lane, which is also used in every lane.
    fn public(&self) -> T {
        self.pairs[0].1
    }

    /// That `got` has in each lane the low bits of what `right` makes of the operands' bits.
    fn words(&self, name: &str, got: &Secret<T>, right: &dyn Fn(u128, u128) -> u128) {
        let right: Vec<T> = self
            .pairs
            .iter()
            .map(|(x, y)| T::from_bits(right(x.to_bits(), y.to_bits())))
            .collect();
        assert_eq!(
            self.session.open(got).unwrap(),
            right,
            "{name}, {} bits, signed {}",
            T::BITS,
            T::SIGNED
        );
    }

    fn flags(&self, name: &str, got: &Secret<bool>, right: &dyn Fn(T, T) -> bool) {
        let right: Vec<bool> = self.pairs.iter().map(|&(x, y)| right(x, y)).collect();
        assert_eq!(self.session.open(got).unwrap(), right, "{name}, {} bits", T::BITS);
    }

    fn arithmetic(&self) {
        let (x, y, public) = (&self.x, &self.y, self.public());
        self.words("+", &(x + y), &u128::wrapping_add);
        self.words("-", &(x - y), &u128::wrapping_sub);
        self.words("*", &(x * y), &u128::wrapping_mul);
        self.words("&", &(x & y), &|x, y| x & y);
        self.words("|", &(x | y), &|x, y| x | y);
        self.words("^", &(x ^ y), &|x, y| x ^ y);
        self.words("!", &!x, &|x, _| !x);
        self.words("neg", &-x, &|x, _| x.wrapping_neg());
        self.words("+ public", &(x + public), &|x, _| {
            x.wrapping_add(public.to_bits())
        });
        let single = row(&self.session, &[public]);
        self.words("* single", &(x * &single), &|x, _| {
            x.wrapping_mul(public.to_bits())
        });
        let low = T::from_bits;
        self.words("/", &(x / y), &|x, y| quotient(low(x), low(y)).0 as u128);
        self.words("%", &(x % y), &|x, y| quotient(low(x), low(y)).1 as u128);
        self.words("/ public", &(x / public), &|x, _| {
            quotient(low(x), public).0 as u128
        });
    }

    fn public_shifts(&self, by: u32) {
        let x = &self.x;
        self.words("shl", &(x << by), &|x, _| x.checked_shl(by).unwrap_or(0));
        self.words("shr", &(x >> by), &|x, _| shifted_right::<T>(x, by));
        self.words("rotate", &x.rotate_left(by), &|x, _| rotated::<T>(x, by));
        self.words("rotate back", &x.rotate_left(by).rotate_right(by), &|x, _| x);
    }

    fn secret_shifts(&self) {
        let x = &self.x;
        let places = self.y.cast::<Uint<9>>() & Uint::new(511);
        let number = |y: u128| (T::from_bits(y).number() as u128 & 511) as u32;
        self.words("secret shl", &x.shift_left(&places), &|x, y| {
            x.checked_shl(number(y)).unwrap_or(0)
        });
        self.words("secret shr", &x.shift_right(&places), &|x, y| {
            shifted_right::<T>(x, number(y))
        });
        self.words("secret rotation", &x.rotate_left_by(&places), &|x, y| {
            rotated::<T>(x, number(y))
        });
        self.words("secret rotation back", &x.rotate_right_by(&places), &|x, y| {
            rotated::<T>(x, T::BITS - number(y) % T::BITS)
        });
    }

    fn comparisons(&self) {
        let (x, y) = (&self.x, &self.y);
        let low = T::from_bits;
        let smaller = |x: u128, y: u128| less(low(x), low(y));
        self.words("min", &x.min(y), &|x, y| if smaller(x, y) { x } else { y });
        self.words("max", &x.max(y), &|x, y| if smaller(x, y) { y } else { x });
        self.words("select", &x.lt(y).select(y, x), &|x, y| {
            if smaller(x, y) { y } else { x }
        });
        self.flags("<", &x.lt(y), &|x, y| less(x, y));
        self.flags(">", &x.gt(y), &|x, y| less(y, x));
        self.flags("<=", &x.le(y), &|x, y| !less(y, x));
        self.flags(">=", &x.ge(y), &|x, y| !less(x, y));
        self.flags("=", &x.equals(y), &|x, y| x == y);
        self.flags("!=", &x.differs(y), &|x, y| x != y);
    }

    fn bits(&self) {
        let x = &self.x;
        self.words("bits", &Secret::from_bits(&x.bits()), &|x, _| x);
        let counts = (x.count_ones(), (x.leading_zeros(), x.trailing_zeros()));
        let (ones, zeros) = self.session.open(&counts).unwrap();
        let (wide, narrow) = self
            .session
            .open(&(x.cast::<i128>(), x.cast::<Uint<3>>()))
            .unwrap();
        for (lane, (x, _)) in self.pairs.iter().enumerate() {
            let bits = x.to_bits();
            assert_eq!(ones[lane], bits.count_ones());
            assert_eq!(zeros.0[lane], bits.leading_zeros() + T::BITS - 128);
            assert_eq!(zeros.1[lane], bits.trailing_zeros().min(T::BITS));
            assert_eq!(wide[lane], x.number());
            assert_eq!(narrow[lane].get(), x.number() as u128 & 7);
        }
    }
}

fn check<T: Oracle>(xs: &[u128], ys: &[u128], bys: [u32; 3]) {
    let case = Case::<T>::new(xs, ys);
    case.arithmetic();
    for by in bys {
        case.public_shifts(by);
    }
    case.secret_shifts();
    case.comparisons();
    case.bits();
}

/// The bits of `x` moved downwards by `by` places; the sign stays.
fn shifted_right<T: Oracle>(x: u128, by: u32) -> u128 {
    let number = T::from_bits(x).number();
    match (T::SIGNED, number < 0) {
        (true, true) => (number >> by.min(127)) as u128,
        _ => (number as u128).checked_shr(by).unwrap_or(0),
    }
}

/// The bits of `x` turned upwards by `by` places.
fn rotated<T: Oracle>(x: u128, by: u32) -> u128 {
    let by = by % T::BITS;
    let kept = T::BITS - by;
    x << by | if kept == 128 { 0 } else { x >> kept }
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
        macro_rules! types {
            ($($number:ident $($width:literal)*;)*) => {$($(
                check::<$number<$width>>(&xs, &ys, bys);
            )*)*};
        }
        types! {
            Uint 1 5 33 64 128;
            Int 1 13 64 127 128;
        }
    }
}
