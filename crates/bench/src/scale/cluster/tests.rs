//! What holds of every simulation.

use cenote::shards::WORKER_PAUSE;

use super::*;

fn work() -> Work {
    Work {
        shards: 200,
        shard: Session {
            seconds: 1.0,
            rounds: 4000,
            bytes: 50_000_000,
            and_gates: 300_000_000,
        },
        merge: Session {
            seconds: 0.5,
            rounds: 1000,
            bytes: 3_000_000,
            and_gates: 20_000_000,
        },
        rows: 200 << 17,
        start_seconds: 2.0,
        placed_seconds: 0.0,
        attempt_seconds: 0.002,
        end_seconds: 0.1,
        spread: 0.05,
    }
}

fn cluster(machines: u32) -> Cluster {
    Cluster {
        machines,
        cores: 4,
        link: Link::LAN,
        site_gbit: None,
        pause_seconds: WORKER_PAUSE.as_secs_f64(),
    }
}

const MACHINES: [u32; 13] = [1, 2, 3, 5, 7, 10, 20, 49, 50, 51, 100, 500, 1000];

/// Clusters with links of all kinds.
fn clusters() -> impl Iterator<Item = Cluster> {
    let links = [Link::default(), Link::LAN, Link::WAN, "5,0.1".parse().unwrap()];
    let sites = [None, Some(100.0), Some(1.0), Some(0.05)];
    links.into_iter().flat_map(move |link| {
        sites.into_iter().flat_map(move |site_gbit| {
            MACHINES.map(|machines| Cluster {
                link,
                site_gbit,
                ..cluster(machines)
            })
        })
    })
}

#[test]
fn no_bound_is_exceeded() {
    let slow_coordinators = Work {
        attempt_seconds: 0.5,
        ..work()
    };
    let mut close = [0.0f64; 2];
    for work in [work(), slow_coordinators] {
        for (cluster, seed) in clusters().zip(0..) {
            let outcome = simulate(&work, &cluster, seed);
            let share = |bound: f64| outcome.ands_per_second / bound;
            let network = outcome.network_bound.map_or(0.0, share);
            let coordinator = share(outcome.coordinator_bound);
            assert!(network < 1.0 && coordinator < 1.0, "{cluster:?} {outcome:?}");
            assert!(outcome.busy_percent <= 100.0 + 1e-9, "{outcome:?}");
            close = [close[0].max(network), close[1].max(coordinator)];
        }
    }
    // Either of them is what holds a job up somewhere.
    assert!(close.iter().all(|&share| share > 0.9), "{close:?}");
}

#[test]
fn more_machines_are_never_slower() {
    for seed in 0..20 {
        let free = |machines| Cluster {
            link: "20,1000".parse().unwrap(),
            ..cluster(machines)
        };
        let outcomes = MACHINES.map(|machines| simulate(&work(), &free(machines), seed));
        for pair in outcomes.windows(2) {
            assert!(pair[1].seconds <= pair[0].seconds + 1e-9, "{pair:?}");
        }
    }
}

/// Where sessions share a link that is too narrow for them, those that began late slow down those that began early, so the last ones may end later, by less than one shard.
#[test]
fn on_narrow_links_more_machines_are_slower_by_less_than_a_shard() {
    let all: Vec<Outcome> = clusters().map(|cluster| simulate(&work(), &cluster, 3)).collect();
    for (some, cluster) in all.chunks(MACHINES.len()).zip(clusters().step_by(MACHINES.len())) {
        let longest = 1.2 * cluster.alone(&work().shard, work().shard.seconds);
        for pair in some.windows(2) {
            assert!(
                pair[1].seconds <= pair[0].seconds + longest,
                "{cluster:?} {pair:?}"
            );
        }
    }
}

#[test]
fn on_one_machine_the_time_is_the_sum() {
    let work = work();
    let outcome = simulate(&work, &Cluster::here(), 5);
    let shards = (0..work.shards).map(|shard| work.computes(5, shard) + work.attempt_seconds);
    let start = work.start_seconds * varied(work.spread, 5, WORKERS);
    let merge = work.merge.seconds * varied(work.spread, 5, MERGE) + work.attempt_seconds;
    let sum = start + shards.sum::<f64>() + merge + work.end_seconds;
    assert!((outcome.seconds / sum - 1.0).abs() < 1e-9, "{outcome:?} {sum}");
    assert_eq!((outcome.workers, outcome.network_bound), (1, None));
}

#[test]
fn workers_wait_for_messages_and_for_their_pauses() {
    let even = Work {
        spread: 0.0,
        ..work()
    };
    let one = Work { shards: 1, ..even };
    let wan = Cluster {
        link: Link::WAN,
        ..cluster(1)
    };
    let (way, rate) = (0.0405, 3e9 / 8.0);
    let session = |of: &Session| of.seconds + (of.rounds as f64 + MEETING) * way + of.bytes as f64 / rate;
    let outcome = simulate(&one, &wan, 1);
    // That a worker is free, that the shard starts, and where to meet; then of the merge.
    let shard = one.start_seconds
        + one.attempt_seconds
        + 3.0 * way
        + 2.0 * WORKER_PAUSE.as_secs_f64()
        + session(&one.shard);
    let merge = 4.0 * way + one.attempt_seconds + session(&one.merge);
    assert!(
        (outcome.seconds - shard - merge - one.end_seconds).abs() < 1e-6,
        "{outcome:?}"
    );
    assert!((outcome.merge_seconds - merge).abs() < 1e-9);
    // As many workers as shards: all at once, but for the coordinators.
    let all = simulate(&even, &cluster(50), 1);
    let own = simulate(&one, &cluster(50), 1);
    let handing_out = f64::from(even.shards - 1) * even.attempt_seconds;
    assert!((all.shards_seconds - own.shards_seconds - handing_out).abs() < 1e-6);
}

#[test]
fn a_link_is_shared() {
    let even = Work {
        shards: 4,
        spread: 0.0,
        attempt_seconds: 0.0,
        ..work()
    };
    // Four sessions of 50 MB want 50 MB/s each for a second, over 50 MB/s in all.
    let narrow = Cluster {
        link: Link::default(),
        site_gbit: Some(0.4),
        pause_seconds: 0.0,
        ..cluster(1)
    };
    let outcome = simulate(&even, &narrow, 1);
    let alone = even.shard.seconds + 1.0;
    assert!((alone - narrow.alone(&even.shard, even.shard.seconds)).abs() < 1e-9);
    assert!(
        (outcome.shards_seconds - even.start_seconds - 4.0).abs() < 1e-6,
        "{outcome:?}"
    );
}

#[test]
fn the_same_seed_gives_the_same_outcome() {
    let run = |seed| simulate(&work(), &cluster(7), seed);
    assert_eq!(run(1), run(1));
    assert_ne!(run(1), run(2));
    let times: Vec<f64> = (0..10_000).map(|shard| varied(0.1, 9, shard).ln()).collect();
    let mean = times.iter().sum::<f64>() / 1e4;
    let spread = (times.iter().map(|time| time * time).sum::<f64>() / 1e4).sqrt();
    assert!(
        mean.abs() < 0.005 && (spread - 0.1).abs() < 0.005,
        "{mean} {spread}"
    );
}

#[test]
fn coordinators_accept_only_so_many_workers() {
    assert_eq!(cluster(1000).workers(), 4000);
    let many = Cluster {
        cores: 64,
        ..cluster(1000)
    };
    assert_eq!(many.workers(), MOST_WORKERS as u32);
    assert!(simulate(&work(), &many, 1).seconds.is_finite());
}
