//! Applications, against plain Rust.

use crate::common::{alone, everywhere};
use cenote_net::PartyId;
use cenote_program::{Error, Secret, Session, Uint, Word, apps, local, table};
use proptest::prelude::*;
use sha2::{Digest as _, Sha256};

fn of<T: Word>(session: &Session, owner: u8, values: &[T]) -> Secret<T> {
    let owner = PartyId(owner);
    session.input(owner, values.len(), (session.me() == owner).then_some(values))
}

/// Nucleotides.
fn symbols(seed: u64, count: usize) -> Vec<Uint<2>> {
    let mut state = seed;
    let mut next = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        Uint::new(u128::from(state >> 60))
    };
    (0..count).map(|_| next()).collect()
}

fn distance<T: PartialEq>(x: &[T], y: &[T]) -> u32 {
    let mut row: Vec<u32> = (0..=y.len() as u32).collect();
    for (i, a) in x.iter().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i as u32 + 1);
        for (j, b) in y.iter().enumerate() {
            let replaced = diagonal + u32::from(a != b);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[y.len()]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(30) })]

    #[test]
    fn edit_distances_are_right(x in prop::collection::vec(0u8..4, 1..30), y in prop::collection::vec(0u8..4, 1..30)) {
        let found = alone(|session| session.open(&apps::edit_distance(&of(session, 0, &x), &of(session, 0, &y))?));
        prop_assert_eq!(found, vec![distance(&x, &y)]);
    }

    #[test]
    fn rows_are_folded(values in prop::collection::vec(any::<u16>(), 1..300)) {
        let (sum, least, greatest, odd, all, any) = {
            let ((sum, least, greatest), (odd, all, any)) = alone(|session| {
                let row = of(session, 0, &values);
                let flags = row.bit(0);
                session.open(&((row.sum(), row.least(), row.greatest()), (flags.count(), flags.all(), flags.any())))
            });
            (sum, least, greatest, odd, all, any)
        };
        prop_assert_eq!(sum[0], values.iter().fold(0, |sum: u16, &value| sum.wrapping_add(value)));
        prop_assert_eq!((Some(&least[0]), Some(&greatest[0])), (values.iter().min(), values.iter().max()));
        let ones = values.iter().filter(|value| *value % 2 == 1).count();
        prop_assert_eq!((odd[0] as usize, all[0], any[0]), (ones, ones == values.len(), ones > 0));
    }
}

#[test]
fn every_engine_finds_the_same_distances() {
    let (x, y) = (symbols(1, 40), symbols(2, 33));
    let bits: Vec<bool> = (0..300).map(|at| at * at % 7 < 3).collect();
    let flipped: Vec<bool> = bits
        .iter()
        .enumerate()
        .map(|(at, bit)| bit ^ (at % 5 == 0))
        .collect();
    let found = everywhere(|session| {
        let edits = apps::edit_distance(&of(session, 0, &x), &of(session, 1, &y))?;
        let differ = apps::hamming_distance(&of(session, 0, &bits), &of(session, 1, &flipped));
        session.open(&(edits, differ))
    });
    assert_eq!(found, (vec![distance(&x, &y)], vec![60]));
}

#[test]
fn cards_over_the_limit_are_found_and_no_others() {
    // Three cards are of both, of which two are over the limit, and so is the last one that the first alone has.
    let of_first: Vec<apps::Spent> = (1..8).map(|card| (card * 3, card * card * 70)).collect();
    let of_second: Vec<apps::Spent> = (1..10).rev().map(|card| (card * 2, 2500 - card * 50)).collect();
    let found = everywhere(|session| {
        let cards: &[apps::Spent] = match session.me().0 {
            0 => &of_first,
            1 => &of_second,
            _ => &[],
        };
        let none = apps::joint_spending(session, cards, 10, 1 << 40)?;
        assert_eq!(none, []);
        apps::joint_spending(session, cards, 10, 3000)
    });
    let mut joint = std::collections::BTreeMap::new();
    for (card, spent) in of_first.iter().chain(&of_second) {
        *joint.entry(*card).or_insert(0) += spent;
    }
    let right: Vec<apps::Spent> = joint.into_iter().filter(|&(_, spent)| spent > 3000).collect();
    assert_eq!(found, right);
    assert_eq!(right, [(12, 3320), (18, 4570), (21, 3430)]);
    let refused = |cards: &[apps::Spent], words: &str| {
        let result = local::in_the_clear(1, |session| apps::joint_spending(session, cards, 2, 0));
        assert!(
            matches!(&result, Err(Error::BadInput(what)) if what.contains(words)),
            "{result:?}"
        );
    };
    refused(&[(1, 1), (2, 1), (3, 1)], "3 cards, where 2");
    refused(&[(1, 1), (1, 2)], "comes twice");
    refused(&[(u64::MAX, 2)], "no card can have");
}

#[test]
fn hospitals_learn_totals_only() {
    let patients: Vec<u32> = vec![40, 7, 1000, 3, 22];
    let stays: Vec<apps::Stay> = vec![(3, 5), (1000, 11), (8, 100), (41, 9), (7, 2)];
    let found = everywhere(|session| {
        let (own, theirs): (&[u32], &[apps::Stay]) = match session.me().0 {
            0 => (&patients, &[]),
            1 => (&[], &stays),
            _ => (&[], &[]),
        };
        apps::joint_stays(session, (own, 6), (theirs, 9))
    });
    assert_eq!(
        found,
        apps::Stays {
            patients: 3,
            days: 18
        }
    );
    let refused = |patients: &[u32], words: &str| {
        let result = local::in_the_clear(2, |session| {
            let own = if session.me().0 == 0 { patients } else { &[] };
            apps::joint_stays(session, (own, 2), (&[], 2))
        });
        assert!(
            matches!(&result, Err(Error::BadInput(what)) if what.contains(words)),
            "{result:?}"
        );
    };
    refused(&[1, 2, 3], "3 records, where 2");
    refused(&[5, 5], "comes twice");
    refused(&[u32::MAX], "no patient can have");
}

/// A million bits, and strings of 1,024 nucleotides.
#[test]
fn they_cost_what_is_stated() {
    let (hamming, edits) = alone(|session| {
        let x: Vec<bool> = (0..1 << 20).map(|at| at % 3 == 0).collect();
        let y = vec![true; 1 << 20];
        let far = session.open(&apps::hamming_distance(&of(session, 0, &x), &of(session, 0, &y)))?;
        assert_eq!(far[0] as usize, x.iter().filter(|&&bit| !bit).count());
        let hamming = session.costs().and_gates;
        let (x, y) = (symbols(3, 1024), symbols(4, 1024));
        let found = session.open(&apps::edit_distance(&of(session, 0, &x), &of(session, 0, &y))?)?;
        assert_eq!(found, [distance(&x, &y)]);
        Ok((hamming, session.costs().and_gates - hamming))
    });
    println!("Hamming distance: {hamming} ANDs; edit distance: {edits} ANDs");
    assert!(hamming <= 1_100_000 && edits <= 30_000_000, "{hamming} {edits}");
}

#[test]
fn common_items_are_found_and_no_others() {
    let first: Vec<u64> = (0..18).map(|at| at * 6).rev().collect();
    let second: Vec<u64> = (0..15).map(|at| at * 4).collect();
    let common = everywhere(|session| {
        let (own, none): (&[u64], &[u64]) = match session.me().0 {
            0 => (&first, &[1, 3]),
            1 => (&second, &[2]),
            _ => (&[], &[]),
        };
        assert!(apps::intersection(session, none, 2)?.is_empty());
        apps::intersection(session, own, 20)
    });
    assert_eq!(common, (0..5).map(|at| at * 12).collect::<Vec<u64>>());
    let refused = |items: &[u64], words: &str| {
        let result = local::in_the_clear(1, |session| apps::intersection(session, items, 3));
        assert!(
            matches!(&result, Err(Error::BadInput(what)) if what.contains(words)),
            "{result:?}"
        );
    };
    refused(&[1, 2, 3, 4], "4 items, where 3");
    refused(&[5, 5], "comes twice");
    refused(&[u64::MAX - 3], "too large");
}

/// A party that gives an item twice or out of order, which the other one has too, learns nothing by it.
#[test]
fn lists_that_break_their_promise_have_nothing_in_common() {
    for cheating in [[4u64, 4, 9], [9, 4, 10]] {
        let found = local::in_the_clear(2, |session| {
            if session.me() == PartyId(1) {
                return apps::intersection(session, &[1, 9, 10], 3);
            }
            // What the program does, on a list that it would refuse.
            let first = of(session, 0, &cheating);
            let second = session.input::<u64>(PartyId(1), 3, None);
            let in_order = first.is_strictly_sorted() & second.is_strictly_sorted();
            let merged = first.merge(&second);
            let each = merged.slice(0..5);
            let common = each.equals(merged.slice(1..6)) & each.lt(u64::MAX - 3) & in_order;
            let (_, count) = table::compact(&common, &each);
            assert_eq!(session.open(&count)?, [0]);
            Ok(Vec::new())
        });
        assert!(found.unwrap().iter().all(Vec::is_empty));
    }
}

/// FIPS 197 and FIPS 180-4, and in the clear messages of one full block and of two blocks as well.
#[test]
fn ciphers_and_digests_are_right() {
    let messages: [Vec<u8>; 3] = [b"abc".to_vec(), vec![b'a'; 55], vec![0x5a; 56]];
    let digest = |session: &Session, message: &[u8]| {
        // Each byte is the other party's, and there are two messages.
        let bytes: Vec<_> = (0..)
            .zip(message)
            .map(|(at, &byte)| of(session, at % 2, &[byte, !byte]))
            .collect();
        let digest: [Secret<u8>; 32] = apps::sha256(&bytes).try_into().expect("32 bytes");
        session.open(&digest)
    };
    let (ciphertext, of_abc) = everywhere(|session| {
        let key = of(session, 0, &[0x0001_0203_0405_0607_0809_0a0b_0c0d_0e0fu128]);
        let message = of(session, 1, &[0x0011_2233_4455_6677_8899_aabb_ccdd_eeffu128]);
        let ciphertext = apps::aes128(&key, &message);
        let digest = digest(session, &messages[0])?;
        Ok((session.open(&ciphertext)?, digest))
    });
    let longer = local::in_the_clear(2, |session| {
        let digests = messages[1..].iter().map(|message| digest(session, message));
        digests.collect::<Result<Vec<_>, _>>()
    });
    let [first, second] = longer.unwrap().try_into().expect("two parties");
    assert_eq!(first, second);
    let digests = [vec![of_abc], first].concat();
    assert_eq!(ciphertext, [0x69c4_e0d8_6a7b_0430_d8cd_b780_70b4_c55a]);
    for (message, digest) in messages.iter().zip(digests) {
        let negated: Vec<u8> = message.iter().map(|byte| !byte).collect();
        for (lane, message) in [message, &negated].into_iter().enumerate() {
            let right: [u8; 32] = Sha256::digest(message).into();
            assert_eq!(digest.clone().map(|bytes| bytes[lane]), right);
        }
    }
}
