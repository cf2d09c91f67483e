//! Rows of secrets whose width is known when the program runs.

use std::panic::Location;

use cenote_circuit::library::Key;
use cenote_net::PartyId;
use cenote_primitives::BitMatrix;
use cenote_session::Parties;

use crate::error::Result;
use crate::op::Op;
use crate::root::{root, root_width};
use crate::session::Session;
use crate::table::{self, Lookup};
use crate::value::Value;

/// A row of secrets of so many bits each, for programs that are made from descriptions, such as queries. What the bits mean is the caller's
/// business; [`Secret`](crate::Secret) is for programs that are written in Rust.
///
/// Rows meet as those of [`Secret`](crate::Secret) do. Where widths must be equal and are not, the next reveal says so.
#[derive(Clone, Debug)]
pub struct Bits(Value);

impl Session {
    /// Columns of `widths` bits in `lanes` places that `owner` gives: `bits` has them one below the other, and the others give `None`.
    #[track_caller]
    pub fn input_bits(
        &self,
        owner: PartyId,
        widths: &[u32],
        lanes: usize,
        bits: Option<&BitMatrix>,
    ) -> Vec<Bits> {
        let width: u32 = widths.iter().sum();
        let all = self.make(width, lanes, |machine| {
            machine.input(owner, width as usize, lanes, bits)
        });
        let mut first = 0;
        let column = |&width: &u32| {
            let column = all.wires(first, width).unwrap_or_else(|| all.part(first, width));
            first += width;
            Bits(column)
        };
        widths.iter().map(column).collect()
    }

    /// The same public bits, at most 128, in every place that they meet.
    pub fn public_bits(&self, width: u32, bits: u128) -> Bits {
        Bits(self.constant(width, bits))
    }

    /// Verifies and opens columns of as many places each, as [`Session::reveal`] does.
    ///
    /// # Errors
    /// As [`Session::reveal`].
    #[track_caller]
    pub fn reveal_bits(&self, columns: &[Bits], to: Parties) -> Result<Option<BitMatrix>> {
        let lanes = columns.iter().map(|column| column.0.lanes()).max().unwrap_or(1);
        let values: Vec<Value> = columns.iter().map(|column| column.0.filling(lanes)).collect();
        self.open_values(&values, to)
    }
}

/// An operation on two rows whose result has their width.
macro_rules! binary {
    ($($(#[$doc:meta])* $name:ident $op:expr;)*) => {$(
        $(#[$doc])*
        #[must_use]
        #[track_caller]
        pub fn $name(&self, other: &Self) -> Self {
            self.with(other, $op, self.width())
        }
    )*};
}

impl Bits {
    pub(crate) fn of(value: Value) -> Self {
        Bits(value)
    }

    pub(crate) fn value(&self) -> &Value {
        &self.0
    }

    /// Bits of each secret.
    pub fn width(&self) -> u32 {
        self.0.width()
    }

    /// Secrets in the row; 1 for what is the same in every place.
    pub fn lanes(&self) -> usize {
        self.0.lanes()
    }

    /// The session that it belongs to.
    pub fn session(&self) -> &Session {
        self.0.session()
    }

    #[track_caller]
    fn with(&self, other: &Self, op: Op, width: u32) -> Self {
        if self.width() != other.width() {
            let what = format!("{} bits meet {}", self.width(), other.width());
            let lanes = self.lanes().max(other.lanes());
            return Bits(self.session().misuse(what, Location::caller(), width, lanes));
        }
        Bits(Value::apply(op, &[&self.0, &other.0], width))
    }

    binary! {
        /// Bit by bit.
        and Op::And;
        /// Bit by bit.
        or Op::Or;
        /// Bit by bit.
        xor Op::Xor;
        /// Modulo 2 to the number of bits.
        add Op::Add;
        /// Modulo 2 to the number of bits.
        subtract Op::Subtract;
        /// Modulo 2 to the number of bits.
        multiply Op::Multiply;
    }

    /// Bit by bit.
    #[must_use]
    pub fn not(&self) -> Self {
        Bits(Value::apply(Op::Not, &[&self.0], self.width()))
    }

    /// In two's complement.
    #[must_use]
    pub fn negate(&self) -> Self {
        Bits(Value::apply(Op::Negate, &[&self.0], self.width()))
    }

    /// Quotient and remainder, as [`Secret::divide`](crate::Secret::divide) gives them.
    #[must_use]
    #[track_caller]
    pub fn divide(&self, divisor: &Self, signed: bool) -> (Self, Self) {
        let width = self.width();
        let both = self.with(divisor, Op::Divide { signed }, 2 * width);
        (both.part(0, width), both.part(width, width))
    }

    /// The square root of an unsigned number, rounded down, in half as many bits.
    #[must_use]
    pub fn root(&self) -> Self {
        let width = self.width();
        Bits(Value::apply(root(width), &[&self.0], root_width(width)))
    }

    /// Whether this is less.
    #[must_use]
    #[track_caller]
    pub fn less(&self, other: &Self, signed: bool) -> Self {
        self.with(other, Op::Less { signed }, 1)
    }

    /// Whether both are equal.
    #[must_use]
    #[track_caller]
    pub fn equal(&self, other: &Self) -> Self {
        self.with(other, Op::Equal, 1)
    }

    /// Whether all columns of one table are those of another, in all rows: one bit. In a protocol with digests it takes no ANDs for each row, and a wrong answer
    /// has a probability of 2^-64. There is at least one column.
    #[must_use]
    #[track_caller]
    pub fn same_rows(these: &[&Self], those: &[&Self]) -> Self {
        Bits(table::same_columns(&values(these), &values(those)))
    }

    /// `yes` where this bit is 1, and `no` where it is 0.
    #[must_use]
    #[track_caller]
    pub fn select(&self, yes: &Self, no: &Self) -> Self {
        if self.width() != 1 || yes.width() != no.width() {
            let what = format!(
                "{} bits select from {} and {}",
                self.width(),
                yes.width(),
                no.width()
            );
            let lanes = self.lanes().max(yes.lanes()).max(no.lanes());
            return Bits(
                self.session()
                    .misuse(what, Location::caller(), yes.width(), lanes),
            );
        }
        Bits(Value::apply(Op::Select, &[&self.0, &yes.0, &no.0], yes.width()))
    }

    /// This where the bit `chosen` is 1, and zeros elsewhere.
    #[must_use]
    #[track_caller]
    pub fn where_chosen(&self, chosen: &Self) -> Self {
        chosen.select(self, &self.session().public_bits(self.width(), 0))
    }

    /// The low bits, or all and above them zeros, or copies of the top bit if it is `signed`.
    #[must_use]
    pub fn resized(&self, width: u32, signed: bool) -> Self {
        if width == self.width() {
            return self.clone();
        }
        Bits(Value::apply(Op::Resize { signed }, &[&self.0], width))
    }

    /// Bits `from..from + width`.
    #[must_use]
    #[track_caller]
    pub fn part(&self, from: u32, width: u32) -> Self {
        if u64::from(from) + u64::from(width) > self.width().into() {
            let what = format!("bits {from} to {} of {}", from + width, self.width());
            return Bits(
                self.session()
                    .misuse(what, Location::caller(), width, self.lanes()),
            );
        }
        Bits(self.0.part(from, width))
    }

    /// The bits at these places, which may come in any order and more than once, the lowest first.
    #[must_use]
    #[track_caller]
    pub fn picked(&self, places: &[u32]) -> Self {
        let width = places.len() as u32;
        if let Some(place) = places.iter().find(|&&place| place >= self.width()) {
            let what = format!("bit {place} of {}", self.width());
            return Bits(
                self.session()
                    .misuse(what, Location::caller(), width, self.lanes()),
            );
        }
        Bits(Value::apply(Op::Pick(places.into()), &[&self.0], width))
    }

    /// Of each bit whether it or one below it is 1.
    #[must_use]
    pub fn prefix_or(&self) -> Self {
        Bits(Value::apply(Op::PrefixOr, &[&self.0], self.width()))
    }

    /// The bits of all `parts`, one above the other; there is at least one.
    #[must_use]
    #[track_caller]
    pub fn join(parts: &[&Self]) -> Self {
        Bits(Value::join(&values(parts)))
    }

    /// This in each of `lanes` places, if it is the same in every place.
    #[must_use]
    #[track_caller]
    pub fn filling(&self, lanes: usize) -> Self {
        Bits(self.0.filling(lanes))
    }

    /// The places `from..from + lanes`.
    #[must_use]
    pub fn slice(&self, from: usize, lanes: usize) -> Self {
        Bits(self.0.slice(from, lanes))
    }

    /// The secrets in these places.
    #[must_use]
    pub fn gather(&self, places: &[usize]) -> Self {
        Bits(self.0.gather(places))
    }

    /// The places of all `parts`, one part after the other; there is at least one.
    #[must_use]
    #[track_caller]
    pub fn concat(parts: &[&Self]) -> Self {
        Bits(Value::concat(&values(parts)))
    }

    /// All secrets put together by `combine`, which is associative and commutative and may give more bits than it takes: then `widened`
    /// makes a secret that was left over as wide.
    #[must_use]
    pub fn fold(&self, combine: impl Fn(&Self, &Self) -> Self, widened: impl Fn(&Self, u32) -> Self) -> Self {
        let combine = |x: &Value, y: &Value| combine(&Bits(x.clone()), &Bits(y.clone())).0;
        let widened = |left: &Value, width| widened(&Bits(left.clone()), width).0;
        Bits(self.0.folded(1, combine, widened))
    }

    /// Whether all bits of the row are 1.
    #[must_use]
    pub fn all(&self) -> Self {
        Bits(table::all(&self.0))
    }
}

/// Records of some columns: tables of which the first, lowest columns are the key, an unsigned number.
impl Bits {
    /// The records from the smallest key, of `key` bits, on. Those with equal keys come in some order.
    #[must_use]
    #[track_caller]
    pub fn sorted(&self, key: u32) -> Self {
        Bits(table::sorted(&self.0, unsigned(key)))
    }

    /// The `count` records with the smallest keys, from the smallest on, or all if they are fewer.
    #[must_use]
    #[track_caller]
    pub fn least(&self, key: u32, count: usize) -> Self {
        Bits(table::least(&self.0, count, unsigned(key)))
    }

    /// These records and `other`, both of which are sorted, from the smallest key on.
    #[must_use]
    #[track_caller]
    pub fn merged(&self, other: &Self, key: u32) -> Self {
        Bits(table::merged(&self.0, &other.0, unsigned(key)))
    }

    /// The records that are `chosen`, in their order, and after them what means nothing; and how many they are.
    #[must_use]
    #[track_caller]
    pub fn compacted(&self, chosen: &Self) -> (Self, Self) {
        let (records, count) = table::compacted(&self.0, &chosen.0);
        (Bits(records), Bits(count))
    }

    /// At most `most` of the records that are `chosen`, in their order, with zeros after them; and how many are chosen. If they are more than `most`,
    /// the records mean nothing.
    #[must_use]
    #[track_caller]
    pub fn compacted_to(&self, chosen: &Self, most: usize) -> (Self, Self) {
        let (records, count) = table::compacted_to(&self.0, &chosen.0, most);
        (Bits(records), Bits(count))
    }

    /// The records in an order that is uniformly random to everybody.
    #[must_use]
    pub fn shuffled(&self) -> Self {
        Bits(table::shuffled(&self.0))
    }

    /// These keys, which are sorted, looked up among `keys`, which are sorted too, and none of which comes twice if it is to be `told` which of them were found.
    #[must_use]
    #[track_caller]
    pub fn looked_up(&self, keys: &Self, payload: &Self, told: bool) -> Found {
        let key = unsigned(self.width());
        Found::of(table::looked_up((&keys.0, &payload.0), &self.0, key, told))
    }

    /// These keys looked up among `keys`; and whether a key comes twice among those, or the rows are not sorted though they were said to be. A key whose highest bit is 1
    /// is none. Which rows are `sorted` is said of `keys` first, and then of these.
    ///
    /// Nothing if it takes less to sort those that are not, with the `others` bits beside these keys, and to look them up then ([`Bits::looked_up`]).
    #[track_caller]
    pub fn matched(
        &self,
        others: u32,
        (keys, payload): (&Self, &Self),
        sorted: [bool; 2],
        told: bool,
    ) -> Option<(Found, Self)> {
        let left = (&keys.0, &payload.0);
        let lookup = Lookup::new(left, (&self.0, others), sorted)?;
        let (found, wrong) = lookup.run(left, &self.0, told);
        Some((Found::of(found), Bits(wrong)))
    }

    /// Each of these records as often as its number in `counts` says, one copy after the other, the first `most` of them. The records; which of the
    /// copies of its record each is, from 0 on; whether it is there, without which all else means nothing; and how many there should be, in one place.
    #[must_use]
    #[track_caller]
    pub fn copied(&self, counts: &Self, most: usize) -> [Self; 4] {
        table::copied(&self.0, &counts.0, most).map(Bits)
    }

    /// Whether each place of a sorted row is the first with its value.
    #[must_use]
    pub fn starts(&self) -> Self {
        Bits(table::starts(&self.0))
    }

    /// For each place what `combine`, which is associative, makes of the secrets up to it in its segment. A segment begins in the first place,
    /// and where the bit of `starts` is 1.
    #[must_use]
    pub fn scanned(&self, starts: &Self, combine: impl Fn(&Self, &Self) -> Self) -> Self {
        let combine = |x: &Value, y: &Value| combine(&Bits(x.clone()), &Bits(y.clone())).0;
        Bits(table::scanned(&starts.0, &self.0, &combine))
    }
}

/// What [`Bits::looked_up`] and [`Bits::matched`] find of some keys among others.
#[derive(Clone, Debug)]
pub struct Found {
    /// Whether each key is among the others.
    pub found: Bits,
    /// The payload of the last one that is the same; without meaning if there is none.
    pub payload: Bits,
    /// Whether each of the others was found, if that was to be told; without meaning of one that is none.
    pub used: Option<Bits>,
}

impl Found {
    fn of(found: table::Found) -> Self {
        Self {
            found: Bits(found.found),
            payload: Bits(found.payload),
            used: found.used.map(Bits),
        }
    }
}

fn unsigned(width: u32) -> Key {
    Key {
        width: width as usize,
        signed: false,
    }
}

fn values<'a>(parts: &[&'a Bits]) -> Vec<&'a Value> {
    parts.iter().map(|part| &part.0).collect()
}
