//! What is computed, and what must come of it.

use std::collections::BTreeMap;
use std::io::Cursor;

use cenote::{BitMatrix, Bundle, Job, Result};

/// A job without values, over data that every party has.
pub(super) struct Task {
    pub(super) text: String,
    /// The values of its outputs, one after the other.
    pub(super) right: Vec<String>,
    /// AND gates.
    pub(super) ands: u64,
}

/// What every party's data are, by the names of inputs. The owner of an input alone reads its own.
pub(super) const DATA: [(&str, &str); 4] = [
    ("x", "20\n"),
    ("y", "22\n"),
    ("key", "0x000102030405060708090a0b0c0d0e0f\n"),
    ("message", "0x00112233445566778899aabbccddeeff\n"),
];

/// The head and the inputs and outputs of a job.
fn text(protocol: &str, circuit: &str, lanes: usize, inputs: [&str; 2], parties: u8) -> String {
    let all: Vec<String> = (0..parties).map(|party| party.to_string()).collect();
    format!(
        "protocol = \"{protocol}\"\ncircuit = \"{circuit}\"\nlanes = {lanes}\n\n[[input]]\nparty = 0\n{}\n[[input]]\nparty = 1\n{}\n\
         [[output]]\nto = [{}]\n",
        inputs[0],
        inputs[1],
        all.join(", ")
    )
}

impl Task {
    /// One instance of a circuit with two inputs, of parties 0 and 1, over [`DATA`]; all parties learn the output.
    ///
    /// # Errors
    /// A circuit that is not of the library, or has other inputs.
    pub(super) fn new(protocol: &str, circuit: &str, parties: u8) -> Result<Self> {
        let text = text(protocol, circuit, 1, ["", ""], parties);
        let (job, program) = read(&text, 1)?;
        let mut all = Vec::new();
        for (index, value) in program.circuit().inputs().iter().enumerate() {
            let data = DATA.iter().find(|(name, _)| *name == value.name);
            let bits = Cursor::new(data.map_or("", |(_, text)| text));
            let bits = job.read_input(index, 1, &value.name, Box::new(bits))?;
            all.extend_from_slice(bits.words());
        }
        let mut inputs = BitMatrix::zeros(program.circuit().input_wires() as usize, 1);
        inputs.words_mut().copy_from_slice(&all);
        let outputs = program
            .plan()
            .evaluate(&inputs)
            .map_err(|error| super::fleet::fault("evaluating a circuit", error.to_string()))?;
        let values = program.circuit().outputs().iter().enumerate();
        let right = values.map(|(index, value)| {
            let range = program.circuit().output_range(index);
            format!("0x{}", value.hex(&value.load(&outputs, range, 0)))
        });
        Ok(Task {
            right: right.collect(),
            ands: program.and_gates(),
            text,
        })
    }

    /// So many instances of AES side by side that they have `ands` AND gates: the job for services, and the same with values for
    /// `cenote run`.
    ///
    /// # Errors
    /// Those of reading a job.
    pub(super) fn large(protocol: &str, ands: u64, parties: u8) -> Result<(Large, Self)> {
        let circuit = "lib:aes128";
        let one = Self::new(protocol, circuit, parties)?;
        let lanes = usize::try_from(ands.div_ceil(one.ands))
            .unwrap_or(usize::MAX)
            .max(1);
        let hex = |index: usize| format!("hex = \"{}\"", DATA[2 + index].1.trim());
        let large = Large {
            with_values: text(protocol, circuit, lanes, [&hex(0), &hex(1)], parties),
            data: [2, 3].map(|index: usize| (DATA[index].0, DATA[index].1.repeat(lanes))),
        };
        let task = Task {
            text: text(protocol, circuit, lanes, ["", ""], parties),
            right: vec![one.right.concat(); lanes],
            ands: one.ands * lanes as u64,
        };
        Ok((large, task))
    }
}

/// The values of a job with many instances.
pub(super) struct Large {
    /// The job with the values in it.
    pub(super) with_values: String,
    /// The data, by the names of inputs.
    pub(super) data: [(&'static str, String); 2],
}

fn read(text: &str, lanes: usize) -> Result<(Job, cenote::Program)> {
    let job = Job::from_bundle(&Bundle {
        job: text.to_owned(),
        files: BTreeMap::new(),
    })?;
    let program = job.program(lanes)?;
    Ok((job, program))
}
