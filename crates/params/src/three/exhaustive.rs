//! Games 1 to 3 by brute force, for parameters small enough: what the closed forms are compared with.
//!
//! Nothing here uses a formula of [`super::games`]. Every outcome of every shuffle, and every strategy, is counted.

use super::games::Game;

/// All profiles of a game with at least one bad ball: `L` numbers from 0 to `X - C`, in decreasing order.
#[must_use]
pub fn profiles(game: &Game) -> Vec<Vec<u64>> {
    fn extend(rest: u64, most: u64, prefix: &mut Vec<u64>, all: &mut Vec<Vec<u64>>) {
        if rest == 0 {
            all.push(prefix.clone());
            return;
        }
        for t in 0..=most {
            prefix.push(t);
            extend(rest - 1, t, prefix, all);
            prefix.pop();
        }
    }
    let mut all = Vec::new();
    extend(game.l(), game.x() - game.c(), &mut Vec::new(), &mut all);
    all.retain(|profile| profile[0] > 0);
    all
}

/// The probability that one shuffled array with bad-ball `profile` ends up matching a `D_1` with profile `target`: no bad ball
/// opened, and bad balls exactly where `D_1` has them. Counts every permutation of the subarrays and every placement of
/// the bad balls within each.
#[must_use]
pub fn match_probability(game: &Game, target: &[u64], profile: &[u64]) -> f64 {
    let (x, m) = (game.x(), game.x() - game.c());
    // D_1 is not shuffled: its t bad balls are at the first t places of a subarray; opened places come last.
    let wanted: Vec<u64> = target.iter().map(|&t| (1u64 << t) - 1).collect();
    debug_assert!(wanted.iter().all(|&w| w < 1 << m));
    let placements = |t: u64| (0..1u64 << x).filter(move |set| u64::from(set.count_ones()) == t);
    let mut order: Vec<usize> = (0..profile.len()).collect();
    let (mut wins, mut all) = (0.0, 0.0);
    permutations(&mut order, 0, &mut |order| {
        // The subarrays are shuffled independently: count each one's good placements.
        let mut product = 1.0;
        for (place, &source) in order.iter().enumerate() {
            let (mut good, mut total) = (0u64, 0u64);
            for set in placements(profile[source]) {
                total += 1;
                good += u64::from(set == wanted[place]);
            }
            product *= good as f64 / total as f64;
        }
        wins += product;
        all += 1.0;
    });
    wins / all
}

fn permutations(order: &mut Vec<usize>, at: usize, visit: &mut impl FnMut(&[usize])) {
    if at == order.len() {
        return visit(order);
    }
    for i in at..order.len() {
        order.swap(at, i);
        permutations(order, at + 1, visit);
        order.swap(at, i);
    }
}

/// Game 1 for an adversary that uses `profile` in every array.
#[must_use]
pub fn game1(game: &Game, profile: &[u64]) -> f64 {
    match_probability(game, profile, profile).powi(game.b() as i32 - 1)
}

/// The value of Game 1: the best of all profiles.
#[must_use]
pub fn game1_value(game: &Game) -> f64 {
    profiles(game).iter().map(|p| game1(game, p)).fold(0.0, f64::max)
}

/// The value of Game 2: the best of all profiles and all numbers of bad gates. The reshuffle places the bad gates uniformly.
#[must_use]
pub fn game2_value(game: &Game) -> f64 {
    let n = game.n();
    let shuffle = |bad: u64| {
        let (mut wins, mut all) = (0u64, 0u64);
        for set in (0..1u64 << n).filter(|set| u64::from(set.count_ones()) == bad) {
            all += 1;
            wins += u64::from(set == (1 << bad) - 1);
        }
        wins as f64 / all as f64
    };
    profiles(game)
        .iter()
        .map(|p| game1(game, p) * shuffle(p.iter().sum()))
        .fold(0.0, f64::max)
}

/// The value of continuous Game 3 over `rounds` batches of gates; one round is Game 3 itself.
///
/// The adversary may choose everything as late as possible: the profile of every batch, where its bad buckets lie (`D_1` is not
/// shuffled), and after every gate whether the next is bad, knowing how many buckets of `d_1` are bad now.
#[must_use]
pub fn game3_value(game: &Game, rounds: u32) -> f64 {
    let n = game.n() as usize;
    // Best probability of winning Game 1 with a given number of bad buckets; 1 for none.
    let mut generate = vec![0.0f64; n + 1];
    generate[0] = 1.0;
    for profile in profiles(game) {
        let bad = profile.iter().sum::<u64>() as usize;
        generate[bad] = generate[bad].max(game1(game, &profile));
    }
    // value[m]: best chance from a state with m bad buckets in d_1, before the round's new d_2 is generated.
    let mut value = vec![0.0f64; n + 1];
    for _ in 0..rounds {
        let mut next = vec![0.0f64; n + 1];
        for (m, slot) in next.iter_mut().enumerate() {
            *slot = (0..=n)
                .map(|fresh| generate[fresh] * round(n, m, fresh, &value))
                .fold(0.0, f64::max);
        }
        value = next;
    }
    (0..=n).map(|m| generate[m] * value[m]).fold(0.0, f64::max)
}

/// The best chance within one round of `n` gates, from `m` bad buckets in `d_1` and `fresh` in `d_2`, placed at best; `after[m]`
/// is what a state is worth once the round is over.
fn round(n: usize, m: usize, fresh: usize, after: &[f64]) -> f64 {
    // state[(m, f)] = value with m bad in d_1 and f bad still to come in d_2, at the current gate.
    let mut state: Vec<Vec<f64>> = (0..=n).map(|m| vec![after[m]; fresh + 1]).collect();
    // Bad ones left over at the end of the round were never placed: worth nothing more than an honest one.
    for gate in (0..n).rev() {
        let mut earlier = vec![vec![0.0; fresh + 1]; n + 1];
        for m in 0..=n {
            for f in 0..=fresh.min(n - gate) {
                let hit = m as f64 / n as f64;
                let mut good = state[m][f];
                if f > 0 && m < n {
                    good = good.max(state[m + 1][f - 1]);
                }
                earlier[m][f] = hit.max((1.0 - hit) * good);
            }
        }
        state = earlier;
    }
    state[m][fresh.min(n)]
}
