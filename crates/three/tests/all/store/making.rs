//! Offline runs that fail: what is kept of them.

use std::sync::OnceLock;

use super::*;

/// Whoever cheats while triples are made leaves none behind.
#[test]
fn a_failed_check_deletes_the_epoch() {
    for batch in [0, 2] {
        let stocks = Stocks::new(tiny(Variant::OnDemand));
        let spy = Spy::corrupting(move |message| {
            let hit = message.step == steps::TRIPLE_VIEW && message.occurrence == batch;
            hit.then(|| {
                let mut body = message.body.clone();
                body[3] ^= 1;
                vec![(message.step, body)]
            })
        });
        let results = stocks.fill_with(4, &[None, Some(spy), None]);
        for party in [0, 2] {
            let error = results[party].as_ref().unwrap_err();
            assert_eq!(error.check(), Some(checks::VIEW_COMPARISON), "{error}");
            assert!(stocks.names(party).is_empty());
            let left = fs::read_dir(stocks.path(party)).unwrap();
            assert!(left.into_iter().all(|entry| !entry.unwrap().path().is_dir()));
        }
    }
}

/// A party that goes away in the middle: what was made up to the last checkpoint can be used.
#[test]
fn a_run_that_is_cut_off_leaves_usable_stock() {
    // A checkpoint after every 16 batches of each worker.
    for (workers, killed_at, left) in [(1, 20, 16), (1, 10, 0), (2, 20, 32)] {
        let mut stocks = Stocks::new(tiny(Variant::OnDemand));
        stocks.workers = workers;
        // The spy kills its own party.
        let itself: Arc<OnceLock<Arc<Spy>>> = Arc::default();
        let me = Arc::clone(&itself);
        let spy = Spy::corrupting(move |message| {
            if message.step == steps::TRIPLE_VIEW && message.occurrence == killed_at {
                me.get().expect("set before the run").kill();
            }
            None
        });
        assert!(itself.set(Arc::clone(&spy)).is_ok());
        let results = stocks.fill_with(40 * workers as u64, &[None, Some(spy), None]);
        for party in [0, 2] {
            let error = results[party].as_ref().unwrap_err();
            assert!(error.check().is_none(), "{error}");
        }
        let counts = [0, 1, 2].map(|party| stocks.names(party).len());
        assert_eq!(counts, [left; 3], "{workers} workers, killed at {killed_at}");
        if left > 0 {
            stocks.workers = 1;
            stocks.small_session();
        }
    }
}
