//! The join of two tables on equal keys.

use cenote_circuit::library::{self, Goal, Key};
use cenote_circuit::{Bit, Builder};

use crate::function::call;
use crate::op::{Called, Op};
use crate::table::compact::exchange_if;
use crate::table::cost::Work;
use crate::table::network::Network;
use crate::table::order::{Order, bits_of_places, numbers};
use crate::table::scan::{ends, scanned, starts};
use crate::table::sort::merged;
use crate::value::Value;

/// What is found of the keys of a right table in a left one.
pub(crate) struct Found {
    /// Whether a record of the left table has the key of each of the right.
    pub(crate) found: Value,
    /// The payload of that one; without meaning if there is none.
    pub(crate) payload: Value,
    /// Whether the key of each record of the left is among those of the right, if that was to be told.
    pub(crate) used: Option<Value>,
}

impl Found {
    /// Of what each record of both tables takes from the last of the left before it, and whether it was used above that if it is `told`.
    fn of(taken: &Value, lefts: usize, payload: u32, told: bool) -> Self {
        let right = taken.slice(lefts, taken.lanes() - lefts);
        Self {
            found: right.part(0, 1),
            payload: right.part(1, payload),
            used: told.then(|| taken.slice(0, lefts).part(1 + payload, 1)),
        }
    }
}

/// For each record of the right table whether a record of the left has its key, and the payload of the last such one. Both are sorted by their
/// keys. If it is to be `told` which keys of the left were found, none comes twice there.
///
/// Both tables are merged by key, those of the left first; each record of the right takes what the last of the left before it has, if the key
/// is the same; and then everything goes back to where it came from, through the same exchanges.
#[track_caller]
pub(crate) fn looked_up(left: (&Value, &Value), right: &Value, key: Key, told: bool) -> Found {
    let begins = |keys: &Value, is_left: &Value| {
        let starts = starts(keys);
        let used = told.then(|| continued(&starts));
        (Value::apply(Op::Or, &[&starts, is_left], 1), used)
    };
    let taken = merged_and_back(left, right, key, begins);
    Found::of(&taken, left.0.lanes(), left.1.width(), told)
}

/// Of places where segments start, whether the next one is of the same.
fn continued(starts: &Value) -> Value {
    Value::apply(Op::Not, &[&ends(starts)], 1)
}

/// For each key of the right table the payload of the last record of the left whose key is not greater, which there is. Both are sorted by their keys.
#[track_caller]
pub(crate) fn nearest(left: (&Value, &Value), right: &Value) -> Value {
    // A network does not keep those with equal keys in their order.
    let (session, count) = (right.session(), left.0.lanes());
    let bits = bits_of_places(count);
    let (all, last) = (
        numbers(session, 0..count, bits),
        session.constant(bits, u128::MAX >> (128 - bits)),
    );
    let (keys, right) = (Value::join(&[&all, left.0]), Value::join(&[&last, right]));
    let key = Key::unsigned(right.width() as usize);
    let taken = merged_and_back((&keys, left.1), &right, key, |_, is_left| (is_left.clone(), None));
    Found::of(&taken, count, left.1.width(), false).payload
}

/// For each record of both tables, those of the left first, the bit 1 and above it the payload of the last record of the left up to it in its segment; the bit 0 if there is
/// none. A segment begins where `begins` says, from the keys of all and whether a record is of the left; what else that says of each goes back above the payload.
#[track_caller]
fn merged_and_back(
    left: (&Value, &Value),
    right: &Value,
    key: Key,
    begins: impl FnOnce(&Value, &Value) -> (Value, Option<Value>),
) -> Value {
    let (count, session) = (left.0.lanes(), right.session());
    // Whose a record is counts as the lowest bit of its key.
    let of = |owner: u128, keys: &Value, payload: &Value| {
        Value::join(&[&session.constant(1, owner), keys, payload])
    };
    let nothing = session.constant(left.1.width(), 0);
    let records = Value::concat(&[&of(0, left.0, left.1), &of(1, right, &nothing)]);
    let (exchanges, order) = library::merging_network(count, right.lanes());
    let network = Network::new(&exchanges);
    drop(exchanges);
    let mut swaps = Vec::new();
    let exchange = exchange_told(
        records.width(),
        Key {
            width: key.width + 1,
            ..key
        },
    );
    let merged = network.pass(&records, &order, |_, x, y| {
        let [x, y, swap] = exchange(x, y);
        swaps.push(swap);
        (x, y)
    });

    let keys = merged.part(1, key.width as u32);
    let is_left = Value::apply(Op::Not, &[&merged.part(0, 1)], 1);
    let found = Value::join(&[&is_left, &merged.part(1 + key.width as u32, left.1.width())]);
    let (begins, more) = begins(&keys, &is_left);
    let latest = with(latest(&begins, &found), more);
    network.pass_back(&latest, &order, |_, x, y| {
        exchange_if(&swaps.pop().expect("one for each layer"), x, y)
    })
}

/// Records with one bit more above them, if there is one.
fn with(records: Value, more: Option<Value>) -> Value {
    match more {
        Some(more) => Value::join(&[&records, &more]),
        None => records,
    }
}

/// What rows are looked up in a secret order, if that takes less than to sort and merge them by networks.
pub(crate) struct Lookup {
    key: Key,
    merges: bool,
}

impl Lookup {
    /// For rows of a left and a right table, of which those are `sorted` that are said to be, and others are records of so many bits besides their keys.
    pub(crate) fn new(left: (&Value, &Value), right: (&Value, u32), sorted: [bool; 2]) -> Option<Self> {
        let (session, width) = (left.0.session(), left.0.width());
        let key = Key::unsigned(width as usize);
        let work = |records, width| Work::new(session, records, width);
        let sorting = |sorted: bool, keys: &Value, payload: u32| match sorted {
            true => Some(0),
            false => work(keys.lanes(), width + payload).map(|work| work.network(key)),
        };
        let sorted_first =
            sorting(sorted[0], left.0, left.1.width())?.saturating_add(sorting(sorted[1], right.0, right.1)?);
        let records = left.0.lanes() + right.0.lanes();
        let (keys, payload) = (work(records, width)?, work(records, left.1.width() + 1)?);
        let (merge, order) = (keys.merge(), keys.order(key));
        let merges = sorted == [true, true] && merge < order;
        let order = if merges { merge } else { order };
        let cheaper = payload.matching(key, order) < payload.looking_up(key, sorted_first);
        cheaper.then_some(Self { key, merges })
    }

    /// As [`looked_up`], of tables that need not be sorted unless that was said. A key whose highest bit is 1 is none. Then whether a key is twice in the left table, or
    /// the tables are not sorted as was said: one bit for all.
    pub(crate) fn run(&self, left: (&Value, &Value), right: &Value, told: bool) -> (Found, Value) {
        let together = self.together(left, right);
        let (lefts, count) = (left.0.lanes(), left.0.lanes() + right.lanes());
        let starts = starts(&together.keys);
        let is_left = together.there.part(0, 1);
        let twice = [&is_left.slice(0, count - 1), &is_left.slice(1, count - 1)];
        let twice = Value::apply(Op::And, &twice, 1);
        let continues = Value::apply(Op::Not, &[&starts.slice(1, count - 1)], 1);
        let apart = Value::apply(Op::Not, &[&Value::apply(Op::And, &[&twice, &continues], 1)], 1);
        let mut right_order = all(&apart);
        if let Some(ascends) = together.ascends {
            right_order = Value::apply(Op::And, &[&right_order, &ascends], 1);
        }
        let begins = Value::apply(Op::Or, &[&starts, &is_left], 1);
        let used = told.then(|| continued(&starts));
        let taken = together
            .order
            .undone(&with(latest(&begins, &together.there), used));
        let found = Found::of(&taken, lefts, left.1.width(), told);
        (found, Value::apply(Op::Not, &[&right_order], 1))
    }

    /// As [`nearest`].
    pub(crate) fn nearest(&self, left: (&Value, &Value), right: &Value) -> Value {
        let together = self.together(left, right);
        let latest = latest(&together.there.part(0, 1), &together.there);
        let found = together.order.undone(&latest);
        found.slice(left.0.lanes(), right.lanes()).part(1, left.1.width())
    }

    /// Both tables sorted together, the records of the left first where keys are equal.
    fn together(&self, (keys, payload): (&Value, &Value), right: &Value) -> Together {
        let &Lookup { key, merges } = self;
        let (session, width) = (right.session(), keys.width());
        let all_keys = Value::concat(&[keys, right]);
        let (order, ascends) = match merges {
            true => {
                let (places, ascends) = merged_places(keys, right, key);
                (Order::of(&places), Some(ascends))
            }
            false => (Order::by(&all_keys, key), None),
        };
        let order = Order::or_none(order, &all_keys);
        let of_left = Value::apply(Op::Not, &[&keys.part(width - 1, 1)], 1);
        let there = Value::join(&[&of_left, payload]);
        let nothing = session.constant(there.width(), 0).repeated(right.lanes());
        let records = Value::join(&[&all_keys, &Value::concat(&[&there, &nothing])]);
        let sorted = order.applied(&records);
        Together {
            keys: sorted.part(0, width),
            there: sorted.part(width, there.width()),
            order,
            ascends,
        }
    }
}

/// Two tables in one order.
struct Together {
    order: Order,
    keys: Value,
    /// Whether it is a record of the left table with a key, and its payload.
    there: Value,
    /// Whether both were sorted, if they were to be: one bit for all.
    ascends: Option<Value>,
}

/// For each place the first record of its segment.
fn latest(begins: &Value, records: &Value) -> Value {
    scanned(begins, records, &|earlier, _| earlier.clone())
}

/// Of two rows of keys which key of both one after the other comes in each place of all; and whether both are sorted, without which the places have no meaning. Each
/// is looked at before they meet: whether a network sorts a row that is not sorted depends on the other row, and the owner of the first would learn of it.
fn merged_places(left: &Value, right: &Value, key: Key) -> (Value, Value) {
    let (session, lefts) = (left.session(), left.lanes());
    let width = bits_of_places(lefts + right.lanes());
    // With its number, each key is another: those of the left come first.
    let numbered = |keys: &Value, from: usize| {
        let numbers = numbers(session, from..from + keys.lanes(), width);
        Value::join(&[&numbers, keys])
    };
    let ascend = [left, right].map(|keys| ascending(keys, key, false));
    let ascend = Value::apply(Op::And, &[&ascend[0], &ascend[1]], 1);
    let key = Key {
        width: key.width + width as usize,
        ..key
    };
    let merged = merged(&numbered(left, 0), &numbered(right, lefts), key);
    (merged.part(0, width), ascend)
}

/// Whether keys ascend, strictly or not: one bit for all.
#[track_caller]
pub(crate) fn ascending(keys: &Value, key: Key, strictly: bool) -> Value {
    let count = keys.lanes();
    if count == 1 {
        return keys.session().constant(1, 1).repeated(1);
    }
    let (these, next) = (keys.slice(0, count - 1), keys.slice(1, count - 1));
    let less = Op::Less { signed: key.signed };
    let right = if strictly {
        Value::apply(less, &[&these, &next], 1)
    } else {
        Value::apply(Op::Not, &[&Value::apply(less, &[&next, &these], 1)], 1)
    };
    all(&right)
}

/// Whether all bits of a row are 1.
#[track_caller]
pub(crate) fn all(bits: &Value) -> Value {
    let and = |x: &Value, y: &Value| Value::apply(Op::And, &[x, y], 1);
    bits.folded(1, and, |left, _| left.clone())
}

/// Records of so many bits, the one with the smaller key first, and whether they were exchanged.
fn exchange_told(width: u32, key: Key) -> impl Fn(&Value, &Value) -> [Value; 3] {
    let name = format!("exchange, told, of {width} bits by {key:?}");
    let weight = u64::from(width) + key.width as u64;
    let less = if key.signed {
        library::less_than_signed
    } else {
        library::less_than
    };
    let exchange = Called::new(
        name,
        weight,
        move |b: &mut Builder, operands: &[&[Bit]], goal: Goal| {
            let (x, y) = (operands[0], operands[1]);
            let swap = less(b, &y[..key.width], &x[..key.width], goal);
            let (mut x, mut y) = (x.to_vec(), y.to_vec());
            library::exchange_if(b, swap, &mut x, &mut y);
            [x, y, vec![swap]].concat()
        },
    );
    move |x, y| {
        let told = call(&exchange, &[x, y], &[width, width, 1]);
        told.try_into().expect("three are given")
    }
}
