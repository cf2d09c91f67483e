//! A trunk under a checker that tries interleavings of its threads. It is the same source over the checker's locks and over a
//! socket in memory, where no wait ends by its time: a thread that nobody wakes is found, and the checker prints the
//! interleaving.

mod ends;
mod meetings;
mod socket;
mod streams;

use std::io::IoSlice;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use shuttle::thread::{JoinHandle, spawn};

use super::super::{config, facts, hello, inflow, wire};
use crate::{Fault, Link, PartyId};

/// The files that own the locks of a trunk. Not all of each is used here.
macro_rules! again {
    ($($name:ident $path:literal)*) => {$(
        #[path = $path]
        #[allow(clippy::duplicate_mod, dead_code, reason = "the checker needs the same source over other locks")]
        mod $name;
    )*};
}

again! {
    connection "../connection.rs"
    link "../link.rs"
    outlet "../outlet.rs"
    peer "../peer.rs"
    reader "../reader.rs"
    sessions "../sessions.rs"
    stream "../stream.rs"
}

/// As [`crate::trunk::locks`], of the checker.
mod locks {
    pub(super) use shuttle::sync::atomic::{AtomicBool, Ordering};
    pub(super) use shuttle::sync::{Condvar, Mutex, MutexGuard};
}

/// What a channel keeps up: here it is the test that does.
mod shared {
    pub(super) struct Keep;
}

use connection::Connection;
use link::StreamLink;
use locks::{Condvar, Mutex};
use shared::Keep;
use socket::Socket;

/// Interleavings of a scenario: so many by chance, and so many with a few changes of priority.
const TRIES: usize = 200;
const CHANGES: usize = 3;
/// Longer than any test takes: what looks at the time does not end by it either.
const LONG: Duration = Duration::from_secs(3600);
/// So many bytes are on their way at most: less than many a frame.
const WIRE: usize = 40;

/// Tries interleavings of a scenario. None may panic, or leave a thread that waits for ever.
fn check(scenario: impl Fn() + Send + Sync + 'static) {
    check_some(TRIES, scenario);
}

/// As [`check`], of one that takes long.
fn check_some(tries: usize, scenario: impl Fn() + Send + Sync + 'static) {
    let scenario = Arc::new(scenario);
    let again = Arc::clone(&scenario);
    shuttle::check_random(move || scenario(), tries);
    shuttle::check_pct(move || again(), tries, CHANGES);
}

fn join<T>(thread: JoinHandle<T>) -> T {
    thread.join().expect("it ends")
}

/// Notes the messages of the peer.
#[derive(Default)]
struct Ear {
    messages: Mutex<Vec<Vec<u8>>>,
    changed: Condvar,
}

impl facts::Heard for Ear {
    fn link(&self, _: PartyId, _: &facts::TrunkState) {}

    fn message(&self, _: PartyId, message: Vec<u8>) {
        self.messages
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(message);
        self.changed.notify_all();
    }
}

impl Ear {
    /// Waits for so many messages, and gives all that have come.
    fn wait(&self, count: usize) -> Vec<Vec<u8>> {
        let messages = self.messages.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self
            .changed
            .wait_while(messages, |messages| messages.len() < count);
        waited.unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Both ends of a trunk, over a wire that holds so many bytes, which nobody serves yet.
fn trunks(wire: usize, window: usize) -> [Arc<Connection>; 2] {
    let limits = config::TrunkLimits {
        heartbeat: LONG,
        silence: LONG,
        window,
        ..config::TrunkLimits::default()
    };
    let mut me = 0;
    Socket::pair(wire).map(|socket| {
        let peer = PartyId(1 - me);
        let hello = hello::Hello::new(2, (peer, PartyId(me)), &limits, "1.0");
        me += 1;
        Arc::new(Connection::new(peer, socket, hello, limits.clone()))
    })
}

/// Serves a trunk until it is over; says why it is.
fn serve(trunk: &Arc<Connection>, ear: &Ear) -> String {
    let sends = trunk.clone();
    let sends = spawn(move || sends.send_on());
    let reason = trunk.read_on(ear);
    join(sends);
    reason
}

/// A trunk at both ends, and the threads that serve it.
struct Pair {
    trunks: [Arc<Connection>; 2],
    ears: [Arc<Ear>; 2],
    threads: Vec<JoinHandle<()>>,
}

impl Pair {
    /// One whose streams have a window of so many bytes.
    fn new(window: usize) -> Self {
        Self::over(WIRE, window)
    }

    /// As [`Pair::new`], and so many bytes are on their way at most.
    fn over(wire: usize, window: usize) -> Self {
        let trunks = trunks(wire, window);
        let ears = [(); 2].map(|()| Arc::new(Ear::default()));
        let mut threads = Vec::new();
        for (trunk, ear) in trunks.clone().into_iter().zip(ears.clone()) {
            threads.push(spawn(move || drop(serve(&trunk, &ear))));
        }
        Pair {
            trunks,
            ears,
            threads,
        }
    }

    /// So many streams, at both ends; each queues up to `queue` bytes.
    fn streams<const N: usize>(&self, queue: usize) -> [[StreamLink; N]; 2] {
        let made = [0, 1].map(|side: usize| self.trunks[side].new_streams(N, queue).1);
        let window = self.trunks[0].limits.window as u32;
        for (one, other) in made[0].iter().zip(&made[1]) {
            one.match_with(1, other.id, window);
            other.match_with(1, one.id, window);
        }
        let mut made = made.into_iter();
        [0, 1].map(|side: usize| {
            let mut streams = made.next().into_iter().flatten();
            [(); N].map(|()| {
                let stream = streams.next().expect("one of so many");
                StreamLink::new(stream, self.trunks[side].clone(), Arc::new(Keep))
            })
        })
    }

    /// Has everything handled that was said before, by both.
    fn settle(&self) {
        for (trunk, ear) in self.trunks.iter().zip(self.ears.iter().rev()) {
            let before = ear.wait(0).len();
            assert!(trunk.outlet.message(b"settle".to_vec(), 1 << 10));
            trunk.send_now();
            ear.wait(before + 1);
        }
    }

    /// The trunk breaks, and its threads end.
    fn end(self) {
        self.trunks[0].break_off(Fault::Lost("the end".into()));
        self.threads.into_iter().for_each(join);
    }
}

/// Sends all of these bytes.
fn send(link: &mut StreamLink, bytes: &[u8]) -> Result<(), Fault> {
    let mut sent = 0;
    while sent < bytes.len() {
        match link.push(&[IoSlice::new(&bytes[sent..])], false)? {
            0 => link.wait_room(LONG),
            count => sent += count,
        }
    }
    Ok(())
}

/// Receives `most` bytes, or up to the end of the stream.
fn receive(link: &mut StreamLink, most: usize) -> Result<Vec<u8>, Fault> {
    let mut got = vec![0; most];
    let mut count = 0;
    while count < most {
        match link.pull(&mut got[count..], &mut [])? {
            Some(0) => break,
            Some(more) => count += more,
            None => link.wait_data(LONG),
        }
    }
    got.truncate(count);
    Ok(got)
}

/// Bytes that tell where they belong.
fn bytes(from: u8, count: usize) -> Vec<u8> {
    (0..count).map(|index| from.wrapping_add(index as u8)).collect()
}
