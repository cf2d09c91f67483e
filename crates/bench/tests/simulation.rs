//! Simulation, closed form and enumeration agree, and no adversary beats its bound.

use cenote_bench::simulate::{self, Experiment};
use cenote_params::lego::Buckets;
use cenote_params::three::exhaustive;
use cenote_params::three::games::Game;
use cenote_params::three::unequal::Unequal;

/// Plays every experiment and asserts agreement within 3 standard errors. One in 370 differs by more through chance alone; such
/// a one is played again with ten times the trials, and must agree then. The seeds are fixed, so this cannot flicker.
fn agree(experiments: Vec<Experiment>, trials: u64, seed: u64) {
    assert!(!experiments.is_empty());
    let best = experiments[0].exact();
    for (i, experiment) in experiments.iter().enumerate() {
        let mut estimate = experiment.run(trials, seed + i as u64);
        if !estimate.agrees(3.0) {
            estimate = experiment.run(10 * trials, seed + 1000 + i as u64);
        }
        assert!(estimate.agrees(3.0), "{estimate:?}");
        let above = estimate.measured - estimate.bound.probability();
        assert!(above <= 3.0 * estimate.standard_error + 1e-12, "{estimate:?}");
        if let (Some(best), Some(exact)) = (best, experiment.exact()) {
            assert!(
                exact.log2() <= best.log2() + 1e-12,
                "{} beats the best",
                experiment.adversary()
            );
        }
    }
    let first = experiments[0].run(trials, seed);
    assert!(first.wins > 30, "too few wins to mean anything: {first:?}");
}

#[test]
fn triple_generation() {
    for (x, l, b, c) in [
        (4, 2, 2, 1),
        (5, 1, 3, 1),
        (4, 3, 2, 2),
        (9, 1, 2, 1),
        (3, 3, 3, 1),
    ] {
        let game = Game::new(x, l, b, c).unwrap();
        let experiments = simulate::triple_generation(game);
        let best = experiments[0].exact().unwrap().probability();
        assert!((best - exhaustive::game1_value(&game)).abs() < 1e-12);
        agree(experiments, 20_000, 1);
    }
}

#[test]
fn reshuffle() {
    for (x, l, b, c) in [(4, 2, 2, 1), (5, 1, 2, 1), (3, 4, 2, 1)] {
        agree(simulate::reshuffle(Game::new(x, l, b, c).unwrap()), 15_000, 2);
    }
}

#[test]
fn on_demand() {
    for (x, l, b, c) in [(4, 2, 2, 1), (6, 2, 2, 2), (5, 1, 2, 2), (5, 2, 2, 1)] {
        let game = Game::new(x, l, b, c).unwrap();
        let experiments = simulate::on_demand(game);
        let best = experiments[0].exact().unwrap().probability();
        assert!(
            (best - exhaustive::game3_value(&game, 1)).abs() < 1e-12,
            "{game:?}"
        );
        agree(experiments, 12_000, 3);
    }
}

#[test]
fn unequal_buckets() {
    for (sizes, c) in [(vec![2, 2, 3, 3], 2), (vec![1, 2, 2], 1), (vec![2, 2, 2], 2)] {
        agree(simulate::unequal(&Unequal::new(&sizes, c).unwrap()), 40_000, 4);
    }
}

#[test]
fn pools() {
    for (n, bucket, r_c, r_d) in [
        (12, 2, 0.2, 0.5),
        (20, 2, 0.1, 0.5),
        (15, 3, 0.05, 0.5),
        (10, 3, 0.3, 1.0),
    ] {
        agree(simulate::pool(n, bucket, r_c, r_d).unwrap(), 40_000, 5);
    }
    for (n, bucket) in [(8, 2), (20, 2), (9, 3)] {
        agree(simulate::triple_pool(n, bucket).unwrap(), 100_000, 6);
    }
}

#[test]
fn lego() {
    for (q, n, beta, p) in [(6, 2, 2, 0.3), (10, 3, 3, 0.2), (4, 2, 2, 0.6)] {
        agree(simulate::lego(Buckets::new(q, n, beta, p, p).unwrap()), 20_000, 7);
    }
}

#[test]
fn the_same_seed_gives_the_same_estimate() {
    let game = Game::new(4, 2, 2, 1).unwrap();
    let run = |seed| simulate::triple_generation(game)[0].run(5_000, seed);
    assert_eq!(run(9), run(9));
    assert_ne!(run(9).wins, run(10).wins);
}

#[test]
fn disagreement_is_seen() {
    let game = Game::new(4, 2, 2, 1).unwrap();
    let mut estimate = simulate::triple_generation(game)[0].run(20_000, 11);
    estimate.measured += 4.0 * estimate.standard_error;
    assert!(!estimate.agrees(3.0));
}
