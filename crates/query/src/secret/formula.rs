//! Formulas of secret numbers, in as many bits as they take.

use cenote_program::Bits;

use super::cell::{Cell, number};
use super::expr::{Evaluator, cut, divided, either, product, signed_width};
use crate::expr::{Arithmetic, Expr, ValueKind, kinds};
use crate::formula::{Divisor, Formula};

impl Evaluator<'_> {
    pub(super) fn formula(
        &mut self,
        formula: Formula,
        parts: &[Expr],
        kind: ValueKind,
        active: &Bits,
    ) -> Cell {
        let mut null = None;
        let numbers = parts.iter().map(|part| {
            let cell = self.evaluate(part, active);
            null = either(null.take(), cell.null);
            cell.value.resized(signed_width(part.kind), part.kind.is_signed())
        });
        let numbers: Vec<Bits> = numbers.collect();
        let found = found(formula, &numbers, formula.unit(kind, &kinds(parts)), kind);
        let null = either(null, found.none);
        self.failed(found.failed, null.as_ref(), active);
        Cell {
            value: found.value,
            null,
        }
    }
}

/// What a formula gives.
struct Found {
    value: Bits,
    /// Where there is no result, if that may be.
    failed: Option<Bits>,
    /// Where it is null though none of the numbers is.
    none: Option<Bits>,
}

/// A formula of numbers in two's complement, whose results are of `kind`.
fn found(formula: Formula, of: &[Bits], unit: u128, kind: ValueKind) -> Found {
    match formula {
        Formula::Root => {
            let failed = negative(&of[0]);
            let value = root(&times(&magnitude(&of[0]), 4 * unit));
            fitting(value, kind, Some(failed), None)
        }
        Formula::Variance(divisor) => {
            let (excess, divisor) = (excess(&of[0], [&of[1], &of[1]], &of[2]), by(&of[0], divisor));
            let (one, other) = alike(&times(&magnitude(&excess), unit), &divisor);
            let value = divided(Arithmetic::Divide { rounded: true }, &one, &other, false);
            fitting(value, kind, Some(negative(&excess)), Some(is_zero(&divisor)))
        }
        Formula::Deviation(divisor) => {
            let (excess, divisor) = (excess(&of[0], [&of[1], &of[1]], &of[2]), by(&of[0], divisor));
            let (one, other) = alike(&times(&magnitude(&excess), 4 * unit), &divisor);
            let value = root(&one.divide(&other, false).0);
            fitting(value, kind, Some(negative(&excess)), Some(is_zero(&divisor)))
        }
        Formula::Covariance(divisor) => {
            let (excess, divisor) = (excess(&of[0], [&of[1], &of[2]], &of[3]), by(&of[0], divisor));
            let (one, other) = alike(&times(&excess, unit), &divisor);
            let value = divided(Arithmetic::Divide { rounded: true }, &one, &other, true);
            fitting(value, kind, None, Some(is_zero(&divisor)))
        }
        Formula::Correlation => {
            let pairs = Pairs::of(of);
            let (one, other) = alike(&times(&pairs.square, 4 * unit), &pairs.spreads);
            // No more than the square of 1, where it does not fail.
            let bits = 2 + (128 - unit.leading_zeros());
            let square = one.divide(&other, false).0;
            let value = root(&square.part(0, bits.min(square.width())));
            let value = value.resized(value.width() + 1, false);
            let value = negative(&pairs.excess).select(&value.negate(), &value);
            let failed = pairs.possible.not();
            fitting(value, kind, Some(failed), Some(is_zero(&pairs.spreads)))
        }
        Formula::Possible => Found {
            value: match of.len() {
                3 => negative(&excess(&of[0], [&of[1], &of[1]], &of[2])).not(),
                _ => Pairs::of(of).possible,
            },
            failed: None,
            none: None,
        },
    }
}

/// What the sums of pairs of numbers come to.
struct Pairs {
    /// n Σxy - Σx Σy, and its square.
    excess: Bits,
    square: Bits,
    /// The product of n Σx² - (Σx)² and n Σy² - (Σy)².
    spreads: Bits,
    /// Whether any pairs give such sums.
    possible: Bits,
}

impl Pairs {
    fn of(of: &[Bits]) -> Self {
        let one = excess(&of[0], [&of[1], &of[1]], &of[4]);
        let other = excess(&of[0], [&of[2], &of[2]], &of[5]);
        let both = excess(&of[0], [&of[1], &of[2]], &of[3]);
        let square = product_of(&both, &both);
        let spreads = product_of(&one, &other);
        let wrong = negative(&one).or(&negative(&other));
        let (spreads, square) = alike(&spreads, &square);
        let possible = spreads.less(&square, true).or(&wrong).not();
        Pairs {
            excess: both,
            square,
            spreads,
            possible,
        }
    }
}

/// n Σxy - Σx Σy.
fn excess(count: &Bits, sums: [&Bits; 2], products: &Bits) -> Bits {
    let (one, other) = alike(&product_of(count, products), &product_of(sums[0], sums[1]));
    one.subtract(&other)
}

/// The square of the number of values, or that number times the one before.
fn by(count: &Bits, divisor: Divisor) -> Bits {
    match divisor {
        Divisor::All => product_of(count, count),
        Divisor::Sample => {
            let before = count.add(&number(count.session(), count.width(), -1));
            product_of(count, &before)
        }
    }
}

fn product_of(x: &Bits, y: &Bits) -> Bits {
    product((x, true), (y, true), x.width() + y.width())
}

/// The product with a public number that is not negative.
fn times(x: &Bits, factor: u128) -> Bits {
    let width = 129 - factor.leading_zeros();
    let factor = x.session().public_bits(width - 1, factor).resized(width, false);
    product_of(x, &factor)
}

/// Both in as many bits, and one more.
fn alike(x: &Bits, y: &Bits) -> (Bits, Bits) {
    let width = x.width().max(y.width()) + 1;
    (x.resized(width, true), y.resized(width, true))
}

fn negative(x: &Bits) -> Bits {
    x.part(x.width() - 1, 1)
}

/// A number that is not negative; where it is, any other.
fn magnitude(x: &Bits) -> Bits {
    x.part(0, x.width() - 1).resized(x.width(), false)
}

fn is_zero(x: &Bits) -> Bits {
    x.equal(&number(x.session(), x.width(), 0))
}

/// The square root of a quarter, rounded.
fn root(x: &Bits) -> Bits {
    let twice = x.root();
    let width = twice.width() + 1;
    let more = twice.resized(width, false).add(&number(x.session(), width, 1));
    more.part(1, width - 1).resized(width, false)
}

/// A value in the bits of `kind`, which fails where that does not hold it.
fn fitting(value: Bits, kind: ValueKind, failed: Option<Bits>, none: Option<Bits>) -> Found {
    let (value, over) = cut(&value.resized(value.width().max(kind.width()), true), kind, true);
    let failed = match (failed, over) {
        (Some(failed), Some(over)) => Some(failed.or(&over)),
        (failed, over) => failed.or(over),
    };
    Found { value, failed, none }
}
