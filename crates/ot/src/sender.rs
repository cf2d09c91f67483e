//! The side with the difference.

use std::fmt;

use cenote_net::Channel;
use cenote_primitives::{Block, Entropy};
use cenote_session::{Result, room};
use zeroize::{Zeroize, Zeroizing};

use crate::STRINGS;
use crate::extension;
use crate::extractor::{self, Extractor, Row, WIDTH};
use crate::random::RowHash;
use crate::state::State;

/// The side that holds the difference `Δ` (and is the *receiver* of the base OTs). `lsb(Δ) = 1`.
///
/// After a failed call all calls fail, since the peer must not get a second guess at the same `Δ`. Secrets are wiped on
/// drop, and those of the base OTs when a call fails; `Debug` prints the type only.
pub struct DeltaSender {
    delta: Block,
    state: State<Secrets>,
}

struct Secrets {
    extension: extension::Sender,
    extractor: Extractor,
    hash: RowHash,
}

impl DeltaSender {
    /// Base OTs. `session` binds them to a session.
    ///
    /// # Errors
    ///
    /// [`cenote_session::MESSAGE_FORM`] if the peer's message is no point; those of the channel.
    pub fn new(channel: &mut dyn Channel, entropy: &mut Entropy, session: &[u8]) -> Result<Self> {
        let extension = extension::Sender::new(channel, entropy, session, WIDTH)?;
        Ok(Self::from_extension(extension, session))
    }

    pub(crate) fn from_extension(extension: extension::Sender, session: &[u8]) -> Self {
        let extractor = Extractor::new();
        let choices: &Row = extension.choices().try_into().expect("a bit for each column");
        Self {
            delta: extractor.string(choices, true),
            state: State::new(Secrets {
                extension,
                extractor,
                hash: RowHash::new(session),
            }),
        }
    }

    /// The difference: uniform but for its last bit, which is 1.
    pub fn delta(&self) -> Block {
        self.delta
    }

    /// `count` strings `r_i`, each with last bit 0, of which the receiver gets `r_i ^ choice_i Δ`.
    ///
    /// Memory beside the result is bounded, whatever `count`. The receiver's choices are uniform; a receiver that cheats may
    /// choose them and its strings.
    ///
    /// # Errors
    ///
    /// [`crate::checks::OT_CONSISTENCY`] if the receiver used different choices in different columns;
    /// [`OutOfMemory`](cenote_session::Error::OutOfMemory) if there is no memory for so many; those of the channel.
    pub fn correlated(&mut self, channel: &mut dyn Channel, count: usize) -> Result<Vec<Block>> {
        self.state.call(|secrets| {
            let mut strings = room::empty(STRINGS, count)?;
            let Secrets {
                extension, extractor, ..
            } = secrets;
            extension.extend(channel, count, |_, _, chunk, columns| {
                extractor.strings(chunk, columns, None, &mut strings);
            })?;
            Ok(std::mem::take(&mut *strings))
        })
    }

    /// `count` pairs of independent random strings, one of each of which the receiver gets.
    ///
    /// # Errors
    ///
    /// As [`DeltaSender::correlated`].
    pub fn random(&mut self, channel: &mut dyn Channel, count: usize) -> Result<Vec<[Block; 2]>> {
        self.state.call(|secrets| {
            let mut pairs = room::empty(STRINGS, count)?;
            let Secrets { extension, hash, .. } = secrets;
            extension.extend(channel, count, |choices, first, chunk, columns| {
                extractor::rows(chunk, columns, |row, own| {
                    let index = first + row as u64;
                    let other = Zeroizing::new(std::array::from_fn(|i| own[i] ^ choices[i]));
                    pairs.push([own, &other].map(|row| hash.string(index, row)));
                });
            })?;
            Ok(std::mem::take(&mut *pairs))
        })
    }
}

impl Drop for DeltaSender {
    fn drop(&mut self) {
        self.delta.zeroize();
    }
}

impl fmt::Debug for DeltaSender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("DeltaSender")
    }
}
