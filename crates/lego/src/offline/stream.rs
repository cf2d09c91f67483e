//! Commitments in batches, as they stream from garbler to evaluator: each batch is checked while later ones are made.
//!
//! A batch is its columns and a unit of others that blind its check. The evaluator draws the challenge when it has the
//! corrections (and the last bits told, if any), so the garbler cannot know it before; the garbler answers a few batches
//! later, so that nobody waits for the other. The paper checks all commitments of Generate at once at the end; checking
//! them batch by batch is the same check of several runs of the commitment phase, and lets both sides work in cache.

use crate::checks;
use std::collections::VecDeque;

use cenote_net::{Channel, Step};
use cenote_primitives::{Block, Coins, Prg, as_bytes, as_bytes_mut};
use cenote_session::Result;
use zeroize::Zeroizing;

use crate::failure::mismatch;
use crate::leak;
use crate::steps::{COMMIT_ANSWER, COMMIT_CHALLENGE};
use cenote_commit::{ANSWER_BYTES, BATCH_UNIT, Batch, Committer, ConsistencyCheck, Receiver, Share};

/// After how many further batches a batch's challenge is answered. What is on its way in the meantime covers the delay of
/// a fast or a distant link.
const LAG: usize = 8;

/// The batches of `columns` commitments and their blinding, from unit `first` on.
fn batches(first: u64, columns: usize) -> [Batch; 2] {
    let after = first + (columns / BATCH_UNIT) as u64;
    let blinding = Batch {
        first: after,
        columns: BATCH_UNIT,
    };
    [Batch { first, columns }, blinding]
}

/// Units that a batch of `columns` commitments and its blinding take.
fn units_of(columns: usize) -> u64 {
    (columns / BATCH_UNIT) as u64 + 1
}

/// Units that `count` items in batches of `in_batch` take, each of which is `width` commitments.
pub(crate) fn units(count: usize, in_batch: usize, width: usize) -> u64 {
    (count * width / BATCH_UNIT + count.div_ceil(in_batch)) as u64
}

/// The garbler's side.
pub(crate) struct Sending<'a> {
    committer: &'a Committer,
    pub(crate) channel: &'a mut dyn Channel,
    next: u64,
    pending: VecDeque<[Batch; 2]>,
    corrections: Vec<u8>,
    blinding: Zeroizing<Vec<Block>>,
    blinding_shares: Zeroizing<Vec<Share>>,
}

impl<'a> Sending<'a> {
    /// Commitments from unit `next` on.
    pub(crate) fn new(committer: &'a Committer, channel: &'a mut dyn Channel, next: u64) -> Self {
        Self {
            committer,
            channel,
            next,
            pending: VecDeque::new(),
            corrections: Vec::new(),
            blinding: Zeroizing::new(vec![Block::ZERO; BATCH_UNIT]),
            blinding_shares: Zeroizing::new(vec![Share::default(); BATCH_UNIT]),
        }
    }

    /// Commits to as many random strings as there is room for. Must be followed by [`Sending::send`].
    pub(crate) fn commit(&mut self, messages: &mut [Block], shares: &mut [Share]) {
        let [batch, blinding] = batches(self.next, messages.len());
        self.next += units_of(messages.len());
        let cut = batch.correction_bytes();
        self.corrections.resize(cut + blinding.correction_bytes(), 0);
        let (corrections, last) = self.corrections.split_at_mut(cut);
        self.committer.commit(batch, messages, shares, corrections);
        self.committer
            .commit(blinding, &mut self.blinding, &mut self.blinding_shares, last);
        self.pending.push_back([batch, blinding]);
    }

    /// The strings that blind the batch just committed to.
    pub(crate) fn blinding(&self) -> &[Block] {
        &self.blinding
    }

    /// Sends the corrections, with what belongs to them, and answers a challenge if one is due.
    pub(crate) fn send(&mut self, step: Step, parts: &[&[u8]]) -> Result<()> {
        let mut all: Vec<&[u8]> = vec![&self.corrections];
        all.extend_from_slice(parts);
        self.channel.send_parts(step, &all)?;
        self.channel.flush()?;
        if self.pending.len() > LAG {
            self.answer()?;
        }
        Ok(())
    }

    fn answer(&mut self) -> Result<()> {
        let Some(batches) = self.pending.pop_front() else {
            return Ok(());
        };
        let mut alpha = [Block::ZERO];
        self.channel.recv(COMMIT_CHALLENGE, as_bytes_mut(&mut alpha))?;
        let answer = self.committer.answer(&batches, alpha[0]);
        Ok(self.channel.send(COMMIT_ANSWER, &answer)?)
    }

    /// Answers all that is left.
    pub(crate) fn finish(mut self) -> Result<()> {
        while !self.pending.is_empty() {
            self.answer()?;
        }
        Ok(self.channel.flush()?)
    }
}

/// A batch whose check has not been answered yet.
struct Pending<'a> {
    alpha: Block,
    check: ConsistencyCheck<'a>,
    /// The last bits of all its columns, if they were told.
    told: Option<Vec<u8>>,
}

/// The evaluator's side.
pub(crate) struct Receiving<'a> {
    receiver: &'a Receiver,
    pub(crate) channel: &'a mut dyn Channel,
    coins: Coins,
    next: u64,
    pending: VecDeque<Pending<'a>>,
    corrections: Vec<u8>,
    blinding: Zeroizing<Vec<Share>>,
}

impl<'a> Receiving<'a> {
    /// Commitments from unit `next` on; challenges are `coins`, which nobody else may know.
    pub(crate) fn new(receiver: &'a Receiver, channel: &'a mut dyn Channel, coins: Prg, next: u64) -> Self {
        Self {
            receiver,
            channel,
            coins: Coins::new(coins),
            next,
            pending: VecDeque::new(),
            corrections: Vec::new(),
            blinding: Zeroizing::new(vec![Share::default(); BATCH_UNIT]),
        }
    }

    /// Receives commitments, with what belongs to them, and challenges them. Must be followed by [`Receiving::settle`].
    pub(crate) fn receive(&mut self, step: Step, shares: &mut [Share], parts: Vec<&mut [u8]>) -> Result<()> {
        let [batch, blinding] = batches(self.next, shares.len());
        self.next += units_of(shares.len());
        let cut = batch.correction_bytes();
        self.corrections.resize(cut + blinding.correction_bytes(), 0);
        let mut all: Vec<&mut [u8]> = vec![&mut self.corrections];
        all.extend(parts);
        self.channel.recv_parts(step, &mut all)?;
        let alpha = self.coins.toss();
        self.channel.send(COMMIT_CHALLENGE, as_bytes(&[alpha]))?;
        self.channel.flush()?;
        let (corrections, last) = self.corrections.split_at(cut);
        let mut check = self.receiver.check(alpha);
        self.receiver.receive(batch, corrections, shares);
        check.absorb(shares);
        self.receiver.receive(blinding, last, &mut self.blinding);
        check.absorb(&self.blinding);
        self.pending.push_back(Pending {
            alpha,
            check,
            told: None,
        });
        Ok(())
    }

    /// Receives an answer if one is due. `told` are the last bits of all columns of the batch just received, if they are
    /// to be checked.
    pub(crate) fn settle(&mut self, told: Option<Vec<u8>>) -> Result<()> {
        if let Some(last) = self.pending.back_mut() {
            last.told = told;
        }
        if self.pending.len() > LAG {
            self.answer()?;
        }
        Ok(())
    }

    fn answer(&mut self) -> Result<()> {
        let Some(Pending { alpha, check, told }) = self.pending.pop_front() else {
            return Ok(());
        };
        let mut answer = vec![0; ANSWER_BYTES];
        self.channel.recv(COMMIT_ANSWER, &mut answer)?;
        let peer = self.channel.peer();
        let folded =
            check
                .finish(&answer)
                .map_err(mismatch(checks::COMMITMENT_CONSISTENCY, peer, COMMIT_ANSWER))?;
        match told {
            Some(bits) => leak::verify(folded[0], alpha, &bits, peer, COMMIT_ANSWER),
            None => Ok(()),
        }
    }

    /// Checks all that is left.
    pub(crate) fn finish(mut self) -> Result<()> {
        while !self.pending.is_empty() {
            self.answer()?;
        }
        Ok(())
    }
}
