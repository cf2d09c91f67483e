//! The socket of a trunk, and the TLS over it.

use std::io::{ErrorKind, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::PoisonError;
use std::time::Duration;

use rustix::event::PollFlags;

use super::locks::{Mutex, MutexGuard};
use crate::outbox::{lost, wait_socket};
use crate::tcp::{TcpLink, read_some};
use crate::tls::TlsState;
use crate::{Fault, TlsLink};

/// What a connection sends and receives through. None of the threads that use it is blocked by it but in the calls whose names say so.
pub(super) struct Socket {
    socket: TcpStream,
    /// Until the end: dropping it delivers the last bytes.
    link: Mutex<Option<TcpLink>>,
    tls: Mutex<TlsState>,
}

impl Socket {
    pub(super) fn new(link: TlsLink) -> Result<Self, Fault> {
        let (link, tls) = link.into_parts()?;
        let socket = link
            .socket()
            .try_clone()
            .map_err(|error| Fault::Lost(format!("no file handle for it ({error})")))?;
        Ok(Self {
            socket,
            link: Mutex::new(Some(link)),
            tls: Mutex::new(tls),
        })
    }

    /// What seals bytes. They go in the order in which they are sealed.
    pub(super) fn tls(&self) -> MutexGuard<'_, TlsState> {
        self.tls.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes sealed bytes; says how many. None while it takes none.
    pub(super) fn write(&self, sealed: &[u8]) -> Result<Option<usize>, Fault> {
        loop {
            match (&self.socket).write(sealed) {
                Ok(count) => return Ok(Some(count)),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(None),
                Err(error) => return Err(lost(&error)),
            }
        }
    }

    /// Reads plaintext into `first`, then `second`, as [`crate::Link::pull`] does. Says, too, whether TLS itself has something to send.
    pub(super) fn pull(&self, first: &mut [u8], second: &mut [u8]) -> (Result<Option<usize>, Fault>, bool) {
        let mut tls = self.tls();
        let read = tls.pull(first, second, |out| read_some(&self.socket, out, &mut []));
        (read, !tls.sealed().is_empty())
    }

    /// Waits up to `limit` until something comes, or nothing will.
    pub(super) fn wait_readable(&self, limit: Duration) {
        wait_socket(&self.socket, PollFlags::IN, limit);
    }

    /// Waits up to `limit` until it takes something. Says whether it does.
    pub(super) fn wait_writable(&self, limit: Duration) -> bool {
        wait_socket(&self.socket, PollFlags::OUT, limit).contains(PollFlags::OUT)
    }

    /// Ends both directions at once: nobody waits for it any more.
    pub(super) fn cut(&self) {
        let _ = self.socket.shutdown(Shutdown::Both);
    }

    /// Ends the connection such that the peer gets what was sent last.
    pub(super) fn end_softly(&self) {
        let _ = self.socket.shutdown(Shutdown::Write);
        self.release();
    }

    /// Drops what delivers the last bytes.
    pub(super) fn release(&self) {
        let link = self.link.lock().unwrap_or_else(PoisonError::into_inner).take();
        drop(link);
    }
}
