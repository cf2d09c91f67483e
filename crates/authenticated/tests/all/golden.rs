//! Golden transcripts: with fixed randomness the bytes that each party sends are the recorded ones, on every instruction set. A change here is a change
//! of the protocol on the wire: raise the version in the handshake, then record anew what this test prints.

use std::process::Command;

use cenote_authenticated::{AuthenticatedEngine, Config, Sizes};
use cenote_circuit::{BitOrder, Builder, Circuit, Plan};
use cenote_net::PartyId;
use cenote_params::lpn::{self, Lpn};
use cenote_primitives::{BitMatrix, Entropy, Simd};
use cenote_session::{Engine, Parties, Result, WireVector};
use cenote_testkit::{PartyContext, World};

const LANES: usize = 70;

/// Who garbles, into how many symbols the difference is cut, where bits come from, and the hashes of what parties 0 and 1 send.
const RECORDED: [(u8, u32, Option<Lpn>, [&str; 2]); 3] = [
    (
        0,
        24,
        None,
        [
            "98b0051afbd0d2e08f1864f75b413be5",
            "70fcdd81d4d1fe17e0db9a1007b14f07",
        ],
    ),
    (
        1,
        16,
        None,
        [
            "44af4245fde9bc3f6bdd3658885153ee",
            "6ef8d43c260da169808c534c4cfa38b2",
        ],
    ),
    (
        0,
        32,
        Some(lpn::SMALL),
        [
            "781bf8934813329fc14aebd4ecd4593d",
            "aea949600a33798dbf8a6ee428fabb83",
        ],
    ),
];

/// (x + y, x · y) of bits of both parties, at two levels of ANDs.
fn circuit() -> Circuit {
    let mut b = Builder::new();
    let x = b.input("x", 3, BitOrder::Lsb);
    let y = b.input("y", 3, BitOrder::Lsb);
    let first: Vec<_> = x.iter().zip(&y).map(|(&x, &y)| b.and(x, y)).collect();
    let or = b.or(first[0], first[1]);
    let both = b.and(or, first[2]);
    let not = !both;
    b.output("out", &[first[0], or, not], BitOrder::Lsb);
    b.finish()
}

fn party(
    mut context: PartyContext,
    (garbler, symbols, generator, _): (u8, u32, Option<Lpn>, [&str; 2]),
) -> Result<bool> {
    let me = context.me;
    let channel = context.take(PartyId(1 - me.0), "main");
    let mut config = Config::new("golden");
    (config.lot, config.segment) = (1 << 10, 64);
    (config.symbols, config.generator, config.garbler) = (symbols, generator, PartyId(garbler));
    config.entropy = Entropy::for_tests(u64::from_le_bytes(*context.seed.first_chunk().expect("32 bytes")));
    let mut engine =
        AuthenticatedEngine::start(me, channel, config, Sizes::search(40, 1100).expect("sizes"))?;
    let plan = Plan::new(&circuit());
    let inputs = BitMatrix::from_fn(plan.input_wires(), LANES, |row, lane| {
        (5 * row + 3 * lane) % 7 < 3
    });
    let of = |owner: u8| {
        BitMatrix::from_fn(3, LANES, |row, lane| {
            inputs.get(3 * usize::from(owner) + row, lane)
        })
    };
    let expected = plan.evaluate(&inputs).expect("as many wires");
    let mut right = true;
    // Twice, so that what is numbered and refilled shows.
    for _ in 0..2 {
        let mut wires = Vec::new();
        for owner in [0, 1] {
            let own = of(owner);
            wires.push(engine.input(PartyId(owner), 3, LANES, (me.0 == owner).then_some(&own))?);
        }
        let wires = WireVector::concat(&wires.iter().collect::<Vec<_>>());
        let outputs = engine.run(&plan, &wires)?;
        right &= engine.reveal(&outputs, Parties::all(2))?.as_ref() == Some(&expected);
    }
    engine.finish()?;
    Ok(right)
}

#[test]
fn transcripts_are_as_recorded() {
    let mut wrong = Vec::new();
    for case in RECORDED {
        let world = World::new(2, 2026);
        let right: Vec<bool> = world
            .run(move |context| party(context, case))
            .into_iter()
            .map(Result::unwrap)
            .collect();
        assert_eq!(right, [true; 2]);
        let found = [0, 1].map(|me| world.transcript_hash(PartyId(me))[..32].to_owned());
        if found != case.3 {
            wrong.push(format!(
                "garbler {}, {} symbols, {:?}: {found:?}",
                case.0, case.1, case.2
            ));
        }
    }
    assert!(wrong.is_empty(), "on {}:\n{}", Simd::detect(), wrong.join("\n"));
}

/// The instruction set is chosen once per process, so each level gets a process.
#[test]
fn every_instruction_set_sends_the_same_bytes() {
    for level in Simd::supported() {
        let output = Command::new(std::env::current_exe().expect("a test has a file"))
            .args(["--exact", "golden::transcripts_are_as_recorded"])
            .env("CENOTE_SIMD", level.to_string())
            .output()
            .expect("the test starts");
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{level}: {text}");
        assert!(text.contains("1 passed"), "{level}: {text}");
    }
}
