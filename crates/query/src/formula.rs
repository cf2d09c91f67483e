//! Functions of several numbers that are computed at once: whatever they take in between, nothing overflows, and only the result is rounded.

use cenote_tables::ten_to;

use crate::expr::{Arithmetic, DIVISION_PLACES, Expr, Node, ValueKind};

/// Most places behind the point.
const MAX_PLACES: u8 = 30;

/// What is divided by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Divisor {
    /// How many values there are.
    All,
    /// One less.
    Sample,
}

/// A function of numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Formula {
    /// The square root of a number.
    Root,
    /// Of n, Σx and Σx².
    Variance(Divisor),
    /// The square root of that.
    Deviation(Divisor),
    /// Of n, Σx, Σy and Σxy.
    Covariance(Divisor),
    /// Of n, Σx, Σy, Σxy, Σx² and Σy².
    Correlation,
    /// Whether any values have such n, Σx and Σx², or n, Σx, Σy, Σxy, Σx² and Σy².
    Possible,
}

impl Formula {
    /// Whether it may be null though none of the numbers is: of too few values, or where all are equal.
    pub(crate) fn may_be_null(self) -> bool {
        !matches!(self, Formula::Root | Formula::Possible)
    }

    /// Whether numbers of these kinds may have no result.
    pub(crate) fn may_fail(self, of: &[ValueKind]) -> bool {
        match self {
            Formula::Root => of[0].is_signed(),
            Formula::Possible => false,
            _ => true,
        }
    }

    /// What the result is multiplied by, or its square where a root is taken, so that it is a whole number of its last place.
    pub(crate) fn unit(self, kind: ValueKind, of: &[ValueKind]) -> u128 {
        let places = kind.scale();
        let more = match self {
            Formula::Root => 2 * places - of[0].scale(),
            Formula::Variance(_) => places - of[2].scale(),
            Formula::Deviation(_) => 2 * places - of[2].scale(),
            Formula::Covariance(_) => places - of[3].scale(),
            Formula::Correlation => 2 * places,
            Formula::Possible => 0,
        };
        ten_to(more)
    }

    /// About how many gates a circuit for it has.
    pub(crate) fn gates(self, of: &[ValueKind]) -> u64 {
        let width: u64 = of.iter().map(|kind| u64::from(kind.width())).sum();
        2 * width.pow(2)
    }

    /// In the words of SQL, of parts that are told already.
    pub(crate) fn told(self, parts: &[String]) -> String {
        let name = match self {
            Formula::Root => "SQRT",
            Formula::Variance(Divisor::All) => "VAR_POP",
            Formula::Variance(Divisor::Sample) => "VAR_SAMP",
            Formula::Deviation(Divisor::All) => "STDDEV_POP",
            Formula::Deviation(Divisor::Sample) => "STDDEV_SAMP",
            Formula::Covariance(Divisor::All) => "COVAR_POP",
            Formula::Covariance(Divisor::Sample) => "COVAR_SAMP",
            Formula::Correlation => "CORR",
            Formula::Possible => "POSSIBLE",
        };
        format!("{name} of {}", parts.join(", "))
    }
}

impl Expr {
    /// A formula of numbers, whose results are of `kind`.
    pub(crate) fn formula(formula: Formula, kind: ValueKind, parts: Vec<Expr>) -> Self {
        let nullable = formula.may_be_null() || parts.iter().any(|part| part.nullable);
        let node = Node::Formula(formula, parts);
        Expr { node, kind, nullable }.settled()
    }

    /// The square root.
    pub(crate) fn root(self) -> Self {
        let scale = places(self.kind.scale());
        let unit = ten_to(2 * scale - self.kind.scale());
        let width = self.kind.width() + (128 - unit.leading_zeros());
        let kind = ValueKind::Number {
            least: 0,
            most: 1 << width.div_ceil(2).min(126),
            scale,
        };
        Expr::formula(Formula::Root, kind, vec![self])
    }

    /// The square, which is never negative.
    pub(crate) fn square(self) -> Self {
        let mut square = Expr::arithmetic(Arithmetic::Multiply, self.clone(), self);
        if let ValueKind::Number { least, .. } = &mut square.kind {
            *least = 0;
        }
        square
    }
}

/// As many places as a division gives.
pub(crate) fn places(scale: u8) -> u8 {
    scale.max((scale + DIVISION_PLACES).min(MAX_PLACES))
}

/// Whether formulas have enough places for products of numbers with so many.
pub(crate) fn has_places(of: &[u8]) -> bool {
    of.iter().sum::<u8>() <= MAX_PLACES
}

/// From the least to the greatest number; the greatest number there is if that is less.
fn spread(kind: ValueKind) -> i128 {
    let (least, most) = kind.range().unwrap_or_default();
    most.checked_sub(least).unwrap_or(i128::MAX)
}

/// The kind of a formula's results for values of kinds `x` and, of pairs, `y`.
pub(crate) fn kind(formula: Formula, x: ValueKind, y: ValueKind) -> ValueKind {
    let (scale, both) = match formula {
        Formula::Deviation(_) => (x.scale(), x.scale()),
        Formula::Correlation => (0, 0),
        _ => (x.scale() + y.scale(), x.scale() + y.scale()),
    };
    let scale = places(scale);
    let unit = i128::try_from(ten_to(scale - both)).unwrap_or(i128::MAX);
    let most = match formula {
        Formula::Correlation => unit,
        Formula::Deviation(_) => spread(x).saturating_mul(unit),
        // No further from the mean than half of the spread, and twice that, squared, if there are two.
        _ => spread(x).saturating_mul(spread(y)).saturating_mul(unit) / 2 + 1,
    };
    let least = match formula {
        Formula::Covariance(_) | Formula::Correlation => -most,
        _ => 0,
    };
    ValueKind::Number { least, most, scale }
}
