use std::collections::BTreeMap;

use super::*;

/// A job over a circuit of the library with two inputs and one output, of parties 0 and 1, for parties 0 and 1 and, of three, 2.
pub(crate) fn bundle(circuit: &str, parties: u8) -> Bundle {
    let (protocol, to) = match parties {
        2 => ("authenticated", "[0, 1]"),
        _ => ("three", "[0, 1, 2]"),
    };
    Bundle {
        job: format!(
            "protocol = \"{protocol}\"\ncircuit = \"lib:{circuit}\"\nlanes = 1\n[[input]]\nparty = 0\n[[input]]\nparty = 1\n\
             [[output]]\nto = {to}\n"
        ),
        files: BTreeMap::new(),
    }
}

#[test]
fn a_program_says_what_it_takes() {
    let compiled = Compiled::new(bundle("add8", 3), Digest::of(b""), 2).expect("compiles");
    let kinds: Vec<(&str, u8)> = compiled
        .inputs
        .iter()
        .map(|input| (input.kind.as_str(), input.owner))
        .collect();
    assert_eq!(kinds, [("u8", 0), ("u8", 1)]);
    assert_eq!(
        (compiled.parties(), compiled.receivers.as_slice()),
        (3, [0, 1, 2].as_slice())
    );
    assert_eq!(compiled.size.ands, 7);
    assert!(
        compiled.memory.len() == 3 && compiled.memory.iter().all(|bytes| (1..64 << 20).contains(bytes)),
        "{:?}",
        compiled.memory
    );
    assert_eq!(compiled.outputs()[0].to, [0, 1, 2]);
    assert!(compiled.summary().contains("lib:add8"), "{}", compiled.summary());
}
