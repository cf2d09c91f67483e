//! The closed forms of Games 1 to 3 against brute force, and against the theorems.

use cenote_params::three::exhaustive;
use cenote_params::three::games::Game;
use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::{One, ToPrimitive};

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-12 * a.max(b)
}

fn tiny_games() -> impl Iterator<Item = Game> {
    let shapes = [
        (2, 1),
        (3, 1),
        (5, 1),
        (7, 1),
        (2, 2),
        (3, 2),
        (4, 2),
        (5, 2),
        (3, 3),
        (4, 3),
        (3, 4),
        (2, 5),
    ];
    shapes.into_iter().flat_map(|(x, l)| {
        (2..=3).flat_map(move |b| (1..x.min(4)).filter_map(move |c| Game::new(x, l, b, c).ok()))
    })
}

#[test]
fn equation_3_is_what_enumeration_counts() {
    for game in tiny_games() {
        for profile in exhaustive::profiles(&game) {
            let counted = exhaustive::game1(&game, &profile);
            assert!(
                close(game.game1_profile(&profile).probability(), counted),
                "{game:?} {profile:?}"
            );
        }
        for s in 1..=game.l() {
            for t in 1..=game.x() - game.c() {
                let mut profile = vec![0; game.l() as usize];
                profile[..s as usize].fill(t);
                assert!(close(
                    game.game1(s, t).probability(),
                    exhaustive::game1(&game, &profile)
                ));
            }
        }
        assert_eq!(game.game1(1, game.x() - game.c() + 1).probability(), 0.0);
    }
}

#[test]
fn different_profiles_never_win() {
    let game = Game::new(4, 3, 2, 1).unwrap();
    for target in exhaustive::profiles(&game) {
        for profile in exhaustive::profiles(&game) {
            let p = exhaustive::match_probability(&game, &target, &profile);
            assert_eq!(p > 0.0, target == profile, "{target:?} {profile:?}");
        }
    }
}

#[test]
fn the_values_are_the_maxima_and_obey_the_theorems() {
    for game in tiny_games() {
        let (one, three) = (exhaustive::game1_value(&game), exhaustive::game3_value(&game, 1));
        assert!(close(game.game1_value().probability(), one), "{game:?}");
        assert!(
            close(game.game3_value().probability(), three),
            "{game:?}: {three}"
        );
        assert!(one <= game.theorem_3_4().probability() * (1.0 + 1e-12));
        if game.n() <= 12 {
            let two = exhaustive::game2_value(&game);
            assert!(close(game.game2_value().probability(), two), "{game:?}: {two}");
            if game.condition_3_7() {
                assert!(
                    two <= game.theorem_3_7().probability() * (1.0 + 1e-12),
                    "{game:?}"
                );
            }
        }
    }
}

#[test]
fn more_rounds_gain_nothing() {
    for (x, l, b, c) in [
        (3, 2, 2, 1),
        (4, 2, 2, 2),
        (3, 3, 2, 1),
        (4, 1, 3, 1),
        (5, 1, 2, 1),
    ] {
        let game = Game::new(x, l, b, c).unwrap();
        let once = exhaustive::game3_value(&game, 1);
        for rounds in 2..=4 {
            assert!(
                close(exhaustive::game3_value(&game, rounds), once),
                "{game:?}, {rounds} rounds"
            );
        }
    }
}

#[test]
fn theorem_3_10_holds_at_its_smallest_parameters_and_where_it_is_used() {
    for l in [5, 6, 7, 16, 64] {
        for m in [l + 1, l + 2, 2 * l, 8 * l] {
            for b in 2..=4 {
                for c in 3..=5 {
                    let game = Game::new(m + c, l, b, c).unwrap();
                    assert_eq!(game.conditions_3_10().is_empty(), m >= 6);
                    assert!(game.game3_value() <= game.theorem_3_10(), "{game:?}");
                }
            }
        }
    }
}

#[test]
fn two_openings_are_too_few_on_demand() {
    // End of Section III-C: with C = 2 and B = 2 the adversary wins with about 2/N^2, with C = 1 far more.
    for (x, l) in [(22, 16), (514, 64), (2050, 512)] {
        let game = Game::new(x, l, 2, 2).unwrap();
        let n = game.n() as f64;
        let ratio = game.whole_subarray_attack().probability() * n * n;
        assert!(ratio > 1.7 && ratio < 2.0, "{ratio}");
        assert!(game.whole_subarray_attack() > game.theorem_3_10());
        assert_eq!(game.game3_value(), game.whole_subarray_attack());
        let three = Game::new(x + 1, l, 2, 3).unwrap();
        assert!(three.whole_subarray_attack() < three.theorem_3_10());
        assert!(three.game3_value() <= three.theorem_3_10());
    }
    // Exhaustively, at a size where nothing is assumed.
    let two = Game::new(6, 2, 2, 2).unwrap();
    assert!(exhaustive::game3_value(&two, 1) > two.theorem_3_10().probability());
}

#[test]
fn equation_3_agrees_with_big_rationals_to_1e_9_bits() {
    let binomial = |n: u64, k: u64| (0..k).fold(BigInt::one(), |acc, i| acc * (n - i) / (i + 1));
    for (x, l, b, s, t) in [
        (2049, 512, 3, 1, 1),
        (2051, 512, 2, 3, 2),
        (131, 8, 4, 8, 7),
        (16, 40, 5, 40, 13),
    ] {
        let game = Game::new(x, l, b, 3).unwrap();
        let exact = BigRational::new(
            BigInt::one(),
            (binomial(l, s) * binomial(x, t).pow(s as u32)).pow(b - 1),
        );
        let shift = exact.denom().bits().saturating_sub(64);
        let log2 = (exact.denom() >> shift).to_f64().unwrap().log2() + shift as f64;
        assert!((game.game1(s, t).log2() + log2).abs() < 1e-9);
    }
}

#[test]
fn games_that_make_no_sense_are_refused() {
    for (x, l, b, c) in [
        (4, 2, 1, 1),
        (4, 0, 2, 1),
        (4, 2, 2, 0),
        (4, 2, 2, 4),
        (1 << 40, 1 << 40, 2, 1),
    ] {
        let refusal = Game::new(x, l, b, c).unwrap_err();
        assert_eq!(refusal.violated.len(), 1, "{refusal}");
        let near = |name| refusal.nearest_value(name).unwrap() as u64;
        assert!(
            Game::new(near("X"), near("L"), near("B") as u32, near("C")).is_ok(),
            "{refusal}"
        );
    }
}
