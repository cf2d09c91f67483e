//! Channels over TLS 1.3 between parties that know each other's keys.
//!
//! Both directions run on the channel's own thread: it encrypts what it sends, and only ciphertext waits in the queue
//! of the socket.

mod handshake;
mod records;
#[cfg(test)]
mod tests;

use std::io::IoSlice;
use std::net::TcpStream;
use std::time::Duration;

use rustls::client::{ClientConnectionData, UnbufferedClientConnection};
use rustls::server::{ServerConnectionData, UnbufferedServerConnection};

pub(crate) use handshake::{HandshakeFault, REFUSED};
use records::{Seal, Sink, Turn, handle};

use crate::budget::Share;
use crate::tcp::TcpLink;
use crate::{Closer, Fault, Framed, Link};

/// A channel over TLS 1.3, both ends known by their pinned keys.
pub type TlsChannel = Framed<TlsLink>;

/// Bytes that are encrypted and written at a time. As ciphertext they fit into the reserve of the socket's queue.
const CHUNK: usize = 64 << 10;
/// Ciphertext that is read at a time; holds several of the longest records.
const INCOMING: usize = 128 << 10;
/// The most memory that a link takes besides its socket's queue: a vector that grows may have room for twice its bytes,
/// and TLS itself takes less than 64 KiB.
pub(crate) const OWN: usize = INCOMING + 2 * INCOMING + 2 * (CHUNK + (4 << 10)) + (64 << 10);
/// How many bytes of records without data for the channel may follow each other. The only such records that a party sends
/// are key updates, one in millions of records.
const IDLE: usize = 4 << 10;
/// The same for the handshake, in which both parties' certificates take a few kilobytes.
const HANDSHAKE_IDLE: usize = 64 << 10;
/// The most that a record adds to its content, padding aside.
const RECORD_OVERHEAD: usize = 5 + 1 + 16;

enum Side {
    Client(UnbufferedClientConnection),
    Server(UnbufferedServerConnection),
}

/// The [`Link`] of a [`TlsChannel`].
pub struct TlsLink {
    tcp: TcpLink,
    side: Side,
    /// Ciphertext received.
    incoming: Vec<u8>,
    start: usize,
    end: usize,
    /// Plaintext received, from `taken` on.
    plain: Vec<u8>,
    taken: usize,
    /// Ciphertext that the socket's queue has not been given yet.
    sealed: Vec<u8>,
    peer_ended: bool,
    /// Bytes received since the last record that carried something, and how many are too many.
    idle: usize,
    most_idle: usize,
    /// TLS has failed; rustls must not be asked again after that (it would panic).
    failed: Option<Fault>,
}

impl TlsLink {
    fn new(stream: TcpStream, queue_bytes: usize, side: Side) -> Result<Self, Fault> {
        Ok(Self {
            tcp: TcpLink::new(stream, queue_bytes).map_err(|error| Fault::Lost(error.to_string()))?,
            side,
            incoming: vec![0; INCOMING],
            start: 0,
            end: 0,
            plain: Vec::new(),
            taken: 0,
            sealed: Vec::new(),
            peer_ended: false,
            idle: 0,
            most_idle: HANDSHAKE_IDLE,
            failed: None,
        })
    }

    /// Makes one step of the connection, and says how many bytes of plaintext went into `first` and `second`.
    fn turn(
        &mut self,
        first: &mut [u8],
        second: &mut [u8],
        seal: Seal<'_>,
    ) -> Result<(Turn, usize), TurnFault> {
        if let Some(fault) = &self.failed {
            return Err(TurnFault::Link(fault.clone()));
        }
        let (turn, filled) = self.advance(first, second, seal);
        match turn {
            Ok(turn) => {
                self.send_sealed().map_err(TurnFault::Link)?;
                if self.idle > self.most_idle {
                    let fault = Fault::Violation(NOTHING.into());
                    self.failed = Some(fault.clone());
                    return Err(TurnFault::Link(fault));
                }
                Ok((turn, filled))
            }
            Err(error) => {
                // The one step that rustls allows after an error: to fetch the alert that tells the peer.
                let _ = self.advance(&mut [], &mut [], Seal::Nothing);
                let _ = self.send_sealed();
                self.failed = Some(TurnFault::Tls(error.clone()).into());
                Err(TurnFault::Tls(error))
            }
        }
    }

    /// As [`TlsLink::turn`], without sending anything.
    fn advance(
        &mut self,
        first: &mut [u8],
        second: &mut [u8],
        seal: Seal<'_>,
    ) -> (Result<Turn, rustls::Error>, usize) {
        let incoming = &mut self.incoming[self.start..self.end];
        let before = self.plain.len();
        let mut sink = Sink {
            first,
            second,
            filled: 0,
            rest: &mut self.plain,
        };
        let (sealed, ended) = (&mut self.sealed, &mut self.peer_ended);
        let (discard, turn) = match &mut self.side {
            Side::Client(side) => handle::<ClientConnectionData>(
                side.process_tls_records(incoming),
                &mut sink,
                sealed,
                ended,
                seal,
            ),
            Side::Server(side) => handle::<ServerConnectionData>(
                side.process_tls_records(incoming),
                &mut sink,
                sealed,
                ended,
                seal,
            ),
        };
        let filled = sink.filled;
        self.start += discard;
        self.idle += discard;
        let content = filled + self.plain.len() - before;
        if content > 0 {
            let carrying = self.idle.min(content + RECORD_OVERHEAD);
            // What came before the content counts for the last time.
            self.idle -= carrying;
            if self.idle <= self.most_idle {
                self.idle = 0;
            }
        }
        (turn, filled)
    }

    /// Gives the socket's queue, whose reserve has room for it, all that is sealed.
    fn send_sealed(&mut self) -> Result<(), Fault> {
        if self.sealed.is_empty() {
            return Ok(());
        }
        let pushed = self.tcp.push_reserved(&self.sealed)?;
        let complete = pushed == self.sealed.len();
        self.sealed.clear();
        if complete {
            Ok(())
        } else {
            Err(Fault::Lost("it does not take what TLS has to send".into()))
        }
    }

    /// Reads ciphertext; false when there is none.
    fn refill(&mut self) -> Result<bool, Fault> {
        self.incoming.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        if self.end == self.incoming.len() {
            return Err(Fault::Violation("a TLS message that does not end".into()));
        }
        match self.tcp.pull(&mut self.incoming[self.end..], &mut [])? {
            None => Ok(false),
            Some(0) => Err(Fault::Lost(
                "the connection was cut: has its process ended?".into(),
            )),
            Some(count) => {
                self.end += count;
                Ok(true)
            }
        }
    }

    fn seal(&mut self, seal: Seal<'_>) -> Result<(), Fault> {
        loop {
            // What has come is decrypted on the way: rustls wants its buffer as it left it.
            match self.turn(&mut [], &mut [], seal)? {
                (Turn::Sealed, _) => return Ok(()),
                (Turn::More, _) => {}
                (Turn::Idle { .. }, _) => return Err(Fault::Lost("TLS: the connection is closed".into())),
            }
        }
    }
}

/// Why a step failed.
enum TurnFault {
    Link(Fault),
    Tls(rustls::Error),
}

impl From<TurnFault> for Fault {
    fn from(fault: TurnFault) -> Self {
        match fault {
            TurnFault::Link(fault) => fault,
            TurnFault::Tls(error) => handshake::fault(error),
        }
    }
}

/// Why a peer that sends too many such records is refused.
const NOTHING: &str = "too many TLS records that carry nothing";

impl Link for TlsLink {
    fn push(&mut self, slices: &[IoSlice<'_>], urgent: bool) -> Result<usize, Fault> {
        if !urgent {
            self.tcp.check_interrupted()?;
        }
        let mut pushed = 0;
        for slice in slices {
            for chunk in slice.chunks(CHUNK) {
                if !self.tcp.has_room(urgent) {
                    return Ok(pushed);
                }
                self.seal(Seal::Bytes(chunk))?;
                pushed += chunk.len();
            }
        }
        Ok(pushed)
    }

    fn draw_on(&mut self, share: &Share) {
        self.tcp.draw_on(share);
    }

    fn wait_room(&mut self, limit: Duration) {
        self.tcp.wait_room(limit);
    }

    fn pull(&mut self, first: &mut [u8], second: &mut [u8]) -> Result<Option<usize>, Fault> {
        if self.taken < self.plain.len() {
            let mut taken = 0;
            for out in [first, second] {
                let from = self.taken + taken;
                let count = out.len().min(self.plain.len() - from);
                out[..count].copy_from_slice(&self.plain[from..from + count]);
                taken += count;
            }
            self.taken += taken;
            if self.taken == self.plain.len() {
                self.plain.clear();
                self.taken = 0;
            }
            return Ok(Some(taken));
        }
        // Reads once: the caller looks at its deadline between two reads, whatever they brought.
        let mut read = false;
        loop {
            match self.turn(first, second, Seal::Nothing)? {
                (_, filled) if filled > 0 => return Ok(Some(filled)),
                (Turn::More | Turn::Sealed, _) => {}
                (Turn::Idle { .. }, _) if self.peer_ended => return Ok(Some(0)),
                (Turn::Idle { .. }, _) => {
                    if read || !self.refill()? {
                        return Ok(None);
                    }
                    read = true;
                }
            }
        }
    }

    fn wait_data(&mut self, limit: Duration) {
        if self.taken == self.plain.len() {
            self.tcp.wait_data(limit);
        }
    }

    fn finish(&mut self, limit: Duration) {
        // The peer tells a cut connection from an end by this.
        let _ = self.seal(Seal::End);
        self.tcp.finish(limit);
    }

    fn closer(&self) -> Closer {
        self.tcp.closer()
    }

    fn interrupter(&self) -> Closer {
        self.tcp.interrupter()
    }
}
