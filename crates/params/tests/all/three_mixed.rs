//! Buckets of two sizes in the three-party protocols: brute force against the stated error.

use cenote_params::three::exhaustive::{self, match_probability, profiles};
use cenote_params::three::games::Game;
use cenote_params::three::{BLOCK_BITS, Variant, Workload, check, check_mixed, search};

/// All `size`-subsets of `0..n`, as bit sets.
fn subsets(n: u64, size: u64) -> impl Iterator<Item = u64> {
    (0u64..1 << n).filter(move |set| u64::from(set.count_ones()) == size)
}

/// The best an adversary does against the baseline with `k` small buckets, over all numbers of bad balls `t` in `D_1 .. D_B` and `j`
/// in `D_(B+1)`, counting every choice of the large buckets and every shuffle of `D_(B+1)`.
fn baseline_value(n: u64, b: u32, c: u64, k: u64) -> f64 {
    let game = Game::new(n + c, 1, b, c).unwrap();
    let large = n - k;
    let mut best = 0.0f64;
    for t in 1..=n {
        let first = exhaustive::game1(&game, &[t]);
        for j in 0..=t.min(large) {
            let (mut wins, mut all) = (0u64, 0u64);
            for chosen in subsets(n, large) {
                // Which of the large buckets, in order, are bad: D_1's bad balls are its first t.
                let places: Vec<u64> = (0..n).filter(|i| chosen >> i & 1 == 1).collect();
                let wanted = places
                    .iter()
                    .enumerate()
                    .map(|(i, &p)| u64::from(p < t) << i)
                    .sum::<u64>();
                for set in subsets(large + c, j) {
                    all += 1;
                    wins += u64::from(set & ((1 << c) - 1) == 0 && set >> c == wanted);
                }
            }
            best = best.max(first * wins as f64 / all as f64);
        }
    }
    best
}

#[test]
fn the_baseline_error_bounds_brute_force_and_is_tight() {
    for n in 2..=5 {
        for c in 1..=3 {
            for b in 2..=3 {
                for k in 1..n {
                    let value = baseline_value(n, b, c, k);
                    let stated = check_mixed(Variant::Baseline, n, b, c as u32, 1, k)
                        .unwrap()
                        .error()
                        .probability();
                    assert!(
                        value <= stated * (1.0 + 1e-12),
                        "N={n} C={c} B={b} k={k}: {value} {stated}"
                    );
                    if 2 * k >= n && c > 1 {
                        let one = check(Variant::Baseline, n, b, c as u32, 1)
                            .unwrap()
                            .error()
                            .probability();
                        assert!(value >= one * k as f64 / n as f64 * (1.0 - 1e-12));
                    }
                }
            }
        }
    }
}

#[test]
fn the_cache_efficient_error_bounds_brute_force() {
    for (x, l, b, c) in [
        (3, 2, 2, 1),
        (4, 2, 2, 2),
        (3, 3, 2, 1),
        (4, 3, 3, 1),
        (5, 2, 2, 1),
    ] {
        let game = Game::new(x, l, b, c).unwrap();
        let m = x - c;
        for small in 1..l {
            let extra = Game::new(x, l - small, 2, c).unwrap();
            let mut best = 0.0f64;
            for profile in profiles(&game) {
                let first = exhaustive::game1(&game, &profile);
                let mut fillings = profiles(&extra);
                fillings.push(vec![0; (l - small) as usize]);
                for filling in fillings {
                    let (mut sum, mut choices) = (0.0, 0.0);
                    for chosen in subsets(l, l - small) {
                        let target: Vec<u64> = (0..l)
                            .filter(|i| chosen >> i & 1 == 1)
                            .map(|i| profile[i as usize])
                            .collect();
                        sum += match_probability(&extra, &target, &filling);
                        choices += 1.0;
                    }
                    best = best.max(first * sum / choices);
                }
            }
            let set = check_mixed(Variant::CacheEfficient, m * l, b, c as u32, l, small * m).unwrap();
            assert_eq!((set.k(), set.n()), (small * m, m * l));
            assert!(
                best <= set.error().probability() * (1.0 + 1e-12),
                "{game:?} {small}: {best}"
            );
            assert!(
                best >= set.error().probability() / 3.0,
                "not a loose bound: {game:?} {small}: {best}"
            );
        }
    }
}

#[test]
fn a_target_between_two_sizes_costs_less_with_both() {
    // The paper's example: N = 2^19, B = 3 gives 2^-38. Two bits are a factor of 4, so a quarter may stay small.
    let n = 1 << 19;
    let quarter = check_mixed(Variant::Baseline, n, 3, 1, 1, n / 4).unwrap();
    let half = check_mixed(Variant::Baseline, n, 3, 1, 1, n / 2).unwrap();
    assert!(quarter.error().meets(40) && !half.error().meets(40) && half.error().meets(39));
    assert!((quarter.bits_per_and() - (10.0 + 3.0 * 0.75)).abs() < 1e-4);
    let memory_limit = Some(quarter.memory_bytes(BLOCK_BITS) + (1 << 16));
    for variant in [Variant::Baseline, Variant::CacheEfficient] {
        let workload = Workload {
            memory_limit,
            ..Workload::default()
        };
        let (equal, mixed) = (
            search(variant, &workload).unwrap(),
            search(
                variant,
                &Workload {
                    mixed: true,
                    ..workload
                },
            )
            .unwrap(),
        );
        assert!(mixed.k() < mixed.n() && mixed.error().meets(40), "{mixed:?}");
        assert!(
            mixed.bits_per_and() < equal.bits_per_and() - 0.7,
            "{mixed:?} {equal:?}"
        );
    }
}
