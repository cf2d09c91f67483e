//! What cannot be answered is refused with a sentence and a way out.

use crate::common::{json, nearest, params, refused};

#[test]
fn refusals_name_every_condition_and_parameters_that_pass() {
    let failure = refused(
        "three --n 20 --b 1 --c 2 --l 4",
        &[
            "B >= 2",
            "C >= 3 (Theorem 3.11)",
            "L >= 5",
            "X - C >= 6",
            "error <= 2^-40",
            "nearest: N = ",
        ],
    );
    let failed = failure["error"]["refusal"]["violated"].as_array().unwrap();
    assert!(failed.len() >= 5 && failed[0]["found"].is_string());
    let line =
        ["N", "B", "C", "L"].map(|name| format!("--{} {}", name.to_lowercase(), nearest(&failure, name)));
    json(&format!("three {}", line.join(" ")));

    let failure = refused(
        "three --memory 1M",
        &["triple storage <= 1000000 bytes", "at least"],
    );
    json(&format!("three --memory {}", nearest(&failure, "memory_limit")));
    let failure = refused("three --latency 10", &["blocks before the first gate <= 10"]);
    json(&format!("three --latency {}", nearest(&failure, "latency")));

    let failure = refused(
        "lego --beta 3 --p-gate 0.1 --p-auth 0.1",
        &[
            "any bad AND bucket",
            "any bad input authenticator",
            "any bad input bucket",
        ],
    );
    let [beta, p_g, p_a] = ["beta", "p_g", "p_a"].map(|name| nearest(&failure, name));
    json(&format!("lego --beta {beta} --p-gate {p_g} --p-auth {p_a}"));
    let failure = refused("lego --most-checked 0.0001", &["Theorem 2", "most_checked"]);
    json(&format!(
        "lego --most-checked {}",
        nearest(&failure, "most_checked")
    ));
    refused(
        "lego --and-gates 2^63 --copies 2^63",
        &["1 <= q <= 2^40", "1 <= n <= 2^40"],
    );
    refused("lego --copies 0", &["q = 0", "n = 0"]);

    let failure = refused("pool --bucket 3 --check-rate 0.01", &["error <= 2^-40"]);
    json(&format!(
        "pool --bucket {} --check-rate {}",
        nearest(&failure, "B"),
        nearest(&failure, "r_c")
    ));
    let failure = refused("pool --pool-size 3", &["n = 3"]);
    json(&format!("pool --pool-size {}", nearest(&failure, "n")));
    refused(
        "pool --pool-size 1G --bucket 4 --check-rate 1e-12",
        &["log(1 - r_c r_d)", "nearest"],
    );
    refused(
        "pool --pool-size 1G --bucket 4294967295 --check-rate 0.1",
        &["2 <= B <= 400"],
    );
    refused("pool --reveal-rate 0", &["1/16 <= r_d <= 1"]);
    let failure = refused("triples --pool-size 10", &["some B <= n reaches 2^-40"]);
    json(&format!("triples --pool-size {}", nearest(&failure, "n")));

    for (protocol, highest) in [
        ("proofs", 120),
        ("three", 128),
        ("lego", 128),
        ("pool", 160),
        ("triples --bucket 3", 128),
    ] {
        let failure = refused(&format!("{protocol} --security 1000"), &["1 <= security <= "]);
        assert_eq!(nearest(&failure, "security"), f64::from(highest));
        refused(&format!("{protocol} --security 0"), &["security = 0"]);
    }
    refused(
        "three --n 2^20 --b 3 --c 2 --security 0",
        &["1 <= security <= 128"],
    );
}

#[test]
fn misuse_gets_a_sentence() {
    for (line, part) in [
        (
            "three --variant fastest",
            "possible values: baseline, cache-efficient, reshuffle, on-demand",
        ),
        ("three --n 2^20", "--b <SIZE>"),
        ("three --n 2^20 --b 2 --memory 5", "cannot be used with"),
        ("three --n lots --b 2", "give a whole number"),
        ("three --block-bits 100", "multiple of 64"),
        ("three --plot three.pdf", "ends in .svg or .png"),
        ("three --curve cost", "--plot <FILE>"),
        ("lego --beta 3", "--p-gate"),
        (
            "lego --beta 7 --p-gate .1 --p-auth .1 --goal online",
            "cannot be used with",
        ),
        ("pool --bucket 3", "--check-rate"),
        ("triples", "--pool-size"),
        ("game 5", "unrecognized subcommand"),
        ("game 1 --trials 0", "at least one trial"),
        ("game 1 --x 2 --c 2", "0 < C < X"),
        ("game 2 --x 2^40", "at most 16,777,216 balls"),
        ("game 4 --sizes 2,0", "every bucket holds a ball"),
        ("game pool --check-rate 0.0001", "take 0.01 or more"),
        ("game pool --pool-size 1M", "at most 4,096 gadgets"),
        ("game triples --pool-size 1 --bucket 2", "B <= n"),
        ("game lego --p-gate 2", "0 < p_g < 1"),
    ] {
        refused(line, &[part]);
    }
    let ended = params("three --plot /nowhere/at/all.svg");
    assert_eq!(ended.code, Some(1));
    assert!(
        ended.stderr.contains("writing /nowhere/at/all.svg"),
        "{}",
        ended.stderr
    );
}
