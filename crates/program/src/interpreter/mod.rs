//! Programs that are not written in Rust: instructions on values that have numbers.
//!
//! Whoever writes such a program sends each party the same instructions, with its own inputs only. Values are numbered in the order in which they are made.
//!
//! What is not forgotten when it is computed is an output of the circuit that is run, and parties compare these circuits. So parties must forget alike, or else by
//! [`Interpreter::forgetting_alone`].

mod calculate;
mod operation;
mod packed;
mod rows;
#[cfg(test)]
mod tests;

use std::collections::HashMap;

use cenote_circuit::{Circuit, format};
use cenote_net::PartyId;
use cenote_session::{Parties, memory};
use serde::{Deserialize, Serialize};

use self::calculate::{refuse, width};
pub use self::operation::Operation;
pub use self::packed::Packed;
use crate::error::{Error, Result};
use crate::function::Routine;
use crate::memory::Blocks;
use crate::session::Session;
use crate::value::{Value, no_row};

/// One thing that a program does.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Instruction {
    /// `lanes` numbers of `width` bits of a party, which has them. One value.
    Input {
        /// Who gives them.
        owner: u8,
        /// Bits of each.
        width: u32,
        /// How many.
        lanes: usize,
        /// What the program takes them for, which parties compare.
        kind: String,
        /// The numbers, at their owner.
        bits: Option<Packed>,
    },
    /// Numbers that everybody knows. One value.
    Public(Packed),
    /// Something is done with values.
    Apply {
        /// What.
        operation: Operation,
        /// The values' numbers.
        operands: Vec<u64>,
        /// Public numbers.
        numbers: Vec<u64>,
    },
    /// A function, which can be called then. One value.
    Define(Recorded),
    /// A circuit in Bristol Fashion or the older Bristol format, which can be called as a function. One value.
    Circuit(String),
    /// Values are verified and opened to parties: see [`Opened`].
    Reveal {
        /// The values' numbers.
        values: Vec<u64>,
        /// The parties.
        to: Vec<u8>,
        /// What the program takes each of them for, which parties compare.
        kinds: Vec<String>,
    },
    /// The program will not use these values again.
    Forget(Vec<u64>),
}

impl Instruction {
    /// How many values it makes.
    pub fn results(&self) -> u64 {
        match self {
            Self::Input { .. } | Self::Public(_) | Self::Define(_) | Self::Circuit(_) => 1,
            Self::Apply { operation, .. } => operation.results(),
            Self::Reveal { .. } | Self::Forget(_) => 0,
        }
    }

    /// The same for `party`: without the inputs of others.
    #[must_use]
    pub fn of_party(&self, party: PartyId) -> Self {
        match self {
            Self::Input {
                owner,
                width,
                lanes,
                kind,
                ..
            } if *owner != party.0 => Self::Input {
                owner: *owner,
                width: *width,
                lanes: *lanes,
                kind: kind.clone(),
                bits: None,
            },
            Self::Define(function) => Self::Define(Recorded {
                body: function
                    .body
                    .iter()
                    .map(|instruction| instruction.of_party(party))
                    .collect(),
                ..function.clone()
            }),
            other => other.clone(),
        }
    }
}

/// A function as a program records it: what is done with arguments, which are single secrets and the first values.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Recorded {
    /// Bits of each argument.
    pub inputs: Vec<u32>,
    /// What is done.
    pub body: Vec<Instruction>,
    /// The numbers of the results.
    pub outputs: Vec<u64>,
}

impl Recorded {
    /// The circuit with the fewest ANDs, as [`Function::circuit`](crate::Function::circuit) gives it.
    ///
    /// # Errors
    /// As [`Function::record`](crate::Function::record).
    pub fn circuit(&self) -> Result<Circuit> {
        Ok(self.routine()?.circuit())
    }

    /// Sees that it can be called.
    ///
    /// # Errors
    /// As [`Function::record`](crate::Function::record).
    pub fn check(&self) -> Result<()> {
        self.routine().map(drop)
    }

    fn routine(&self) -> Result<Routine> {
        for &argument in &self.inputs {
            width(argument.into())?;
        }
        Routine::record(&self.inputs, |session, arguments| {
            let mut body = Interpreter::new(session.clone());
            arguments
                .into_iter()
                .for_each(|argument| body.keep(Stored::Value(argument)));
            for instruction in &self.body {
                body.execute(instruction)?;
            }
            let outputs = self.outputs.iter();
            outputs.map(|&output| body.value(output).cloned()).collect()
        })
    }
}

/// What was opened: each value, at the parties to which it was.
pub type Opened = Option<Vec<Packed>>;

/// What a number stands for.
enum Stored {
    Value(Value),
    Memory(Box<Blocks>),
    Function(Routine),
}

impl Stored {
    fn what(&self) -> &'static str {
        match self {
            Self::Value(_) => "a value",
            Self::Memory(_) => "a memory",
            Self::Function(_) => "a function",
        }
    }
}

/// Bytes of results, 1 for each bit of 8 secrets, after which those of a party that forgets alone are computed.
const PENDING: usize = 4 << 20;

/// Bytes that any result counts for at least, with what is kept of it besides its bits.
const AT_LEAST: usize = 256;

/// Does what instructions say, at one party.
pub struct Interpreter {
    session: Session,
    stored: HashMap<u64, Stored>,
    next: u64,
    /// If it forgets alone.
    alone: Option<Alone>,
}

/// What a party knows whose peers have other interpreters.
#[derive(Default)]
struct Alone {
    /// All that was said so far, but for what is of this party alone.
    said: blake3::Hasher,
    /// Bytes of results since all were computed: the same at all parties.
    pending: usize,
    /// What is forgotten once all are computed.
    forgotten: Vec<u64>,
}

impl Alone {
    /// Adds an instruction to what was said.
    fn add(&mut self, instruction: &Instruction) {
        let said = match instruction {
            Instruction::Forget(_) => return,
            // The numbers are those of one party.
            Instruction::Input {
                owner,
                width,
                lanes,
                kind,
                ..
            } => format!("input {owner} {width} {lanes} {kind:?}"),
            Instruction::Public(numbers) => {
                let bytes = numbers.bytes();
                format!("{numbers:?} {}", blake3::hash(bytes))
            }
            other => format!("{other:?}"),
        };
        self.said.update(&(said.len() as u64).to_le_bytes());
        self.said.update(said.as_bytes());
    }
}

impl Interpreter {
    /// One that has no values yet, of parties that forget the same values at the same places of their programs.
    pub fn new(session: Session) -> Self {
        Self {
            session,
            stored: HashMap::new(),
            next: 0,
            alone: None,
        }
    }

    /// One of parties that may forget at different times, as where the collector of an interpreter decides. What they forget is kept until everything that was recorded
    /// has been computed, which is done after a reveal, and after as many results at all of them.
    pub fn forgetting_alone(session: Session) -> Self {
        Self {
            alone: Some(Alone::default()),
            ..Self::new(session)
        }
    }

    /// Does what all instructions of each batch say, and tells after each what was opened, until there are no more. Parties that forget alone end their batches at the
    /// same places, and compare them before any of it is done.
    ///
    /// # Errors
    /// Those of [`Interpreter::execute`].
    pub fn follow<E: From<Error>>(
        &mut self,
        batches: impl IntoIterator<Item = Vec<Instruction>>,
        mut tell: impl FnMut(Vec<Opened>) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        for batch in batches {
            self.compare(&batch)?;
            let mut opened = Vec::new();
            for instruction in &batch {
                opened.extend(self.execute(instruction)?);
            }
            tell(opened)?;
        }
        Ok(())
    }

    /// Sees that all parties are told the same, if each has an interpreter of its own.
    fn compare(&mut self, batch: &[Instruction]) -> Result<()> {
        let Some(alone) = &mut self.alone else {
            return Ok(());
        };
        for instruction in batch {
            alone.add(instruction);
        }
        self.session.compare(alone.said.finalize().into())
    }

    /// Does what an instruction says, and gives what was opened if it opens something.
    ///
    /// # Errors
    /// [`Error::BadInput`] if the instruction has no meaning; what happened to the session.
    pub fn execute(&mut self, instruction: &Instruction) -> Result<Option<Opened>> {
        match instruction {
            Instruction::Input {
                owner,
                width,
                lanes,
                bits,
                ..
            } => {
                let input = self.input(*owner, (*width, *lanes), bits.as_ref())?;
                self.keep(Stored::Value(input));
            }
            Instruction::Public(numbers) => {
                let public = self.public(numbers)?;
                self.keep(Stored::Value(public));
            }
            Instruction::Apply {
                operation,
                operands,
                numbers,
            } => self.apply(*operation, operands, numbers)?,
            Instruction::Define(function) => {
                let routine = function.routine()?;
                self.keep(Stored::Function(routine));
            }
            Instruction::Circuit(text) => {
                let routine = of_circuit(text)?;
                self.keep(Stored::Function(routine));
            }
            Instruction::Reveal { values, to, .. } => {
                let opened = self.reveal(values, to)?;
                self.compute();
                return Ok(Some(opened));
            }
            Instruction::Forget(values) => match &mut self.alone {
                Some(alone) => alone.forgotten.extend(values),
                None => values.iter().for_each(|value| drop(self.stored.remove(value))),
            },
        }
        if self.alone.as_ref().is_some_and(|alone| alone.pending > PENDING) {
            self.compute();
        }
        Ok(None)
    }

    fn keep(&mut self, stored: Stored) {
        if let Some(alone) = &mut self.alone {
            let bytes = match &stored {
                Stored::Value(value) => (value.width() as usize * value.lanes()) / 8,
                Stored::Memory(_) | Stored::Function(_) => 0,
            };
            alone.pending += bytes.max(AT_LEAST);
        }
        self.stored.insert(self.next, stored);
        self.next += 1;
    }

    fn stored(&self, number: u64) -> Result<&Stored> {
        self.stored
            .get(&number)
            .ok_or_else(|| Error::BadInput(format!("the program has no value {number}")))
    }

    fn value(&self, number: u64) -> Result<&Value> {
        match self.stored(number)? {
            Stored::Value(value) => Ok(value),
            other => Err(Error::BadInput(format!(
                "{number} is {}, where a value is meant",
                other.what()
            ))),
        }
    }

    fn memory(&mut self, number: u64) -> Result<&mut Blocks> {
        match self.stored.get_mut(&number) {
            Some(Stored::Memory(blocks)) => Ok(blocks),
            _ => Err(Error::BadInput(format!("the program has no memory {number}"))),
        }
    }

    fn function(&self, number: u64) -> Result<&Routine> {
        match self.stored(number)? {
            Stored::Function(routine) => Ok(routine),
            other => Err(Error::BadInput(format!(
                "{number} is {}, where a function is meant",
                other.what()
            ))),
        }
    }

    fn input(&self, owner: u8, (width, lanes): (u32, usize), bits: Option<&Packed>) -> Result<Value> {
        if usize::from(owner) >= self.session.parties() {
            return refuse(format!("there is no party {owner} that could give an input"));
        }
        number(width)?;
        room(width, lanes)?;
        if bits.is_some_and(|bits| (bits.width(), bits.lanes()) != (width, lanes)) {
            return refuse(format!("an input has not {width} bits in each of {lanes} places"));
        }
        let owner = PartyId(owner);
        if bits.is_some() != (owner == self.session.me()) {
            return refuse(format!(
                "the numbers of an input of {owner} are given there, and nowhere else"
            ));
        }
        let bits = bits.map(Packed::bits).transpose()?;
        let wires = width as usize;
        Ok(self.session.make(width, lanes, |machine| {
            machine.input(owner, wires, lanes, bits.as_ref())
        }))
    }

    fn public(&self, numbers: &Packed) -> Result<Value> {
        let (bits, width) = (numbers.bits()?, numbers.width());
        number(width)?;
        room(width, numbers.lanes())?;
        if bits.lanes() == 1 {
            let ones = (0..width).filter(|&row| bits.get(row as usize, 0));
            return Ok(self
                .session
                .constant(width, ones.fold(0, |all, row| all | 1u128 << row)));
        }
        Ok(self
            .session
            .make(width, bits.lanes(), |machine| machine.constant(&bits)))
    }

    fn reveal(&self, numbers: &[u64], to: &[u8]) -> Result<Opened> {
        let parties = self.session.parties();
        if let Some(party) = to.iter().find(|&&party| usize::from(party) >= parties) {
            let what = format!("there is no party {party} that could learn something");
            return Err(Error::BadInput(what));
        }
        let to: Parties = to.iter().copied().map(PartyId).collect();
        let values: Vec<Value> = numbers
            .iter()
            .map(|&number| self.value(number).cloned())
            .collect::<Result<_>>()?;
        values.iter().try_for_each(|value| number(value.width()))?;
        let opened = self.session.open_each(&values, to)?;
        Ok(opened.map(|opened| opened.iter().map(Packed::from).collect()))
    }

    /// Computes everything that was recorded, if this party forgets alone, and gives up what is forgotten.
    fn compute(&mut self) {
        if let Some(alone) = &mut self.alone {
            self.session.flush_all();
            alone.pending = 0;
            for number in alone.forgotten.drain(..) {
                self.stored.remove(&number);
            }
        }
    }
}

/// Sees that so many bits are a number that a program gives or is told.
fn number(width: u32) -> Result<()> {
    match width {
        1..=128 => Ok(()),
        _ => Err(Error::BadInput(format!(
            "a number of {width} bits: one that is given or told has 1 to 128"
        ))),
    }
}

/// Sees that there can be such a row, and memory for it before it is taken.
fn room(width: u32, lanes: usize) -> Result<()> {
    if let Some(what) = no_row(lanes) {
        return refuse(what);
    }
    let bytes = u64::from(width) * (lanes as u64).div_ceil(8);
    match memory::refusal(bytes).filter(|_| bytes > LARGE) {
        None => Ok(()),
        Some(why) => refuse(format!("a row of {lanes} secrets: {why}")),
    }
}

/// Rows of fewer bytes are not asked about.
const LARGE: u64 = 1 << 26;

fn of_circuit(text: &str) -> Result<Routine> {
    let circuit = format::read(text)
        .map_err(|error| Error::BadInput(format!("line {}: {}", error.line, error.reason)))?;
    let widths =
        |values: &[cenote_circuit::Value]| values.iter().map(|value| value.width).collect::<Vec<u32>>();
    let (inputs, outputs) = (widths(circuit.inputs()), widths(circuit.outputs()));
    Routine::of_circuit(circuit, inputs, outputs)
}
