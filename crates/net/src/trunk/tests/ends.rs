//! What is said last arrives, even if it is late.

use super::super::connection::{CLOSED, Connection};
use super::super::stream::Stream;
use super::*;
use crate::frame::Frame;
use crate::link::Rest;
use crate::{AbortReason, Fault};

/// The size of each message to attacker 1 of [`full`].
const SIZE: usize = 60_000;

/// A victim and an attacker that has taken nothing. The sockets between them are full, and the rest of the last message is
/// sealed. Says how many messages there are.
fn full() -> (Victim, Attacker, Arc<Connection>, usize) {
    let victim = Victim::new(TrunkLimits {
        heartbeat: Duration::from_millis(50),
        queued_messages: 64 << 20,
        ..calm()
    });
    let attacker = victim.attacker(1);
    let trunk = victim.trunks.slot(PartyId(1)).unwrap().trunk().unwrap();
    let mut count = 0;
    // A socket that has a little room does not say so, and the system may yet find some.
    while trunk.wait_turn(Duration::from_millis(300)) || trunk.send_all().0 == Ok(true) {
        victim.trunks.tell(PartyId(1), vec![7; SIZE]).unwrap();
        count += 1;
    }
    (victim, attacker, trunk, count)
}

/// Takes so many messages of a victim, its goodbye, and nothing else.
fn take_all(victim: &Victim, attacker: &mut Attacker, count: usize) {
    for _ in 0..count {
        let (mut got, mut follow) = (0, 1);
        while follow > 0 {
            let (left, part) = attacker.expect(FrameKind::Message);
            (got, follow) = (got + part.len(), left);
        }
        assert_eq!(got, SIZE);
    }
    assert_eq!(attacker.expect(FrameKind::Bye).1, b"it has shut down");
    assert_eq!(victim.down(1), CLOSED);
}

/// A peer that takes nothing for a while gets all that was queued before the shutdown, and the goodbye.
#[test]
fn a_shutdown_sends_what_was_queued() {
    // Nothing, or more than is sent in one go.
    for queued in [0, 100] {
        let (victim, mut attacker, _, count) = full();
        for _ in 0..queued {
            victim.trunks.tell(PartyId(1), vec![7; SIZE]).unwrap();
        }
        std::thread::scope(|scope| {
            scope.spawn(|| victim.trunks.shut_down(PATIENCE));
            // The victim looks several times whether it can end.
            std::thread::sleep(Duration::from_millis(300));
            take_all(&victim, &mut attacker, count + queued);
        });
    }
}

#[test]
fn a_goodbye_waits_for_room() {
    let (victim, mut attacker, trunk, count) = full();
    trunk.close_if(true, Instant::now() + PATIENCE);
    std::thread::scope(|scope| {
        scope.spawn(|| victim.trunks.shut_down(PATIENCE));
        take_all(&victim, &mut attacker, count);
    });
}

/// Why a send fails that waits for an attacker, which does something with the stream of this number.
fn failed_send(attack: impl FnOnce(&mut Attacker, u64)) -> Error {
    let victim = Victim::new(calm());
    let mut attacker = victim.attacker(1);
    std::thread::scope(|scope| {
        let (id, mut channel) = victim.met(scope, &mut attacker);
        let body = vec![7; 1 << 20];
        let sender = scope.spawn(move || (0..1000).find_map(|_| channel.send(STEP, &body).err()));
        attack(&mut attacker, id);
        sender.join().unwrap().expect("a send that fails")
    })
}

/// A peer that drops its channel says at once that it takes nothing more; its reason may wait behind what it sends on other
/// channels.
#[test]
fn a_reason_is_heard_that_comes_after_a_stop() {
    let reason = AbortReason::from([9]);
    let attempt = || {
        failed_send(|attacker, id| {
            attacker.frame(FrameKind::Stop, id, &[]);
            std::thread::sleep(Duration::from_millis(500));
            let abort = Frame::Abort { length: 1 }.encode();
            attacker.frame(FrameKind::Data, id, &[&abort[..], reason.as_bytes()].concat());
            attacker.frame(FrameKind::End, id, &[]);
        })
    };
    let (peer, step) = (PartyId(1), STEP);
    let heard = Error::PeerAborted { peer, step, reason };
    // An attacker that was held up, and so was too late, tries again.
    assert!((0..5).any(|_| attempt() == heard));
}

#[test]
fn a_reason_is_not_awaited_for_ever() {
    let error = failed_send(|attacker, id| {
        attacker.frame(FrameKind::Stop, id, &[]);
    });
    assert!(
        matches!(&error, Error::PeerLost { reason, .. } if reason == "it closed its end"),
        "{error:?}"
    );
}

/// Who was cut off within a message must not say a last word: the peer would take it for a part of that message.
#[test]
fn what_was_queued_before_an_interruption_is_told() {
    let stream = Stream::new(1, 1 << 20, 1 << 20);
    let body = vec![7; 1 << 20];
    let slices = [IoSlice::new(&body)];
    let mut rest = Rest::new(&slices);
    let pushed = stream.push(&mut rest, false, |_| stream.interrupt()).unwrap();
    assert!((1..body.len()).contains(&pushed), "{pushed}");
    assert_eq!(stream.push(&mut rest, false, |_| ()), Err(Fault::Closed));
    assert!(
        stream
            .push(&mut Rest::new(&[IoSlice::new(&[1])]), true, |_| ())
            .is_ok()
    );
}
