//! How far sending runs ahead of receiving: chosen, or measured; and what it may cost.

mod common;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use cenote_circuit::{BitOrder, Builder, Plan};
use cenote_net::{Channel, ChannelOptions, PartyId, Shape, Shaped, Step, memory_pair};
use cenote_params::three::{Parameters, Variant, check};
use cenote_primitives::{BLOCK_BITS, BitMatrix, Block512};
use cenote_protocol::Protocol;
use cenote_session::{Demand, Engine, Error, MESSAGE_FORM, Parties};
use cenote_testkit::{Between, Tapped};
use cenote_three::{Config, Lag, Links, Ring, Three, ThreeEngine, ViewCheck, steps};
use common::intercept::{Spy, spoilt};
use common::session::{Session, random_bits, share, small_answer, small_input, small_plan};
use common::tiny;

/// Links whose messages take `way`.
fn long_links(way: Duration) -> [Links; 3] {
    let options = ChannelOptions::with_timeout(Duration::from_secs(20));
    let shape = Shape::new(way, None);
    let rings = || {
        let mut ends: [[Option<Box<dyn Channel>>; 3]; 3] = Default::default();
        for (a, b) in [(0, 1), (1, 2), (0, 2)] {
            let (for_a, for_b) = memory_pair(PartyId(a), PartyId(b), options.clone());
            ends[a as usize][b as usize] = Some(Box::new(Shaped::new(for_a, shape)));
            ends[b as usize][a as usize] = Some(Box::new(Shaped::new(for_b, shape)));
        }
        [0, 1, 2].map(|me| Ring {
            previous: ends[me][(me + 2) % 3].take().unwrap(),
            next: ends[me][(me + 1) % 3].take().unwrap(),
        })
    };
    let [g0, g1, g2] = rings();
    let [e0, e1, e2] = rings();
    [(g0, e0), (g1, e1), (g2, e2)].map(|(generator, evaluator)| Links { generator, evaluator })
}

/// Runs `party` at all three, over links whose messages take `way`.
fn all<T: Send>(
    parameters: &Parameters,
    lag: Lag,
    way: Duration,
    party: impl Fn(&mut ThreeEngine) -> cenote_session::Result<T> + Sync,
) -> Vec<T> {
    over(long_links(way), parameters, lag, party)
}

/// Runs `party` at all three, over these links.
fn over<T: Send>(
    links: [Links; 3],
    parameters: &Parameters,
    lag: Lag,
    party: impl Fn(&mut ThreeEngine) -> cenote_session::Result<T> + Sync,
) -> Vec<T> {
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0u8..)
            .zip(links)
            .map(|(me, links)| {
                let party = &party;
                scope.spawn(move || {
                    let mut config = Config::new(parameters.clone(), "lag");
                    config.lag = lag;
                    config.ahead = 2;
                    party(&mut ThreeEngine::start(PartyId(me), vec![links], config)?)
                })
            })
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap().unwrap())
            .collect()
    })
}

/// One AND.
fn single() -> Plan {
    let mut b = Builder::new();
    let x = b.input("x", 2, BitOrder::Lsb);
    let product = b.and(x[0], x[1]);
    b.output("xy", &[product], BitOrder::Lsb);
    Plan::new(&b.finish())
}

/// Counts the checks that a generator has sent to the previous party and not yet received from the next.
#[derive(Clone, Default)]
struct Flight(Arc<Mutex<InFlight>>);

#[derive(Default)]
struct InFlight {
    sent: usize,
    received: usize,
    most: usize,
}

impl Between for Flight {
    fn send(&mut self, channel: &mut dyn Channel, step: Step, parts: &[&[u8]]) -> cenote_net::Result<()> {
        if step == steps::CHECK_TRIPLE {
            let mut flight = self.0.lock().unwrap();
            flight.sent += 1;
            flight.most = flight.most.max(flight.sent - flight.received);
        }
        channel.send_parts(step, parts)
    }

    fn receive(
        &mut self,
        channel: &mut dyn Channel,
        step: Step,
        parts: &mut [&mut [u8]],
    ) -> cenote_net::Result<()> {
        channel.recv_parts(step, parts)?;
        if step == steps::CHECK_TRIPLE {
            self.0.lock().unwrap().received += 1;
        }
        Ok(())
    }
}

/// Makes one batch whose arrays are checked in 40 messages each; how many were to be in flight at the most, and how many were.
fn one_batch(lag: Lag, way: Duration) -> Vec<(usize, usize)> {
    let parameters = check(Variant::Baseline, 40 * 1024, 2, 1, 1).unwrap();
    let flights: [Flight; 3] = Default::default();
    let mut number = 0;
    let links = long_links(way).map(|Links { generator, evaluator }| {
        let flight = &flights[number];
        number += 1;
        let tap = |end| -> Box<dyn Channel> { Box::new(Tapped::new(flight.clone(), end)) };
        let generator = Ring {
            previous: tap(generator.previous),
            next: tap(generator.next),
        };
        Links { generator, evaluator }
    });
    let lags = over(links, &parameters, lag, |engine| {
        let plan = single();
        engine.prepare(&plan, BLOCK_BITS)?;
        engine.fill_stock()?;
        let bits = BitMatrix::zeros(2, BLOCK_BITS);
        let own = (engine.me() == PartyId(0)).then_some(&bits);
        let wires = engine.input(PartyId(0), 2, BLOCK_BITS, own)?;
        let product = engine.run(&plan, &wires)?;
        let revealed = engine.reveal(&product, Parties::all(3))?.unwrap();
        assert!(revealed.words().iter().all(|word| *word == 0));
        engine.finish()?;
        Ok(engine.lag())
    });
    let most = flights.map(|flight| flight.0.lock().unwrap().most);
    lags.into_iter().zip(most).collect()
}

/// On a long link two messages in flight would take the time of many ways; when links are measured, as many are sent as
/// they hold.
#[test]
fn long_links_are_filled_when_they_are_measured() {
    let way = Duration::from_millis(15);
    assert_eq!(one_batch(Lag::default(), way), [(2, 2); 3]);
    for (lag, most) in one_batch(Lag::Measured, way) {
        assert!((62..=Lag::MOST).contains(&lag), "{lag}");
        // All that there are.
        assert_eq!(most, 40);
    }
}

/// All parties measure, or none.
#[test]
fn a_measured_session_computes_the_same() {
    let inputs = [0, 1, 2].map(small_input);
    let answer = small_answer(&inputs);
    for found in all(
        &tiny(Variant::OnDemand),
        Lag::Measured,
        Duration::ZERO,
        |engine| {
            let wires = share(engine, &inputs)?;
            let outputs = engine.run(&small_plan(), &wires)?;
            let revealed = engine.reveal(&outputs, Parties::all(3))?;
            engine.finish()?;
            Ok(revealed)
        },
    ) {
        assert_eq!(found.as_ref(), Some(&answer));
    }
}

#[test]
fn numbers_out_of_bounds_are_refused() {
    for count in [0, Lag::MOST + 1, usize::MAX] {
        let links = common::memory_links(&ChannelOptions::with_timeout(Duration::from_secs(5)));
        let [zero, ..] = links;
        let mut config = Config::new(tiny(Variant::OnDemand), "lag");
        config.lag = Lag::Messages(count);
        let refused = ThreeEngine::start(PartyId(0), vec![zero], config).err();
        assert!(matches!(refused, Some(Error::BadInput(_))), "{refused:?}");
    }
}

/// A ping that is changed or cut ends the session before it begins.
#[test]
fn pings_are_checked() {
    for truncate in [false, true] {
        let spy = Spy::corrupting(move |message| {
            let hit: &[Step] = steps::MEASURED;
            (hit.contains(&message.step) && message.occurrence == 2 && message.wire.to == 1)
                .then(|| spoilt(message, truncate))
        });
        let mut session = Session::new(tiny(Variant::OnDemand), ViewCheck::Mac, 3).with_spy(0, &spy);
        session.change = Some(|config| config.lag = Lag::Measured);
        let results = session.run(|_| Ok(()));
        for party in [1, 2] {
            let error = results[party].as_ref().unwrap_err();
            assert_eq!(error.check(), Some(MESSAGE_FORM), "party {party}: {error}");
        }
    }
}

/// The bound on memory counts every batch that may wait, and the messages in flight.
#[test]
fn memory_counts_what_waits_and_what_is_in_flight() {
    let parameters = tiny(Variant::OnDemand);
    let bound = |ahead: usize, lag: usize| {
        let [zero, one, two] = common::memory_links(&ChannelOptions::with_timeout(Duration::from_secs(20)));
        let bounds = std::thread::scope(|scope| {
            let threads = [zero, one, two].map(|links| (links, parameters.clone()));
            let threads: Vec<_> = (0u8..)
                .zip(threads)
                .map(|(me, (links, parameters))| {
                    scope.spawn(move || {
                        let mut config = Config::new(parameters, "memory");
                        (config.ahead, config.lag) = (ahead, Lag::Messages(lag));
                        let engine = ThreeEngine::start(PartyId(me), vec![links], config).unwrap();
                        engine.costs().memory_bytes
                    })
                })
                .collect();
            Vec::from_iter(threads.into_iter().map(|thread| thread.join().unwrap()))
        });
        assert!(bounds.iter().all(|bound| *bound == bounds[0]));
        bounds[0]
    };
    let least = parameters.memory_bytes(BLOCK_BITS as u32);
    let block = size_of::<Block512>() as u64;
    assert_eq!(bound(1, 2), least);
    assert_eq!(bound(4, 2), least + 3 * 2 * parameters.n() * block);
    let window = parameters.n() * (6 * block + 16);
    assert_eq!(bound(1, 12), least + 2 * 10 * window);
    // What is said before the peers are met holds whatever their answers have this party measure.
    let stated = Three::default().memory_bytes(&parameters.clone().into(), &Demand::new(), PartyId(0));
    assert_eq!(stated, bound(1, Lag::MOST));
}

/// Waves are as large as the engine says: one lane more takes another round.
#[test]
fn waves_are_as_told() {
    let plan = single();
    let each = ThreeEngine::wave_lanes(&plan);
    assert!(each > 0 && each.is_multiple_of(BLOCK_BITS));
    let bits = random_bits(1, 2, 2 * each + 1);
    for rounds in all(
        &tiny(Variant::Baseline),
        Lag::default(),
        Duration::ZERO,
        |engine| {
            let mut rounds = Vec::new();
            for lanes in [each, each + 1, 2 * each, 2 * each + 1] {
                let bits = BitMatrix::from_fn(2, lanes, |row, lane| bits.get(row, lane));
                let own = (engine.me() == PartyId(0)).then_some(&bits);
                let wires = engine.input(PartyId(0), 2, lanes, own)?;
                let before = engine.costs().rounds;
                engine.run(&plan, &wires)?;
                rounds.push(engine.costs().rounds - before);
            }
            Ok(rounds)
        },
    ) {
        assert_eq!(rounds, [1, 2, 2, 3]);
    }
}
