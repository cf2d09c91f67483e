//! The three-party numbers that the paper states, searches against brute force, and refusals.

use cenote_params::three::{
    BLOCK_BITS, ErrorKind, Parameters, Variant, Workload, check, check_level, check_mixed, preferred, search,
};
use cenote_params::{Refusal, Setting};
use proptest::prelude::*;

fn forever(security: u32) -> Workload {
    Workload {
        security,
        ..Workload::default()
    }
}

#[test]
fn forty_bits_for_ever_as_in_table_two() {
    let expected = [
        (Variant::Baseline, 3, 1, 10.0),
        (Variant::CacheEfficient, 3, 512, 10.0),
        (Variant::Reshuffle, 2, 512, 7.0),
        (Variant::OnDemand, 2, 512, 7.0),
    ];
    for (variant, b, l, bits) in expected {
        let p = search(variant, &forever(40)).unwrap();
        assert_eq!(
            (p.n(), p.b(), p.l(), p.k()),
            (1 << 20, b, l, 1 << 20),
            "{variant}"
        );
        assert!(
            p.bits_per_and() >= bits && p.bits_per_and() < bits + 0.01,
            "{variant}: {}",
            p.bits_per_and()
        );
        assert!(
            p.error().meets(40) && p.error().log2() > -40.01,
            "{variant}: {}",
            p.error()
        );
        assert_eq!(p.theorem_bound().log2(), -40.0);
        assert_eq!(p.error_kind(), ErrorKind::Exact);
        assert_eq!(check(variant, p.n(), p.b(), p.c(), p.l()).unwrap(), p);
    }
    assert_eq!(search(Variant::OnDemand, &forever(40)).unwrap().c(), 3);
}

#[test]
fn small_batches_with_larger_buckets_reach_forty_bits_too() {
    let p = check(Variant::OnDemand, 1 << 10, 4, 3, 8)
        .unwrap()
        .require(40)
        .unwrap();
    assert_eq!(p.x(), 131);
    // A job of 1000 blocks does not wait for 2^20.
    let p = search(
        Variant::OnDemand,
        &Workload {
            blocks: Some(1000),
            ..forever(40)
        },
    )
    .unwrap();
    assert!(p.n() <= 1024 && p.error().meets(40), "{p:?}");
}

#[test]
fn bits_are_what_the_protocol_sends() {
    // d_1 and d_2 of 2^10, B = 4: 4 * 1024 + 3 * 8 * 3 multiplied, 3 * 1024 checks of 2 bits, 72 opened of 3 bits.
    let p = check(Variant::OnDemand, 1 << 10, 4, 3, 8).unwrap();
    assert_eq!(
        (p.blocks_opened(), p.blocks_per_batch(), p.checks_per_batch()),
        (72, 4096 + 72, 3072)
    );
    assert_eq!(p.blocks_sent_per_batch(), 4168 + 2 * 3072 + 3 * 72);
    assert_eq!(p.bits_per_and(), (4168.0 + 6144.0 + 216.0) / 1024.0 + 3.0);
    let job = p.job_cost(1500);
    assert_eq!((job.batches, job.blocks_generated), (3, 3 * 4168));
    assert_eq!(job.blocks_sent, 3 * p.blocks_sent_per_batch() + 3 * 1500);
    // A reshuffled batch is filled up with gates.
    let p = check(Variant::Reshuffle, 1 << 10, 4, 1, 4).unwrap();
    assert_eq!(
        (p.job_cost(1500).batches, p.job_cost(1500).gate_blocks),
        (2, 2048)
    );
    let p = check(Variant::Baseline, 1 << 10, 4, 2, 1).unwrap();
    assert_eq!((p.x(), p.blocks_opened(), p.job_cost(1024).batches), (1026, 6, 1));
}

#[test]
fn memory_is_what_a_worker_stores() {
    // One batch being made and one waiting, those for a full log and what is left of another, d_1 with its names, the log,
    // permutations.
    let p = check(Variant::OnDemand, 1 << 10, 4, 3, 8).unwrap();
    assert_eq!(p.blocks_held(), (4 * 1024 + 3 * 8 * 3) + (2 + 8) * 1024 + 1024);
    let (product, gate) = (2 * 64, 6 * 64);
    let fixed = 1024 * 16 + 4 * (2 * (131 + 8) + 1024);
    let expected = p.blocks_held() * product + (1 << 13) * gate + fixed;
    assert_eq!(p.memory_bytes(512), expected);
    // Only what is made of blocks grows with them.
    assert_eq!(2 * (p.memory_bytes(512) - p.memory_bytes(256)), expected - fixed);
    // No names and no d_1 where triples are used in order; the permutation is of the whole array.
    let p = check(Variant::Baseline, 1 << 10, 4, 2, 1).unwrap();
    let expected = (4 * 1024 + 3 * 2 + (2 + 8) * 1024) * product + (1 << 13) * gate;
    assert_eq!(p.memory_bytes(512), expected + 4 * (2 * (1026 + 1) + 1024));
    // All gates of a batch wait for its reshuffle, which is a permutation of them.
    let p = check(Variant::Reshuffle, 1 << 10, 4, 1, 4).unwrap();
    let expected = (4 * 1024 + 3 * 4 + (2 + 1) * 1024) * product + 1024 * gate;
    assert_eq!(p.memory_bytes(512), expected + 4 * (2 * (257 + 4) + 2 * 1024));
}

#[test]
fn a_set_for_a_level_must_meet_everything_at_once() {
    let of = |n: u64, b, c, l| check_level(Variant::OnDemand, (n, b, c, l, n), 40);
    let p = of(1 << 20, 2, 3, 512).unwrap();
    assert_eq!(p, search(Variant::OnDemand, &forever(40)).unwrap());
    // C = 2 alone is mended by C = 3; where the error is too large as well, both are said and mended.
    let refusal = of(1 << 20, 2, 2, 512).unwrap_err();
    assert_eq!(
        (refusal.violated.len(), refusal.nearest_value("C")),
        (1, Some(3.0))
    );
    for (n, b, c, l) in [(1 << 10, 2, 2, 8), (20, 1, 0, 0), (1 << 10, 2, 3, 8)] {
        let refusal = of(n, b, c, l).unwrap_err();
        assert!(refusal.to_string().contains("error <= 2^-40"), "{refusal}");
        let value = |name| refusal.nearest_value(name).unwrap() as u64;
        let nearest = of(value("N"), value("B") as u32, value("C") as u32, value("L"));
        assert!(nearest.is_ok(), "{refusal}");
    }
    let refusal = check_level(Variant::Baseline, (1 << 20, 3, 1, 1, 1 << 20), 0).unwrap_err();
    assert_eq!(refusal.nearest_value("security"), Some(1.0));
    // Mixed sizes.
    let mixed = |k: u64| check_level(Variant::Baseline, (1 << 19, 3, 1, 1, k), 40);
    assert!(mixed(1 << 17).is_ok());
    for (k, why) in [(1 << 18, "error <= 2^-40"), (0, "1 <= k <= N")] {
        let refusal = mixed(k).unwrap_err();
        assert!(refusal.to_string().contains(why), "{refusal}");
    }
}

fn cost(workload: &Workload, p: &Parameters) -> f64 {
    workload
        .blocks
        .map_or_else(|| p.bits_per_and(), |blocks| p.job_cost(blocks).bits_per_and)
}

#[test]
fn search_is_never_beaten_by_brute_force() {
    for variant in Variant::ALL {
        for blocks in [
            None,
            Some(1),
            Some(300),
            Some(5_000),
            Some(200_000),
            Some(1 << 24),
        ] {
            for (security, memory_limit) in [(40, None), (64, Some(1 << 30)), (80, Some(50 << 20))] {
                let workload = Workload {
                    blocks,
                    memory_limit,
                    ..forever(security)
                };
                let found = search(variant, &workload).unwrap();
                assert!(found.error().meets(security));
                assert!(memory_limit.is_none_or(|limit| found.memory_bytes(BLOCK_BITS) <= limit));
                let all = (0..=22).flat_map(|i| (2..60).filter_map(move |b| preferred(variant, 1 << i, b)));
                let best = all
                    .filter(|p| {
                        p.error().meets(security)
                            && memory_limit.is_none_or(|m| p.memory_bytes(BLOCK_BITS) <= m)
                    })
                    .map(|p| cost(&workload, &p))
                    .fold(f64::INFINITY, f64::min);
                assert!(
                    cost(&workload, &found) <= 1.005 * best,
                    "{variant} {workload:?}: {found:?}, {best}"
                );
            }
        }
    }
}

#[test]
fn limits_are_kept_or_refused_with_what_would_do() {
    let limited = Workload {
        memory_limit: Some(100 << 20),
        latency: Some(300_000),
        ..forever(40)
    };
    let p = search(Variant::OnDemand, &limited).unwrap();
    assert!(p.memory_bytes(BLOCK_BITS) <= 100 << 20 && p.blocks_before_first_gate() <= 300_000 && p.b() == 3);

    let refusal = search(
        Variant::OnDemand,
        &Workload {
            memory_limit: Some(1000),
            ..forever(40)
        },
    )
    .unwrap_err();
    assert!(
        refusal.to_string().contains("triple storage <= 1000 bytes"),
        "{refusal}"
    );
    let memory_limit = refusal.nearest_value("memory_limit").map(|m| m as u64);
    assert!(
        search(
            Variant::OnDemand,
            &Workload {
                memory_limit,
                ..forever(40)
            }
        )
        .is_ok()
    );

    let refusal = search(
        Variant::OnDemand,
        &Workload {
            latency: Some(10),
            ..forever(40)
        },
    )
    .unwrap_err();
    assert!(
        refusal.to_string().contains("blocks before the first gate <= 10"),
        "{refusal}"
    );
    let latency = refusal.nearest_value("latency").map(|m| m as u64);
    assert!(
        search(
            Variant::OnDemand,
            &Workload {
                latency,
                ..forever(40)
            }
        )
        .is_ok()
    );

    for security in [0, 129] {
        let refusal = search(Variant::Baseline, &forever(security)).unwrap_err();
        assert!(
            search(
                Variant::Baseline,
                &forever(refusal.nearest_value("security").unwrap() as u32)
            )
            .is_ok()
        );
    }
}

#[test]
fn every_failing_condition_is_named() {
    let refusal = check(Variant::OnDemand, 20, 1, 2, 4).unwrap_err();
    let text = refusal.to_string();
    for condition in ["B >= 2", "L >= 5", "C >= 3", "X - C >= 6", "Theorem 3.11"] {
        assert!(text.contains(condition), "{text}");
    }
    assert!(
        check(Variant::OnDemand, 16 * 16, 2, 3, 16)
            .unwrap_err()
            .to_string()
            .contains("X > L + C")
    );
    assert!(
        check(Variant::Reshuffle, 8, 2, 1, 2)
            .unwrap_err()
            .to_string()
            .contains("X^L >= (X L)^2")
    );
    assert!(
        check(Variant::Baseline, 8, 2, 1, 2)
            .unwrap_err()
            .to_string()
            .contains("L = 1")
    );
    assert!(
        check(Variant::CacheEfficient, 9, 2, 1, 2)
            .unwrap_err()
            .to_string()
            .contains("L divides N")
    );
    let long = check(Variant::CacheEfficient, 1 << 20, 3, 1, 4).unwrap_err();
    assert!(long.to_string().contains("16-bit indices"), "{long}");
    assert!(
        check_mixed(Variant::OnDemand, 1 << 10, 4, 3, 8, 512)
            .unwrap_err()
            .to_string()
            .contains("k = N")
    );
    let low = check(Variant::OnDemand, 1 << 10, 2, 3, 8)
        .unwrap()
        .require(40)
        .unwrap_err();
    assert_eq!(low.nearest_value("N"), Some(f64::from(1 << 20)), "{low}");
    assert_eq!("on-demand".parse(), Ok(Variant::OnDemand));
    let refusal = "on demand".parse::<Variant>().unwrap_err();
    assert_eq!(refusal.violated[0].found, "on demand");
}

fn accepted(variant: Variant, refusal: &Refusal) -> bool {
    let value = |name| refusal.nearest_value(name).map(|v| v as u64);
    let get = |name| value(name).unwrap_or_else(|| panic!("{name} missing: {refusal}"));
    let n = get("N");
    check_mixed(
        variant,
        n,
        get("B") as u32,
        get("C") as u32,
        get("L"),
        value("k").unwrap_or(n),
    )
    .is_ok()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]
    #[test]
    fn what_is_called_nearest_is_accepted(
        v in 0usize..4, n in prop_oneof![0u64..100, 0u64..1 << 22, any::<u64>()], b in prop_oneof![0u32..9, any::<u32>()],
        c in prop_oneof![0u32..9, any::<u32>()], l in prop_oneof![0u64..9, 0u64..2000, any::<u64>()],
        k in prop_oneof![Just(None), (0u64..1 << 22).prop_map(Some)],
    ) {
        let variant = Variant::ALL[v];
        if let Err(refusal) = check_mixed(variant, n, b, c, l, k.unwrap_or(n)) {
            prop_assert!(!refusal.violated.is_empty());
            prop_assert!(accepted(variant, &refusal), "{}", refusal);
        }
    }
}

#[test]
fn json_has_the_promised_fields() {
    let p = search(Variant::OnDemand, &forever(40)).unwrap();
    let json: serde_json::Value = serde_json::to_value(&p).unwrap();
    for field in [
        "variant",
        "N",
        "B",
        "C",
        "L",
        "X",
        "k",
        "bits_per_and",
        "error_log2",
        "memory_bytes",
    ] {
        assert!(!json[field].is_null(), "{field}: {json}");
    }
    assert_eq!(json["variant"], "on-demand");
    let refusal = serde_json::to_value(check(Variant::OnDemand, 20, 2, 2, 4).unwrap_err()).unwrap();
    assert!(refusal["violated"][0]["condition"].is_string() && refusal["nearest"][0]["value"].is_number());
    assert_eq!(
        Setting {
            name: "N",
            value: 12.0
        }
        .to_string(),
        "N = 12"
    );
}

#[test]
fn jobs_of_any_size_are_answered() {
    for blocks in [0, 1, u64::MAX] {
        for variant in Variant::ALL {
            let p = search(
                variant,
                &Workload {
                    blocks: Some(blocks),
                    ..forever(40)
                },
            )
            .unwrap();
            assert!(p.error().meets(40) && p.job_cost(blocks).blocks_sent > 0);
        }
    }
}
