use cenote_circuit::{BitOrder, Builder};

use super::*;

#[test]
fn small_jobs_have_the_baseline_and_others_are_done_on_demand() {
    let mut b = Builder::new();
    let x = b.input("x", 2, BitOrder::Lsb);
    let and = b.and(x[0], x[1]);
    b.output("y", &[and], BitOrder::Lsb);
    let plan = Plan::new(&b.finish());
    let three = Three::default();
    let chosen = |three: Three, demand: Demand<'_>| three.triples(&demand).unwrap();
    for lanes in [1, 512, 100_000, 1_000_000, 50_000_000, 1_000_000_000] {
        let demand = || Demand::new().and_run(&plan, lanes, 1);
        let blocks = Three::and_blocks(&demand());
        let of = |variant: Variant| {
            let variant = Some(variant.into());
            chosen(Three { variant, ..three }, demand())
        };
        let (baseline, on_demand) = (of(Variant::Baseline), of(Variant::OnDemand));
        let sent = |parameters: &Parameters| parameters.job_cost(blocks).blocks_sent;
        let is_less = sent(&baseline) < sent(&on_demand);
        assert_eq!(is_less, lanes <= 1_000_000, "{lanes}");
        assert_eq!(
            chosen(three, demand()),
            if is_less { baseline } else { on_demand }
        );
    }
    // One block: much less, and what is not known to be small is not taken to be.
    let one = chosen(three, Demand::new().and_run(&plan, 1, 1));
    assert!(one.job_cost(1).blocks_sent <= 300 && one.error().meets(40));
    for unknown in [Demand::new(), Demand::new().and_gates(1)] {
        assert_eq!(chosen(three, unknown).variant(), Variant::OnDemand);
    }
}

/// Only sessions of many gates take much memory for triples. What cannot be had for less is had for more.
#[test]
fn few_gates_take_little_memory() {
    let chosen = |three: Three, gates: u64| three.triples(&Demand::new().and_gates(gates)).unwrap();
    let bytes = |parameters: &Parameters| parameters.memory_bytes(BLOCK_BITS as u32);
    for gates in [1, 1_000_000, 1 << 30, 10_000_000_000] {
        assert!(bytes(&chosen(Three::default(), gates)) < MEMORY, "{gates}");
    }
    let large = chosen(Three::default(), 100_000_000_000);
    assert!(large.b() == 2 && bytes(&large) > 500_000_000);
    for variant in Variant::ALL {
        let three = Three {
            variant: Some(variant.into()),
            security: 128,
            ..Three::default()
        };
        assert!(chosen(three, 1).error().meets(128), "{variant:?}");
    }
}

/// A layer of more gates than a batch has is proved as a whole, and three logs are as large.
#[test]
fn wide_layers_take_more_memory() {
    let stated = |ands: usize| {
        let mut b = Builder::new();
        let x = b.input("x", ands as u32 + 1, BitOrder::Lsb);
        let products: Vec<_> = (0..ands).map(|index| b.and(x[index], x[index + 1])).collect();
        b.output("y", &products, BitOrder::Lsb);
        let plan = Plan::new(&b.finish());
        let demand = Demand::new().and_run(&plan, 512, 1);
        let three = Three::default();
        let method = three.prepare(&demand).unwrap();
        three.memory_bytes(&method, &demand, PartyId(0))
    };
    // 2^15 blocks are a batch.
    let (batch, more) = (stated(1 << 15), stated(1 << 16));
    let log = (1u64 << 15) * 512 * 6 / 8;
    assert!(more > batch + 3 * log, "{more} {batch}");
}

/// Proofs are what a job has that says nothing, unless they do not have the security that it asks for.
#[test]
fn gates_are_proved_unless_it_is_said_otherwise() {
    for (variant, security, proves) in [
        (None, 40, true),
        (None, 120, true),
        (None, 121, false),
        (Some(Verification::Proofs), 40, true),
        (Some(Variant::Baseline.into()), 40, false),
    ] {
        let three = Three {
            variant,
            security,
            ..Three::default()
        };
        let method = three.prepare(&Demand::new().and_gates(1000)).unwrap();
        assert_eq!(
            matches!(method, Method::Proofs(_)),
            proves,
            "{variant:?} {security}"
        );
        assert!(method.error().meets(security));
        assert_eq!(Protocol::item(&three).is_err(), proves);
        let rivals: Vec<_> = three.rivals().into_iter().map(|(what, _)| what).collect();
        let expected: &[&str] = match (proves, security) {
            (true, _) => &["triples"],
            (false, 121) => &[],
            (false, _) => &["proofs"],
        };
        assert_eq!(rivals, expected);
    }
}
