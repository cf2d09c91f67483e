//! What the garbler opens when it has the evaluator's seed (Figure 1, steps 8, 11 and 12): one worker's part.

use std::ops::Range;

use cenote_net::Channel;
use cenote_primitives::{Block, as_bytes};
use cenote_session::Result;
use zeroize::Zeroizing;

use crate::counters::Transcript;
use crate::offline::OPENED_AT_ONCE;
use crate::offline::challenge::Checked;
use crate::offline::solder::{Deal, Gadget, Wires};
use crate::steps::{OPEN_AUTHENTICATORS, OPEN_GATES, PROVE_GENERATE, SOLDER};
use cenote_commit::{Opener, Share};

/// A worker's part.
pub(super) struct Opening<'a> {
    pub(super) transcript: Transcript,
    pub(super) blocks: &'a Wires<'a, Block>,
    pub(super) shares: &'a Wires<'a, Share>,
    /// Checked gates and authenticators.
    pub(super) checked: [&'a [Checked]; 2],
    pub(super) deal: &'a Deal<'a>,
    /// Of each kind which gadgets to solder, and where to put the labels that they keep, and the shares.
    pub(super) gadgets: [(Range<usize>, &'a mut [Block], &'a mut [Share]); 4],
}

impl Opening<'_> {
    pub(super) fn run(self, channel: &mut dyn Channel) -> Result<()> {
        let mut opener = Opener::new(self.transcript.bytes());
        // Step 8: the labels of what is checked.
        let mut labels = vec![Block::ZERO; 3 * OPENED_AT_ONCE];
        let mut shares = Zeroizing::new(vec![Share::default(); 3 * OPENED_AT_ONCE]);
        for checked in self.checked[0].chunks(OPENED_AT_ONCE) {
            let (labels, shares) = (&mut labels[..3 * checked.len()], &mut shares[..3 * checked.len()]);
            self.blocks.open_gates(checked, labels);
            self.shares.open_gates(checked, shares);
            opener.open(labels, shares);
            channel.send(OPEN_GATES, as_bytes(labels))?;
        }
        for checked in self.checked[1].chunks(OPENED_AT_ONCE) {
            let (labels, shares) = (&mut labels[..checked.len()], &mut shares[..checked.len()]);
            self.blocks.open_authenticators(checked, labels);
            self.shares.open_authenticators(checked, shares);
            opener.open(labels, shares);
            channel.send(OPEN_AUTHENTICATORS, as_bytes(labels))?;
        }
        channel.flush()?;
        // Steps 11 and 12.
        let mut sums = Vec::new();
        let mut share_sums = Zeroizing::new(Vec::new());
        for (kind, (range, labels, shares)) in Gadget::ALL.into_iter().zip(self.gadgets) {
            let from = range.start;
            for piece in self.deal.pieces(kind, range) {
                let kept =
                    (piece.gadgets.start - from) * kind.kept()..(piece.gadgets.end - from) * kind.kept();
                sums.resize(piece.solderings(), Block::ZERO);
                share_sums.resize(piece.solderings(), Share::default());
                piece.solder(self.blocks, &mut labels[kept.clone()], &mut sums);
                piece.solder(self.shares, &mut shares[kept], &mut share_sums);
                opener.open(&sums, &share_sums);
                channel.send(SOLDER, as_bytes(&sums))?;
                channel.flush()?;
            }
        }
        channel.send(PROVE_GENERATE, &opener.finish())?;
        Ok(channel.flush()?)
    }
}
