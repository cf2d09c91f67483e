//! The extension of base OTs: both sides of its columns and of their check, whatever is made of the rows.
//!
//! Protocol and check are described at the head of the crate. A set-up of `width` base OTs gives rows of `width` bits.

use cenote_net::Channel;
use cenote_primitives::{
    Block, Coins, Entropy, Position, Prg, SecretBlocks, as_bytes, as_bytes_mut, as_words, as_words_mut,
    mask_of,
};
use cenote_session::{Error, Result};
use zeroize::Zeroizing;

use crate::checks::{OT_CONSISTENCY, are_zero};
use crate::columns::{Chunk, Columns, Fold, chunks};
use crate::{base, steps};

/// The side that knows the difference d of rows, its choices in the base OTs.
pub(crate) struct Sender {
    /// d: that of column `c` is bit `c % 64` of word `c / 64`.
    choices: Zeroizing<Vec<u64>>,
    /// The chosen key of each base OT.
    seeds: Vec<Prg>,
    /// Units of the seeds' streams that are used up.
    used: u64,
    /// Challenges to come.
    coins: Coins,
}

/// The side that chooses a bit for each row.
pub(crate) struct Receiver {
    /// Both keys of each base OT.
    seeds: Vec<[Prg; 2]>,
    /// Units of the seeds' streams that are used up.
    used: u64,
}

/// What the receiver sent of a chunk.
#[derive(Default)]
pub(crate) struct Sent {
    /// T.
    pub(crate) columns: Columns,
    /// x, also of rows that are not used.
    pub(crate) choices: SecretBlocks,
}

impl Sender {
    /// `width` base OTs with uniform choices.
    pub(crate) fn new(
        channel: &mut dyn Channel,
        entropy: &mut Entropy,
        session: &[u8],
        width: usize,
    ) -> Result<Self> {
        let mut choices = Zeroizing::new(vec![0; width.div_ceil(64)]);
        entropy.fill(as_bytes_mut(&mut choices));
        if let Some(last) = choices.last_mut() {
            *last &= u64::MAX >> (width.wrapping_neg() % 64);
        }
        Self::with_choices(channel, entropy, session, &choices, width)
    }

    /// `width` base OTs with these choices.
    pub(crate) fn with_choices(
        channel: &mut dyn Channel,
        entropy: &mut Entropy,
        session: &[u8],
        choices: &[u64],
        width: usize,
    ) -> Result<Self> {
        let keys = base::receive(channel, entropy, session, choices, width)?;
        Ok(Self::from_keys(choices, &keys, entropy))
    }

    /// From the choices and chosen keys of base OTs.
    pub(crate) fn from_keys(choices: &[u64], keys: &[Block], entropy: &mut Entropy) -> Self {
        Self {
            choices: Zeroizing::new(choices.to_vec()),
            seeds: keys.iter().map(|&key| Prg::new(key)).collect(),
            used: 0,
            coins: Coins::new(entropy.prg()),
        }
    }

    /// d.
    pub(crate) fn choices(&self) -> &[u64] {
        &self.choices
    }

    /// Extends the base OTs by `count` rows, and gives d and the columns of each chunk, with the number of its first row,
    /// to `take` once they have passed the check. While a chunk is checked the next is on its way.
    pub(crate) fn extend(
        &mut self,
        channel: &mut dyn Channel,
        count: usize,
        mut take: impl FnMut(&[u64], u64, Chunk, &Columns),
    ) -> Result<()> {
        let [mut columns, mut next] = [Columns::default(), Columns::default()];
        let mut chunks = chunks(count);
        let mut arrived = match chunks.next() {
            Some(chunk) => Some((self.receive(channel, chunk, &mut columns)?, chunk)),
            None => None,
        };
        while let Some((first, chunk)) = arrived {
            // The challenge is drawn, and told, after all that it is to test is there.
            let alpha = self.coins.toss();
            channel.send(steps::CHALLENGE, &alpha.to_bytes())?;
            channel.flush()?;
            arrived = match chunks.next() {
                Some(chunk) => Some((self.receive(channel, chunk, &mut next)?, chunk)),
                None => None,
            };
            self.check(channel, alpha, chunk, &columns)?;
            take(&self.choices, first, chunk, &columns);
            std::mem::swap(&mut columns, &mut next);
        }
        Ok(())
    }

    /// Receives a chunk's masked choices U, and makes of them the columns Q_c = G(k_c) ⊕ d_c U_c. Returns the number of
    /// its first row.
    fn receive(&mut self, channel: &mut dyn Channel, chunk: Chunk, columns: &mut Columns) -> Result<u64> {
        columns.resize(self.seeds.len(), chunk.units);
        channel.recv(steps::COLUMNS, as_bytes_mut(columns.blocks_mut()))?;
        let at = Position {
            stream: 0,
            index: self.used,
        };
        for (index, (column, seed)) in columns.iter_mut().zip(&self.seeds).enumerate() {
            let mask = self.mask(index);
            for word in as_words_mut(column) {
                *word &= mask;
            }
            seed.xor_into(at, column);
        }
        self.used += chunk.units as u64;
        Ok(at.index * 512)
    }

    /// Compares the folds of all columns with the receiver's: Q_c = T_c ⊕ d_c x must fold to the like (Roy 2022).
    fn check(
        &mut self,
        channel: &mut dyn Channel,
        alpha: Block,
        chunk: Chunk,
        columns: &Columns,
    ) -> Result<()> {
        let mut answer = Zeroizing::new(vec![Block::ZERO; 1 + self.seeds.len()]);
        channel.recv(steps::ANSWER, as_bytes_mut(&mut answer))?;
        let (choices, folds) = (answer[0], &answer[1..]);
        let fold = Fold::new(alpha, chunk.units);
        let folds = columns.iter().zip(folds).enumerate();
        let differences = folds.map(|(index, (column, &theirs))| {
            fold.fold(column) ^ choices & Block([self.mask(index); 2]) ^ theirs
        });
        if !are_zero(differences) {
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

    /// All ones if the choice in base OT `index` is 1, else 0.
    fn mask(&self, index: usize) -> u64 {
        mask_of(self.choices[index / 64] >> (index % 64) & 1 == 1)
    }
}

impl Receiver {
    /// `width` base OTs.
    pub(crate) fn new(
        channel: &mut dyn Channel,
        entropy: &mut Entropy,
        session: &[u8],
        width: usize,
    ) -> Result<Self> {
        let keys = base::send(channel, entropy, session, width)?;
        Ok(Self::from_keys(&keys))
    }

    /// From both keys of each base OT.
    pub(crate) fn from_keys(keys: &[[Block; 2]]) -> Self {
        Self {
            seeds: keys.iter().map(|keys| keys.map(Prg::new)).collect(),
            used: 0,
        }
    }

    /// Extends the base OTs by `count` rows, under uniform choices or those `given` (that of row `i` is bit `i % 64` of word
    /// `i / 64`), and gives each chunk, with the number of its first row, to `take` once the sender's challenge is
    /// answered. While a chunk is checked the next is on its way.
    pub(crate) fn extend(
        &mut self,
        channel: &mut dyn Channel,
        entropy: &mut Entropy,
        given: Option<&[u64]>,
        count: usize,
        mut take: impl FnMut(u64, Chunk, &Sent),
    ) -> Result<()> {
        let fresh = entropy.prg();
        let mut drawn = 0;
        let mut given = given.map(<[u64]>::iter);
        let mut masked = Columns::default();
        let [mut sent, mut next] = [Sent::default(), Sent::default()];
        let mut send = |receiver: &mut Self, channel: &mut dyn Channel, chunk: Chunk, to: &mut Sent| {
            to.choices.resize(chunk.units);
            let at = Position {
                stream: 0,
                index: drawn,
            };
            fresh.fill(at, &mut to.choices);
            drawn += chunk.units as u64;
            if let Some(given) = &mut given {
                // Chunks end with a word. The rows after the used ones keep uniform choices, since they blind the check.
                let words = &mut as_words_mut(&mut to.choices)[..chunk.used.div_ceil(64)];
                for (word, given) in words.iter_mut().zip(given) {
                    *word = given.to_le();
                }
            }
            receiver.send(channel, chunk, to, &mut masked)
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
            take(first, chunk, &sent);
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
        to: &mut Sent,
        masked: &mut Columns,
    ) -> Result<u64> {
        let at = Position {
            stream: 0,
            index: self.used,
        };
        // Counted before it is used, so that no failure makes it used again.
        self.used += chunk.units as u64;
        to.columns.resize(self.seeds.len(), chunk.units);
        masked.resize(self.seeds.len(), chunk.units);
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
fn answer(channel: &mut dyn Channel, chunk: Chunk, sent: &Sent) -> Result<()> {
    let mut alpha = [0; 16];
    channel.recv(steps::CHALLENGE, &mut alpha)?;
    let fold = Fold::new(Block::from_bytes(alpha), chunk.units);
    let folds = std::iter::once(&*sent.choices).chain(sent.columns.iter());
    let folds: Zeroizing<Vec<Block>> = Zeroizing::new(folds.map(|column| fold.fold(column)).collect());
    channel.send(steps::ANSWER, as_bytes(&folds))?;
    channel.flush()?;
    Ok(())
}

impl Sent {
    /// Appends the choices of the used rows, a word for each 64 of them. The bits beyond the last choice are zero.
    pub(crate) fn append_choices(&self, chunk: Chunk, to: &mut Vec<u64>) {
        let words = as_words(&self.choices)[..chunk.used.div_ceil(64)].iter();
        to.extend(words.map(|word| u64::from_le(*word)));
        if let Some(last) = to.last_mut() {
            *last &= u64::MAX >> (chunk.used.wrapping_neg() % 64);
        }
    }
}
