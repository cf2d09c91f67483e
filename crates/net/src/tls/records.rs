//! One step of a TLS connection over buffers: does what rustls asks for.

use rustls::unbuffered::{ConnectionState, EncodeError, EncryptError, UnbufferedStatus};

/// What one step of the connection has led to.
pub(super) enum Turn {
    /// There may be more to do at once.
    More,
    /// Nothing to do until bytes arrive; `false` while the handshake lasts.
    Idle { open: bool },
    /// What was asked for has been sealed.
    Sealed,
}

/// What to seal once the connection is open.
#[derive(Clone, Copy)]
pub(crate) enum Seal<'a> {
    Nothing,
    Bytes(&'a [u8]),
    End,
}

/// Where plaintext goes: the caller's buffers first.
pub(super) struct Sink<'a> {
    pub(super) first: &'a mut [u8],
    pub(super) second: &'a mut [u8],
    pub(super) filled: usize,
    pub(super) rest: &'a mut Vec<u8>,
}

impl Sink<'_> {
    fn put(&mut self, bytes: &[u8]) {
        let mut bytes = bytes;
        for out in [&mut self.first, &mut self.second] {
            let (now, later) = bytes.split_at(bytes.len().min(out.len()));
            let (front, back) = std::mem::take(out).split_at_mut(now.len());
            front.copy_from_slice(now);
            *out = back;
            self.filled += now.len();
            bytes = later;
        }
        self.rest.extend_from_slice(bytes);
    }
}

/// Does what one state of a connection asks for; returns how many bytes of ciphertext were used up.
pub(super) fn handle<D>(
    status: UnbufferedStatus<'_, '_, D>,
    sink: &mut Sink<'_>,
    sealed: &mut Vec<u8>,
    peer_ended: &mut bool,
    seal: Seal<'_>,
) -> (usize, Result<Turn, rustls::Error>) {
    let UnbufferedStatus { discard, state } = status;
    let turn = match state {
        Err(error) => Err(error),
        Ok(ConnectionState::ReadTraffic(mut traffic)) => loop {
            match traffic.next_record() {
                Some(Ok(record)) => sink.put(record.payload),
                Some(Err(error)) => break Err(error),
                None => break Ok(Turn::More),
            }
        },
        Ok(ConnectionState::EncodeTlsData(mut data)) => grow(sealed, |out| {
            data.encode(out).map_err(|error| match error {
                EncodeError::InsufficientSize(error) => Some(error.required_size),
                EncodeError::AlreadyEncoded => None,
            })
        })
        .map(|()| Turn::More),
        Ok(ConnectionState::TransmitTlsData(data)) => {
            // `sealed` goes out in order before anything else does.
            data.done();
            Ok(Turn::More)
        }
        Ok(ConnectionState::WriteTraffic(mut traffic)) => {
            let size = |error| match error {
                EncryptError::InsufficientSize(error) => Some(error.required_size),
                EncryptError::EncryptExhausted => None,
            };
            match seal {
                Seal::Nothing => Ok(Turn::Idle { open: true }),
                Seal::Bytes(bytes) => {
                    grow(sealed, |out| traffic.encrypt(bytes, out).map_err(size)).map(|()| Turn::Sealed)
                }
                Seal::End => {
                    grow(sealed, |out| traffic.queue_close_notify(out).map_err(size)).map(|()| Turn::Sealed)
                }
            }
        }
        Ok(ConnectionState::PeerClosed) => {
            *peer_ended = true;
            Ok(Turn::More)
        }
        Ok(ConnectionState::Closed) => {
            *peer_ended = true;
            Ok(Turn::Idle { open: true })
        }
        Ok(ConnectionState::BlockedHandshake) => Ok(Turn::Idle { open: false }),
        Ok(_) => Err(rustls::Error::General("unexpected state".into())),
    };
    (discard, turn)
}

/// Appends what `write` writes to `sealed`, making as much room as it asks for (an error of `Some(size)`).
fn grow(
    sealed: &mut Vec<u8>,
    mut write: impl FnMut(&mut [u8]) -> Result<usize, Option<usize>>,
) -> Result<(), rustls::Error> {
    let from = sealed.len();
    loop {
        match write(&mut sealed[from..]) {
            Ok(count) => {
                sealed.truncate(from + count);
                return Ok(());
            }
            Err(Some(size)) => sealed.resize(from + size, 0),
            Err(None) => return Err(rustls::Error::EncryptError),
        }
    }
}
