//! `cenote circuit`

use cenote::Result;
use cenote::circuits::{by_name, names, open, write_file};
use cenote::text::Table;
use serde::Serialize;

use crate::args;
use cenote_console::{Command, print};

#[derive(Serialize)]
struct Stats {
    circuit: String,
    digest: String,
    and_gates: usize,
    xor_gates: usize,
    not_gates: usize,
    copies: usize,
    constants: usize,
    and_depth: usize,
    wires: usize,
    live_wires: usize,
    inputs: Vec<Value>,
    outputs: Vec<Value>,
}

#[derive(Serialize)]
struct Value {
    name: String,
    width: u32,
}

impl Command for args::Circuit {
    fn run(&self, _: u8) -> Result<()> {
        match self {
            args::Circuit::Stats { circuit, form } => {
                let stats = stats(circuit)?;
                form.print(&stats, || table(&stats))
            }
            args::Circuit::Convert {
                circuit,
                output,
                format,
            } => write_file(&open(circuit)?, (*format).into(), output),
            args::Circuit::Gen {
                name: Some(name),
                output: Some(output),
                format,
            } => write_file(&by_name(name)?, (*format).into(), output),
            args::Circuit::Gen { .. } => {
                let mut list = Table::new("l");
                names().for_each(|(name, what)| list.row(&[&name, &what]));
                print(&list.to_string())
            }
        }
    }

    fn json(&self) -> bool {
        matches!(self, args::Circuit::Stats { form, .. } if form.json)
    }
}

fn stats(text: &str) -> Result<Stats> {
    let circuit = open(text)?;
    let s = circuit.statistics();
    let values = |values: &[cenote::circuits::Value]| {
        values
            .iter()
            .map(|value| Value {
                name: value.name.clone(),
                width: value.width,
            })
            .collect()
    };
    Ok(Stats {
        circuit: text.to_owned(),
        digest: cenote::circuits::digest(&circuit),
        and_gates: s.ands,
        xor_gates: s.xors,
        not_gates: s.nots,
        copies: s.copies,
        constants: s.constants,
        and_depth: s.and_depth,
        wires: s.wires,
        live_wires: s.live_width,
        inputs: values(circuit.inputs()),
        outputs: values(circuit.outputs()),
    })
}

fn table(stats: &Stats) -> String {
    let values = |values: &[Value]| {
        values
            .iter()
            .map(|value| format!("{} ({})", value.name, value.width))
            .collect::<Vec<_>>()
            .join(", ")
    };
    let mut table = Table::new("l");
    table.row(&[&"circuit", &stats.circuit]);
    table.row(&[&"inputs", &values(&stats.inputs)]);
    table.row(&[&"outputs", &values(&stats.outputs)]);
    table.row(&[&"AND", &stats.and_gates]);
    table.row(&[&"XOR", &stats.xor_gates]);
    table.row(&[&"NOT", &stats.not_gates]);
    table.row(&[&"copies", &stats.copies]);
    table.row(&[&"constants", &stats.constants]);
    table.row(&[&"AND depth", &stats.and_depth]);
    table.row(&[&"wires", &stats.wires]);
    table.row(&[&"live wires", &stats.live_wires]);
    table.row(&[&"digest", &stats.digest]);
    table.to_string()
}
