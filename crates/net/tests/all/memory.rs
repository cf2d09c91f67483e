//! Peers that flood, or take nothing, on many channels cost bounded memory, and nobody waits for ever for memory.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::common::{Boxed, ChannelKind, MIB, PIPES, STEP, assert_late, bytes, pair, with_budget};
use cenote_net::{Channel, ChannelOptions, Error, PartyId, memory_pair};

/// Pairs of channels whose ends draw on the budgets of `a` and `b`.
fn pairs(kind: ChannelKind, a: &ChannelOptions, b: &ChannelOptions) -> Vec<(Boxed, Boxed)> {
    (0..PIPES)
        .map(|_| match kind {
            ChannelKind::Memory => {
                let (for_a, for_b) = memory_pair(PartyId(0), PartyId(1), a.clone());
                (Box::new(for_a) as Boxed, Box::new(for_b) as Boxed)
            }
            _ => crate::common::pair_with(kind, [a, b]),
        })
        .collect()
}

/// Two parties send 6 MiB to each other on each of many channels, before either receives; together they could queue a
/// third of that.
#[test]
fn both_send_first_on_many_channels() {
    const SIZE: usize = 6 * MIB;
    for kind in [ChannelKind::Memory, ChannelKind::Tcp, ChannelKind::Tls] {
        let ends = [with_budget(60_000, 16 * MIB), with_budget(60_000, 16 * MIB)];
        let most = AtomicU64::new(0);
        let all = pairs(kind, &ends[0], &ends[1]);
        std::thread::scope(|scope| {
            let mut threads = Vec::new();
            for (index, (a, b)) in all.into_iter().enumerate() {
                for ((me, mut channel), end) in [(0, a), (1, b)].into_iter().zip(&ends) {
                    let most = &most;
                    threads.push(scope.spawn(move || {
                        let seed = |of: u64| 2 * index as u64 + of;
                        channel.send(STEP, &bytes(seed(me), SIZE)).unwrap();
                        most.fetch_max(end.budget.drawn(), Ordering::Relaxed);
                        let mut body = vec![0; SIZE];
                        channel.recv(STEP, &mut body).unwrap();
                        assert!(body == bytes(seed(1 - me), SIZE), "{kind:?}");
                        channel.close().unwrap();
                    }));
                }
            }
            threads.into_iter().for_each(|thread| thread.join().unwrap());
        });
        let most = most.into_inner();
        // Two pools, where both parties have one budget.
        let pools = if kind == ChannelKind::Memory { 2 } else { 1 };
        // How much depends on who comes first, and on what the system holds of sockets.
        assert!(most > MIB as u64, "{kind:?}: the budget was not used: {most}");
        assert!(most <= pools * 16 * MIB as u64, "{kind:?}: {most}");
        for end in &ends {
            assert_eq!(end.budget.drawn(), 0, "{kind:?}: all is given back");
        }
    }
}

/// A peer that takes nothing uses up its own pool, not another peer's.
#[test]
fn one_peer_does_not_use_up_the_memory_for_another() {
    let options = with_budget(300, 8 * MIB);
    let body = vec![1; 32 * MIB];
    let (mut idle, _silent) = memory_pair(PartyId(0), PartyId(1), options.clone());
    assert_late(&idle.send(STEP, &body).unwrap_err());
    assert!(options.budget.drawn() > 7 * MIB as u64);
    let (mut a, mut b) = memory_pair(PartyId(0), PartyId(2), options);
    let half = &body[..4 * MIB];
    a.send(STEP, half).and_then(|()| a.flush()).unwrap();
    let mut received = vec![0; half.len()];
    b.recv(STEP, &mut received).unwrap();
}

/// With no budget at all, messages of any size pass, and last words are said.
#[test]
fn the_fixed_part_suffices_for_one_direction() {
    for kind in [ChannelKind::Memory, ChannelKind::Tcp, ChannelKind::Tls] {
        let (mut a, mut b) = pair(kind, &with_budget(20_000, 0));
        std::thread::scope(|scope| {
            let sender = scope.spawn(move || {
                a.send(STEP, &bytes(1, 24 * MIB)).unwrap();
                a.abort([9].into());
                // Dropped, it would keep what is queued for a while only.
                a
            });
            let mut body = vec![0; 24 * MIB];
            b.recv(STEP, &mut body).unwrap();
            assert!(body == bytes(1, 24 * MIB), "{kind:?}");
            assert_eq!(
                b.recv(STEP, &mut [0]),
                Err(Error::PeerAborted {
                    peer: PartyId(0),
                    step: STEP,
                    reason: [9].into()
                })
            );
            drop(sender.join().unwrap());
        });
    }
}
