//! The side with the difference.
use crate::checks::OT_CONSISTENCY;
use cenote_session::{Error, Result};

use std::fmt;

use cenote_net::Channel;
use cenote_primitives::{Block, Block512, Entropy, Position, Prg, as_bytes, as_bytes_mut, mask_of};
use subtle::ConstantTimeEq;
use zeroize::{Zeroize, Zeroizing};

use crate::columns::{Chunk, Columns, Fold, chunks};
use crate::extractor::{self, Extractor, Row, WIDTH};
use crate::random::RowHash;
use crate::state::State;
use crate::{base, steps};

/// The side that holds the difference `Δ` (and is the *receiver* of the base OTs). `lsb(Δ) = 1`.
///
/// After a failed call all calls fail, since the peer must not get a second guess at the same `Δ`. Secrets are wiped on
/// drop, and those of the base OTs when a call fails; `Debug` prints the type only.
pub struct DeltaSender {
    delta: Block,
    state: State<Secrets>,
}

struct Secrets {
    /// The choices of the base OTs, d.
    choices: Row,
    /// The chosen key of each base OT.
    seeds: Vec<Prg>,
    extractor: Extractor,
    hash: RowHash,
    /// Units of the seeds' streams that are used up.
    used: u64,
    /// Challenges to come.
    coins: Prg,
    /// Challenges made.
    tossed: u64,
}

impl DeltaSender {
    /// Base OTs. `session` binds them to a session.
    ///
    /// # Errors
    ///
    /// [`cenote_session::MESSAGE_FORM`] if the peer's message is no point; those of the channel.
    pub fn new(channel: &mut dyn Channel, entropy: &mut Entropy, session: &[u8]) -> Result<Self> {
        let mut choices = Zeroizing::new(Row::default());
        entropy.fill(bytemuck::cast_slice_mut(&mut *choices));
        choices[WIDTH / 64] &= (1 << (WIDTH % 64)) - 1;
        let keys = base::receive(channel, entropy, session, &*choices, WIDTH)?;
        Ok(Self::from_keys(&choices, &keys, entropy, session))
    }

    /// From the choices and chosen keys of base OTs.
    pub(crate) fn from_keys(choices: &Row, keys: &[Block], entropy: &mut Entropy, session: &[u8]) -> Self {
        let extractor = Extractor::new();
        Self {
            delta: extractor.string(choices, true),
            state: State::new(Secrets {
                choices: *choices,
                seeds: keys.iter().map(|&key| Prg::new(key)).collect(),
                extractor,
                hash: RowHash::new(session),
                used: 0,
                coins: entropy.prg(),
                tossed: 0,
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
    /// [`OT_CONSISTENCY`] if the receiver used different choices in different columns; those of the channel.
    pub fn correlated(&mut self, channel: &mut dyn Channel, count: usize) -> Result<Vec<Block>> {
        self.state.call(|secrets| {
            let mut strings = Zeroizing::new(Vec::with_capacity(count));
            secrets.extend(channel, count, |secrets, _, chunk, columns| {
                secrets.extractor.strings(chunk, columns, None, &mut strings);
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
            let mut pairs = Zeroizing::new(Vec::with_capacity(count));
            secrets.extend(channel, count, |secrets, first, chunk, columns| {
                extractor::rows(chunk, columns, |row, own| {
                    let index = first + row as u64;
                    let other = Zeroizing::new(std::array::from_fn(|i| own[i] ^ secrets.choices[i]));
                    pairs.push([own, &other].map(|row| secrets.hash.string(index, row)));
                });
            })?;
            Ok(std::mem::take(&mut *pairs))
        })
    }
}

impl Secrets {
    /// Extends the base OTs by `count` rows, and gives the columns of each chunk, with the number of its first row, to
    /// `take` once they have passed the check. While a chunk is checked the next is on its way.
    fn extend(
        &mut self,
        channel: &mut dyn Channel,
        count: usize,
        mut take: impl FnMut(&mut Self, u64, Chunk, &Columns),
    ) -> Result<()> {
        let [mut columns, mut next] = [Columns::default(), Columns::default()];
        let mut chunks = chunks(count);
        let mut arrived = match chunks.next() {
            Some(chunk) => Some((self.receive(channel, chunk, &mut columns)?, chunk)),
            None => None,
        };
        while let Some((first, chunk)) = arrived {
            // The challenge is drawn, and told, after all that it is to test is there.
            let alpha = self.toss();
            channel.send(steps::CHALLENGE, &alpha.to_bytes())?;
            channel.flush()?;
            arrived = match chunks.next() {
                Some(chunk) => Some((self.receive(channel, chunk, &mut next)?, chunk)),
                None => None,
            };
            self.check(channel, alpha, chunk, &columns)?;
            take(self, first, chunk, &columns);
            std::mem::swap(&mut columns, &mut next);
        }
        Ok(())
    }

    /// Receives a chunk's masked choices U, and makes of them the columns Q_c = G(k_c) ⊕ d_c U_c. Returns the number of
    /// its first row.
    fn receive(&mut self, channel: &mut dyn Channel, chunk: Chunk, columns: &mut Columns) -> Result<u64> {
        columns.resize(WIDTH, chunk.units);
        channel.recv(steps::COLUMNS, as_bytes_mut(columns.blocks_mut()))?;
        let at = Position {
            stream: 0,
            index: self.used,
        };
        for (index, (column, seed)) in columns.iter_mut().zip(&self.seeds).enumerate() {
            let mask = choice_mask(&self.choices, index);
            for word in bytemuck::cast_slice_mut::<Block512, u64>(column) {
                *word &= mask;
            }
            seed.xor_into(at, column);
        }
        self.used += chunk.units as u64;
        Ok(at.index * 512)
    }

    /// A challenge that nobody knows yet.
    fn toss(&mut self) -> Block {
        let mut coin = [Block512::ZERO];
        let at = Position {
            stream: 0,
            index: self.tossed,
        };
        self.coins.fill(at, &mut coin);
        self.tossed += 1;
        Block([coin[0].0[0], coin[0].0[1]])
    }

    /// Compares the folds of all columns with the receiver's: Q_c = T_c ⊕ d_c x must fold to the like (Roy 2022).
    fn check(
        &mut self,
        channel: &mut dyn Channel,
        alpha: Block,
        chunk: Chunk,
        columns: &Columns,
    ) -> Result<()> {
        let mut answer = Zeroizing::new(vec![Block::ZERO; 1 + WIDTH]);
        channel.recv(steps::ANSWER, as_bytes_mut(&mut answer))?;
        let (choices, folds) = (answer[0], &answer[1..]);
        let fold = Fold::new(alpha, chunk.units);
        let mut difference = Block::ZERO;
        for (index, (column, &theirs)) in columns.iter().zip(folds).enumerate() {
            let mask = choice_mask(&self.choices, index);
            let ours = fold.fold(column) ^ choices & Block([mask; 2]);
            let Block([low, high]) = ours ^ theirs;
            difference.0[0] |= low;
            difference.0[1] |= high;
        }
        if bool::from(as_bytes(&[difference]).ct_ne(&[0; 16])) {
            let detail = "the choices differ between columns";
            return Err(Error::cheated(
                OT_CONSISTENCY,
                channel.peer(),
                steps::ANSWER,
                detail,
            ));
        }
        Ok(())
    }
}

/// All ones if choice `index` is 1, else 0.
fn choice_mask(choices: &Row, index: usize) -> u64 {
    mask_of(choices[index / 64] >> (index % 64) & 1 == 1)
}

impl Drop for Secrets {
    fn drop(&mut self) {
        // The generators and buffers wipe themselves.
        self.choices.zeroize();
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
