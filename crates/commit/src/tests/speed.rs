//! Time per commitment: `cargo test --release -p cenote-lego --lib commit::tests::speed -- --ignored --nocapture`.

use std::sync::LazyLock;
use std::time::Instant;

use super::*;

/// Seconds of CPU time of this thread where the system tells them, so that a busy machine disturbs less; else of a clock.
pub(crate) fn now() -> f64 {
    static START: LazyLock<Instant> = LazyLock::new(Instant::now);
    let nanoseconds = std::fs::read_to_string("/proc/thread-self/schedstat")
        .ok()
        .and_then(|text| text.split(' ').next()?.parse::<f64>().ok());
    nanoseconds.map_or_else(|| START.elapsed().as_secs_f64(), |time| time * 1e-9)
}

#[test]
#[ignore = "measures; it checks nothing that others do not"]
fn speed() {
    const COLUMNS: usize = 1 << 20;
    const ROUNDS: usize = 8;
    let mut entropy = Entropy::for_tests(70);
    let pair = pair(&mut entropy);
    for chunk in [512, 4096, 16384, COLUMNS] {
        let mut made = pair.begin(0, COLUMNS);
        let part = Batch {
            first: 0,
            columns: chunk,
        };
        let batch = |i: usize| Batch {
            first: (i * chunk / BATCH_UNIT) as u64,
            columns: chunk,
        };
        let print = |name: &str, work: &mut dyn FnMut()| {
            work();
            let start = now();
            (0..ROUNDS).for_each(|_| work());
            let time = (now() - start) * 1e9 / (ROUNDS * COLUMNS) as f64;
            print!("{name} {time:.1}  ");
        };
        print!("pieces of {chunk:8} (ns each):  ");
        print("commit", &mut || {
            let outputs = made
                .messages
                .chunks_mut(chunk)
                .zip(made.theirs.chunks_mut(chunk))
                .zip(made.corrections.chunks_mut(part.correction_bytes()));
            for (i, ((messages, shares), corrections)) in outputs.enumerate() {
                pair.committer.commit(batch(i), messages, shares, corrections);
            }
        });
        print("receive", &mut || {
            let outputs = made
                .mine
                .chunks_mut(chunk)
                .zip(made.corrections.chunks(part.correction_bytes()));
            for (i, (shares, corrections)) in outputs.enumerate() {
                pair.receiver.receive(batch(i), corrections, shares);
            }
        });
        let alpha = entropy.block();
        let mut answer = Vec::new();
        print("answer", &mut || {
            answer = pair.committer.answer(&[made.batch], alpha);
        });
        print("check", &mut || {
            let mut check = pair.receiver.check(alpha);
            made.mine.chunks(chunk).for_each(|shares| check.absorb(shares));
            assert!(check.finish(&answer).is_ok());
        });
        let mut proof = Vec::new();
        print("open", &mut || {
            let mut opener = Opener::new(b"");
            for (messages, shares) in made.messages.chunks(chunk).zip(made.theirs.chunks(chunk)) {
                opener.open(messages, shares);
            }
            proof = opener.finish();
        });
        print("verify", &mut || {
            let mut verifier = pair.receiver.verify(b"");
            for (messages, shares) in made.messages.chunks(chunk).zip(made.mine.chunks(chunk)) {
                verifier.absorb(messages, shares);
            }
            assert_eq!(verifier.finish(&proof), Ok(()));
        });
        let differences = made.messages.clone();
        print("adjust", &mut || {
            for (shares, differences) in made.mine.chunks_mut(chunk).zip(differences.chunks(chunk)) {
                pair.receiver.adjust(shares, differences);
            }
        });
        println!();
    }
}
