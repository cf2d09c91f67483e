//! Circuits of all sizes: of the library, and without any sense.

use cenote_circuit::{Bit, BitOrder, Builder, Plan, library};

use super::dice::Dice;

/// AND gates of the smallest computation, about.
pub(super) const SMALLEST: u64 = 10;

/// AND gates of the largest circuit: larger computations have more lanes.
pub(super) const MOST_GATES: u64 = 1 << 17;

/// Circuits of the library, and their AND gates.
const LIBRARY: [(&str, u64); 14] = [
    ("eq16", 15),
    ("add32", 31),
    ("popcount64", 63),
    ("lt64", 64),
    ("shl32", 166),
    ("div16", 196),
    ("mult16", 241),
    ("sdiv64", 2586),
    ("mult64", 3601),
    ("sort32x16", 5920),
    ("aes128", 6400),
    ("sha256", 22_271),
    ("keccak-f", 38_400),
    ("sha512", 57_572),
];

/// A circuit of `gates` AND gates, about.
pub(super) fn of_size(dice: &mut Dice, gates: u64) -> Plan {
    if dice.once_in(3) {
        let (name, size) = LIBRARY[dice.below(LIBRARY.len())];
        if size <= gates {
            return of_library(name);
        }
    }
    random(dice, gates.min(MOST_GATES))
}

/// Those of the library that have at most so many AND gates.
pub(super) fn up_to(gates: u64) -> impl Iterator<Item = Plan> {
    let names = LIBRARY.into_iter().filter(move |&(_, size)| size <= gates);
    names.map(|(name, _)| of_library(name))
}

fn of_library(name: &str) -> Plan {
    let circuit = library::by_name(name).expect("the library has it");
    Plan::new(&circuit)
}

/// As many inputs as any circuit of this stream has for so few gates.
pub(super) fn widest() -> Plan {
    let mut b = Builder::new();
    let inputs = b.input("in", MOST_INPUTS, BitOrder::Lsb);
    let mut all = inputs[0];
    for pair in inputs.chunks_exact(2).take(SMALLEST as usize) {
        let both = b.and(pair[0], pair[1]);
        all = b.xor(all, both);
    }
    b.output("out", &[all], BitOrder::Lsb);
    Plan::new(&b.finish())
}

/// Inputs of a circuit without sense, at most.
const MOST_INPUTS: u32 = 128;

/// A circuit without sense: wide or deep, with gates whose operands coincide with inputs, outputs and each other.
pub(super) fn random(dice: &mut Dice, gates: u64) -> Plan {
    let mut b = Builder::new();
    let inputs = 4 + dice.below(MOST_INPUTS as usize - 3) as u32;
    let mut known: Vec<Bit> = b.input("in", inputs, BitOrder::Lsb);
    // Operands are among so many of the last bits: the fewer they are, the deeper is the circuit.
    let window = dice.magnitude(4, 4096) as usize;
    let mut ands = 0;
    while ands < gates {
        let mut operand = || known[known.len() - 1 - dice.below(window.min(known.len()))];
        let (x, y) = (operand(), operand());
        let bit = match dice.below(5) {
            0 | 1 => {
                ands += 1;
                b.and(x, y)
            }
            2 | 3 => b.xor(x, y),
            _ => !x,
        };
        known.push(bit);
    }
    let outputs = 1 + dice.below(128.min(known.len()));
    let step = 1 + dice.below(3);
    let last: Vec<Bit> = known.iter().rev().step_by(step).take(outputs).copied().collect();
    b.output("out", &last, BitOrder::Lsb);
    Plan::new(&b.finish())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn circuits_have_about_the_size_asked_for() {
        let mut dice = Dice::new(1);
        for (name, size) in LIBRARY {
            assert_eq!(of_library(name).and_count() as u64, size, "{name}");
        }
        for gates in [10, 100, 3000] {
            let sizes: Vec<u64> = (0..20)
                .map(|_| of_size(&mut dice, gates).and_count() as u64)
                .collect();
            assert!(sizes.iter().all(|&size| size <= gates), "{gates}: {sizes:?}");
            assert!(sizes.iter().any(|&size| size * 3 > gates), "{gates}: {sizes:?}");
        }
        assert!((0..8).any(|_| random(&mut dice, MOST_GATES).and_count() > 50_000));
    }
}
