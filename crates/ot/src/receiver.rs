//! The side with the choices.
use cenote_session::Result;

use std::fmt;

use cenote_net::Channel;
use cenote_primitives::{Block, Entropy, Position, Prg, SecretBlocks, as_bytes, as_words};
use zeroize::{Zeroize, Zeroizing};

use crate::columns::{Chunk, Columns, Fold, chunks};
use crate::extractor::{self, Extractor, WIDTH};
use crate::random::RowHash;
use crate::state::State;
use crate::{base, steps};

/// The side with the choice bits.
///
/// After a failed call all calls fail. Secrets are wiped on drop, and when a call fails; `Debug` prints the type only.
pub struct DeltaReceiver(State<Secrets>);

struct Secrets {
    /// Both keys of each base OT.
    seeds: Vec<[Prg; 2]>,
    extractor: Extractor,
    hash: RowHash,
    /// Units of the seeds' streams that are used up.
    used: u64,
}

/// What was sent of a chunk, until it has been checked.
#[derive(Default)]
struct Pending {
    columns: Columns,
    choices: SecretBlocks,
}

/// Strings at the receiver, for example correlated ones: `strings[i] = r_i ^ choice_i Δ`, where the sender holds `r_i`.
///
/// `Debug` prints the number only. It is the owner's to wipe ([`Zeroize`]).
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Chosen {
    /// Choice bit `i` is bit `i % 64` of word `i / 64`. The bits beyond the last choice are zero.
    pub choices: Vec<u64>,
    /// `r_i ^ choice_i Δ`; its last bit is `choice_i`, since `lsb(r_i) = 0`.
    pub strings: Vec<Block>,
}

impl DeltaReceiver {
    /// Base OTs. `session` binds them to a session.
    ///
    /// # Errors
    ///
    /// [`cenote_session::MESSAGE_FORM`] if the peer's message has bytes that are no point; those of the channel.
    pub fn new(channel: &mut dyn Channel, entropy: &mut Entropy, session: &[u8]) -> Result<Self> {
        let keys = base::send(channel, entropy, session, WIDTH)?;
        Ok(Self::from_keys(&keys, session))
    }

    /// From both keys of each base OT.
    pub(crate) fn from_keys(keys: &[[Block; 2]], session: &[u8]) -> Self {
        Self(State::new(Secrets {
            seeds: keys.iter().map(|keys| keys.map(Prg::new)).collect(),
            extractor: Extractor::new(),
            hash: RowHash::new(session),
            used: 0,
        }))
    }

    /// `count` correlated strings under uniform choices.
    ///
    /// Memory beside the result is bounded, whatever `count`. A sender that cheats may choose its strings and `Δ`, but
    /// learns nothing about the choices.
    ///
    /// # Errors
    ///
    /// Those of the channel.
    pub fn correlated(
        &mut self,
        channel: &mut dyn Channel,
        entropy: &mut Entropy,
        count: usize,
    ) -> Result<Chosen> {
        self.collect(channel, entropy, count, |secrets, _, chunk, sent, strings| {
            let low = Some(&*sent.choices);
            secrets.extractor.strings(chunk, &sent.columns, low, strings);
        })
    }

    /// `count` random strings under uniform choices: `(choices, strings)`, packed as in [`Chosen`].
    ///
    /// # Errors
    ///
    /// Those of the channel.
    pub fn random(
        &mut self,
        channel: &mut dyn Channel,
        entropy: &mut Entropy,
        count: usize,
    ) -> Result<Chosen> {
        self.collect(channel, entropy, count, |secrets, first, chunk, sent, strings| {
            extractor::rows(chunk, &sent.columns, |row, own| {
                strings.push(secrets.hash.string(first + row as u64, own));
            });
        })
    }

    /// Extends the base OTs by `count` rows, of which `take` makes strings.
    fn collect(
        &mut self,
        channel: &mut dyn Channel,
        entropy: &mut Entropy,
        count: usize,
        mut take: impl FnMut(&mut Secrets, u64, Chunk, &Pending, &mut Vec<Block>),
    ) -> Result<Chosen> {
        self.0.call(|secrets| {
            let mut chosen = Zeroizing::new(Chosen {
                choices: Vec::with_capacity(count.div_ceil(64)),
                strings: Vec::with_capacity(count),
            });
            secrets.extend(channel, entropy, count, |secrets, first, chunk, sent| {
                let words = as_words(&sent.choices)[..chunk.used.div_ceil(64)].iter();
                chosen.choices.extend(words.map(|word| u64::from_le(*word)));
                take(secrets, first, chunk, sent, &mut chosen.strings);
            })?;
            if let Some(last) = chosen.choices.last_mut() {
                *last &= u64::MAX >> (count.wrapping_neg() % 64);
            }
            Ok(std::mem::take(&mut *chosen))
        })
    }
}

impl Secrets {
    /// Extends the base OTs by `count` rows under fresh choices, and gives each chunk, with the number of its first row, to
    /// `take` once the sender's challenge is answered. While a chunk is checked the next is on its way.
    fn extend(
        &mut self,
        channel: &mut dyn Channel,
        entropy: &mut Entropy,
        count: usize,
        mut take: impl FnMut(&mut Self, u64, Chunk, &Pending),
    ) -> Result<()> {
        let fresh = entropy.prg();
        let mut drawn = 0;
        let mut masked = Columns::default();
        let [mut sent, mut next] = [Pending::default(), Pending::default()];
        let mut send = |secrets: &mut Self, channel: &mut dyn Channel, chunk: Chunk, to: &mut Pending| {
            to.choices.resize(chunk.units);
            let at = Position {
                stream: 0,
                index: drawn,
            };
            fresh.fill(at, &mut to.choices);
            drawn += chunk.units as u64;
            secrets.send(channel, chunk, to, &mut masked)
        };
        let mut chunks = chunks(count);
        let mut current = match chunks.next() {
            Some(chunk) => Some((send(self, channel, chunk, &mut sent)?, chunk)),
            None => None,
        };
        while let Some((first, chunk)) = current {
            current = match chunks.next() {
                Some(chunk) => Some((send(self, channel, chunk, &mut next)?, chunk)),
                None => None,
            };
            answer(channel, chunk, &sent)?;
            take(self, first, chunk, &sent);
            std::mem::swap(&mut sent, &mut next);
        }
        Ok(())
    }

    /// Makes a chunk's columns T_c = G(k_c0), and sends the choices x masked: U_c = G(k_c0) ⊕ G(k_c1) ⊕ x. Returns the
    /// number of its first row.
    fn send(
        &mut self,
        channel: &mut dyn Channel,
        chunk: Chunk,
        to: &mut Pending,
        masked: &mut Columns,
    ) -> Result<u64> {
        let at = Position {
            stream: 0,
            index: self.used,
        };
        // Counted before it is used, so that no failure makes it used again.
        self.used += chunk.units as u64;
        to.columns.resize(WIDTH, chunk.units);
        masked.resize(WIDTH, chunk.units);
        let columns = to.columns.iter_mut().zip(masked.iter_mut());
        for ((column, masked), [zero, one]) in columns.zip(&self.seeds) {
            zero.fill(at, column);
            for ((masked, own), choices) in masked.iter_mut().zip(&*column).zip(&*to.choices) {
                *masked = *own ^ *choices;
            }
            one.xor_into(at, masked);
        }
        channel.send(steps::COLUMNS, as_bytes(masked.blocks()))?;
        channel.flush()?;
        Ok(at.index * 512)
    }
}

/// Answers the challenge on a chunk: the folds of the choices and of all columns, blinded by the last rows.
fn answer(channel: &mut dyn Channel, chunk: Chunk, sent: &Pending) -> Result<()> {
    let mut alpha = [0; 16];
    channel.recv(steps::CHALLENGE, &mut alpha)?;
    let fold = Fold::new(Block::from_bytes(alpha), chunk.units);
    let folds = std::iter::once(&*sent.choices).chain(sent.columns.iter());
    let folds: Zeroizing<Vec<Block>> = Zeroizing::new(folds.map(|column| fold.fold(column)).collect());
    channel.send(steps::ANSWER, as_bytes(&folds))?;
    channel.flush()?;
    Ok(())
}

impl Zeroize for Chosen {
    fn zeroize(&mut self) {
        self.choices.zeroize();
        self.strings.zeroize();
    }
}

impl fmt::Debug for Chosen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Chosen({})", self.strings.len())
    }
}

impl fmt::Debug for DeltaReceiver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("DeltaReceiver")
    }
}
