//! What one party has lost, put back, damaged or never confirmed: all go on with what all have.

use super::*;

/// One party's folder is put back to what it was: the other honest party knows better.
#[test]
fn a_folder_that_was_put_back_brings_nothing_back() {
    for rolled_back in 0..3 {
        let stocks = Stocks::new(tiny(Variant::OnDemand));
        stocks.fill(6);
        stocks.close();
        let backup = stocks.home.path().join("backup");
        copy_folder(&stocks.path(rolled_back), &backup);
        stocks.open();
        let used = stocks.small_session()[1].clone();
        stocks.close();
        fs::remove_dir_all(stocks.path(rolled_back)).unwrap();
        copy_folder(&backup, &stocks.path(rolled_back));
        stocks.open();
        assert!(used.is_subset(&stocks.names(rolled_back)));
        for _ in 0..2 {
            let spent = stocks.small_session();
            assert!(spent.iter().all(|spent| spent.is_disjoint(&used)), "{spent:?}");
        }
        let left = stocks.online(|engine| engine.prepare(&small_plan(), LANES));
        assert!(
            left.iter()
                .all(|result| matches!(result, Err(Error::Exhausted(_))))
        );
    }
}

/// A party that goes away between its claim and its word: what was claimed is lost to all, and used by none.
#[test]
fn a_claim_that_not_all_confirm_is_void() {
    for missing in 0..3usize {
        let mut stocks = Stocks::new(tiny(Variant::OnDemand));
        stocks.fill(4);
        let spy = Spy::corrupting(|message| (message.step == STOCK_CLAIM).then(Vec::new));
        let mut spies = [None, None, None];
        spies[missing] = Some(spy);
        let (inputs, _) = small_case();
        let before = stocks.names(0);
        let patience = std::mem::replace(&mut stocks.timeout, Duration::from_secs(3));
        let results = stocks.online_with(&spies, |engine| small_run(engine, &inputs));
        stocks.timeout = patience;
        let lost = PartyId(missing as u8);
        // The party before it gets its first product in place of its word.
        match &results[(missing + 2) % 3] {
            Err(Error::Aborted {
                check: MESSAGE_FORM,
                peer,
                step: STOCK_CLAIM,
                ..
            }) => assert_eq!(*peer, Some(lost)),
            other => panic!("the party before {lost}: {other:?}"),
        }
        // The one after it waits for its word until its own patience ends, or that of the missing one, which waits for products
        // from it just as long: that is chance.
        match &results[(missing + 1) % 3] {
            Err(
                Error::Net(cenote_net::Error::Timeout {
                    peer,
                    step: STOCK_CLAIM,
                    ..
                })
                | Error::PeerStopped {
                    peer,
                    step: STOCK_CLAIM,
                    reason: Reason::Lost(_),
                },
            ) => assert_eq!(*peer, lost),
            other => panic!("the party after {lost}: {other:?}"),
        }
        let after = [0, 1, 2].map(|party| stocks.names(party));
        assert!(after.iter().all(|after| before.len() - after.len() == 2));
        stocks.close();
        stocks.open();
        let spent = stocks.small_session();
        assert!(spent[0].is_subset(&after[0]));
    }
}

/// What one party has not is used by none: all go by what all three have.
#[test]
fn a_party_can_withhold_stock() {
    for party in 0..3 {
        let stocks = Stocks::new(tiny(Variant::OnDemand));
        let epoch = stocks.fill(4);
        let first = stocks.names(0).first().copied().unwrap();
        let withheld = stocks.path(party).join(epoch.to_string());
        fs::remove_file(withheld.join("part-000-00000000000000000000-0000000001")).unwrap();
        let spent = stocks.small_session();
        for spent in spent {
            assert!(spent.len() == 2 && !spent.contains(&first), "{spent:?}");
        }
    }
}

/// A check that fails online: the claimed batches are gone, the others stay, and the session is over.
#[test]
fn an_abort_online_poisons_and_loses_what_was_claimed() {
    let stocks = Stocks::new(tiny(Variant::OnDemand));
    stocks.fill(5);
    let before = stocks.names(0);
    let spy = Spy::corrupting(|message| {
        (message.step == steps::GATE_PRODUCTS).then(|| vec![(message.step, vec![0; message.body.len()])])
    });
    let (inputs, _) = small_case();
    let results = stocks.online_with(&[None, None, Some(spy)], |engine| {
        let wires = share(engine, &inputs)?;
        let outputs = engine.run(&small_plan(), &wires)?;
        let error = engine.reveal(&outputs, Parties::all(3)).unwrap_err();
        for again in [
            engine.prepare(&small_plan(), LANES).err(),
            engine.run(&small_plan(), &wires).err(),
            engine.finish().err(),
        ] {
            assert!(matches!(again, Some(Error::Poisoned(_))), "{again:?}");
        }
        Ok(error)
    });
    for result in &results[..2] {
        assert_eq!(result.as_ref().unwrap().check(), Some(checks::PRODUCT_COMPARISON));
    }
    for party in [0, 1] {
        assert_eq!((&before - &stocks.names(party)).len(), 2);
        // Nothing of them is left on the disk.
        let epoch = stocks.path(party).join(before.first().unwrap().0.to_string());
        let files = fs::read_dir(epoch).unwrap().map(|file| file.unwrap().file_name());
        let files: Vec<String> = files.map(|name| name.into_string().unwrap()).collect();
        let others = ["item", "used"];
        assert!(
            others.iter().all(|name| files.iter().any(|file| file == name)),
            "{files:?}"
        );
        assert_eq!(files.len(), others.len() + 3, "{files:?}");
    }
    stocks.small_session();
}

/// Epochs that a party has lost are passed over, told of, and noted, however many they are.
#[test]
fn lost_epochs_do_not_stand_in_the_way() {
    let stocks = Stocks::new(tiny(Variant::OnDemand));
    let lost: Vec<_> = (0..3).map(|_| stocks.fill(1)).collect();
    let kept = stocks.fill(6);
    let found = stocks.home.path().join("found");
    copy_folder(&stocks.path(2).join(lost[0].to_string()), &found);
    stocks.folder(2).remove(&lost[0]).unwrap();
    stocks.folder(2).remove(&lost[1]).unwrap();
    stocks.folder(1).remove(&lost[1]).unwrap();
    let spent = stocks.small_session();
    assert!(spent[0].iter().all(|(id, _)| *id == kept));
    let noted = |party: usize| {
        let epochs = epochs(&stocks.folder(party)).unwrap().0;
        let noted = epochs.into_iter().map(|epoch| (epoch.id, epoch.lacked_by));
        noted.collect::<std::collections::BTreeMap<_, _>>()
    };
    let (one, two) = (PartyId(1), PartyId(2));
    assert_eq!(noted(0)[&lost[0]], [two]);
    assert_eq!(noted(0)[&lost[1]], [one, two]);
    assert_eq!(noted(1)[&lost[0]], [two]);
    for party in 0..3 {
        assert_eq!(noted(party)[&lost[2]], []);
        assert_eq!(noted(party)[&kept], []);
    }

    // The others are told why there is nothing for a larger session.
    let plan = small_plan();
    for (party, result) in stocks
        .online(|engine| engine.prepare(&plan, 1 << 16))
        .iter()
        .enumerate()
    {
        let Err(Error::Exhausted(text)) = result else {
            panic!("{result:?}")
        };
        let orphans = ["; 2 epochs of this party", "; 1 epochs of this party", ""][party];
        assert!(
            text.contains(orphans) && text.contains("lacking") == (party < 2),
            "{text}"
        );
    }

    // One that was removed everywhere else is forgotten once it is removed here, and one that was found is of use again.
    stocks.folder(0).remove(&lost[1]).unwrap();
    copy_folder(&found, &stocks.path(2).join(lost[0].to_string()));
    stocks.small_session();
    for party in 0..3 {
        let noted = noted(party);
        assert_eq!(
            noted.keys().copied().collect::<BTreeSet<_>>(),
            BTreeSet::from([lost[0], lost[2], kept])
        );
        assert!(noted.values().all(Vec::is_empty), "{noted:?}");
    }
}

/// A batch that one party cannot read is left out by all, and another takes its place; without another, all are told.
#[test]
fn a_damaged_batch_is_skipped_by_all() {
    for (workers, made, enough) in [(1, 4, true), (3, 9, true), (1, 2, false)] {
        let mut stocks = Stocks::new(tiny(Variant::OnDemand));
        stocks.workers = workers;
        let epoch = stocks.fill(made);
        let damaged = stocks.names(1).iter().nth(1).copied().unwrap();
        let file = stocks
            .path(1)
            .join(epoch.to_string())
            .join("part-000-00000000000000000001-0000000001");
        let mut bytes = fs::read(&file).unwrap();
        bytes[100] ^= 1;
        fs::write(&file, bytes).unwrap();
        if enough {
            for spent in stocks.small_session() {
                assert!(spent.contains(&damaged), "{spent:?}");
                assert!(!file.exists());
            }
            continue;
        }
        let (inputs, _) = small_case();
        for result in stocks.online(|engine| small_run(engine, &inputs)) {
            match result {
                Err(Error::Exhausted(text)) => assert!(text.contains("in place of damaged ones"), "{text}"),
                other => panic!("{other:?}"),
            }
        }
    }
}
