//! A party that says what is not so, of its stock or of its claims.

use super::*;

/// Where the number of runs is in an offer of one epoch: after its name and when it was made.
const COUNT: usize = 32 + 8;
/// Where its first run is: a worker, the first batch, and the end.
const RUN: usize = COUNT + 4;
/// Bytes of an offer of one run of batches of one epoch.
const ONE_RUN: usize = RUN + 1 + 8 + 8;

/// Changes the offers that party 0 sends: `[length, offer]` to each peer.
fn offering(change: impl Fn(u8, Vec<u8>) -> Vec<u8> + Send + 'static) -> [Option<Arc<Spy>>; 3] {
    let spy = Spy::corrupting(move |message: &Message| {
        if message.step != STOCK_OFFER {
            return None;
        }
        // The length is sent with the offer, which is known then.
        if message.occurrence == 0 {
            let length = u32::from_le_bytes(message.body[..].try_into().unwrap());
            let changed = change(message.wire.to, vec![0; length as usize]);
            return Some(vec![(
                message.step,
                (changed.len() as u32).to_le_bytes().to_vec(),
            )]);
        }
        Some(vec![(
            message.step,
            change(message.wire.to, message.body.clone()),
        )])
    });
    [Some(spy), None, None]
}

/// A party that tells its peers different things about its stock is found out before anything is claimed.
#[test]
fn different_offers_to_the_two_others_are_noticed() {
    type Change = fn(u8, Vec<u8>) -> Vec<u8>;
    let cases: [(&str, Change); 3] = [
        ("the last batch is missing at party 1", |to, mut offer| {
            if to == 1 && offer.len() == ONE_RUN {
                offer[RUN + 9] -= u8::from(offer[RUN + 9] > 0);
            }
            offer
        }),
        ("another worker's batches at party 2", |to, mut offer| {
            if to == 2 {
                offer[RUN] ^= 0x40;
            }
            offer
        }),
        (
            "nothing at party 2",
            |to, offer| if to == 2 { Vec::new() } else { offer },
        ),
    ];
    for (what, change) in cases {
        let stocks = Stocks::new(tiny(Variant::OnDemand));
        stocks.fill(3);
        let before = [1, 2].map(|party| stocks.names(party));
        let (inputs, _) = small_case();
        let results = stocks.online_with(&offering(change), |engine| small_run(engine, &inputs));
        for result in &results[1..] {
            assert!(
                matches!(
                    result.as_ref().unwrap_err().check(),
                    Some(checks::VIEW_COMPARISON)
                ),
                "{what}: {result:?}"
            );
        }
        assert_eq!([1, 2].map(|party| stocks.names(party)), before, "{what}");
    }
}

#[test]
fn malformed_offers_are_refused() {
    type Change = fn(u8, Vec<u8>) -> Vec<u8>;
    let cases: [Change; 4] = [
        |_, offer| vec![0xff; offer.len() + 1],
        |_, offer| [offer, vec![0; 44 * 1024 + 17 * 65536]].concat(),
        |_, mut offer| {
            offer[COUNT..RUN].copy_from_slice(&u32::MAX.to_le_bytes());
            offer
        },
        |_, offer| [&offer[..], &offer[..]].concat(),
    ];
    for (index, change) in cases.into_iter().enumerate() {
        let stocks = Stocks::new(tiny(Variant::OnDemand));
        stocks.fill(3);
        let before = stocks.names(1);
        let (inputs, _) = small_case();
        let results = stocks.online_with(&offering(change), |engine| small_run(engine, &inputs));
        for result in &results[1..] {
            assert_eq!(
                result.as_ref().unwrap_err().check(),
                Some(MESSAGE_FORM),
                "case {index}: {result:?}"
            );
        }
        assert_eq!(stocks.names(1), before);
    }
}

/// Every message of the stock's steps, changed: an abort at both honest parties, and nothing used that was not claimed.
#[test]
fn every_message_about_stock_is_checked() {
    for corrupted in 0..3u8 {
        for step in steps::STORED
            .iter()
            .chain(&[STOCK_ITEMS, STOCK_OFFER, STOCK_ECHO, STOCK_CLAIM])
        {
            for (to, occurrence) in (0..3u8)
                .filter(|to| *to != corrupted)
                .flat_map(|to| [(to, 0), (to, 1)])
            {
                for truncate in [false, true] {
                    let stocks = Stocks::new(tiny(Variant::Baseline));
                    let offline = [steps::EPOCH, steps::CHECKPOINT].contains(step);
                    let single = [STOCK_ECHO, STOCK_CLAIM, steps::CHECKPOINT].contains(step);
                    if single && occurrence == 1 {
                        continue;
                    }
                    let hits = Arc::new(Mutex::new(0));
                    let counted = Arc::clone(&hits);
                    let spy = Spy::corrupting(move |message| {
                        let hit = message.step == *step
                            && message.wire.to == to
                            && message.occurrence == occurrence
                            && message.wire.thread == Thread::Evaluator;
                        hit.then(|| {
                            *counted.lock().unwrap() += 1;
                            spoilt(message, truncate)
                        })
                    });
                    let mut spies = [None, None, None];
                    spies[usize::from(corrupted)] = Some(spy);
                    let errors: [Option<Error>; 3] = if offline {
                        stocks.fill_with(2, &spies).map(Result::err)
                    } else {
                        stocks.fill(2);
                        let (inputs, _) = small_case();
                        stocks
                            .online_with(&spies, |engine| small_run(engine, &inputs))
                            .map(Result::err)
                    };
                    assert_eq!(*hits.lock().unwrap(), 1);
                    for party in (0..3u8).filter(|party| *party != corrupted) {
                        let error = errors[usize::from(party)].as_ref();
                        assert!(
                            error.is_some_and(|error| error.check().is_some()),
                            "party {party}, {step} from {corrupted} to {to}, {occurrence}, {truncate}: {error:?}"
                        );
                    }
                    if offline {
                        let honest = (usize::from(corrupted) + 1) % 3;
                        assert!(stocks.names(honest).is_empty());
                    }
                }
            }
        }
    }
}
