//! Circuit files made by others, evaluated on published test vectors; and files of the same circuits that the library writes.

use std::path::Path;

use cenote_circuit::format::{self, Format};
use cenote_circuit::library::{AesSbox, Goal, add_with_carry, aes_encrypt, by_name};
use cenote_circuit::{Bit, BitOrder, Builder, Circuit, Plan, Statistics};
use cenote_primitives::BitMatrix;

/// A third-party circuit with the same bit order for all values, or `None` if the folder is not there.
fn third_party(name: &str, order: BitOrder) -> Option<Circuit> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/circuits");
    if !folder.is_dir() {
        println!("skipped: there is no folder of third-party circuits");
        return None;
    }
    Some(read(&std::fs::read_to_string(folder.join(name)).unwrap(), order))
}

fn lsb_first(name: &str) -> Option<Circuit> {
    third_party(name, BitOrder::Lsb)
}

/// The library's circuit, once written to a file and read again.
fn own(circuit: &Circuit, format: Format, order: BitOrder) -> Circuit {
    let mut text = Vec::new();
    format::write(circuit, format, &mut text).unwrap();
    read(std::str::from_utf8(&text).unwrap(), order)
}

fn named(name: &str) -> Circuit {
    own(&by_name(name).unwrap(), Format::Fashion, BitOrder::Lsb)
}

fn read(text: &str, order: BitOrder) -> Circuit {
    let mut circuit = format::read(text).unwrap();
    for index in 0..circuit.inputs().len() {
        circuit.set_input_order(index, order);
    }
    for index in 0..circuit.outputs().len() {
        circuit.set_output_order(index, order);
    }
    circuit
}

/// Evaluates the cases, each a lane, by gates and by plan; inputs and outputs in hexadecimal.
fn check(circuit: &Circuit, cases: &[(&[&str], &str)]) {
    let mut inputs = BitMatrix::zeros(circuit.input_wires() as usize, cases.len());
    for (index, value) in circuit.inputs().iter().enumerate() {
        let mut numbers = vec![0; value.words() * cases.len()];
        for (number, (case, _)) in numbers.chunks_exact_mut(value.words()).zip(cases) {
            assert_eq!(case.len(), circuit.inputs().len());
            value.parse_hex(case[index], number).unwrap();
        }
        value.store(&numbers, &mut inputs, circuit.input_range(index), 0);
    }
    let outputs = circuit.evaluate(&inputs).unwrap();
    let value = &circuit.outputs()[0];
    let numbers = value.load(&outputs, circuit.output_range(0), 0);
    for (lane, (number, (_, expected))) in numbers.chunks_exact(value.words()).zip(cases).enumerate() {
        assert_eq!(value.hex(number), *expected, "case {lane}");
    }
    assert_eq!(Plan::new(circuit).evaluate(&inputs).unwrap(), outputs);
}

const FIPS_197: [&str; 3] = [
    "000102030405060708090a0b0c0d0e0f",
    "00112233445566778899aabbccddeeff",
    "69c4e0d86a7b0430d8cdb78070b4c55a",
];

/// FIPS 197, appendix B.
const FIPS_197_B: [&str; 3] = [
    "2b7e151628aed2a6abf7158809cf4f3c",
    "3243f6a8885a308d313198a2e0370734",
    "3925841d02dc09fbdc118597196a0b32",
];

fn check_key_then_message(circuit: &Circuit) {
    let [key, message, cipher] = FIPS_197;
    let [key_b, message_b, cipher_b] = FIPS_197_B;
    check(
        circuit,
        &[(&[key, message], cipher), (&[key_b, message_b], cipher_b)],
    );
}

#[test]
fn our_own_aes_128_takes_key_then_message() {
    check_key_then_message(&named("aes128"));
}

#[test]
fn aes_128_takes_key_then_message() {
    let Some(circuit) = third_party("bristol-fashion/aes_128.txt", BitOrder::Lsb) else {
        return;
    };
    check_key_then_message(&circuit);
    let statistics = circuit.statistics();
    println!("{statistics:?}");
    let Statistics {
        ands,
        xors,
        nots,
        and_depth,
        ..
    } = statistics;
    assert_eq!((ands, xors, nots, and_depth), (6400, 28176, 2087, 60));
}

fn check_message_then_key(circuit: &Circuit) {
    let [key, message, cipher] = FIPS_197;
    let [key_b, message_b, cipher_b] = FIPS_197_B;
    check(
        circuit,
        &[(&[message, key], cipher), (&[message_b, key_b], cipher_b)],
    );
}

#[test]
fn our_own_aes_may_take_message_then_key_msb_first() {
    let mut b = Builder::new();
    let reversed = |bits: Vec<Bit>| bits.into_iter().rev().collect::<Vec<_>>();
    let [message, key] = ["message", "key"].map(|name| reversed(b.input(name, 128, BitOrder::Msb)));
    let ciphertext = aes_encrypt(&mut b, &key, &message, AesSbox::Balanced);
    b.output("ciphertext", &reversed(ciphertext), BitOrder::Msb);
    check_message_then_key(&own(&b.finish(), Format::Bristol, BitOrder::Msb));
}

#[test]
fn old_aes_takes_message_then_key_msb_first() {
    let Some(circuit) = third_party("bristol/AES-non-expanded.txt", BitOrder::Msb) else {
        return;
    };
    check_message_then_key(&circuit);
    let statistics = circuit.statistics();
    println!("{statistics:?}");
    let Statistics {
        ands,
        xors,
        nots,
        and_depth,
        ..
    } = statistics;
    assert_eq!((ands, xors, nots, and_depth), (6800, 25124, 1692, 40));
}

fn check_block_then_state(circuit: &Circuit) {
    let state = "6a09e667bb67ae853c6ef372a54ff53a510e527f9b05688c1f83d9ab5be0cd19";
    // FIPS 180-4: the padded block of "abc", and of the empty message.
    let abc = format!("61626380{}18", "0".repeat(118));
    let empty = format!("80{}", "0".repeat(126));
    check(
        circuit,
        &[
            (
                &[&abc, state],
                "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
            ),
            (
                &[&empty, state],
                "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
            ),
        ],
    );
}

#[test]
fn our_own_sha256_takes_block_then_state() {
    check_block_then_state(&named("sha256"));
}

#[test]
fn sha256_takes_block_then_state() {
    let Some(circuit) = third_party("bristol-fashion/sha256.txt", BitOrder::Lsb) else {
        return;
    };
    check_block_then_state(&circuit);
    let statistics = circuit.statistics();
    println!("{statistics:?}");
    let Statistics {
        ands,
        xors,
        nots,
        and_depth,
        ..
    } = statistics;
    assert_eq!((ands, xors, nots, and_depth), (22573, 110_644, 1856, 1607));
}

/// The library has no DES. What its file shows besides, the older format with the highest bit first, our own AES shows too.
#[test]
fn old_des() {
    let Some(circuit) = third_party("bristol/DES-non-expanded.txt", BitOrder::Msb) else {
        return;
    };
    // SP 800-17, tables A.1 to A.4, and the classic worked example.
    check(
        &circuit,
        &[
            (&["0123456789abcdef", "133457799bbcdff1"], "85e813540f0ab405"),
            (&["8000000000000000", "0101010101010101"], "95f8a5e5dd31d900"),
            (&["0000000000000000", "8001010101010101"], "95a8d72813daa94d"),
        ],
    );
    println!("{:?}", circuit.statistics());
}

/// Words that exercise every carry, and some without pattern.
const WORDS: [u64; 7] = [
    0,
    1,
    u64::MAX,
    1 << 63,
    0x0123_4567_89ab_cdef,
    0xfedc_ba98_7654_3211,
    0x5555_5555_5555_5555,
];

fn check_binary(circuit: Option<Circuit>, digits: usize, operation: impl Fn(u64, u64) -> u64) {
    let Some(circuit) = circuit else { return };
    let width = circuit.inputs()[0].width;
    let word = |word: u64| word >> (64 - width);
    for a in WORDS.map(word) {
        for b in WORDS.map(word) {
            check(
                &circuit,
                &[(
                    &[&format!("{a:x}"), &format!("{b:x}")],
                    &format!("{:0digits$x}", operation(a, b)),
                )],
            );
        }
    }
    println!("{:?}", circuit.statistics());
}

#[test]
fn adder64() {
    check_binary(lsb_first("bristol-fashion/adder64.txt"), 16, u64::wrapping_add);
}

#[test]
fn our_own_adder64() {
    check_binary(Some(named("add64")), 16, u64::wrapping_add);
}

#[test]
fn mult64() {
    check_binary(lsb_first("bristol-fashion/mult64.txt"), 16, u64::wrapping_mul);
}

#[test]
fn our_own_mult64() {
    check_binary(Some(named("mult64")), 16, u64::wrapping_mul);
}

#[test]
fn old_adder_32bit_has_a_carry_out() {
    check_binary(lsb_first("bristol/adder_32bit.txt"), 9, |a, b| a + b);
}

#[test]
fn our_own_adder_32bit_may_have_a_carry_out() {
    let mut b = Builder::new();
    let [x, y] = ["x", "y"].map(|name| b.input(name, 32, BitOrder::Lsb));
    let (mut sum, carry) = add_with_carry(&mut b, &x, &y, Bit::FALSE, Goal::FewestAnds);
    sum.push(carry);
    b.output("sum", &sum, BitOrder::Lsb);
    let circuit = own(&b.finish(), Format::Bristol, BitOrder::Lsb);
    check_binary(Some(circuit), 9, |a, b| a + b);
}

fn check_unary(circuit: Option<Circuit>, digits: usize, operation: impl Fn(u64) -> u64) {
    let Some(circuit) = circuit else { return };
    for a in WORDS {
        check(
            &circuit,
            &[(&[&format!("{a:x}")], &format!("{:0digits$x}", operation(a)))],
        );
    }
    println!("{:?}", circuit.statistics());
}

#[test]
fn neg64() {
    check_unary(lsb_first("bristol-fashion/neg64.txt"), 16, u64::wrapping_neg);
}

#[test]
fn our_own_neg64() {
    check_unary(Some(named("neg64")), 16, u64::wrapping_neg);
}

#[test]
fn zero_equal() {
    check_unary(lsb_first("bristol-fashion/zero_equal.txt"), 1, |a| {
        u64::from(a == 0)
    });
}

#[test]
fn our_own_zero_equal() {
    check_unary(Some(named("zero64")), 1, |a| u64::from(a == 0));
}
