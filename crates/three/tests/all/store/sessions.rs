//! Sessions on stock: right, each batch used once, and refused where there is too little or nothing that fits.

use super::*;

/// The suite over online sessions, which find a large stock.
struct FromStock(Stocks);

impl Cluster for FromStock {
    type Engine = ThreeEngine;

    fn parties(&self) -> usize {
        3
    }

    fn run<T: Send>(&self, program: impl Fn(&mut ThreeEngine) -> Result<T> + Sync) -> Vec<Result<T>> {
        if self.0.names(0).len() < 30 {
            self.0.fill(150);
        }
        self.0.online(program).into()
    }
}

fn suite(variant: Variant, view_check: ViewCheck, workers: usize) {
    let mut stocks = Stocks::new(tiny(variant));
    stocks.view_check = view_check;
    stocks.workers = workers;
    conformance::all(&FromStock(stocks));
}

#[test]
fn conformance_on_demand_with_mac() {
    suite(Variant::OnDemand, ViewCheck::Mac, 1);
}

#[test]
fn conformance_cache_efficient_with_three_workers() {
    suite(Variant::CacheEfficient, ViewCheck::Mac, 3);
}

#[test]
fn conformance_baseline_with_sha256() {
    suite(Variant::Baseline, ViewCheck::Sha256, 1);
}

#[test]
fn conformance_reshuffle() {
    suite(Variant::Reshuffle, ViewCheck::Mac, 1);
}

/// Every batch serves one session, in the order in which they were made, and a session of one more needs two: `d1` of the
/// on-demand variant comes from stock, too.
#[test]
fn sessions_use_different_batches_until_none_are_left() {
    for (variant, each) in [
        (Variant::Baseline, 1),
        (Variant::CacheEfficient, 1),
        (Variant::Reshuffle, 1),
        (Variant::OnDemand, 2),
    ] {
        let stocks = Stocks::new(tiny(variant));
        assert_eq!(
            batches_needed(&stocks.parameters, [(&small_plan(), LANES)], 1),
            each as u64
        );
        let first = stocks.fill(each as u64 * 2);
        let second = stocks.fill(each as u64);
        let all = stocks.names(1);
        let mut used = BTreeSet::new();
        for session in 0..3 {
            let spent = stocks.small_session();
            assert!(
                spent[0] == spent[1] && spent[1] == spent[2],
                "{variant}: {spent:?}"
            );
            assert_eq!(spent[0].len(), each, "{variant}: {spent:?}");
            let epoch = if session < 2 { first } else { second };
            assert!(spent[0].iter().all(|(id, _)| *id == epoch), "the oldest first");
            for name in &spent[0] {
                assert!(used.insert(*name), "{variant}: {name:?} twice");
            }
        }
        assert_eq!(used, all);
        // Spent epochs are gone, with their keys.
        for party in 0..3 {
            let folders = fs::read_dir(stocks.path(party)).unwrap();
            assert_eq!(
                folders
                    .filter(|entry| entry.as_ref().unwrap().path().is_dir())
                    .count(),
                0
            );
        }
        for result in stocks.online(|engine| engine.prepare(&small_plan(), LANES)) {
            match result {
                Err(Error::Exhausted(text)) => {
                    assert!(text.contains(&format!("needs {each} batches")), "{text}");
                    assert!(
                        text.contains("has 0") && text.contains("make them in one offline run"),
                        "{text}"
                    );
                }
                other => panic!("{variant}: {other:?}"),
            }
        }
    }
}

/// Two waves of lanes that take turns, and a log that fills meanwhile, take what was said, and need it.
#[test]
fn waves_that_take_turns_need_what_is_said() {
    const RUNS: usize = 9;
    let mut b = Builder::new();
    let x = b.input("x", 2, BitOrder::Lsb);
    let both = b.and(x[0], x[1]);
    b.output("both", &[both], BitOrder::Lsb);
    let plan = Plan::new(&b.finish());
    let lanes = ThreeEngine::wave_lanes(&plan) + 70;
    let bits = random_bits(6, 2, lanes);
    let answer = plan.evaluate(&bits).unwrap();
    for (variant, bucket) in [(Variant::OnDemand, 2), (Variant::CacheEfficient, 3)] {
        for workers in [1, 2] {
            let mut stocks = Stocks::new(preferred(variant, 1 << 12, bucket).unwrap());
            stocks.workers = workers;
            let needed = batches_needed(
                &stocks.parameters,
                std::iter::repeat_n((&plan, lanes), RUNS),
                workers,
            );
            stocks.fill(needed - 1);
            for result in stocks.online(|engine| (0..RUNS).try_for_each(|_| engine.prepare(&plan, lanes))) {
                assert!(
                    matches!(result, Err(Error::Exhausted(_))),
                    "{variant}: {result:?}"
                );
            }
            stocks.fill(needed);
            let spent = stocks.online(|engine| {
                (0..RUNS).try_for_each(|_| engine.prepare(&plan, lanes))?;
                let own = (engine.me() == PartyId(0)).then_some(&bits);
                let wires = engine.input(PartyId(0), 2, lanes, own)?;
                let mut last = engine.run(&plan, &wires)?;
                for _ in 1..RUNS {
                    last = engine.run(&plan, &wires)?;
                }
                let revealed = engine.reveal(&last, Parties::all(3))?;
                engine.finish()?;
                Ok(revealed)
            });
            for revealed in spent {
                assert_eq!(
                    revealed.unwrap().as_ref(),
                    Some(&answer),
                    "{variant}, {workers} workers"
                );
            }
            assert_eq!(
                stocks.names(0).len() as u64,
                needed - 1,
                "{variant}, {workers} workers"
            );
        }
    }
}

/// What the session would not need is not touched; what it needs must be in one epoch.
#[test]
fn a_session_uses_one_epoch_only() {
    let stocks = Stocks::new(tiny(Variant::OnDemand));
    stocks.fill(1);
    stocks.fill(1);
    let before = stocks.names(0);
    for result in stocks.online(|engine| engine.prepare(&small_plan(), LANES)) {
        match result {
            Err(Error::Exhausted(text)) => assert!(text.contains("the largest has 1"), "{text}"),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(stocks.names(0), before);
    let large = stocks.fill(2);
    let spent = stocks.small_session();
    assert!(spent[0].iter().all(|(id, _)| *id == large));
}

/// What is prepared settles the epoch: an older one that would do for the first run only is left alone.
#[test]
fn all_that_is_prepared_comes_from_one_epoch() {
    let stocks = Stocks::new(tiny(Variant::Baseline));
    // A run takes 6 ANDs in 640 words of lanes: 480 blocks, 7.5 batches of 64.
    let lanes = 640 * 64;
    let old = stocks.fill(9);
    let new = stocks.fill(17);
    let input = random_bits(3, 9, lanes);
    let plan = small_plan();
    let answer = plan.evaluate(&input).unwrap();
    let results = stocks.online(|engine| {
        engine.prepare(&plan, lanes)?;
        engine.prepare(&plan, lanes)?;
        let own = (engine.me() == PartyId(1)).then_some(&input);
        let wires = engine.input(PartyId(1), 9, lanes, own)?;
        let mut revealed = Vec::new();
        for _ in 0..2 {
            let outputs = engine.run(&plan, &wires)?;
            revealed.push(engine.reveal(&outputs, Parties::all(3))?.unwrap());
        }
        engine.finish()?;
        Ok(revealed)
    });
    for result in results {
        assert!(result.unwrap().iter().all(|revealed| *revealed == answer));
    }
    let left = stocks.names(0);
    let of = |epoch| left.iter().filter(|(id, _)| *id == epoch).count();
    assert_eq!(of(old), 9);
    assert!(of(new) < 17);
}

/// A program that goes on for longer than its epoch ends with a reason, at all parties alike.
#[test]
fn a_session_can_run_out() {
    let stocks = Stocks::new(tiny(Variant::Baseline));
    stocks.fill(2);
    let (inputs, answer) = small_case();
    let results = stocks.online(|engine| {
        let plan = small_plan();
        let wires = share(engine, &inputs)?;
        for round in 0.. {
            let outputs = match engine.run(&plan, &wires) {
                Ok(outputs) => outputs,
                Err(error) => {
                    assert!(matches!(engine.finish(), Err(Error::Poisoned(_))));
                    return Ok((round, error.to_string()));
                }
            };
            assert_eq!(engine.reveal(&outputs, Parties::all(3))?.as_ref(), Some(&answer));
        }
        unreachable!()
    });
    // Each round has 3 ANDs in 50 lanes: one block of 512, padded.
    let rounds = stocks.parameters.n() * 2;
    for result in results {
        let (round, text) = result.unwrap();
        assert_eq!(round, rounds);
        assert!(
            text.contains("needs 1 more batches") && text.contains("has 0 left"),
            "{text}"
        );
    }
}

#[test]
fn circuits_without_ands_need_no_stock() {
    let stocks = Stocks::new(tiny(Variant::OnDemand));
    let (inputs, _) = small_case();
    let mut b = Builder::new();
    let bits = b.input("bits", 9, BitOrder::Lsb);
    b.output("same", &bits, BitOrder::Lsb);
    let plan = Plan::new(&b.finish());
    let results = stocks.online(|engine| {
        engine.prepare(&plan, LANES)?;
        let wires = share(engine, &inputs)?;
        let wires = engine.run(&plan, &wires)?;
        let revealed = engine.reveal(&wires, Parties::all(3))?;
        engine.finish()?;
        Ok(revealed)
    });
    for result in results {
        let revealed = result.unwrap().unwrap();
        assert!((0..3 * 3).all(|row| revealed.row(row) == inputs[row / 3].row(row % 3)));
    }
}

/// Stock of other parameters is left alone.
#[test]
fn other_parameters_are_other_stock() {
    let mut stocks = Stocks::new(tiny(Variant::OnDemand));
    stocks.fill(3);
    let all = stocks.names(2);
    let own = stocks.parameters.clone();
    for parameters in [
        check(Variant::OnDemand, 5 * 14, 2, 3, 5).unwrap(),
        tiny(Variant::Reshuffle),
    ] {
        stocks.parameters = parameters;
        for result in stocks.online(|engine| engine.prepare(&small_plan(), LANES)) {
            assert!(matches!(result, Err(Error::Exhausted(_))), "{result:?}");
        }
    }
    stocks.parameters = own;
    stocks.view_check = ViewCheck::Sha256;
    for result in stocks.online(|engine| engine.prepare(&small_plan(), LANES)) {
        assert!(matches!(result, Err(Error::Exhausted(_))), "{result:?}");
    }
    assert_eq!(stocks.names(2), all);
}

/// Made by three workers, used by one and by two: a batch is known by the worker that made it.
#[test]
fn the_number_of_workers_may_differ() {
    let mut stocks = Stocks::new(tiny(Variant::OnDemand));
    stocks.workers = 3;
    stocks.fill(8);
    let workers: BTreeSet<u8> = stocks.names(0).iter().map(|(_, batch)| batch.worker).collect();
    assert_eq!(workers, BTreeSet::from([0, 1, 2]));
    stocks.workers = 1;
    let spent = stocks.small_session();
    assert!(spent[0].iter().all(|(_, batch)| batch.worker == 0));
    stocks.workers = 2;
    let lanes = 3000;
    let inputs = [0, 1, 2].map(|owner| random_bits(owner, 3, lanes));
    let all = BitMatrix::from_fn(9, lanes, |row, lane| inputs[row / 3].get(row % 3, lane));
    let answer = small_plan().evaluate(&all).unwrap();
    let before = stocks.names(0);
    let results = stocks.online(|engine| {
        engine.prepare(&small_plan(), lanes)?;
        let wires = share(engine, &inputs)?;
        let outputs = engine.run(&small_plan(), &wires)?;
        let revealed = engine.reveal(&outputs, Parties::all(3))?;
        engine.finish()?;
        Ok(revealed)
    });
    for result in results {
        assert_eq!(result.unwrap().as_ref(), Some(&answer));
    }
    // `d1` and one batch for each worker.
    let spent = &before - &stocks.names(0);
    assert_eq!(
        spent.len() as u64,
        batches_needed(&stocks.parameters, [(&small_plan(), lanes)], 2)
    );
    assert_eq!(spent.len(), 4);
}

/// Another party's folder, and a folder that a session has, are refused before the peers hear anything.
#[test]
fn the_wrong_folder_is_refused() {
    let stocks = Stocks::new(tiny(Variant::OnDemand));
    stocks.fill(1);
    let start = |me: u8, folder: &Store| {
        let [zero, one, _] = memory_links(&ChannelOptions::default());
        let links = if me == 0 { zero } else { one };
        let config = Config::new(stocks.parameters.clone(), "wrong");
        match ThreeEngine::start_online(PartyId(me), vec![links], config, folder) {
            Err(Error::Storage(text)) => text,
            Err(other) => panic!("{other:?}"),
            Ok(_) => panic!("started"),
        }
    };
    let text = start(1, &stocks.folder(0));
    assert!(text.contains("stock of party 0, not of party 1"), "{text}");
    let text = std::thread::scope(|scope| {
        // Party 0's session waits for peers that are there and silent.
        let patience = Duration::from_secs(20);
        let [zero, one, two] = memory_links(&ChannelOptions::with_timeout(patience));
        let spy = Spy::listening();
        let zero = tap(&spy, 0, zero);
        let (folder, parameters) = (stocks.folder(0), stocks.parameters.clone());
        let waiting = scope.spawn(move || {
            ThreeEngine::start_online(PartyId(0), vec![zero], Config::new(parameters, "first"), &folder).err()
        });
        // It has the folder before it says anything.
        let begun = Instant::now();
        while spy.sent().is_empty() {
            assert!(begun.elapsed() < patience, "party 0 says nothing");
            std::thread::sleep(Duration::from_millis(1));
        }
        let text = start(0, &stocks.folder(0));
        drop((one, two));
        let error = waiting.join().unwrap().expect("there is nobody else");
        assert!(
            matches!(error, Error::Net(cenote_net::Error::PeerLost { .. })),
            "{error:?}"
        );
        text
    });
    assert!(text.contains("another session"), "{text}");
}

/// A session that makes its triples and one that has them do not go together.
#[test]
fn all_parties_must_be_online_sessions() {
    let stocks = Stocks::new(tiny(Variant::OnDemand));
    stocks.fill(2);
    let results = stocks.all(&[None, None, None], |me, links, config, folder| {
        if me == PartyId(1) {
            ThreeEngine::start(me, links, config).map(|_| ())
        } else {
            ThreeEngine::start_online(me, links, config, &folder).map(|_| ())
        }
    });
    for result in results {
        match result {
            Err(Error::Net(cenote_net::Error::Mismatch { field, .. })) => assert_eq!(field, "triples"),
            other => panic!("{other:?}"),
        }
    }
}

/// Traffic of an online session: what it claims and what it evaluates, and no triples.
#[test]
fn an_online_session_sends_no_triples() {
    let stocks = Stocks::new(tiny(Variant::OnDemand));
    stocks.fill(2);
    let spies = [(); 3].map(|()| Spy::listening());
    let (inputs, _) = small_case();
    let tapped = spies.each_ref().map(|spy| Some(Arc::clone(spy)));
    for result in stocks.online_with(&tapped, |engine| small_run(engine, &inputs)) {
        result.unwrap();
    }
    for spy in spies {
        let sent = spy.sent();
        assert!(
            sent.iter()
                .all(|message| message.wire.thread == Thread::Evaluator)
        );
        for step in [STOCK_OFFER, STOCK_ECHO, STOCK_CLAIM] {
            assert!(sent.iter().any(|message| message.step == step), "{step}");
        }
        assert!(!sent.iter().any(|message| message.step == steps::MULTIPLY_TRIPLE));
    }
}
