//! The cheapest check rate and bucket size for a pool (Figure 2).

use serde::ser::SerializeStruct;
use serde::{Deserialize, Serialize};

use super::attack::{Attack, Draw};
use crate::{LogProb, Refusal, Remembered, Setting};

/// What is taken for the probability that a bad gadget gets past the guard, and for the adversary's strategy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Guard {
    /// The paper's: each gets past with `1 - r_c r_d`, and all are inserted at once. The published parameters come from this.
    #[default]
    Paper,
    /// Exact: a bad gadget that is checked without being found is thrown away like any other, so each enters the pool with
    /// `(1 - r_c)/(1 - r_c (1 - r_d))`; and the adversary replaces those that are drawn, which the paper does not consider.
    Adaptive,
}

impl Guard {
    pub(super) fn slip(self, check_rate: f64, detection: f64) -> f64 {
        match self {
            Self::Paper => 1.0 - check_rate * detection,
            Self::Adaptive => (1.0 - check_rate) / (1.0 - check_rate * (1.0 - detection)),
        }
    }

    fn error(self, attack: &Attack, check_rate: f64, detection: f64) -> LogProb {
        let slip = self.slip(check_rate, detection);
        match self {
            Self::Paper => attack.insert_at_once(slip).1,
            Self::Adaptive => attack.keep_inserting(slip).1,
        }
    }
}

/// What is asked of a pool.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Request {
    /// The error is at most `2^-security_bits` over the pool's life. Not a whole number where a budget is shared.
    pub security_bits: f64,
    /// `n`: gadgets in the pool.
    pub pool_size: u64,
    /// `r_d`: the probability that checking a bad gadget finds it bad, 1/16 to 1; 1/2 for half-gates checked on random
    /// inputs.
    pub detection: f64,
    /// The analysis to hold to the target.
    pub guard: Guard,
}

impl Request {
    /// `r_d = 1/2` and the paper's analysis.
    #[must_use]
    pub fn new(security: u32, pool_size: u64) -> Self {
        Self {
            security_bits: f64::from(security),
            pool_size,
            detection: 0.5,
            guard: Guard::Paper,
        }
    }
}

/// A pool's parameters, from [`check`] or [`search`].
#[derive(Clone, Debug, PartialEq)]
pub struct Parameters {
    pool_size: u64,
    bucket: u32,
    check_rate: u32,
    detection: f64,
    error: LogProb,
    adaptive_error: LogProb,
}

/// Larger buckets are not tried: only pools hardly larger than that could want them.
const MAX_BUCKET: u32 = 400;

/// Checks that find less are not a guard: every known gadget gives 1/4 or more.
const LEAST_DETECTION: f64 = 1.0 / 16.0;

/// Check rates are multiples of this, so that a uniform 32-bit number decides each check exactly.
const RATE_UNIT: f64 = 1.0 / (1u64 << 32) as f64;

impl Parameters {
    /// `n`: gadgets in the pool.
    #[must_use]
    pub fn pool_size(&self) -> u64 {
        self.pool_size
    }

    /// `B`: gadgets in a bucket.
    #[must_use]
    pub fn bucket(&self) -> u32 {
        self.bucket
    }

    /// `r_c`: the probability that a fresh gadget is checked instead of entering the pool.
    #[must_use]
    pub fn check_rate(&self) -> f64 {
        f64::from(self.check_rate) * RATE_UNIT
    }

    /// `r_c 2^32`: a gadget is checked iff its uniform 32-bit coin is below this.
    #[must_use]
    pub fn check_threshold(&self) -> u32 {
        self.check_rate
    }

    /// `r_d`.
    #[must_use]
    pub fn detection(&self) -> f64 {
        self.detection
    }

    /// Gadgets generated per bucket, on average: `B/(1 - r_c)`.
    #[must_use]
    pub fn gates_per_and(&self) -> f64 {
        f64::from(self.bucket) / (1.0 - self.check_rate())
    }

    /// Formula (1), the error by the paper's analysis.
    #[must_use]
    pub fn error(&self) -> LogProb {
        self.error
    }

    /// The error against an adversary that replaces drawn gadgets ([`Guard::Adaptive`]); exact.
    #[must_use]
    pub fn adaptive_error(&self) -> LogProb {
        self.adaptive_error
    }
}

impl Serialize for Parameters {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut s = serializer.serialize_struct("Parameters", 7)?;
        s.serialize_field("pool_size", &self.pool_size)?;
        s.serialize_field("bucket", &self.bucket)?;
        s.serialize_field("check_rate", &self.check_rate())?;
        s.serialize_field("detection", &self.detection)?;
        s.serialize_field("gates_per_and", &self.gates_per_and())?;
        s.serialize_field("error_log2", &self.error)?;
        s.serialize_field("adaptive_error_log2", &self.adaptive_error)?;
        s.end()
    }
}

/// More bad gadgets than this are not followed: at `r_d = 1/2` and 40 bits they suffice down to check rates of 0.02%, and lower
/// rates would save no more than that.
const MOST_BAD: u64 = 1 << 18;

/// The largest product of bad gadgets followed and bucket size: a second, and 128 MB.
const MOST_WORK: u64 = 1 << 24;

/// The bad gadgets beyond which `slip^b` alone is below the target: `b_0 = floor(log_{1 - r_0 r_d} eps)`.
fn useful_bad(security_bits: f64, found: f64) -> u64 {
    let limit = -security_bits * std::f64::consts::LN_2 / (-found).ln_1p();
    if limit.is_finite() {
        (limit.ceil() as u64).max(1)
    } else {
        1
    }
}

/// The smallest `r_0` whose `b_0` is followed.
fn least_rate(request: &Request) -> f64 {
    let found = -(-request.security_bits * std::f64::consts::LN_2 / MOST_BAD as f64).exp_m1();
    found / request.detection
}

fn validate(request: &Request) -> Result<(), Refusal> {
    let mut refusal = Refusal::new("pool");
    let bits = request.security_bits;
    if !(1.0..=160.0).contains(&bits) {
        refusal = refusal.because("1 <= security <= 160", format!("security = {bits}"));
    }
    if !(LEAST_DETECTION..=1.0).contains(&request.detection) {
        refusal = refusal.because("1/16 <= r_d <= 1", format!("r_d = {}", request.detection));
    }
    if !(2..=super::MAX_POOL).contains(&request.pool_size) {
        refusal = refusal.because("2 <= n <= 2^50", format!("n = {}", request.pool_size));
    }
    if refusal.violated.is_empty() {
        return Ok(());
    }
    let finite = |x: f64, low: f64, high: f64| if x.is_nan() { low } else { x.clamp(low, high) };
    Err(refusal.nearest(vec![
        Setting::new("security", finite(bits, 1.0, 160.0)),
        Setting::new("r_d", finite(request.detection, LEAST_DETECTION, 1.0)),
        Setting::new("n", request.pool_size.clamp(2, super::MAX_POOL) as f64),
    ]))
}

/// The parameters with bucket size `bucket` and check rate `check_rate` (rounded up to a multiple of `2^-32`), if they meet the
/// request.
///
/// # Errors
/// What is wrong with the request, or the error they reach and the nearest check rate (or, failing that, the cheapest
/// parameters) that meets it.
pub fn check(request: &Request, bucket: u32, check_rate: f64) -> Result<Parameters, Refusal> {
    validate(request)?;
    let mut refusal = Refusal::new("pool");
    let largest = u32::try_from(request.pool_size).map_or(MAX_BUCKET, |n| n.min(MAX_BUCKET));
    if !(2..=largest).contains(&bucket) {
        refusal = refusal.because(format!("2 <= B <= {largest}"), format!("B = {bucket}"));
    }
    if !(check_rate > 0.0 && check_rate < 1.0) {
        refusal = refusal.because("0 < r_c < 1", format!("r_c = {check_rate}"));
    } else {
        // What the analysis takes in time and memory.
        let followed = useful_bad(request.security_bits, check_rate * request.detection);
        if followed.min(request.pool_size).saturating_mul(bucket.into()) > MOST_WORK {
            let (found, most) = (format!("r_c = {check_rate}, B = {bucket}"), MOST_WORK);
            refusal = refusal.because(format!("B log(2^-s)/log(1 - r_c r_d) <= {most}"), found);
        }
    }
    if !refusal.violated.is_empty() {
        return Err(refusal.nearest(nearest(request, bucket.max(2))));
    }
    let attack = attack(request, bucket, check_rate * request.detection)?;
    let found = evaluate(request, bucket, check_rate, &attack);
    let error = match request.guard {
        Guard::Paper => found.error,
        Guard::Adaptive => found.adaptive_error,
    };
    if error.meets_log2(-request.security_bits) {
        return Ok(found);
    }
    Err(Refusal::new("pool")
        .because(
            format!("error <= 2^-{}", request.security_bits),
            format!("error = {error:.3}"),
        )
        .nearest(nearest(request, bucket)))
}

/// The cheapest `(r_c, B)` by gadgets generated per bucket, `B/(1 - r_c)`.
///
/// Figure 2: for every `B`, with `r_0` halved until the smallest `r_c` that meets the target is above it; `B` grows until it
/// alone exceeds the best cost.
///
/// # Errors
/// A request that makes no sense, or a pool too small for any parameters to meet it.
pub fn search(request: &Request) -> Result<Parameters, Refusal> {
    static FOUND: Remembered<Request, Result<Parameters, Refusal>> = Remembered::new();
    FOUND.get(*request, || search_anew(request))
}

fn search_anew(request: &Request) -> Result<Parameters, Refusal> {
    validate(request)?;
    let mut best: Option<Parameters> = None;
    for bucket in 2..=MAX_BUCKET {
        let enough = best
            .as_ref()
            .is_some_and(|p| p.gates_per_and() < f64::from(bucket));
        if enough || u64::from(bucket) > request.pool_size {
            break;
        }
        if let Some(found) = smallest_rate(request, bucket) {
            let better = best
                .as_ref()
                .is_none_or(|p| found.gates_per_and() <= p.gates_per_and());
            if better {
                best = Some(found);
            }
        }
    }
    best.ok_or_else(|| {
        let mut refusal = Refusal::new("pool").because(
            format!("some (r_c, B) with B <= n reaches 2^-{}", request.security_bits),
            format!("n = {}", request.pool_size),
        );
        if let Some(p) = smallest_sufficient_pool(request) {
            refusal = refusal.nearest(settings(&p));
        }
        refusal
    })
}

/// The cheapest parameters of a pool little larger than need be, where the request's is too small.
fn smallest_sufficient_pool(request: &Request) -> Option<Parameters> {
    // Everything checked that can be: if that does not do, nothing does.
    let most_found = request.detection * (1.0 - RATE_UNIT);
    // A few bucket sizes are enough to see whether any does.
    let buckets: Vec<u32> = std::iter::successors(Some(2u32), |b| Some(b + (b / 10).max(1)))
        .take_while(|&b| b <= MAX_BUCKET)
        .collect();
    let viable = |pool_size: u64| {
        let request = Request {
            pool_size,
            ..*request
        };
        buckets
            .iter()
            .take_while(|&&bucket| u64::from(bucket) <= pool_size)
            .any(|&bucket| {
                attack(&request, bucket, most_found)
                    .is_ok_and(|a| a.needed_detection(-request.security_bits) < most_found)
            })
    };
    let larger = (1..50).map(|i| request.pool_size.saturating_mul(1 << i));
    let mut high = larger
        .take_while(|&n| n <= super::MAX_POOL)
        .find(|&n| viable(n))?;
    let mut low = high / 2;
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if viable(middle) {
            high = middle
        } else {
            low = middle
        }
    }
    search(&Request {
        pool_size: high,
        ..*request
    })
    .ok()
}

fn settings(p: &Parameters) -> Vec<Setting> {
    vec![
        Setting::new("n", p.pool_size as f64),
        Setting::new("B", f64::from(p.bucket)),
        Setting::new("r_c", p.check_rate()),
    ]
}

fn nearest(request: &Request, bucket: u32) -> Vec<Setting> {
    // Low check rates of large buckets would take longer than an answer should.
    Some(bucket)
        .filter(|&bucket| bucket <= (MOST_WORK / MOST_BAD) as u32)
        .and_then(|bucket| smallest_rate(request, bucket))
        .or_else(|| search(request).ok())
        .map_or_else(Vec::new, |p| settings(&p))
}

fn attack(request: &Request, bucket: u32, found: f64) -> Result<Attack, Refusal> {
    // One more than needed by rounding; the adaptive analysis, whose slip is smaller, needs fewer.
    let most = useful_bad(request.security_bits, found).max(u64::from(bucket)) + 1;
    Attack::new(request.pool_size, Draw::bucket(u64::from(bucket))?, most)
}

fn evaluate(request: &Request, bucket: u32, check_rate: f64, attack: &Attack) -> Parameters {
    let check_rate = (check_rate / RATE_UNIT).ceil().clamp(1.0, f64::from(u32::MAX)) as u32;
    let rate = f64::from(check_rate) * RATE_UNIT;
    Parameters {
        pool_size: request.pool_size,
        bucket,
        check_rate,
        detection: request.detection,
        error: Guard::Paper.error(attack, rate, request.detection),
        adaptive_error: Guard::Adaptive.error(attack, rate, request.detection),
    }
}

/// The smallest check rate that meets the request with this bucket size, down to [`least_rate`].
fn smallest_rate(request: &Request, bucket: u32) -> Option<Parameters> {
    let least = least_rate(request);
    let mut r0 = least.max(0.01);
    if r0 >= 1.0 {
        return None;
    }
    loop {
        let attack = attack(request, bucket, r0 * request.detection).ok()?;
        let rate = match request.guard {
            Guard::Paper => attack.needed_detection(-request.security_bits) / request.detection,
            Guard::Adaptive => needed_adaptive(request, &attack)?,
        };
        if rate >= 1.0 - RATE_UNIT {
            return None;
        }
        // Below r_0 more bad gadgets would have had to be considered, unless the pool holds no more.
        let all = attack.most() >= request.pool_size;
        if rate >= r0 || all || r0 <= least {
            let floor = if all { 0.0 } else { r0 };
            return Some(evaluate(request, bucket, rate.max(floor), &attack));
        }
        r0 = (r0 / 2.0).max(least);
    }
}

/// The smallest rate for the adaptive adversary, by bisection: its error falls as the rate grows, for every number of bad gadgets, so
/// that those which do not matter at a rate do not at a higher one.
fn needed_adaptive(request: &Request, attack: &Attack) -> Option<f64> {
    let too_likely = |rate: f64, among: &[u64]| {
        let slip = Guard::Adaptive.slip(rate, request.detection);
        attack.worth_keeping(slip, -request.security_bits, among)
    };
    let (mut low, mut high) = (0.0, 1.0 - RATE_UNIT);
    let mut matter: Vec<u64> = attack.harmful().collect();
    if !too_likely(high, &matter).is_empty() {
        return None;
    }
    while high - low > RATE_UNIT / 4.0 {
        let middle = (low + high) / 2.0;
        let left = too_likely(middle, &matter);
        if left.is_empty() {
            high = middle
        } else {
            (low, matter) = (middle, left)
        }
    }
    Some(high)
}
