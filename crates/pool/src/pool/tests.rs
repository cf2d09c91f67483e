//! Draws: every gadget once, uniform, and as hard to attack as is said.

use cenote_params::pool::{Attack, Draw};

use super::*;

/// Fills `pool` with all of `records`.
fn refill(pool: &mut Pool<u64>, records: Zeroizing<Vec<u64>>, coin: Block) {
    let kept = (0..(records.len() / pool.stride) as u32).collect();
    pool.refill(records, kept, coin);
}

/// Records of gadgets `first..first + count`: their numbers, in every word.
fn records(first: u64, count: u64, stride: usize) -> Zeroizing<Vec<u64>> {
    Zeroizing::new(
        (first..first + count)
            .flat_map(|number| vec![number; stride])
            .collect(),
    )
}

fn numbers(drawn: &[u64], stride: usize) -> Vec<u64> {
    let records = drawn.chunks_exact(stride);
    assert!(
        records
            .clone()
            .all(|record| record.iter().all(|word| *word == record[0]))
    );
    records.map(|record| record[0]).collect()
}

#[test]
fn nothing_is_drawn_twice_and_the_pool_stays_full() {
    for (stride, each) in [(1, 3), (3, 1), (21, 7)] {
        let mut pool = Pool::new(50, stride, each);
        let mut out = Vec::new();
        refill(&mut pool, records(0, 40, stride), Block([1, 1]));
        assert!(!pool.is_full() && pool.left() == 0);
        assert_eq!(
            pool.draw(1, &mut out),
            Err(Unready {
                wanted: each,
                left: 0
            })
        );
        refill(&mut pool, records(40, 40, stride), Block([2, 1]));
        assert!(pool.is_full() && pool.left() == 30);
        let mut made = 80;
        for round in 0..200 {
            pool.draw(pool.left() / each, &mut out).unwrap();
            assert!(pool.left() < each && pool.len() == 50);
            refill(
                &mut pool,
                records(made, 10 + round % 7, stride),
                Block([round, 2]),
            );
            made += 10 + round % 7;
        }
        let mut drawn = numbers(&out, stride);
        assert_eq!(drawn.len() as u64, pool.drawn());
        assert_eq!(drawn.len() + 50 + pool.left(), made as usize);
        drawn.sort_unstable();
        assert!(drawn.windows(2).all(|pair| pair[0] < pair[1]));
    }
}

/// A pool that crashes again and again, at any moment, and is put back from an old copy: nothing is drawn twice, and the rest goes on.
#[test]
fn nothing_is_drawn_twice_across_crashes() {
    let (size, buffer, together) = (1000, 200, 3);
    let mut dice = Sampler::new(Block([5, 8]));
    let mut pool = Pool::new(size, 1, together);
    let (mut out, mut made, mut survivors) = (Vec::new(), 0, 0);
    let mut coins = Vec::new();
    for crash in 0..60 {
        let mut copy = None;
        for _ in 0..4 + dice.below(12) {
            if pool.is_full() && (copy.is_none() || dice.below(4) == 0) {
                copy = Some(Zeroizing::new(pool.records().to_vec()));
                coins.drain(..coins.len() - pool.pending());
            }
            let coin = Block([u64::from(dice.below(u32::MAX)), made]);
            coins.push(coin);
            refill(&mut pool, records(made, buffer, 1), coin);
            made += buffer;
            let draws = dice.below(100) as usize;
            pool.draw(draws.min(pool.left() / together), &mut out).unwrap();
        }
        let Some(copy) = copy else { continue };
        let touched = |&coin: &Block| touched(coin, buffer as usize, together, size);
        let mut gaps: Vec<u32> = coins.iter().flat_map(touched).collect();
        gaps.sort_unstable();
        gaps.dedup();
        coins.clear();
        survivors += size - gaps.len();
        pool = Pool::restored([size, 1, together], copy, gaps);
        assert!(!pool.is_full() && pool.left() == 0, "{crash}");
    }
    assert!(survivors > 1000, "{survivors}");
    let drawn = out.len();
    out.sort_unstable();
    out.dedup();
    assert!(out.len() == drawn && drawn > 10_000, "{drawn}");
}

#[test]
fn draws_are_uniform_and_decided_by_the_coin_alone() {
    let (size, each, draws) = (20, 4, 50_000);
    let run = |coin: u64| {
        let mut pool = Pool::new(size, 1, each);
        let mut out = Vec::new();
        refill(
            &mut pool,
            records(0, size as u64 + 4 * draws, 1),
            Block([coin, 9]),
        );
        pool.draw(draws as usize, &mut out).unwrap();
        out
    };
    let (one, other) = (run(1), run(2));
    assert!(run(1) == one && one != other);
    // A gadget stays for a geometric number of draws: the first 20 are there for 5 on average, as are all others.
    let mean = |numbers: std::ops::Range<u64>| {
        let entered = |number: u64| number.saturating_sub(size as u64) / each as u64;
        let waits = one
            .iter()
            .enumerate()
            .filter(|(_, number)| numbers.contains(number));
        let (sum, count) = waits.fold((0.0, 0.0), |(sum, count): (f64, f64), (at, &number)| {
            let since = if number < size as u64 {
                0
            } else {
                entered(number) + 1
            };
            (sum + ((at / each) as u64 - since) as f64 + 1.0, count + 1.0)
        });
        sum / count
    };
    assert!((mean(20..100_000) - 5.0).abs() < 0.1, "{}", mean(20..100_000));
    assert!((mean(0..20) - 5.0).abs() < 4.5);
    // Together in a draw are those that a fair draw would put there: each pair of the first 20 in the first draw alike.
    let mut together = vec![0; size * size];
    for coin in 0..20_000 {
        let mut pool = Pool::new(size, 1, each);
        let mut out = Vec::new();
        refill(&mut pool, records(0, size as u64 + 4, 1), Block([coin, 77]));
        pool.draw(1, &mut out).unwrap();
        for &a in &out {
            for &b in &out {
                together[a as usize * size + b as usize] += 1;
            }
        }
    }
    for a in 0..size {
        for b in 0..size {
            let chance: f64 = if a == b { 0.2 } else { 0.2 * 3.0 / 19.0 };
            let (expected, count) = (20_000.0 * chance, f64::from(together[a * size + b]));
            let deviation = (expected * (1.0 - chance)).sqrt();
            assert!(
                (count - expected).abs() < 5.0 * deviation,
                "{a} {b}: {count} for {expected}"
            );
        }
    }
}

/// Who knows the coins knows what will be drawn, and may choose how much is drawn before the pool is refilled: with pools that
/// are refilled early and late, and drawn from one by one and many at a time, every draw is the same.
#[test]
fn when_the_pool_is_refilled_changes_no_draw() {
    let each = 4;
    // Deliveries shorter than a draw, and draws that take the last of one and the first of others.
    let lengths: Vec<u64> = (0..120).map(|round| 1 + round * round % 23).collect();
    let drawn = |early: usize, at_once: usize| {
        let mut pool = Pool::new(30, 2, each);
        let (mut out, mut made) = (Vec::new(), 60);
        refill(&mut pool, records(0, 60, 2), Block([0, 5]));
        let mut coming = lengths.iter().enumerate();
        loop {
            while pool.left() < each * early.max(at_once) {
                let Some((round, &length)) = coming.next() else {
                    return numbers(&out, 2);
                };
                refill(&mut pool, records(made, length, 2), Block([round as u64, 6]));
                made += length;
            }
            pool.draw(at_once, &mut out).unwrap();
        }
    };
    let usual = drawn(1, 1);
    for (early, at_once) in [(2, 1), (40, 1), (1, 3), (1, 50), (9, 20)] {
        let other = drawn(early, at_once);
        let both = usual.len().min(other.len());
        assert!(both > 700, "{both}");
        assert_eq!(usual[..both], other[..both], "{early} {at_once}");
    }
}

/// The best attack on a tiny pool wins as often as the analysis says (Section 4): `bad` gadgets are in the pool from the beginning,
/// and a bucket that has no other ever comes, or does not.
#[test]
fn a_tiny_pool_is_broken_as_often_as_the_analysis_says() {
    for (size, each, bad) in [(12, 2, 2), (12, 2, 5), (15, 3, 4), (10, 3, 6)] {
        let runs = 20_000;
        let mut broken = 0;
        for run in 0..runs {
            let mut pool = Pool::new(size, 1, each);
            // Which are bad does not matter: all places are alike.
            let mut first = records(1, size as u64, 1);
            first[..bad].fill(0);
            refill(&mut pool, first, Block([run, 1]));
            let (mut left, mut round) = (bad, 0);
            while left >= each {
                refill(&mut pool, records(1, 8 * each as u64, 1), Block([run, 2 + round]));
                round += 1;
                let mut out = Vec::new();
                pool.draw(8, &mut out).unwrap();
                let taken = |draw: &[u64]| draw.iter().filter(|number| **number == 0).count();
                if out.chunks_exact(each).any(|draw| taken(draw) == each) {
                    broken += 1;
                    break;
                }
                left -= taken(&out);
            }
        }
        let attack = Attack::new(size as u64, Draw::bucket(each as u64).unwrap(), bad as u64).unwrap();
        let chance = attack.ever_fails(bad as u64).log2().exp2();
        let (expected, runs) = (runs as f64 * chance, runs as f64);
        let deviation = (runs * chance * (1.0 - chance)).sqrt();
        assert!(
            (f64::from(broken) - expected).abs() < 4.0 * deviation,
            "{size} {each} {bad}: {broken} for {expected}"
        );
    }
}

#[test]
fn nothing_is_drawn_after_a_panic_in_the_middle() {
    let mut pool = Pool::new(30, 1, 3);
    refill(&mut pool, records(0, 90, 1), Block([1, 8]));
    let mut taken = Vec::new();
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        pool.draw_each(10, |draw, drawn| {
            taken.extend(drawn.records().map(|record| record[0]));
            assert!(draw < 4, "the caller's");
        })
    }));
    assert!(panicked.is_err() && taken.len() == 15);
    assert!(pool.is_empty() && pool.left() == 0 && pool.draw(1, &mut Vec::new()).is_err());
    refill(&mut pool, records(90, 60, 1), Block([2, 8]));
    let mut out = Vec::new();
    pool.draw(10, &mut out).unwrap();
    assert!(out.iter().all(|number| *number >= 90));
}

#[test]
fn what_was_checked_never_comes_out() {
    let mut pool = Pool::new(10, 2, 4);
    let mut out = Vec::new();
    let mut made = 0;
    for round in 0..50 {
        // Every third is checked.
        let fresh = 30 + round % 5;
        let kept: Vec<u32> = (0..fresh)
            .filter(|number| (made + u64::from(*number)) % 3 != 0)
            .collect();
        pool.refill(records(made, fresh.into(), 2), kept, Block([round.into(), 3]));
        made += u64::from(fresh);
        pool.draw(pool.left() / 4, &mut out).unwrap();
        assert!(pool.room().is_empty());
    }
    let mut drawn = numbers(&out, 2);
    assert!(drawn.iter().all(|number| number % 3 != 0));
    drawn.sort_unstable();
    assert!(drawn.windows(2).all(|pair| pair[0] < pair[1]) && drawn.len() > 900);
}
