//! A TLS connection without its socket: what has come in, and what is to go out.

use rustls::client::{ClientConnectionData, UnbufferedClientConnection};
use rustls::server::{ServerConnectionData, UnbufferedServerConnection};

use super::fault::{NOTHING, TurnFault};
use super::records::{Seal, Sink, Turn, handle};
use crate::Fault;
use crate::sizes::INCOMING;

/// How many bytes of records without data for the channel may follow each other. The only such records that a party sends
/// are key updates, one in millions of records.
const IDLE: usize = 4 << 10;
/// The same for the handshake, in which both parties' certificates take a few kilobytes.
const HANDSHAKE_IDLE: usize = 64 << 10;
/// The most that a record adds to its content, padding aside.
const RECORD_OVERHEAD: usize = 5 + 1 + 16;
pub(super) enum Side {
    Client(UnbufferedClientConnection),
    Server(UnbufferedServerConnection),
}

/// The keys of a connection, and the bytes that wait on either side of the encryption.
pub(crate) struct TlsState {
    pub(super) side: Side,
    /// Ciphertext received.
    incoming: Vec<u8>,
    start: usize,
    end: usize,
    /// Plaintext received, from `taken` on.
    plain: Vec<u8>,
    taken: usize,
    /// Ciphertext that is to be sent.
    sealed: Vec<u8>,
    peer_ended: bool,
    /// Bytes received since the last record that carried something, and how many are too many.
    pub(super) idle: usize,
    pub(super) most_idle: usize,
    /// TLS has failed; rustls must not be asked again after that (it would panic).
    failed: Option<Fault>,
}

impl TlsState {
    pub(super) fn new(side: Side) -> Self {
        Self {
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
        }
    }

    /// Notes that the handshake is over.
    pub(super) fn open(&mut self) {
        (self.idle, self.most_idle) = (0, IDLE);
    }

    /// Ciphertext that is to be sent, in this order, and to be cleared then. Any call may add to it.
    pub(crate) fn sealed(&mut self) -> &mut Vec<u8> {
        &mut self.sealed
    }

    /// Whether plaintext has been decrypted that was not pulled.
    pub(crate) fn has_plain(&self) -> bool {
        self.taken < self.plain.len()
    }

    /// Makes one step of the connection, and says how many bytes of plaintext went into `first` and `second`.
    pub(super) fn turn(
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
                self.failed = Some(TurnFault::Tls(error.clone()).into());
                Err(TurnFault::Tls(error))
            }
        }
    }

    /// As [`TlsState::turn`], whatever happened before.
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

    /// Reads ciphertext with `read`, which says how many bytes there were, as [`crate::Link::pull`] does; false when there
    /// were none.
    pub(super) fn refill(
        &mut self,
        read: impl FnOnce(&mut [u8]) -> Result<Option<usize>, Fault>,
    ) -> Result<bool, Fault> {
        self.incoming.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        if self.end == self.incoming.len() {
            return Err(Fault::Violation("a TLS message that does not end".into()));
        }
        match read(&mut self.incoming[self.end..])? {
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

    /// Adds to what is sealed.
    pub(crate) fn seal(&mut self, seal: Seal<'_>) -> Result<(), Fault> {
        loop {
            // What has come is decrypted on the way: rustls wants its buffer as it left it.
            match self.turn(&mut [], &mut [], seal)? {
                (Turn::Sealed, _) => return Ok(()),
                (Turn::More, _) => {}
                (Turn::Idle { .. }, _) => return Err(Fault::Lost("TLS: the connection is closed".into())),
            }
        }
    }

    /// Plaintext, as [`crate::Link::pull`] of a link that pulls ciphertext from `socket`.
    pub(crate) fn pull(
        &mut self,
        first: &mut [u8],
        second: &mut [u8],
        mut socket: impl FnMut(&mut [u8]) -> Result<Option<usize>, Fault>,
    ) -> Result<Option<usize>, Fault> {
        if self.has_plain() {
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
                    if read || !self.refill(&mut socket)? {
                        return Ok(None);
                    }
                    read = true;
                }
            }
        }
    }
}
