//! The circuits that are run over a pool.

use std::fmt;
use std::str::FromStr;

use cenote::{Error, Result, circuits};
use cenote_circuit::{BitOrder, Builder, Circuit, Plan};
use cenote_net::PartyId;
use cenote_primitives::BitMatrix;
use cenote_session::{Engine, Parties, WireVector};
use serde::{Deserialize, Serialize};

use crate::sample;

/// A circuit, and how many instances of it run side by side.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Load {
    /// A circuit file, `lib:NAME`, or `muxN` for a multiplexer of N bits.
    pub circuit: String,
    /// Instances.
    pub lanes: usize,
}

impl Load {
    pub(crate) fn new(circuit: impl Into<String>, lanes: usize) -> Self {
        Self {
            circuit: circuit.into(),
            lanes,
        }
    }

    fn open(&self) -> Result<Circuit> {
        let width = self
            .circuit
            .strip_prefix("mux")
            .and_then(|width| width.parse().ok());
        match width {
            Some(width @ 1..=4096) => Ok(mux(width)),
            _ => circuits::open(&self.circuit),
        }
    }
}

/// One of two values.
fn mux(width: u32) -> Circuit {
    let mut b = Builder::new();
    let x = b.input("x", width, BitOrder::Lsb);
    let y = b.input("y", width, BitOrder::Lsb);
    let choice = b.input("choice", 1, BitOrder::Lsb)[0];
    let mut chosen = Vec::new();
    for (&x, &y) in x.iter().zip(&y) {
        let differ = b.xor(x, y);
        let change = b.and(differ, choice);
        chosen.push(b.xor(change, y));
    }
    b.output("chosen", &chosen, BitOrder::Lsb);
    b.finish()
}

impl fmt::Display for Load {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{}={}", self.circuit, self.lanes))
    }
}

impl FromStr for Load {
    type Err = String;

    /// `CIRCUIT=LANES`, or `CIRCUIT` for one lane.
    fn from_str(text: &str) -> std::result::Result<Self, String> {
        let (circuit, lanes) = text.rsplit_once('=').unwrap_or((text, "1"));
        let lanes = lanes.parse().ok().filter(|lanes| (1..=1 << 20).contains(lanes));
        Ok(Load {
            circuit: circuit.into(),
            lanes: lanes.ok_or("instances of a circuit are a number from 1 to 2^20")?,
        })
    }
}

/// A circuit with made-up inputs, and the outputs that they must give.
pub(crate) struct Work {
    plan: Plan,
    /// Input wires of each value.
    widths: Vec<usize>,
    inputs: BitMatrix,
    expected: BitMatrix,
}

impl Work {
    pub(crate) fn open(load: &Load) -> Result<Self> {
        let circuit = load.open()?;
        let plan = Plan::new(&circuit);
        if plan.and_count() == 0 {
            let what = format!("{} has no AND gates; there is nothing to measure", load.circuit);
            return Err(Error::Usage(what));
        }
        let inputs = sample::bits(1, plan.input_wires(), load.lanes);
        let expected = plan.evaluate(&inputs).expect("one row for each input wire");
        Ok(Work {
            widths: circuit
                .inputs()
                .iter()
                .map(|value| value.width as usize)
                .collect(),
            plan,
            inputs,
            expected,
        })
    }

    pub(crate) fn and_gates(&self) -> u64 {
        (self.plan.and_count() * self.inputs.lanes()) as u64
    }

    /// Secret inputs: the parties own the values in turn.
    pub(crate) fn inputs<E: Engine>(&self, engine: &mut E) -> Result<E::Wires> {
        let mut values = Vec::new();
        let mut first = 0;
        for (index, &width) in self.widths.iter().enumerate() {
            let owner = PartyId((index % 2) as u8);
            let own = (owner == engine.me()).then(|| sample::rows(&self.inputs, first..first + width));
            values.push(engine.input(owner, width, self.inputs.lanes(), own.as_ref())?);
            first += width;
        }
        Ok(E::Wires::concat(&values.iter().collect::<Vec<_>>()))
    }

    /// From inputs to outputs, which the evaluator gets and compares.
    pub(crate) fn run<E: Engine>(&self, engine: &mut E, inputs: &E::Wires) -> Result<()> {
        let outputs = engine.run(&self.plan, inputs)?;
        match engine.reveal(&outputs, Parties::one(PartyId(1)))? {
            Some(opened) if opened != self.expected => {
                let bug = std::io::Error::other("they differ from plain evaluation");
                Err(Error::local("checking the outputs", bug))
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loads_are_read_as_they_are_written() {
        for load in ["lib:aes128=64", "lib:sha256=1"].map(|load| load.parse::<Load>().unwrap()) {
            assert_eq!(load.to_string().parse(), Ok(load));
        }
        assert_eq!("x/a=b.txt=3".parse::<Load>().unwrap().circuit, "x/a=b.txt");
        assert_eq!("lib:add64".parse::<Load>().unwrap().lanes, 1);
        for wrong in ["lib:add64=", "lib:add64=0", "lib:add64=x"] {
            assert!(
                wrong.parse::<Load>().unwrap_err().contains("1 to 2^20"),
                "{wrong}"
            );
        }
    }
}
