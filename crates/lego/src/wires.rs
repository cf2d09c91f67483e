//! Secret wires: labels, and at the evaluator where they come from.

use std::sync::{Arc, OnceLock};

use cenote_circuit::Plan;
use cenote_primitives::{BitMatrix, Block};
use cenote_session::{Bundles, Result, WireVector};
use zeroize::Zeroizing;

use crate::material::Commitments;
use crate::online::provenance::Origin;
use crate::online::tiles::Circuit;
use crate::room::{self, CIRCUITS};
use cenote_commit::Share;

/// Secret wires of a LEGO session: `wires` × `lanes` labels.
///
/// The garbler keeps 56 bytes for each wire and lane, the 0-label and its share of the commitment to it; the evaluator 40
/// for the share and, once evaluated, 16 for the label, and besides what they come from. Clones, selections and
/// concatenations share this. `Debug` prints the shape only.
#[derive(Clone)]
pub struct LegoWires(pub(crate) Bundles<Bundle>);

cenote_session::wires!(LegoWires, Bundle);

/// The wires that one call made. Label `(wire, lane)` is entry `wire * lanes + lane`.
pub(crate) struct Bundle {
    pub(crate) wires: usize,
    pub(crate) lanes: usize,
    /// Whether nothing is kept of where they come from.
    pub(crate) settled: bool,
    pub(crate) labels: Labels,
}

/// Labels of a bundle, as one side holds them.
pub(crate) enum Labels {
    /// 0-labels and the garbler's shares of them.
    Garbler(Commitments),
    /// The evaluator's shares of the 0-labels, and what it knows besides.
    Evaluator(EvaluatorLabels),
}

/// What the evaluator holds of a bundle.
pub(crate) struct EvaluatorLabels {
    /// Shares of the 0-labels.
    pub(crate) shares: Zeroizing<Vec<Share>>,
    /// The labels, once evaluated.
    pub(crate) keys: OnceLock<Zeroizing<Vec<Block>>>,
    /// Where they come from.
    pub(crate) origin: Origin,
    /// The bits, once the garbler's cheating has told them.
    pub(crate) clear: OnceLock<BitMatrix>,
}

impl Bundle {
    /// A bundle at the garbler.
    pub(crate) fn garbler(wires: usize, lanes: usize, labels: Commitments) -> Arc<Self> {
        debug_assert_eq!(labels.len(), wires * lanes);
        Arc::new(Self {
            wires,
            lanes,
            settled: false,
            labels: Labels::Garbler(labels),
        })
    }

    /// A bundle at the evaluator, not evaluated yet.
    pub(crate) fn evaluator(
        wires: usize,
        lanes: usize,
        shares: Zeroizing<Vec<Share>>,
        origin: Origin,
    ) -> Arc<Self> {
        debug_assert_eq!(shares.len(), wires * lanes);
        Arc::new(Self {
            wires,
            lanes,
            settled: false,
            labels: Labels::Evaluator(EvaluatorLabels {
                shares,
                keys: OnceLock::new(),
                origin,
                clear: OnceLock::new(),
            }),
        })
    }

    /// The garbler's labels.
    ///
    /// # Panics
    /// At the evaluator: wires of the two sides never meet, since engines take wires of their own session only.
    pub(crate) fn committed(&self) -> &Commitments {
        match &self.labels {
            Labels::Garbler(labels) => labels,
            Labels::Evaluator(_) => panic!("wires of another party's session"),
        }
    }

    /// The evaluator's labels.
    ///
    /// # Panics
    /// At the garbler.
    pub(crate) fn held(&self) -> &EvaluatorLabels {
        match &self.labels {
            Labels::Evaluator(labels) => labels,
            Labels::Garbler(_) => panic!("wires of another party's session"),
        }
    }
}

impl EvaluatorLabels {
    /// The labels, if they have been evaluated.
    pub(crate) fn keys(&self) -> Option<&[Block]> {
        self.keys.get().map(|keys| keys.as_slice())
    }
}

impl LegoWires {
    /// All wires of `bundle`.
    pub(crate) fn of(bundle: Arc<Bundle>) -> Self {
        Self(Bundles::of(bundle))
    }

    /// No wires.
    pub(crate) fn none() -> Self {
        Self(Bundles::none())
    }

    /// Whether any of them come from nothing that is known.
    pub(crate) fn are_settled(&self) -> bool {
        self.parts().iter().any(|part| part.bundle.settled)
    }

    /// The evaluator's wires whose bits `Δ` does not tell: the labels of settled ones.
    pub(crate) fn unknown_rows(&self) -> Vec<usize> {
        let unknown = |bundle: &Bundle| bundle.held().clear.get().is_none();
        let rows = self.rows().enumerate().filter(|(_, (bundle, _))| unknown(bundle));
        rows.map(|(row, _)| row).collect()
    }

    /// A copy of the labels that keeps nothing else alive: as the outputs of a plan on its inputs, or of nothing that is
    /// known. At the evaluator they have been evaluated.
    pub(crate) fn settled(&self, origin: Option<(&Plan, &LegoWires)>) -> Result<Self> {
        let (wires, lanes) = (self.wires(), self.lanes());
        let Some(first) = self.parts().first() else {
            return Ok(self.clone());
        };
        let settled = origin.is_none();
        let labels = match &first.bundle.labels {
            Labels::Garbler(_) => {
                let mut all = Commitments::with_room(wires * lanes)?;
                for (labels, shares) in self.committed_rows() {
                    all.messages.extend_from_slice(labels);
                    all.shares.extend_from_slice(shares);
                }
                Labels::Garbler(all)
            }
            Labels::Evaluator(_) => {
                let mut shares = room::empty(CIRCUITS, wires * lanes)?;
                let mut keys = room::empty(CIRCUITS, wires * lanes)?;
                self.share_rows().for_each(|row| shares.extend_from_slice(row));
                for row in self.key_rows() {
                    keys.extend_from_slice(row.expect("everything that was run has been evaluated"));
                }
                let clear = if self.unknown_rows().is_empty() && settled {
                    OnceLock::from(self.0.known_bits())
                } else {
                    OnceLock::new()
                };
                let origin = match origin {
                    None => Origin::Settled,
                    Some((plan, inputs)) => Origin::Circuit {
                        circuit: Arc::new(Circuit::new(plan)?),
                        inputs: inputs.clone(),
                    },
                };
                Labels::Evaluator(EvaluatorLabels {
                    shares,
                    keys: OnceLock::from(keys),
                    origin,
                    clear,
                })
            }
        };
        Ok(Self::of(Arc::new(Bundle {
            wires,
            lanes,
            settled,
            labels,
        })))
    }

    /// The garbler's 0-labels and shares: a row for each wire.
    pub(crate) fn committed_rows(&self) -> impl Iterator<Item = (&[Block], &[Share])> {
        self.rows().map(|(bundle, wire)| {
            let row = wire * bundle.lanes..(wire + 1) * bundle.lanes;
            let labels = bundle.committed();
            (&labels.messages[row.clone()], &labels.shares[row])
        })
    }

    /// The evaluator's shares: a row for each wire.
    pub(crate) fn share_rows(&self) -> impl Iterator<Item = &[Share]> {
        self.rows()
            .map(|(bundle, wire)| &bundle.held().shares[wire * bundle.lanes..(wire + 1) * bundle.lanes])
    }

    /// The evaluator's labels, a row for each wire; `None` for wires that have not been evaluated.
    pub(crate) fn key_rows(&self) -> impl Iterator<Item = Option<&[Block]>> {
        self.rows().map(|(bundle, wire)| {
            let keys = bundle.held().keys()?;
            Some(&keys[wire * bundle.lanes..(wire + 1) * bundle.lanes])
        })
    }
}

impl cenote_session::Bundle for Bundle {
    fn wires(&self) -> usize {
        self.wires
    }

    fn lanes(&self) -> usize {
        self.lanes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Wires whose labels tell bundle, wire and lane.
    fn wires(bundle: u64, wires: usize, lanes: usize) -> LegoWires {
        let label = |at: usize| Block([bundle, at as u64]);
        let labels = Commitments {
            messages: Zeroizing::new((0..wires * lanes).map(label).collect()),
            shares: Zeroizing::new(vec![Share::default(); wires * lanes]),
        };
        LegoWires::of(Bundle::garbler(wires, lanes, labels))
    }

    fn labels(wires: &LegoWires) -> Vec<[u64; 2]> {
        wires
            .committed_rows()
            .flat_map(|(labels, _)| labels)
            .map(|label| label.0)
            .collect()
    }

    #[test]
    fn selecting_and_joining_keep_the_order() {
        let all = LegoWires::concat(&[&wires(1, 3, 2), &wires(2, 0, 2), &wires(3, 2, 2)]);
        assert_eq!((all.wires(), all.lanes(), labels(&all).len()), (5, 2, 10));
        for start in 0..=5 {
            for end in start..=5 {
                let some = all.select(start..end);
                assert_eq!(some.wires(), end - start);
                assert_eq!(labels(&some), labels(&all)[2 * start..2 * end]);
                // Selecting from a selection counts within it.
                if some.wires() > 1 {
                    assert_eq!(
                        labels(&some.select(1..2)),
                        labels(&all)[2 * start + 2..2 * start + 4]
                    );
                }
            }
        }
        // What was taken apart is one part again.
        let again = LegoWires::concat(&[&all.select(0..1), &all.select(1..3)]);
        assert_eq!(
            (again.parts().len(), labels(&again)),
            (1, labels(&all)[..6].to_vec())
        );
        assert_eq!(format!("{all:?}"), "LegoWires(5 × 2)");
    }

    #[test]
    #[should_panic(expected = "all parts have the same lanes")]
    fn lanes_must_agree() {
        LegoWires::concat(&[&wires(1, 1, 2), &wires(2, 1, 3)]);
    }
}
