//! Channels over plain TCP.

use std::io::{ErrorKind, IoSlice, IoSliceMut, Read};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Duration;

use rustix::event::PollFlags;

use crate::budget::Share;
use crate::outbox::{Outbox, Patience, dismiss, lost, wait_socket};
use crate::queue::Push;
use crate::{ChannelOptions, Closer, Error, Fault, Framed, Link, PartyId, Result};

/// A channel over plain TCP: neither private nor authentic. For one machine, trusted networks, and measurements.
pub type TcpChannel = Framed<TcpLink>;

impl TcpChannel {
    /// The channel to `peer` over a connected `stream`.
    ///
    /// # Errors
    ///
    /// [`Error::Local`] if the socket refuses its options.
    pub fn over(peer: PartyId, stream: TcpStream, options: ChannelOptions) -> Result<Self> {
        let link = TcpLink::new(stream, options.queue_bytes).map_err(|error| Error::Local {
            what: format!("the connection to {peer}"),
            reason: error.to_string(),
        })?;
        Ok(Framed::new(peer, link, options))
    }
}

/// The longest a receive sleeps before it looks whether it has been interrupted.
const INTERRUPT_LOOK: Duration = Duration::from_millis(50);

/// The [`Link`] of a [`TcpChannel`].
pub struct TcpLink {
    outbox: Arc<Outbox>,
    patience: Patience,
}

impl TcpLink {
    pub(crate) fn new(stream: TcpStream, queue_bytes: usize) -> std::io::Result<Self> {
        stream.set_nonblocking(true)?;
        stream.set_nodelay(true)?;
        rustix::net::sockopt::set_socket_keepalive(&stream, true)?;
        Ok(Self {
            outbox: Outbox::new(stream, queue_bytes),
            patience: Patience::default(),
        })
    }

    /// Whether nothing waits to be sent.
    pub(crate) fn is_idle(&self) -> bool {
        self.outbox.is_idle()
    }

    pub(crate) fn socket(&self) -> &TcpStream {
        &self.outbox.socket
    }

    /// Whether something can be pushed without waiting.
    pub(crate) fn has_room(&self, urgent: bool) -> bool {
        self.outbox.has_room(kind(urgent))
    }

    /// The fault of this link for all but urgent pushes.
    pub(crate) fn check_interrupted(&self) -> std::result::Result<(), Fault> {
        self.outbox.check_interrupted()
    }

    /// Pushes bytes that may use the queue's reserve.
    pub(crate) fn push_reserved(&mut self, bytes: &[u8]) -> std::result::Result<usize, Fault> {
        self.outbox
            .push(&mut [IoSlice::new(bytes)], Push::Reserved, &mut self.patience)
    }
}

fn kind(urgent: bool) -> Push {
    if urgent { Push::Urgent } else { Push::Normal }
}

/// Reads what is there, as [`Link::pull`].
pub(crate) fn read_some(
    mut socket: &TcpStream,
    first: &mut [u8],
    second: &mut [u8],
) -> std::result::Result<Option<usize>, Fault> {
    loop {
        let outcome = match (first.is_empty(), second.is_empty()) {
            (true, _) => socket.read(second),
            (_, true) => socket.read(first),
            _ => socket.read_vectored(&mut [IoSliceMut::new(first), IoSliceMut::new(second)]),
        };
        return match outcome {
            Ok(count) => Ok(Some(count)),
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(None),
            Err(error) => Err(lost(&error)),
        };
    }
}

impl Link for TcpLink {
    fn push(&mut self, slices: &[IoSlice<'_>], urgent: bool) -> std::result::Result<usize, Fault> {
        if !urgent {
            self.outbox.check_interrupted()?;
        }
        // Most calls have one or two slices; the copy is of their descriptors only.
        match slices {
            [one] => self
                .outbox
                .push(&mut [IoSlice::new(one)], kind(urgent), &mut self.patience),
            [one, two] => self.outbox.push(
                &mut [IoSlice::new(one), IoSlice::new(two)],
                kind(urgent),
                &mut self.patience,
            ),
            _ => self
                .outbox
                .push(&mut slices.to_vec(), kind(urgent), &mut self.patience),
        }
    }

    fn draw_on(&mut self, share: &Share) {
        self.outbox.draw_on(share);
    }

    fn wait_room(&mut self, limit: Duration) {
        self.outbox.wait_room(limit);
    }

    fn pull(&mut self, first: &mut [u8], second: &mut [u8]) -> std::result::Result<Option<usize>, Fault> {
        self.outbox.check_interrupted()?;
        match read_some(&self.outbox.socket, first, second) {
            Ok(Some(count)) if count > 0 => Ok(Some(count)),
            other => {
                self.outbox.check_closed()?;
                other
            }
        }
    }

    fn wait_data(&mut self, limit: Duration) {
        wait_socket(&self.outbox.socket, PollFlags::IN, limit.min(INTERRUPT_LOOK));
    }

    fn finish(&mut self, limit: Duration) {
        self.outbox.finish(limit);
    }

    fn closer(&self) -> Closer {
        self.outbox.closer()
    }

    fn interrupter(&self) -> Closer {
        self.outbox.interrupter()
    }
}

impl Drop for TcpLink {
    fn drop(&mut self) {
        dismiss(self.outbox.clone());
    }
}
