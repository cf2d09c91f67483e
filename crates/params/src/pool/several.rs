//! One error budget over several pools (AND gates, MUXCOREs of each width, input buckets).

use serde::Serialize;

use super::search::{Parameters, Request, search};
use crate::{LogProb, Refusal, Setting};

/// By how much an error bound is larger, as a base-2 logarithm, if so many pools before the one that it is for ended with a check that failed or was cut
/// off: each of them was a try more.
#[must_use]
pub fn tries_log2(ends: u32) -> f64 {
    (f64::from(ends) + 1.0).log2()
}

/// One pool of several and its share of the budget.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PoolShare {
    /// The share: this pool's error is at most this.
    #[serde(rename = "budget_log2")]
    pub budget: LogProb,
    /// Its parameters.
    pub parameters: Parameters,
}

/// Parameters for several pools of one service whose errors together are at most `2^-security`.
///
/// Whichever pool fails, the service fails, so the errors add up (union bound) and the budget is split: pool `i` gets
/// `2^-security w_i / sum w`. Equal weights cost each of `m` pools `log2 m` bits; a larger weight suits the pool that more gadgets
/// are drawn from.
///
/// # Errors
/// If there is no pool, a weight is not positive, or one pool cannot meet its share.
pub fn split(security: u32, pools: &[(Request, f64)]) -> Result<Vec<PoolShare>, Refusal> {
    let total: f64 = pools.iter().map(|(_, weight)| weight).sum();
    if pools.is_empty() || !total.is_finite() || pools.iter().any(|(_, w)| w.is_nan() || *w <= 0.0) {
        let weights: Vec<f64> = pools.iter().map(|(_, w)| *w).collect();
        return Err(Refusal::new("pools")
            .because(
                "every pool has a positive weight",
                format!("weights = {weights:?}"),
            )
            .nearest(vec![Setting::new("weight", 1.0)]));
    }
    let shares = pools.iter().map(|(request, weight)| {
        let security_bits = f64::from(security) - (weight / total).log2();
        let parameters = search(&Request {
            security_bits,
            ..*request
        })?;
        Ok(PoolShare {
            budget: LogProb::from_log2(-security_bits),
            parameters,
        })
    });
    shares.collect()
}
