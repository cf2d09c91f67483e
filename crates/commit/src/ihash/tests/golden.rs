//! The bytes that are sent and stored, which no instruction set and no rewriting may change.

use std::process::Command;

use cenote_primitives::Simd;

use super::*;

#[test]
fn bytes_are_as_recorded() {
    let mut entropy = Entropy::for_tests(130);
    let pair = Pair::new(&usual(), &mut entropy);
    let (batch, labels, random) = pair.make(3, 1000);
    let hashes = pair.receive_random(batch, &random);
    let (batch, chosen) = pair.choose(99, &labels);
    assert!(hashes == pair.receive_chosen(batch, &chosen));
    let found = [as_bytes(&labels), &random, &chosen, as_bytes(&hashes)]
        .map(|bytes| blake3::hash(bytes).to_hex()[..32].to_string());
    let recorded = [
        "0ebe771d7ab654fd96e6b98ac5175417",
        "2a4a5103053e46af8efbf99e769a1620",
        "6281c6a7ab86513b177e22e8e69e1670",
        "38d200f64a9f51dddfc280cb26b9d6df",
    ];
    assert_eq!(found, recorded, "on {}", Simd::detect());
}

/// The instruction set is chosen once per process, so each level gets a process.
#[test]
fn every_instruction_set_computes_the_same_bytes() {
    for level in Simd::supported() {
        let output = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "ihash::tests::golden::bytes_are_as_recorded"])
            .env("CENOTE_SIMD", level.to_string())
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{level}: {text}");
        assert!(text.contains("1 passed"), "{level}: {text}");
    }
}
