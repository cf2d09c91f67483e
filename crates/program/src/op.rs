//! The operations of a segment, and the gates of each.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use cenote_circuit::library::{self, Goal};
use cenote_circuit::{Bit, Builder};

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
    /// The quotient, and above it the remainder.
    Divide {
        signed: bool,
    },
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
    /// The bits at these places, the lowest first.
    Pick(Arc<[u32]>),
    /// The operands one above the other.
    Join,
    ShiftLeft(u32),
    ShiftRight {
        by: u32,
        signed: bool,
    },
    RotateLeft(u32),
    /// By as many places as the second operand says.
    ShiftLeftBy,
    ShiftRightBy {
        signed: bool,
    },
    RotateLeftBy,
    RotateRightBy,
    /// The number of zeros above the topmost one, or below the lowest.
    LeadingZeros,
    TrailingZeros,
    /// The number of ones.
    CountOnes,
    /// Of each bit whether it or one below it is 1.
    PrefixOr,
    /// All results of a function.
    Call(Called),
}

/// What adds the gates of a function: its operands' bits, and what it should have few of.
pub(crate) type Emit = dyn Fn(&mut Builder, &[&[Bit]], Goal) -> Vec<Bit> + Send + Sync;

/// A function of several values, whose result is all of its outputs one above the other.
///
/// Functions with the same name are the same function: what has a name is compiled once wherever it is used.
#[derive(Clone)]
pub(crate) struct Called {
    name: Arc<str>,
    /// About how many ANDs it has.
    weight: u64,
    emit: Arc<Emit>,
}

impl Called {
    pub(crate) fn new(
        name: impl Into<Arc<str>>,
        weight: u64,
        emit: impl Fn(&mut Builder, &[&[Bit]], Goal) -> Vec<Bit> + Send + Sync + 'static,
    ) -> Self {
        Self {
            name: name.into(),
            weight,
            emit: Arc::new(emit),
        }
    }

    /// Adds its gates, and gives its outputs one above the other.
    pub(crate) fn emit(&self, b: &mut Builder, operands: &[&[Bit]], goal: Goal) -> Vec<Bit> {
        (self.emit)(b, operands, goal)
    }
}

impl fmt::Debug for Called {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

impl PartialEq for Called {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Called {}

impl Hash for Called {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name.hash(state);
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
            | Op::Pick(_)
            | Op::Join
            | Op::ShiftLeft(_)
            | Op::ShiftRight { .. }
            | Op::RotateLeft(_) => 1,
            Op::Multiply | Op::Divide { .. } => u64::from(width) * u64::from(width),
            Op::Call(called) => called.weight,
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
            Op::Pick(places) => places.iter().map(|&place| operands[0][place as usize]).collect(),
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
            Op::Divide { signed } => {
                let divide = if *signed {
                    library::divide_signed
                } else {
                    library::divide
                };
                let (quotient, remainder) = divide(b, operands[0], operands[1], goal);
                [quotient, remainder].concat()
            }
            Op::ShiftLeftBy => library::shift_left(b, operands[0], operands[1], goal),
            Op::ShiftRightBy { signed: false } => library::shift_right(b, operands[0], operands[1], goal),
            Op::ShiftRightBy { signed: true } => {
                library::shift_right_signed(b, operands[0], operands[1], goal)
            }
            Op::RotateLeftBy => library::rotate_left(b, operands[0], operands[1], goal),
            Op::RotateRightBy => library::rotate_right(b, operands[0], operands[1], goal),
            Op::LeadingZeros => resized(&library::leading_zeros(b, operands[0], goal), width, false),
            Op::TrailingZeros => resized(&library::trailing_zeros(b, operands[0], goal), width, false),
            Op::CountOnes => resized(&library::popcount(b, operands[0]), width, false),
            Op::PrefixOr => library::not(&library::prefix_all(b, &library::not(operands[0]), goal)),
            Op::Call(called) => called.emit(b, operands, goal),
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
