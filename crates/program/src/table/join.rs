//! The join of two tables on equal keys.

use cenote_circuit::library::{self, Goal, Key};
use cenote_circuit::{Bit, Builder};

use crate::function::call;
use crate::op::{Called, Op};
use crate::table::compact::exchange_if;
use crate::table::network::Network;
use crate::table::scan::{scanned, starts};
use crate::value::Value;

/// For each record of the right table whether a record of the left has its key, and the payload of the last such one. Both are sorted by their
/// keys.
///
/// Both tables are merged by key, those of the left first; each record of the right takes what the last of the left before it has, if the key
/// is the same; and then everything goes back to where it came from, through the same exchanges.
#[track_caller]
pub(crate) fn looked_up(left: (&Value, &Value), right: &Value, key: Key) -> (Value, Value) {
    let (count, session) = (left.0.lanes(), right.session());
    // Whose a record is counts as the lowest bit of its key.
    let of = |owner: u128, keys: &Value, payload: &Value| {
        Value::join(&[&session.constant(1, owner), keys, payload])
    };
    let nothing = session.constant(left.1.width(), 0);
    let records = Value::concat(&[&of(0, left.0, left.1), &of(1, right, &nothing)]);
    let (exchanges, order) = library::merging_network(count, right.lanes());
    let network = Network::new(&exchanges);
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
    let width = left.1.width();
    let found = Value::join(&[&is_left, &merged.part(1 + key.width as u32, width)]);
    let latest = scanned(&starts(&keys), &found, &|earlier, later| {
        Value::apply(Op::Select, &[&later.part(0, 1), later, earlier], width + 1)
    });
    let back = network.pass_back(&latest, &order, |_, x, y| {
        exchange_if(&swaps.pop().expect("one for each layer"), x, y)
    });
    let found = back.slice(count, right.lanes());
    (found.part(0, 1), found.part(1, width))
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
    let mut bits = bits.clone();
    while bits.lanes() > 1 {
        let (count, half) = (bits.lanes(), bits.lanes() / 2);
        let both = Value::apply(Op::And, &[&bits.slice(0, half), &bits.slice(half, half)], 1);
        bits = match count % 2 {
            0 => both,
            _ => Value::concat(&[&both, &bits.slice(count - 1, 1)]),
        };
    }
    bits
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
