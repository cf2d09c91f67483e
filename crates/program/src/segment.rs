//! Recorded operations on values of as many lanes, until they are compiled and run as one circuit.

use std::collections::{BTreeMap, HashMap};
use std::rc::{Rc, Weak};

use cenote_circuit::library::Goal;
use cenote_circuit::{Bit, BitOrder, Builder, Circuit};

use crate::node::{Held, Node};
use crate::op::Op;

/// A value of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Ref {
    /// The result of a step.
    Step(u32),
    /// An input, which was computed before.
    Input(u32),
}

/// An operation, and the width of its result.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Step {
    pub(crate) op: Op,
    pub(crate) operands: Vec<Ref>,
    pub(crate) width: u32,
}

/// What a segment computes, whatever its inputs are: segments with the same recipe have the same plan.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Recipe {
    /// Widths of the inputs.
    pub(crate) inputs: Vec<u32>,
    pub(crate) steps: Vec<Step>,
    pub(crate) outputs: Vec<Ref>,
}

/// An input: wires that are there already.
pub(crate) struct Input {
    pub(crate) held: Rc<Held>,
    pub(crate) first: usize,
    pub(crate) width: u32,
}

/// AND gates, about, after which a segment is run.
const FULL: u64 = 1 << 17;

/// Operations under way.
#[derive(Default)]
pub(crate) struct Segment {
    steps: Vec<Step>,
    /// Which step of the program each belongs to.
    of: Vec<usize>,
    results: Vec<Weak<Node>>,
    inputs: Vec<Input>,
    known: HashMap<(usize, usize, u32), u32>,
    weight: u64,
}

/// A segment that is to be run: what is computed of which inputs, and for whom.
pub(crate) struct Due {
    pub(crate) recipe: Recipe,
    pub(crate) inputs: Vec<Input>,
    /// One for each output.
    pub(crate) results: Vec<Rc<Node>>,
    /// Which step of the program each step of the recipe belongs to.
    pub(crate) of: Vec<usize>,
}

impl Segment {
    /// An input; the same one if the wires are in it already.
    pub(crate) fn input(&mut self, held: &Rc<Held>, first: usize, width: u32) -> Ref {
        let inputs = &mut self.inputs;
        let index = *self.known.entry((held.slot(), first, width)).or_insert_with(|| {
            inputs.push(Input {
                held: held.clone(),
                first,
                width,
            });
            inputs.len() as u32 - 1
        });
        Ref::Input(index)
    }

    /// Records a step without a value of its own.
    pub(crate) fn constant(&mut self, bits: u128, width: u32, of: usize) -> Ref {
        Ref::Step(self.push(Op::Constant(bits), Vec::new(), width, of))
    }

    /// Records a step, which belongs to the step `of` of the program: its number.
    pub(crate) fn push(&mut self, op: Op, operands: Vec<Ref>, width: u32, of: usize) -> u32 {
        self.weight += op.weight(width);
        self.steps.push(Step { op, operands, width });
        self.of.push(of);
        self.results.push(Weak::new());
        self.steps.len() as u32 - 1
    }

    /// Says whose value the step recorded last is.
    pub(crate) fn belongs_to(&mut self, result: Weak<Node>) {
        if let Some(last) = self.results.last_mut() {
            *last = result;
        }
    }

    pub(crate) fn is_full(&self) -> bool {
        self.weight > FULL
    }

    /// What there is to be done for values that are still in use; `None` if there is nothing.
    pub(crate) fn into_due(self) -> Option<Due> {
        let alive: Vec<(u32, Rc<Node>)> = (0..)
            .zip(&self.results)
            .filter_map(|(at, result)| Some((at, result.upgrade()?)))
            .collect();
        if alive.is_empty() {
            return None;
        }
        let mut steps_needed = vec![false; self.steps.len()];
        let mut inputs_needed = vec![false; self.inputs.len()];
        alive.iter().for_each(|&(at, _)| steps_needed[at as usize] = true);
        for at in (0..self.steps.len()).rev() {
            if !steps_needed[at] {
                continue;
            }
            for operand in &self.steps[at].operands {
                match *operand {
                    Ref::Step(step) => steps_needed[step as usize] = true,
                    Ref::Input(input) => inputs_needed[input as usize] = true,
                }
            }
        }
        let (new_step, new_input) = (renumbered(&steps_needed), renumbered(&inputs_needed));
        let moved = |at: Ref| match at {
            Ref::Step(step) => Ref::Step(new_step[step as usize]),
            Ref::Input(input) => Ref::Input(new_input[input as usize]),
        };
        let of = self.of.into_iter().zip(&steps_needed);
        let of = of.filter(|(_, needed)| **needed).map(|(of, _)| of).collect();
        let steps = self.steps.into_iter().zip(&steps_needed);
        let steps = steps.filter(|(_, needed)| **needed).map(|(step, _)| Step {
            operands: step.operands.iter().map(|&operand| moved(operand)).collect(),
            ..step
        });
        let inputs: Vec<Input> = self
            .inputs
            .into_iter()
            .zip(&inputs_needed)
            .filter(|(_, needed)| **needed)
            .map(|(input, _)| input)
            .collect();
        Some(Due {
            recipe: Recipe {
                inputs: inputs.iter().map(|input| input.width).collect(),
                steps: steps.collect(),
                outputs: alive.iter().map(|&(at, _)| moved(Ref::Step(at))).collect(),
            },
            inputs,
            results: alive.into_iter().map(|(_, node)| node).collect(),
            of,
        })
    }
}

/// The number of each that is needed among those that are.
fn renumbered(needed: &[bool]) -> Vec<u32> {
    needed
        .iter()
        .scan(0, |next, &needed| {
            let number = *next;
            *next += u32::from(needed);
            Some(number)
        })
        .collect()
}

impl Recipe {
    /// The circuit, with few ANDs or little depth.
    pub(crate) fn circuit(&self, goal: Goal) -> Circuit {
        let mut b = Builder::new();
        let inputs = self.bits(&mut b);
        let inputs: Vec<&[Bit]> = inputs.iter().map(Vec::as_slice).collect();
        let outputs = self.emit(&mut b, &inputs, goal);
        for (at, bits) in outputs.iter().enumerate() {
            b.output(&format!("y{at}"), bits, BitOrder::Lsb);
        }
        b.finish()
    }

    /// How many ANDs the circuit has, about, for steps of each of the programs' steps that `of` names.
    pub(crate) fn shares(&self, of: &[usize]) -> Vec<(usize, u64)> {
        let mut shares = BTreeMap::new();
        let mut b = Builder::new();
        let inputs = self.bits(&mut b);
        let inputs: Vec<&[Bit]> = inputs.iter().map(Vec::as_slice).collect();
        let mut before = 0;
        self.emit_each(&mut b, &inputs, Goal::FewestAnds, &mut |at, b| {
            *shares.entry(of[at]).or_default() += (b.and_count() - before) as u64;
            before = b.and_count();
        });
        shares.into_iter().collect()
    }

    fn bits(&self, b: &mut Builder) -> Vec<Vec<Bit>> {
        let inputs = self.inputs.iter().enumerate();
        inputs
            .map(|(at, &width)| b.input(&format!("x{at}"), width, BitOrder::Lsb))
            .collect()
    }

    /// Adds the gates to `b`, and gives the outputs.
    pub(crate) fn emit(&self, b: &mut Builder, inputs: &[&[Bit]], goal: Goal) -> Vec<Vec<Bit>> {
        self.emit_each(b, inputs, goal, &mut |_, _| {})
    }

    /// The same, where `done` is told of each step once its gates are there.
    fn emit_each(
        &self,
        b: &mut Builder,
        inputs: &[&[Bit]],
        goal: Goal,
        done: &mut dyn FnMut(usize, &Builder),
    ) -> Vec<Vec<Bit>> {
        let mut results: Vec<Vec<Bit>> = Vec::with_capacity(self.steps.len());
        for (at, step) in self.steps.iter().enumerate() {
            let operands: Vec<&[Bit]> = step
                .operands
                .iter()
                .map(|&operand| resolved(operand, inputs, &results))
                .collect();
            let result = step.op.emit(b, &operands, step.width, goal);
            debug_assert_eq!(result.len(), step.width as usize, "{:?}", step.op);
            results.push(result);
            done(at, b);
        }
        let outputs = self.outputs.iter();
        outputs
            .map(|&output| resolved(output, inputs, &results).to_vec())
            .collect()
    }

    /// About how many ANDs it has.
    pub(crate) fn weight(&self) -> u64 {
        self.steps.iter().map(|step| step.op.weight(step.width)).sum()
    }
}

fn resolved<'a>(at: Ref, inputs: &[&'a [Bit]], results: &'a [Vec<Bit>]) -> &'a [Bit] {
    match at {
        Ref::Step(step) => &results[step as usize],
        Ref::Input(input) => inputs[input as usize],
    }
}
