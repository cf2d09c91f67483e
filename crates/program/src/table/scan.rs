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
    let both = |[first_starts, first]: [&Value; 2], [second_starts, second]: [&Value; 2]| {
        let together = combine(first, second);
        let value = Value::apply(Op::Select, &[second_starts, second, &together], values.width());
        [Value::apply(Op::Or, &[first_starts, second_starts], 1), value]
    };
    let [_, scanned] = prefixes([starts, values], &both);
    scanned
}

/// For each place the sum of the numbers up to it, in as many bits.
#[track_caller]
pub(crate) fn sums(numbers: &Value) -> Value {
    let add = |[first]: [&Value; 1], [second]: [&Value; 1]| {
        [Value::apply(Op::Add, &[first, second], numbers.width())]
    };
    let [sums] = prefixes([numbers], &add);
    sums
}

/// What `both` puts together of the columns of two places next to one another, or of what it made of them, the earlier first.
type Both<'a, const COLUMNS: usize> = dyn Fn([&Value; COLUMNS], [&Value; COLUMNS]) -> [Value; COLUMNS] + 'a;

/// For each place the columns up to it put together.
fn prefixes<const COLUMNS: usize>(values: [&Value; COLUMNS], both: &Both<'_, COLUMNS>) -> [Value; COLUMNS] {
    let count = values[0].lanes();
    if count == 1 {
        return values.map(Value::clone);
    }
    let take = |from: usize, count: usize| {
        let places: Vec<usize> = (0..count).map(|at| 2 * at + from).collect();
        values.map(|column| column.gather(&places))
    };
    let pairs = count / 2;
    let (even, odd) = (take(0, pairs), take(1, pairs));
    let of_pairs = both(even.each_ref(), odd.each_ref());
    let through_pairs = prefixes(of_pairs.each_ref(), both);
    // Even places but the first have a whole number of pairs before them.
    let later = count.div_ceil(2) - 1;
    if later == 0 {
        return std::array::from_fn(|at| {
            Value::arrange(&[values[at], &through_pairs[at]], &runs([(0, 0), (1, 0)]))
        });
    }
    let before = through_pairs.each_ref().map(|column| column.slice(0, later));
    let own = take(2, later);
    let even = both(before.each_ref(), own.each_ref());
    let order = runs((0..count).map(|at| match at {
        0 => (0, 0),
        _ if at % 2 == 1 => (1, at / 2),
        _ => (2, at / 2 - 1),
    }));
    std::array::from_fn(|at| Value::arrange(&[values[at], &through_pairs[at], &even[at]], &order))
}

/// Of places where segments start, those that are the last of theirs.
pub(crate) fn ends(starts: &Value) -> Value {
    let end = starts.session().constant(1, 1).repeated(1);
    match starts.lanes() - 1 {
        0 => end,
        after => Value::concat(&[&starts.slice(1, after), &end]),
    }
}
