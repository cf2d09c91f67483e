//! Channels over TLS 1.3 between parties that know each other's keys.
//!
//! Both directions run on the channel's own thread: it encrypts what it sends, and only ciphertext waits in the queue
//! of the socket.

mod fault;
mod handshake;
mod records;
mod state;
#[cfg(test)]
mod tests;

use std::io::IoSlice;
use std::net::TcpStream;
use std::time::Duration;

use fault::TurnFault;
pub(crate) use fault::{HandshakeFault, REFUSED};
pub(crate) use records::Seal;
use records::Turn;
use state::Side;
pub(crate) use state::TlsState;

use crate::budget::Share;
use crate::sizes::CHUNK;
use crate::tcp::TcpLink;
use crate::{Closer, Fault, Framed, Link};

/// A channel over TLS 1.3, both ends known by their pinned keys.
pub type TlsChannel = Framed<TlsLink>;

/// The [`Link`] of a [`TlsChannel`].
pub struct TlsLink {
    tcp: TcpLink,
    state: TlsState,
}

impl TlsLink {
    fn new(stream: TcpStream, queue_bytes: usize, side: Side) -> Result<Self, Fault> {
        Ok(Self {
            tcp: TcpLink::new(stream, queue_bytes).map_err(|error| Fault::Lost(error.to_string()))?,
            state: TlsState::new(side),
        })
    }

    /// The socket, of whose queue nothing may be left to send, and the state of the encryption.
    pub(crate) fn into_parts(self) -> Result<(TcpLink, TlsState), Fault> {
        if self.tcp.is_idle() {
            Ok((self.tcp, self.state))
        } else {
            Err(Fault::Lost(TAKES_NOTHING.into()))
        }
    }

    /// Makes one step of the connection, and says how many bytes of plaintext went into `first` and `second`.
    fn turn(
        &mut self,
        first: &mut [u8],
        second: &mut [u8],
        seal: Seal<'_>,
    ) -> Result<(Turn, usize), TurnFault> {
        let turned = self.state.turn(first, second, seal);
        let sent = self.send_sealed();
        let turned = turned?;
        sent.map_err(TurnFault::Link)?;
        Ok(turned)
    }

    /// Gives the socket's queue, whose reserve has room for it, all that is sealed.
    fn send_sealed(&mut self) -> Result<(), Fault> {
        let sealed = self.state.sealed();
        if sealed.is_empty() {
            return Ok(());
        }
        let pushed = self.tcp.push_reserved(sealed)?;
        let complete = pushed == sealed.len();
        sealed.clear();
        if complete {
            Ok(())
        } else {
            Err(Fault::Lost(TAKES_NOTHING.into()))
        }
    }

    fn seal(&mut self, seal: Seal<'_>) -> Result<(), Fault> {
        let sealed = self.state.seal(seal);
        let sent = self.send_sealed();
        sealed.and(sent)
    }
}

const TAKES_NOTHING: &str = "it does not take what TLS has to send";

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
        let tcp = &mut self.tcp;
        let pulled = self
            .state
            .pull(first, second, |ciphertext| tcp.pull(ciphertext, &mut []));
        let sent = self.send_sealed();
        let pulled = pulled?;
        sent?;
        Ok(pulled)
    }

    fn wait_data(&mut self, limit: Duration) {
        if !self.state.has_plain() {
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
