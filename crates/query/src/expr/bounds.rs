//! The bounds of what an operation gives, and whether it may fail.

use super::{Arithmetic, ValueKind};

/// The corners of what an operation gives within bounds, `None` for each that does not fit.
fn corners(operation: Arithmetic, x: ValueKind, y: ValueKind) -> Vec<Option<i128>> {
    let ((a, b), (c, d)) = (x.range().unwrap_or_default(), y.range().unwrap_or_default());
    let of = |work: fn(i128, i128) -> Option<i128>| vec![work(a, c), work(a, d), work(b, c), work(b, d)];
    match operation {
        Arithmetic::Add => of(i128::checked_add),
        Arithmetic::Subtract => of(i128::checked_sub),
        Arithmetic::Multiply => of(i128::checked_mul),
        // No further from zero than the dividend, or, rounded or not, its opposite.
        Arithmetic::Divide { .. } => [a, b]
            .into_iter()
            .flat_map(|x| [Some(x), if c < 0 { x.checked_neg() } else { Some(x) }, Some(0)])
            .collect(),
        // The sign of the dividend, and nearer to zero than the divisor.
        Arithmetic::Remainder => {
            let limit = c.unsigned_abs().max(d.unsigned_abs()).saturating_sub(1);
            let limit = i128::try_from(limit).unwrap_or(i128::MAX);
            vec![Some(a.clamp(-limit, 0)), Some(b.clamp(0, limit))]
        }
    }
}

pub(super) fn result(operation: Arithmetic, x: ValueKind, y: ValueKind) -> ValueKind {
    let corners = corners(operation, x, y);
    let fits = corners.iter().all(Option::is_some);
    let numbers = || corners.iter().flatten().copied();
    let (least, most) = if fits {
        (numbers().min().unwrap_or(0), numbers().max().unwrap_or(0))
    } else {
        (i128::MIN, i128::MAX)
    };
    let scale = match operation {
        Arithmetic::Multiply => x.scale().saturating_add(y.scale()),
        Arithmetic::Divide { .. } => x.scale().saturating_sub(y.scale()),
        _ => x.scale(),
    };
    let kind = ValueKind::Number { least, most, scale };
    if operation != Arithmetic::Multiply {
        return kind;
    }
    // All that its bits hold, so that what an owner gives need not be compared with bounds.
    let highest = i128::MAX >> (127 + u32::from(kind.is_signed()) - kind.width());
    ValueKind::Number {
        least: if kind.is_signed() { -highest - 1 } else { 0 },
        most: highest,
        scale,
    }
}

/// Whether an operation within bounds may overflow or divide by zero.
pub(crate) fn may_fail(operation: Arithmetic, x: ValueKind, y: ValueKind) -> bool {
    let zero = |kind: ValueKind| kind.range().is_some_and(|(least, most)| least <= 0 && 0 <= most);
    let divides = matches!(operation, Arithmetic::Divide { .. } | Arithmetic::Remainder);
    (divides && zero(y)) || corners(operation, x, y).iter().any(Option::is_none)
}
