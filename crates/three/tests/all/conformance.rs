//! The programs that every engine must run, over each variant and view check.

use crate::common::{Three, proofs, tiny};
use cenote_params::three::Variant;
use cenote_session::conformance;
use cenote_three::ViewCheck;

fn suite(variant: Variant, view_check: ViewCheck) {
    conformance::all(&Three {
        method: tiny(variant).into(),
        view_check,
    });
}

#[test]
fn on_demand_with_mac() {
    suite(Variant::OnDemand, ViewCheck::Mac);
}

#[test]
fn on_demand_with_sha256() {
    suite(Variant::OnDemand, ViewCheck::Sha256);
}

#[test]
fn baseline_with_mac() {
    suite(Variant::Baseline, ViewCheck::Mac);
}

#[test]
fn baseline_with_sha256() {
    suite(Variant::Baseline, ViewCheck::Sha256);
}

#[test]
fn cache_efficient_with_mac() {
    suite(Variant::CacheEfficient, ViewCheck::Mac);
}

#[test]
fn proofs_of_small_batches() {
    for security in [40, 61] {
        conformance::all(&Three {
            method: proofs(security, 16).into(),
            view_check: ViewCheck::Mac,
        });
    }
}
