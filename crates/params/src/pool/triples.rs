//! Pools of authenticated triples (Section 8): every fresh triple is checked, and the checked ones are used.

use serde::Serialize;

use super::attack::{Attack, Draw};
use crate::{LogProb, Refusal, Setting};

/// Parameters of a pool of leaky authenticated triples, `r_c = 1` and `r_d = 1/2`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TripleParameters {
    /// `B`: leaky triples combined into one.
    pub bucket: u32,
    /// `n`: leaky triples in the pool.
    pub pool_size: u64,
    /// Formula (2): `max_b 2^-b P_B(n, b)`.
    #[serde(rename = "error_log2")]
    pub error: LogProb,
    /// The same against an adversary that replaces the bad triples that are drawn (see [`super::Guard::Adaptive`]).
    #[serde(rename = "adaptive_error_log2")]
    pub adaptive_error: LogProb,
}

/// Larger buckets are never needed: 129 reach 2^-128 with hardly more triples than that.
const MAX_BUCKET: u32 = 1000;

fn evaluate(pool_size: u64, bucket: u32, security: u32) -> Result<TripleParameters, Refusal> {
    // b_0 = floor(-log2 eps); more bad triples survive the checks too rarely.
    let most = u64::from(security.max(bucket)) + 1;
    let attack = Attack::new(pool_size, Draw::bucket(u64::from(bucket))?, most)?;
    Ok(TripleParameters {
        bucket,
        pool_size,
        error: attack.insert_at_once(0.5).1,
        adaptive_error: attack.keep_inserting(0.5).1,
    })
}

fn validate(security: u32) -> Result<(), Refusal> {
    Refusal::unless_within("triples", "security", 1..=128, security.into())
}

/// Buckets of `bucket` triples from a pool of `pool_size`, if they keep the error at `2^-security`.
///
/// # Errors
/// A level outside 1 to 128, numbers that make no sense, or an error too large, with the smallest pool for these buckets.
pub fn check_triples(security: u32, pool_size: u64, bucket: u32) -> Result<TripleParameters, Refusal> {
    validate(security)?;
    if !(2..=MAX_BUCKET).contains(&bucket) {
        let sensible = bucket.clamp(2, MAX_BUCKET);
        let nearest = smallest_pool(security, sensible).or_else(|_| triples(security, super::MAX_POOL));
        return Err(Refusal::new("triples")
            .because(format!("2 <= B <= {MAX_BUCKET}"), format!("B = {bucket}"))
            .nearest(nearest.map_or_else(|_| Vec::new(), |p| settings(&p))));
    }
    let refusal = Refusal::new("triples");
    let refusal = match evaluate(pool_size, bucket, security) {
        Ok(found) if found.error.meets(security) => return Ok(found),
        Ok(found) => refusal.because(
            format!("error <= 2^-{security}"),
            format!("error = {:.3} for n = {pool_size}, B = {bucket}", found.error),
        ),
        Err(low) => low,
    };
    let nearest = smallest_pool(security, bucket).or_else(|_| triples(security, pool_size));
    Err(refusal.nearest(nearest.map_or_else(|_| Vec::new(), |p| settings(&p))))
}

fn settings(p: &TripleParameters) -> Vec<Setting> {
    vec![
        Setting::new("n", p.pool_size as f64),
        Setting::new("B", f64::from(p.bucket)),
    ]
}

/// The smallest bucket that keeps the error of a pool of `pool_size` triples at `2^-security` (Figure 8).
///
/// # Errors
/// A level outside 1 to 128, or a pool too small for any bucket, with the smallest pool for the largest bucket that fits a
/// level of that kind.
pub fn triples(security: u32, pool_size: u64) -> Result<TripleParameters, Refusal> {
    validate(security)?;
    for bucket in 2..=security + 1 {
        match evaluate(pool_size, bucket, security) {
            Ok(found) if found.error.meets(security) => return Ok(found),
            Ok(_) => {}
            Err(_) => break,
        }
    }
    let refusal = Refusal::new("triples").because(
        format!("some B <= n reaches 2^-{security}"),
        format!("n = {pool_size}"),
    );
    let candidates = (2..=security + 1).filter_map(|bucket| smallest_pool(security, bucket).ok());
    Err(match candidates.min_by_key(|p| p.pool_size) {
        Some(p) => refusal.nearest(settings(&p)),
        None => refusal,
    })
}

/// The smallest pool for which buckets of `bucket` triples keep the error at `2^-security` (Table 6).
///
/// # Errors
/// A level outside 1 to 128, a bucket below 2, or one for which no pool up to 2^50 is large enough.
pub fn smallest_pool(security: u32, bucket: u32) -> Result<TripleParameters, Refusal> {
    validate(security)?;
    let meets = |n: u64| evaluate(n, bucket, security).is_ok_and(|p| p.error.meets(security));
    if bucket < 2 || !meets(super::MAX_POOL) {
        let sufficient = (2.max(bucket)..=129)
            .find(|&b| evaluate(super::MAX_POOL, b, security).is_ok_and(|p| p.error.meets(security)));
        let refusal = Refusal::new("triples").because(
            format!("B >= 2 and some n <= 2^50 reaches 2^-{security}"),
            format!("B = {bucket}"),
        );
        return Err(refusal.nearest(
            sufficient
                .map(|b| Setting::new("B", f64::from(b)))
                .into_iter()
                .collect(),
        ));
    }
    let (mut low, mut high) = (u64::from(bucket) - 1, super::MAX_POOL);
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if meets(middle) {
            high = middle
        } else {
            low = middle
        }
    }
    evaluate(high, bucket, security)
}
