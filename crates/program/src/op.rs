//! The operations of a segment, and the gates of each.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use cenote_circuit::library::{self, Goal};
use cenote_circuit::{Bit, Builder, Circuit};


/// What is done with values, whose bits come least significant first.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Op {
    /// These bits, as many as the result has.
    Constant(u128),
    Not,
    Xor,
    And,
    Or,
    Add,
    Subtract,
    Multiply,
    Negate,
    Less {
        signed: bool,
    },
    Equal,
    /// The second operand where the first, a bit, is 1, and the third where it is 0.
    Select,
    /// The low bits, or all and then zeros, or copies of the top bit.
    Resize {
        signed: bool,
    },
    /// Bits from this place on.
    Part(u32),
    /// The operands one above the other.
    Join,
    ShiftLeft(u32),
    ShiftRight {
        by: u32,
        signed: bool,
    },
    RotateLeft(u32),
    /// The number of ones.
    CountOnes,
    /// All outputs of a circuit, the operands being its inputs.
    Call(Called),
}

/// A circuit, compared by its digest.
#[derive(Clone, Debug)]
pub(crate) struct Called {
    digest: [u8; 32],
    pub(crate) circuit: Arc<Circuit>,
}

impl Called {
    pub(crate) fn new(circuit: Arc<Circuit>) -> Self {
        Self {
            digest: circuit.digest(),
            circuit,
        }
    }
}

impl PartialEq for Called {
    fn eq(&self, other: &Self) -> bool {
        self.digest == other.digest
    }
}

impl Eq for Called {}

impl Hash for Called {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.digest.hash(state);
    }
}

impl Op {
    /// About how many AND gates it takes for a result of `width` bits.
    pub(crate) fn weight(&self, width: u32) -> u64 {
        match self {
            Op::Constant(_)
            | Op::Not
            | Op::Xor
            | Op::Resize { .. }
            | Op::Part(_)
            | Op::Join
            | Op::ShiftLeft(_)
            | Op::ShiftRight { .. }
            | Op::RotateLeft(_) => 1,
            Op::Multiply => u64::from(width) * u64::from(width),
            Op::Call(called) => called.circuit.gates().len() as u64 / 4,
            _ => width.max(32).into(),
        }
    }

    /// Adds its gates, and gives the `width` bits of the result.
    pub(crate) fn emit(&self, b: &mut Builder, operands: &[&[Bit]], width: u32, goal: Goal) -> Vec<Bit> {
        let width = width as usize;
        let each = |b: &mut Builder, gate: fn(&mut Builder, Bit, Bit) -> Bit| {
            let pairs = operands[0].iter().zip(operands[1]);
            pairs.map(|(&x, &y)| gate(b, x, y)).collect()
        };
        match self {
            Op::Constant(bits) => (0..width)
                .map(|at| Bit::constant(at < 128 && bits >> at & 1 == 1))
                .collect(),
            Op::Not => library::not(operands[0]),
            Op::Xor => each(b, Builder::xor),
            Op::And => each(b, Builder::and),
            Op::Or => each(b, Builder::or),
            Op::Add => library::add(b, operands[0], operands[1], goal),
            Op::Subtract => library::subtract(b, operands[0], operands[1], goal),
            Op::Multiply => library::multiply(b, operands[0], operands[1], goal),
            Op::Negate => library::negate(b, operands[0], goal),
            Op::Less { signed: false } => vec![library::less_than(b, operands[0], operands[1], goal)],
            Op::Less { signed: true } => vec![library::less_than_signed(b, operands[0], operands[1], goal)],
            Op::Equal => vec![library::equal(b, operands[0], operands[1])],
            Op::Select => library::mux(b, operands[0][0], operands[1], operands[2]),
            Op::Resize { signed } => resized(operands[0], width, *signed),
            Op::Part(from) => operands[0][*from as usize..][..width].to_vec(),
            Op::Join => operands.concat(),
            Op::ShiftLeft(by) => {
                let mut bits = vec![Bit::FALSE; (*by as usize).min(width)];
                bits.extend(&operands[0][..width - bits.len()]);
                bits
            }
            Op::ShiftRight { by, signed } => {
                let kept = &operands[0][(*by as usize).min(width)..];
                let top = operands[0][width - 1];
                match kept {
                    [] => vec![if *signed { top } else { Bit::FALSE }; width],
                    kept => resized(kept, width, *signed),
                }
            }
            Op::RotateLeft(by) => {
                let mut bits = operands[0].to_vec();
                bits.rotate_right(*by as usize % width);
                bits
            }
            Op::CountOnes => resized(&library::popcount(b, operands[0]), width, false),
            Op::Call(called) => b.embed(&called.circuit, &operands.concat()),
        }
    }
}

/// The low bits, or all and above them zeros, or copies of the top one.
fn resized(bits: &[Bit], width: usize, signed: bool) -> Vec<Bit> {
    let above = match bits.last() {
        Some(&top) if signed => top,
        _ => Bit::FALSE,
    };
    let mut bits = bits[..bits.len().min(width)].to_vec();
    bits.resize(width, above);
    bits
}
