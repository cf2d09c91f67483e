//! Records that come several times, each as often as a secret number says.

use crate::op::Op;
use crate::table::join::{Lookup, nearest};
use crate::table::order::{bits_of_places, numbers};
use crate::table::scan::sums;
use crate::value::Value;

/// Each record as often as `counts` says, one copy after the other, the first `most` of them: the records; which of the copies of its record each is, from 0 on; whether it is
/// there, without which all else means nothing; and how many there should be, in one lane.
///
/// The copies of a record begin in the place that is the sum of the counts before it. So each place takes the last of the records that begin up to it: the records,
/// which are sorted by where they begin, and the places are merged, and then the places go back to where they came from.
#[track_caller]
pub(crate) fn copied(records: &Value, counts: &Value, most: usize) -> [Value; 4] {
    let session = records.session();
    let width = counts.width() + bits_of_places(records.lanes());
    let counts = Value::apply(Op::Resize { signed: false }, &[counts], width);
    let ends = sums(&counts);
    let begins = Value::apply(Op::Subtract, &[&ends, &counts], width);
    let total = ends.slice(ends.lanes() - 1, 1);

    let bits = bits_of_places(most);
    let places = numbers(session, 0..most, bits + 1);
    let begins = at_most(&begins, bits);
    let payload = Value::join(&[&begins, records]);
    let left = (&begins, &payload);
    let found = match Lookup::new(left, (&places, 0), [true; 2]) {
        Some(lookup) => lookup.nearest(left, &places),
        None => nearest(left, &places),
    };
    let begun = found.part(0, bits);
    let number = Value::apply(Op::Subtract, &[&places.part(0, bits), &begun], bits);
    let all = at_most(&total, bits).spread(most);
    let there = Value::apply(Op::Less { signed: false }, &[&places, &all], 1);
    [found.part(bits + 1, records.width()), number, there, total]
}

/// A number in one bit more than `bits`, or 2 to the power of `bits` if it is more.
fn at_most(number: &Value, bits: u32) -> Value {
    let session = number.session();
    let more = number.width().saturating_sub(bits);
    if more == 0 {
        return Value::apply(Op::Resize { signed: false }, &[number], bits + 1);
    }
    let none = Value::apply(
        Op::Equal,
        &[&number.part(bits, more), &session.constant(more, 0)],
        1,
    );
    let low = Value::apply(
        Op::Select,
        &[&none, &number.part(0, bits), &session.constant(bits, 0)],
        bits,
    );
    Value::join(&[&low, &Value::apply(Op::Not, &[&none], 1)])
}

#[cfg(test)]
mod tests {
    use cenote_net::PartyId;
    use cenote_session::ClearEngine;

    use super::*;
    use crate::session::Session;

    /// The records 0, 1, … copied: of each place record and number, and the total.
    fn copies(counts: &[u128], most: usize, shuffling: bool) -> (Vec<Option<[usize; 2]>>, usize) {
        let engine = ClearEngine::new(PartyId(0), Vec::new());
        let session = match shuffling {
            true => Session::new(engine.shuffling(3)),
            false => Session::new(engine),
        };
        if shuffling {
            session.use_no_networks();
        }
        let records = numbers(&session, 0..counts.len(), 16);
        let counts = session.constant_row(5, counts);
        let [records, number, there, total] = copied(&records, &counts, most);
        let to = cenote_session::Parties::all(1);
        let row = Value::join(&[&records, &number, &there]);
        let bits = session.open_values(&[row], to).unwrap().unwrap();
        let total = session.open_values(&[total], to).unwrap().unwrap();
        let read = |rows: std::ops::Range<usize>, lane: usize, of: &cenote_primitives::BitMatrix| {
            rows.rev()
                .fold(0, |all, row| 2 * all + usize::from(of.get(row, lane)))
        };
        let last = bits.rows() - 1;
        let place = |lane| {
            bits.get(last, lane)
                .then(|| [read(0..16, lane, &bits), read(16..last, lane, &bits)])
        };
        ((0..most).map(place).collect(), read(0..total.rows(), 0, &total))
    }

    #[test]
    fn each_record_comes_as_often_as_is_said() {
        let some: Vec<u128> = (0..67).map(|at| u128::from(at % 5 == 3) * (at % 4)).collect();
        let cases: [&[u128]; 8] = [
            &some,
            &[1],
            &[0],
            &[31],
            &[2, 0, 3, 1],
            &[0, 0, 5, 0, 0],
            &[0, 0, 0],
            &[3; 40],
        ];
        for counts in cases {
            let all: Vec<[usize; 2]> = counts
                .iter()
                .enumerate()
                .flat_map(|(record, &count)| (0..count as usize).map(move |number| [record, number]))
                .collect();
            for most in [1, 2, 5, 8, 33, 200] {
                for shuffling in [false, true] {
                    let mut expected: Vec<_> = all.iter().copied().map(Some).collect();
                    expected.resize(most, None);
                    let told = copies(counts, most, shuffling);
                    assert_eq!(told, (expected, all.len()), "{counts:?} in {most}");
                }
            }
        }
    }
}
