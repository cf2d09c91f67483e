//! The bytes that are sent, which no instruction set and no rewriting may change.

use std::process::Command;

use cenote_primitives::{Simd, as_bytes};

use super::*;

fn hash(parts: &[&[u8]]) -> String {
    let mut hasher = blake3::Hasher::new();
    for part in parts {
        hasher.update(part);
    }
    hasher.finalize().to_hex()[..32].to_string()
}

#[test]
fn bytes_are_as_recorded() {
    let mut entropy = Entropy::for_tests(60);
    let pair = pair(&mut entropy);
    let mut made = pair.commit(5, 512 * 9);
    let answer = pair.committer.answer(&[made.batch], entropy.block());
    let differences: Vec<Block> = (0..600).map(|_| entropy.block()).collect();
    pair.receiver.adjust(&mut made.mine[..600], &differences);
    let mut opener = Opener::new(b"golden");
    opener.open(&made.messages[..4200], &made.theirs[..4200]);
    opener.open(&made.messages[4200..], &made.theirs[4200..]);
    let found = [
        hash(&[&made.corrections]),
        hash(&[as_bytes(&made.messages), as_bytes(&made.theirs)]),
        hash(&[as_bytes(&made.mine)]),
        hash(&[&answer]),
        hash(&[&opener.finish()]),
    ];
    let recorded = [
        "60f80c35e6a65dec198f1a59edcb6f16",
        "2563afda027dc0f2db4f3e20f97f1bea",
        "933aa6826bb05116ff0fcffdd27329f7",
        "3bac687224fa73dcab33c041ce1f87c3",
        "542446515c90cfcf052aad10b30d8f3d",
    ];
    assert_eq!(found, recorded, "on {}", Simd::detect());
}

/// The instruction set is chosen once per process, so each level gets a process.
#[test]
fn every_instruction_set_computes_the_same_bytes() {
    for level in Simd::supported() {
        let output = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "tests::golden::bytes_are_as_recorded"])
            .env("CENOTE_SIMD", level.to_string())
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{level}: {text}");
        assert!(text.contains("1 passed"), "{level}: {text}");
    }
}
