//! What is done with each secret of a row by itself.

use super::{Error, Interpreter, Operation, Result, Stored};
use crate::op::Op;
use crate::value::{Value, lengths_differ};

/// Most bits of a value, such as the record of a table.
const WIDEST: u32 = 1 << 16;

/// Most bits of numbers that are multiplied and divided: their circuits grow with the square.
const FACTOR: u32 = 512;

impl Interpreter {
    /// Does something with values, and keeps what it gives.
    pub(super) fn apply(&mut self, operation: Operation, operands: &[u64], numbers: &[u64]) -> Result<()> {
        let refuse = |what: String| Error::BadInput(format!("{}: {what}", operation.name()));
        if !operation.operands().contains(&operands.len()) || !operation.numbers().contains(&numbers.len()) {
            let what = format!("{} values and {} numbers", operands.len(), numbers.len());
            return Err(refuse(what));
        }
        let results = self
            .results(operation, operands, numbers)
            .map_err(|error| match error {
                Error::BadInput(what) => refuse(what),
                other => other,
            })?;
        debug_assert_eq!(results.len() as u64, operation.results());
        results.into_iter().for_each(|result| self.keep(result));
        Ok(())
    }

    fn results(&mut self, operation: Operation, operands: &[u64], numbers: &[u64]) -> Result<Vec<Stored>> {
        let signed = numbers.last() == Some(&1);
        match operation {
            Operation::Memory | Operation::Read | Operation::Write | Operation::Access => {
                return self.remember(operation, operands, signed);
            }
            Operation::Call => return Ok(vec![Stored::Value(self.call(operands)?)]),
            _ => {}
        }
        let values: Vec<&Value> = operands
            .iter()
            .map(|&operand| self.value(operand))
            .collect::<Result<_>>()?;
        let results = match self.each(operation, &values, numbers, signed)? {
            Some(result) => vec![result],
            None => self.rows(operation, &values, numbers, signed)?,
        };
        Ok(results.into_iter().map(Stored::Value).collect())
    }

    /// What is done with each secret by itself; nothing if the operation is another.
    fn each(
        &self,
        operation: Operation,
        values: &[&Value],
        numbers: &[u64],
        signed: bool,
    ) -> Result<Option<Value>> {
        let binary = |op: Op| both(values).map(|(x, y)| Value::apply(op, &[x, y], x.width()));
        let result = match operation {
            Operation::And => binary(Op::And)?,
            Operation::Or => binary(Op::Or)?,
            Operation::Xor => binary(Op::Xor)?,
            Operation::Add => binary(Op::Add)?,
            Operation::Subtract => binary(Op::Subtract)?,
            Operation::Multiply | Operation::FloorDivide | Operation::Modulo
                if values[0].width() > FACTOR =>
            {
                return refuse(format!(
                    "numbers of {} bits: they have at most {FACTOR}",
                    values[0].width()
                ));
            }
            Operation::Multiply => binary(Op::Multiply)?,
            Operation::Not => Value::apply(Op::Not, values, values[0].width()),
            Operation::Negate => Value::apply(Op::Negate, values, values[0].width()),
            Operation::FloorDivide => both(values).map(|(x, y)| divided(x, y, signed).0)?,
            Operation::Modulo => both(values).map(|(x, y)| divided(x, y, signed).1)?,
            Operation::Less => both(values).map(|(x, y)| less(x, y, signed))?,
            Operation::Equal => both(values).map(|(x, y)| Value::apply(Op::Equal, &[x, y], 1))?,
            Operation::Minimum => both(values).map(|(x, y)| lesser(x, y, signed))?,
            Operation::Maximum => both(values).map(|(x, y)| greater(x, y, signed))?,
            Operation::Select => {
                let (yes, no) = both(&values[1..])?;
                is_bit(values[0])?;
                meet(values)?;
                Value::apply(Op::Select, &[values[0], yes, no], yes.width())
            }
            Operation::Resize => {
                let width = width(numbers[0])?;
                Value::apply(Op::Resize { signed }, values, width)
            }
            Operation::Part => {
                let (from, own) = (numbers[0], u64::from(values[0].width()));
                if numbers[1] == 0 || from.checked_add(numbers[1]).is_none_or(|end| end > own) {
                    return refuse(format!("{} bits from {from} on, of {own}", numbers[1]));
                }
                values[0].part(from as u32, numbers[1] as u32)
            }
            Operation::Join => {
                meet(values)?;
                width(values.iter().map(|value| u64::from(value.width())).sum())?;
                Value::join(values)
            }
            Operation::ShiftLeft => {
                Value::apply(Op::ShiftLeft(places(numbers[0])), values, values[0].width())
            }
            Operation::ShiftRight => {
                let op = Op::ShiftRight {
                    by: places(numbers[0]),
                    signed,
                };
                Value::apply(op, values, values[0].width())
            }
            Operation::ShiftLeftBy => {
                meet(values)?;
                Value::apply(Op::ShiftLeftBy, values, values[0].width())
            }
            Operation::ShiftRightBy => {
                meet(values)?;
                Value::apply(Op::ShiftRightBy { signed }, values, values[0].width())
            }
            _ => return Ok(None),
        };
        Ok(Some(result))
    }

    fn call(&self, operands: &[u64]) -> Result<Value> {
        let function = self.function(operands[0])?;
        let arguments: Vec<&Value> = operands[1..]
            .iter()
            .map(|&operand| self.value(operand))
            .collect::<Result<_>>()?;
        meet(&arguments)?;
        let widths: Vec<u32> = arguments.iter().map(|argument| argument.width()).collect();
        if widths != function.inputs() {
            let takes = function.inputs();
            return refuse(format!("a function of {takes:?} bits is given {widths:?}"));
        }
        width(function.outputs().iter().copied().map(u64::from).sum())?;
        Ok(function.call_together(&arguments))
    }
}

pub(super) fn refuse<T>(what: String) -> Result<T> {
    Err(Error::BadInput(what))
}

/// Two values that can be calculated with.
fn both<'a>(values: &[&'a Value]) -> Result<(&'a Value, &'a Value)> {
    let (x, y) = (values[0], values[1]);
    if x.width() != y.width() {
        return refuse(format!("{} bits meet {}", x.width(), y.width()));
    }
    meet(values)?;
    Ok((x, y))
}

/// Sees that rows have one length, but for those of a single secret.
pub(super) fn meet(values: &[&Value]) -> Result<()> {
    let mut rows = values
        .iter()
        .map(|value| value.lanes())
        .filter(|&lanes| lanes != 1);
    let Some(first) = rows.next() else { return Ok(()) };
    match rows.find(|&lanes| lanes != first) {
        Some(other) => refuse(lengths_differ(first, other)),
        None => Ok(()),
    }
}

pub(super) fn is_bit(value: &Value) -> Result<()> {
    match value.width() {
        1 => Ok(()),
        width => refuse(format!("{width} bits, where one is meant")),
    }
}

pub(super) fn width(stated: u64) -> Result<u32> {
    match u32::try_from(stated) {
        Ok(width @ 1..=WIDEST) => Ok(width),
        _ => refuse(format!("a value of {stated} bits: it has 1 to {WIDEST}")),
    }
}

fn places(stated: u64) -> u32 {
    u32::try_from(stated).unwrap_or(u32::MAX)
}

pub(super) fn less(x: &Value, y: &Value, signed: bool) -> Value {
    Value::apply(Op::Less { signed }, &[x, y], 1)
}

pub(super) fn lesser(x: &Value, y: &Value, signed: bool) -> Value {
    Value::apply(Op::Select, &[&less(y, x, signed), y, x], x.width())
}

pub(super) fn greater(x: &Value, y: &Value, signed: bool) -> Value {
    Value::apply(Op::Select, &[&less(x, y, signed), y, x], x.width())
}

/// Quotient, rounded down, and remainder; both 0 where the divisor is 0.
fn divided(x: &Value, y: &Value, signed: bool) -> (Value, Value) {
    let width = x.width();
    let zero = x.session().constant(width, 0);
    let both = Value::apply(Op::Divide { signed }, &[x, y], 2 * width);
    let (mut quotient, mut remainder) = (both.part(0, width), both.part(width, width));
    if signed {
        // The quotient was rounded towards zero: it is one too large where the remainder has another sign than the divisor.
        let none = Value::apply(Op::Equal, &[&remainder, &zero], 1);
        let [a, b] = [&remainder, y].map(|value| value.part(width - 1, 1));
        let differ = Value::apply(Op::Xor, &[&a, &b], 1);
        let wrong = Value::apply(Op::And, &[&differ, &Value::apply(Op::Not, &[&none], 1)], 1);
        let all = Value::apply(Op::Resize { signed: true }, &[&wrong], width);
        quotient = Value::apply(Op::Add, &[&quotient, &all], width);
        let more = Value::apply(Op::And, &[y, &all], width);
        remainder = Value::apply(Op::Add, &[&remainder, &more], width);
    }
    let nothing = Value::apply(Op::Equal, &[y, &zero], 1);
    let unless = |value: &Value| Value::apply(Op::Select, &[&nothing, &zero, value], width);
    (unless(&quotient), unless(&remainder))
}
