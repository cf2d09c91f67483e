//! Messages whose length the receiver does not know: their length comes before them.

use crate::{Channel, Error, Result, Step};

/// Sends a message, of which the peer is told the length in the first of `steps`.
///
/// # Errors
/// Those of the channel.
pub fn send_sized(channel: &mut dyn Channel, steps: [Step; 2], bytes: &[u8]) -> Result<()> {
    channel.send(steps[0], &(bytes.len() as u32).to_le_bytes())?;
    channel.send(steps[1], bytes)?;
    channel.flush()
}

/// Receives a message that [`send_sized`] sends, of at most `most` bytes.
///
/// # Errors
/// [`Error::Violation`] if it is longer, before anything is allocated for it; those of the channel.
pub fn recv_sized(channel: &mut dyn Channel, steps: [Step; 2], most: usize) -> Result<Vec<u8>> {
    let mut length = [0; 4];
    channel.recv(steps[0], &mut length)?;
    let length = u32::from_le_bytes(length) as usize;
    if length > most {
        return Err(Error::Violation {
            peer: channel.peer(),
            step: steps[1],
            what: format!("a message of {length} bytes, more than {most}"),
        });
    }
    let mut bytes = vec![0; length];
    channel.recv(steps[1], &mut bytes)?;
    Ok(bytes)
}
