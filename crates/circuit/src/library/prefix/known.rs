//! The plans that searches found: circuits add up words of the same widths again and again.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

use super::{Arrival, Plan, Wanted};

type Plans = HashMap<(Vec<Arrival>, Wanted), Arc<Plan>>;

static PLANS: LazyLock<Mutex<Plans>> = LazyLock::new(Mutex::default);

/// As many at most: some tens of megabytes.
const PLANS_KEPT: usize = 2000;

fn lock() -> MutexGuard<'static, Plans> {
    // Each plan is entered whole, so that a panic elsewhere leaves no half of one.
    PLANS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The plan for positions that arrive like this, if one was found before; else the one that `find` gives.
pub(super) fn plan(
    arrivals: Vec<Arrival>,
    wanted: Wanted,
    find: impl FnOnce(&[Arrival]) -> Arc<Plan>,
) -> Arc<Plan> {
    let key = (from_zero(arrivals), wanted);
    if let Some(known) = lock().get(&key) {
        return known.clone();
    }
    let found = find(&key.0);
    let mut plans = lock();
    if plans.len() >= PLANS_KEPT {
        plans.clear();
    }
    plans.insert(key, found.clone());
    found
}

/// Only differences of depths matter, so that the first may arrive at 0.
fn from_zero(mut arrivals: Vec<Arrival>) -> Vec<Arrival> {
    let first = arrivals
        .iter()
        .map(|arrival| arrival.propagate)
        .min()
        .unwrap_or(0);
    for arrival in &mut arrivals {
        arrival.propagate -= first;
        arrival.generate -= first;
    }
    arrivals
}
