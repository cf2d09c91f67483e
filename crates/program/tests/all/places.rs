//! Bits by their places.

use cenote_net::PartyId;
use cenote_primitives::BitMatrix;
use cenote_program::{Abilities, Bits, Session, tally};
use cenote_session::{ClearEngine, Parties};

/// What `of` makes of all numbers of so many bits.
fn of_all(width: u32, of: impl Fn(&Bits) -> Bits) -> Vec<u128> {
    let session = Session::new(ClearEngine::new(PartyId(0), Vec::new()));
    let lanes = 1 << width;
    let bits = BitMatrix::from_fn(width as usize, lanes, |bit, lane| lane >> bit & 1 == 1);
    let numbers = session.input_bits(PartyId(0), &[width], lanes, Some(&bits));
    let found = of(&numbers[0]);
    let opened = session.reveal_bits(&[found], Parties::all(1)).unwrap().unwrap();
    let value = |lane: usize| {
        (0..opened.rows()).fold(0, |value, bit| value | u128::from(opened.get(bit, lane)) << bit)
    };
    (0..lanes).map(value).collect()
}

#[test]
fn a_bit_or_one_below_it() {
    for width in 1..=10 {
        // All bits from the lowest that is 1.
        let right = (0..1u128 << width).map(|number| number.wrapping_neg() & ((1 << width) - 1) | number);
        let right: Vec<u128> = right.collect();
        assert_eq!(of_all(width, Bits::prefix_or), right, "{width} bits");
    }
    let ands = |abilities: Abilities| {
        let counted = tally(1, abilities, |session| {
            let bits = session.input_bits(PartyId(0), &[200], 1, None);
            session
                .reveal_bits(&[bits[0].prefix_or()], Parties::all(1))
                .map(drop)
        });
        counted.unwrap().and_gates
    };
    let levels_are_free = Abilities {
        levels_take_rounds: false,
        ..Abilities::THREE
    };
    assert_eq!(ands(levels_are_free), 199);
}

#[test]
fn bits_at_places() {
    let right: Vec<u128> = (0..8)
        .map(|x| (x >> 2 & 1) | (x & 1) << 1 | (x >> 2 & 1) << 2 | (x >> 1 & 1) << 3)
        .collect();
    assert_eq!(of_all(3, |x| x.picked(&[2, 0, 2, 1])), right);
    let session = Session::new(ClearEngine::new(PartyId(0), Vec::new()));
    let beyond = session.public_bits(3, 1).picked(&[0, 3]);
    let told = session.reveal_bits(&[beyond], Parties::all(1)).unwrap_err();
    assert!(told.to_string().contains("bit 3 of 3"), "{told}");
}
