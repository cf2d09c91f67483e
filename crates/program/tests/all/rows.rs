//! Rows: what is in which place.

use cenote_net::PartyId;
use cenote_program::{Secret, Session};
use cenote_session::ClearEngine;

const ME: PartyId = PartyId(0);

#[test]
fn lanes_go_where_they_are_told() {
    let session = Session::new(ClearEngine::new(ME, Vec::new()));
    let values: Vec<u16> = (0..200).map(|x| x * 321).collect();
    let row = session.input(ME, 200, Some(&values));
    // Computed, not only given.
    let row = &row + 5;
    let values: Vec<u16> = values.iter().map(|x| x + 5).collect();
    assert_eq!(session.open(&row.at(77)).unwrap(), [values[77]]);
    assert_eq!(session.open(&row.slice(60..130)).unwrap(), values[60..130]);
    let places: Vec<usize> = (0..300).map(|x| x * 7 % 200).collect();
    let right: Vec<u16> = places.iter().map(|&place| values[place]).collect();
    assert_eq!(session.open(&row.gather(&places)).unwrap(), right);
    let reversed: Vec<u16> = values.iter().rev().copied().collect();
    assert_eq!(session.open(&row.reverse()).unwrap(), reversed);
    let joined = Secret::concat(&[&row.slice(0..3), &row.at(9), &row.slice(100..200)]);
    assert_eq!(
        session.open(&joined).unwrap(),
        [&values[..3], &values[9..10], &values[100..]].concat()
    );
    assert_eq!(
        session.open(&row.slice(1..4).repeat(3)).unwrap(),
        values[1..4].repeat(3)
    );
    assert_eq!(session.open(&session.public(9u8).repeat(3)).unwrap(), [9; 3]);
    let public = session.public_row(&values);
    assert!(
        session
            .open(&row.equals(&public))
            .unwrap()
            .iter()
            .all(|&same| same)
    );
}

/// A row of one meets a longer one as a single secret does.
#[test]
fn a_single_secret_is_in_every_place() {
    let session = Session::new(ClearEngine::new(ME, Vec::new()));
    let row = session.input(ME, 3, Some(&[1u8, 2, 3]));
    let one = session.input(ME, 1, Some(&[10u8]));
    assert_eq!(session.open(&(&one - &row)).unwrap(), [9, 8, 7]);
    let flag = session.input(ME, 1, Some(&[true]));
    assert_eq!(session.open(&flag.select(&row, 0)).unwrap(), [1, 2, 3]);
    let (a, [b, c]) = session.open(&(one.clone(), [&row + 1, &row * &one])).unwrap();
    assert_eq!((a, b, c), (vec![10], vec![2, 3, 4], vec![10, 20, 30]));
}

/// Values in use stay right however much is computed at once.
#[test]
fn much_is_computed_in_pieces() {
    let session = Session::new(ClearEngine::new(ME, Vec::new()));
    let mut x = session.input(ME, 1, Some(&[3u64]));
    let first = &x * 5;
    let mut right = 3u64;
    for round in 0..300 {
        x = &x * &x + round;
        right = right.wrapping_mul(right).wrapping_add(round);
    }
    assert_eq!(session.open(&(x, first)).unwrap(), (vec![right], vec![15]));
}
