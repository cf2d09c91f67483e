//! The evaluator's side.

use crate::checks;
use std::collections::VecDeque;
use std::sync::Arc;

use cenote_circuit::Plan;
use cenote_net::{Channel, PartyId, Step};
use cenote_primitives::{BitMatrix, Block, as_bytes};
use cenote_session::{Check, Error, Parties, Result, WireVector};
use zeroize::Zeroizing;

use super::accept::accept;
use super::reaper::Reaper;
use super::shares::{last_bit, own_shares, sums};
use super::{Circuits, EVALUATOR, GARBLER, bits, pack, packed, secret, unpack};
use crate::build::{Soldered, receive_solderings};
use crate::eval::Ready;
use crate::material::{AnchorWires, AndBuckets, EvaluatorInputs, EvaluatorStock, Run};
use crate::opening::{Watch, receive};
use crate::provenance::{Origin, replay};
use crate::recover::{Suspicion, right_labels};
use crate::setup::EvaluatorKeys;
use crate::steps;
use crate::tiles::{Circuit, Lot};
use crate::wires::{Bundle, LegoWires};
use cenote_commit::Share;

/// The party that evaluates: keys, material, and what is under way.
pub(crate) struct Evaluator {
    pub(crate) keys: EvaluatorKeys,
    pub(crate) stock: EvaluatorStock,
    pub(crate) suspicion: Suspicion,
    /// Most threads that evaluate one circuit.
    pub(crate) threads: usize,
    circuits: Circuits,
    /// Circuits built ahead.
    built: VecDeque<Built>,
    /// Inputs whose bits their owner has not given yet, in order.
    reserved: VecDeque<Reserved>,
    /// Inputs whose labels this party does not have yet.
    inputs: Vec<Input>,
    /// Circuits to be evaluated once there are labels, in order.
    runs: Vec<Pending>,
    /// What the next proof begins with, if something was opened since the last one: from before any material that was made since.
    /// Everything opened is bound to what was drawn last by then, too.
    transcript: Option<Vec<u8>>,
    reaper: Reaper,
    builds: u64,
    evaluations: u64,
}

/// A circuit, proved to be soldered as it should be.
struct Built {
    circuit: Arc<Circuit>,
    lanes: usize,
    lot: Lot<AndBuckets>,
    soldered: Soldered,
    /// Shares of the ports' labels; none if it was soldered to its inputs at once.
    ports: Zeroizing<Vec<Share>>,
}

/// An input without bits; with the gadgets if it is this party's own.
struct Reserved {
    bundle: Arc<Bundle>,
    own: Option<Vec<Run<EvaluatorInputs>>>,
}

/// An input without labels.
enum Input {
    Garblers(Arc<Bundle>),
    Own {
        bundle: Arc<Bundle>,
        gadgets: Vec<Run<EvaluatorInputs>>,
        bits: Zeroizing<Vec<bool>>,
    },
}

/// A circuit to be evaluated.
struct Pending {
    built: Built,
    inputs: LegoWires,
    attachment: Attachment,
    /// What was drawn last when it was attached: its solderings are proved under this.
    drawn: Block,
    outputs: Arc<Bundle>,
}

/// How the inputs of a circuit are soldered to it.
enum Attachment {
    /// By the solderings of its gates.
    Direct,
    /// To ports; this has not been received yet.
    Awaited,
    /// To ports, by these solderings.
    Received(Vec<Block>),
}

impl Evaluator {
    pub(crate) fn new(keys: EvaluatorKeys, stock: EvaluatorStock, threads: usize) -> Self {
        Self {
            keys,
            stock,
            suspicion: Suspicion::default(),
            threads,
            circuits: Circuits::default(),
            built: VecDeque::new(),
            reserved: VecDeque::new(),
            inputs: Vec::new(),
            runs: Vec::new(),
            transcript: None,
            reaper: Reaper::default(),
            builds: 0,
            evaluations: 0,
        }
    }

    /// Receives what the garbler has sent already: it comes before everything else from it.
    pub(crate) fn clear_line(&mut self, channel: &mut dyn Channel) -> Result<()> {
        for run in &mut self.runs {
            if matches!(run.attachment, Attachment::Awaited) {
                let mut solderings = bytemuck::zeroed_vec(run.built.ports.len());
                receive(channel, steps::ATTACH, &mut solderings)?;
                run.attachment = Attachment::Received(solderings);
            }
        }
        Ok(())
    }

    pub(crate) fn prepare(&mut self, plan: &Plan, lanes: usize, channel: &mut dyn Channel) -> Result<()> {
        self.clear_line(channel)?;
        let circuit = self.circuits.get(plan);
        let ports = self.stock.take_ports(plan.input_wires() * lanes)?;
        let inputs: Vec<_> = (0..plan.input_wires())
            .map(|row| &ports[row * lanes..(row + 1) * lanes])
            .collect();
        let mut built = self.build(&circuit, lanes, &inputs, channel)?;
        built.ports = ports;
        self.built.push_back(built);
        Ok(())
    }

    fn build(
        &mut self,
        circuit: &Arc<Circuit>,
        lanes: usize,
        inputs: &[&[Share]],
        channel: &mut dyn Channel,
    ) -> Result<Built> {
        let gates = circuit.plan.and_count() * lanes;
        let lot = Lot::new(self.stock.take_ands(gates)?);
        let transcript = self.keys.counters.transcript("build", self.builds);
        let mut watch = Watch::new(&self.keys.receiver, &transcript);
        let delta_share = *self.keys.delta_share;
        let soldered = receive_solderings(circuit, lanes, inputs, &lot, delta_share, &mut watch, channel)?;
        if gates > 0 {
            self.builds += 1;
            watch.prove(channel, steps::PROVE_BUILD)?;
        }
        Ok(Built {
            circuit: circuit.clone(),
            lanes,
            lot,
            soldered,
            ports: Zeroizing::default(),
        })
    }

    /// As [`super::garbler::Garbler::reserve`].
    pub(crate) fn reserve(&mut self, owner: PartyId, wires: usize, lanes: usize) -> Result<LegoWires> {
        let count = wires * lanes;
        let mut shares = Zeroizing::new(Vec::with_capacity(count));
        let (origin, own) = if owner == GARBLER {
            let gadgets = self.stock.take_garbler_inputs(count)?;
            gadgets
                .iter()
                .for_each(|run| shares.extend_from_slice(&run.items().shares[run.range()]));
            (Origin::Garbler(gadgets), None)
        } else {
            let gadgets = self.stock.take_evaluator_inputs(count)?;
            gadgets
                .iter()
                .for_each(|run| shares.extend_from_slice(&run.items().shares[run.range()]));
            (Origin::Own, Some(gadgets))
        };
        let bundle = Bundle::evaluator(wires, lanes, shares, origin);
        self.reserved.push_back(Reserved {
            bundle: bundle.clone(),
            own,
        });
        Ok(LegoWires::of(bundle))
    }

    /// As [`super::garbler::Garbler::reserved`].
    pub(crate) fn reserved(&self) -> Option<(&Arc<Bundle>, PartyId)> {
        let next = self.reserved.front()?;
        let owner = if next.own.is_some() { EVALUATOR } else { GARBLER };
        Some((&next.bundle, owner))
    }

    /// As [`super::garbler::Garbler::give`].
    pub(crate) fn give(&mut self, own: Option<&BitMatrix>, channel: &mut dyn Channel) -> Result<()> {
        let Some(Reserved { bundle, own: gadgets }) = self.reserved.pop_front() else {
            return Ok(());
        };
        let (Some(gadgets), Some(own)) = (gadgets, own) else {
            self.inputs.push(Input::Garblers(bundle));
            return Ok(());
        };
        let _ = bundle.held().clear.set(own.clone());
        // Step 1. Under the choice bits, which nobody else knows, it can leave before anything else is known.
        let count = bundle.wires * bundle.lanes;
        let known = secret(count, bits(own));
        let choices = strings(&gadgets).map(last_bit);
        let masked = pack(choices.zip(known.iter()).map(|(choice, bit)| choice ^ bit), count);
        channel.send(steps::CHOICES, &masked)?;
        self.inputs.push(Input::Own {
            bundle,
            gadgets,
            bits: known,
        });
        Ok(())
    }

    /// Constants have the label 0: see [`super::garbler::Garbler::constant`].
    pub(crate) fn constant(&mut self, values: &BitMatrix) -> LegoWires {
        let delta_share = *self.keys.delta_share;
        let shares = bits(values).map(|bit| if bit { delta_share } else { Share::default() });
        let count = values.rows() * values.lanes();
        let shares = secret(count, shares);
        let bundle = Bundle::evaluator(
            values.rows(),
            values.lanes(),
            shares,
            Origin::Known(values.clone()),
        );
        set_keys(&bundle, Zeroizing::new(vec![Block::ZERO; count]));
        LegoWires::of(bundle)
    }

    /// As [`super::garbler::Garbler::is_built`].
    pub(crate) fn is_built(&self, plan: &Plan, lanes: usize) -> bool {
        self.position(plan, lanes).is_some()
    }

    fn position(&self, plan: &Plan, lanes: usize) -> Option<usize> {
        let same = |built: &Built| built.lanes == lanes && built.circuit.plan.digest() == plan.digest();
        self.built.iter().position(same)
    }

    pub(crate) fn run(
        &mut self,
        plan: &Plan,
        inputs: &LegoWires,
        channel: &mut dyn Channel,
    ) -> Result<LegoWires> {
        let lanes = inputs.lanes();
        let (mut built, attachment) = match self.position(plan, lanes).and_then(|at| self.built.remove(at)) {
            Some(built) => {
                self.opening();
                (built, Attachment::Awaited)
            }
            None => {
                self.clear_line(channel)?;
                let circuit = self.circuits.get(plan);
                let rows: Vec<_> = inputs.share_rows().collect();
                (self.build(&circuit, lanes, &rows, channel)?, Attachment::Direct)
            }
        };
        let shares = std::mem::take(&mut built.soldered.outputs);
        let origin = Origin::Circuit {
            circuit: built.circuit.clone(),
            inputs: inputs.clone(),
        };
        let outputs = Bundle::evaluator(plan.output_wires(), lanes, shares, origin);
        self.runs.push(Pending {
            built,
            inputs: inputs.clone(),
            attachment,
            drawn: self.keys.counters.drawn,
            outputs: outputs.clone(),
        });
        Ok(LegoWires::of(outputs))
    }

    /// Notes that the garbler opens something now.
    fn opening(&mut self) {
        if self.transcript.is_none() {
            self.transcript = Some(self.keys.counters.transcript("eval", self.evaluations));
        }
    }

    /// As [`super::garbler::Garbler::reveal`].
    pub(crate) fn reveal(
        &mut self,
        wires: &LegoWires,
        to: Parties,
        channel: &mut dyn Channel,
    ) -> Result<(Option<BitMatrix>, u64)> {
        let asking = self.inputs.iter().any(|input| matches!(input, Input::Own { .. }));
        let with_inputs = !self.inputs.is_empty();
        let evaluations = self.evaluations;
        self.clear_line(channel)?;
        let decoding = self.receive_answers(wires, to, channel)?;
        let answered = with_inputs || self.evaluations > evaluations;
        let rounds = u64::from(asking) + u64::from(answered) + u64::from(to.contains(GARBLER));
        // What comes from earlier reveals is replayed while this one's circuits are evaluated. If `Δ` is known now, it is known
        // for good.
        let known = self.suspicion.delta();
        let replayed = std::thread::scope(|scope| {
            let beside = known.map(|delta| scope.spawn(move || replay(wires, delta)));
            self.evaluate();
            beside.and_then(|thread| thread.join().ok())
        });
        let mut keys = Zeroizing::new(Vec::with_capacity(wires.wires() * wires.lanes()));
        for row in wires.key_rows() {
            keys.extend_from_slice(row.expect("everything that was run has been evaluated"));
        }
        let decode = |at: usize, key: Block| match &decoding {
            Decoding::Masks(zeros) => last_bit(key) ^ packed(zeros, at),
            Decoding::Anchors { .. } | Decoding::Nothing => false,
        };
        let mut outputs = unpack(wires.wires(), wires.lanes(), |at| decode(at, keys[at]));
        if let Some(delta) = self.suspicion.delta() {
            outputs = replayed.unwrap_or_else(|| replay(wires, delta));
            let right = secret(keys.len(), bits(&outputs));
            let anchors = match &decoding {
                Decoding::Anchors { anchors, solderings } => Some((
                    anchors.iter().flat_map(anchors_of).collect::<Vec<_>>(),
                    solderings,
                )),
                _ => None,
            };
            let carried = |at: usize, key: Block| match &anchors {
                Some((anchors, solderings)) => {
                    let (items, anchor) = anchors[at];
                    items.anchors.bit(anchor, key ^ solderings[at], delta)
                }
                None => decode(at, key),
            };
            right_labels(&mut keys, delta, carried, |at| right[at]);
        }
        if to.contains(GARBLER) {
            let last = pack(keys.iter().copied().map(last_bit), keys.len());
            let hash = blake3::hash(as_bytes(&keys));
            channel.send_parts(steps::OUTPUT_LABELS, &[&last, hash.as_bytes()])?;
            channel.flush()?;
        }
        Ok((to.contains(EVALUATOR).then_some(outputs), rounds))
    }

    /// Steps 2 to 4: receives and checks the labels of inputs and what decodes `wires`, each as soon as it comes, while the
    /// garbler computes what follows.
    fn receive_answers(
        &mut self,
        wires: &LegoWires,
        to: Parties,
        channel: &mut dyn Channel,
    ) -> Result<Decoding> {
        self.opening();
        let transcript = self.transcript.take().unwrap_or_default();
        let mut watch = Watch::new(&self.keys.receiver, &transcript);
        let drawn = self.keys.counters.drawn;
        let mut anything = false;
        for run in &self.runs {
            if let Attachment::Received(solderings) = &run.attachment {
                watch.bind(run.drawn);
                watch.absorb(solderings, &sums(&run.inputs, &run.built.ports));
                anything = true;
            }
        }
        let mut own = Vec::new();
        for input in std::mem::take(&mut self.inputs) {
            match input {
                Input::Garblers(bundle) => {
                    let mut labels = Zeroizing::new(vec![Block::ZERO; bundle.wires * bundle.lanes]);
                    receive(channel, steps::GARBLER_LABELS, &mut labels)?;
                    let Origin::Garbler(gadgets) = &bundle.held().origin else {
                        unreachable!("the garbler's inputs come from gadgets")
                    };
                    let gadgets = gadgets
                        .iter()
                        .map(|run| (&run.items().authenticators, run.range()));
                    if !accept(gadgets, &labels, self.threads, &mut self.suspicion) {
                        return Err(refused(
                            checks::INPUT_AUTHENTICATOR,
                            steps::GARBLER_LABELS,
                            channel,
                        ));
                    }
                    set_keys(&bundle, labels);
                }
                Input::Own {
                    bundle,
                    gadgets,
                    bits,
                } => {
                    let mut sums = Zeroizing::new(vec![Block::ZERO; bundle.wires * bundle.lanes]);
                    receive(channel, steps::EVALUATOR_LABELS, &mut sums)?;
                    watch.bind(drawn);
                    watch.absorb(&sums, &own_shares(&gadgets, &bits, *self.keys.delta_share));
                    anything = true;
                    own.push((bundle, gadgets, sums));
                }
            }
        }
        let count = wires.wires() * wires.lanes();
        let mut opened = vec![Block::ZERO; count];
        let decoding = if to.contains(EVALUATOR) {
            let masks = self.stock.take_masks(count)?;
            receive(channel, steps::DECODE, &mut opened)?;
            watch.bind(drawn);
            watch.absorb(&opened, &sums(wires, &masks.shares));
            let zeros = opened
                .iter()
                .zip(masks.bits.iter())
                .map(|(&sum, &last)| last_bit(sum) ^ (last == 1));
            Decoding::Masks(pack(zeros, count))
        } else if to.contains(GARBLER) {
            let anchors = self.stock.take_anchors(count)?;
            receive(channel, steps::ANCHOR, &mut opened)?;
            let shares = anchors.iter().flat_map(|run| &run.items().shares[run.range()]);
            let shares = secret(count, shares.copied());
            watch.bind(drawn);
            watch.absorb(&opened, &sums(wires, &shares));
            Decoding::Anchors {
                anchors,
                solderings: opened,
            }
        } else {
            Decoding::Nothing
        };
        if anything || !matches!(decoding, Decoding::Nothing) {
            watch.prove(channel, steps::PROVE_EVAL)?;
            self.evaluations += 1;
        }
        // A label with the wrong bit cannot come of what was opened, for the last bits of the OT strings are known to be 0;
        // and if the garbler was committed to another string than it sent, the label is wrong whatever the bit.
        for (bundle, gadgets, mut labels) in own {
            for (label, string) in labels.iter_mut().zip(strings(&gadgets)) {
                *label ^= string;
            }
            let gadgets = gadgets
                .iter()
                .map(|run| (&run.items().authenticators, run.range()));
            if !accept(gadgets, &labels, self.threads, &mut self.suspicion) {
                return Err(refused(checks::OWN_INPUT_LABEL, steps::EVALUATOR_LABELS, channel));
            }
            set_keys(&bundle, labels);
        }
        Ok(decoding)
    }

    /// Step 5: evaluates what is under way, in order.
    fn evaluate(&mut self) {
        for run in std::mem::take(&mut self.runs) {
            let built = &run.built;
            let lanes = built.lanes;
            let rows: Vec<&[Block]> = run
                .inputs
                .key_rows()
                .map(|row| row.expect("circuits are evaluated in the order in which they were run"))
                .collect();
            let labels;
            let inputs: Vec<&[Block]> = match &run.attachment {
                Attachment::Received(solderings) => {
                    labels = attached(&rows, lanes, solderings);
                    (0..rows.len())
                        .map(|row| &labels[row * lanes..(row + 1) * lanes])
                        .collect()
                }
                _ => rows,
            };
            let ready = Ready {
                circuit: &built.circuit,
                lanes,
                solderings: &built.soldered.solderings,
                lot: &built.lot,
            };
            set_keys(
                &run.outputs,
                ready.evaluate(&inputs, self.threads, &self.suspicion),
            );
            self.reaper.drop_later(run);
        }
    }
}

/// What tells which label of an output means what.
enum Decoding {
    /// This party gets the outputs: the last bits of their 0-labels.
    Masks(Vec<u8>),
    /// The garbler alone gets them. For each an anchor, and its soldering.
    Anchors {
        anchors: Vec<Run<AnchorWires>>,
        solderings: Vec<Block>,
    },
    Nothing,
}

fn refused(check: Check, step: Step, channel: &dyn Channel) -> Error {
    let detail = "the authenticators of an input wire refuse its label";
    Error::cheated(check, channel.peer(), step, detail)
}

fn set_keys(bundle: &Bundle, keys: Zeroizing<Vec<Block>>) {
    assert!(bundle.held().keys.set(keys).is_ok(), "wires are evaluated once");
}

/// The OT strings, as this party has them.
fn strings(gadgets: &[Run<EvaluatorInputs>]) -> impl Iterator<Item = Block> {
    gadgets
        .iter()
        .flat_map(|run| &run.items().strings[run.range()])
        .copied()
}

fn anchors_of(run: &Run<AnchorWires>) -> impl Iterator<Item = (&AnchorWires, usize)> {
    run.range().map(move |anchor| (run.items(), anchor))
}

/// The labels of ports: those of the wires that they are attached to, soldered.
fn attached(rows: &[&[Block]], lanes: usize, solderings: &[Block]) -> Zeroizing<Vec<Block>> {
    let mut labels = Zeroizing::new(solderings.to_vec());
    for (labels, row) in labels.chunks_exact_mut(lanes.max(1)).zip(rows) {
        for (label, key) in labels.iter_mut().zip(*row) {
            *label ^= *key;
        }
    }
    labels
}
