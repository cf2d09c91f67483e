//! Channels: ordered messages to one peer, framed and bounded, every wait with a deadline.
//!
//! A [`Channel`] carries the messages of one thread to one peer. It never hangs (every wait ends in an [`Error`] that
//! names peer and [`Step`]), never allocates what a peer asks for (a message has the length that the receiver expects,
//! or is refused; what it queues is paid for by a [`Budget`]), and never deadlocks because two sides send at once.
//!
//! [`connect`] joins the parties of a session, over plain TCP or over TLS 1.3 between keys that the parties know from
//! each other ([`Identity`], [`Fingerprint`]); [`agree`] then compares what they are about to do. [`memory_pair`] joins
//! two parties of one process, [`Trunks`] keep connections up over which many sessions have their channels, and [`Shaped`] makes any channel as slow as a given network. All channels are one
//! type, [`Framed`], over different [`Link`]s, so they behave alike.
//!
//! ```
//! use cenote_net::{Channel, ChannelOptions, PartyId, Step, memory_pair};
//!
//! const GREETING: Step = Step { code: 1, name: "greeting" };
//!
//! # fn main() -> cenote_net::Result<()> {
//! let (mut alice, mut bob) = memory_pair(PartyId(0), PartyId(1), ChannelOptions::default());
//! alice.send(GREETING, b"hello")?;
//! alice.flush()?;
//! let mut body = [0; 5];
//! bob.recv(GREETING, &mut body)?;
//! assert_eq!(&body, b"hello");
//! # Ok(())
//! # }
//! ```
//!
//! # What waits, and how long
//!
//! A receive waits for its message, and a send only for room in the queue of what the peer has not taken yet (64 MiB
//! unless [`ChannelOptions`] say otherwise, and the [`Budget`] of all channels has as much). Each wait ends after
//! [`ChannelOptions::timeout`] and the time that the message takes at the slowest acceptable rate, or with the phase of
//! the session that a [`PhaseClock`] limits. [`OnWait`] hears of long waits. A peer that is there and says on the
//! [roll call](ROLL_CALL) that it waits itself is given that time once more, or the peer named that it waits for. A channel starts a thread, which sends in
//! the background, only when its socket does not take what is sent to it.
#![forbid(unsafe_code)]

mod absent;
mod accept;
mod agree;
mod budget;
mod channel;
mod config;
mod crowd;
mod deadline;
mod dial;
mod error;
mod frame;
mod framed;
mod hello;
mod https;
mod identity;
mod inbox;
mod link;
mod memory;
mod mesh;
mod names;
mod notices;
mod options;
mod outbox;
mod own;
mod phase;
mod pin;
mod queue;
mod relay;
mod roll;
mod shaped;
mod sized;
mod sizes;
pub mod step;
mod tcp;
mod threads;
mod tls;
mod trunk;
mod wait;
mod waiting;

pub use agree::agree;
pub use budget::{Budget, Share};
pub use channel::{Channel, Closer, Meter};
pub use config::{Label, Listen, MeshConfig, PeerAddress, Transport};
pub use crowd::{Crowd, network};
pub use error::{Error, Result};
pub use frame::AbortReason;
pub use framed::Framed;
pub use hello::{CHANNELS, LABELS};
pub use https::{https_client, https_server};
pub use identity::{BadFingerprint, Fingerprint, Identity};
pub use link::{Fault, Link};
pub use memory::{MemoryChannel, MemoryLink, memory_pair, memory_pair_with};
pub use mesh::{Mesh, connect};
pub use names::{PartyId, Step};
pub use options::{ChannelOptions, Patience};
pub use outbox::wait_for_farewells;
pub use own::{accept_own, dial_own};
pub use phase::PhaseClock;
pub use relay::{Relay, Relayed, Ticket};
pub use roll::{ROLL_CALL, Roll};
pub use shaped::{Line, Shape, Shaped};
pub use sized::{recv_sized, send_sized};
pub use tcp::{TcpChannel, TcpLink};
pub use threads::{Started, Threads};
pub use tls::{TlsChannel, TlsLink};
pub use trunk::{Heard, TrunkConfig, TrunkFacts, TrunkLimits, TrunkState, Trunks};
pub use waiting::{Awaited, OnWait, Waiting};

// The example of the README is tested with the rest.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
