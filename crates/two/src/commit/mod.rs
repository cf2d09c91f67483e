//! XOR-homomorphic commitments to 128-bit strings (Frederiksen, Jakobsen, Nielsen, Trifiletti 2016).

use cenote_primitives::Block;
use zeroize::DefaultIsZeroes;

/// Bits of a codeword: the message and its parity.
pub const CODE_BITS: usize = 308;
/// Bits of parity.
pub const PARITY_BITS: usize = 180;
/// Bytes of a [`Proof`].
pub const PROOF_BYTES: usize = CODE_BITS * 16;
/// Commitments are made in multiples of this.
pub const BATCH_UNIT: usize = 512;

/// A share of a committed string: one bit for each position of the code, message first. `s^0` at the committer, the
/// watched bits at the receiver. Shares of a sum are sums of shares.
#[derive(Clone, Copy, Default, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(transparent)]
pub struct Share(pub [u64; 5]);

impl DefaultIsZeroes for Share {}

impl std::fmt::Debug for Share {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Share")
    }
}

impl std::ops::BitXor for Share {
    type Output = Share;
    #[inline(always)]
    fn bitxor(self, other: Share) -> Share {
        Share(std::array::from_fn(|i| self.0[i] ^ other.0[i]))
    }
}

impl std::ops::BitXorAssign for Share {
    #[inline(always)]
    fn bitxor_assign(&mut self, other: Share) {
        *self = *self ^ other;
    }
}

/// Where a run of commitments lies in the streams of the seeds: `columns` from 512 times `first` on. No two runs of one
/// set-up may overlap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Batch {
    /// In units of [`BATCH_UNIT`] commitments.
    pub first: u64,
    /// Number of commitments: a multiple of [`BATCH_UNIT`].
    pub columns: usize,
}

impl Batch {
    /// Bytes of the corrections of the batch.
    pub fn correction_bytes(self) -> usize {
        self.columns / 8 * PARITY_BITS
    }
}

/// An opening, or a commitment, is not what it should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not what was committed to")]
pub struct Mismatch;

/// The committer: both seeds of every position.
#[derive(Debug)]
pub struct Committer(());

/// The receiver: one seed of every position.
#[derive(Debug)]
pub struct Receiver(());

impl Committer {
    /// From [`CODE_BITS`] random OTs: the strings sent.
    pub fn new(_seeds: &[[Block; 2]]) -> Self {
        unimplemented!()
    }

    /// Commits to uniform strings: `messages` and `shares`, one for each column, and `corrections` for the receiver.
    pub fn commit(
        &self,
        _batch: Batch,
        _messages: &mut [Block],
        _shares: &mut [Share],
        _corrections: &mut [u8],
    ) {
        unimplemented!()
    }

    /// The answer to challenge `alpha` on all of `batches`, blinded by the last [`BATCH_UNIT`] columns of the last batch,
    /// which must be used for nothing else.
    pub fn answer(&self, _batches: &[Batch], _alpha: Block) -> Vec<u8> {
        unimplemented!()
    }
}

impl Receiver {
    /// From [`CODE_BITS`] random OTs: choice bits packed in words, and the strings received.
    pub fn new(_choices: &[u64], _seeds: &[Block]) -> Self {
        unimplemented!()
    }

    /// Receives commitments to unknown uniform strings.
    pub fn receive(&self, _batch: Batch, _corrections: &[u8], _shares: &mut [Share]) {
        unimplemented!()
    }

    /// Turns commitments to strings `m` into commitments to `m ^ difference`. (The committer's shares stay; its messages
    /// become the chosen ones.)
    pub fn adjust(&self, _shares: &mut [Share], _differences: &[Block]) {
        unimplemented!()
    }

    /// Starts the check of commitments that were received, as they were before [`Receiver::adjust`].
    pub fn check(&self, _alpha: Block) -> ConsistencyCheck<'_> {
        unimplemented!()
    }

    /// Starts the verification of openings. `transcript` names the session and the phase.
    pub fn verify(&self, _transcript: &[u8]) -> Verifier<'_> {
        unimplemented!()
    }
}

/// The check that commitments are to codewords (Section V-A of Nielsen et al. 2017).
#[derive(Debug)]
pub struct ConsistencyCheck<'a>(&'a ());

impl ConsistencyCheck<'_> {
    /// Takes the shares of the batches in order, all columns of all of them, the blinding ones last.
    pub fn absorb(&mut self, _shares: &[Share]) {
        unimplemented!()
    }

    /// Compares with the committer's answer, and gives the folded messages.
    pub fn finish(self, _answer: &[u8]) -> Result<(), Mismatch> {
        unimplemented!()
    }
}

/// The committer's side of opening a sequence of sums of commitments with one proof.
#[derive(Debug)]
pub struct Opener(());

impl Opener {
    /// Starts; `transcript` as at the receiver.
    pub fn new(_transcript: &[u8]) -> Self {
        unimplemented!()
    }

    /// Opens sums of commitments; the messages are sent by the caller.
    pub fn open(&mut self, _messages: &[Block], _shares: &[Share]) {
        unimplemented!()
    }

    /// The proof of everything opened.
    pub fn finish(self) -> Vec<u8> {
        unimplemented!()
    }
}

/// The receiver's side of [`Opener`].
#[derive(Debug)]
pub struct Verifier<'a>(&'a ());

impl Verifier<'_> {
    /// The messages as received, in the same pieces as opened, with this side's shares of the sums.
    pub fn absorb(&mut self, _messages: &[Block], _shares: &[Share]) {
        unimplemented!()
    }

    /// Whether all messages were those committed to.
    pub fn finish(self, _proof: &[u8]) -> Result<(), Mismatch> {
        unimplemented!()
    }
}
