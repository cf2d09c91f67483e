//! Circuits in files, with three parties, against independent implementations: those that others have published, and those of
//! the library.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use aes::Aes128;
use aes::cipher::{BlockCipherEncrypt, KeyInit};
use sha2::{Digest, Sha256};

use crate::common::{cenote, own_circuit, published, run, write};

const LANES: usize = 10_000;
/// Enough for the library's circuits, whose gates other tests compare too.
const FEW_LANES: usize = 600;

/// Where a circuit comes from.
#[derive(Clone, Copy, Debug)]
enum File {
    /// Others have published it.
    Published(&'static str),
    /// The library's circuit of this name, in this format.
    Own(&'static str, &'static str),
}

impl File {
    fn path(self, folder: &Path) -> Option<PathBuf> {
        match self {
            Self::Published(name) => published(name),
            Self::Own(name, format) => Some(own_circuit(folder, name, format)),
        }
    }
}

/// A circuit, and the plain function that it computes on hexadecimal numbers.
struct Case {
    file: File,
    widths: &'static [usize],
    order: &'static str,
    variant: &'static str,
    function: fn(&[String]) -> String,
}

const ADDER: Case = Case {
    file: File::Published("bristol-fashion/adder64.txt"),
    widths: &[64, 64],
    order: "lsb",
    variant: "on-demand",
    function: |inputs| format!("{:016x}", word(&inputs[0]).wrapping_add(word(&inputs[1]))),
};
const MULTIPLIER: Case = Case {
    file: File::Published("bristol-fashion/mult64.txt"),
    widths: &[64, 64],
    order: "lsb",
    variant: "cache-efficient",
    function: |inputs| format!("{:016x}", word(&inputs[0]).wrapping_mul(word(&inputs[1]))),
};
const AES: Case = Case {
    file: File::Published("bristol-fashion/aes_128.txt"),
    widths: &[128, 128],
    order: "lsb",
    variant: "on-demand",
    function: |inputs| aes(&inputs[0], &inputs[1]),
};
const OLD_AES: Case = Case {
    file: File::Published("bristol/AES-non-expanded.txt"),
    widths: &[128, 128],
    order: "msb",
    variant: "baseline",
    function: |inputs| aes(&inputs[1], &inputs[0]),
};

fn word(hex: &str) -> u64 {
    u64::from_str_radix(hex, 16).unwrap()
}

fn bytes<const N: usize>(hex: &str) -> [u8; N] {
    std::array::from_fn(|i| u8::from_str_radix(&hex[2 * i..2 * i + 2], 16).unwrap())
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").unwrap();
        text
    })
}

/// The number whose bits come in the other order.
fn reversed(number: &str) -> String {
    let bytes: Vec<u8> = bytes::<16>(number)
        .iter()
        .rev()
        .map(|byte| byte.reverse_bits())
        .collect();
    hex(&bytes)
}

fn aes(key: &str, message: &str) -> String {
    let mut block = bytes::<16>(message).into();
    Aes128::new(&bytes::<16>(key).into()).encrypt_block(&mut block);
    hex(&block)
}

/// A number of `width` bits that depends on the test's input and lane.
fn number(input: usize, lane: usize, width: usize) -> String {
    let digest = Sha256::digest(format!("{input} {lane}"));
    hex(&digest[..width / 8])
}

/// Runs the case's circuit on `lanes` lanes, and compares all outputs with the plain function.
fn check(case: &Case, lanes: usize) {
    let folder = tempfile::tempdir().unwrap();
    let Some(circuit) = case.file.path(folder.path()) else {
        return;
    };
    let values = |lane| -> Vec<String> {
        case.widths
            .iter()
            .enumerate()
            .map(|(input, &width)| number(input, lane, width))
            .collect()
    };
    let mut job = format!(
        "protocol = \"three\"\nvariant = \"{}\"\ncircuit = {circuit:?}\n",
        case.variant
    );
    for input in 0..case.widths.len() {
        let (party, order) = (input % 3, case.order);
        let source = if lanes == 1 {
            format!("hex = \"{}\"", values(0)[input])
        } else {
            let lines: String = (0..lanes)
                .map(|lane| format!("0x{}\n", values(lane)[input]))
                .collect();
            write(folder.path(), &format!("input{input}.csv"), &lines);
            format!("file = \"input{input}.csv\"")
        };
        write!(job, "[[input]]\nparty = {party}\n{source}\norder = \"{order}\"\n").unwrap();
    }
    write!(job, "[[output]]\nto = [2, 0]\norder = \"{}\"\n", case.order).unwrap();
    let job = write(folder.path(), "job.toml", &job);
    let report = run(cenote().arg("run").arg(job).arg("--json")).json();

    let outputs: Vec<&str> = report["outputs"][0]["values"]
        .as_array()
        .unwrap()
        .iter()
        .map(|value| value.as_str().unwrap())
        .collect();
    assert_eq!(outputs.len(), lanes);
    for (lane, output) in outputs.into_iter().enumerate() {
        assert_eq!(
            output,
            format!("0x{}", (case.function)(&values(lane))),
            "{:?} lane {lane}",
            case.file
        );
    }
    let each = report["circuit"]["and_gates"].as_u64().unwrap();
    assert_eq!(report["and_gates"].as_u64().unwrap(), each * lanes as u64);
    assert!(report["error_log2"].as_f64().unwrap() <= -40.0 + 1e-9);
}

#[test]
fn adder() {
    check(&ADDER, 1);
    check(&ADDER, LANES);
}

#[test]
fn multiplier() {
    check(&MULTIPLIER, 1);
    check(&MULTIPLIER, LANES);
}

#[test]
fn aes_128() {
    check(&AES, 1);
    check(&AES, LANES);
}

#[test]
fn old_aes() {
    check(&OLD_AES, 1);
    check(&OLD_AES, LANES);
}

#[test]
fn our_own_adder() {
    let case = Case {
        file: File::Own("add64", "fashion"),
        ..ADDER
    };
    check(&case, 1);
    check(&case, FEW_LANES);
}

#[test]
fn our_own_multiplier() {
    let case = Case {
        file: File::Own("mult64", "fashion"),
        ..MULTIPLIER
    };
    check(&case, 1);
    check(&case, FEW_LANES);
}

#[test]
fn our_own_aes_128() {
    let case = Case {
        file: File::Own("aes128", "fashion"),
        ..AES
    };
    check(&case, 1);
    check(&case, FEW_LANES);
}

/// The older format, with numbers whose first wire is taken for the highest bit: the circuit meets them reversed.
#[test]
fn our_own_aes_in_the_old_format() {
    let case = Case {
        file: File::Own("aes128", "bristol"),
        function: |inputs| reversed(&aes(&reversed(&inputs[0]), &reversed(&inputs[1]))),
        ..OLD_AES
    };
    check(&case, 1);
    check(&case, FEW_LANES);
}

/// FIPS 197, Appendix C.1.
fn check_aes_of_the_standard(folder: &Path, circuit: &Path, values: [&str; 2], order: &str) {
    let job = format!(
        "protocol = \"three\"\ncircuit = {circuit:?}\n\
         [[input]]\nparty = 0\nhex = \"{}\"\norder = \"{order}\"\n\
         [[input]]\nparty = 2\nhex = \"{}\"\norder = \"{order}\"\n\
         [[output]]\nto = [1]\norder = \"{order}\"\n",
        values[0], values[1]
    );
    let job = write(folder, "job.toml", &job);
    let ended = run(cenote().arg("run").arg(job));
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert!(
        ended.stdout.contains("0x69c4e0d86a7b0430d8cdb78070b4c55a"),
        "{}",
        ended.stdout
    );
}

const KEY: &str = "000102030405060708090a0b0c0d0e0f";
const MESSAGE: &str = "00112233445566778899aabbccddeeff";

/// Through both published circuits, whose orders of values and bits differ.
#[test]
fn aes_of_the_standard() {
    for (file, values, order) in [
        ("bristol-fashion/aes_128.txt", [KEY, MESSAGE], "lsb"),
        ("bristol/AES-non-expanded.txt", [MESSAGE, KEY], "msb"),
    ] {
        let Some(circuit) = published(file) else { continue };
        let folder = tempfile::tempdir().unwrap();
        check_aes_of_the_standard(folder.path(), &circuit, values, order);
    }
}

#[test]
fn aes_of_the_standard_through_our_own_files() {
    for format in ["fashion", "bristol"] {
        let folder = tempfile::tempdir().unwrap();
        let circuit = own_circuit(folder.path(), "aes128", format);
        check_aes_of_the_standard(folder.path(), &circuit, [KEY, MESSAGE], "lsb");
    }
}

#[test]
fn sha_256() {
    check_sha_256(File::Published("bristol-fashion/sha256.txt"), LANES);
}

#[test]
fn our_own_sha_256() {
    check_sha_256(File::Own("sha256", "fashion"), FEW_LANES);
}

/// FIPS 180-4: one padded block; the state is the standard's initial one.
fn check_sha_256(file: File, lanes: usize) {
    let state = "6a09e667bb67ae853c6ef372a54ff53a510e527f9b05688c1f83d9ab5be0cd19";
    for lanes in [1, lanes] {
        let folder = tempfile::tempdir().unwrap();
        let Some(circuit) = file.path(folder.path()) else {
            return;
        };
        let message = |lane: usize| {
            format!(
                "abc{}",
                if lane == 0 {
                    String::new()
                } else {
                    lane.to_string()
                }
            )
        };
        let padded = |lane: usize| {
            let message = message(lane);
            let mut block = [0u8; 64];
            block[..message.len()].copy_from_slice(message.as_bytes());
            block[message.len()] = 0x80;
            block[63] = 8 * message.len() as u8;
            format!("0x{}\n", hex(&block))
        };
        write(
            folder.path(),
            "blocks.csv",
            &(0..lanes).map(padded).collect::<String>(),
        );
        let job = format!(
            "protocol = \"three\"\ncircuit = {circuit:?}\nlanes = {lanes}\n\
             [[input]]\nparty = 1\nfile = \"blocks.csv\"\n\
             [[input]]\nparty = 0\nhex = \"{state}\"\n\
             [[output]]\nto = [0, 1, 2]\nfile = \"digests.csv\"\n"
        );
        let job = write(folder.path(), "job.toml", &job);
        let ended = run(cenote().arg("run").arg(job));
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
        let digests = std::fs::read_to_string(folder.path().join("digests.csv")).unwrap();
        assert_eq!(digests.lines().count(), lanes);
        for (lane, digest) in digests.lines().enumerate() {
            assert_eq!(
                digest,
                format!("0x{}", hex(&Sha256::digest(message(lane)))),
                "lane {lane}"
            );
        }
    }
}
