//! Whether two tables are the same, row by row.

use std::panic::Location;

use crate::op::Op;
use crate::table::join::all;
use crate::value::{Value, lengths_differ};

/// Bits of a digest.
const DIGEST: u32 = 64;

/// Whether all columns of one table are those of another: one bit for all rows. By a digest, if the protocol has such and the tables have more bits than it:
/// then it takes no ANDs for the rows.
#[track_caller]
pub(crate) fn same_rows(these: &[&Value], those: &[&Value]) -> Value {
    let at = Location::caller();
    let columns = || these.iter().chain(those).copied();
    let session = columns().next().expect("a table has columns").session();
    let lanes = columns().map(Value::lanes).max().unwrap_or(1);
    if columns().any(|column| !session.is(column.session())) {
        let what = "secrets of different sessions are mixed";
        columns().for_each(|column| column.session().fail_at(what, at));
        return session.misuse(what, at, 1, 1);
    }
    if let Some(other) = columns()
        .map(Value::lanes)
        .find(|other| ![1, lanes].contains(other))
    {
        return session.misuse(lengths_differ(lanes, other), at, 1, 1);
    }
    let widths = |table: &[&Value]| table.iter().map(|column| column.width()).collect::<Vec<_>>();
    let both = [these, those].map(widths);
    if both[0] != both[1] {
        let what = format!(
            "columns of {:?} bits are compared with columns of {:?}",
            both[0], both[1]
        );
        return session.misuse(what, at, 1, 1);
    }
    let fill = |table: &[&Value]| {
        table
            .iter()
            .map(|column| column.filling(lanes))
            .collect::<Vec<_>>()
    };
    let bits: u128 = these.iter().map(|column| u128::from(column.width())).sum();
    if session.digests() && bits * lanes as u128 > DIGEST.into() {
        let digest = session.value(DIGEST, 1, session.digested(&fill(these), &fill(those)));
        return Value::apply(Op::Equal, &[&digest, &session.constant(DIGEST, 0)], 1);
    }
    let equal = |(one, other): (&&Value, &&Value)| Value::apply(Op::Equal, &[one, other], 1);
    let equal = these.iter().zip(those).map(equal);
    let same = equal.reduce(|one, other| Value::apply(Op::And, &[&one, &other], 1));
    all(&same.expect("a table has columns").filling(lanes))
}
