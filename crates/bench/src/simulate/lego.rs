//! LEGO cut-and-choose and bucketing, gadget by gadget.

use rand::RngExt;
use rand::rngs::StdRng;
use rand::seq::SliceRandom;

use super::experiment::Experiment;
use cenote_params::lego::{AUTHENTICATOR_FOUND, Buckets, GATE_FOUND, attack};

/// The game of Theorem 2: the adversary garbles some gates and authenticators badly and wins if no check finds one and some
/// bucket comes out bad. The exact value is that of [`attack`]; the bound is the sum of the theorem's three.
#[must_use]
pub fn lego(buckets: Buckets) -> Vec<Experiment> {
    let bound = buckets.errors().sum();
    let majority = buckets.alpha_input / 2 + 1;
    let adversaries = [
        (buckets.beta, 0),
        (1, buckets.alpha),
        (0, majority),
        (buckets.beta_input / 2 + 1, 0),
        (2 * buckets.beta, 0),
        (buckets.beta, buckets.alpha),
        (buckets.beta - 1, 0),
    ];
    let mut list: Vec<Experiment> = adversaries
        .into_iter()
        .map(|(bad_gates, bad_authenticators)| Experiment {
            game: "lego",
            adversary: format!("{bad_gates} bad gates, {bad_authenticators} bad authenticators"),
            exact: attack(&buckets, bad_gates, bad_authenticators).ok(),
            bound,
            trial: Box::new(move |rng| {
                let b = &buckets;
                let gates = survivors(bad_gates, b.p_gate, GATE_FOUND, b.gates_needed(), rng);
                let Some(gates) = gates else { return false };
                let found = AUTHENTICATOR_FOUND;
                let authenticators = survivors(
                    bad_authenticators,
                    b.p_auth,
                    found,
                    b.authenticators_needed(),
                    rng,
                );
                authenticators.is_some_and(|authenticators| any_bad(b, &gates, &authenticators))
            }),
        })
        .collect();
    list.sort_by(|a, b| b.exact.partial_cmp(&a.exact).unwrap_or(std::cmp::Ordering::Equal));
    list
}

/// Cut-and-choose: the `needed` unchecked gadgets in random order, all unchecked bad ones among them; `None` if a bad one is found.
fn survivors(bad: u32, check: f64, found: f64, needed: u64, rng: &mut StdRng) -> Option<Vec<bool>> {
    let mut kept = Vec::with_capacity(needed as usize);
    for _ in 0..bad {
        if !rng.random_bool(check) {
            kept.push(true);
        } else if rng.random_bool(found) {
            return None;
        }
    }
    kept.resize(needed as usize, false);
    kept.shuffle(rng);
    Some(kept)
}

fn any_bad(b: &Buckets, gates: &[bool], authenticators: &[bool]) -> bool {
    let count = |part: &[bool]| part.iter().filter(|&&bad| bad).count();
    let (and_gates, input_gates) = gates.split_at((b.gates * u64::from(b.beta)) as usize);
    let (and_auths, input_auths) = authenticators.split_at((b.gates * u64::from(b.alpha)) as usize);
    let mut and_buckets = and_gates
        .chunks(b.beta as usize)
        .zip(and_auths.chunks(b.alpha as usize));
    let majority_bad = |part: &[bool]| 2 * count(part) > part.len();
    and_buckets.any(|(gates, auths)| {
        let (bad_gates, bad) = (count(gates), count(gates) + count(auths));
        bad_gates > 0 && 2 * bad >= gates.len() + auths.len()
    }) || input_gates.chunks(b.beta_input as usize).any(majority_bad)
        || input_auths.chunks(b.alpha_input as usize).any(majority_bad)
}
