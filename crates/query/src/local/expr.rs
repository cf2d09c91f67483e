//! Expressions over rows in the clear, column by column.

use cenote_tables::ten_to;

use super::column::{Column, Values};
use crate::expr::{Arithmetic, Comparison, Expr, Node, ValueKind, guarded};

/// A calculation overflowed or divided by zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Failed;

pub(super) type Result<T> = std::result::Result<T, Failed>;

/// The values of `expr` for `rows` rows. Nothing goes wrong where `active` is false.
pub(crate) fn evaluate(
    expr: &Expr,
    columns: &[Column],
    rows: usize,
    active: Option<&[bool]>,
) -> Result<Column> {
    let input = Input {
        columns,
        rows,
        active,
    };
    input.evaluate(expr)
}

/// The rows that expressions are of, and where nothing goes wrong.
#[derive(Clone, Copy)]
pub(super) struct Input<'a> {
    columns: &'a [Column],
    pub(super) rows: usize,
    pub(super) active: Option<&'a [bool]>,
}

impl Input<'_> {
    pub(super) fn evaluate(self, expr: &Expr) -> Result<Column> {
        match &expr.node {
            Node::Column(column) => Ok(self.columns[*column].clone()),
            Node::Number(value) => Ok(full(Values::Numbers(vec![*value; self.rows]))),
            Node::Text(bytes) => {
                let width = usize::from(text_width(expr.kind));
                let mut one = bytes.clone();
                one.resize(width, 0);
                Ok(full(Values::Text(width, one.repeat(self.rows))))
            }
            Node::Null => Ok(self.nulls(expr.kind)),
            Node::As(part) => self.converted(part, expr.kind),
            Node::Within(part) => self.within(part, expr.kind),
            Node::Call(call, _, parts) => self.called(*call, parts, expr.kind),
            Node::Formula(formula, parts) => self.formula(*formula, parts, expr.kind),
            Node::Arithmetic(operation, x, y) => self.arithmetic(*operation, x, y),
            Node::Compare(comparison, x, y) => compared(*comparison, &self.evaluate(x)?, &self.evaluate(y)?),
            Node::And(x, y) => self.both(x, y, false, |x, y| match (x, y) {
                (Some(false), _) | (_, Some(false)) => Some(false),
                (Some(true), Some(true)) => Some(true),
                _ => None,
            }),
            Node::Or(x, y) => self.both(x, y, true, |x, y| match (x, y) {
                (Some(true), _) | (_, Some(true)) => Some(true),
                (Some(false), Some(false)) => Some(false),
                _ => None,
            }),
            Node::Not(x) => {
                let Column { values, nulls } = self.evaluate(x)?;
                let Values::Numbers(truth) = values else {
                    return Err(Failed);
                };
                let opposite = truth.into_iter().map(|value| 1 - value).collect();
                Ok(canonical(opposite, nulls))
            }
            Node::IsNull(x) => {
                let nulls = self.evaluate(x)?.nulls;
                let truth = nulls.map_or_else(
                    || vec![0; self.rows],
                    |nulls| nulls.into_iter().map(i128::from).collect(),
                );
                Ok(full(Values::Numbers(truth)))
            }
            Node::If(condition, yes, no) => self.chosen(condition, yes, no),
            Node::Listed(place, list) => {
                let Column { values, nulls } = self.evaluate(place)?;
                let Values::Numbers(places) = values else {
                    return Err(Failed);
                };
                let width = usize::from(text_width(expr.kind));
                let is_null = |row: usize| nulls.as_ref().is_some_and(|nulls| nulls[row]);
                let text = |(row, place): (usize, &i128)| {
                    let place = usize::try_from(*place).ok().filter(|_| !is_null(row));
                    padded(
                        place
                            .and_then(|place| list.values().get(place))
                            .map_or(&[], Vec::as_slice),
                        width,
                    )
                };
                let texts = places.iter().enumerate().flat_map(text).collect();
                Ok(Column {
                    values: Values::Text(width, texts),
                    nulls,
                })
            }
            Node::StartsWith(x, prefix) => {
                let Column { values, nulls } = self.evaluate(x)?;
                let Values::Text(width, bytes) = values else {
                    return Err(Failed);
                };
                let starts = |text: &[u8]| text.starts_with(prefix).into();
                Ok(canonical(bytes.chunks(width).map(starts).collect(), nulls))
            }
        }
    }

    fn nulls(self, kind: ValueKind) -> Column {
        Column {
            values: match kind {
                ValueKind::Text(width) => Values::Text(width.into(), vec![0; self.rows * usize::from(width)]),
                _ => Values::Numbers(vec![0; self.rows]),
            },
            nulls: Some(vec![true; self.rows]),
        }
    }

    /// The same value as another kind: with more places, or filled up with more zero bytes.
    fn converted(self, part: &Expr, kind: ValueKind) -> Result<Column> {
        let Column { values, nulls } = self.evaluate(part)?;
        let values = match values {
            Values::Text(own, bytes) => {
                let width = usize::from(text_width(kind));
                let texts = bytes.chunks(own).flat_map(|text| padded(text, width));
                Values::Text(width, texts.collect())
            }
            Values::Numbers(mut numbers) => {
                let more = kind.scale().saturating_sub(part.kind.scale());
                if more > 0 {
                    let factor = i128::try_from(ten_to(more)).map_err(|_| Failed)?;
                    for (row, number) in numbers.iter_mut().enumerate() {
                        *number = product(*number, factor, matters(row, nulls.as_deref(), self.active))?;
                    }
                }
                Values::Numbers(numbers)
            }
        };
        Ok(Column { values, nulls })
    }

    fn within(self, part: &Expr, kind: ValueKind) -> Result<Column> {
        let column = self.evaluate(part)?;
        let (least, most) = kind.range().ok_or(Failed)?;
        let numbers = numbers(&column).iter().enumerate();
        for (row, number) in numbers {
            if !(least..=most).contains(number) && matters(row, column.nulls.as_deref(), self.active) {
                return Err(Failed);
            }
        }
        Ok(column)
    }

    fn arithmetic(self, operation: Arithmetic, x: &Expr, y: &Expr) -> Result<Column> {
        let (x, y) = (self.evaluate(x)?, self.evaluate(y)?);
        let nulls = either(&x.nulls, &y.nulls);
        let (x, y) = (numbers(&x), numbers(&y));
        let mut results = vec![0; self.rows];
        for (row, result) in results.iter_mut().enumerate() {
            if !matters(row, nulls.as_deref(), self.active) {
                continue;
            }
            *result = calculated(operation, x[row], y[row]).ok_or(Failed)?;
        }
        Ok(Column {
            values: Values::Numbers(results),
            nulls,
        })
    }

    /// Two conditions together. Where the first that cannot fail is `decisive`, nothing goes wrong in the other.
    fn both(
        self,
        x: &Expr,
        y: &Expr,
        decisive: bool,
        combine: impl Fn(Option<bool>, Option<bool>) -> Option<bool>,
    ) -> Result<Column> {
        let (first, second) = guarded(x, y);
        let guard = self.evaluate(first)?;
        let other = match second.may_fail() {
            false => self.evaluate(second)?,
            true => {
                let decides = |row: usize| !guard.is_null(row) && (numbers(&guard)[row] == 1) == decisive;
                let matters = |row: usize| self.active.is_none_or(|active| active[row]) && !decides(row);
                let active: Vec<bool> = (0..self.rows).map(matters).collect();
                let active = Some(&active[..]);
                Input { active, ..self }.evaluate(second)?
            }
        };
        Ok(both(self.rows, &guard, &other, combine))
    }

    fn chosen(self, condition: &Expr, yes: &Expr, no: &Expr) -> Result<Column> {
        let chosen = truths(&self.evaluate(condition)?);
        let within = |wanted: bool| -> Vec<bool> {
            (0..self.rows)
                .map(|row| chosen[row] == wanted && self.active.is_none_or(|active| active[row]))
                .collect()
        };
        let of = |expr: &Expr, active: &[bool]| {
            let active = Some(active);
            Input { active, ..self }.evaluate(expr)
        };
        Ok(selected(
            &chosen,
            &of(yes, &within(true))?,
            &of(no, &within(false))?,
        ))
    }
}

fn compared(comparison: Comparison, x: &Column, y: &Column) -> Result<Column> {
    let nulls = either(&x.nulls, &y.nulls);
    let truth: Vec<i128> = match (&x.values, &y.values) {
        (Values::Text(width, x), Values::Text(_, y)) => {
            let pairs = x.chunks(*width).zip(y.chunks(*width));
            pairs.map(|(x, y)| holds(comparison, x.cmp(y))).collect()
        }
        (Values::Numbers(x), Values::Numbers(y)) => x
            .iter()
            .zip(y)
            .map(|(x, y)| holds(comparison, x.cmp(y)))
            .collect(),
        _ => return Err(Failed),
    };
    Ok(canonical(truth, nulls))
}

/// Where a condition is true, and neither false nor null.
pub(crate) fn truths(condition: &Column) -> Vec<bool> {
    let values = numbers(condition);
    (0..values.len())
        .map(|row| values[row] == 1 && !condition.is_null(row))
        .collect()
}

/// The result of an operation, if there is one.
fn calculated(operation: Arithmetic, x: i128, y: i128) -> Option<i128> {
    match operation {
        Arithmetic::Add => x.checked_add(y),
        Arithmetic::Subtract => x.checked_sub(y),
        Arithmetic::Multiply => x.checked_mul(y),
        Arithmetic::Divide { rounded: false } => x.checked_div(y),
        Arithmetic::Divide { rounded: true } => {
            let (quotient, rest) = (x.checked_div(y)?, x.checked_rem(y)?);
            let up = rest.unsigned_abs() >= y.unsigned_abs() - rest.unsigned_abs();
            let sign = if (x < 0) == (y < 0) { 1 } else { -1 };
            quotient.checked_add(if up { sign } else { 0 })
        }
        // The least number divided by -1 leaves 0.
        Arithmetic::Remainder => (y != 0).then(|| x.wrapping_rem(y)),
    }
}

pub(super) fn matters(row: usize, nulls: Option<&[bool]>, active: Option<&[bool]>) -> bool {
    nulls.is_none_or(|nulls| !nulls[row]) && active.is_none_or(|active| active[row])
}

fn product(x: i128, y: i128, matters: bool) -> Result<i128> {
    if matters {
        x.checked_mul(y).ok_or(Failed)
    } else {
        Ok(0)
    }
}

fn holds(comparison: Comparison, order: std::cmp::Ordering) -> i128 {
    match comparison {
        Comparison::Equal => order.is_eq().into(),
        Comparison::Less => order.is_lt().into(),
    }
}

pub(super) fn full(values: Values) -> Column {
    Column { values, nulls: None }
}

/// Truth values, zero where they are null.
fn canonical(mut truth: Vec<i128>, nulls: Option<Vec<bool>>) -> Column {
    if let Some(nulls) = &nulls {
        truth
            .iter_mut()
            .zip(nulls)
            .for_each(|(value, null)| *value *= i128::from(!null));
    }
    Column {
        values: Values::Numbers(truth),
        nulls,
    }
}

pub(super) fn numbers(column: &Column) -> &[i128] {
    match &column.values {
        Values::Numbers(numbers) => numbers,
        Values::Text(..) => &[],
    }
}

pub(crate) fn text_width(kind: ValueKind) -> u16 {
    match kind {
        ValueKind::Text(width) => width,
        _ => 1,
    }
}

/// A text, and zero bytes after it.
pub(crate) fn padded(text: &[u8], width: usize) -> impl Iterator<Item = u8> {
    let missing = width.saturating_sub(text.len());
    text.iter().copied().chain(std::iter::repeat_n(0, missing))
}

pub(super) fn either(x: &Option<Vec<bool>>, y: &Option<Vec<bool>>) -> Option<Vec<bool>> {
    match (x, y) {
        (None, None) => None,
        (Some(nulls), None) | (None, Some(nulls)) => Some(nulls.clone()),
        (Some(x), Some(y)) => Some(x.iter().zip(y).map(|(x, y)| x | y).collect()),
    }
}

fn both(
    rows: usize,
    x: &Column,
    y: &Column,
    combine: impl Fn(Option<bool>, Option<bool>) -> Option<bool>,
) -> Column {
    let value = |column: &Column, row: usize| (!column.is_null(row)).then(|| numbers(column)[row] == 1);
    let results: Vec<Option<bool>> = (0..rows)
        .map(|row| combine(value(x, row), value(y, row)))
        .collect();
    let nullable = x.nulls.is_some() || y.nulls.is_some();
    Column {
        values: Values::Numbers(
            results
                .iter()
                .map(|result| i128::from(*result == Some(true)))
                .collect(),
        ),
        nulls: nullable.then(|| results.iter().map(Option::is_none).collect()),
    }
}

/// `yes` where it is chosen, and `no` elsewhere; both are of one kind.
fn selected(chosen: &[bool], yes: &Column, no: &Column) -> Column {
    let values = match (&yes.values, &no.values) {
        (Values::Numbers(yes), Values::Numbers(no)) => Values::Numbers(
            chosen
                .iter()
                .zip(yes.iter().zip(no))
                .map(|(&chosen, (&yes, &no))| if chosen { yes } else { no })
                .collect(),
        ),
        (Values::Text(width, yes), Values::Text(_, no)) => {
            let pairs = yes.chunks(*width).zip(no.chunks(*width));
            let texts = chosen
                .iter()
                .zip(pairs)
                .flat_map(|(&chosen, (yes, no))| if chosen { yes } else { no });
            Values::Text(*width, texts.copied().collect())
        }
        (values, _) => values.clone(),
    };
    let nullable = yes.nulls.is_some() || no.nulls.is_some();
    let null = |(row, &chosen): (usize, &bool)| if chosen { yes.is_null(row) } else { no.is_null(row) };
    Column {
        values,
        nulls: nullable.then(|| chosen.iter().enumerate().map(null).collect()),
    }
}
