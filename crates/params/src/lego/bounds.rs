//! Theorem 2: the probability of any bad bucket.

use serde::Serialize;

use super::attack::{AUTHENTICATOR_FOUND, GATE_FOUND};
use crate::{LogProb, Refusal, Setting};

/// Sizes of all buckets and the probabilities of checking: everything Theorem 2 speaks of.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Buckets {
    /// `q`: AND buckets.
    pub gates: u64,
    /// `n`: inputs, each with an authenticator bucket.
    pub inputs: u64,
    /// Input buckets. The theorem has one for each input; they are needed only where the evaluator may have to learn the
    /// garbler's bit once it knows the difference of labels.
    pub input_buckets: u64,
    /// `beta`: garbled gates in an AND bucket.
    pub beta: u32,
    /// `alpha`: authenticators in an AND bucket; the theorem is proved for `beta - 1`.
    pub alpha: u32,
    /// `beta~`: garbled gates in an input bucket.
    pub beta_input: u32,
    /// `alpha~`: authenticators in an input's authenticator bucket.
    pub alpha_input: u32,
    /// `p_g`: the probability that a garbled gate is checked.
    pub p_gate: f64,
    /// `p_a`: the probability that an authenticator is checked.
    pub p_auth: f64,
}

/// The three bounds of Theorem 2.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Errors {
    /// Any bad AND bucket.
    pub and_bucket: LogProb,
    /// Any bad input authenticator.
    pub input_authenticator: LogProb,
    /// Any bad input bucket.
    pub input_bucket: LogProb,
}

impl Errors {
    /// The largest of the three.
    #[must_use]
    pub fn largest(&self) -> LogProb {
        self.and_bucket
            .max(self.input_authenticator)
            .max(self.input_bucket)
    }

    /// Their sum: a bound on anything going wrong.
    #[must_use]
    pub fn sum(&self) -> LogProb {
        self.and_bucket + self.input_authenticator + self.input_bucket
    }

    /// None of them can happen.
    pub(super) const NONE: Self = Self {
        and_bucket: LogProb::ZERO,
        input_authenticator: LogProb::ZERO,
        input_bucket: LogProb::ZERO,
    };

    /// Those of what is made in addition, so many times over.
    pub(super) fn add(&mut self, more: Self, times: f64) {
        let times = LogProb::from_log2(times.log2());
        self.and_bucket = self.and_bucket + times * more.and_bucket;
        self.input_authenticator = self.input_authenticator + times * more.input_authenticator;
        self.input_bucket = self.input_bucket + times * more.input_bucket;
    }
}

/// For the gates of an AND bucket, the products of the theorem and [`places`].
pub(super) struct GatesOfBucket {
    products: Vec<f64>,
    places: Vec<f64>,
}

impl Buckets {
    /// Buckets whose other sizes follow from `beta`: `alpha = beta - 1`, `beta~ = 2 beta + 1`, `alpha~ = 2 alpha + 1`. Every
    /// input has an input bucket.
    ///
    /// # Errors
    /// Unless `beta >= 2`, `q` and `n` are at least 1 and at most 2^40, and both probabilities are in (0, 1).
    pub fn new(gates: u64, inputs: u64, beta: u32, p_gate: f64, p_auth: f64) -> Result<Self, Refusal> {
        let mut refusal = Refusal::new("lego");
        let mut require = |holds: bool, condition: &str, found: String| {
            if !holds {
                refusal = refusal.clone().because(condition, found);
            }
        };
        require(
            (1..=1 << 40).contains(&gates),
            "1 <= q <= 2^40",
            format!("q = {gates}"),
        );
        require(
            (1..=1 << 40).contains(&inputs),
            "1 <= n <= 2^40",
            format!("n = {inputs}"),
        );
        require(
            (2..=1000).contains(&beta),
            "2 <= beta <= 1000 (alpha = beta - 1)",
            format!("beta = {beta}"),
        );
        let open = |p: f64| p > 0.0 && p < 1.0;
        require(open(p_gate), "0 < p_g < 1", format!("p_g = {p_gate}"));
        require(open(p_auth), "0 < p_a < 1", format!("p_a = {p_auth}"));
        if !refusal.violated.is_empty() {
            let inside = |p: f64| if open(p) { p } else { 0.5 };
            return Err(refusal.nearest(vec![
                Setting::new("q", gates.clamp(1, 1 << 40) as f64),
                Setting::new("n", inputs.clamp(1, 1 << 40) as f64),
                Setting::new("beta", f64::from(beta.clamp(2, 1000))),
                Setting::new("p_g", inside(p_gate)),
                Setting::new("p_a", inside(p_auth)),
            ]));
        }
        Ok(Self {
            gates,
            inputs,
            input_buckets: inputs,
            beta,
            alpha: beta - 1,
            beta_input: 2 * beta + 1,
            alpha_input: 2 * beta - 1,
            p_gate,
            p_auth,
        })
    }

    /// `q beta + n beta~`, with `n` the number of input buckets: garbled gates that must survive the check.
    #[must_use]
    pub fn gates_needed(&self) -> u64 {
        self.gates * u64::from(self.beta) + self.input_buckets * u64::from(self.beta_input)
    }

    /// `q alpha + n alpha~`: authenticators that must survive the check.
    #[must_use]
    pub fn authenticators_needed(&self) -> u64 {
        self.gates * u64::from(self.alpha) + self.inputs * u64::from(self.alpha_input)
    }

    /// The bounds of Theorem 2 for half gates, of which a check finds a bad one with probability [`GATE_FOUND`] at least.
    #[must_use]
    pub fn errors(&self) -> Errors {
        self.errors_if_found(GATE_FOUND)
    }

    /// The bounds of Theorem 2 if a check finds a bad gate with probability `found` at least. The paper has 1/4, which
    /// holds for every way of garbling. For very few gates, where an attack beats the theorem, they are larger.
    #[must_use]
    pub fn errors_if_found(&self, found: f64) -> Errors {
        Errors {
            and_bucket: self.any_bad_and_bucket(found),
            input_authenticator: self.any_bad_input_authenticator(),
            input_bucket: self.any_bad_input_bucket(found),
        }
    }

    /// Products of the factors for the highest gates: entry `l - 1` is that for `i = beta .. l`.
    ///
    /// The factor for the `i`-th bad gate is `(1-p_g) i/d / (p_g (q beta + n beta~) + (1-p_g) i/d)` with `d` the probability
    /// that a check finds a bad one.
    fn gate_products(&self, highest: u32, found: f64) -> Vec<f64> {
        products(highest, self.p_gate, self.gates_needed() as f64, found)
    }

    /// The same for authenticators.
    fn authenticator_products(&self, highest: u32) -> Vec<f64> {
        let needed = self.authenticators_needed() as f64;
        products(highest, self.p_auth, needed, AUTHENTICATOR_FOUND)
    }

    fn any_bad_and_bucket(&self, found: f64) -> LogProb {
        self.any_bad_and_bucket_of(&self.gates_of_and_bucket(found))
    }

    /// What the gates of an AND bucket have to do with its being bad.
    pub(super) fn gates_of_and_bucket(&self, found: f64) -> GatesOfBucket {
        GatesOfBucket {
            products: self.gate_products(self.beta, found),
            places: self.gate_places(self.beta, found),
        }
    }

    /// With the gates of buckets that differ in `p_a` at most.
    pub(super) fn any_bad_and_bucket_of(&self, gates: &GatesOfBucket) -> LogProb {
        let GatesOfBucket {
            products: gates,
            places,
        } = gates;
        let authenticators = self.authenticator_products(self.alpha);
        let mixed = (2..=self.beta).map(|l| {
            // The product over j = alpha .. alpha + 2 - l; for alpha < beta - 1 it cannot reach below 1.
            let lowest = (self.alpha + 2).saturating_sub(l).max(1);
            gates[l as usize - 1] * authenticators[lowest as usize - 1]
        });
        let theorem = gates[0] + mixed.sum::<f64>();
        let authenticators = self.authenticator_places(self.alpha);
        let half = (self.beta + self.alpha).div_ceil(2) as usize;
        let all_places = (1..=half.min(self.beta as usize))
            .filter_map(|k| Some(places[k] * authenticators.get(half - k)?))
            .sum();
        times(self.gates, theorem.max(all_places))
    }

    pub(super) fn any_bad_input_authenticator(&self) -> LogProb {
        let products = self.authenticator_products(self.alpha_input);
        let places = self.authenticator_places(self.alpha_input);
        times(self.inputs, majority(&products, &places))
    }

    pub(super) fn any_bad_input_bucket(&self, found: f64) -> LogProb {
        let products = self.gate_products(self.beta_input, found);
        let places = self.gate_places(self.beta_input, found);
        times(self.input_buckets, majority(&products, &places))
    }

    fn gate_places(&self, size: u32, found: f64) -> Vec<f64> {
        places(size, self.p_gate, self.gates_needed() as f64, found)
    }

    fn authenticator_places(&self, size: u32) -> Vec<f64> {
        let needed = self.authenticators_needed() as f64;
        places(size, self.p_auth, needed, AUTHENTICATOR_FOUND)
    }
}

/// For a bucket that is bad when more than half of its places are: the theorem's sum, or what follows from [`places`] if that
/// is more.
fn majority(products: &[f64], places: &[f64]) -> f64 {
    let size = products.len();
    let theorem: f64 = products.iter().take(size.div_ceil(2)).sum();
    theorem.max(places[size / 2 + 1])
}

/// A bound from first principles, beside which Theorem 2's products are too small when hardly more gadgets are made than one
/// bucket holds: entry `k` is for any `k` of a bucket's `size` places being bad, whatever the number of bad gadgets.
///
/// Of `t` bad gadgets each is checked with probability `p`, and found then with probability `d` at least. So the expected number
/// of sets of `k` of them that are not checked, where no check finds any of the others, is at most
/// `C(t,k) (1-p)^k (1-pd)^(t-k)`; and `k` given places hold one of at least `C(N,k)` sets, all equally likely. This is
/// `((1-p)/(pd))^k / C(N,k)` times the probability that of `t` trials with probability `pd` exactly `k` succeed. It
/// is largest where `t` is `k/(pd)` rounded up, less 1, and there at most 1/2 if `d <= 1/2`, and by Stirling's formula at most
/// `sqrt(t / (2 pi k (t-k)))`.
fn places(size: u32, p: f64, needed: f64, found: f64) -> Vec<f64> {
    let a = (1.0 - p) / (p * found);
    let mut ways = 1.0f64;
    std::iter::once(1.0)
        .chain((0..size).map(|j| {
            let (j, k) = (f64::from(j), f64::from(j + 1));
            // size (size-1) .. is the number of ways to choose places, times k!, which is one of C(N,k)'s.
            let left = (needed - j).max(f64::MIN_POSITIVE);
            ways = (ways * (f64::from(size) - j) * a / left).clamp(f64::MIN_POSITIVE, f64::MAX);
            let t = (k / (p * found)).ceil() - 1.0;
            let most = if t > k {
                (t / (std::f64::consts::TAU * k * (t - k))).sqrt()
            } else {
                1.0
            };
            ways * most.min(if found <= 0.5 { 0.5 } else { 1.0 })
        }))
        .collect()
}

fn products(highest: u32, p: f64, needed: f64, found: f64) -> Vec<f64> {
    let mut all = vec![1.0; highest as usize];
    let mut product = 1.0f64;
    for i in (1..=highest).rev() {
        let bad = (1.0 - p) * f64::from(i) / found;
        // Far below any level, but never zero: a bound stays a bound.
        product = (product * (bad / (p * needed + bad))).max(f64::MIN_POSITIVE);
        all[i as usize - 1] = product;
    }
    all
}

fn times(count: u64, p: f64) -> LogProb {
    LogProb::from_log2((count as f64).log2()) * LogProb::from_probability(p)
}
