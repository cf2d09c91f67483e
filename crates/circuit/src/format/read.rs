//! Reading circuit files.

use super::ParseError;
use super::scan::{Line, Lines, quote};
use super::shdl;
use crate::ir::{BitOrder, Circuit, Gate, Value, WireId};

/// Input wires that a text may declare beyond one for each of its bytes.
///
/// A text that uses its inputs is longer than they are many; this lets small circuits ignore some, while a short text
/// still cannot make a large circuit.
pub(super) const UNUSED_INPUTS: u64 = 1 << 16;

/// Reads a circuit in Bristol Fashion, in the older Bristol format or in SHDL, whichever it is.
///
/// The format is SHDL if the first line is a comment or its number is followed by a word (see [`read_shdl`]). Else it
/// is Fashion if two lines of numbers follow the first line, the older one if it is one line.
///
/// Of the Bristol formats, input values are called `in0`, `in1`, …, output values `out0`, …, all with
/// [`BitOrder::Lsb`]. Gates may number wires in any way as long as they use defined wires only; gate `i` of the result is
/// gate `i` of the text, but that `MAND` becomes several ANDs and `OR` two XORs and an AND. Blank lines may be missing,
/// lines may end in CR LF, and words may be separated by any white space.
///
/// Memory is proportional to the length of the text, whatever it declares.
///
/// # Errors
/// [`ParseError`] with the line and the reason if the text is malformed, a wire is out of range, defined twice or used
/// before it is defined, or the counts of the header do not agree with the gates.
///
/// [`read_shdl`]: super::read_shdl
pub fn read(text: &str) -> Result<Circuit, ParseError> {
    if shdl::looks_like(text) {
        return shdl::read_shdl(text, None).map(|shdl| shdl.circuit);
    }
    let mut lines = Lines::new(text);
    let header = Header::read(&mut lines, text.len())?;
    let mut reader = Reader::new(&header);
    let mut found = 0;
    while let Some(line) = lines.next() {
        if found == header.gates {
            return Err(line.error(format!(
                "there is more after the {found} gates that the first line declares"
            )));
        }
        found += 1;
        reader.gate(line)?;
    }
    if found < header.gates {
        return Err(lines.error(format!(
            "the text ends after {found} gates, but the first line declares {}",
            header.gates
        )));
    }
    let outputs = reader.last(header.output_wires).ok_or_else(|| {
        lines.error(format!(
            "inputs and gates define {} wires, but the first line declares {}",
            reader.defined, header.wires
        ))
    })?;
    let (inputs, output_values) = (values("in", &header.inputs), values("out", &header.outputs));
    Ok(Circuit::new(inputs, output_values, reader.gates, outputs)
        .expect("gates read defined wires only, and every wire has a number"))
}

fn values(prefix: &str, widths: &[u32]) -> Vec<Value> {
    (0..)
        .zip(widths)
        .map(|(index, &width): (usize, _)| Value {
            name: format!("{prefix}{index}"),
            width,
            order: BitOrder::Lsb,
        })
        .collect()
}

struct Header {
    gates: u32,
    wires: u32,
    inputs: Vec<u32>,
    input_wires: u32,
    outputs: Vec<u32>,
    output_wires: u32,
}

impl Header {
    fn read(lines: &mut Lines<'_>, length: usize) -> Result<Self, ParseError> {
        let mut first = lines.next().ok_or_else(|| lines.error("the text is empty"))?;
        let gates = first.number("the number of gates")?;
        let wires = first.number("the number of wires")?;
        first.end()?;
        // Each gate takes more than two bytes, and so does each of its outputs.
        if u64::from(gates) > length as u64 / 2 {
            return Err(first.error(format!("{gates} gates do not fit in a text of {length} bytes")));
        }

        let missing =
            |lines: &Lines<'_>| lines.error("the text ends where the widths of the values should be");
        let second = lines.next().ok_or_else(|| missing(lines))?;
        let mut ahead = lines.clone();
        let fashion = ahead.next().filter(Line::is_numeric);
        let (inputs, outputs, output_line) = match fashion {
            Some(third) => {
                *lines = ahead;
                let inputs = fashion_widths(second.clone(), "input")?;
                (inputs, fashion_widths(third.clone(), "output")?, third)
            }
            None => {
                let (inputs, outputs) = bristol_widths(second.clone())?;
                (inputs, outputs, second.clone())
            }
        };

        let sum = |widths: &[u32]| widths.iter().map(|&width| u64::from(width)).sum::<u64>();
        let (input_wires, output_wires) = (sum(&inputs), sum(&outputs));
        if input_wires > length as u64 + UNUSED_INPUTS {
            return Err(second.error(format!(
                "{input_wires} input wires are too many for a text of {length} bytes"
            )));
        }
        if input_wires > u64::from(wires) {
            return Err(second.error(format!(
                "the inputs have {input_wires} wires, but the first line declares {wires} in all"
            )));
        }
        if output_wires > u64::from(wires) {
            return Err(output_line.error(format!(
                "the outputs have {output_wires} wires, but the first line declares {wires} in all"
            )));
        }
        if u64::from(wires) - input_wires > length as u64 / 2 {
            return Err(first.error(format!(
                "{wires} wires cannot be defined in a text of {length} bytes"
            )));
        }
        Ok(Self {
            gates,
            wires,
            inputs,
            input_wires: input_wires as u32,
            outputs,
            output_wires: output_wires as u32,
        })
    }
}

/// `count width…`.
fn fashion_widths(line: Line<'_>, what: &str) -> Result<Vec<u32>, ParseError> {
    let mut numbers = line.clone().numbers("a width")?;
    let count = numbers.remove(0);
    if numbers.len() as u64 != u64::from(count) {
        return Err(line.error(format!(
            "{count} {what} values are declared, but {} widths given",
            numbers.len()
        )));
    }
    Ok(numbers)
}

/// `first-input second-input output`, where an input of width 0 is none.
fn bristol_widths(line: Line<'_>) -> Result<(Vec<u32>, Vec<u32>), ParseError> {
    let numbers = line.clone().numbers("a width")?;
    let [first, second, output] = numbers[..] else {
        return Err(line.error(format!(
            "expected the widths of two inputs and one output, found {} numbers (Bristol Fashion has a line for the \
             inputs and a line for the outputs)",
            numbers.len()
        )));
    };
    let some = |widths: &[u32]| widths.iter().copied().filter(|&width| width > 0).collect();
    Ok((some(&[first, second]), some(&[output])))
}

#[derive(Clone, Copy)]
enum Operation {
    Xor,
    And,
    Or,
    Not,
    Literal,
    Copy,
    Ands,
}

impl Operation {
    fn named(name: &[u8]) -> Option<Self> {
        Some(match name {
            b"XOR" => Self::Xor,
            b"AND" => Self::And,
            b"OR" => Self::Or,
            b"INV" | b"NOT" => Self::Not,
            b"EQ" => Self::Literal,
            b"EQW" => Self::Copy,
            b"MAND" => Self::Ands,
            _ => return None,
        })
    }

    fn takes(self, inputs: u32, outputs: u32) -> bool {
        match self {
            Self::Xor | Self::And | Self::Or => (inputs, outputs) == (2, 1),
            Self::Not | Self::Literal | Self::Copy => (inputs, outputs) == (1, 1),
            Self::Ands => outputs > 0 && u64::from(inputs) == 2 * u64::from(outputs),
        }
    }
}

/// Translates gates from the wire numbers of the text to ours.
struct Reader {
    input_wires: u32,
    gates: Vec<Gate>,
    /// Our wire for each wire of the text after the inputs, [`UNDEFINED`] until a gate defines it.
    ours: Vec<WireId>,
    /// Number of wires of the text defined so far.
    defined: u32,
    /// The numbers of the current line between its counts and its operation.
    numbers: Vec<u32>,
}

const UNDEFINED: WireId = WireId::MAX;

impl Reader {
    fn new(header: &Header) -> Self {
        Self {
            input_wires: header.input_wires,
            gates: Vec::with_capacity(header.gates as usize),
            ours: vec![UNDEFINED; (header.wires - header.input_wires) as usize],
            defined: header.input_wires,
            numbers: Vec::new(),
        }
    }

    /// Reads one line: `inputs outputs in… out… OPERATION`.
    fn gate(&mut self, mut line: Line<'_>) -> Result<(), ParseError> {
        let inputs = line.number("the number of inputs of a gate")?;
        let outputs = line.number("the number of outputs of a gate")?;
        let mut numbers = std::mem::take(&mut self.numbers);
        numbers.clear();
        let name = loop {
            let word = line
                .word()
                .ok_or_else(|| line.error("the line ends where the operation should be"))?;
            if !word[0].is_ascii_digit() {
                break word;
            }
            numbers.push(line.parse(word, "a wire")?);
        };
        let operation = Operation::named(name)
            .ok_or_else(|| line.error(format!("{} is no known operation", quote(name))))?;
        line.end()?;
        let declared = u64::from(inputs) + u64::from(outputs);
        if numbers.len() as u64 != declared {
            return Err(line.error(format!(
                "{declared} wires are declared ({inputs} in, {outputs} out), but {} listed",
                numbers.len()
            )));
        }
        if !operation.takes(inputs, outputs) {
            return Err(line.error(format!(
                "{} cannot have {inputs} inputs and {outputs} outputs",
                quote(name)
            )));
        }
        self.translate(operation, &numbers, &line)?;
        self.numbers = numbers;
        Ok(())
    }

    fn translate(
        &mut self,
        operation: Operation,
        numbers: &[u32],
        line: &Line<'_>,
    ) -> Result<(), ParseError> {
        match (operation, numbers) {
            (Operation::Xor, &[a, b, out]) => {
                let gate = Gate::Xor(self.used(a, line)?, self.used(b, line)?);
                self.define(out, gate, line)
            }
            (Operation::And, &[a, b, out]) => {
                let gate = Gate::And(self.used(a, line)?, self.used(b, line)?);
                self.define(out, gate, line)
            }
            (Operation::Or, &[a, b, out]) => {
                let (a, b) = (self.used(a, line)?, self.used(b, line)?);
                let differ = self.push(Gate::Xor(a, b), line)?;
                let both = self.push(Gate::And(a, b), line)?;
                self.define(out, Gate::Xor(differ, both), line)
            }
            (Operation::Not, &[a, out]) => {
                let gate = Gate::Not(self.used(a, line)?);
                self.define(out, gate, line)
            }
            (Operation::Copy, &[a, out]) => {
                let gate = Gate::Copy(self.used(a, line)?);
                self.define(out, gate, line)
            }
            (Operation::Literal, &[bit, out]) => match bit {
                0 | 1 => self.define(out, Gate::Const(bit == 1), line),
                _ => Err(line.error(format!("`EQ` sets a wire to 0 or 1, not to {bit}"))),
            },
            (Operation::Ands, _) => {
                let (inputs, outputs) = numbers.split_at(numbers.len() / 3 * 2);
                let (left, right) = inputs.split_at(outputs.len());
                // All the operands come first: no AND of the line may read the result of another.
                let gates = left
                    .iter()
                    .zip(right)
                    .map(|(&a, &b)| Ok(Gate::And(self.used(a, line)?, self.used(b, line)?)))
                    .collect::<Result<Vec<_>, ParseError>>()?;
                gates
                    .into_iter()
                    .zip(outputs)
                    .try_for_each(|(gate, &out)| self.define(out, gate, line))
            }
            _ => unreachable!("the counts fit the operation"),
        }
    }

    /// Our wire for a wire of the text that a gate reads.
    fn used(&self, wire: u32, line: &Line<'_>) -> Result<WireId, ParseError> {
        if wire < self.input_wires {
            return Ok(wire);
        }
        match self.ours.get((wire - self.input_wires) as usize) {
            None => Err(self.out_of_range(wire, line)),
            Some(&UNDEFINED) => Err(line.error(format!("wire {wire} is used before it is defined"))),
            Some(&ours) => Ok(ours),
        }
    }

    /// Adds the gate that defines a wire of the text.
    fn define(&mut self, wire: u32, gate: Gate, line: &Line<'_>) -> Result<(), ParseError> {
        let Some(index) = wire.checked_sub(self.input_wires) else {
            return Err(line.error(format!("wire {wire} is an input, and is defined again")));
        };
        match self.ours.get(index as usize) {
            None => return Err(self.out_of_range(wire, line)),
            Some(&UNDEFINED) => {}
            Some(_) => return Err(line.error(format!("wire {wire} is defined twice"))),
        }
        self.ours[index as usize] = self.push(gate, line)?;
        self.defined += 1;
        Ok(())
    }

    fn push(&mut self, gate: Gate, line: &Line<'_>) -> Result<WireId, ParseError> {
        let wire = u64::from(self.input_wires) + self.gates.len() as u64;
        if wire >= u64::from(UNDEFINED) {
            return Err(line.error("the circuit has more than 2^32 - 1 wires"));
        }
        self.gates.push(gate);
        Ok(wire as WireId)
    }

    fn out_of_range(&self, wire: u32, line: &Line<'_>) -> ParseError {
        let wires = self.input_wires as usize + self.ours.len();
        line.error(format!(
            "wire {wire} is out of range: the first line declares {wires} wires"
        ))
    }

    /// Our wires for the last `count` wires of the text, if all wires are defined.
    fn last(&self, count: u32) -> Option<Vec<WireId>> {
        let wires = self.input_wires + self.ours.len() as u32;
        let ours = |wire: u32| match wire.checked_sub(self.input_wires) {
            None => wire,
            Some(index) => self.ours[index as usize],
        };
        (self.defined == wires).then(|| (wires - count..wires).map(ours).collect())
    }
}
