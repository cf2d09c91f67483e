//! Golden transcripts: with fixed randomness the bytes that each party sends are the recorded ones, on every
//! instruction set. A change here is a change of the protocol on the wire: raise the version in the handshake, then
//! record anew what this test prints.

use std::process::Command;
use std::sync::Arc;

use crate::common::intercept::{Spy, Thread};
use crate::common::session::{Change, Session, input_of, share, small_answer, small_input, small_plan};
use crate::common::{proofs, tiny};
use cenote_params::three::Variant;
use cenote_primitives::Simd;
use cenote_session::{Engine, Parties, Result, WireVector};
use cenote_three::{Lag, ThreeEngine, ViewCheck, steps};
use sha2::{Digest, Sha256};

/// Per variant and view check, the first 8 bytes of the SHA-256 of what parties 0, 1 and 2 send.
const RECORDED: [(Variant, ViewCheck, [&str; 3]); 5] = [
    (
        Variant::OnDemand,
        ViewCheck::Mac,
        ["712eb9a402873eb5", "c4bf742a7c0e6cd1", "e92a73c937c63f47"],
    ),
    (
        Variant::OnDemand,
        ViewCheck::Sha256,
        ["36b26b0a43f507d4", "ad1b4bf0f5a73134", "6267f93580de44ea"],
    ),
    (
        Variant::Baseline,
        ViewCheck::Mac,
        ["1ca28977f0a59331", "02d68b57266cd992", "e5353cf365230e6a"],
    ),
    (
        Variant::CacheEfficient,
        ViewCheck::Sha256,
        ["89672e66b87024ef", "f4f3945c7bdcb956", "9ddaa8997ee90c70"],
    ),
    (
        Variant::Reshuffle,
        ViewCheck::Mac,
        ["b7987e792252ef3e", "ebd76ccb60db9b22", "be44e5a13c932131"],
    ),
];

/// The hash of the protocol's messages that one party sent; the comparison of terms before them is none. Its threads run side by side, so each wire is hashed by itself, in a fixed order.
fn hash(spy: &Spy) -> String {
    let sent = spy.sent();
    let mut hash = Sha256::new();
    for thread in [Thread::Generator, Thread::Evaluator] {
        for to in 0..3 {
            for message in sent
                .iter()
                .filter(|message| (message.wire.thread, message.wire.to) == (thread, to))
                .filter(|message| {
                    [steps::ALL, steps::SHUFFLED, steps::PROVED]
                        .iter()
                        .any(|steps| steps.contains(&message.step))
                })
            {
                hash.update(message.step.code.to_le_bytes());
                hash.update((message.body.len() as u64).to_le_bytes());
                hash.update(&message.body);
            }
            hash.update([0xFF; 16]);
        }
    }
    hash.finalize()[..8]
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

#[test]
fn transcripts_are_as_recorded() {
    check_transcripts(|_| ());
}

/// How many messages are in flight shows in nobody's messages, even where the parties differ in it.
#[test]
fn messages_in_flight_change_no_transcript() {
    check_transcripts(|config| config.lag = Lag::Messages(1));
    check_transcripts(|config| config.lag = Lag::Messages(Lag::MOST));
}

/// `change` is made at party 1 only: what it sends must not depend on it, and the others must not notice.
fn check_transcripts(change: Change) {
    let mut wrong = Vec::new();
    for (variant, view_check, recorded) in RECORDED {
        let mut session = Session::new(tiny(variant), view_check, 21);
        session.odd = Some((1, change));
        let inputs = [0, 1, 2].map(small_input);
        let answer = small_answer(&inputs);
        // Two verifications, so that what is numbered and refilled shows.
        let (found, results) = transcripts(session, move |engine| {
            let (wires, plan) = (share(engine, &inputs)?, small_plan());
            let mut revealed = Vec::new();
            for _ in 0..2 {
                let outputs = engine.run(&plan, &wires)?;
                revealed.push(engine.reveal(&outputs, Parties::all(3))?);
            }
            engine.finish()?;
            Ok(revealed)
        });
        for revealed in results {
            assert!(revealed.iter().all(|output| output.as_ref() == Some(&answer)));
        }
        if found != recorded {
            wrong.push(format!("{variant} with {view_check}: {found:?}"));
        }
    }
    assert!(wrong.is_empty(), "on {}:\n{}", Simd::detect(), wrong.join("\n"));
}

/// The hashes of what the parties of a session send, and their results.
fn transcripts<T: Send + 'static>(
    mut session: Session,
    program: impl Fn(&mut ThreeEngine) -> Result<T> + Send + Sync + 'static,
) -> ([String; 3], [T; 3]) {
    let spies = [(); 3].map(|()| Spy::listening());
    session.spies = spies.each_ref().map(|spy| Some(Arc::clone(spy)));
    let results = session.run(program).map(Result::unwrap);
    (spies.each_ref().map(|spy| hash(spy)), results)
}

/// The same of a session that moves rows and compares them.
const RECORDED_ROWS: [(ViewCheck, [&str; 3]); 2] = [
    (
        ViewCheck::Mac,
        ["1b832e5bebf4bacf", "0a4f54d53ec52fd5", "759b4aef99385b17"],
    ),
    (
        ViewCheck::Sha256,
        ["3bc953dee2d33226", "e03d9593bbf39d4b", "40b815a0cc3dbbce"],
    ),
];

#[test]
fn transcripts_of_rows_are_as_recorded() {
    let mut wrong = Vec::new();
    for (view_check, recorded) in RECORDED_ROWS {
        let session = Session::new(tiny(Variant::OnDemand), view_check, 21);
        let (found, results) = transcripts(session, |engine| {
            let wires = share(engine, &[0, 1, 2].map(small_input))?;
            let plan = small_plan();
            let mut revealed = Vec::new();
            // Two checks, with orders that are used again.
            let order = engine.draw(wires.lanes())?;
            for _ in 0..2 {
                let other = engine.draw(wires.lanes())?;
                let moved = engine.shuffle(&wires, order, false)?;
                let outputs = engine.run(&plan, &moved)?;
                let elsewhere = engine.shuffle(&outputs, other, false)?;
                let returned = engine.shuffle(&moved, order, true)?;
                let same = engine.digest(&returned, &wires)?;
                revealed.push(engine.reveal(&elsewhere, Parties::all(3))?);
                revealed.push(engine.reveal(&same, Parties::all(3))?);
            }
            engine.finish()?;
            Ok(revealed)
        });
        for revealed in results {
            for digest in [&revealed[1], &revealed[3]] {
                let digest = digest.as_ref().expect("all learn it");
                assert!(digest.words().iter().all(|word| *word == 0));
            }
        }
        if found != recorded {
            wrong.push(format!("{view_check}: {found:?}"));
        }
    }
    assert!(wrong.is_empty(), "on {}:\n{}", Simd::detect(), wrong.join("\n"));
}

/// The same of sessions that prove their gates, by bits of security, blocks of a batch, and lanes: a small batch at each opening, batches of a layer each with
/// weights of both widths, and two of more variables, with a tile that is not full.
const RECORDED_PROOFS: [(u32, u64, usize, [&str; 3]); 4] = [
    (
        40,
        1 << 10,
        50,
        ["af64550f41d35a97", "de990a719e6ad92c", "e7ed1d98db247f84"],
    ),
    (
        40,
        1,
        600,
        ["d3713e2aa9dc5076", "027ae886665e22d1", "a71e67f182985683"],
    ),
    (
        61,
        1,
        600,
        ["abe5184bc90fc611", "22285fbc9bddb5af", "82eca7234189896b"],
    ),
    (
        40,
        1,
        70_001,
        ["d975cd63246e9525", "ad80d9c1522aee87", "1c9074a041891e0d"],
    ),
];

#[test]
fn transcripts_of_proofs_are_as_recorded() {
    let mut wrong = Vec::new();
    for (security, batch, lanes, recorded) in RECORDED_PROOFS {
        let session = Session::new(proofs(security, batch), ViewCheck::Mac, 21);
        let inputs = [0, 1, 2].map(|owner| input_of(owner, lanes));
        let answer = small_answer(&inputs);
        // Several openings, so that what is numbered shows, and logs that are smaller than those before them.
        let (found, results) = transcripts(session, move |engine| {
            let (wires, plan) = (share(engine, &inputs)?, small_plan());
            let mut revealed = Vec::new();
            for runs in [5, 1, 1] {
                let mut outputs = engine.run(&plan, &wires)?;
                for _ in 1..runs {
                    outputs = engine.run(&plan, &wires)?;
                }
                revealed.push(engine.reveal(&outputs, Parties::all(3))?);
            }
            engine.finish()?;
            Ok(revealed)
        });
        for revealed in results {
            assert!(revealed.iter().all(|output| output.as_ref() == Some(&answer)));
        }
        if found != recorded {
            wrong.push(format!("({security}, {batch}, {lanes}, {found:?}),"));
        }
    }
    assert!(wrong.is_empty(), "on {}:\n{}", Simd::detect(), wrong.join("\n"));
}

/// The instruction set is chosen once per process, so each level gets a process.
#[test]
fn every_instruction_set_sends_the_same_bytes() {
    for level in Simd::supported() {
        let output = Command::new(std::env::current_exe().unwrap())
            .args([
                "--exact",
                "golden::transcripts_are_as_recorded",
                "golden::transcripts_of_rows_are_as_recorded",
                "golden::transcripts_of_proofs_are_as_recorded",
            ])
            .env("CENOTE_SIMD", level.to_string())
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{level}: {text}");
        assert!(text.contains("3 passed"), "{level}: {text}");
    }
}
