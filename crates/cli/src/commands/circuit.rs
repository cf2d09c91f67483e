//! `cenote circuit`

use cenote::Result;
use cenote::circuits::{by_name, names, open, write_file};
use serde::Serialize;

use crate::args;
use crate::console::{print, print_json};

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

pub(crate) fn run(command: &args::Circuit) -> Result<()> {
    match command {
        args::Circuit::Stats { circuit, json } => {
            let stats = stats(circuit)?;
            if *json {
                print_json(&stats)
            } else {
                print(&table(&stats))
            }
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
            let list: String = names()
                .map(|(name, what)| format!("{name:<20} {what}\n"))
                .collect();
            print(&list)
        }
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
    let rows = [
        ("circuit", stats.circuit.clone()),
        ("inputs", values(&stats.inputs)),
        ("outputs", values(&stats.outputs)),
        ("AND", stats.and_gates.to_string()),
        ("XOR", stats.xor_gates.to_string()),
        ("NOT", stats.not_gates.to_string()),
        ("copies", stats.copies.to_string()),
        ("constants", stats.constants.to_string()),
        ("AND depth", stats.and_depth.to_string()),
        ("wires", stats.wires.to_string()),
        ("live wires", stats.live_wires.to_string()),
        ("digest", stats.digest.clone()),
    ];
    rows.iter()
        .map(|(name, text)| format!("{name:<12} {text}\n"))
        .collect()
}
