//! How much is made for a pool that is kept.

use std::time::Duration;

use super::*;

/// Where messages take long, lots grow, but not beyond what is drawn: the pool is full.
#[test]
fn no_more_is_made_for_a_pool_that_is_kept_than_is_drawn() {
    const DRAWS: u64 = 24;
    let folder = tempfile::tempdir().unwrap();
    let sizes = Sizes {
        pool: cenote_params::pool::check_triples(1, 20_000, 2).unwrap(),
        ..sizes()
    };
    let run = |largest: u32, times: u64| {
        let slow = Adversary::with(|_, _, message: Message| {
            if message.step == steps::COIN {
                std::thread::sleep(Duration::from_millis(20));
            }
            vec![message]
        });
        let configure = |config: &mut Config| {
            (config.lot, config.largest_lot) = (2048, Some(largest));
            config.demand = [times * LANES as u64, 0];
        };
        let cut = Cut::never();
        let [a, b] = session_of(
            &sizes,
            folder.path(),
            0,
            &cut,
            Some(&slow),
            &configure,
            |engine| {
                let before = engine.used().expect("it goes on").leaky;
                work_and_finish(engine, times)?;
                Ok(engine.used().expect("it has ended").leaky - before)
            },
        )
        .map(Result::unwrap);
        assert_eq!(a, b);
        a as u64
    };
    run(2048, 1);
    let made = run(1 << 15, DRAWS);
    // What is drawn, what was to be drawn when the session before ended, and less than two lots beyond that.
    let drawn = DRAWS * LANES as u64 * 2;
    assert!(made <= drawn + 2048 + 2 * 2048, "{made}, and {drawn} were drawn");
}
