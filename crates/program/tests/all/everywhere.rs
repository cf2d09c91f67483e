//! The same programs on every engine.

use crate::common::everywhere;
use cenote_net::PartyId;
use cenote_program::{Secret, Session, Word};
use cenote_session::Parties;

/// Inputs of `owner`, `values` of which it alone knows.
fn of<T: Word>(session: &Session, owner: u8, values: &[T]) -> Secret<T> {
    let owner = PartyId(owner);
    session.input(owner, values.len(), (session.me() == owner).then_some(values))
}

#[test]
fn what_is_revealed_steers_what_comes_next() {
    let steps = everywhere(|session| {
        let (mut x, limit) = (of(session, 0, &[27u32]), of(session, 1, &[1000]));
        let mut steps = 0;
        // Until it is beyond the limit, or has come to 1.
        while session.open(&(x.lt(&limit) & x.differs(1)))?[0] {
            x = x.bit(0).select(&x * 3 + 1, &x >> 1);
            steps += 1;
        }
        Ok((steps, session.open(&x)?))
    });
    let (mut x, mut right) = (27u32, 0);
    while x < 1000 && x != 1 {
        x = if x % 2 == 1 { 3 * x + 1 } else { x / 2 };
        right += 1;
    }
    assert_eq!(steps, (right, vec![x]));
}

#[test]
fn rows_and_single_secrets_meet() {
    let values: Vec<u16> = (0..70).map(|x| x * x).collect();
    let revealed = everywhere(|session| {
        let (row, one) = (of(session, 0, &values), of(session, 1, &[50]));
        let scaled = &row * &one + 7;
        let halves = (scaled.slice(0..35), scaled.slice(35..70));
        let larger = halves.0.max(halves.1.reverse());
        session.open(&(larger, row.lt(&one).to_integer::<u32>().gather(&[3, 7, 69, 7])))
    });
    let scaled: Vec<u16> = values
        .iter()
        .map(|x| x.wrapping_mul(50).wrapping_add(7))
        .collect();
    let larger = (0..35).map(|at| scaled[at].max(scaled[69 - at])).collect();
    assert_eq!(revealed, (larger, vec![1, 1, 0, 1]));
}

/// Only those who are entitled to an output get it.
#[test]
fn outputs_go_to_whom_they_are_for() {
    for to in [0, 1] {
        let entitled = everywhere(|session| {
            let sum = of(session, 0, &[5u32]) + of(session, 1, &[6]);
            let known = session.reveal(&sum, Parties::one(PartyId(to)))?;
            assert_eq!(known, (session.me() == PartyId(to)).then(|| vec![11]));
            session.open(&sum)
        });
        assert_eq!(entitled, [11]);
    }
}
