//! Secret wires: a cell for each bit, and at the evaluator where they come from.

use std::sync::{Arc, OnceLock};

use cenote_primitives::{BitMatrix, Block, LaneRun};
use cenote_session::{Bundles, Result, WireVector, room};
use zeroize::Zeroizing;

use crate::online::History;
use crate::provenance::Origin;

/// Secret wires of a session: `wires` × `lanes` cells, of 64 bytes at the garbler and 96 at the evaluator for 40 bits of security, and
/// what they come from. Clones, selections and concatenations share this. `Debug` prints the shape only.
#[derive(Clone)]
pub struct JimuWires(pub(crate) Bundles<Bundle>);

cenote_session::wires!(JimuWires, Bundle);

/// The wires that one call made. Cell `(wire, lane)` is number `wire * lanes + lane`.
pub(crate) struct Bundle {
    pub(crate) wires: usize,
    pub(crate) lanes: usize,
    pub(crate) cells: Zeroizing<Vec<Block>>,
    /// Bytes that are kept because of what they come from, with what that comes from, about. The same at both parties.
    pub(crate) history: u64,
    /// Whether what they come from is forgotten, and they are not anchored.
    pub(crate) settled: bool,
    /// What the evaluator knows besides.
    pub(crate) known: Option<Known>,
}

/// What the evaluator knows of a bundle besides its cells.
pub(crate) struct Known {
    /// Where its wires come from.
    pub(crate) origin: Origin,
    /// The bits: of this party's inputs, or once the garbler's cheating has told them.
    pub(crate) clear: OnceLock<BitMatrix>,
}

impl Bundle {
    /// Blocks of a cell.
    pub(crate) fn size(&self) -> usize {
        self.cells.len() / (self.wires * self.lanes).max(1)
    }

    /// The cells of one wire.
    pub(crate) fn row(&self, wire: usize) -> &[Block] {
        let row = self.lanes * self.size();
        &self.cells[wire * row..(wire + 1) * row]
    }

    /// What the evaluator knows.
    ///
    /// # Panics
    /// At the garbler: wires of the two sides never meet.
    pub(crate) fn known(&self) -> &Known {
        self.known.as_ref().expect("wires of the evaluator's session")
    }
}

impl JimuWires {
    /// All wires of a new bundle.
    pub(crate) fn new(
        wires: usize,
        lanes: usize,
        cells: Zeroizing<Vec<Block>>,
        history: u64,
        known: Option<Known>,
    ) -> Self {
        let bundle = Bundle {
            wires,
            lanes,
            cells,
            history,
            settled: false,
            known,
        };
        Self(Bundles::of(Arc::new(bundle)))
    }

    /// The same wires, with nothing that they come from but what is `known`.
    ///
    /// # Errors
    /// [`cenote_session::Error::OutOfMemory`].
    pub(crate) fn settled(&self, known: Option<Known>) -> Result<Self> {
        let (wires, lanes) = (self.wires(), self.lanes());
        let blocks = self.cells().map(<[Block]>::len).sum();
        let cells = self.cells().flatten().copied();
        let bundle = Bundle {
            wires,
            lanes,
            cells: room::collected("settled wires", blocks, cells)?,
            history: 0,
            settled: true,
            known,
        };
        Ok(Self(Bundles::of(Arc::new(bundle))))
    }

    /// Whether some of these wires were settled.
    pub(crate) fn are_settled(&self) -> bool {
        self.parts().iter().any(|part| part.bundle.settled)
    }

    /// The cells of each wire.
    pub(crate) fn cells(&self) -> impl Iterator<Item = &[Block]> {
        self.rows().map(|(bundle, wire)| bundle.row(wire))
    }

    /// Bytes that are kept because of what these wires come from, about.
    pub(crate) fn history(wires: &[&Self]) -> u64 {
        let parts = wires.iter().flat_map(|wires| wires.parts());
        let mut bundles: Vec<&Arc<Bundle>> = parts.map(|part| &part.bundle).collect();
        bundles.sort_by_key(|bundle| Arc::as_ptr(bundle));
        bundles.dedup_by_key(|bundle| Arc::as_ptr(bundle));
        let histories = bundles.iter().map(|bundle| bundle.history);
        histories.fold(0, u64::saturating_add)
    }

    /// Lanes put together anew.
    pub(crate) fn arranged(
        parts: &[&Self],
        runs: &[LaneRun],
        rule: History,
        known: Option<Known>,
    ) -> Result<Self> {
        let rows: Vec<Vec<&[Block]>> = parts.iter().map(|part| part.cells().collect()).collect();
        let wires = rows.first().map_or(0, Vec::len);
        let lanes: usize = runs.iter().map(LaneRun::lanes).sum();
        let sizes = parts.iter().flat_map(|part| part.parts());
        let size = sizes.map(|part| part.bundle.size()).max().unwrap_or(0);
        let mut cells = room::empty("lanes put together anew", wires * lanes * size)?;
        (0..wires).for_each(|wire| {
            for run in runs {
                let row = rows[run.part as usize][wire];
                let items = &row[run.start as usize * size..][..run.len as usize * size];
                (0..run.times).for_each(|_| cells.extend_from_slice(items));
            }
        });
        let history = Self::history(parts).saturating_add(rule.of_outputs(wires, lanes));
        Ok(Self::new(wires, lanes, cells, history, known))
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
