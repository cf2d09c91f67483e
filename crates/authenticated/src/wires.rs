//! Secret wires: three blocks for each bit.

use std::sync::Arc;

use cenote_primitives::{Block, LaneRun};
use cenote_session::{Bundles, Result, WireVector, room};

use crate::setup::Blocks;

/// Secret wires of a session: `wires` × `lanes`, of 48 bytes each. Clones, selections and concatenations share what is kept of
/// them. `Debug` prints the shape only.
#[derive(Clone)]
pub struct AuthenticatedWires(pub(crate) Bundles<Bundle>);

cenote_session::wires!(AuthenticatedWires, Bundle);

/// The wires that one call made. Number `wire * lanes + lane` is that wire in that lane.
pub(crate) struct Bundle {
    pub(crate) wires: usize,
    pub(crate) lanes: usize,
    pub(crate) cells: Cells,
}

/// What a party holds of wires. All of it is linear: that of a sum is the sum.
#[derive(Default)]
pub(crate) struct Cells {
    /// MACs of this party's shares of masks.
    pub(crate) macs: Blocks,
    /// Keys of the other party's.
    pub(crate) keys: Blocks,
    /// At the garbler the 0-label, whose bit 0 is 0; at the evaluator the label that it has, whose bit 0 is the masked value.
    pub(crate) labels: Blocks,
}

/// What room is asked for.
const WIRES: &str = "wires";

impl Cells {
    /// Zeros: wires with the public bit 0.
    pub(crate) fn zeros(count: usize) -> Result<Self> {
        Ok(Self {
            macs: room::secret(WIRES, count)?,
            keys: room::secret(WIRES, count)?,
            labels: room::secret(WIRES, count)?,
        })
    }

    /// The three arrays.
    pub(crate) fn parts(&self) -> [&[Block]; 3] {
        [&self.macs, &self.keys, &self.labels]
    }

    fn parts_mut(&mut self) -> [&mut [Block]; 3] {
        [&mut self.macs, &mut self.keys, &mut self.labels]
    }
}

impl Bundle {
    /// A wire's part of each array.
    pub(crate) fn row(&self, wire: usize) -> [&[Block]; 3] {
        let of = wire * self.lanes..(wire + 1) * self.lanes;
        self.cells.parts().map(|part| &part[of.clone()])
    }
}

impl AuthenticatedWires {
    /// All wires of a new bundle.
    pub(crate) fn new(wires: usize, lanes: usize, cells: Cells) -> Self {
        debug_assert!(cells.parts().iter().all(|part| part.len() == wires * lanes));
        Self(Bundles::of(Arc::new(Bundle { wires, lanes, cells })))
    }

    /// What is held of these wires, one after the other.
    pub(crate) fn gathered(&self) -> Result<Cells> {
        let count = self.wires() * self.lanes();
        let mut cells = Cells::zeros(count)?;
        for (row, (bundle, wire)) in self.rows().enumerate() {
            let of = row * self.lanes()..(row + 1) * self.lanes();
            for (to, from) in cells.parts_mut().into_iter().zip(bundle.row(wire)) {
                to[of.clone()].copy_from_slice(from);
            }
        }
        Ok(cells)
    }

    /// Lanes put together anew.
    pub(crate) fn arranged(parts: &[&Self], runs: &[LaneRun]) -> Result<Self> {
        let wires = parts.first().map_or(0, |part| part.wires());
        let lanes: usize = runs.iter().map(LaneRun::lanes).sum();
        let mut cells = Cells::zeros(wires * lanes)?;
        let rows: Vec<Vec<[&[Block]; 3]>> = parts
            .iter()
            .map(|part| part.rows().map(|(bundle, wire)| bundle.row(wire)).collect())
            .collect();
        for (part, to) in cells.parts_mut().into_iter().enumerate() {
            for (wire, mut to) in to.chunks_exact_mut(lanes.max(1)).enumerate() {
                for run in runs {
                    let row = rows[run.part as usize][wire][part];
                    let items = &row[run.start as usize..][..run.len as usize];
                    for _ in 0..run.times {
                        let (now, later) = to.split_at_mut(items.len());
                        now.copy_from_slice(items);
                        to = later;
                    }
                }
            }
        }
        Ok(Self::new(wires, lanes, cells))
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
