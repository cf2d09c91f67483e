//! Jobs that are cut into shards: how much room a part has for rows that a hash of their keys spreads, and how much security an attempt needs.
//!
//! An owner puts its rows into parts by a hash of the key of each, under a key of the hash that is tossed when all owners are committed to their rows. Every
//! part has room for the same public number of rows, its *capacity*. The hash is taken for a random function.
//!
//! **Source.** The rows of a part are `X = Σ m_k B_k`: key `k` has `m_k ≤ m` of the `n` rows, and is in this part with probability `1/N`, as `B_k` says. The tail
//! of `m·Bin(n/m, 1/N)` is no bound on that of `X`: with `n = 4`, `m = 2` and `N = 2`, four keys of one row exceed a capacity of 2 with probability 5/16, and two
//! keys of two rows with 1/4. But `X` is below `Y = m·Bin(⌈n/m⌉, 1/N)` in the increasing convex order, since `E φ(Σ m_k B_k)` is convex and symmetric in the
//! `m_k`, so greatest where they are as unequal as may be (Marshall and Olkin, *Inequalities*, Chapter 12). So `P[X ≥ x] ≤ E(X - t)⁺ / (x - t) ≤ E(Y - t)⁺ / (x - t)`
//! for each `t < x`, and the least of these bounds is taken, computed from the binomial distribution itself. Between two values of `Y` the bound is monotone in
//! `t`, so only these count.

use crate::Refusal;
use crate::combinatorics::ln_binomial;

/// The most rows that an owner puts into parts.
const MOST_ROWS: u64 = 1 << 40;

/// The most parts.
const MOST_SHARDS: u64 = 1 << 16;

/// Terms smaller than the wanted bound by a factor of `2^BELOW` are left to a geometric series.
const BELOW: f64 = 60.0;

/// What rounding may take from a sum.
const ROUNDING: f64 = 1.0 + 1e-6;

/// The capacity of a part if `rows` rows, of which no key has more than `most_of_key`, are spread over `shards` parts: with probability at most `2^-security`
/// some part has more rows than that. It holds whatever the keys are, as long as they do not depend on the hash.
///
/// # Errors
/// Numbers outside 1 to 2^40 rows, 1 to 2^16 parts, or 1 to 128 bits of security.
///
/// ```
/// use cenote_params::shards::capacity;
///
/// // 2^22 rows with different keys in 64 parts: 65,536 in each on average.
/// assert_eq!(capacity(1 << 22, 1, 64, 40)?, 67_509);
/// # Ok::<(), cenote_params::Refusal>(())
/// ```
pub fn capacity(rows: u64, most_of_key: u64, shards: u64, security: u32) -> Result<u64, Refusal> {
    let within = |name, range, found| Refusal::unless_within("shards", name, range, found);
    within("rows", 1..=MOST_ROWS, rows)?;
    within("shards", 1..=MOST_SHARDS, shards)?;
    within("security", 1..=128, security.into())?;
    let most_of_key = most_of_key.clamp(1, rows);
    if shards == 1 {
        return Ok(rows);
    }
    let keys = rows.div_ceil(most_of_key);
    // `E(B - j)⁺` times this is what the rows beyond `m j` come to, for the bound on all parts.
    let scale = (most_of_key as f64) * (shards as f64) * f64::from(security).exp2() * ROUNDING;
    let mut least = u64::MAX;
    for (j, excess) in stop_losses(keys, shards, scale) {
        let beyond = (scale * excess).ceil().max(1.0);
        if beyond > rows as f64 {
            break;
        }
        let most = j * most_of_key + beyond as u64;
        // But for what is rounded this is convex in `j`: from here on it only grows.
        if most > least.saturating_add(2) {
            break;
        }
        least = least.min(most);
    }
    Ok(least.min(rows + 1) - 1)
}

/// `E(B - j)⁺` for `B` of `Bin(keys, 1/shards)`, from a `j` so large that it is nothing, down to 0.
fn stop_losses(keys: u64, shards: u64, scale: f64) -> impl Iterator<Item = (u64, f64)> {
    let odds = 1.0 / (shards as f64 - 1.0);
    // How many times as likely one more is.
    let ratio = move |j: u64| (keys - j) as f64 / (j + 1) as f64 * odds;
    let ln = |j: u64| {
        let (of, others) = (j as f64, (keys - j) as f64);
        ln_binomial(keys, j) - of * (shards as f64).ln() + others * (-1.0 / shards as f64).ln_1p()
    };
    let negligible = -(scale.log2() + BELOW) * std::f64::consts::LN_2;
    // The last that counts: beyond the mean, and so unlikely.
    let (mut low, mut high) = (keys / shards, keys);
    while low < high {
        let middle = low + (high - low) / 2;
        if ln(middle) < negligible {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    let last = low;
    // At least so many times as unlikely is each that follows.
    let falls = ratio(last);
    let mut likely = ln(last).exp();
    let mut excess = likely * falls / ((1.0 - falls) * (1.0 - falls));
    let mut after = likely * falls / (1.0 - falls);
    (0..=last).rev().map(move |j| {
        if j < last {
            // `P[B > j]`, and with it one more for each that is beyond.
            after += likely;
            excess += after;
            likely /= ratio(j);
        }
        (j, excess)
    })
}

/// Bits of security of each attempt of a job whose parts are tried `attempts` times in all, for `security` bits in all: an attempt that fails a check ends the
/// job, so a cheater has one chance in each.
#[must_use]
pub fn of_attempt(security: u32, attempts: u64) -> u32 {
    security + u64::BITS - attempts.saturating_sub(1).leading_zeros()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The probability that a part has more rows than `capacity`, whose keys have so many each.
    fn exceeds(multiplicities: &[u64], shards: u64, capacity: u64) -> f64 {
        let p = 1.0 / shards as f64;
        (0u32..1 << multiplicities.len())
            .filter(|set| {
                let of_set = multiplicities
                    .iter()
                    .enumerate()
                    .filter(|(key, _)| set >> key & 1 == 1);
                of_set.map(|(_, rows)| rows).sum::<u64>() > capacity
            })
            .map(|set| {
                let there = set.count_ones() as i32;
                p.powi(there) * (1.0 - p).powi(multiplicities.len() as i32 - there)
            })
            .sum()
    }

    /// All ways in which keys of at most `most` rows have `rows` rows.
    fn partitions(rows: u64, most: u64) -> Vec<Vec<u64>> {
        if rows == 0 {
            return vec![Vec::new()];
        }
        (1..=most.min(rows))
            .flat_map(|first| {
                partitions(rows - first, first).into_iter().map(move |mut rest| {
                    rest.push(first);
                    rest
                })
            })
            .collect()
    }

    #[test]
    fn no_keys_exceed_a_capacity_more_often_than_is_said() {
        let mut tight = 0;
        for rows in 1..=12 {
            for most in 1..=4 {
                for shards in [2, 3, 5] {
                    for security in 1..=8 {
                        let capacity = capacity(rows, most, shards, security).unwrap();
                        let worst = partitions(rows, most)
                            .iter()
                            .map(|keys| shards as f64 * exceeds(keys, shards, capacity))
                            .fold(0.0, f64::max);
                        let wanted = f64::from(security).exp2().recip();
                        assert!(worst <= wanted, "{rows} {most} {shards} {security}: {worst}");
                        let less = |keys: &Vec<u64>| {
                            shards as f64 * exceeds(keys, shards, capacity.saturating_sub(1)) > wanted
                        };
                        tight += usize::from(partitions(rows, most).iter().any(less));
                    }
                }
            }
        }
        // Often one row less would be too few.
        assert!(tight > 500, "{tight}");
    }

    /// The tail of the distribution with as few keys as there may be is no bound.
    #[test]
    fn fewer_keys_are_not_always_worse() {
        assert_eq!(exceeds(&[1, 1, 1, 1], 2, 2), 5.0 / 16.0);
        assert_eq!(exceeds(&[2, 2], 2, 2), 1.0 / 4.0);
    }

    /// The least capacity by the tail itself, which is exact where all keys are different.
    fn by_tail(rows: u64, shards: u64, security: u32) -> u64 {
        let p = 1.0 / shards as f64;
        let ln = |j: u64| ln_binomial(rows, j) + j as f64 * p.ln() + (rows - j) as f64 * (-p).ln_1p();
        let wanted = f64::from(security).exp2().recip() / shards as f64;
        let (mut tail, mut j) = (0.0, rows.min(20 * rows / shards + 2000));
        while j > 0 && tail + ln(j).exp() <= wanted {
            tail += ln(j).exp();
            j -= 1;
        }
        j
    }

    #[test]
    fn the_bound_costs_little_beside_the_exact_tail() {
        for (rows, shards, security) in [
            (1 << 16, 4, 40),
            (1 << 16, 64, 40),
            (1 << 20, 16, 64),
            (1 << 14, 2, 20),
        ] {
            let (exact, bound) = (
                by_tail(rows, shards, security),
                capacity(rows, 1, shards, security).unwrap(),
            );
            let mean = rows / shards;
            assert!(exact <= bound, "{exact} {bound}");
            assert!(
                bound - exact <= (exact - mean) / 20 + 2,
                "{rows} {shards}: {exact} {bound}, {mean} on average"
            );
        }
    }

    #[test]
    fn nothing_is_missed_by_stopping_where_it_only_grows() {
        for (rows, most, shards, security) in [
            (1u64 << 20, 1, 2, 40),
            (1 << 20, 3, 2, 128),
            (1 << 18, 1, 4096, 53),
            (1 << 12, 64, 16, 40),
            (5000, 999, 3, 1),
            (77, 1, 2, 1),
        ] {
            let scale = (most as f64) * (shards as f64) * f64::from(security).exp2() * ROUNDING;
            let all = stop_losses(rows.div_ceil(most), shards, scale);
            let least = all.map(|(j, excess)| (j * most) as f64 + (scale * excess).ceil().max(1.0));
            let least = least.fold((rows + 1) as f64, f64::min);
            assert_eq!(
                capacity(rows, most, shards, security).unwrap() as f64,
                least - 1.0
            );
        }
    }

    #[test]
    fn capacities_are_between_a_fair_part_and_all() {
        for (rows, most, shards) in [
            (1u64, 1, 7),
            (1000, 1, 1),
            (1000, 1000, 9),
            (1 << 22, 3, 64),
            (1 << 30, 1, 1000),
        ] {
            let mut before = rows.div_ceil(shards);
            for security in [1, 20, 40, 80, 128] {
                let found = capacity(rows, most, shards, security).unwrap();
                assert!(
                    (before..=rows).contains(&found),
                    "{rows} {most} {shards} {security}: {found}"
                );
                before = found;
            }
        }
        // What one key has is in one part.
        assert_eq!(capacity(1000, 1000, 9, 40).unwrap(), 1000);
        assert!(capacity(1 << 22, 100, 64, 40).unwrap() > capacity(1 << 22, 1, 64, 40).unwrap());
        for (rows, shards, security) in [
            (0, 2, 40),
            (1 << 41, 2, 40),
            (5, 0, 40),
            (5, 1 << 17, 40),
            (5, 2, 0),
            (5, 2, 129),
        ] {
            assert!(capacity(rows, 1, shards, security).is_err());
        }
    }

    #[test]
    fn attempts_share_the_security() {
        let all = [0, 1, 2, 3, 128, 129].map(|attempts| of_attempt(40, attempts));
        assert_eq!(all, [40, 40, 41, 42, 47, 48]);
    }
}
