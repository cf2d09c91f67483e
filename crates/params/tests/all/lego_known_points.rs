//! The LEGO paper's Table V, and refusals.

use cenote_params::LogProb;
use cenote_params::lego::{Buckets, Objective, Request, attack, check, search};
use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::{One, ToPrimitive, Zero};

/// Copies of AES-128, beta, -log2 p_g, -log2 p_a, what the AND bound evaluates to.
const TABLE_5: [(u64, u32, i32, i32, f64); 4] = [
    (1, 7, 4, 3, -41.29),
    (32, 4, 2, 2, -40.60),
    (128, 4, 3, 3, -41.72),
    (1024, 4, 5, 6, -40.63),
];

fn table() -> impl Iterator<Item = (Request, Buckets, f64)> {
    TABLE_5.into_iter().map(|(copies, beta, p_g, p_a, bound)| {
        let request = Request::new(40, 6928 * copies, 256 * copies);
        let buckets = Buckets::new(
            6928 * copies,
            256 * copies,
            beta,
            0.5f64.powi(p_g),
            0.5f64.powi(p_a),
        )
        .unwrap();
        (request, buckets, bound)
    })
}

#[test]
fn the_bounds_of_table_five() {
    for (_, buckets, bound) in table() {
        // The paper counts on finding one of four input pairs.
        let errors = buckets.errors_if_found(0.25);
        assert_eq!((errors.and_bucket.log2() * 100.0).round() / 100.0, bound);
        assert_eq!(errors.largest(), errors.and_bucket);
    }
}

#[test]
fn ours_are_never_dearer() {
    for (request, table, _) in table() {
        let table = check(&request, table.beta, table.p_gate, table.p_auth).unwrap();
        let ours = search(&request).unwrap();
        assert!(ours.bytes() < table.bytes(), "{ours:?} {table:?}");
        assert!(ours.buckets().beta <= table.buckets().beta && ours.errors().largest().meets(40));
        let online = search(&Request::online(40, request.gates, request.inputs)).unwrap();
        assert!(online.buckets().beta <= ours.buckets().beta && online.errors().largest().meets(40));
        // Both are found by expected bytes.
        assert!(online.bytes() >= ours.bytes() * (1.0 - 1e-4));
    }
}

#[test]
fn theorem_2_agrees_with_rationals_to_1e_9_bits() {
    let rational = |n: u64| BigRational::from(BigInt::from(n));
    for (_, b, _) in table() {
        let (pg, pa) = (
            BigRational::from_float(b.p_gate).unwrap(),
            BigRational::from_float(b.p_auth).unwrap(),
        );
        let factor = |p: &BigRational, needed: u64, weight: u64| {
            let bad = (BigRational::one() - p) * rational(weight);
            &bad / (p * rational(needed) + &bad)
        };
        let gates = |from: u32, to: u32| {
            (from..=to).fold(BigRational::one(), |acc, i| {
                acc * factor(&pg, b.gates_needed(), 2 * u64::from(i))
            })
        };
        let auths = |from: u32, to: u32| {
            (from..=to).fold(BigRational::one(), |acc, j| {
                acc * factor(&pa, b.authenticators_needed(), 2 * u64::from(j))
            })
        };
        let sum = |terms: Vec<BigRational>| terms.into_iter().fold(BigRational::zero(), |a, b| a + b);
        let (beta, alpha) = (b.beta, b.alpha);
        let and = gates(1, beta)
            + sum((2..=beta)
                .map(|l| gates(l, beta) * auths(alpha + 2 - l, alpha))
                .collect());
        let authenticator = sum((1..=b.alpha_input.div_ceil(2))
            .map(|v| auths(v, b.alpha_input))
            .collect());
        let input = sum((1..=b.beta_input.div_ceil(2))
            .map(|l| gates(l, b.beta_input))
            .collect());
        let errors = b.errors();
        let exact = |count: u64, x: BigRational| (rational(count) * x).to_f64().unwrap().log2();
        assert!((errors.and_bucket.log2() - exact(b.gates, and)).abs() < 1e-9);
        assert!((errors.input_authenticator.log2() - exact(b.inputs, authenticator)).abs() < 1e-9);
        assert!((errors.input_bucket.log2() - exact(b.inputs, input)).abs() < 1e-9);
    }
}

#[test]
fn cheaper_probabilities_do_not_exist_on_a_coarse_grid() {
    let request = Request::new(40, 50_000, 500);
    let ours = search(&request).unwrap();
    let mut cheapest = f64::INFINITY;
    for beta in 2..=8 {
        for i in 1..32 {
            for j in 1..32 {
                // Refusals look for the cheapest, which takes far longer than to see that the bounds are not met.
                let [p_g, p_a] = [i, j].map(|part| f64::from(part) / 64.0);
                let buckets = Buckets::new(request.gates, request.inputs, beta, p_g, p_a).unwrap();
                if buckets.errors().largest().meets(request.security) {
                    let other = check(&request, beta, p_g, p_a).unwrap();
                    cheapest = cheapest.min(other.bytes());
                    assert!(ours.bytes() <= other.bytes() * (1.0 + 1e-4), "{other:?}");
                }
            }
        }
    }
    assert!(cheapest < ours.bytes() * 1.1, "the grid comes near");
}

#[test]
fn more_security_costs_more_and_more_gates_cost_less_each() {
    let bytes = |s, q| search(&Request::new(s, q, q / 20)).unwrap().bytes() / q as f64;
    for q in [1_000, 1_000_000, 1_000_000_000] {
        assert!(bytes(40, q) < bytes(64, q) && bytes(64, q) < bytes(128, q));
        assert!(bytes(40, 10 * q) < bytes(40, q));
    }
}

#[test]
fn attacks_at_real_sizes_stay_below_the_bound() {
    let (_, buckets, _) = table().next().unwrap();
    for (g, a) in [(7, 0), (1, 6), (4, 3), (14, 0), (40, 0), (0, 7), (8, 0)] {
        let exact = attack(&buckets, g, a).unwrap();
        assert!(exact < buckets.errors().sum(), "{g} {a}: {exact}");
    }
    let strong = attack(&buckets, 220, 0).unwrap();
    assert!(strong.log2() > -55.0, "an attack worth bounding: {strong}");
}

#[test]
fn refusals_name_the_condition_and_a_way_out() {
    let request = Request::new(40, 6928, 256);
    let low = check(&request, 6, 0.01, 0.01).unwrap_err();
    assert!(
        low.to_string()
            .contains("Pr[any bad AND bucket] <= 2^-40 (Theorem 2)"),
        "{low}"
    );
    let near = |name| low.nearest_value(name).unwrap();
    assert!(check(&request, near("beta") as u32, near("p_g"), near("p_a")).is_ok());
    assert!(
        check(&request, 1, 0.1, 0.1)
            .unwrap_err()
            .to_string()
            .contains("beta")
    );
    assert!(check(&request, 4, f64::NAN, 1.0).unwrap_err().violated.len() == 2);
    assert!(search(&Request::new(0, 0, 0)).unwrap_err().violated.len() == 3);

    let tight = Request {
        most_checked: 0.01,
        ..Request::new(128, 10, 1)
    };
    let refusal = search(&tight).unwrap_err();
    let relaxed = refusal.nearest_value("most_checked").unwrap();
    assert!(
        search(&Request {
            most_checked: relaxed,
            ..tight
        })
        .is_ok(),
        "{refusal}"
    );
}

#[test]
fn json_has_the_promised_fields() {
    let found = search(&Request {
        objective: Objective::Bytes,
        ..Request::new(40, 6928, 256)
    })
    .unwrap();
    let json = serde_json::to_value(&found).unwrap();
    let fields = [
        "beta",
        "alpha",
        "beta_input",
        "alpha_input",
        "p_gate",
        "p_auth",
        "garbled_gates",
        "authenticators",
        "bytes",
    ];
    for field in fields {
        assert!(json[field].is_number(), "{field}: {json}");
    }
    assert_eq!(json["error_log2"].as_array().unwrap().len(), 3);
    assert_eq!(
        f64::from(found.gate_threshold()) / 65536.0,
        found.buckets().p_gate
    );
}

/// Theorem 2's own bounds are too small for a handful of gates: what is computed must bound the best attack there too.
#[test]
fn no_number_of_bad_gates_beats_the_bounds_however_few_gates_there_are() {
    let mut beaten = 0;
    for (security, q, n) in [
        (1, 1, 1),
        (20, 1, 1),
        (40, 1, 1),
        (40, 16, 8),
        (40, 256, 16),
        (80, 40, 1),
    ] {
        let found = search(&Request::new(security, q, n)).unwrap();
        let buckets = found.buckets();
        let numbers = (1..24).chain((24..400).step_by(7));
        let best = numbers
            .map(|bad| attack(buckets, bad, 0).unwrap())
            .fold(LogProb::ZERO, LogProb::max);
        let bound = found.errors().sum();
        assert!(best <= bound, "{security} {q} {n}: {best} {bound}");
        // The sum of the theorem for a majority of an input bucket.
        let a = (1.0 - buckets.p_gate) / (buckets.p_gate * 0.5);
        let product = |from: u32| -> f64 {
            let factor = |i: u32| 1.0 / (1.0 + buckets.gates_needed() as f64 / (f64::from(i) * a));
            (from..=buckets.beta_input).map(factor).product()
        };
        let theorem: f64 = (1..=buckets.beta_input.div_ceil(2)).map(product).sum();
        beaten += u32::from(theorem * (n as f64) < best.probability());
    }
    assert!(beaten > 0, "the sizes are small enough to tell");
}
