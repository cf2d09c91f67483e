use cenote_circuit::{Plan, library};
use cenote_session::Parties;

use super::*;

fn plan(circuit: &str) -> Plan {
    Plan::new(&library::by_name(circuit).unwrap())
}

#[test]
fn a_small_job_makes_little_more_than_it_draws() {
    let plan = plan("add64");
    for (lanes, pool, buffers) in [(1, 1000, 1.0), (16, 2000, 1.0), (1 << 12, 128_000, 14.0)] {
        let demand = Demand::new()
            .and_run(&plan, lanes, 1)
            .and_input(PartyId(1), 128 * lanes as u64)
            .and_output(Parties::one(PartyId(1)), 64 * lanes as u64);
        let prepared = Jimu::default().prepare(&demand).unwrap();
        let Prepared { sizes, works, .. } = &prepared;
        assert_eq!((works[0].buckets, &sizes.mux), (demand.ands(), &None));
        assert!(sizes.pool.pool_size() <= pool, "{sizes:?}");
        let kinds: Vec<_> = prepared.kinds().collect();
        let [(_, 1, work, made)] = kinds[..] else {
            panic!("one pool");
        };
        assert!(made <= buffers, "{made}");
        assert!(prepared.ahead[0] < made.max(1.0) as u64);
        let made = made * f64::from(prepared.buffers[0]);
        let needed = work.made(&sizes.pool, &sizes.anchor);
        assert!(made < 1.15 * needed + 1024.0, "{made} {needed}");
        assert!(made >= needed);
    }
}

/// A permutation is multiplexers only: with enough of them, gadgets for these save bytes, and get a pool.
#[test]
fn jobs_with_many_multiplexers_have_a_pool_for_them() {
    let settings = Jimu::default();
    let permute = plan("permute64x32");
    let demand = |lanes| Demand::new().and_run(&permute, lanes, 1);
    let prepared = |demand: &Demand<'_>| settings.prepare(demand).unwrap();
    assert!(
        prepared(&demand(1)).sizes.mux.is_none(),
        "too few to fill a pool for"
    );
    let many = demand(1024);
    let two = prepared(&many);
    let mux = two.sizes.mux.as_ref().expect("a pool for multiplexers");
    let gadgets = Jimu::shared(&many);
    assert_eq!(two.works[1].buckets, gadgets);
    assert_eq!(two.works[0].buckets + 8 * gadgets, many.ands());
    assert_eq!(8 * gadgets, many.ands());
    // It is what the rule says: a twentieth is saved at least.
    let one = Sizes::cheapest(40, &settings.work(&many), 0, MIN_POOL..=LARGEST_CHOSEN).unwrap();
    let one = Prepared::new(one, &settings.work(&many), gadgets, true);
    let traffic = |prepared| settings.traffic_bytes(prepared, &many) as f64;
    assert!(
        traffic(&two) < 0.96 * traffic(&one),
        "{} {}",
        traffic(&two),
        traffic(&one)
    );
    // Memory, buffers and terms know of it.
    let memory = |prepared| settings.memory_bytes(prepared, &many, PartyId(1));
    let stored = two.sizes.stored_bytes(MUX_WIDTH)[1] as u64 * mux.pool_size();
    let of_ands = two.sizes.stored_bytes(1)[1] as u64 * two.sizes.pool.pool_size();
    assert!(memory(&two) > stored + of_ands, "{mux:?}");
    let needed = two.works[1].made(mux, &two.sizes.anchor);
    let made = two.kinds().last().unwrap().3 * f64::from(two.buffers[1]);
    assert!((needed..1.3 * needed + 1024.0).contains(&made), "{made} {needed}");
    assert!(
        settings
            .terms(&two)
            .iter()
            .any(|(name, _)| name == "gates with a common operand")
    );
    assert!(settings.made(&two).unwrap().contains("gadgets of 8 AND gates"));
    // A pool of AND gates that is stated is no obstacle.
    let stated = Jimu {
        pool: Some(50_000),
        ..settings
    };
    let prepared = stated.prepare(&many).unwrap();
    assert!(prepared.sizes.mux.is_some() && prepared.sizes.pool.pool_size() == 50_000);
}

#[test]
fn inputs_and_outputs_of_the_garbler_are_anchored() {
    let demand = Demand::new()
        .and_gates(10)
        .and_input(PartyId(0), 3)
        .and_input(PartyId(1), 40)
        .and_output(Parties::all(2), 5)
        .and_output(Parties::one(PartyId(1)), 600);
    let work = |garbler| {
        let settings = Jimu {
            garbler,
            ..Jimu::default()
        };
        settings.work(&demand)
    };
    assert_eq!((work(0).buckets, work(0).anchors), (10, 8));
    assert_eq!(work(1).anchors, 645);
    assert_eq!(Jimu::default().work(&Demand::new()).buckets, 1 << 15);
}

#[test]
fn a_pool_that_is_stated_is_taken() {
    let stated = Jimu {
        pool: Some(5000),
        ..Jimu::default()
    };
    let demand = Demand::new().and_gates(1 << 40);
    let prepared = stated.prepare(&demand).unwrap();
    assert_eq!(prepared.sizes.pool.pool_size(), 5000);
    let chosen = Jimu::default().prepare(&demand).unwrap();
    assert!(chosen.sizes.pool.pool_size() > u64::from(LARGEST_CHOSEN / 2));
    assert_ne!(stated.terms(&prepared), Jimu::default().terms(&chosen));
    let memory = |party| Jimu::default().memory_bytes(&chosen, &Demand::new(), PartyId(party));
    assert!((250 << 20..600 << 20).contains(&memory(0)), "{}", memory(0));
    assert!((300 << 20..700 << 20).contains(&memory(1)), "{}", memory(1));
}

#[test]
fn levels_do_not_wait_for_one_another() {
    let plan = plan("add64");
    assert_eq!(Jimu::default().rounds(&Demand::new().and_run(&plan, 1, 1)), 0);
    assert!(Jimu::default().rounds(&Demand::new().and_run(&plan, 1 << 20, 1)) > 1000);
}
