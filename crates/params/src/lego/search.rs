//! The cheapest buckets, or the smallest.

use serde::ser::SerializeStruct;
use serde::{Deserialize, Serialize, Serializer};

use super::attack::GATE_FOUND;
use super::bounds::{Buckets, Errors};
use super::cost::CostModel;
use super::slack::generated;
use crate::{Refusal, Remembered, Setting};

/// What to minimise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Objective {
    /// Bytes sent in preprocessing.
    #[default]
    Bytes,
    /// The AND bucket, which is what is evaluated online; among the smallest, bytes.
    Bucket,
}

/// What is asked of the preprocessing.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Request {
    /// Each of Theorem 2's bounds is at most `2^-security`, and so is the chance that too few gadgets survive.
    pub security: u32,
    /// `q`: AND gates.
    pub gates: u64,
    /// `n`: inputs.
    pub inputs: u64,
    /// How many of them have an input bucket besides their authenticators, and other wires that have one.
    pub input_buckets: u64,
    /// What to minimise.
    pub objective: Objective,
    /// The largest probability of checking that is considered. Without a limit the smallest bucket is always 2, at any price.
    pub most_checked: f64,
    /// Bytes per item.
    pub cost: CostModel,
}

impl Request {
    /// Fewest bytes, by the default costs.
    #[must_use]
    pub fn new(security: u32, gates: u64, inputs: u64) -> Self {
        Self {
            security,
            gates,
            inputs,
            input_buckets: inputs,
            objective: Objective::Bytes,
            most_checked: 0.95,
            cost: CostModel::default(),
        }
    }

    /// The smallest bucket that checking at most half of everything gives: least work online.
    #[must_use]
    pub fn online(security: u32, gates: u64, inputs: u64) -> Self {
        Self {
            objective: Objective::Bucket,
            most_checked: 0.5,
            ..Self::new(security, gates, inputs)
        }
    }

    /// The request with another number of input buckets than inputs.
    #[must_use]
    pub fn with_input_buckets(self, input_buckets: u64) -> Self {
        Self {
            input_buckets,
            ..self
        }
    }
}

/// Buckets with their numbers to generate, their cost and their errors; from [`check`] or [`search`].
#[derive(Clone, Debug, PartialEq)]
pub struct Parameters {
    buckets: Buckets,
    garbled_gates: u64,
    authenticators: u64,
    bytes: f64,
    errors: Errors,
}

impl Parameters {
    /// Sizes and probabilities.
    #[must_use]
    pub fn buckets(&self) -> &Buckets {
        &self.buckets
    }

    /// `Q`: garbled gates to generate.
    #[must_use]
    pub fn garbled_gates(&self) -> u64 {
        self.garbled_gates
    }

    /// `A`: authenticators to generate.
    #[must_use]
    pub fn authenticators(&self) -> u64 {
        self.authenticators
    }

    /// `p_g 2^16`: a gate is checked iff its uniform 16-bit coin is below this.
    #[must_use]
    pub fn gate_threshold(&self) -> u16 {
        (self.buckets.p_gate * GRID as f64) as u16
    }

    /// `p_a 2^16`: an authenticator is checked iff its uniform 16-bit coin is below this.
    #[must_use]
    pub fn auth_threshold(&self) -> u16 {
        (self.buckets.p_auth * GRID as f64) as u16
    }

    /// Bytes of preprocessing from the garbler to the evaluator, by the request's cost model.
    #[must_use]
    pub fn bytes(&self) -> f64 {
        self.bytes
    }

    /// Theorem 2's bounds.
    #[must_use]
    pub fn errors(&self) -> Errors {
        self.errors
    }
}

impl Serialize for Parameters {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (b, e) = (&self.buckets, &self.errors);
        let mut s = serializer.serialize_struct("Parameters", 13)?;
        s.serialize_field("gates", &b.gates)?;
        s.serialize_field("inputs", &b.inputs)?;
        s.serialize_field("input_buckets", &b.input_buckets)?;
        s.serialize_field("beta", &b.beta)?;
        s.serialize_field("alpha", &b.alpha)?;
        s.serialize_field("beta_input", &b.beta_input)?;
        s.serialize_field("alpha_input", &b.alpha_input)?;
        s.serialize_field("p_gate", &b.p_gate)?;
        s.serialize_field("p_auth", &b.p_auth)?;
        s.serialize_field("garbled_gates", &self.garbled_gates)?;
        s.serialize_field("authenticators", &self.authenticators)?;
        s.serialize_field("bytes", &self.bytes.round())?;
        s.serialize_field(
            "error_log2",
            &[e.and_bucket, e.input_authenticator, e.input_bucket],
        )?;
        s.end()
    }
}

/// Probabilities of checking are multiples of `1/GRID`, so that 16 random bits decide each check exactly.
const GRID: u32 = 1 << 16;

/// Larger buckets are not tried: 2^-128 for a single gate needs fewer.
const MAX_BETA: u32 = 200;

fn validate(request: &Request) -> Result<(), Refusal> {
    let mut refusal = Refusal::new("lego");
    if !(1..=128).contains(&request.security) {
        refusal = refusal.because("1 <= security <= 128", format!("security = {}", request.security));
    }
    for (name, value) in [("q", request.gates), ("n", request.inputs)] {
        if !(1..=1 << 40).contains(&value) {
            refusal = refusal.because(format!("1 <= {name} <= 2^40"), format!("{name} = {value}"));
        }
    }
    if request.input_buckets > 1 << 40 {
        refusal = refusal.because(
            "input buckets <= 2^40",
            format!("input buckets = {}", request.input_buckets),
        );
    }
    let limit = request.most_checked;
    if !(limit >= 1.0 / f64::from(GRID) && limit < 1.0) {
        refusal = refusal.because("2^-16 <= most checked < 1", format!("most checked = {limit}"));
    }
    if refusal.violated.is_empty() {
        return Ok(());
    }
    let limit = if limit.is_nan() {
        0.5
    } else {
        limit.clamp(1.0 / f64::from(GRID), 0.999)
    };
    Err(refusal.nearest(vec![
        Setting::new("security", f64::from(request.security.clamp(1, 128))),
        Setting::new("q", request.gates.clamp(1, 1 << 40) as f64),
        Setting::new("n", request.inputs.clamp(1, 1 << 40) as f64),
        Setting::new("input_buckets", request.input_buckets.min(1 << 40) as f64),
        Setting::new("most_checked", limit),
    ]))
}

/// The parameters with the given bucket size and probabilities of checking (rounded up to multiples of `2^-16`), if every bound
/// meets the request's security level.
///
/// # Errors
/// What is wrong with the numbers, or which bounds fail, with the cheapest parameters of the same bucket size (of any, if that
/// has none).
pub fn check(request: &Request, beta: u32, p_gate: f64, p_auth: f64) -> Result<Parameters, Refusal> {
    validate(request)?;
    Buckets::new(request.gates, request.inputs, beta, p_gate, p_auth)?;
    let up = |p: f64| (p * f64::from(GRID)).ceil().min(f64::from(GRID - 1)) as u32;
    let buckets = with_rates(request, beta, up(p_gate), up(p_auth));
    let errors = buckets.errors();
    let mut refusal = Refusal::new("lego");
    for (name, error) in [
        ("any bad AND bucket", errors.and_bucket),
        ("any bad input authenticator", errors.input_authenticator),
        ("any bad input bucket", errors.input_bucket),
    ] {
        if !error.meets(request.security) {
            refusal = refusal.because(
                format!("Pr[{name}] <= 2^-{} (Theorem 2)", request.security),
                format!("{error:.3}"),
            );
        }
    }
    if refusal.violated.is_empty() {
        return Ok(complete(request, buckets));
    }
    let nearest = cheapest(request, beta).or_else(|| search(request).ok().map(|p| p.buckets));
    Err(refusal.nearest(nearest.map_or_else(Vec::new, |b| settings(&b))))
}

fn settings(b: &Buckets) -> Vec<Setting> {
    vec![
        Setting::new("beta", f64::from(b.beta)),
        Setting::new("p_g", b.p_gate),
        Setting::new("p_a", b.p_auth),
    ]
}

/// The best parameters for the request.
///
/// # Errors
/// A request that makes no sense, or a limit on checking too low for any bucket size.
pub fn search(request: &Request) -> Result<Parameters, Refusal> {
    static FOUND: Remembered<Request, Result<Parameters, Refusal>> = Remembered::new();
    FOUND.get(*request, || search_anew(request))
}

fn search_anew(request: &Request) -> Result<Parameters, Refusal> {
    validate(request)?;
    let mut best: Option<Parameters> = None;
    for beta in 2..=MAX_BETA {
        if let Some(best) = &best {
            // Larger buckets cost more even if nothing were checked.
            let free = request.cost.expected_bytes(&with_rates(request, beta, 0, 0));
            if request.objective == Objective::Bucket || free > best.bytes {
                break;
            }
        }
        let Some(found) = cheapest(request, beta).map(|b| complete(request, b)) else {
            continue;
        };
        if best.as_ref().is_none_or(|b| found.bytes < b.bytes) {
            best = Some(found);
        }
    }
    best.ok_or_else(|| {
        let relaxed = Request {
            most_checked: 0.99,
            ..*request
        };
        let nearest = (2..=MAX_BETA).filter_map(|beta| cheapest(&relaxed, beta));
        let nearest = nearest.min_by(|a, b| a.p_gate.max(a.p_auth).total_cmp(&b.p_gate.max(b.p_auth)));
        let setting = nearest.map(|b| Setting::new("most_checked", b.p_gate.max(b.p_auth)));
        Refusal::new("lego")
            .because(
                format!(
                    "Theorem 2's bounds <= 2^-{} for some beta <= {MAX_BETA}",
                    request.security
                ),
                format!(
                    "at most {} of the gates checked, q = {}, n = {}",
                    request.most_checked, request.gates, request.inputs
                ),
            )
            .nearest(setting.into_iter().collect())
    })
}

fn with_rates(request: &Request, beta: u32, p_gate: u32, p_auth: u32) -> Buckets {
    Buckets {
        gates: request.gates,
        inputs: request.inputs,
        input_buckets: request.input_buckets,
        beta,
        alpha: beta - 1,
        beta_input: 2 * beta + 1,
        alpha_input: 2 * beta - 1,
        p_gate: f64::from(p_gate) / f64::from(GRID),
        p_auth: f64::from(p_auth) / f64::from(GRID),
    }
}

/// The smallest value in `low..=high` for which `holds`, which stays true once it is.
fn smallest(mut low: u32, high: u32, holds: impl Fn(u32) -> bool) -> Option<u32> {
    if low > high || !holds(high) {
        return None;
    }
    let mut high = high;
    while low < high {
        let middle = low + (high - low) / 2;
        if holds(middle) {
            high = middle
        } else {
            low = middle + 1
        }
    }
    Some(high)
}

/// The cheapest probabilities of checking for one bucket size, by the expected bytes.
///
/// The input bounds give the least `p_g` and `p_a`; the AND bound then gives the least `p_a` for every `p_g`, and the cost of the
/// pair falls and rises with `p_g`.
fn cheapest(request: &Request, beta: u32) -> Option<Buckets> {
    let (s, most) = (
        request.security,
        ((request.most_checked * f64::from(GRID)) as u32).min(GRID - 1),
    );
    let least_gate = smallest(1, most, |p| {
        with_rates(request, beta, p, 1)
            .any_bad_input_bucket(GATE_FOUND)
            .meets(s)
    })?;
    let least_auth = smallest(1, most, |p| {
        with_rates(request, beta, 1, p)
            .any_bad_input_authenticator()
            .meets(s)
    })?;
    let at = |p_gate: u32| {
        let gates = with_rates(request, beta, p_gate, 1).gates_of_and_bucket(GATE_FOUND);
        let p_auth = smallest(least_auth, most, |p| {
            with_rates(request, beta, p_gate, p)
                .any_bad_and_bucket_of(&gates)
                .meets(s)
        })?;
        let buckets = with_rates(request, beta, p_gate, p_auth);
        Some((request.cost.expected_bytes(&buckets), buckets))
    };
    let least_gate = smallest(least_gate, most, |p| at(p).is_some())?;
    let cost = |p: u32| at(p).map_or(f64::INFINITY, |(bytes, _)| bytes);
    let (mut low, mut high) = (least_gate, most);
    while high - low > 8 {
        let third = (high - low) / 3;
        let (a, b) = (low + third, high - third);
        if cost(a) <= cost(b) { high = b } else { low = a }
    }
    (low..=high)
        .filter_map(at)
        .min_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, buckets)| buckets)
}

fn complete(request: &Request, buckets: Buckets) -> Parameters {
    let garbled_gates = generated(buckets.gates_needed(), buckets.p_gate, request.security);
    let authenticators = generated(buckets.authenticators_needed(), buckets.p_auth, request.security);
    let bytes = request
        .cost
        .bytes(&buckets, garbled_gates as f64, authenticators as f64);
    Parameters {
        buckets,
        garbled_gates,
        authenticators,
        bytes,
        errors: buckets.errors(),
    }
}
