//! Peers that flood on many channels: the memory that it costs, as the operating system counts it.

mod common;

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use common::{ChannelKind, MIB, PIPES, STEP, assert_late, pair_with, with_budget};

/// The memory of this process that was resident at most, in bytes.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes: Option<u64> = line.and_then(|rest| rest.trim().strip_suffix(" kB")?.trim().parse().ok());
    kilobytes.unwrap_or(0) << 10
}

/// The only test of this binary: what it measures is the process's. Peers that send on many channels what nobody receives, and take nothing.
#[test]
fn a_flood_on_many_channels_stays_within_the_budget() {
    for kind in [ChannelKind::Tcp, ChannelKind::Tls] {
        let ours = with_budget(600, 8 * MIB);
        let theirs = with_budget(2000, 0);
        let before = peak();

        let all = (0..PIPES)
            .map(|_| pair_with(kind, [&ours, &theirs]))
            .collect::<Vec<_>>();
        let body = vec![7; 32 * MIB];
        let (body, over, sent) = (&body, &AtomicBool::new(false), &AtomicUsize::new(0));
        std::thread::scope(|scope| {
            let mut victims = Vec::new();
            for (mut victim, mut flooder) in all {
                scope.spawn(move || {
                    while !over.load(Ordering::Relaxed) && flooder.send(STEP, body).is_ok() {
                        sent.fetch_add(1, Ordering::Relaxed);
                    }
                    // Dropped, it would take what comes.
                    while !over.load(Ordering::Relaxed) {
                        std::thread::sleep(Duration::from_millis(5));
                    }
                });
                victims.push(scope.spawn(move || {
                    let error = victim.send(STEP, body).unwrap_err();
                    (error, victim)
                }));
            }
            let ended: Vec<_> = victims.into_iter().map(|thread| thread.join().unwrap()).collect();
            assert!(ours.budget.drawn() <= 8 * MIB as u64);
            for (error, _) in &ended {
                assert_late(error);
            }
            // Whoever has dropped a channel takes what comes for a while.
            drop(ended);
            let (so_far, dropped) = (sent.load(Ordering::Relaxed), Instant::now());
            while sent.load(Ordering::Relaxed) < so_far + 8 && dropped.elapsed() < Duration::from_secs(10) {
                std::thread::sleep(Duration::from_millis(5));
            }
            over.store(true, Ordering::Relaxed);
        });
        let most = ours.budget.bound(1, PIPES) + theirs.budget.bound(1, PIPES) + body.len() as u64;
        // The threads' stacks and the test itself are not the channels'.
        assert!(
            peak() - before <= most + 16 * MIB as u64,
            "{} bytes, {most} allowed",
            peak() - before
        );
    }
}
