//! Square roots.

use cenote_net::PartyId;
use cenote_primitives::BitMatrix;
use cenote_program::{Abilities, Session, tally};
use cenote_session::{ClearEngine, Parties};

fn roots(width: u32, numbers: &[u128]) -> Vec<u128> {
    let session = Session::new(ClearEngine::new(PartyId(0), Vec::new()));
    let bits = BitMatrix::from_fn(width as usize, numbers.len(), |bit, lane| {
        numbers[lane] >> bit & 1 == 1
    });
    let number = session
        .input_bits(PartyId(0), &[width], numbers.len(), Some(&bits))
        .remove(0);
    let root = number.root();
    assert_eq!(root.width(), width.div_ceil(2));
    let opened = session.reveal_bits(&[root], Parties::all(1)).unwrap().unwrap();
    let value = |lane: usize| {
        (0..opened.rows()).fold(0, |value, bit| value | u128::from(opened.get(bit, lane)) << bit)
    };
    (0..numbers.len()).map(value).collect()
}

#[test]
fn all_small_numbers_have_their_roots() {
    for width in 1..=11 {
        let numbers: Vec<u128> = (0..1 << width).collect();
        let right: Vec<u128> = numbers.iter().map(|number| number.isqrt()).collect();
        assert_eq!(roots(width, &numbers), right, "{width} bits");
    }
}

#[test]
fn numbers_around_squares_have_their_roots() {
    for width in [31, 32, 63, 64, 127, 128] {
        let most = u128::MAX >> (128 - width);
        let mut numbers = vec![0, 1, most, most - 1, most / 3];
        for at in 1..60u128 {
            let root = (most.isqrt() / 61 * at).max(2);
            numbers.extend([root * root - 1, root * root, root * root + 1]);
        }
        let right: Vec<u128> = numbers.iter().map(|number| number.isqrt()).collect();
        assert_eq!(roots(width, &numbers), right, "{width} bits");
    }
}

#[test]
fn a_root_costs_an_addition_of_half_of_its_bits_for_each() {
    let ands = |width: u32| {
        let abilities = Abilities {
            levels_take_rounds: false,
            ..Abilities::THREE
        };
        let counted = tally(1, abilities, |session| {
            let numbers = session.input_bits(PartyId(0), &[width], 1, None);
            session
                .reveal_bits(&[numbers[0].root()], Parties::all(1))
                .map(drop)
        });
        counted.unwrap().and_gates
    };
    assert_eq!([2, 8, 32, 64, 127].map(ands), [1, 10, 136, 528, 2079]);
}
