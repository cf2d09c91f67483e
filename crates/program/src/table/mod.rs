//! Tables: rows of records, sorted, merged, joined, grouped and compacted without anybody learning which record is where.

mod compact;
mod copies;
mod cost;
mod join;
mod network;
mod order;
mod quicksort;
mod same;
mod scan;
mod sort;

use cenote_circuit::library::Key;

pub(crate) use self::compact::{compacted, compacted_to};
pub(crate) use self::copies::copied;
pub(crate) use self::join::{Found, Lookup, all, looked_up};
pub(crate) use self::order::{bits_of_places, shuffled, shuffled_and_sorted};
pub(crate) use self::same::same_rows as same_columns;
pub(crate) use self::scan::{ends, scanned, starts, sums};
pub(crate) use self::sort::{least, merged, sorted};

use crate::function::Function;
use crate::op::Op;
use crate::secret::Secret;
use crate::value::Value;
use crate::values::Values;
use crate::word::Integer;

/// The columns of a record, one above the other, and how wide each is.
struct Packed {
    record: Value,
    widths: Vec<u32>,
}

impl Packed {
    /// These columns; a single secret is in every lane.
    #[track_caller]
    fn new(columns: &[Value]) -> Self {
        let lanes = columns.iter().map(Value::lanes).max().unwrap_or(1);
        let columns: Vec<Value> = columns.iter().map(|column| column.filling(lanes)).collect();
        Self {
            widths: columns.iter().map(Value::width).collect(),
            record: Value::join(&columns.iter().collect::<Vec<_>>()),
        }
    }

    /// The records and `other`, in as many lanes.
    #[track_caller]
    fn beside(&self, other: &Value) -> (Value, Value) {
        let lanes = self.record.lanes().max(other.lanes());
        (self.record.filling(lanes), other.filling(lanes))
    }

    /// The columns of `key`, and then those of `payload`.
    #[track_caller]
    fn keyed<K: Integer>(key: &Secret<K>, payload: &impl Values) -> Self {
        let mut columns = vec![key.value().clone()];
        columns.extend(values_of(payload));
        Self::new(&columns)
    }

    /// Key and payload of another record of the kind.
    fn with_key<K: Integer, V: Values>(&self, record: &Value) -> (Secret<K>, V) {
        let mut columns = self.unpack(record).into_iter();
        let key = Secret::of(columns.next().expect("the key is a column"));
        (key, made(columns))
    }

    /// The columns of another record of the kind.
    fn unpack(&self, record: &Value) -> Vec<Value> {
        let mut first = 0;
        self.widths
            .iter()
            .map(|&width| {
                let column = record.part(first, width);
                first += width;
                column
            })
            .collect()
    }
}

fn values_of(columns: &impl Values) -> Vec<Value> {
    let mut values = Vec::new();
    columns.each(&mut |secret| values.push(secret.value().clone()));
    values
}

fn made<V: Values>(columns: impl IntoIterator<Item = Value>) -> V {
    let mut columns = columns.into_iter();
    V::made(&mut |_| Secret::of(columns.next().expect("one for each column")))
}

impl<T: Integer> Secret<T> {
    /// The row from the smallest secret to the greatest.
    #[track_caller]
    pub fn sort(&self) -> Self {
        Secret::of(sorted(self.value(), key_of::<T>()))
    }

    /// As [`Secret::sort`], for fewer ANDs where there are a few hundred secrets or more (see [`shuffle_and_sort_by`]).
    ///
    /// # Errors
    /// What happened to the session.
    pub fn shuffle_and_sort(&self) -> crate::Result<Self> {
        Ok(Secret::of(shuffled_and_sorted(self.value(), key_of::<T>())?))
    }

    /// The secrets of this row and `other`, both of which are sorted, from the smallest to the greatest.
    #[track_caller]
    pub fn merge(&self, other: &Self) -> Self {
        Secret::of(merged(self.value(), other.value(), key_of::<T>()))
    }
}

fn key_of<T: Integer>() -> Key {
    Key {
        width: T::BITS as usize,
        signed: T::SIGNED,
    }
}

/// An order of the records of a table, which nobody knows. It moves any columns of as many records, now or later, and back.
///
/// Do not reveal the same column both before and after it was moved, nor a column of public values that was moved: that tells the order.
pub struct Order(order::Order);

impl Order {
    /// An order that is uniformly random to every party, for tables with as many records as this one.
    #[track_caller]
    pub fn random(like: &impl Values) -> Self {
        let packed = Packed::new(&values_of(like));
        Self(order::Order::random(&packed.record))
    }

    /// The order from the smallest `key` to the greatest; records with equal keys come as they were. Comparisons of shuffled records are revealed,
    /// which tell nothing of them.
    ///
    /// # Errors
    /// What happened to the session.
    pub fn by<K: Integer>(key: &Secret<K>) -> crate::Result<Self> {
        Ok(Self(order::Order::by(key.value(), key_of::<K>())?))
    }

    /// The records in this order.
    #[track_caller]
    pub fn apply<V: Values>(&self, records: &V) -> V {
        self.move_records(records, |record| self.0.applied(record))
    }

    /// The records that are in this order, as they were before.
    #[track_caller]
    pub fn undo<V: Values>(&self, records: &V) -> V {
        self.move_records(records, |record| self.0.undone(record))
    }

    #[track_caller]
    fn move_records<V: Values>(&self, records: &V, moved: impl FnOnce(&Value) -> Value) -> V {
        let packed = Packed::new(&values_of(records));
        let record = packed.record.filling(self.0.records());
        made(packed.unpack(&moved(&record)))
    }
}

/// The records of a table from the smallest `key` to the greatest, with their `payload`. Those with equal keys come in some order.
#[track_caller]
pub fn sort_by<K: Integer, V: Values>(key: &Secret<K>, payload: &V) -> (Secret<K>, V) {
    let packed = Packed::keyed(key, payload);
    packed.with_key(&sorted(&packed.record, key_of::<K>()))
}

/// The records of two tables, both of which are sorted by their keys, from the smallest key to the greatest.
#[track_caller]
pub fn merge_by<K: Integer, V: Values>(first: (&Secret<K>, &V), second: (&Secret<K>, &V)) -> (Secret<K>, V) {
    let [x, y] = [first, second].map(|(key, payload)| Packed::keyed(key, payload));
    x.with_key(&merged(&x.record, &y.record, key_of::<K>()))
}

/// As [`sort_by`], but stable, and for fewer ANDs where there are a few hundred records or more: two parties shuffle the records, and then comparisons
/// are revealed, which tell nothing after a shuffle. It takes some thirty messages back and forth for thousands of records.
///
/// # Errors
/// What happened to the session.
pub fn shuffle_and_sort_by<K: Integer, V: Values>(
    key: &Secret<K>,
    payload: &V,
) -> crate::Result<(Secret<K>, V)> {
    let packed = Packed::keyed(key, payload);
    Ok(packed.with_key(&shuffled_and_sorted(&packed.record, key_of::<K>())?))
}

/// The records of a table in an order that is uniformly random to everybody.
#[track_caller]
pub fn shuffle<V: Values>(records: &V) -> V {
    let packed = Packed::new(&values_of(records));
    made(packed.unpack(&shuffled(&packed.record)))
}

/// The records of a table that are `chosen`, in their order; and how many they are. After them comes what means nothing, some of the other records and zeros: do not
/// reveal it.
#[track_caller]
pub fn compact<V: Values>(chosen: &Secret<bool>, records: &V) -> (V, Secret<u32>) {
    let packed = Packed::new(&values_of(records));
    let (records, chosen) = packed.beside(chosen.value());
    let (compacted, count) = compacted(&records, &chosen);
    let count = Value::apply(Op::Resize { signed: false }, &[&count], 32);
    (made(packed.unpack(&compacted)), Secret::of(count))
}

/// As [`compact`], of the columns of a record together, with zeros after them.
#[track_caller]
pub(crate) fn compacted_with_zeros(records: &Value, chosen: &Value) -> (Value, Value) {
    let (moved, count) = compacted(&Value::join(&[chosen, records]), chosen);
    let (chosen, records) = (moved.part(0, 1), moved.part(1, records.width()));
    let zeros = records.session().constant(records.width(), 0);
    (
        Value::apply(Op::Select, &[&chosen, &records, &zeros], records.width()),
        count,
    )
}

/// The records with the `count` smallest keys, from the smallest on, or all if they are fewer.
#[track_caller]
pub fn top_k<K: Integer, V: Values>(key: &Secret<K>, payload: &V, count: usize) -> (Secret<K>, V) {
    let packed = Packed::keyed(key, payload);
    if count == 0 {
        let what = "the first 0 records: a table has at least one";
        let at = std::panic::Location::caller();
        return (
            Secret::of(key.session().misuse(what, at, K::BITS, 1)),
            payload.clone(),
        );
    }
    packed.with_key(&least(&packed.record, count, key_of::<K>()))
}

/// Whether two tables have the same records in the same order: one bit for all. In a protocol with digests it takes no ANDs for each record, and a wrong answer
/// has a probability of 2^-64.
#[track_caller]
pub fn same_rows<V: Values>(these: &V, those: &V) -> Secret<bool> {
    let (these, those) = (values_of(these), values_of(those));
    let [these, those] = [&these, &those].map(|table| table.iter().collect::<Vec<_>>());
    Secret::of(same_columns(&these, &those))
}

/// What [`join`] gives: a place for each record of the right table.
#[derive(Clone, Debug)]
pub struct Joined<L> {
    /// Whether a record of the left table has the key of this one.
    pub matched: Secret<bool>,
    /// The payload of that one; zeros if there is none.
    pub left: L,
    /// Whether both tables keep what they promise: ascending keys, in the left table without repetition. If not, nothing is
    /// matched, and all payloads are zero.
    pub in_order: Secret<bool>,
}

/// For each record of the right table, by its key, the record of the left table with the same one. Both tables are sorted by their
/// keys, and in the left one each key comes once.
#[track_caller]
pub fn join<K: Integer, L: Values>(left_key: &Secret<K>, left: &L, right_key: &Secret<K>) -> Joined<L> {
    let packed = Packed::new(&values_of(left));
    let (records, keys) = packed.beside(left_key.value());
    let [matched, left, in_order] = joined((&keys, &records), right_key.value(), key_of::<K>());
    Joined {
        matched: Secret::of(matched),
        left: made(packed.unpack(&left)),
        in_order: Secret::of(in_order),
    }
}

/// Of a table by its keys and records, and the keys of another: see [`Joined`].
#[track_caller]
pub(crate) fn joined(left: (&Value, &Value), right: &Value, key: Key) -> [Value; 3] {
    let Found { found, payload, .. } = looked_up(left, right, key, false);
    let in_order = Value::apply(
        Op::And,
        &[
            &join::ascending(left.0, key, true),
            &join::ascending(right, key, false),
        ],
        1,
    );
    let nothing = payload.session().constant(payload.width(), 0);
    let matched = Value::apply(Op::And, &[&found, &in_order], 1);
    let left = Value::apply(Op::Select, &[&matched, &payload, &nothing], payload.width());
    [matched, left, in_order]
}

/// For each place of a table that is sorted by `key`, what `combine` makes of the values of all records with its key up to it; and whether it is
/// the last one with its key, where that is what it makes of all. `combine` is associative.
///
/// # Errors
/// What `combine` does wrong (see [`Function::record`]).
#[track_caller]
pub fn group<K: Integer, V: Values>(
    key: &Secret<K>,
    values: &V,
    combine: impl FnOnce((V, V)) -> V,
) -> crate::Result<(Secret<bool>, V)> {
    let combine = Function::<(V, V), V>::record(combine)?;
    let packed = Packed::new(&values_of(values));
    let (records, keys) = packed.beside(key.value());
    let starts = starts(&keys);
    let ends = ends(&starts);
    let scanned = scanned(&starts, &records, &|earlier, later| {
        let columns = |record: &Value| made::<V>(packed.unpack(record));
        let together = combine.call(&(columns(earlier), columns(later)));
        Value::join(&values_of(&together).iter().collect::<Vec<_>>())
    });
    Ok((Secret::of(ends), made(packed.unpack(&scanned))))
}

impl<K: Integer> Secret<K> {
    /// Whether the secrets of the row ascend: one bit for all.
    #[track_caller]
    pub fn is_sorted(&self) -> Secret<bool> {
        Secret::of(join::ascending(self.value(), key_of::<K>(), false))
    }

    /// Whether the secrets of the row ascend and no two are equal: one bit for all.
    #[track_caller]
    pub fn is_strictly_sorted(&self) -> Secret<bool> {
        Secret::of(join::ascending(self.value(), key_of::<K>(), true))
    }
}
