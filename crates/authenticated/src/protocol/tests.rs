use cenote_circuit::{Plan, library};
use cenote_params::lpn;
use cenote_session::Parties;

use super::*;

fn plan(circuit: &str) -> Plan {
    Plan::new(&library::by_name(circuit).unwrap())
}

#[test]
fn a_job_makes_little_more_than_it_draws() {
    let plan = plan("add64");
    for (lanes, pool, bucket) in [(1, 400, 6), (1 << 8, 9000, 4), (1 << 16, 530_000, 3)] {
        let demand = Demand::new()
            .and_run(&plan, lanes, 1)
            .and_input(PartyId(1), 128 * lanes as u64)
            .and_output(Parties::one(PartyId(1)), 64 * lanes as u64);
        let prepared = Authenticated::default().prepare(&demand).unwrap();
        let found = &prepared.sizes.pool;
        assert!(found.pool_size <= pool && found.bucket >= bucket, "{found:?}");
        assert!(found.error.meets(40) && found.adaptive_error.meets(40));
        let needed = prepared.sizes.made(demand.ands());
        let all = prepared.lots() * u64::from(prepared.lot);
        assert!(
            (needed..needed + needed / 8 + 1024).contains(&all),
            "{needed} {all}"
        );
    }
}

#[test]
fn what_is_stated_is_taken() {
    let stated = Authenticated {
        pool: Some(5000),
        lot: Some(1 << 20),
        symbols: 16,
        ..Authenticated::default()
    };
    let demand = Demand::new().and_gates(1 << 40);
    let prepared = stated.prepare(&demand).unwrap();
    assert_eq!(
        (prepared.sizes.pool.pool_size, prepared.lot, prepared.segment),
        (5000, 1 << 20, 1 << 15)
    );
    let chosen = Authenticated::default().prepare(&demand).unwrap();
    assert_eq!((chosen.sizes.pool.bucket, chosen.lot), (3, 1 << 14));
    assert_ne!(stated.terms(&prepared), Authenticated::default().terms(&chosen));
    // Larger lots take fewer rounds and more memory; fewer symbols fewer bytes.
    assert!(stated.rounds(&demand) < Authenticated::default().rounds(&demand) / 20);
    let memory = |prepared: &Prepared| stated.memory_bytes(prepared, &Demand::new(), PartyId(0));
    assert!(memory(&prepared) > 2 * memory(&chosen));
    assert!(memory(&chosen) < 200 << 20, "{}", memory(&chosen));
    let bytes = |symbols| {
        Authenticated {
            symbols,
            ..Authenticated::default()
        }
        .traffic_bytes(&chosen, &demand)
    };
    let each = |symbols| bytes(symbols) as f64 / (1u64 << 40) as f64;
    assert!((145.0..153.0).contains(&each(32)), "{}", each(32));
    assert!((123.0..130.0).contains(&each(24)), "{}", each(24));
    assert!((103.0..112.0).contains(&each(16)), "{}", each(16));
}

#[test]
fn a_generator_takes_few_bytes_and_its_own_memory() {
    let mut generated = Authenticated::default();
    generated.set("cot", Setting::Text("pcg")).unwrap();
    assert!(generated.set("cot", Setting::Text("kos")).is_err());
    let demand = Demand::new().and_gates(1 << 21);
    let chosen = generated.prepare(&demand).unwrap();
    let extended = Authenticated::default().prepare(&demand).unwrap();
    assert_eq!((chosen.generator, extended.generator), (Some(lpn::LARGE), None));
    assert_ne!(
        generated.terms(&chosen),
        Authenticated::default().terms(&extended)
    );
    let bytes = |protocol: &Authenticated, prepared: &Prepared| {
        protocol.traffic_bytes(prepared, &demand) as f64 / (1u64 << 21) as f64
    };
    // The pool is filled too.
    let (few, many) = (
        bytes(&generated, &chosen),
        bytes(&Authenticated::default(), &extended),
    );
    assert!((80.0..85.0).contains(&few) && many > few + 40.0, "{few} {many}");
    let longer = Demand::new().and_gates(1 << 40);
    let prepared = generated.prepare(&longer).unwrap();
    let each = generated.traffic_bytes(&prepared, &longer) as f64 / (1u64 << 40) as f64;
    assert!((74.0..80.0).contains(&each), "{each}");
    assert!(generated.rounds(&longer) < Authenticated::default().rounds(&longer));
    let memory = |protocol: &Authenticated, prepared: &Prepared| {
        protocol.memory_bytes(prepared, &Demand::new(), PartyId(0))
    };
    // With lots of the same size: where they may grow, OT extension needs more for the largest.
    let of_lots = |protocol: Authenticated| {
        let stated = Authenticated {
            lot: Some(1 << 14),
            ..protocol
        };
        memory(&stated, &stated.prepare(&demand).unwrap())
    };
    let more = of_lots(generated) - of_lots(Authenticated::default());
    assert!((14 << 20..24 << 20).contains(&more), "{more}");
    // A few gates take a small one.
    let few = generated.prepare(&Demand::new().and_gates(1000)).unwrap();
    assert_eq!(few.generator, Some(lpn::SMALL));
    assert_eq!(few.to_json()["generator"]["blocks"], 1024);
    // More security takes longer leaky ANDs, and says so.
    let stricter = Authenticated {
        security: 41,
        ..generated
    };
    let longer = stricter.prepare(&demand).unwrap();
    assert_eq!((chosen.sizes.leaky_bits, longer.sizes.leaky_bits), (48, 56));
    assert_eq!(longer.to_json()["leaky_bits"], 56);
    assert_ne!(chosen.sizes.terms(), longer.sizes.terms());
    generated.security = 52;
    assert!(generated.prepare(&demand).is_ok());
    generated.security = 53;
    let refused = generated.prepare(&demand).unwrap_err();
    assert!(refused.contains("1 to 52"), "{refused}");
}

#[test]
fn a_pool_that_is_too_small_is_refused() {
    let small = |security, pool| Authenticated {
        security,
        pool: Some(pool),
        ..Authenticated::default()
    };
    for (security, pool) in [(40, 3), (80, 70)] {
        let refused = small(security, pool).prepare(&Demand::new()).unwrap_err();
        assert!(
            refused.contains("too small") || refused.contains("n ="),
            "{refused}"
        );
    }
    assert!(small(80, 1 << 20).prepare(&Demand::new()).is_ok());
    let refused = small(80, 1 << 20)
        .prepare(&Demand::new().and_gates(1 << 30))
        .unwrap_err();
    assert!(refused.contains("1 to 73"), "{refused}");
}
