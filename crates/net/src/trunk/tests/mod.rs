//! Peers with a pinned key that do not keep to the rules: each harms its own connection only, which ends with the reason.

mod ends;
mod hostile;
mod interleavings;
mod silent;

use std::io::IoSlice;
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use super::hello::Hello;
use super::wire::{FrameKind, HEADER, Head, Join, labels_digest, put, session_hash};
use super::*;
use crate::deadline::Deadline;
use crate::{Channel, Identity, Link, Listen, PeerAddress, Step, TlsLink};

const STEP: Step = Step {
    code: 7,
    name: "test",
};
/// The longest wait for what must come.
const PATIENCE: Duration = Duration::from_secs(20);

/// Passes on what party 0 hears.
struct Ear {
    states: Mutex<Sender<(PartyId, TrunkState)>>,
    messages: Mutex<Sender<Vec<u8>>>,
    /// While it is held, messages hold up who brings them.
    gate: Arc<Mutex<()>>,
}

impl Heard for Ear {
    fn link(&self, peer: PartyId, state: &TrunkState) {
        let _ = self.states.lock().unwrap().send((peer, state.clone()));
    }

    fn message(&self, _: PartyId, message: Vec<u8>) {
        let _ = self.messages.lock().unwrap().send(message);
        drop(self.gate.lock().unwrap());
    }
}

/// Party 0, whose peers 1 and 2 are attackers.
struct Victim {
    trunks: Trunks,
    states: Receiver<(PartyId, TrunkState)>,
    messages: Receiver<Vec<u8>>,
    gate: Arc<Mutex<()>>,
    identities: Vec<Arc<Identity>>,
    parties: Vec<PeerAddress>,
    limits: TrunkLimits,
}

impl Victim {
    fn new(limits: TrunkLimits) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let identities: Vec<_> = (0..3).map(|_| Arc::new(Identity::generate().unwrap())).collect();
        let party = |identity: &Arc<Identity>| PeerAddress {
            address: listener.local_addr().unwrap().to_string(),
            fingerprint: Some(identity.fingerprint()),
            relayed: false,
        };
        let parties: Vec<_> = identities.iter().map(party).collect();
        let (states, heard_states) = channel();
        let (messages, heard_messages) = channel();
        let ear = Ear {
            states: Mutex::new(states),
            messages: Mutex::new(messages),
            gate: Arc::default(),
        };
        let gate = ear.gate.clone();
        let config = TrunkConfig {
            me: PartyId(0),
            parties: parties.clone(),
            listen: Some(Listen::Bound(listener)),
            identity: identities[0].clone(),
            version: "1.0".into(),
            limits: limits.clone(),
        };
        Self {
            trunks: Trunks::start(config, Arc::new(ear)).unwrap(),
            states: heard_states,
            messages: heard_messages,
            gate,
            identities,
            parties,
            limits,
        }
    }

    fn socket(&self) -> TcpStream {
        TcpStream::connect(self.trunks.address().unwrap()).unwrap()
    }

    /// A connection of an attacker that has proved its key.
    fn link(&self, attacker: u8) -> TlsLink {
        let identity = &self.identities[usize::from(attacker)];
        let pinned = (PartyId(0), self.parties[0].fingerprint.unwrap());
        TlsLink::dial(self.socket(), 1 << 20, identity, pinned, deadline()).unwrap()
    }

    /// An attacker that has said its hello.
    fn attacker(&self, attacker: u8) -> Attacker {
        let mut link = self.link(attacker);
        let hello = Hello::new(3, (PartyId(attacker), PartyId(0)), &self.limits, "1.0");
        hello.exchange(&mut link, deadline()).unwrap();
        self.up(attacker);
        Attacker { link }
    }

    fn state(&self) -> (PartyId, TrunkState) {
        self.states.recv_timeout(PATIENCE).expect("the state must change")
    }

    fn up(&self, peer: u8) {
        assert_eq!(self.state(), (PartyId(peer), TrunkState::Up));
    }

    /// Waits for the end of a connection; says why it ended.
    fn down(&self, peer: u8) -> String {
        match self.state() {
            (of, TrunkState::Down { reason, again: None }) if of == PartyId(peer) => reason,
            other => panic!("{other:?}"),
        }
    }

    /// Joins a session with attacker 1 in the background.
    fn join<'scope>(
        &self,
        scope: &'scope std::thread::Scope<'scope, '_>,
        session: &'static str,
    ) -> std::thread::ScopedJoinHandle<'scope, Result<Mesh>> {
        let trunks = self.trunks.clone();
        scope.spawn(move || {
            let options = ChannelOptions::with_timeout(PATIENCE);
            trunks.join(session, 2, &[MAIN.into()], options, PATIENCE)
        })
    }

    /// Joins a session that the attacker joins too: the victim's number of the stream, and its channel.
    fn met<'scope>(
        &self,
        scope: &'scope std::thread::Scope<'scope, '_>,
        attacker: &mut Attacker,
    ) -> (u64, Box<dyn Channel>) {
        let joined = self.join(scope, "session");
        let (id, _) = attacker.expect(FrameKind::Join);
        attacker.join(1, join_of("session"));
        (id, channel_of(joined.join().unwrap()))
    }
}

const MAIN: &str = "main";

fn deadline() -> Deadline {
    Deadline::new(PATIENCE)
}

/// A peer that sends whatever frames it likes.
struct Attacker {
    link: TlsLink,
}

impl Attacker {
    /// Sends bytes; false if they are not taken any more.
    fn send(&mut self, bytes: &[u8]) -> bool {
        let (mut sent, end) = (0, deadline());
        while sent < bytes.len() && end.remaining().is_some() {
            match self.link.push(&[IoSlice::new(&bytes[sent..])], false) {
                Ok(count) => sent += count,
                Err(_) => return false,
            }
            if sent < bytes.len() {
                self.link.wait_room(Duration::from_millis(10));
            }
        }
        sent == bytes.len()
    }

    fn frame(&mut self, kind: FrameKind, id: u64, body: &[u8]) -> bool {
        let mut bytes = Vec::new();
        put(&mut bytes, kind, id, body);
        self.send(&bytes)
    }

    fn read(&mut self, out: &mut [u8]) -> bool {
        let (mut done, end) = (0, deadline());
        while done < out.len() && end.remaining().is_some() {
            match self.link.pull(&mut out[done..], &mut []) {
                Ok(Some(0)) | Err(_) => return false,
                Ok(Some(count)) => done += count,
                Ok(None) => self.link.wait_data(Duration::from_millis(10)),
            }
        }
        done == out.len()
    }

    /// The next frame of the victim, heartbeats left out; none at the end.
    fn next(&mut self) -> Option<(FrameKind, u64, Vec<u8>)> {
        loop {
            let mut header = [0; HEADER];
            if !self.read(&mut header) {
                return None;
            }
            let Head { kind, length, id } = Head::decode(&header).expect("the victim keeps to the rules");
            let mut body = vec![0; length];
            if !self.read(&mut body) {
                return None;
            }
            if !matches!(kind, FrameKind::Ping | FrameKind::Pong) {
                return Some((kind, id, body));
            }
        }
    }

    fn expect(&mut self, kind: FrameKind) -> (u64, Vec<u8>) {
        let (got, id, body) = self.next().expect("a frame");
        assert_eq!(got, kind);
        (id, body)
    }

    /// Joins with streams from `first` on.
    fn join(&mut self, first: u64, join: Join) -> bool {
        self.frame(FrameKind::Join, first, &join.encode())
    }
}

/// The join that fits that of a victim.
fn join_of(session: &str) -> Join {
    Join {
        session: session_hash(session),
        labels: labels_digest(&[MAIN.into()]),
        answers: 0,
        window: 1 << 20,
        channels: 1,
        parties: 2,
    }
}

/// Limits under which nothing happens by itself.
fn calm() -> TrunkLimits {
    TrunkLimits {
        heartbeat: Duration::from_secs(1000),
        silence: Duration::from_secs(1000),
        ..TrunkLimits::default()
    }
}

/// The only channel of a mesh with party 1.
fn channel_of(mesh: Result<Mesh>) -> Box<dyn Channel> {
    mesh.unwrap().take(PartyId(1), &MAIN.into()).unwrap()
}
