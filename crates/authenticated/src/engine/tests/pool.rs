//! The pool: when it is drawn from, and what the best attack on a tiny one achieves.

use cenote_params::pool::{Attack, Draw, triples};
use cenote_pool::Pool;

use super::*;

/// Nothing can be drawn from a pool before a coin says what, and the coin of a lot is tossed when its leaky ANDs have been compared.
#[test]
fn coins_come_after_the_comparison_and_before_what_is_drawn() {
    let order: Arc<Mutex<Vec<Step>>> = Arc::default();
    let listening = order.clone();
    let ears = Adversary::with(move |_, _, message: Message| {
        listening.lock().unwrap().push(message.step);
        vec![message]
    });
    let results = Session::with(1, [ears, passing()]).run(program(300));
    assert!(results.iter().all(Result::is_ok));
    let order = order.lock().unwrap();
    // Where the next message of a step is.
    let next = |from: usize, step: Step| {
        order[from..]
            .iter()
            .position(|other| *other == step)
            .map(|at| from + at)
    };
    let mut lots = 0;
    for (at, step) in order.iter().enumerate() {
        match *step {
            steps::LEAKY if order[at - 1] != steps::LEAKY => {
                let coin = next(at, steps::COIN).unwrap();
                for before in [steps::PRODUCTS, steps::AGREE_EQUALITY, steps::CONFIRM_EQUALITY] {
                    assert!(next(at, before).unwrap() < coin, "{}", before.name);
                }
                assert!(next(at, steps::OPEN_TRIPLES).is_none_or(|opened| opened > coin));
                lots += 1;
            }
            steps::OPEN_TRIPLES => assert!(lots > 0),
            _ => {}
        }
    }
    assert!(lots > 3);
}

/// A pool from which nobody has tossed what to draw gives nothing.
#[test]
fn nothing_is_drawn_without_a_coin() {
    let [garbler, evaluator] = Session::honest(1).run(|engine| {
        let party = engine.parts().0;
        let empty = party.supply.pool.draw_each(1, |_, _| ()).is_err() && !party.supply.has(1);
        let none_before = party.supply.has(0);
        engine.fill()?;
        let party = engine.parts().0;
        Ok(empty && none_before && party.supply.has(1) && party.supply.pool.draw_each(1, |_, _| ()).is_ok())
    });
    assert!(garbler.unwrap() && evaluator.unwrap());
}

/// A cheater puts so many leaky ANDs into a tiny pool of which it knows x, each caught with probability 1/2, and waits until they are drawn. It wins if
/// a bucket has no other. That is as often as formula (2) of the paper says, for every number; `params` takes the best.
#[test]
fn the_best_attack_on_a_tiny_pool_is_as_good_as_reckoned() {
    const SIZE: usize = 6;
    const EACH: usize = 2;
    let reckoned = Attack::new(SIZE as u64, Draw::bucket(EACH as u64).unwrap(), 6).unwrap();
    let trials = 30_000u64;
    let mut best = (0.0f64, 0);
    for bad in 1..=5usize {
        let mut wins = 0;
        for trial in 0..trials {
            let mut coins = Entropy::for_tests(trial * 8 + bad as u64);
            // x of each bad one is 1, and it is noticed, with probability 1/2.
            let noticed = u64::from_le_bytes(coins.bytes()) & ((1 << bad) - 1) != 0;
            if noticed {
                continue;
            }
            let mut pool: Pool<Block> = Pool::new(SIZE, 1, EACH);
            let mark = |bad: bool| if bad { ONE } else { Block::ZERO };
            let first = (0..SIZE).map(|at| mark(at < bad)).collect::<Vec<_>>();
            pool.refill(first.into(), (0..SIZE as u32).collect(), coins.block());
            let (mut left, mut won) = (bad, false);
            while left > 0 && !won {
                let fresh = vec![Block::ZERO; EACH];
                pool.refill(fresh.into(), (0..EACH as u32).collect(), coins.block());
                let mut drawn = Vec::new();
                pool.draw(1, &mut drawn).unwrap();
                let bad = drawn.iter().filter(|record| **record == ONE).count();
                left -= bad;
                won = bad == EACH;
            }
            wins += u64::from(won);
        }
        let rate = wins as f64 / trials as f64;
        let expected = reckoned.ever_fails(bad as u64).probability() * 0.5f64.powi(bad as i32);
        let deviation = (expected * (1.0 - expected) / trials as f64).sqrt();
        assert!(
            (rate - expected).abs() <= 5.0 * deviation + 1e-9,
            "{bad} bad: {rate} and {expected}"
        );
        best = if expected > best.0 { (expected, bad) } else { best };
    }
    let (b, success) = reckoned.insert_at_once(0.5);
    assert_eq!(b, best.1 as u64);
    assert!((success.probability() - best.0).abs() < 1e-12);
}

/// The numbers of the specification.
#[test]
fn buckets_are_those_of_the_paper() {
    for (pool, bucket) in [(478_610, 3), (478_609, 4), (7673, 4), (7672, 5), (1073, 5)] {
        assert_eq!(triples(40, pool).unwrap().bucket, bucket);
    }
    // Against an adversary that waits and sees it takes somewhat larger ones.
    for (pool, bucket) in [(524_291, 3), (524_290, 4), (8022, 4), (7673, 5), (1101, 5)] {
        let found = Sizes::search(40, pool).unwrap().pool;
        assert_eq!(found.bucket, bucket, "{pool}");
        assert!(found.error.meets(40) && found.adaptive_error.meets(40));
    }
    let cheapest = |ands| Sizes::cheapest(40, ands, 1 << 20).unwrap().pool;
    assert_eq!(
        (
            cheapest(1).bucket,
            cheapest(100_000).bucket,
            cheapest(1 << 30).bucket
        ),
        (16, 4, 3)
    );
}
