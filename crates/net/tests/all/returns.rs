//! Peers that come back after they were away for long.

use std::time::{Duration, Instant};

use cenote_net::{Listen, TrunkLimits, TrunkState};

use crate::common::trunks::World;

/// Longer than the pauses between attempts would take to grow beyond what is promised, if each were twice the one before.
const AWAY: Duration = Duration::from_secs(6);
/// Two seconds are promised; a busy machine has one more.
const PROMISED: Duration = Duration::from_secs(3);

#[test]
fn a_peer_is_met_soon_after_its_return_however_long_it_was_away() {
    let (world, mut listeners) = World::new(2, &TrunkLimits::default());
    let zero = world.start(0, Some(Listen::Bound(listeners.remove(0))));
    let one = world.start(1, None);
    one.ear.up(0, 1);
    zero.trunks.shut_down(Duration::ZERO);
    drop(zero);
    one.ear.down(0);
    std::thread::sleep(AWAY);
    let back = Instant::now();
    let zero = world.restart(0);
    zero.ear.up(1, 1);
    one.ear.up(0, 2);
    assert!(back.elapsed() < PROMISED, "{:?}", back.elapsed());
    // Attempts that fail in the same way are told of once.
    let downs = one.ear.states();
    let downs = downs
        .iter()
        .filter(|(_, state)| matches!(state, TrunkState::Down { .. }));
    assert!(downs.count() <= 3);
}

/// As a service that is stopped soon after each connection: failures of before do not count.
#[test]
fn a_peer_that_goes_again_and_again_is_met_as_soon() {
    let (world, mut listeners) = World::new(2, &TrunkLimits::default());
    let mut zero = world.start(0, Some(Listen::Bound(listeners.remove(0))));
    let one = world.start(1, None);
    for times in 1..=8 {
        let start = Instant::now();
        one.ear.up(0, times);
        assert!(start.elapsed() < PROMISED, "{times}: {:?}", start.elapsed());
        zero.trunks.shut_down(Duration::ZERO);
        drop(zero);
        zero = world.restart(0);
    }
    drop(zero);
}
