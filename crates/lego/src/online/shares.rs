//! The evaluator's shares of what the garbler opens to it.

use cenote_primitives::Block;
use cenote_session::Result;
use zeroize::Zeroizing;

use crate::material::{EvaluatorInputs, Run};
use crate::room::{self, INPUTS};
use crate::wires::LegoWires;
use cenote_commit::Share;

/// The bit that tells the two labels of a wire apart.
#[inline(always)]
pub(super) fn last_bit(label: Block) -> bool {
    label.0[0] & 1 == 1
}

/// Shares of the sums of the labels of `wires` and others.
pub(super) fn sums(wires: &LegoWires, others: &[Share]) -> Result<Zeroizing<Vec<Share>>> {
    let mut sums = room::empty(INPUTS, others.len())?;
    let mut others = others;
    for row in wires.share_rows() {
        let (of_row, rest) = others.split_at(row.len());
        others = rest;
        sums.extend(row.iter().zip(of_row).map(|(&a, &b)| a ^ b));
    }
    Ok(sums)
}

/// The shares of what is opened for inputs with `bits`: label, OT string, and where the choice bit is not the input, `Δ`.
pub(super) fn own_shares(
    gadgets: &[Run<EvaluatorInputs>],
    bits: &[bool],
    delta_share: Share,
) -> Result<Zeroizing<Vec<Share>>> {
    let mut shares = room::empty(INPUTS, bits.len())?;
    let mut bits = bits;
    for run in gadgets {
        let (items, range) = (run.items(), run.range());
        let (of_run, rest) = bits.split_at(run.len());
        bits = rest;
        let labels = items.shares[range.clone()]
            .iter()
            .zip(&items.string_shares[range.clone()]);
        let choices = items.strings[range].iter().zip(of_run);
        shares.extend(
            labels
                .zip(choices)
                .map(|((&label, &string_share), (&string, &bit))| {
                    let flip = last_bit(string) ^ bit;
                    label ^ string_share ^ if flip { delta_share } else { Share::default() }
                }),
        );
    }
    Ok(shares)
}
