//! Writing circuit files.

use std::io::{self, BufWriter, Write};

use super::Format;
use crate::ir::{Circuit, Gate, Value, WireId};

/// Why a circuit was not written.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// The writer failed.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The older Bristol format has room for two inputs and one output.
    #[error(
        "the older Bristol format takes two input values and one output value at most, but the circuit has {inputs} \
         and {outputs}: write Bristol Fashion"
    )]
    TooManyValues {
        /// Input values of the circuit.
        inputs: usize,
        /// Output values of the circuit.
        outputs: usize,
    },
    /// The older Bristol format has no constants: they are made from an input wire, and there is none.
    #[error("the older Bristol format has no constants, and the circuit has no input to make one from")]
    NoInput,
    /// Numbers of wires in files are below 2^32.
    #[error("with the gates that the format needs on top, the circuit has more than 2^32 - 1 wires")]
    TooLarge,
}

/// Writes a circuit as text that [`read`](super::read) reads back.
///
/// Both formats want the outputs to be the last wires, so wires are renumbered, and an output that is an input or an
/// earlier output is copied. Fashion copies with `EQW`. The older format has neither copies nor constants: they become
/// `x XOR x` (zero), its `INV` (one), and an `XOR` with zero. Names and bit orders have no place in either format.
///
/// # Errors
/// [`WriteError`] if `out` fails or the circuit does not fit the format.
pub fn write(circuit: &Circuit, format: Format, out: &mut impl Write) -> Result<(), WriteError> {
    let (inputs, outputs) = (circuit.inputs(), circuit.outputs());
    if format == Format::Bristol && (inputs.len() > 2 || outputs.len() > 1) {
        return Err(WriteError::TooManyValues {
            inputs: inputs.len(),
            outputs: outputs.len(),
        });
    }
    let layout = Layout::new(circuit, format)?;
    let mut out = BufWriter::new(out);
    layout.write(circuit, format, &mut out)?;
    out.flush()?;
    Ok(())
}

fn write_widths(out: &mut impl Write, values: &[Value]) -> io::Result<()> {
    write!(out, "{}", values.len())?;
    for value in values {
        write!(out, " {}", value.width)?;
    }
    writeln!(out)
}

/// The wire numbers of a file.
struct Layout {
    gates: u32,
    wires: u32,
    input_wires: u32,
    /// The number of each gate's output wire.
    gate_wires: Vec<u32>,
    /// The zero wire of the older format, if it needs one.
    zero: Option<u32>,
    /// Copies, after all gates, to outputs that have no gate of their own: from, to.
    copies: Vec<(u32, u32)>,
}

impl Layout {
    fn new(circuit: &Circuit, format: Format) -> Result<Self, WriteError> {
        let input_wires = circuit.input_wires();
        let mut own_output = vec![None; circuit.gates().len()];
        let mut copied = Vec::new();
        for (position, &wire) in circuit.output_wires().iter().enumerate() {
            let own = wire
                .checked_sub(input_wires)
                .map(|gate| &mut own_output[gate as usize]);
            match own {
                Some(own @ None) => *own = Some(position as u32),
                _ => copied.push((wire, position as u32)),
            }
        }

        let needs_zero = format == Format::Bristol
            && (!copied.is_empty()
                || circuit
                    .gates()
                    .iter()
                    .any(|gate| matches!(gate, Gate::Const(_) | Gate::Copy(_))));
        if needs_zero && input_wires == 0 {
            return Err(WriteError::NoInput);
        }
        let gates = circuit.gates().len() as u64 + copied.len() as u64 + u64::from(needs_zero);
        let wires = u32::try_from(u64::from(input_wires) + gates).map_err(|_| WriteError::TooLarge)?;
        let first_output = wires - circuit.output_wires().len() as u32;

        let mut next = input_wires;
        let zero = needs_zero.then(|| {
            next += 1;
            input_wires
        });
        let gate_wires = own_output
            .iter()
            .map(|own| {
                own.map_or_else(
                    || {
                        next += 1;
                        next - 1
                    },
                    |position| first_output + position,
                )
            })
            .collect();
        let mut layout = Self {
            gates: gates as u32,
            wires,
            input_wires,
            gate_wires,
            zero,
            copies: Vec::new(),
        };
        layout.copies = copied
            .iter()
            .map(|&(wire, position)| (layout.wire(wire), first_output + position))
            .collect();
        Ok(layout)
    }

    /// The number of a wire of the circuit.
    fn wire(&self, wire: WireId) -> u32 {
        match wire.checked_sub(self.input_wires) {
            None => wire,
            Some(gate) => self.gate_wires[gate as usize],
        }
    }

    fn write(&self, circuit: &Circuit, format: Format, out: &mut impl Write) -> io::Result<()> {
        let (inputs, outputs) = (circuit.inputs(), circuit.outputs());
        writeln!(out, "{} {}", self.gates, self.wires)?;
        match format {
            Format::Fashion => {
                write_widths(out, inputs)?;
                write_widths(out, outputs)?;
            }
            Format::Bristol => {
                let width = |values: &[Value], index: usize| values.get(index).map_or(0, |value| value.width);
                let widths = (width(inputs, 0), width(inputs, 1), width(outputs, 0));
                writeln!(out, "{} {}   {}", widths.0, widths.1, widths.2)?;
            }
        }
        writeln!(out)?;
        if let Some(zero) = self.zero {
            writeln!(out, "2 1 0 0 {zero} XOR")?;
        }
        for (gate, &wire) in circuit.gates().iter().zip(&self.gate_wires) {
            let at = |w: WireId| self.wire(w);
            match *gate {
                Gate::Xor(a, b) => writeln!(out, "2 1 {} {} {wire} XOR", at(a), at(b))?,
                Gate::And(a, b) => writeln!(out, "2 1 {} {} {wire} AND", at(a), at(b))?,
                Gate::Not(a) => writeln!(out, "1 1 {} {wire} INV", at(a))?,
                Gate::Copy(a) => self.write_copy(out, at(a), wire)?,
                Gate::Const(bit) => match self.zero {
                    None => writeln!(out, "1 1 {} {wire} EQ", u8::from(bit))?,
                    Some(zero) if bit => writeln!(out, "1 1 {zero} {wire} INV")?,
                    Some(zero) => self.write_copy(out, zero, wire)?,
                },
            }
        }
        for &(from, to) in &self.copies {
            self.write_copy(out, from, to)?;
        }
        Ok(())
    }

    fn write_copy(&self, out: &mut impl Write, from: u32, to: u32) -> io::Result<()> {
        match self.zero {
            None => writeln!(out, "1 1 {from} {to} EQW"),
            Some(zero) => writeln!(out, "2 1 {from} {zero} {to} XOR"),
        }
    }
}
