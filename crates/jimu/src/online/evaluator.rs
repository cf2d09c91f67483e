//! The evaluator's side.

use std::sync::{Arc, OnceLock};

use cenote_net::Channel;
use cenote_pool::Role;
use cenote_primitives::{BitMatrix, Block, LaneRun, as_bytes};
use cenote_session::{Error, Result, WireVector, room};
use zeroize::{Zeroize, Zeroizing};

use super::circuit::Circuit;
use super::group::{GROUP, INPUTS, pack};
use super::run::run_circuit;
use super::side::Side;
use super::solderings::Unproved;
use super::supply::Common;
use super::transfers::EvaluatorStock;
use super::work::Work;
use crate::provenance::{Anchors, Origin, Revealed, replay};
use crate::setup::{EvaluatorKeys, add_if, colour};
use crate::wires::{Bundle, JimuWires, Known};
use crate::{checks, steps};

/// The party that evaluates.
pub(crate) struct Evaluator {
    pub(super) keys: EvaluatorKeys,
    pub(super) common: Common,
    pub(super) unproved: Unproved,
    pub(super) work: Work,
    pub(super) stock: EvaluatorStock,
    /// The difference of labels, once the garbler's cheating has told it.
    pub(super) delta: Option<Zeroizing<Vec<Block>>>,
}

impl Evaluator {
    pub(crate) fn new(keys: EvaluatorKeys, common: Common) -> Self {
        Self {
            keys,
            common,
            unproved: Unproved::default(),
            work: Work::default(),
            stock: EvaluatorStock::default(),
            delta: None,
        }
    }

    /// The bits of `wires`, if the garbler's cheating has told them.
    fn replayed(&self, wires: &JimuWires) -> Option<BitMatrix> {
        let delta = self.delta.as_ref()?;
        let start = &self.keys.secrets.start;
        Some(replay(wires, self.common.cell, &Revealed { delta, start }))
    }

    /// Returns the labels of anchored wires. If the garbler has cheated, those of the right bits.
    fn return_labels(&mut self, wires: &JimuWires, channel: &mut dyn Channel) -> Result<()> {
        let (cell, lanes) = (self.common.cell, wires.lanes());
        let mut labels = room::empty(INPUTS, wires.wires() * lanes * cell.blocks)?;
        for of_lane in wires.cells().flat_map(|row| row.chunks_exact(cell.size())) {
            labels.extend_from_slice(&of_lane[cell.label()]);
        }
        if let (Some(right), Some(delta)) = (self.replayed(wires), &self.delta) {
            let revealed = Revealed {
                delta,
                start: &self.keys.secrets.start,
            };
            let rows = wires.rows().enumerate();
            for (row, (bundle, wire)) in rows {
                let Origin::Anchored(anchors) = &bundle.known().origin else {
                    return Err(Error::Internal("outputs of the garbler are anchored".into()));
                };
                for lane in 0..lanes {
                    let at = (row * lanes + lane) * cell.blocks;
                    let label = &mut labels[at..at + cell.blocks];
                    let carried = anchors.bit(wire * lanes + lane, label, &revealed);
                    let wrong = carried ^ right.get(row, lane);
                    add_if(label, delta, u64::from(wrong).wrapping_neg());
                }
            }
        }
        let count = wires.wires() * lanes;
        let last = Zeroizing::new(pack(labels.chunks_exact(cell.blocks).map(colour), count));
        let hash = blake3::hash(as_bytes(&labels[..]));
        channel.send_parts(steps::OUTPUT_LABELS, &[&last, hash.as_bytes()])?;
        Ok(channel.flush()?)
    }

    /// The bits of wires whose permutation bits the garbler opens.
    fn decode(&mut self, wires: &JimuWires, channel: &mut dyn Channel) -> Result<BitMatrix> {
        let (cell, lanes) = (self.common.cell, wires.lanes());
        let cells = || wires.cells().flat_map(|row| row.chunks_exact(cell.size()));
        let count = wires.wires() * lanes;
        let keys = cells().map(|of_lane| [of_lane[cell.word()].0[0]]);
        let keys = room::collected(INPUTS, count, keys)?;
        let permuted = self.keys.verifier.receive(channel, steps::DECODE, &keys)?;
        let replayed = self.replayed(wires);
        // Once Δ is known, only labels that were settled before are right for certain.
        let told = |bundle: &Bundle| replayed.is_none() || matches!(bundle.known().origin, Origin::Settled);
        let rows = wires.rows().enumerate();
        let by_label: Vec<(usize, &[Block])> = rows
            .filter(|(_, (bundle, _))| told(bundle))
            .map(|(row, (bundle, wire))| (row, bundle.row(wire)))
            .collect();
        let told = by_label.len() * lanes;
        let mut labels = room::empty(INPUTS, told * cell.blocks)?;
        let mut hashes = room::empty(INPUTS, told * cell.before)?;
        for of_lane in by_label.iter().flat_map(|(_, row)| row.chunks_exact(cell.size())) {
            labels.extend_from_slice(&of_lane[cell.label()]);
            hashes.extend_from_slice(&of_lane[..cell.before]);
        }
        let mut colours = room::secret(INPUTS, told.div_ceil(64))?;
        let found =
            self.keys
                .secrets
                .watcher
                .which(&labels, &hashes, &self.keys.secrets.delta_hash, &mut colours);
        found.map_err(|mismatch| {
            Error::cheated(
                checks::BUCKET,
                channel.peer(),
                steps::DECODE,
                mismatch.to_string(),
            )
        })?;
        let bit = |bits: &[u64], at: usize| bits[at / 64] >> (at % 64) & 1 == 1;
        let mut outputs = match replayed {
            Some(bits) => bits,
            None => room::bits(INPUTS, wires.wires(), lanes)?,
        };
        for (at, (row, _)) in by_label.iter().enumerate() {
            for lane in 0..lanes {
                let colour = bit(&colours, at * lanes + lane);
                outputs.set(*row, lane, colour ^ bit(&permuted, row * lanes + lane));
            }
        }
        Ok(outputs)
    }

    /// New wires that are anchored to `anchors`.
    fn anchored(
        &self,
        wires: usize,
        lanes: usize,
        cells: Zeroizing<Vec<Block>>,
        anchors: Anchors,
        clear: OnceLock<BitMatrix>,
    ) -> JimuWires {
        let known = Known {
            origin: Origin::Anchored(anchors),
            clear,
        };
        JimuWires::new(
            wires,
            lanes,
            cells,
            self.common.history.of_anchored(wires, lanes),
            Some(known),
        )
    }

    /// What no cells yet are anchored to, with room for so many.
    pub(super) fn no_anchors(&self, cells: usize) -> Result<Anchors> {
        let each = self.common.anchor();
        let (gates, blocks) = (cells * each, self.common.cell.blocks);
        Ok(Anchors {
            each,
            numbers: room::reserved(INPUTS, gates)?,
            tables: room::reserved(INPUTS, 2 * gates * blocks)?,
            solderings: room::reserved(INPUTS, 2 * gates * blocks)?,
        })
    }
}

impl Side for Evaluator {
    fn common(&self) -> &Common {
        &self.common
    }

    fn common_mut(&mut self) -> &mut Common {
        &mut self.common
    }

    fn input(
        &mut self,
        owner: Role,
        wires: usize,
        lanes: usize,
        given: Option<&BitMatrix>,
        channel: &mut dyn Channel,
    ) -> Result<JimuWires> {
        if owner == Role::Garbler {
            let (cells, anchors) = self.garblers_input(wires * lanes, channel)?;
            return Ok(self.anchored(wires, lanes, cells, anchors, OnceLock::new()));
        }
        let clear = match given {
            Some(given) => given.clone(),
            None => room::bits(INPUTS, wires, lanes)?,
        };
        let own = room::collected(INPUTS, wires * lanes, clear.bits())?;
        let cells = self.own_input(&own, channel)?;
        let known = Known {
            origin: Origin::Known,
            clear: OnceLock::from(clear),
        };
        let history = self.common.history.of_outputs(wires, lanes);
        Ok(JimuWires::new(wires, lanes, cells, history, Some(known)))
    }

    fn constant(&mut self, values: &BitMatrix) -> Result<JimuWires> {
        let known = Known {
            origin: Origin::Known,
            clear: OnceLock::from(values.clone()),
        };
        let gamma = *self.keys.secrets.gamma;
        self.common
            .constant(values, |cell| negate(cell, gamma), Some(known))
    }

    fn arrange(&mut self, parts: &[&JimuWires], runs: Arc<[LaneRun]>) -> Result<JimuWires> {
        let known = Known {
            origin: Origin::Lanes {
                parts: parts.iter().map(|&part| part.clone()).collect(),
                runs: runs.clone(),
            },
            clear: OnceLock::new(),
        };
        JimuWires::arranged(parts, &runs, self.common.history, Some(known))
    }

    fn run(
        &mut self,
        circuit: &Arc<Circuit>,
        inputs: &JimuWires,
        history: u64,
        channel: &mut dyn Channel,
    ) -> Result<JimuWires> {
        let cell = self.common.cell;
        let gamma = self.keys.secrets.gamma.clone();
        let outputs = run_circuit(
            circuit,
            inputs,
            cell,
            |cell| negate(cell, *gamma),
            |kind, operands, outputs| self.gates(kind, operands, outputs, channel),
        )?;
        self.prove(1, channel)?;
        let known = Known {
            origin: Origin::Circuit {
                circuit: circuit.clone(),
                inputs: inputs.clone(),
            },
            clear: OnceLock::new(),
        };
        let wires = circuit.plan.output_wires();
        Ok(JimuWires::new(
            wires,
            inputs.lanes(),
            outputs,
            history,
            Some(known),
        ))
    }

    fn settle(&mut self, wires: &JimuWires) -> Result<JimuWires> {
        let known = match self.replayed(wires) {
            Some(bits) => Known {
                origin: Origin::Known,
                clear: OnceLock::from(bits),
            },
            None => Known {
                origin: Origin::Settled,
                clear: OnceLock::new(),
            },
        };
        wires.settled(Some(known))
    }

    fn anchor(&mut self, wires: &JimuWires, channel: &mut dyn Channel) -> Result<JimuWires> {
        let blocks = wires.cells().map(<[Block]>::len).sum();
        let cells = room::collected(INPUTS, blocks, wires.cells().flatten().copied())?;
        let size = self.common.cell.size();
        let mut anchors = self.no_anchors(cells.len() / size)?;
        for cells in cells.chunks(GROUP * size) {
            self.common.draw_anchors(cells.len() / size, channel)?;
            self.receive_anchors(cells, &mut anchors, channel)?;
        }
        self.prove(1, channel)?;
        // A label that was found without finding Δ is right, and tells its bit for ever; later ones need not be.
        let mut clear = self.replayed(wires);
        if let (Some(bits), Some(delta)) = (&mut clear, &self.delta) {
            let revealed = Revealed {
                delta,
                start: &self.keys.secrets.start,
            };
            let (cell, lanes) = (self.common.cell, wires.lanes());
            for (row, (bundle, wire)) in wires.rows().enumerate() {
                if !matches!(bundle.known().origin, Origin::Settled) {
                    continue;
                }
                for (lane, of_lane) in bundle.row(wire).chunks_exact(cell.size()).enumerate() {
                    let bit = anchors.bit(row * lanes + lane, &of_lane[cell.label()], &revealed);
                    bits.set(row, lane, bit);
                }
            }
        }
        let clear = clear.map(OnceLock::from).unwrap_or_default();
        Ok(self.anchored(wires.wires(), wires.lanes(), cells, anchors, clear))
    }

    fn open(&mut self, wires: &JimuWires, to: Role, channel: &mut dyn Channel) -> Result<Option<BitMatrix>> {
        match to {
            Role::Evaluator => Ok(Some(self.decode(wires, channel)?)),
            Role::Garbler => {
                self.return_labels(wires, channel)?;
                Ok(None)
            }
        }
    }

    fn cheated(&self) -> bool {
        self.delta.is_some()
    }
}

impl Drop for Evaluator {
    fn drop(&mut self) {
        self.work.tables.zeroize();
    }
}

/// What negation adds to a cell: to the key of the permutation bit, so that the MAC with its bit 0 turned is that of the other bit.
#[inline(always)]
fn negate(cell: &mut [Block], gamma: u64) {
    let word = cell.len() - 1;
    cell[word].0[0] ^= gamma ^ 1;
}
