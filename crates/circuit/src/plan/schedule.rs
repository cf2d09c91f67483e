//! The scheduler.
//!
//! ANDs and local gates are placed by one rule. A gate is *due* in the last level that still keeps the AND depth
//! minimal, and waits until then, because its result would only occupy a slot. But as soon as a gate is the last
//! reader of one of its operands it is executed at once: then its result takes the place of the operand, and the live
//! width does not grow. The first half keeps, say, the partial products of a multiplier out of memory until they are
//! added; the second lets the sum bits of an adder replace their addends.

use super::{AndOp, Level, LocalOp, Plan};
use crate::ir::{Circuit, Gate, WireId};

/// Stands for "read as an output": such a wire is never freed.
const OUTPUT: u32 = u32::MAX;

pub(super) fn schedule(circuit: &Circuit) -> Plan {
    let graph = Graph::new(circuit);
    let mut scheduler = Scheduler::new(&graph);
    for wire in 0..graph.inputs {
        scheduler.defined(wire);
    }
    for level in 0..graph.depth {
        for &wire in graph.due(level) {
            scheduler.force(wire);
        }
        scheduler.finish_level();
    }
    for &wire in &graph.outputs {
        scheduler.force(wire);
    }
    scheduler.into_plan(circuit.digest())
}

/// The gates that outputs need, without copies, and who reads which wire.
struct Graph {
    inputs: u32,
    /// Indexed by wire; inputs, copies and gates that are not needed are `None`.
    gates: Vec<Option<Gate>>,
    outputs: Vec<WireId>,
    /// Readers of wire `w` are `readers[first_reader[w]..first_reader[w + 1]]`.
    first_reader: Vec<usize>,
    readers: Vec<u32>,
    depth: usize,
    /// ANDs by due level: those of level `l` are `due[first_due[l]..first_due[l + 1]]`.
    first_due: Vec<usize>,
    due: Vec<u32>,
}

/// The distinct wires that a gate reads.
fn operands(gate: Gate) -> impl Iterator<Item = WireId> {
    let (a, b) = match gate {
        Gate::Xor(a, b) | Gate::And(a, b) => (Some(a), (a != b).then_some(b)),
        Gate::Not(a) | Gate::Copy(a) => (Some(a), None),
        Gate::Const(_) => (None, None),
    };
    a.into_iter().chain(b)
}

impl Graph {
    fn new(circuit: &Circuit) -> Self {
        let inputs = circuit.input_wires();
        let wires = inputs as usize + circuit.gates().len();

        let mut original: Vec<u32> = (0..inputs).collect();
        original.reserve(circuit.gates().len());
        let mut gates: Vec<Option<Gate>> = vec![None; inputs as usize];
        gates.reserve(circuit.gates().len());
        for (wire, gate) in (inputs..).zip(circuit.gates()) {
            let at = |w: u32| original[w as usize];
            let (source, gate) = match *gate {
                Gate::Copy(a) => (at(a), None),
                Gate::Xor(a, b) => (wire, Some(Gate::Xor(at(a), at(b)))),
                Gate::And(a, b) => (wire, Some(Gate::And(at(a), at(b)))),
                Gate::Not(a) => (wire, Some(Gate::Not(at(a)))),
                Gate::Const(bit) => (wire, Some(Gate::Const(bit))),
            };
            original.push(source);
            gates.push(gate);
        }
        let outputs: Vec<u32> = circuit
            .output_wires()
            .iter()
            .map(|&w| original[w as usize])
            .collect();

        // Backwards: what is needed, and how many ANDs lie between a wire and the outputs.
        let mut needed = vec![false; wires];
        let mut below = vec![0u32; wires];
        let mut reader_count = vec![0usize; wires + 1];
        for &wire in &outputs {
            needed[wire as usize] = true;
        }
        for wire in (0..wires).rev() {
            if !needed[wire] {
                gates[wire] = None;
            }
            let Some(gate) = gates[wire] else { continue };
            let through = below[wire] + u32::from(matches!(gate, Gate::And(..)));
            for operand in operands(gate) {
                let operand = operand as usize;
                needed[operand] = true;
                below[operand] = below[operand].max(through);
                reader_count[operand] += 1;
            }
        }

        let depth = below[..].iter().zip(&gates).fold(0, |depth, (&below, gate)| {
            depth.max(below + u32::from(matches!(gate, Some(Gate::And(..)))))
        }) as usize;

        let first_reader = starts(&reader_count);
        let mut readers = vec![0; first_reader[wires]];
        let mut next = first_reader.clone();
        let mut due_count = vec![0usize; depth + 1];
        let due_level = |wire: usize| depth - 1 - below[wire] as usize;
        for (wire, gate) in gates.iter().enumerate() {
            let Some(gate) = *gate else { continue };
            for operand in operands(gate) {
                readers[next[operand as usize]] = wire as u32;
                next[operand as usize] += 1;
            }
            if matches!(gate, Gate::And(..)) {
                due_count[due_level(wire)] += 1;
            }
        }
        let first_due = starts(&due_count);
        let mut due = vec![0; first_due[depth]];
        let mut next = first_due.clone();
        for (wire, gate) in gates.iter().enumerate() {
            if matches!(gate, Some(Gate::And(..))) {
                let level = due_level(wire);
                due[next[level]] = wire as u32;
                next[level] += 1;
            }
        }
        Self {
            inputs,
            gates,
            outputs,
            first_reader,
            readers,
            depth,
            first_due,
            due,
        }
    }

    fn readers(&self, wire: u32) -> &[u32] {
        let wire = wire as usize;
        &self.readers[self.first_reader[wire]..self.first_reader[wire + 1]]
    }

    fn due(&self, level: usize) -> &[u32] {
        &self.due[self.first_due[level]..self.first_due[level + 1]]
    }
}

/// Where each bucket starts when buckets of the given sizes are laid one after the other. The last size is ignored.
fn starts(sizes: &[usize]) -> Vec<usize> {
    sizes
        .iter()
        .scan(0, |sum, &size| {
            let start = *sum;
            *sum += size;
            Some(start)
        })
        .collect()
}

struct Scheduler<'g> {
    graph: &'g Graph,
    /// Operands of each gate that have no value yet.
    missing: Vec<u8>,
    /// Readers of each wire that are still to be executed, outputs counting as one.
    pending: Vec<u32>,
    /// Exclusive or of those readers: the reader itself when only one is pending.
    pending_readers: Vec<u32>,
    /// Placed in a level; an AND has its value at the end of that level only.
    placed: Vec<bool>,
    /// Slot of each wire while it is alive.
    slot: Vec<u32>,
    free: Vec<u32>,
    slots: u32,
    /// Gates that became the last reader of an operand and are to be placed.
    eager: Vec<u32>,
    /// Stack of [`Self::force`].
    path: Vec<u32>,
    /// ANDs of the current level.
    ands: Vec<u32>,
    levels: Vec<Level>,
    local_ops: Vec<LocalOp>,
    and_ops: Vec<AndOp>,
}

impl<'g> Scheduler<'g> {
    fn new(graph: &'g Graph) -> Self {
        let wires = graph.gates.len();
        let mut pending = vec![0; wires];
        let mut pending_readers = vec![0; wires];
        for wire in 0..wires as u32 {
            let readers = graph.readers(wire);
            pending[wire as usize] = readers.len() as u32;
            pending_readers[wire as usize] = readers.iter().fold(0, |all, reader| all ^ reader);
        }
        let mut is_output = vec![false; wires];
        for &wire in &graph.outputs {
            let wire = wire as usize;
            if !std::mem::replace(&mut is_output[wire], true) {
                pending[wire] += 1;
                pending_readers[wire] ^= OUTPUT;
            }
        }
        let missing = graph
            .gates
            .iter()
            .map(|gate| gate.map_or(0, |gate| operands(gate).count() as u8))
            .collect();
        let inputs = graph.inputs;
        let mut slot: Vec<u32> = (0..inputs).collect();
        slot.resize(wires, u32::MAX);
        let free = (0..inputs)
            .rev()
            .filter(|&wire| pending[wire as usize] == 0)
            .collect();
        Self {
            graph,
            missing,
            pending,
            pending_readers,
            placed: (0..wires).map(|wire| wire < inputs as usize).collect(),
            slot,
            free,
            slots: inputs,
            eager: Vec::new(),
            path: Vec::new(),
            ands: Vec::new(),
            levels: Vec::new(),
            local_ops: Vec::new(),
            and_ops: Vec::new(),
        }
    }

    /// `wire` has its value: gates that waited for it may be executed.
    fn defined(&mut self, wire: u32) {
        let graph = self.graph;
        for &reader in graph.readers(wire) {
            let missing = &mut self.missing[reader as usize];
            *missing -= 1;
            if *missing == 0 {
                let gate = graph.gates[reader as usize].expect("readers are gates");
                if operands(gate).any(|operand| self.pending[operand as usize] == 1) {
                    self.eager.push(reader);
                }
            }
        }
    }

    /// One of the readers of `wire` has been executed.
    fn read(&mut self, wire: u32, reader: u32) {
        let at = wire as usize;
        self.pending[at] -= 1;
        self.pending_readers[at] ^= reader;
        match self.pending[at] {
            0 => self.free.push(self.slot[at]),
            1 => {
                let last = self.pending_readers[at];
                if last != OUTPUT && self.missing[last as usize] == 0 {
                    self.eager.push(last);
                }
            }
            _ => {}
        }
    }

    fn allocate(&mut self) -> u32 {
        self.free.pop().unwrap_or_else(|| {
            self.slots += 1;
            self.slots - 1
        })
    }

    /// Places `wire` in this level, after the local gates that it needs. The ANDs that it needs are of earlier levels.
    fn force(&mut self, wire: u32) {
        self.drain();
        self.path.push(wire);
        while let Some(&wire) = self.path.last() {
            if !self.placed[wire as usize] && self.missing[wire as usize] > 0 {
                let gate = self.graph.gates[wire as usize].expect("inputs are placed from the start");
                let (placed, path) = (&self.placed, &mut self.path);
                let before = path.len();
                path.extend(operands(gate).filter(|&operand| !placed[operand as usize]));
                debug_assert!(path.len() > before, "an AND of an earlier level is not placed");
            } else {
                self.path.pop();
                self.place(wire);
                self.drain();
            }
        }
    }

    /// Places the gates that do not make the live width grow.
    fn drain(&mut self) {
        while let Some(wire) = self.eager.pop() {
            self.place(wire);
        }
    }

    /// Places a gate whose operands have values.
    fn place(&mut self, wire: u32) {
        let at = wire as usize;
        if std::mem::replace(&mut self.placed[at], true) {
            return;
        }
        let gate = self.graph.gates[at].expect("inputs are placed from the start");
        if matches!(gate, Gate::And(..)) {
            self.ands.push(wire);
            return;
        }
        let dst = self.allocate();
        self.slot[at] = dst;
        let slot = |wire: u32| self.slot[wire as usize];
        self.local_ops.push(match gate {
            Gate::Xor(a, b) => LocalOp::Xor {
                dst,
                a: slot(a),
                b: slot(b),
            },
            Gate::Not(a) => LocalOp::Not { dst, a: slot(a) },
            Gate::Const(bit) => LocalOp::Const { dst, bit },
            Gate::And(..) | Gate::Copy(_) => {
                unreachable!("ANDs are handled above, copies are not in the graph")
            }
        });
        for operand in operands(gate) {
            self.read(operand, wire);
        }
        self.defined(wire);
    }

    fn finish_level(&mut self) {
        self.drain();
        let ands = std::mem::take(&mut self.ands);
        let first = self.and_ops.len();
        for &wire in &ands {
            let gate = self.graph.gates[wire as usize].expect("only gates are placed");
            let Gate::And(a, b) = gate else {
                unreachable!("only ANDs wait for the end of the level")
            };
            let (a, b) = (self.slot[a as usize], self.slot[b as usize]);
            self.and_ops.push(AndOp { dst: u32::MAX, a, b });
            for operand in operands(gate) {
                self.read(operand, wire);
            }
        }
        // All operands that die here are free by now: results may take their slots.
        for (index, &wire) in ands.iter().enumerate() {
            let dst = self.allocate();
            self.slot[wire as usize] = dst;
            self.and_ops[first + index].dst = dst;
        }
        self.close_level();
        for &wire in &ands {
            self.defined(wire);
        }
    }

    fn close_level(&mut self) {
        let (local, ands) = self
            .levels
            .last()
            .map_or((0, 0), |level| (level.local.end, level.ands.end));
        self.levels.push(Level {
            local: local..self.local_ops.len(),
            ands: ands..self.and_ops.len(),
        });
    }

    fn into_plan(mut self, digest: [u8; 32]) -> Plan {
        self.drain();
        debug_assert!(self.ands.is_empty());
        if self.local_ops.len() > self.levels.last().map_or(0, |level| level.local.end) {
            self.close_level();
        }
        Plan {
            slots: self.slots as usize,
            input_slots: (0..self.graph.inputs).collect(),
            output_slots: self
                .graph
                .outputs
                .iter()
                .map(|&w| self.slot[w as usize])
                .collect(),
            max_level_ands: self
                .levels
                .iter()
                .map(|level| level.ands.len())
                .max()
                .unwrap_or(0),
            levels: self.levels,
            local_ops: self.local_ops,
            and_ops: self.and_ops,
            digest,
        }
    }
}
