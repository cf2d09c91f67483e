use super::*;
use crate::as_bytes;

fn sampler(seed: u64) -> Sampler {
    Sampler::new(Block([seed, 0]))
}

/// Pearson's statistic of `counts` against the uniform distribution, which has mean `counts.len() - 1` and twice
/// that variance.
fn chi_square(counts: &[u32]) -> f64 {
    let expected = f64::from(counts.iter().sum::<u32>()) / counts.len() as f64;
    counts
        .iter()
        .map(|&count| (f64::from(count) - expected).powi(2) / expected)
        .sum()
}

/// Fails if `counts` is more than six standard deviations less even than uniform samples are on average.
fn assert_uniform(counts: &[u32], what: &str) {
    let freedom = counts.len() as f64 - 1.0;
    let statistic = chi_square(counts);
    assert!(
        statistic <= freedom + 6.0 * (2.0 * freedom).sqrt(),
        "{what}: chi-square {statistic} for {freedom}"
    );
}

#[test]
fn words_are_the_keystream_in_order() {
    let coin = Block([3, 4]);
    let mut stream = [Block512::ZERO; 3 * BUFFER];
    Prg::new(coin).fill(Position { stream: 9, index: 0 }, &mut stream);
    let mut sampler = Sampler::from_stream(Prg::new(coin), 9);
    for (i, bytes) in as_bytes(&stream).as_chunks::<4>().0.iter().enumerate() {
        assert_eq!(sampler.next_u32(), u32::from_le_bytes(*bytes), "word {i}");
    }
    let (mut words, mut pairs) = (sampler_at_odd_word(), sampler_at_odd_word());
    for _ in 0..WORDS {
        let (low, high) = (words.next_u32(), words.next_u32());
        assert_eq!(pairs.next_u64(), u64::from(high) << 32 | u64::from(low));
    }
}

/// A sampler whose 64-bit numbers straddle the ends of the buffer.
fn sampler_at_odd_word() -> Sampler {
    let mut sampler = sampler(2);
    sampler.next_u32();
    sampler
}

#[test]
fn samples_are_those_recorded() {
    let mut sampler = sampler(1);
    let numbers: Vec<u32> = [10, 1000, 3 << 30, 1, u32::MAX]
        .map(|n| sampler.below(n))
        .to_vec();
    let mut order = [0u16; 12];
    sampler.permutation(&mut order);
    // Computed with OpenSSL's AES and the published algorithms.
    assert_eq!(numbers, [3, 730, 2639918869, 0, 2281827321]);
    assert_eq!(order, [9, 5, 4, 0, 3, 7, 6, 2, 10, 11, 1, 8]);
}

#[test]
fn small_bounds_are_even() {
    for n in [1u32, 2, 3, 5, 6, 7, 10, 16, 31, 100] {
        let mut sampler = sampler(u64::from(n));
        let mut counts = vec![0; n as usize];
        for _ in 0..2000 * n {
            counts[sampler.below(n) as usize] += 1;
        }
        assert_uniform(&counts, &format!("below {n}"));
    }
}

#[test]
fn a_bound_that_does_not_divide_the_range_is_not_biased() {
    // Of the 2^32 words, word modulo 3·2^30 is in the first third for a half, and word · 3·2^30 / 2^32 is a multiple
    // of 3 for a half: without rejection either method fails here by far.
    let n = 3 << 30;
    let mut sampler = sampler(42);
    let (mut thirds, mut residues) = ([0; 3], [0; 3]);
    let (mut naive_thirds, mut unrejected_residues) = ([0; 3], [0; 3]);
    for _ in 0..30_000 {
        let sample = sampler.below(n);
        assert!(sample < n);
        thirds[(sample >> 30) as usize] += 1;
        residues[(sample % 3) as usize] += 1;
        let word = sampler.next_u32();
        naive_thirds[((word % n) >> 30) as usize] += 1;
        unrejected_residues[((u64::from(word) * u64::from(n)) >> 32) as usize % 3] += 1;
    }
    assert_uniform(&thirds, "thirds");
    assert_uniform(&residues, "residues");
    assert!(
        chi_square(&naive_thirds) > 1000.0,
        "the test would not notice a bias of modulo"
    );
    assert!(
        chi_square(&unrejected_residues) > 1000.0,
        "the test would not notice a missing rejection"
    );
}

#[test]
fn a_batch_is_the_same_as_single_samples() {
    for n in [1, 2, 1000, 3 << 30, u32::MAX] {
        let (mut batch, mut single) = (sampler(8), sampler(8));
        let mut out = vec![0; 3000];
        batch.fill_below(n, &mut out);
        assert!(out.iter().all(|&sample| sample == single.below(n)), "{n}");
        assert_eq!(batch.next_u32(), single.next_u32(), "{n}");
    }
}

#[test]
fn all_orders_of_few_items_are_equally_likely() {
    for (n, orders) in [(2usize, 2), (3, 6), (4, 24), (5, 120)] {
        let mut sampler = sampler(100 + n as u64);
        let mut counts = std::collections::BTreeMap::new();
        for _ in 0..1000 * orders {
            let mut items: Vec<u16> = vec![9; n];
            sampler.permutation(&mut items);
            *counts.entry(items).or_insert(0u32) += 1;
        }
        assert_eq!(
            counts.len(),
            orders,
            "all orders of {n} items occur and nothing else"
        );
        assert_uniform(
            &counts.into_values().collect::<Vec<_>>(),
            &format!("orders of {n} items"),
        );
    }
}

#[test]
fn every_item_of_many_goes_everywhere() {
    const N: usize = 40;
    let mut sampler = sampler(77);
    let mut counts = [0u32; N * N];
    for _ in 0..4000 {
        let mut items = [0u32; N];
        sampler.permutation(&mut items);
        for (place, &item) in items.iter().enumerate() {
            counts[place * N + item as usize] += 1;
        }
    }
    assert_uniform(&counts, "places of items");
}

#[test]
fn a_shuffle_moves_any_items_and_loses_none() {
    let mut items: Vec<String> = (0..500).map(|i| i.to_string()).collect();
    let sorted = items.clone();
    sampler(1).shuffle(&mut items);
    assert_ne!(items, sorted);
    items.sort_by_key(|item| item.parse::<u32>().unwrap());
    assert_eq!(items, sorted);
    sampler(1).shuffle::<u8>(&mut []);
}

#[test]
fn a_permutation_of_exactly_the_item_type_fits_and_one_more_is_refused() {
    let mut items = vec![0u8; 256];
    sampler(1).permutation(&mut items);
    items.sort_unstable();
    assert!(items.iter().enumerate().all(|(i, &item)| i == usize::from(item)));
    let refused = std::panic::catch_unwind(|| sampler(1).permutation(&mut vec![0u8; 257]));
    let why = refused.unwrap_err();
    assert_eq!(
        why.downcast_ref::<String>().map(String::as_str),
        Some("the item type cannot number 256 items")
    );
}

#[test]
#[should_panic(expected = "no number is below 0")]
fn nothing_is_below_zero() {
    sampler(1).below(0);
}

#[test]
fn hidden_permutations_are_uniform() {
    let mut places = [[0; 16]; 16];
    let mut orders = std::collections::HashMap::new();
    for seed in 0..12_000 {
        let mut order = [0; 16];
        hidden_permutation(Block([seed, 5]), &mut order);
        for (row, at) in places.iter_mut().zip(order) {
            row[at as usize] += 1;
        }
        assert_eq!(order.iter().map(|at| 1u32 << at).sum::<u32>(), 0xffff);
        let mut order = [0; 4];
        hidden_permutation(Block([seed, 6]), &mut order);
        *orders.entry(order).or_insert(0u32) += 1;
    }
    places.iter().for_each(|row| assert_uniform(row, "a place"));
    assert_uniform(&orders.values().copied().collect::<Vec<_>>(), "orders of four");
    assert_eq!(orders.len(), 24);
}

#[test]
fn a_hidden_permutation_takes_128_bits_for_each_number() {
    const COUNT: usize = 4 * BUFFER + 9;
    let seed = Block([7, 8]);
    let mut order = [0; COUNT];
    hidden_permutation(seed, &mut order);
    let mut stream = [Block512::ZERO; 2 * BUFFER];
    Prg::new(seed).fill(Position { stream: 0, index: 0 }, &mut stream);
    let mut expected: Vec<u32> = (0..COUNT as u32).collect();
    for (i, bytes) in (1..COUNT).rev().zip(as_bytes(&stream).as_chunks::<16>().0) {
        // The number, as a fraction, times i + 1, in two parts.
        let (number, below) = (u128::from_le_bytes(*bytes), i as u128 + 1);
        let carry = ((number & u128::from(u64::MAX)) * below) >> 64;
        expected.swap(i, (((number >> 64) * below + carry) >> 64) as usize);
    }
    assert_eq!(order.to_vec(), expected);
}
