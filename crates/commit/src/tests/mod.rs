//! Both sides of the commitments in one process.

mod cheating;
mod golden;
mod hiding;
mod round_trip;
pub(crate) mod speed;

use cenote_primitives::{Block, Entropy};

use super::opening::open_each;
use super::*;

/// Both sides after the OTs.
struct Pair {
    committer: Committer,
    receiver: Receiver,
    /// The receiver's choice bits, which no committer knows.
    choices: Share,
}

/// What both sides have of a run of commitments.
#[derive(Clone)]
struct Commitments {
    batch: Batch,
    messages: Vec<Block>,
    theirs: Vec<Share>,
    corrections: Vec<u8>,
    mine: Vec<Share>,
}

fn pair(entropy: &mut Entropy) -> Pair {
    let seeds: Vec<[Block; 2]> = (0..CODE_BITS)
        .map(|_| [entropy.block(), entropy.block()])
        .collect();
    let mut choices = Share::default();
    entropy.fill(&mut bytemuck::bytes_of_mut(&mut choices)[..OPENING_BYTES]);
    choices.0[SHARE_WORDS - 1] %= 1 << (CODE_BITS % 64);
    let chosen: Vec<Block> = (0..CODE_BITS)
        .map(|i| seeds[i][usize::from(bit(&choices, i))])
        .collect();
    Pair {
        committer: Committer::new(&seeds),
        receiver: Receiver::new(&choices.0, &chosen),
        choices,
    }
}

fn bit(share: &Share, i: usize) -> bool {
    share.0[i / 64] >> (i % 64) & 1 == 1
}

impl Pair {
    /// The committer's part of [`Pair::commit`].
    fn begin(&self, first: u64, columns: usize) -> Commitments {
        let batch = Batch { first, columns };
        let mut made = Commitments {
            batch,
            messages: vec![Block::ZERO; columns],
            theirs: vec![Share::default(); columns],
            corrections: vec![0; batch.correction_bytes()],
            mine: vec![Share::default(); columns],
        };
        self.committer
            .commit(batch, &mut made.messages, &mut made.theirs, &mut made.corrections);
        made
    }

    fn commit(&self, first: u64, columns: usize) -> Commitments {
        let mut made = self.begin(first, columns);
        self.receive(&mut made);
        made
    }

    fn receive(&self, made: &mut Commitments) {
        self.receiver
            .receive(made.batch, &made.corrections, &mut made.mine);
    }

    /// The consistency check of everything in `made` with the committer's answer as `tamper` leaves it.
    fn check(
        &self,
        made: &[&Commitments],
        alpha: Block,
        tamper: impl FnOnce(&mut Vec<u8>),
    ) -> Result<Vec<Block>, Mismatch> {
        let batches: Vec<Batch> = made.iter().map(|made| made.batch).collect();
        let mut answer = self.committer.answer(&batches, alpha);
        tamper(&mut answer);
        let mut check = self.receiver.check(alpha);
        for made in made {
            check.absorb(&made.mine);
        }
        check.finish(&answer)
    }

    /// Whether the receiver believes `messages`, in pieces of `piece`, if the committer opens honestly.
    fn open(&self, made: &Commitments, messages: &[Block], piece: usize) -> Result<(), Mismatch> {
        let mut opener = Opener::new(b"test");
        let mut verifier = self.receiver.verify(b"test");
        let (theirs, mine) = (&made.theirs[..messages.len()], &made.mine[..messages.len()]);
        for (messages, shares) in messages.chunks(piece).zip(theirs.chunks(piece)) {
            opener.open(messages, shares);
        }
        for (messages, shares) in messages.chunks(piece).zip(mine.chunks(piece)) {
            verifier.absorb(messages, shares);
        }
        verifier.finish(&opener.finish())
    }
}

/// The codeword of `message`, by way of the receiver's code.
fn codeword(message: Block) -> Share {
    let mut found = Share::default();
    let mut scratch = vec![cenote_primitives::Block512::ZERO; code::ENCODE_SCRATCH];
    code::encode_columns(&[message], &mut scratch, |_, codeword| found = codeword);
    found
}

fn and(a: Share, b: Share) -> Share {
    Share(std::array::from_fn(|i| a.0[i] & b.0[i]))
}
