//! Which sets are allowed, and the shape `(L, X)` that suits a number of blocks.

use super::games::{Game, MAX_N};
use super::{Parameters, Variant};
use crate::{Refusal, Setting, Violation};

/// Subarrays of this many blocks are preferred: their 16-bit indices take 4 KiB of the L1 cache, as in the paper.
const SUBARRAY: u64 = 2048;

/// The largest `X` of the variants with two-level permutations, so that 16-bit indices do.
const MAX_X: u64 = 65_535;

/// The largest `X` of the baseline: 32-bit indices.
const MAX_X_BASELINE: u64 = u32::MAX as u64;

/// The parameters `(N, B, C, L)` for `variant`, if its theorem's conditions hold; `X = N/L + C`.
///
/// No security level is required here (see [`Parameters::require`]): a set that is small enough to be cheated in a
/// test is as valid as any.
///
/// # Errors
/// Every condition that fails, with the nearest parameters that satisfy all.
pub fn check(variant: Variant, n: u64, b: u32, c: u32, l: u64) -> Result<Parameters, Refusal> {
    check_mixed(variant, n, b, c, l, n)
}

/// Like [`check`], with `k` buckets of size `B` and `N - k` of size `B + 1` (Section V-B, Lemma 5.7); see [`Parameters::k`]
/// for what a protocol must do then. For the baseline and the cache-efficient variant.
///
/// # Errors
/// As [`check`]; also if `k` is not in `1..=N`, is not a whole number of subarrays (cache-efficient), or `k < N` for a variant
/// whose theorem does not cover it.
pub fn check_mixed(variant: Variant, n: u64, b: u32, c: u32, l: u64, k: u64) -> Result<Parameters, Refusal> {
    let mut violated = conditions(variant, n, b, c, l);
    let mixable = matches!(variant, Variant::Baseline | Variant::CacheEfficient);
    let mut require = |holds: bool, condition: &str, found: String| {
        if !holds {
            violated.push(Violation {
                condition: condition.into(),
                found,
            });
        }
    };
    require(
        k >= 1 && k <= n,
        "1 <= k <= N (Lemma 5.7)",
        format!("k = {k}, N = {n}"),
    );
    require(
        mixable || k == n,
        "k = N (bucket sizes are mixed for baseline and cache-efficient only)",
        format!("k = {k}"),
    );
    let unit = if variant == Variant::Baseline || l == 0 || !n.is_multiple_of(l) {
        1
    } else {
        n / l
    };
    require(
        unit == 0 || k.is_multiple_of(unit),
        "k is a multiple of X - C",
        format!("k = {k}, X - C = {unit}"),
    );
    if violated.is_empty() {
        let game = Game::new(n / l + u64::from(c), l, b, u64::from(c))?;
        return Ok(Parameters {
            variant,
            game,
            small: k / unit,
        });
    }
    let mut nearest = nearest(variant, n, b, c, l);
    if k < n && mixable {
        let units = nearest.small;
        let of_unit = (k as f64 / n as f64 * units as f64).round() as u64;
        nearest.small = of_unit.clamp(1, units);
    }
    Err(Refusal {
        subject: variant.name().into(),
        violated,
        nearest: settings(&nearest),
    })
}

/// Refuses security levels outside 1 to 128.
pub(super) fn validate_security(variant: Variant, security: u32) -> Result<(), Refusal> {
    Refusal::unless_within(variant.name(), "security", 1..=128, security.into())
}

/// Like [`check_mixed`], and the error must be at most `2^-security`.
///
/// # Errors
/// A security level outside 1 to 128, or every condition that fails, the error's last; the nearest parameters satisfy all.
pub fn check_level(
    variant: Variant,
    (n, b, c, l, k): (u64, u32, u32, u64, u64),
    security: u32,
) -> Result<Parameters, Refusal> {
    validate_security(variant, security)?;
    let mut refusal = match check_mixed(variant, n, b, c, l, k) {
        Ok(p) => return p.require(security),
        Err(refusal) => refusal,
    };
    // The nearest set that the theorem allows may still be too small for the level.
    let value = |name, default| refusal.nearest_value(name).map_or(default, |v| v as u64);
    let n = value("N", n);
    let (b, c) = (value("B", b.into()) as u32, value("C", c.into()) as u32);
    let allowed = check_mixed(variant, n, b, c, value("L", l), value("k", n))?;
    if let Err(mut low) = allowed.require(security) {
        low.violated
            .iter_mut()
            .for_each(|v| v.found += " with the nearest allowed set");
        refusal.violated.append(&mut low.violated);
        refusal.nearest = low.nearest;
    }
    Err(refusal)
}

/// A parameter set as settings for a refusal.
pub(super) fn settings(p: &Parameters) -> Vec<Setting> {
    let mut list = vec![
        Setting::new("N", p.n() as f64),
        Setting::new("B", f64::from(p.b())),
        Setting::new("C", f64::from(p.c())),
        Setting::new("L", p.l() as f64),
        Setting::new("X", p.x() as f64),
    ];
    if p.k() != p.n() {
        list.push(Setting::new("k", p.k() as f64));
    }
    list
}

/// The conditions on a set with equal buckets that fail.
fn conditions(variant: Variant, n: u64, b: u32, c: u32, l: u64) -> Vec<Violation> {
    let theorem = variant.theorem();
    let mut failed = Vec::new();
    let mut require = |holds: bool, violation: &dyn Fn() -> (String, String)| {
        if !holds {
            let (condition, found) = violation();
            failed.push(Violation { condition, found });
        }
    };
    require(l >= 1, &|| (format!("L >= 1 ({theorem})"), format!("L = {l}")));
    require((1..=MAX_N / 2).contains(&n), &|| {
        ("1 <= N <= 2^47".into(), format!("N = {n}"))
    });
    require(l == 0 || n.is_multiple_of(l), &|| {
        ("L divides N".into(), format!("N = {n}, L = {l}"))
    });
    require(b >= 2, &|| (format!("B >= 2 ({theorem})"), format!("B = {b}")));
    require(c >= min_c(variant), &|| {
        (format!("C >= {} ({theorem})", min_c(variant)), format!("C = {c}"))
    });
    if l == 0 || n == 0 || !n.is_multiple_of(l) || n > MAX_N / 2 {
        return failed;
    }
    let (m, c) = (n / l, u64::from(c));
    let x = m + c;
    match variant {
        Variant::Baseline => require(l == 1, &|| ("L = 1 (full shuffle)".into(), format!("L = {l}"))),
        Variant::CacheEfficient => {}
        Variant::Reshuffle => {
            let holds = c == 0 || Game::new(x, l, b.max(2), c).is_ok_and(|g| g.condition_3_7());
            require(holds, &|| {
                (format!("X^L >= (X L)^2 ({theorem})"), format!("X = {x}, L = {l}"))
            });
        }
        Variant::OnDemand => {
            require(l >= 5, &|| (format!("L >= 5 ({theorem})"), format!("L = {l}")));
            require(m >= 6, &|| {
                (format!("X - C >= 6 ({theorem})"), format!("X - C = {m}"))
            });
            require(m > l, &|| {
                (
                    format!("X > L + C ({theorem})"),
                    format!("X = {x}, L + C = {}", l + c),
                )
            });
        }
    }
    if variant == Variant::Baseline {
        require(x <= MAX_X_BASELINE, &|| {
            ("X <= 4294967295 (32-bit indices)".into(), format!("X = {x}"))
        });
    } else {
        require(x <= MAX_X && l <= MAX_X, &|| {
            (
                "X, L <= 65535 (16-bit indices)".into(),
                format!("X = {x}, L = {l}"),
            )
        });
    }
    failed
}

/// The fewest blocks to open per subarray.
fn min_c(variant: Variant) -> u32 {
    if variant == Variant::OnDemand { 3 } else { 1 }
}

/// The smallest allowed `X - C` for `l` subarrays; `None` if there is none.
fn min_m(variant: Variant, l: u64, c: u64) -> Option<u64> {
    match variant {
        Variant::Baseline | Variant::CacheEfficient => Some(1),
        Variant::Reshuffle if l < 3 => None,
        Variant::Reshuffle => (1..=8).find(|m| Game::new(m + c, l, 2, c).is_ok_and(|g| g.condition_3_7())),
        Variant::OnDemand if l < 5 => None,
        Variant::OnDemand => Some(6.max(l + 1)),
    }
}

/// The allowed set closest to the given numbers, by ratios, with `C` and `B` raised no more than needed.
fn nearest(variant: Variant, n: u64, b: u32, c: u32, l: u64) -> Parameters {
    let max_x = if variant == Variant::Baseline {
        MAX_X_BASELINE
    } else {
        MAX_X
    };
    // At most half of the largest subarray is opened: leaves room for the smallest X - C of every L below.
    let c = u64::from(c).clamp(u64::from(min_c(variant)), max_x / 2);
    let (n, b, wanted) = (n.clamp(1, MAX_N / 2), b.max(2), l.max(1));
    let ls = if variant == Variant::Baseline {
        1..=1
    } else {
        1..=max_x / 2
    };
    let best = ls
        .filter_map(|l| {
            let least = min_m(variant, l, c)?;
            let m = (n as f64 / l as f64)
                .round()
                .clamp(least as f64, (max_x - c) as f64) as u64;
            let distance = ((m * l) as f64 / n as f64).ln().abs() + (l as f64 / wanted as f64).ln().abs();
            (least + c <= max_x).then_some((distance, m, l))
        })
        .min_by(|a, b| a.0.total_cmp(&b.0));
    // L = 8 is among the candidates of every variant but the baseline, which has L = 1.
    let (_, m, l) = best.unwrap_or((0.0, 16, 8));
    let small = if variant == Variant::Baseline { m } else { l };
    Parameters {
        variant,
        game: Game { x: m + c, l, b, c },
        small,
    }
}

/// The preferred shape for at least `n` blocks: the fewest subarrays, a power of two, that the theorem and the cache allow, of
/// equal size. `N` is a power of two if `n` is one.
#[must_use]
pub fn preferred(variant: Variant, n: u64, b: u32) -> Option<Parameters> {
    let c = min_c(variant);
    let (mut l, longest) = match variant {
        Variant::Baseline => (1, MAX_X_BASELINE / 2),
        Variant::CacheEfficient => (1, SUBARRAY),
        Variant::Reshuffle => (4, SUBARRAY),
        Variant::OnDemand => (8, SUBARRAY),
    };
    while n.div_ceil(l) > longest {
        // Theorem 3.10 wants more blocks in a subarray than there are subarrays.
        if variant == Variant::Baseline || (variant == Variant::OnDemand && n.div_ceil(2 * l) <= 2 * l) {
            break;
        }
        l *= 2;
    }
    let least = min_m(variant, l, u64::from(c))?;
    let least = if n.is_power_of_two() {
        least.next_power_of_two()
    } else {
        least
    };
    let n = n.div_ceil(l).max(least) * l;
    conditions(variant, n, b, c, l).is_empty().then(|| {
        let game = Game {
            x: n / l + u64::from(c),
            l,
            b,
            c: u64::from(c),
        };
        Parameters {
            variant,
            game,
            small: if variant == Variant::Baseline { n } else { l },
        }
    })
}

/// The smallest preferred set with bucket size `b` whose error is at most `2^-security`; `N` a power of two or any.
pub(super) fn smallest(variant: Variant, b: u32, security: u32, power_of_two: bool) -> Option<Parameters> {
    let meets = |n: u64| preferred(variant, n, b).filter(|p| p.error().meets(security));
    let high = (0..47).map(|i| 1u64 << i).find(|&n| meets(n).is_some())?;
    if power_of_two {
        return meets(high);
    }
    let (mut low, mut high) = (high / 2, high);
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if meets(middle).is_some() {
            high = middle
        } else {
            low = middle
        }
    }
    meets(high)
}
