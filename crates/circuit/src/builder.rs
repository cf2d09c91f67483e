//! Building circuits gate by gate.

mod unique;

use std::ops::Not;

use self::unique::Unique;
use crate::ir::{BitOrder, Circuit, Gate, Value, WireId};

/// A bit in a circuit under construction: a constant, an input or the result of a gate, possibly negated.
///
/// Negation is a flag on the reference (`!bit`), so that it costs nothing until a gate needs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Bit(u32);

impl Bit {
    /// The constant 0.
    pub const FALSE: Bit = Bit(0);
    /// The constant 1.
    pub const TRUE: Bit = Bit(1);

    /// The constant `bit`.
    pub fn constant(bit: bool) -> Self {
        Bit(u32::from(bit))
    }

    /// Its value, if it is a constant.
    pub fn as_constant(self) -> Option<bool> {
        (self.node() == 0).then_some(self.negated())
    }

    fn node(self) -> u32 {
        self.0 >> 1
    }

    fn negated(self) -> bool {
        self.0 & 1 == 1
    }
}

impl Not for Bit {
    type Output = Bit;
    fn not(self) -> Bit {
        Bit(self.0 ^ 1)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Node {
    False,
    Input(WireId),
    /// Operands are not negated, ordered and distinct.
    Xor(u32, u32),
    /// Operands are ordered and refer to distinct nodes.
    And(Bit, Bit),
}

/// Builds a [`Circuit`], folding constants, sharing common subexpressions, and leaving out what no output needs.
///
/// ```
/// use cenote_circuit::{BitOrder, Builder};
/// let mut b = Builder::new();
/// let x = b.input("x", 2, BitOrder::Lsb);
/// let both = b.and(x[0], x[1]);
/// b.output("both", &[both], BitOrder::Lsb);
/// assert_eq!(b.finish().gates().len(), 1);
/// ```
pub struct Builder {
    nodes: Vec<Node>,
    known: Unique,
    inputs: Vec<Value>,
    input_wires: u32,
    outputs: Vec<Value>,
    output_bits: Vec<Bit>,
    and_count: usize,
    /// Gates that it may have, and whether more were wanted.
    most: usize,
    is_over: bool,
}

impl Default for Builder {
    fn default() -> Self {
        Self::new()
    }
}

impl Builder {
    /// An empty circuit.
    pub fn new() -> Self {
        Self::within(usize::MAX)
    }

    /// An empty circuit that may come to `most` gates under construction. Further ones are left out, so that they take no memory, and
    /// [`Builder::finish_within`] gives nothing then.
    pub fn within(most: usize) -> Self {
        Self {
            nodes: vec![Node::False],
            known: Unique::new(),
            inputs: Vec::new(),
            input_wires: 0,
            outputs: Vec::new(),
            output_bits: Vec::new(),
            and_count: 0,
            most,
            is_over: false,
        }
    }

    /// Adds an input value of `width` wires. Element `i` of the result is wire `i` of the value, whatever `order` says
    /// about its significance.
    pub fn input(&mut self, name: &str, width: u32, order: BitOrder) -> Vec<Bit> {
        self.inputs.push(Value {
            name: name.into(),
            width,
            order,
        });
        let first = self.input_wires;
        self.input_wires = first
            .checked_add(width)
            .expect("a circuit has fewer than 2^32 input wires");
        (first..self.input_wires)
            .map(|wire| self.push(Node::Input(wire)))
            .collect()
    }

    /// Adds an output value made of `bits`: element `i` becomes wire `i` of the value.
    pub fn output(&mut self, name: &str, bits: &[Bit], order: BitOrder) {
        self.outputs.push(Value {
            name: name.into(),
            width: bits.len() as u32,
            order,
        });
        self.output_bits.extend_from_slice(bits);
    }

    /// `a ⊕ b`.
    pub fn xor(&mut self, a: Bit, b: Bit) -> Bit {
        let negate = a.negated() ^ b.negated();
        let (x, y) = (a.node().min(b.node()), a.node().max(b.node()));
        let result = if x == y {
            Bit::FALSE
        } else if x == 0 {
            Bit(y << 1)
        } else if let Some(rest) = self.without(y, x).or_else(|| self.without(x, y)) {
            Bit(rest << 1)
        } else {
            self.share(Node::Xor(x, y))
        };
        if negate { !result } else { result }
    }

    /// `a ∧ b`.
    pub fn and(&mut self, a: Bit, b: Bit) -> Bit {
        let (x, y) = if a <= b { (a, b) } else { (b, a) };
        if x == Bit::FALSE || x == !y {
            Bit::FALSE
        } else if x == Bit::TRUE || x == y {
            y
        } else if let Some(simple) = self.absorb(x, y).or_else(|| self.absorb(y, x)) {
            simple
        } else {
            self.share(Node::And(x, y))
        }
    }

    /// `a ∨ b`, with one AND.
    pub fn or(&mut self, a: Bit, b: Bit) -> Bit {
        !self.and(!a, !b)
    }

    /// `if condition { yes } else { no }`, with one AND.
    pub fn mux(&mut self, condition: Bit, yes: Bit, no: Bit) -> Bit {
        let differ = self.xor(yes, no);
        let change = self.and(condition, differ);
        self.xor(no, change)
    }

    /// How many AND gates it has so far, those that no output needs included.
    pub fn and_count(&self) -> usize {
        self.and_count
    }

    /// The outputs of another circuit on `inputs`, its gates becoming part of this one.
    ///
    /// # Panics
    /// If there is not one bit per input wire of `circuit`.
    pub fn embed(&mut self, circuit: &Circuit, inputs: &[Bit]) -> Vec<Bit> {
        assert_eq!(
            inputs.len(),
            circuit.input_wires() as usize,
            "one bit per input wire"
        );
        let mut wires = Vec::with_capacity(inputs.len() + circuit.gates().len());
        wires.extend_from_slice(inputs);
        for gate in circuit.gates() {
            let wire = |w: WireId| wires[w as usize];
            let bit = match *gate {
                Gate::Xor(a, b) => self.xor(wire(a), wire(b)),
                Gate::And(a, b) => self.and(wire(a), wire(b)),
                Gate::Not(a) => !wire(a),
                Gate::Const(bit) => Bit::constant(bit),
                Gate::Copy(a) => wire(a),
            };
            wires.push(bit);
        }
        circuit
            .output_wires()
            .iter()
            .map(|&w| wires[w as usize])
            .collect()
    }

    /// The finished circuit, unless it has come to more gates than it may.
    ///
    /// # Panics
    /// If it has 2^32 wires or more.
    pub fn finish_within(self) -> Option<Circuit> {
        (!self.is_over).then(|| self.finish())
    }

    /// The finished circuit.
    ///
    /// # Panics
    /// If it has 2^32 wires or more, or has come to more gates than it may.
    pub fn finish(self) -> Circuit {
        assert!(!self.is_over, "a circuit has as many gates as it may");
        let mut needed = vec![false; self.nodes.len()];
        for bit in &self.output_bits {
            needed[bit.node() as usize] = true;
        }
        for (index, node) in self.nodes.iter().enumerate().rev() {
            if needed[index] {
                match *node {
                    Node::False | Node::Input(_) => {}
                    Node::Xor(x, y) => (needed[x as usize], needed[y as usize]) = (true, true),
                    Node::And(x, y) => {
                        (needed[x.node() as usize], needed[y.node() as usize]) = (true, true);
                    }
                }
            }
        }

        let mut emit = Emitter {
            next: self.input_wires,
            gates: Vec::new(),
            plain: vec![NO_WIRE; needed.len()],
            negated: vec![NO_WIRE; needed.len()],
        };
        for (index, node) in self.nodes.iter().enumerate() {
            let wire = match *node {
                Node::Input(wire) => wire,
                _ if !needed[index] => continue,
                Node::False => continue,
                Node::Xor(x, y) => {
                    let gate = Gate::Xor(emit.wire(Bit(x << 1)), emit.wire(Bit(y << 1)));
                    emit.gate(gate)
                }
                Node::And(x, y) => {
                    let gate = Gate::And(emit.wire(x), emit.wire(y));
                    emit.gate(gate)
                }
            };
            emit.plain[index] = wire;
        }
        let output_wires = self.output_bits.iter().map(|&bit| emit.wire(bit)).collect();
        Circuit::new(self.inputs, self.outputs, emit.gates, output_wires)
            .expect("nodes refer to earlier nodes only, and the circuit has fewer than 2^32 wires")
    }

    /// `part ⊕ sum`, if `sum` is an XOR of `part` and another node: that node.
    fn without(&self, sum: u32, part: u32) -> Option<u32> {
        match self.nodes[sum as usize] {
            Node::Xor(x, y) if x == part => Some(y),
            Node::Xor(x, y) if y == part => Some(x),
            _ => None,
        }
    }

    /// `factor ∧ product`, if `product` is, up to negation, an AND of `factor`, up to negation, and another bit.
    fn absorb(&mut self, factor: Bit, product: Bit) -> Option<Bit> {
        let Node::And(x, y) = self.nodes[product.node() as usize] else {
            return None;
        };
        let (same, other) = if x.node() == factor.node() {
            (x == factor, y)
        } else if y.node() == factor.node() {
            (y == factor, x)
        } else {
            return None;
        };
        Some(match (same, product.negated()) {
            (true, false) => product,
            (false, false) => Bit::FALSE,
            (true, true) => {
                let (x, y) = (factor.min(!other), factor.max(!other));
                self.share(Node::And(x, y))
            }
            (false, true) => factor,
        })
    }

    fn push(&mut self, node: Node) -> Bit {
        let index = self.nodes.len() as u32;
        assert!(
            index < 1 << 31,
            "a circuit under construction has fewer than 2^31 nodes"
        );
        self.and_count += usize::from(matches!(node, Node::And(..)));
        self.nodes.push(node);
        Bit(index << 1)
    }

    fn share(&mut self, node: Node) -> Bit {
        if self.is_over {
            return Bit::FALSE;
        }
        match self.known.find_or_enter(&self.nodes, node) {
            Some(index) => Bit(index << 1),
            None => {
                self.is_over = self.known.len() > self.most;
                self.push(node)
            }
        }
    }
}

impl Circuit {
    /// The same function of the same values, with constants folded, common subexpressions shared, copies gone, and
    /// gates left out that no output needs. It never has more ANDs.
    pub fn simplified(&self) -> Circuit {
        let mut builder = Builder::new();
        let inputs: Vec<Bit> = self
            .inputs()
            .iter()
            .flat_map(|value| builder.input(&value.name, value.width, value.order))
            .collect();
        let outputs = builder.embed(self, &inputs);
        for (index, value) in self.outputs().iter().enumerate() {
            builder.output(&value.name, &outputs[self.output_range(index)], value.order);
        }
        builder.finish()
    }
}

/// Gives wires to the nodes that are needed, in order, and to their negations at first use.
struct Emitter {
    next: WireId,
    gates: Vec<Gate>,
    /// The wire of each node, and of its negation, [`NO_WIRE`] until it has one.
    plain: Vec<WireId>,
    negated: Vec<WireId>,
}

/// More than any wire of a circuit.
const NO_WIRE: WireId = WireId::MAX;

impl Emitter {
    fn gate(&mut self, gate: Gate) -> WireId {
        let wire = self.next;
        self.next = wire.checked_add(1).expect("a circuit has fewer than 2^32 wires");
        self.gates.push(gate);
        wire
    }

    fn wire(&mut self, bit: Bit) -> WireId {
        let node = bit.node() as usize;
        let plain = self.plain[node];
        let known = if bit.negated() { self.negated[node] } else { plain };
        if known != NO_WIRE {
            return known;
        }
        // Node 0 is the only one without a wire when it is first used.
        let wire = self.gate(match plain {
            NO_WIRE => Gate::Const(bit.negated()),
            _ => Gate::Not(plain),
        });
        if bit.negated() {
            self.negated[node] = wire;
        } else {
            self.plain[node] = wire;
        }
        wire
    }
}

#[cfg(test)]
mod tests;
