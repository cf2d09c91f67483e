//! What the evaluator does with the garbler's answers (Figure 2, Eval, steps 2 to 5): the labels of inputs and what decodes
//! outputs are received and checked, then everything that is under way is evaluated.

use std::sync::Arc;

use cenote_net::{Channel, Step};
use cenote_primitives::Block;
use cenote_session::{Check, Error, Parties, Result, WireVector};
use zeroize::Zeroizing;

use super::{Attachment, Evaluator, Input, Pending};
use crate::checks;
use crate::counters::Bound;
use crate::material::{AnchorWires, EvaluatorInputs, Run, Stock};
use crate::online::accept::accept;
use crate::online::bits::{pack, packed, secret};
use crate::online::eval::Ready;
use crate::online::opening::{Watch, receive};
use crate::online::provenance::Origin;
use crate::online::roles::{EVALUATOR, GARBLER};
use crate::online::shares::{last_bit, own_shares, sums};
use crate::room::{self, INPUTS};
use crate::setup::EvaluatorKeys;
use crate::steps;
use crate::wires::{Bundle, LegoWires};

impl Evaluator {
    /// Steps 2 to 4: receives and checks the labels of inputs and what decodes `wires`, each as soon as it comes, while the
    /// garbler computes what follows.
    pub(super) fn receive_answers(
        &mut self,
        wires: &LegoWires,
        to: Parties,
        channel: &mut dyn Channel,
    ) -> Result<Decoding> {
        let transcript = self.transcript.take();
        let transcript =
            transcript.unwrap_or_else(|| self.supply.keys.counters.transcript("eval", self.evaluations));
        let mut watch = Watch::new(&self.supply.keys.receiver, &transcript);
        let bound = self.supply.keys.counters.bound();
        let mut anything = absorb_attachments(&self.runs, &mut watch)?;
        let mut own = Vec::new();
        for input in std::mem::take(&mut self.inputs) {
            match input {
                Input::Garblers(bundle) => {
                    let mut labels = room::secret(INPUTS, bundle.wires * bundle.lanes)?;
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
                    let mut sums = room::secret(INPUTS, bundle.wires * bundle.lanes)?;
                    receive(channel, steps::EVALUATOR_LABELS, &mut sums)?;
                    watch.bind(bound);
                    watch.absorb(
                        &sums,
                        &own_shares(&gadgets, &bits, *self.supply.keys.delta_share)?,
                    );
                    anything = true;
                    own.push(Opened {
                        bundle,
                        gadgets,
                        sums,
                    });
                }
            }
        }
        let decoding = Decoding::receive(&mut self.supply.stock, wires, to, bound, &mut watch, channel)?;
        if anything || !matches!(decoding, Decoding::Nothing) {
            watch.prove(channel, steps::PROVE_EVAL)?;
            self.evaluations += 1;
        }
        own.into_iter().try_for_each(|own| self.set_own(own, channel))?;
        Ok(decoding)
    }

    /// Sets the labels of an input of this party's whose sums with the OT strings were opened.
    ///
    /// A label with the wrong bit cannot come of what was opened, for the last bits of the OT strings are known to be 0;
    /// and if the garbler was committed to another string than it sent, the label is wrong whatever the bit.
    fn set_own(&mut self, own: Opened, channel: &dyn Channel) -> Result<()> {
        let Opened {
            bundle,
            gadgets,
            sums: mut labels,
        } = own;
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
        Ok(())
    }

    /// Step 5: evaluates what is under way, in order.
    pub(super) fn evaluate(&mut self) -> Result<()> {
        self.cleared = 0;
        for run in std::mem::take(&mut self.runs) {
            let run = match run {
                Pending::Circuit(run) => run,
                Pending::Lanes(lanes, bundle) => {
                    let keys = lanes.keys()?.expect("all that was run before has labels");
                    set_keys(&bundle, keys);
                    continue;
                }
            };
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
                    labels = attached(&rows, lanes, solderings)?;
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
                ready.evaluate(&inputs, self.threads, &self.suspicion)?,
            );
            self.reaper.drop_later(run);
        }
        Ok(())
    }
}

/// An input of this party's, of which the sums of labels and OT strings were opened.
struct Opened {
    bundle: Arc<Bundle>,
    gadgets: Vec<Run<EvaluatorInputs>>,
    sums: Zeroizing<Vec<Block>>,
}

/// Takes the solderings by which circuits are attached to their inputs. Whether there are any.
fn absorb_attachments(runs: &[Pending], watch: &mut Watch<'_>) -> Result<bool> {
    let mut anything = false;
    for run in runs {
        if let Pending::Circuit(run) = run
            && let Attachment::Received(solderings) = &run.attachment
        {
            watch.bind(run.bound);
            watch.absorb(solderings, &sums(&run.inputs, &run.built.ports)?);
            anything = true;
        }
    }
    Ok(anything)
}

/// What tells which label of an output means what.
pub(super) enum Decoding {
    /// This party gets the outputs: the last bits of their 0-labels.
    Masks(Vec<u8>),
    /// The garbler alone gets them. For each an anchor, and its soldering.
    Anchors {
        anchors: Vec<Run<AnchorWires>>,
        solderings: Vec<Block>,
    },
    Nothing,
}

impl Decoding {
    /// What decodes `wires`, for whom they are opened to.
    fn receive(
        stock: &mut Stock<EvaluatorKeys>,
        wires: &LegoWires,
        to: Parties,
        bound: Bound,
        watch: &mut Watch<'_>,
        channel: &mut dyn Channel,
    ) -> Result<Self> {
        let count = wires.wires() * wires.lanes();
        let mut opened = room::zeroed(INPUTS, count)?;
        Ok(if to.contains(EVALUATOR) {
            let masks = stock.take_masks(count)?;
            receive(channel, steps::DECODE, &mut opened)?;
            watch.bind(bound);
            watch.absorb(&opened, &sums(wires, &masks.shares)?);
            let zeros = opened
                .iter()
                .zip(masks.bits.iter())
                .map(|(&sum, &last)| last_bit(sum) ^ (last == 1));
            Decoding::Masks(pack(zeros, count)?)
        } else if to.contains(GARBLER) {
            let anchors = stock.take_anchors(count)?;
            receive(channel, steps::ANCHOR, &mut opened)?;
            let shares = anchors.iter().flat_map(|run| &run.items().shares[run.range()]);
            let shares = secret(count, shares.copied())?;
            watch.bind(bound);
            watch.absorb(&opened, &sums(wires, &shares)?);
            Decoding::Anchors {
                anchors,
                solderings: opened,
            }
        } else {
            Decoding::Nothing
        })
    }

    /// The bit of output `at` whose label is `key`, if this party gets the outputs.
    pub(super) fn bit(&self, at: usize, key: Block) -> bool {
        match self {
            Decoding::Masks(zeros) => last_bit(key) ^ packed(zeros, at),
            Decoding::Anchors { .. } | Decoding::Nothing => false,
        }
    }

    /// What tells which bit a label carries, whoever gets the outputs, once `delta` is known.
    pub(super) fn carried(&self, delta: Block) -> impl Fn(usize, Block) -> bool {
        let anchors: Vec<_> = match self {
            Decoding::Anchors { anchors, solderings } => anchors
                .iter()
                .flat_map(|run| run.range().map(move |anchor| (run.items(), anchor)))
                .zip(solderings)
                .collect(),
            Decoding::Masks(_) | Decoding::Nothing => Vec::new(),
        };
        move |at, key| match anchors.get(at) {
            Some(&((items, anchor), &soldering)) => items.anchors.bit(anchor, key ^ soldering, delta),
            None => self.bit(at, key),
        }
    }
}

fn refused(check: Check, step: Step, channel: &dyn Channel) -> Error {
    let detail = "the authenticators of an input wire refuse its label";
    Error::cheated(check, channel.peer(), step, detail)
}

/// Sets the labels of wires.
pub(super) fn set_keys(bundle: &Bundle, keys: Zeroizing<Vec<Block>>) {
    assert!(bundle.held().keys.set(keys).is_ok(), "wires are evaluated once");
}

/// The OT strings, as this party has them.
pub(super) fn strings(gadgets: &[Run<EvaluatorInputs>]) -> impl Iterator<Item = Block> {
    gadgets
        .iter()
        .flat_map(|run| &run.items().strings[run.range()])
        .copied()
}

/// The labels of ports: those of the wires that they are attached to, soldered.
fn attached(rows: &[&[Block]], lanes: usize, solderings: &[Block]) -> Result<Zeroizing<Vec<Block>>> {
    let mut labels = room::copy(INPUTS, solderings)?;
    for (labels, row) in labels.chunks_exact_mut(lanes.max(1)).zip(rows) {
        for (label, key) in labels.iter_mut().zip(*row) {
            *label ^= *key;
        }
    }
    Ok(labels)
}
