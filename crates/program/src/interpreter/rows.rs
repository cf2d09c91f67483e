//! What is done with rows and tables.

use cenote_circuit::library::Key;
use cenote_primitives::Entropy;

use super::calculate::{greater, is_bit, less, lesser, meet, refuse, width};
use super::{Interpreter, Operation, Result, Stored, room};
use crate::memory::Blocks;
use crate::op::Op;
use crate::secret::Secret;
use crate::table;
use crate::value::Value;

/// Bits of places and counts.
const PLACE: u32 = 64;

impl Interpreter {
    /// What is done with rows.
    pub(super) fn rows(
        &self,
        operation: Operation,
        values: &[&Value],
        numbers: &[u64],
        signed: bool,
    ) -> Result<Vec<Value>> {
        let row = || values[0];
        let result = match operation {
            Operation::Slice => {
                let (from, lanes) = (numbers[0], numbers[1]);
                let own = row().lanes() as u64;
                if lanes == 0 || from.checked_add(lanes).is_none_or(|end| end > own) {
                    return refuse(format!("{lanes} places from {from} on, of a row of {own}"));
                }
                row().slice(from as usize, lanes as usize)
            }
            Operation::Take => taken(row(), numbers)?,
            Operation::Concat => concatenated(values)?,
            Operation::Fill => {
                let lanes = lanes(row().width(), numbers[0])?;
                if row().lanes() != 1 && row().lanes() != lanes {
                    return refuse(format!("a row of {} is no single secret", row().lanes()));
                }
                row().filling(lanes)
            }
            Operation::Sum => summed(row(), numbers)?,
            Operation::Least => folded(row(), |x, y| lesser(x, y, signed)),
            Operation::Greatest => folded(row(), |x, y| greater(x, y, signed)),
            Operation::PlaceOfLeast => place_of(row(), false, signed),
            Operation::PlaceOfGreatest => place_of(row(), true, signed),
            Operation::Count => {
                is_bit(row())?;
                let count = Secret::<bool>::of(row().clone()).count();
                Value::apply(Op::Resize { signed: false }, &[count.value()], PLACE)
            }
            Operation::All => {
                is_bit(row())?;
                table::all(row())
            }
            Operation::Any => {
                is_bit(row())?;
                let none = Value::apply(Op::Not, &[row()], 1);
                Value::apply(Op::Not, &[&table::all(&none)], 1)
            }
            Operation::CumulativeSum => table::sums(row()),
            Operation::Random => {
                let width = width(numbers[0])?;
                let lanes = lanes(width, numbers[1])?;
                self.session.random_bits(width, lanes, &mut Entropy::os())
            }
            _ => return tables(operation, values, numbers, signed),
        };
        Ok(vec![result])
    }

    /// What is done with memories.
    pub(super) fn remember(
        &mut self,
        operation: Operation,
        operands: &[u64],
        signed: bool,
    ) -> Result<Vec<Stored>> {
        if operation == Operation::Memory {
            let row = self.value(operands[0])?;
            return Ok(vec![Stored::Memory(Box::new(Blocks::of_row(row)?))]);
        }
        let values: Vec<Value> = operands[1..]
            .iter()
            .map(|&operand| self.value(operand).cloned())
            .collect::<Result<_>>()?;
        if let Some(row) = values.iter().find(|value| value.lanes() != 1) {
            return refuse(format!(
                "a memory is accessed with a row of {} secrets: one at a time",
                row.lanes()
            ));
        }
        let memory = self.memory(operands[0])?;
        let fits = |value: &Value| match value.width() == memory.width() {
            true => Ok(()),
            false => refuse(format!(
                "{} bits, where a block has {}",
                value.width(),
                memory.width()
            )),
        };
        Ok(match (operation, &values[..]) {
            (Operation::Read, [index]) => vec![Stored::Value(memory.read(index, signed)?)],
            (Operation::Write, [index, value]) => {
                fits(value)?;
                memory.write(index, signed, value)?;
                Vec::new()
            }
            (Operation::Access, [write, index, value]) => {
                fits(value)?;
                is_bit(write)?;
                vec![Stored::Value(memory.access(write, (index, signed), value)?)]
            }
            _ => return refuse("no access to a memory".into()),
        })
    }
}

/// What is done with tables.
fn tables(operation: Operation, values: &[&Value], numbers: &[u64], signed: bool) -> Result<Vec<Value>> {
    Ok(match operation {
        Operation::Sort => {
            let key = Key {
                width: width(numbers[0])? as usize,
                signed,
            };
            if key.width > values[0].width() as usize {
                let what = format!("a key of {} bits, of records of {}", key.width, values[0].width());
                return refuse(what);
            }
            match values[0].lanes() {
                1 => vec![values[0].clone()],
                _ => vec![table::sorted(values[0], key)],
            }
        }
        Operation::Shuffle => match values[0].lanes() {
            1 => vec![values[0].clone()],
            _ => vec![table::shuffled(values[0])],
        },
        Operation::Compact => {
            is_bit(values[0])?;
            meet(values)?;
            let lanes = values[0].lanes().max(values[1].lanes());
            let [chosen, records] = [0, 1].map(|at| values[at].filling(lanes));
            let (records, count) = table::compacted_with_zeros(&records, &chosen);
            vec![
                records,
                Value::apply(Op::Resize { signed: false }, &[&count], PLACE),
            ]
        }
        Operation::Lookup => {
            let (left, records, right) = (values[0], values[1], values[2]);
            if left.width() != right.width() {
                return refuse(format!("keys of {} and of {} bits", left.width(), right.width()));
            }
            meet(&values[..2])?;
            let lanes = left.lanes().max(records.lanes());
            let left = (&left.filling(lanes), &records.filling(lanes));
            let key = Key {
                width: right.width() as usize,
                signed,
            };
            table::joined(left, right, key).into()
        }
        Operation::Starts => vec![table::starts(values[0])],
        Operation::Ends => {
            is_bit(values[0])?;
            vec![table::ends(values[0])]
        }
        Operation::Scan => {
            is_bit(values[0])?;
            let lanes = values[1].lanes();
            if values[0].lanes() != lanes {
                return refuse(format!("{} starts in a row of {lanes}", values[0].lanes()));
            }
            let combine: &dyn Fn(&Value, &Value) -> Value = match numbers[0] {
                0 => &|x, y| Value::apply(Op::Add, &[x, y], x.width()),
                1 => &|x, y| lesser(x, y, signed),
                2 => &|x, y| greater(x, y, signed),
                other => return refuse(format!("there is no scan {other}")),
            };
            vec![table::scanned(values[0], values[1], combine)]
        }
        other => return refuse(format!("{} is nothing that is done with rows", other.name())),
    })
}

/// The stated number of secrets of so many bits, for which there is room.
fn lanes(width: u32, stated: u64) -> Result<usize> {
    let lanes = usize::try_from(stated).unwrap_or(usize::MAX);
    room(width, lanes)?;
    Ok(lanes)
}

fn taken(row: &Value, places: &[u64]) -> Result<Value> {
    let own = row.lanes();
    if let Some(place) = places.iter().find(|&&place| place >= own as u64) {
        return refuse(format!("place {place} of a row of {own}"));
    }
    let places: Vec<usize> = places.iter().map(|&place| place as usize).collect();
    room(row.width(), places.len())?;
    Ok(row.gather(&places))
}

fn concatenated(parts: &[&Value]) -> Result<Value> {
    let width = parts[0].width();
    if let Some(other) = parts.iter().find(|part| part.width() != width) {
        return refuse(format!("{width} bits meet {}", other.width()));
    }
    let all = parts
        .iter()
        .map(|part| part.lanes())
        .fold(0, usize::saturating_add);
    room(width, all)?;
    Ok(Value::concat(parts))
}

/// All secrets put together, in as few steps one after another as possible.
fn folded(row: &Value, combine: impl Fn(&Value, &Value) -> Value) -> Value {
    row.folded(1, combine, |left, _| left.clone())
}

/// Blocks of secrets added place by place. Sums get wider as they grow.
fn summed(row: &Value, numbers: &[u64]) -> Result<Value> {
    let (all, signed) = (width(numbers[0])?, numbers[1] == 1);
    let (lanes, block) = (row.lanes(), numbers[2]);
    if block == 0 || !(lanes as u64).is_multiple_of(block) {
        return refuse(format!("blocks of {block} in a row of {lanes}"));
    }
    let block = block as usize;
    let resized = |value: &Value, width: u32| match value.width() == width {
        true => value.clone(),
        false => Value::apply(Op::Resize { signed }, &[value], width),
    };
    let add = |x: &Value, y: &Value| {
        let wide = (x.width() + 1).min(all);
        Value::apply(Op::Add, &[&resized(x, wide), &resized(y, wide)], wide)
    };
    let row = resized(row, row.width().min(all));
    Ok(resized(&row.folded(block, add, resized), all))
}

/// The first place that has the least or the greatest: numbers with their places below them, none of which are equal.
fn place_of(row: &Value, greatest: bool, signed: bool) -> Value {
    let (session, lanes) = (row.session(), row.lanes());
    let bits = table::bits_of_places(lanes);
    // Of the greatest the first comes last.
    let places: Vec<u128> = (0..lanes as u128)
        .map(|place| {
            if greatest {
                lanes as u128 - 1 - place
            } else {
                place
            }
        })
        .collect();
    let numbered = Value::join(&[&session.constant_row(bits, &places), row]);
    let best = folded(&numbered, |x, y| match less(x, y, signed) {
        less if greatest => Value::apply(Op::Select, &[&less, y, x], x.width()),
        less => Value::apply(Op::Select, &[&less, x, y], x.width()),
    });
    let place = Value::apply(Op::Resize { signed: false }, &[&best.part(0, bits)], PLACE);
    if !greatest {
        return place;
    }
    let last = session.constant(PLACE, lanes as u128 - 1);
    Value::apply(Op::Subtract, &[&last, &place], PLACE)
}
