//! What honest sides compute.

use super::*;
use crate::ihash::batch::UNITS;

#[test]
fn labels_have_the_hashes_that_are_received() {
    let mut entropy = Entropy::for_tests(100);
    for code in codes() {
        let pair = Pair::new(&code, &mut entropy);
        let mut first = 0;
        for count in [0, 1, 2, 63, 64, 65, 500, 64 * UNITS + 1] {
            let (batch, labels, message) = pair.make(first, count);
            let hashes = pair.receive_random(batch, &message);
            assert!(hashes == pair.hash(&labels), "{code:?}, {count}");
            assert_eq!(pair.watcher.verify(&labels, &hashes), Ok(()));
            first += batch.units() as u64;

            let labels = random_labels(&code, count, &mut entropy);
            let (batch, message) = pair.choose(first, &labels);
            let hashes = pair.receive_chosen(batch, &message);
            assert!(hashes == pair.hash(&labels), "{code:?}, {count}");
            assert_eq!(pair.watcher.verify(&labels, &hashes), Ok(()));
            first += batch.units() as u64;
        }
    }
}

#[test]
fn hashes_of_sums_are_sums_of_hashes() {
    let mut entropy = Entropy::for_tests(101);
    for code in codes() {
        let pair = Pair::new(&code, &mut entropy);
        let (batch, random, message) = pair.make(7, 100);
        let hashes = pair.receive_random(batch, &message);
        let chosen = random_labels(&code, 100, &mut entropy);
        let (batch, message) = pair.choose(9, &chosen);
        let others = pair.receive_chosen(batch, &message);
        let sums = xor(&random, &chosen);
        assert_eq!(pair.watcher.verify(&sums, &xor(&hashes, &others)), Ok(()));
        assert_eq!(
            pair.watcher.verify(&sums, &hashes),
            Err(Mismatch::Labels { count: 100, first: 0 })
        );
    }
}

/// A label's number and not the batch decides about its bytes, and units differ.
#[test]
fn batches_are_parts_of_the_streams() {
    let mut entropy = Entropy::for_tests(102);
    let pair = Pair::new(&usual(), &mut entropy);
    let blocks = pair.code.label_blocks();
    let (_, all, whole) = pair.make(5, 64 * 20);
    let (_, part, message) = pair.make(8, 64 * 3 + 7);
    assert!(all[64 * 3 * blocks..][..part.len()] == part);
    assert!(whole[whole.len() / 20 * 3..][..message.len()] == message);
    let units: std::collections::HashSet<&[u8]> = whole.chunks(whole.len() / 20).collect();
    assert_eq!(units.len(), 20);
    // The first block is what the streams say.
    let (_, labels, _) = pair.make(8, 1);
    assert!(labels == part[..blocks]);
}

#[test]
fn colours_tell_which_label_it_is() {
    let mut entropy = Entropy::for_tests(103);
    for code in codes() {
        let pair = Pair::new(&code, &mut entropy);
        let delta = random_labels(&code, 1, &mut entropy);
        let delta_hash = pair.hash(&delta);
        for count in [0, 1, 64, 200] {
            let (batch, mut labels, message) = pair.make(0, count);
            let hashes = pair.receive_random(batch, &message);
            let mut colours = vec![u64::MAX; count.div_ceil(64)];
            let right: Vec<u64> = (0..count.div_ceil(64))
                .map(|word| {
                    let used = u64::MAX >> (64 - (count - 64 * word).min(64));
                    entropy.block().0[0] & used
                })
                .collect();
            for (i, label) in labels.chunks_mut(code.label_blocks()).enumerate() {
                if right[i / 64] >> (i % 64) & 1 == 1 {
                    label.iter_mut().zip(&delta).for_each(|(a, &b)| *a ^= b);
                }
            }
            let result = pair.watcher.which(&labels, &hashes, &delta_hash, &mut colours);
            assert_eq!(result, Ok(()), "{code:?}");
            assert_eq!(colours, right, "{code:?}");
        }
    }
}

#[test]
fn codes_that_are_not_of_labels_are_refused_with_one_that_is() {
    for (n, k, w, bits, why) in [
        (44, 21, 20, 6, "symbols are bytes"),
        (88, 40, 32, 8, "labels and hashes are whole blocks"),
        (88, 48, 33, 8, "labels and hashes are whole blocks"),
        (256, 48, 32, 8, "n <= 255"),
        (250, 249, 245, 8, "labels and hashes are whole blocks"),
        (3, 2, 1, 2, "symbols are bytes"),
    ] {
        let refusal = Code::new(InteractiveHash::new(n, k, w, bits).unwrap()).unwrap_err();
        assert!(refusal.to_string().contains(why), "{refusal}");
        let get = |name| refusal.nearest_value(name).unwrap() as u32;
        let nearest = InteractiveHash::new(get("n"), get("k"), get("w"), get("symbol bits")).unwrap();
        assert!(Code::new(nearest).is_ok(), "{refusal}");
    }
}
