//! Prefixes of rows under an associative operation, of each segment on its own.

use crate::op::Op;
use crate::value::{Value, runs};

/// Whether each place of a row of keys that are side by side is the first with its key.
#[track_caller]
pub(crate) fn starts(keys: &Value) -> Value {
    let first = keys.session().constant(1, 1).repeated(1);
    let others = keys.lanes() - 1;
    if others == 0 {
        return first;
    }
    let same = Value::apply(Op::Equal, &[&keys.slice(0, others), &keys.slice(1, others)], 1);
    Value::concat(&[&first, &Value::apply(Op::Not, &[&same], 1)])
}

/// For each place the values of its segment up to it put together by `combine`, which is associative: about two calls for each
/// place in all, `2 log n` of them one after another. A segment begins where the bit of `starts` is 1, and in the first place.
#[track_caller]
pub(crate) fn scanned(starts: &Value, values: &Value, combine: &dyn Fn(&Value, &Value) -> Value) -> Value {
    prefixes(starts, values, combine).1
}

/// For each place the sum of the numbers up to it, in so many bits.
#[track_caller]
pub(crate) fn sums(numbers: &Value, width: u32) -> Value {
    let count = numbers.lanes();
    let wide = |number: &Value| Value::apply(Op::Resize { signed: false }, &[number], width);
    if count == 1 {
        return wide(numbers);
    }
    let places = |from: usize, count: usize| (0..count).map(|at| 2 * at + from).collect::<Vec<_>>();
    // Sums of few numbers take few bits.
    let narrow = (numbers.width() + 1).min(width);
    let add = |x: &Value, y: &Value, width: u32| {
        let wide = |number: &Value| Value::apply(Op::Resize { signed: false }, &[number], width);
        Value::apply(Op::Add, &[&wide(x), &wide(y)], width)
    };
    let pairs = count / 2;
    let of_pairs = add(
        &numbers.gather(&places(0, pairs)),
        &numbers.gather(&places(1, pairs)),
        narrow,
    );
    let through_pairs = sums(&of_pairs, width);
    let later = count.div_ceil(2) - 1;
    let first = wide(&numbers.slice(0, 1));
    let order = (0..count).map(|at| match at {
        0 => (0, 0),
        _ if at % 2 == 1 => (1, at / 2),
        _ => (2, at / 2 - 1),
    });
    if later == 0 {
        return Value::arrange(&[&first, &through_pairs], &runs(order));
    }
    let even = add(
        &through_pairs.slice(0, later),
        &numbers.gather(&places(2, later)),
        width,
    );
    Value::arrange(&[&first, &through_pairs, &even], &runs(order))
}

fn prefixes(starts: &Value, values: &Value, combine: &dyn Fn(&Value, &Value) -> Value) -> (Value, Value) {
    let count = values.lanes();
    if count == 1 {
        return (starts.clone(), values.clone());
    }
    // The earlier of two neighbours, or prefixes, and the later.
    let both = |first: (&Value, &Value), second: (&Value, &Value)| {
        let together = combine(first.1, second.1);
        let value = Value::apply(Op::Select, &[second.0, second.1, &together], values.width());
        (Value::apply(Op::Or, &[first.0, second.0], 1), value)
    };
    let places = |from: usize, count: usize| (0..count).map(|at| 2 * at + from).collect::<Vec<_>>();
    let take = |from: usize, count: usize| {
        let places = places(from, count);
        (starts.gather(&places), values.gather(&places))
    };
    let pairs = count / 2;
    let (even, odd) = (take(0, pairs), take(1, pairs));
    let of_pairs = both((&even.0, &even.1), (&odd.0, &odd.1));
    let through_pairs = prefixes(&of_pairs.0, &of_pairs.1, combine);
    // Even places but the first have a whole number of pairs before them.
    let later = count.div_ceil(2) - 1;
    if later == 0 {
        let order = [(0, 0), (1, 0)];
        return (
            Value::arrange(&[starts, &through_pairs.0], &runs(order)),
            Value::arrange(&[values, &through_pairs.1], &runs(order)),
        );
    }
    let before = (through_pairs.0.slice(0, later), through_pairs.1.slice(0, later));
    let own = take(2, later);
    let even = both((&before.0, &before.1), (&own.0, &own.1));
    let order: Vec<(usize, usize)> = (0..count)
        .map(|at| match at {
            0 => (0, 0),
            _ if at % 2 == 1 => (1, at / 2),
            _ => (2, at / 2 - 1),
        })
        .collect();
    (
        Value::arrange(&[starts, &through_pairs.0, &even.0], &runs(order.iter().copied())),
        Value::arrange(&[values, &through_pairs.1, &even.1], &runs(order)),
    )
}
