//! Theorem 2: the probability of any bad bucket.

use serde::Serialize;

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

    /// The bounds of Theorem 2.
    #[must_use]
    pub fn errors(&self) -> Errors {
        Errors {
            and_bucket: self.any_bad_and_bucket(),
            input_authenticator: self.any_bad_input_authenticator(),
            input_bucket: self.any_bad_input_bucket(),
        }
    }

    /// Products of the factors for the highest gates: entry `l - 1` is that for `i = beta .. l`.
    ///
    /// The factor for the `i`-th bad gate is `(1-p_g) 4i / (p_g (q beta + n beta~) + (1-p_g) 4i)`: a check misses a bad gate
    /// with probability at most 3/4, hence the 4.
    fn gate_products(&self, highest: u32) -> Vec<f64> {
        products(highest, self.p_gate, self.gates_needed() as f64, 4.0)
    }

    /// The same for authenticators, of which a check misses a bad one with probability at most 1/2.
    fn authenticator_products(&self, highest: u32) -> Vec<f64> {
        products(highest, self.p_auth, self.authenticators_needed() as f64, 2.0)
    }

    pub(super) fn any_bad_and_bucket(&self) -> LogProb {
        let gates = self.gate_products(self.beta);
        let authenticators = self.authenticator_products(self.alpha);
        let mixed = (2..=self.beta).map(|l| {
            // The product over j = alpha .. alpha + 2 - l; for alpha < beta - 1 it cannot reach below 1.
            let lowest = (self.alpha + 2).saturating_sub(l).max(1);
            gates[l as usize - 1] * authenticators[lowest as usize - 1]
        });
        times(self.gates, gates[0] + mixed.sum::<f64>())
    }

    pub(super) fn any_bad_input_authenticator(&self) -> LogProb {
        let majority = self.alpha_input.div_ceil(2) as usize;
        times(
            self.inputs,
            self.authenticator_products(self.alpha_input)
                .iter()
                .take(majority)
                .sum(),
        )
    }

    pub(super) fn any_bad_input_bucket(&self) -> LogProb {
        let majority = self.beta_input.div_ceil(2) as usize;
        times(
            self.input_buckets,
            self.gate_products(self.beta_input).iter().take(majority).sum(),
        )
    }
}

fn products(highest: u32, p: f64, needed: f64, weight: f64) -> Vec<f64> {
    let mut all = vec![1.0; highest as usize];
    let mut product = 1.0f64;
    for i in (1..=highest).rev() {
        let bad = (1.0 - p) * weight * f64::from(i);
        // Far below any level, but never zero: a bound stays a bound.
        product = (product * (bad / (p * needed + bad))).max(f64::MIN_POSITIVE);
        all[i as usize - 1] = product;
    }
    all
}

fn times(count: u64, p: f64) -> LogProb {
    LogProb::from_log2((count as f64).log2()) * LogProb::from_probability(p)
}
