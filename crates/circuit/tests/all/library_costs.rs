//! The costs that the documentation of the library states are those of the circuits.

use cenote_circuit::library::{NAMES, NameError, by_name, by_name_within};

/// The rows of the table in the module documentation: name, ANDs, XORs, AND depth.
fn table() -> Vec<(String, [usize; 3])> {
    include_str!("../../src/library/mod.rs")
        .lines()
        .filter_map(|line| line.strip_prefix("//! | `"))
        .map(|row| {
            let cells: Vec<&str> = row
                .split('|')
                .map(|cell| cell.trim().trim_end_matches('`'))
                .collect();
            let number = |i: usize| cells[i].parse().expect("a number");
            (cells[0].to_owned(), [number(1), number(2), number(3)])
        })
        .collect()
}

/// ANDs, XORs and AND depth of a circuit.
fn measured(name: &str) -> [usize; 3] {
    let statistics = by_name(name)
        .unwrap_or_else(|error| panic!("{name}: {error}"))
        .statistics();
    [statistics.ands, statistics.xors, statistics.and_depth]
}

/// The costs of sorting so many words of 32 bits, from those of sorting as many words of two bits: each consists of as many exchanges,
/// and of as many levels of them, as it costs times as much as sorting two.
fn of_exchanges(count: usize, suffix: &str) -> [usize; 3] {
    let all = measured(&format!("sort{count}x2{suffix}"));
    let one = measured(&format!("sort2x2{suffix}"));
    let [exchanges, as_many, levels] = [0, 1, 2].map(|at| {
        assert_eq!(all[at] % one[at], 0, "{count}{suffix}");
        all[at] / one[at]
    });
    assert_eq!(exchanges, as_many, "{count}{suffix}");
    let [ands, xors, depth] = measured(&format!("sort2x32{suffix}"));
    [exchanges * ands, exchanges * xors, levels * depth]
}

/// Sorts of so many words take millions of gates, and seconds.
const LARGEST: &str = "sort1024x32";

#[test]
fn the_documented_costs_are_exact() {
    let table = table();
    assert!(table.len() >= 60, "the table was not found");
    let mut wrong = false;
    for (name, documented) in table {
        let measured = match name.strip_prefix(LARGEST) {
            Some(suffix) => of_exchanges(1024, suffix),
            None => measured(&name),
        };
        println!(
            "//! | `{name}` | {} | {} | {} |",
            measured[0], measured[1], measured[2]
        );
        wrong |= measured != documented;
    }
    assert!(!wrong, "the counts above are right, those of the table are not");
}

/// What is measured by exchanges costs so much.
#[test]
fn sorts_cost_as_much_as_their_exchanges() {
    for suffix in ["", "-depth"] {
        for count in [16, 64, 100] {
            let whole = measured(&format!("sort{count}x32{suffix}"));
            assert_eq!(of_exchanges(count, suffix), whole, "{count}{suffix}");
        }
    }
}

#[test]
#[ignore = "takes as long as all other tests of the costs"]
fn the_documented_costs_of_the_largest_are_exact() {
    let table = table();
    let largest = table.iter().filter(|(name, _)| name.starts_with(LARGEST));
    assert_eq!(largest.clone().count(), 2);
    for (name, documented) in largest {
        assert_eq!(measured(name), *documented, "{name}");
    }
}

#[test]
fn every_listed_form_is_known() {
    for (form, _) in NAMES {
        let name = form
            .replace("PxN-L", "3x8-100")
            .replace("MxN", "9x4")
            .replace('N', "8");
        let circuit = by_name(&name).unwrap_or_else(|error| panic!("{name}: {error}"));
        let shallow = by_name(&format!("{name}-depth")).unwrap();
        assert_eq!(circuit.inputs(), shallow.inputs(), "{name}");
        assert_eq!(circuit.outputs(), shallow.outputs(), "{name}");
        let (circuit, shallow) = (circuit.statistics(), shallow.statistics());
        assert!(
            circuit.ands <= shallow.ands && circuit.and_depth >= shallow.and_depth,
            "{name}"
        );
    }
}

#[test]
fn a_circuit_is_built_within_a_bound_or_not_at_all() {
    for (form, _) in NAMES {
        let name = form
            .replace("PxN-L", "30x8-100")
            .replace("MxN", "40x8")
            .replace('N', "24");
        for name in [format!("{name}-depth"), name] {
            let whole = by_name(&name).unwrap();
            let gates = whole.gates().len();
            // Those that are not needed in the end, and negations, make the difference.
            assert_eq!(by_name_within(&name, 4 * gates), Ok(whole), "{name}");
            for most in [0, 1, gates / 4] {
                assert_eq!(by_name_within(&name, most), Err(NameError::Gates(most)), "{name}");
            }
        }
    }
    // What would be larger than anybody wants takes neither its memory nor its time.
    for name in ["sort4096x32", "div512-depth", "permute4096x32"] {
        assert_eq!(
            by_name_within(name, 10_000),
            Err(NameError::Gates(10_000)),
            "{name}"
        );
    }
}

#[test]
fn other_names_are_refused() {
    let names = [
        "",
        "add",
        "add-1",
        "add+8",
        "add8x",
        "32",
        "aes",
        "aes512",
        "aes128-encrypt",
        "div32-decrypt",
        "sha512-single",
        "keccak",
        "add8-balanced",
        "sha256-balanced",
        "add8-depth-depth",
        "exposure",
        "exposure3",
        "exposure3x8",
        "exposure3x8-",
        "sort8",
        "sort8x",
        "sort8x8x8",
        "sort8x+8",
        "ADD8",
        " add8",
        "add٣",
    ];
    for name in names {
        assert_eq!(by_name(name), Err(NameError::Unknown), "{name:?}");
    }
    let sizes = [
        "add0",
        "add99999999999",
        "add5000",
        "mult513",
        "div513",
        "sdiv0",
        "shl4097",
        "compact4096x33",
        "permute0x1",
        "exposure0x8-1",
        "exposure3x65-1",
        "exposure3x8-99999999999999999999",
        "exposure2000x8-1",
        "sort0x8",
        "sort8x0",
        "sort8x65",
        "sort4097x1",
        "sort4096x33",
        "ssort4096x33",
        "sort99999999999999999999x8",
    ];
    for name in sizes {
        assert!(matches!(by_name(name), Err(NameError::Size(_))), "{name:?}");
    }
}
