//! Functions with the number of their ANDs: that of the circuit that is run.

use std::collections::HashMap;
use std::sync::{LazyLock, Mutex};

use cenote_circuit::library::Goal;
use cenote_circuit::{Bit, BitOrder, Builder};

use crate::op::Called;

/// A function, and how many ANDs it has on operands of these widths.
pub(super) struct Counted {
    pub(super) called: Called,
    pub(super) ands: u64,
}

/// What adds the gates of a function.
pub(super) type Gates = Box<dyn Fn(&mut Builder, &[&[Bit]], Goal) -> Vec<Bit> + Send + Sync>;

impl Counted {
    /// The function `name`, which determines the rest.
    pub(super) fn new(name: String, operands: &[u32], gates: Gates) -> Self {
        static KNOWN: LazyLock<Mutex<HashMap<String, u64>>> = LazyLock::new(Mutex::default);
        let known = || KNOWN.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let counted = known().get(&name).copied();
        let ands = counted.unwrap_or_else(|| {
            let ands = count(operands, &gates);
            known().insert(name.clone(), ands);
            ands
        });
        Self {
            called: Called::new(name, ands, gates),
            ands,
        }
    }
}

fn count(operands: &[u32], gates: &Gates) -> u64 {
    let mut b = Builder::new();
    let inputs: Vec<Vec<Bit>> = operands
        .iter()
        .map(|&width| b.input("", width, BitOrder::Lsb))
        .collect();
    let inputs: Vec<&[Bit]> = inputs.iter().map(Vec::as_slice).collect();
    let outputs = gates(&mut b, &inputs, Goal::FewestAnds);
    b.output("", &outputs, BitOrder::Lsb);
    b.finish().statistics().ands as u64
}
