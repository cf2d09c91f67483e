//! Games 1 to 4, ball by ball.

use rand::RngExt;
use rand::rngs::StdRng;
use rand::seq::SliceRandom;

use super::experiment::Experiment;
use cenote_params::LogProb;
use cenote_params::three::games::Game;
use cenote_params::three::unequal::Unequal;

/// Bad balls per subarray: `t` in each of the first `s`.
fn single_valued(game: &Game, s: u64, t: u64) -> Vec<u64> {
    (0..game.l()).map(|i| if i < s { t } else { 0 }).collect()
}

/// Profiles to try, the best of Game 1 first, with names.
fn profiles(game: &Game) -> Vec<(String, Vec<u64>)> {
    let last = game.x() - game.c();
    let single = |name: &str, s, t| (name.to_owned(), single_valued(game, s, t));
    let mut list = vec![single("one bad ball", 1, 1)];
    if last >= 2 {
        list.push(single("two bad balls in one subarray", 1, 2));
        list.push(single("one whole subarray", 1, last));
    }
    if game.l() >= 2 {
        list.push(single("one bad ball in two subarrays", 2, 1));
    }
    if game.l() >= 2 && last >= 2 {
        let mut mixed = single_valued(game, 1, 2);
        mixed[1] = 1;
        list.push(("two bad balls in one subarray, one in another".into(), mixed));
    }
    list
}

/// Steps 1 to 3 of Game 1: which of the `N` buckets are bad, or `None` if a bad ball was opened or a bucket is mixed. `D_1` has
/// profile `first`, its bad balls at the start of each subarray; the others have `rest`.
fn generate(game: &Game, first: &[u64], rest: &[u64], rng: &mut StdRng) -> Option<Vec<bool>> {
    let (x, c) = (game.x() as usize, game.c() as usize);
    let fill = |profile: &[u64], size: usize| -> Vec<Vec<bool>> {
        profile
            .iter()
            .map(|&t| (0..size).map(|i| (i as u64) < t).collect())
            .collect()
    };
    let buckets: Vec<bool> = fill(first, x - c).concat();
    for _ in 2..=game.b() {
        let mut array = fill(rest, x);
        array.iter_mut().for_each(|subarray| subarray.shuffle(rng));
        array.shuffle(rng);
        if array.iter().any(|subarray| subarray[..c].contains(&true)) {
            return None;
        }
        let kept = array.iter().flat_map(|subarray| &subarray[c..]);
        if !kept.eq(&buckets) {
            return None;
        }
    }
    Some(buckets)
}

/// Game 1 (triple generation).
#[must_use]
pub fn triple_generation(game: Game) -> Vec<Experiment> {
    let bound = game.theorem_3_4();
    let mut list: Vec<_> = profiles(&game)
        .into_iter()
        .map(|(adversary, profile)| Experiment {
            game: "game 1",
            adversary,
            exact: Some(game.game1_profile(&profile)),
            bound,
            trial: Box::new(move |rng| {
                generate(&game, &profile, &profile, rng).is_some_and(|buckets| buckets.contains(&true))
            }),
        })
        .collect();
    let (first, rest) = (single_valued(&game, 1, 1), vec![0; game.l() as usize]);
    list.push(Experiment {
        game: "game 1",
        adversary: "a bad ball in D_1 only".into(),
        exact: Some(LogProb::ZERO),
        bound,
        trial: Box::new(move |rng| {
            generate(&game, &first, &rest, rng).is_some_and(|buckets| buckets.contains(&true))
        }),
    });
    list
}

/// Game 2 (a full reshuffle after the circuit). The bound is Theorem 3.7's where its condition holds, else the game's value.
#[must_use]
pub fn reshuffle(game: Game) -> Vec<Experiment> {
    let bound = if game.condition_3_7() {
        game.theorem_3_7()
    } else {
        game.game2_value()
    };
    let mut list = Vec::new();
    for (adversary, profile) in profiles(&game) {
        let bad: u64 = profile.iter().sum();
        for gates in [bad, bad + 1] {
            if gates > game.n() {
                continue;
            }
            let matching = gates == bad;
            let profile = profile.clone();
            list.push(Experiment {
                game: "game 2",
                adversary: format!("{adversary}, {gates} bad gates"),
                exact: Some(if matching {
                    game.game2_profile(&profile)
                } else {
                    LogProb::ZERO
                }),
                bound,
                trial: Box::new(move |rng| {
                    let Some(buckets) = generate(&game, &profile, &profile, rng) else {
                        return false;
                    };
                    let mut circuit: Vec<bool> = (0..game.n()).map(|i| i < gates).collect();
                    circuit.shuffle(rng);
                    circuit == buckets
                }),
            });
        }
    }
    // The best adversary first: it is the best profile with as many bad gates.
    list.sort_by(|a, b| b.exact.partial_cmp(&a.exact).unwrap_or(std::cmp::Ordering::Equal));
    list
}

/// Continuous Game 3 (on demand). The bound is Theorem 3.11's where its conditions hold, else the game's value.
#[must_use]
pub fn on_demand(game: Game) -> Vec<Experiment> {
    let bound = if game.conditions_3_10().is_empty() {
        game.theorem_3_10()
    } else {
        game.game3_value()
    };
    let mut list = Vec::new();
    for (name, profile) in profiles(&game) {
        for (second, first_bad) in [(false, 0), (false, 2), (true, 1), (true, game.n())] {
            let where_ = if second { "d_2" } else { "d_1" };
            let profile = profile.clone();
            list.push(Experiment {
                game: "game 3",
                adversary: format!("{name} in {where_}, gate {} bad", first_bad + 1),
                exact: Some(on_demand_exact(&game, &profile, second, first_bad)),
                bound,
                trial: Box::new(move |rng| on_demand_trial(&game, &profile, second, first_bad, rng)),
            });
        }
    }
    list.sort_by(|a, b| b.exact.partial_cmp(&a.exact).unwrap_or(std::cmp::Ordering::Equal));
    list
}

/// Plays Protocol 3.9 until the first bad gate. `d_2` is generated afresh when it is used up, honestly after the first time.
fn on_demand_trial(game: &Game, profile: &[u64], second: bool, first_bad: u64, rng: &mut StdRng) -> bool {
    let honest = vec![0; game.l() as usize];
    let (one, two) = if second {
        (honest.as_slice(), profile)
    } else {
        (profile, honest.as_slice())
    };
    let Some(mut d1) = generate(game, one, one, rng) else {
        return false;
    };
    let Some(mut d2) = generate(game, two, two, rng) else {
        return false;
    };
    for gate in 0..=first_bad {
        let at = (gate % game.n()) as usize;
        if gate > 0 && at == 0 {
            d2 = vec![false; d2.len()];
        }
        let k = rng.random_range(0..d1.len());
        if gate == first_bad {
            return d1[k];
        }
        if d1[k] {
            return false;
        }
        d1[k] = d2[at];
    }
    false
}

/// The chance that Game 1 is won, no good gate meets a bad bucket, and the bad gate meets one. Given that all went well so far,
/// the number of bad buckets in `d_1` is known at every gate.
fn on_demand_exact(game: &Game, profile: &[u64], second: bool, first_bad: u64) -> LogProb {
    let (n, m) = (game.n(), game.x() - game.c());
    let bad_at = |bucket: u64| bucket % m < profile[(bucket / m) as usize];
    let mut bad = if second { 0 } else { profile.iter().sum::<u64>() };
    let mut p = game.game1_profile(profile);
    for gate in 0..first_bad {
        p = p * LogProb::from_probability(1.0 - bad as f64 / n as f64);
        if second && gate < n && bad_at(gate) {
            bad += 1;
        }
    }
    p * LogProb::from_probability(bad as f64 / n as f64)
}

/// Game 4 (buckets of different sizes).
#[must_use]
pub fn unequal(game: &Unequal) -> Vec<Experiment> {
    let (best, value) = game.best();
    let bound = game.lemma_5_7().unwrap_or(value);
    let sizes: Vec<u64> = game.sizes().collect();
    let mut numbers = vec![best, best + 1, 2 * best, sizes.iter().sum()];
    if let Some(&largest) = sizes.last() {
        numbers.push(largest);
    }
    let mut seen = Vec::new();
    numbers.retain(|t| {
        !seen.contains(t) && *t <= sizes.iter().sum() && {
            seen.push(*t);
            true
        }
    });
    let experiments = numbers.into_iter().map(|t| {
        let (sizes, opened) = (sizes.clone(), game.opened() as usize);
        Experiment {
            game: "game 4",
            adversary: format!("{t} bad balls"),
            exact: Some(game.win(t)),
            bound,
            trial: Box::new(move |rng| {
                let total = opened as u64 + sizes.iter().sum::<u64>();
                let mut balls: Vec<bool> = (0..total).map(|i| i < t).collect();
                balls.shuffle(rng);
                if balls[..opened].contains(&true) {
                    return false;
                }
                let mut rest = &balls[opened..];
                sizes.iter().all(|&size| {
                    let (bucket, others) = rest.split_at(size as usize);
                    rest = others;
                    bucket.iter().all(|&bad| bad == bucket[0])
                })
            }),
        }
    });
    experiments.collect()
}
