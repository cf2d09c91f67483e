//! Wires and lanes of values, and both as the other.

use cenote_primitives::{BitMatrix, LaneRun};

use crate::op::Op;
use crate::session::Session;
use crate::value::{Value, runs};

/// As [`Value::part`], without a step of a circuit where the value has been computed.
pub(super) fn part(value: &Value, from: u32, width: u32) -> Value {
    value
        .wires(from, width)
        .unwrap_or_else(|| value.part(from, width))
}

/// Zeros on wires, as many as one likes: unlike constants of the program they are not compiled into circuits.
pub(super) fn zeros(session: &Session, width: u32, lanes: usize) -> Value {
    let bits = BitMatrix::zeros(width as usize, lanes);
    session.make(width, lanes, |machine| machine.constant(&bits))
}

/// The secret in one lane, on wires of its own: what is computed of it has the same plan wherever it came from.
pub(super) fn lane(value: &Value, at: usize) -> Value {
    Value::arrange(&[value], &[LaneRun::new(0, at as u32, 1)])
}

/// The sum (XOR) over all lanes.
pub(super) fn sum(value: Value) -> Value {
    let add = |x: &Value, y: &Value| Value::apply(Op::Xor, &[x, y], x.width());
    value.folded(1, add, |left, _| left.clone())
}

/// The secrets of a row, `count` to a lane, the first one lowest; zeros after the last.
pub(super) fn joined(row: &Value, count: usize) -> Value {
    let zero = zeros(row.session(), row.width(), 1);
    let lanes = row.lanes().div_ceil(count);
    let parts: Vec<Value> = (0..count)
        .map(|at| {
            let places = (0..lanes).map(|lane| match lane * count + at {
                place if place < row.lanes() => (0, place),
                _ => (1, 0),
            });
            Value::arrange(&[row, &zero], &runs(places))
        })
        .collect();
    Value::join(&parts.iter().collect::<Vec<_>>())
}
