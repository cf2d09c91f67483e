//! Long runs on small stocks: hundreds of batches of triples, refills on demand, a log of gates that fills up in the
//! middle of a circuit; compared with evaluation in the clear.

use crate::common::intercept::{Spy, Thread};
use crate::common::session::{Session, random_bits};
use cenote_circuit::{BitOrder, Builder, Plan, library};
use cenote_net::PartyId;
use cenote_params::three::{Parameters, Variant, check};
use cenote_session::{Engine, Parties, WireVector};
use cenote_three::{ViewCheck, steps};

/// `x · y + x` on 24 bits.
fn arithmetic() -> Plan {
    let mut b = Builder::new();
    let x = b.input("x", 24, BitOrder::Lsb);
    let y = b.input("y", 24, BitOrder::Lsb);
    let product = library::multiply(&mut b, &x, &y, library::Goal::FewestAnds);
    let sum = library::add(&mut b, &product, &x, library::Goal::FewestAnds);
    b.output("xy+x", &sum, BitOrder::Lsb);
    Plan::new(&b.finish())
}

/// Runs the circuit `times` times on `lanes` lanes, each on the last one's result, without opening anything in between.
/// Returns how many verifications and batches there were.
fn run(parameters: &Parameters, view_check: ViewCheck, lanes: usize, times: usize) -> (usize, usize) {
    let plan = arithmetic();
    let width = plan.output_wires();
    let (x, y) = (random_bits(31, 24, lanes), random_bits(32, 24, lanes));
    let mut expected = x.clone();
    for _ in 0..times {
        let inputs = cenote_primitives::BitMatrix::from_fn(48, lanes, |row, lane| {
            if row < 24 {
                expected.get(row, lane)
            } else {
                y.get(row - 24, lane)
            }
        });
        expected = plan.evaluate(&inputs).unwrap();
    }
    let spy = Spy::listening();
    let results = Session::new(parameters, view_check, 33)
        .with_spy(0, &spy)
        .run(move |engine| {
            let own = |owner: u8, bits| (engine.me() == PartyId(owner)).then_some(bits);
            let (own_x, own_y) = (own(1, &x), own(2, &y));
            let mut wires = engine.input(PartyId(1), 24, lanes, own_x)?;
            let y = engine.input(PartyId(2), 24, lanes, own_y)?;
            for _ in 0..times {
                wires = engine.run(&plan, &WireVector::concat(&[&wires.select(0..24), &y]))?;
            }
            let revealed = engine.reveal(&wires, Parties::all(3))?;
            engine.finish()?;
            Ok(revealed)
        });
    for result in results {
        let revealed = result.unwrap();
        assert_eq!(revealed.as_ref().map(|bits| bits.rows()), Some(width));
        assert!(
            revealed.as_ref() == Some(&expected),
            "the result differs from the oracle's"
        );
    }
    let sent = spy.sent();
    let count = |step, thread| {
        sent.iter()
            .filter(|message| (message.step, message.wire.thread, message.wire.to) == (step, thread, 1))
            .count()
    };
    (
        count(steps::GATE_VIEW, Thread::Evaluator),
        count(steps::TRIPLE_VIEW, Thread::Generator),
    )
}

/// The log holds 2^13 blocks of 512 gates.
const LOG_GATES: usize = 1 << 22;

#[test]
fn the_log_fills_up_in_the_middle_on_demand() {
    let parameters = check(Variant::OnDemand, 5 * 60, 2, 3, 5).unwrap();
    let ands = arithmetic().and_count();
    let lanes = 5003;
    let times = 6 * LOG_GATES / (ands * lanes) + 1;
    let (verifications, batches) = run(&parameters, ViewCheck::Mac, lanes, times);
    assert!((7..10).contains(&verifications), "{verifications} verifications");
    let blocks = times * ands * lanes.div_ceil(64) / 8;
    assert!(
        batches > blocks / 300 && batches <= blocks / 300 + 3,
        "{batches} batches"
    );
}

#[test]
fn the_log_fills_up_in_the_middle_in_order() {
    let parameters = check(Variant::CacheEfficient, 256, 2, 1, 4).unwrap();
    let ands = arithmetic().and_count();
    let lanes = 4096;
    let times = LOG_GATES / (ands * lanes) + 1;
    let (verifications, batches) = run(&parameters, ViewCheck::Sha256, lanes, times);
    assert_eq!(verifications, 2);
    assert_eq!(batches, (times * ands * lanes / 512).div_ceil(256));
}
