//! Committers that cheat.

use super::*;

const LABELS: usize = 70;

/// Which labels are wrong, if they are `wrong` ones.
fn expected(wrong: bool, label: usize) -> Result<(), Mismatch> {
    if wrong {
        Err(Mismatch::Labels {
            count: 1,
            first: label,
        })
    } else {
        Ok(())
    }
}

#[test]
fn a_wrong_symbol_is_found_if_and_only_if_it_is_watched() {
    let mut entropy = Entropy::for_tests(110);
    for code in [usual(), code(34, 32)] {
        let (n, k) = (code.length(), code.message());
        let pair = Pair::new(&code, &mut entropy);
        let (random, labels, message) = pair.make(0, LABELS);
        for position in k..n {
            let mut message = message.clone();
            let label = position % LABELS;
            tamper(&mut message, n - k, position - k, label, 1 << (position % 8));
            let hashes = pair.receive_random(random, &message);
            let result = pair.watcher.verify(&labels, &hashes);
            assert_eq!(
                result,
                expected(pair.watches(position), label),
                "parity {position}"
            );
        }
        let (chosen, message) = pair.choose(2, &labels);
        for position in 0..n {
            let mut message = message.clone();
            let label = (position + LABELS - 10) % LABELS;
            tamper(&mut message, n, position, label, 0x80);
            let hashes = pair.receive_chosen(chosen, &message);
            let result = pair.watcher.verify(&labels, &hashes);
            assert_eq!(
                result,
                expected(pair.watches(position), label),
                "position {position}"
            );
        }
    }
}

/// A label with one wrong symbol has another codeword in this position and all parity.
#[test]
fn a_wrong_label_is_found_unless_no_difference_is_watched() {
    let mut entropy = Entropy::for_tests(111);
    let (mut found, mut missed) = (0, 0);
    for code in [usual(), code(33, 32), code(34, 32)] {
        let (n, k) = (code.length(), code.message());
        for _ in 0..40 {
            let pair = Pair::new(&code, &mut entropy);
            let (batch, labels, message) = pair.make(0, LABELS);
            let hashes = pair.receive_random(batch, &message);
            for symbol in 0..k {
                let label = (symbol + LABELS - 5) % LABELS;
                let mut labels = labels.clone();
                as_bytes_mut(&mut labels)[label * k + symbol] ^= 0x40;
                let watched = (k..n).chain([symbol]).any(|position| pair.watches(position));
                let result = pair.watcher.verify(&labels, &hashes);
                assert_eq!(result, expected(watched, label), "{code:?}: symbol {symbol}");
                *if watched { &mut found } else { &mut missed } += 1;
            }
        }
    }
    assert!(found > 1000 && missed > 100, "{found} found, {missed} missed");
}

/// The best that a committer can do, in three ways; each succeeds as often as the parameters say, up to four standard errors.
#[test]
fn cheating_succeeds_as_often_as_the_parameters_say() {
    const RUNS: usize = 1200;
    let mut entropy = Entropy::for_tests(112);
    for (n, k) in [(34, 32), (35, 32)] {
        let code = code(n, k);
        let (n, k) = (code.length(), code.message());
        let probability = code.parameters().error().log2().exp2();
        // Two labels that differ in the first symbol and all parity, n - k + 1 positions, the fewest there can be.
        let one = random_labels(&code, 1, &mut entropy);
        let mut other = one.clone();
        as_bytes_mut(&mut other)[0] ^= 1;
        let differences: Vec<usize> = [0].into_iter().chain(k..n).collect();
        let mut successes = [0; 3];
        for _ in 0..RUNS {
            let pair = Pair::new(&code, &mut entropy);
            // Open what is committed to as the other.
            let (batch, message) = pair.choose(0, &one);
            let hash = pair.receive_chosen(batch, &message);
            let wrong = pair.watcher.verify(&other, &hash).is_ok();
            // Commit to a word between both, and open it as both.
            let (batch, theirs) = pair.choose(0, &other);
            let mut between = message.clone();
            for &position in &differences[..2] {
                between[position * UNIT] = theirs[position * UNIT];
            }
            let hash = pair.receive_chosen(batch, &between);
            let both = pair.watcher.verify(&one, &hash).is_ok() && pair.watcher.verify(&other, &hash).is_ok();
            // Try one position with each of many labels.
            let mut unharmed = true;
            for (i, &position) in differences.iter().enumerate() {
                let (batch, mut message) = pair.choose(1 + i as u64, &one);
                tamper(&mut message, n, position, 0, 0xff);
                let hash = pair.receive_chosen(batch, &message);
                unharmed &= pair.watcher.verify(&one, &hash).is_ok();
            }
            for (successes, success) in successes.iter_mut().zip([wrong, both, unharmed]) {
                *successes += usize::from(success);
            }
        }
        let mean = RUNS as f64 * probability;
        let deviation = (mean * (1.0 - probability)).sqrt();
        for (way, &successes) in successes.iter().enumerate() {
            assert!(
                (successes as f64 - mean).abs() < 4.0 * deviation,
                "[{n}, {k}], way {way}: {successes} successes, {mean:.0} expected, deviation {deviation:.1}"
            );
        }
    }
}

#[test]
fn labels_that_are_neither_are_found() {
    let mut entropy = Entropy::for_tests(113);
    let pair = Pair::new(&usual(), &mut entropy);
    let blocks = pair.code.label_blocks();
    let (batch, mut labels, message) = pair.make(0, LABELS);
    let hashes = pair.receive_random(batch, &message);
    let delta = random_labels(&pair.code, 1, &mut entropy);
    let delta_hash = pair.hash(&delta);
    let mut colours = [0; 2];
    for label in [66, 69] {
        as_bytes_mut(&mut labels[label * blocks..])[5] ^= 1;
    }
    assert_eq!(
        pair.watcher.which(&labels, &hashes, &delta_hash, &mut colours),
        Err(Mismatch::Labels { count: 2, first: 66 })
    );
    // If both labels have the same hash, nothing tells them apart.
    let zero = vec![Block::ZERO; pair.code.hash_blocks()];
    assert_eq!(
        pair.watcher
            .which(&labels[..blocks], &hashes[..2], &zero, &mut colours[..1]),
        Err(Mismatch::Labels { count: 1, first: 0 })
    );
}

/// A word that is wrong fails for both labels or for neither.
#[test]
fn failure_does_not_depend_on_the_colour() {
    let mut entropy = Entropy::for_tests(114);
    let pair = Pair::new(&code(63, 32), &mut entropy);
    let (n, k) = (pair.code.length(), pair.code.message());
    let (batch, labels, message) = pair.make(0, 1);
    let delta = random_labels(&pair.code, 1, &mut entropy);
    let delta_hash = pair.hash(&delta);
    let mut failures = 0;
    for position in k..n {
        let mut message = message.clone();
        tamper(&mut message, n - k, position - k, 0, 3);
        let hashes = pair.receive_random(batch, &message);
        let [zero, one] = [labels.clone(), xor(&labels, &delta)].map(|label| {
            let mut colours = [0];
            let result = pair.watcher.which(&label, &hashes, &delta_hash, &mut colours);
            result.map(|()| colours[0])
        });
        assert_eq!(zero.is_err(), pair.watches(position));
        assert_eq!(zero.err(), one.err());
        if zero.is_ok() {
            assert_eq!((zero, one), (Ok(0), Ok(1)));
        }
        failures += usize::from(zero.is_err());
    }
    assert!((1..n - k).contains(&failures));
}

#[test]
fn messages_of_another_length_are_refused() {
    let mut entropy = Entropy::for_tests(115);
    let pair = Pair::new(&usual(), &mut entropy);
    for labels in [0, 1, 64, 65] {
        let batch = Batch { first: 3, labels };
        let mut hashes = vec![Block::ZERO; labels * pair.code.hash_blocks()];
        let expected = pair.code.random_bytes(batch);
        assert_eq!(expected, labels.div_ceil(64) * 40 * 64);
        for found in [expected + 1, expected + 64, expected.wrapping_sub(1).min(7)] {
            assert_eq!(
                pair.watcher.random(batch, &vec![0; found], &mut hashes),
                Err(Mismatch::Length { expected, found })
            );
        }
        let expected = pair.code.chosen_bytes(batch);
        assert_eq!(expected, labels.div_ceil(64) * 88 * 64);
        for found in [expected + 1, expected + 88 * 64, expected.wrapping_sub(1).min(7)] {
            assert_eq!(
                pair.watcher.chosen(batch, &vec![0; found], &mut hashes),
                Err(Mismatch::Length { expected, found })
            );
        }
    }
}
