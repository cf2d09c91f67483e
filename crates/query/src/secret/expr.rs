//! Expressions over secret rows.

use cenote_program::{Bits, Session};

use super::calendar;
use super::cell::{Cell, number, text};
use super::text::{characters, like};
use crate::call::{Call, Circuit, Named};
use crate::expr::{Arithmetic, Comparison, Expr, Node, ValueKind, guarded, may_fail};
use crate::listed::List;

/// What an expression is evaluated with.
pub(crate) struct Evaluator<'a> {
    pub(crate) session: &'a Session,
    pub(crate) columns: &'a [Cell],
    /// Where a calculation went wrong, of rows that count.
    pub(crate) failures: Vec<Bits>,
}

/// Bits that hold a value of a kind in two's complement.
pub(super) fn signed_width(kind: ValueKind) -> u32 {
    kind.width() + u32::from(!kind.is_signed())
}

impl Evaluator<'_> {
    /// The values of `expr`. What goes wrong is noted where `active` is 1.
    pub(crate) fn evaluate(&mut self, expr: &Expr, active: &Bits) -> Cell {
        let full = |value: Bits| Cell { value, null: None };
        match &expr.node {
            Node::Column(column) => self.columns[*column].clone(),
            Node::Number(value) => full(number(self.session, expr.kind.width(), *value)),
            Node::Text(bytes) => full(text(self.session, bytes, expr.kind.width())),
            Node::Null => Cell {
                value: number(self.session, expr.kind.width(), 0),
                null: Some(self.session.public_bits(1, 1)),
            },
            Node::As(part) => self.converted(part, expr.kind, active),
            Node::Within(part) => self.within(part, expr.kind, active),
            Node::Call(call, named, parts) => self.called(*call, *named, parts, expr.kind, active),
            Node::Formula(formula, parts) => self.formula(*formula, parts, expr.kind, active),
            Node::Arithmetic(operation, x, y) => self.arithmetic(*operation, (x, y), expr.kind, active),
            Node::Compare(comparison, x, y) => self.compared(*comparison, x, y, active),
            Node::And(x, y) => self.both(x, y, false, active),
            Node::Or(x, y) => self.both(x, y, true, active),
            Node::Not(x) => {
                let x = self.evaluate(x, active);
                Cell {
                    value: x.value.not(),
                    null: x.null,
                }
            }
            Node::IsNull(x) => {
                let null = self.evaluate(x, active).null;
                full(null.unwrap_or_else(|| self.session.public_bits(1, 0)))
            }
            Node::If(condition, yes, no) => self.chosen(condition, (yes, no), active),
            Node::Listed(place, list) => {
                let Cell { value, null } = self.evaluate(place, active);
                let value = self.listed(&value, list, expr.kind.width());
                Cell { value, null }
            }
            Node::StartsWith(x, prefix) => {
                let Cell { value, null } = self.evaluate(x, active);
                let wanted = 8 * prefix.len() as u32;
                let value = match wanted {
                    0 => self.session.public_bits(1, 1),
                    wanted if wanted > value.width() => self.session.public_bits(1, 0),
                    wanted => {
                        let first = value.part(value.width() - wanted, wanted);
                        first.equal(&text(self.session, prefix, wanted))
                    }
                };
                Cell { value, null }
            }
        }
    }

    fn called(&mut self, call: Call, named: Named, parts: &[Expr], kind: ValueKind, active: &Bits) -> Cell {
        let Cell { value, null } = self.evaluate(&parts[0], active);
        let found = match call.circuit(parts) {
            Some(Circuit::OfDay) => calendar::result(call, &value, kind.width()),
            Some(Circuit::Like(pattern)) => Some((like(&value, &pattern), None)),
            Some(Circuit::Characters { skipped, count }) => {
                Some((characters(&value, skipped, count, kind.width()), None))
            }
            None => None,
        };
        let Some((value, failed)) = found else {
            unreachable!("the planner refuses {}", named.name)
        };
        self.failed(failed, null.as_ref(), active);
        Cell { value, null }
    }

    /// The text in a list at each place; zeros where none is.
    fn listed(&self, place: &Bits, list: &List, width: u32) -> Bits {
        let none = self.session.public_bits(width, 0);
        list.values().iter().enumerate().fold(none, |found, (at, value)| {
            let here = place.equal(&number(self.session, place.width(), at as i128));
            here.select(&text(self.session, value, width), &found)
        })
    }

    /// Two conditions together. Where the first that cannot fail is `decisive`, nothing goes wrong in the other.
    fn both(&mut self, x: &Expr, y: &Expr, decisive: bool, active: &Bits) -> Cell {
        let (first, second) = guarded(x, y);
        let guard = self.evaluate(first, active);
        let other = match second.may_fail() {
            false => self.evaluate(second, active),
            true => {
                let matters = active.and(&decides(&guard, decisive).not());
                self.evaluate(second, &matters)
            }
        };
        junction(&guard, &other, decisive)
    }

    fn arithmetic(
        &mut self,
        operation: Arithmetic,
        (x, y): (&Expr, &Expr),
        kind: ValueKind,
        active: &Bits,
    ) -> Cell {
        let (x_kind, y_kind) = (x.kind, y.kind);
        let (x, y) = (self.evaluate(x, active), self.evaluate(y, active));
        let null = either(x.null, y.null);
        let fails = may_fail(operation, x_kind, y_kind);
        let (value, failed) = calculated(operation, (&x.value, x_kind), (&y.value, y_kind), kind, fails);
        self.failed(failed, null.as_ref(), active);
        Cell { value, null }
    }

    /// Notes where a calculation went wrong of values that are not null.
    pub(super) fn failed(&mut self, failed: Option<Bits>, null: Option<&Bits>, active: &Bits) {
        let Some(failed) = failed else { return };
        let failed = failed.and(active);
        self.failures.push(match null {
            Some(null) => failed.and(&null.not()),
            None => failed,
        });
    }

    fn compared(&mut self, comparison: Comparison, x: &Expr, y: &Expr, active: &Bits) -> Cell {
        let (x_kind, y_kind) = (x.kind, y.kind);
        let (x, y) = (self.evaluate(x, active), self.evaluate(y, active));
        let (one, other, signed) = aligned((&x.value, x_kind), (&y.value, y_kind));
        let value = match comparison {
            Comparison::Equal => one.equal(&other),
            Comparison::Less => one.less(&other, signed),
        };
        Cell {
            value,
            null: either(x.null, y.null),
        }
    }

    fn chosen(&mut self, condition: &Expr, (yes, no): (&Expr, &Expr), active: &Bits) -> Cell {
        let condition = truth(&self.evaluate(condition, active));
        let within = |part: &Expr, chosen: &Bits| match part.may_fail() {
            true => active.and(chosen),
            false => active.clone(),
        };
        let (on, off) = (within(yes, &condition), within(no, &condition.not()));
        let (yes, no) = (self.evaluate(yes, &on), self.evaluate(no, &off));
        let none = self.session.public_bits(1, 0);
        let null = match (&yes.null, &no.null) {
            (None, None) => None,
            (yes, no) => Some(condition.select(yes.as_ref().unwrap_or(&none), no.as_ref().unwrap_or(&none))),
        };
        Cell {
            value: condition.select(&yes.value, &no.value),
            null,
        }
    }

    /// A number as another kind, and a failure where that does not hold it.
    fn within(&mut self, part: &Expr, kind: ValueKind, active: &Bits) -> Cell {
        let Cell { value, null } = self.evaluate(part, active);
        let from = part.kind;
        if !kind.holds(from) {
            let (least, most) = kind.range().unwrap_or_default();
            let outside = |bound: i128, above: bool| {
                let bound_kind = ValueKind::exactly(bound, 0);
                let bound = number(self.session, bound_kind.width(), bound);
                let (one, other, signed) = aligned((&value, from), (&bound, bound_kind));
                if above {
                    other.less(&one, signed)
                } else {
                    one.less(&other, signed)
                }
            };
            let failed = outside(least, false).or(&outside(most, true));
            self.failed(Some(failed), null.as_ref(), active);
        }
        Cell {
            value: value.resized(kind.width(), from.is_signed()),
            null,
        }
    }

    /// A value as another kind that holds it, but for an overflow.
    fn converted(&mut self, part: &Expr, kind: ValueKind, active: &Bits) -> Cell {
        let Cell { value, null } = self.evaluate(part, active);
        let value = match (part.kind, kind) {
            (ValueKind::Text(_), ValueKind::Text(_)) => longer(&value, kind.width()),
            _ => {
                let more = kind.scale().saturating_sub(part.kind.scale());
                let from = part.kind;
                if more == 0 {
                    value.resized(kind.width(), from.is_signed())
                } else {
                    let factor = i128::try_from(cenote_tables::ten_to(more)).unwrap_or(i128::MAX);
                    let factor_kind = ValueKind::exactly(factor, 0);
                    let times = number(self.session, factor_kind.width(), factor);
                    let fails = may_fail(Arithmetic::Multiply, from, factor_kind);
                    let (value, failed) = calculated(
                        Arithmetic::Multiply,
                        (&value, from),
                        (&times, factor_kind),
                        kind,
                        fails,
                    );
                    self.failed(failed, null.as_ref(), active);
                    value
                }
            }
        };
        Cell { value, null }
    }
}

/// Where a condition is true, and neither false nor null.
pub(crate) fn truth(condition: &Cell) -> Bits {
    match &condition.null {
        None => condition.value.clone(),
        Some(null) => condition.value.and(&null.not()),
    }
}

pub(super) fn either(x: Option<Bits>, y: Option<Bits>) -> Option<Bits> {
    match (x, y) {
        (None, other) | (other, None) => other,
        (Some(x), Some(y)) => Some(x.or(&y)),
    }
}

/// Where a condition is `decisive`, and not null.
fn decides(condition: &Cell, decisive: bool) -> Bits {
    let value = if decisive {
        condition.value.clone()
    } else {
        condition.value.not()
    };
    match &condition.null {
        None => value,
        Some(null) => value.and(&null.not()),
    }
}

/// AND, or OR if `decisive` is true, of truth values that may be null: one that is decisive decides.
fn junction(x: &Cell, y: &Cell, decisive: bool) -> Cell {
    let value = if decisive {
        x.value.or(&y.value)
    } else {
        x.value.and(&y.value)
    };
    if x.null.is_none() && y.null.is_none() {
        return Cell { value, null: None };
    }
    let decided = decides(x, decisive).or(&decides(y, decisive));
    let null = either(x.null.clone(), y.null.clone()).map(|null| null.and(&decided.not()));
    // Where it is decided, what is null must not matter.
    let value = if decisive {
        decided
    } else {
        value.and(&decided.not())
    };
    Cell { value, null }
}

/// Text of more bytes, which are zero.
pub(crate) fn longer(value: &Bits, width: u32) -> Bits {
    if value.width() >= width {
        return value.clone();
    }
    let zeros = number(value.session(), width - value.width(), 0);
    Bits::join(&[&zeros, value])
}

/// Two values in as many bits, and whether these are in two's complement.
fn aligned((x, x_kind): (&Bits, ValueKind), (y, y_kind): (&Bits, ValueKind)) -> (Bits, Bits, bool) {
    if let ValueKind::Text(_) = x_kind {
        let width = x.width().max(y.width());
        return (longer(x, width), longer(y, width), false);
    }
    let signed = x_kind.is_signed() || y_kind.is_signed();
    let width = match signed {
        true => signed_width(x_kind).max(signed_width(y_kind)),
        false => x.width().max(y.width()),
    };
    (
        x.resized(width, x_kind.is_signed()),
        y.resized(width, y_kind.is_signed()),
        signed,
    )
}

/// The result of an operation as `kind`, and where there is none.
fn calculated(
    operation: Arithmetic,
    (x, x_kind): (&Bits, ValueKind),
    (y, y_kind): (&Bits, ValueKind),
    kind: ValueKind,
    fails: bool,
) -> (Bits, Option<Bits>) {
    let (x_width, y_width) = (signed_width(x_kind), signed_width(y_kind));
    let wide = |width: u32| {
        (
            x.resized(width, x_kind.is_signed()),
            y.resized(width, y_kind.is_signed()),
        )
    };
    let width = kind.width();
    match operation {
        Arithmetic::Add | Arithmetic::Subtract => {
            let exact = if fails { x_width.max(y_width) + 1 } else { width };
            let (one, other) = wide(exact);
            let result = match operation {
                Arithmetic::Add => one.add(&other),
                _ => one.subtract(&other),
            };
            cut(&result, kind, fails)
        }
        Arithmetic::Multiply => {
            let exact = if fails { x_width + y_width } else { width };
            let factors = ((x, x_kind.is_signed()), (y, y_kind.is_signed()));
            cut(&product(factors.0, factors.1, exact), kind, fails)
        }
        Arithmetic::Divide { .. } | Arithmetic::Remainder => {
            let signed = x_kind.is_signed() || y_kind.is_signed();
            let exact = match signed {
                true => x_width.max(y_width) + 1,
                false => x.width().max(y.width()) + 1,
            };
            let (one, other) = wide(exact);
            let result = divided(operation, &one, &other, signed);
            let zero = fails.then(|| y.equal(&number(y.session(), y.width(), 0)));
            let (result, over) = cut(&result, kind, fails && width == 128);
            (result, either(zero, over))
        }
    }
}

/// The quotient of two numbers of as many bits, or what remains.
pub(super) fn divided(operation: Arithmetic, x: &Bits, y: &Bits, signed: bool) -> Bits {
    let (quotient, rest) = x.divide(y, signed);
    match operation {
        Arithmetic::Remainder => return rest,
        Arithmetic::Divide { rounded: false } => return quotient,
        _ => (),
    }
    let width = x.width();
    let sign = |value: &Bits| value.part(width - 1, 1);
    let magnitude = |value: &Bits| match signed {
        true => sign(value).select(&value.negate(), value),
        false => value.clone(),
    };
    let (rest, divisor) = (magnitude(&rest), magnitude(y));
    // Up where the rest is at least half of the divisor.
    let up = rest.less(&divisor.subtract(&rest), false).not();
    let session = x.session();
    let (plus, minus) = (number(session, width, 1), number(session, width, -1));
    let step = match signed {
        true => sign(x).xor(&sign(y)).select(&minus, &plus),
        false => plus,
    };
    quotient.add(&step.where_chosen(&up))
}

/// A number in two's complement with the bits of `kind`, and where that is not all of it, if that is asked for.
pub(super) fn cut(value: &Bits, kind: ValueKind, fails: bool) -> (Bits, Option<Bits>) {
    let width = kind.width();
    let result = value.resized(width, true);
    if !fails || value.width() <= width {
        return (result, None);
    }
    let above = value.part(width, value.width() - width);
    let right = match kind.is_signed() {
        true => result.part(width - 1, 1).resized(above.width(), true),
        false => number(value.session(), above.width(), 0),
    };
    (result, Some(above.equal(&right).not()))
}

/// The product of two numbers, each of which may be in two's complement, in so many bits.
pub(super) fn product((x, x_signed): (&Bits, bool), (y, y_signed): (&Bits, bool), width: u32) -> Bits {
    // With s for the sign of a number of w bits, it is its bits as an unsigned number minus s · 2^w.
    let unsigned = x.resized(width, false).multiply(&y.resized(width, false));
    let less = |all: Bits, x: &Bits, signed: bool, y: &Bits| {
        let own = x.width();
        if !signed || own >= width {
            return all;
        }
        let sign = x.part(own - 1, 1);
        let high = all.part(own, width - own);
        let high = high.subtract(&y.resized(width - own, false).where_chosen(&sign));
        Bits::join(&[&all.part(0, own), &high])
    };
    let result = less(unsigned, x, x_signed, y);
    let result = less(result, y, y_signed, x);
    let both = x.width() + y.width();
    if x_signed && y_signed && both < width {
        let signs = x.part(x.width() - 1, 1).and(&y.part(y.width() - 1, 1));
        let high = result.part(both, width - both);
        let high = high.add(&signs.resized(width - both, false));
        return Bits::join(&[&result.part(0, both), &high]);
    }
    result
}
