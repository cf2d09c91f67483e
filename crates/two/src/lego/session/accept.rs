//! The authenticators of many input wires at once (Figure 2, Eval, step 4).

use std::ops::Range;

use cenote_primitives::Block;
use zeroize::Zeroizing;

use crate::garble::accepts_each;
use crate::lego::material::Authenticators;

/// Gadgets whose authenticators are tried at a time.
const GADGETS: usize = 256;

/// Whether of each gadget of `gadgets` more than half of the authenticators accept its label.
pub(super) fn accepted(authenticators: &Authenticators, gadgets: Range<usize>, labels: &[Block]) -> bool {
    debug_assert_eq!(gadgets.len(), labels.len());
    let size = authenticators.size;
    let mut numbers = Vec::with_capacity(GADGETS * size);
    let mut moved = Zeroizing::new(Vec::with_capacity(GADGETS * size));
    let mut accepts = vec![false; GADGETS * size];
    let mut all = true;
    for (chunk, labels) in labels.chunks(GADGETS).enumerate() {
        let first = (gadgets.start + chunk * GADGETS) * size;
        let entries = first..first + labels.len() * size;
        numbers.clear();
        numbers.extend(
            authenticators.numbers[entries.clone()]
                .iter()
                .map(|&number| authenticators.base + u64::from(number)),
        );
        moved.clear();
        let solderings = authenticators.solderings[entries.clone()].chunks_exact(size);
        for (&label, solderings) in labels.iter().zip(solderings) {
            moved.extend(solderings.iter().map(|&soldering| label ^ soldering));
        }
        let accepts = &mut accepts[..moved.len()];
        accepts_each(&numbers, &authenticators.authenticators[entries], &moved, accepts);
        let most = |votes: &[bool]| 2 * votes.iter().filter(|vote| **vote).count() > size;
        all &= accepts.chunks_exact(size).all(most);
    }
    all
}
