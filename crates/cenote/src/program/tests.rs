use std::time::Duration;

use cenote_circuit::{BitOrder, Builder};
use cenote_net::{ChannelOptions, Error as NetError, memory_pair};
use cenote_primitives::BitMatrix;
use cenote_session::{ClearEngine, Error as EngineError};

use super::*;

fn program(lanes: usize) -> Program {
    let mut b = Builder::new();
    let x = b.input("x", 2, BitOrder::Lsb);
    let y = b.input("y", 2, BitOrder::Lsb);
    let both = [b.and(x[0], y[0]), b.and(x[1], y[1])];
    let differ = [b.xor(x[0], y[0])];
    b.output("both", &both, BitOrder::Lsb);
    b.output("differ", &differ, BitOrder::Lsb);
    let all = Parties::all(1);
    Program::new("test", b.finish(), vec![PartyId(0); 2], vec![all, all], lanes).unwrap()
}

#[test]
fn segments_cover_the_lanes_in_whole_blocks() {
    for lanes in [
        1,
        511,
        512,
        SEGMENT_ANDS / 2,
        SEGMENT_ANDS / 2 + 1,
        SEGMENT_ANDS + 77,
    ] {
        let segments: Vec<_> = segments(lanes, program(lanes).segment_lanes()).collect();
        let mut next = 0;
        for segment in segments {
            assert_eq!(segment.start, next);
            assert_eq!(segment.start % BLOCK_BITS, 0);
            assert!(!segment.is_empty() && segment.len() * 2 <= SEGMENT_ANDS + 2 * BLOCK_BITS);
            next = segment.end;
        }
        assert_eq!(next, lanes);
    }
}

#[test]
fn all_segments_are_computed_and_put_together() {
    let lanes = SEGMENT_ANDS / 2 + 700;
    let program = program(lanes);
    assert_eq!(segments(lanes, program.segment_lanes()).count(), 2);
    let mut x = BitMatrix::zeros(2, lanes);
    let mut y = BitMatrix::zeros(2, lanes);
    for lane in [0, 5, lanes - 701, lanes - 700, lanes - 1] {
        x.set(0, lane, true);
        x.set(1, lane, true);
        y.set(1, lane, true);
    }
    let mut engine = ClearEngine::new(PartyId(0), Vec::new());
    let mut told = Vec::new();
    let executed = program
        .execute(&mut engine, &[Some(x.clone()), Some(y)], |done| told.push(done))
        .unwrap();
    assert!(executed.unfinished.is_none());
    let outputs = executed.outputs;
    let both = outputs[0].as_ref().unwrap();
    let differ = outputs[1].as_ref().unwrap();
    assert_eq!(both.row(0).iter().map(|word| word.count_ones()).sum::<u32>(), 0);
    assert_eq!(both.row(1), x.row(1));
    assert_eq!(differ.row(0), x.row(0));
    assert_eq!(told.last(), Some(&program.and_gates()));
    assert_eq!(told.len(), 2);
}

#[test]
fn a_withheld_farewell_takes_no_output_away() {
    let run = |program: &Program| {
        let bits = || Some(BitMatrix::from_fn(2, 3, |row, _| row == 1));
        let options = ChannelOptions {
            timeout: Duration::from_millis(100),
            ..ChannelOptions::default()
        };
        let (channel, _silent) = memory_pair(PartyId(0), PartyId(1), options);
        let mut engine = ClearEngine::new(PartyId(0), vec![Box::new(channel)]);
        program.execute(&mut engine, &[bits(), bits()], |_| ())
    };
    let program = program(3);
    let executed = run(&program).unwrap();
    assert_eq!(executed.outputs[0].as_ref().unwrap().row(1), [0b111]);
    assert!(matches!(
        executed.unfinished,
        Some(EngineError::Net(NetError::Timeout { .. }))
    ));

    // Who learns nothing has nothing to keep.
    let none = vec![Parties::NONE; 2];
    let idle = Program::new("test", program.circuit, program.owners, none, 3).unwrap();
    let error = run(&idle).map(drop).unwrap_err();
    assert!(
        matches!(
            error,
            Error::Protocol {
                error: EngineError::Net(NetError::Timeout { .. })
            }
        ),
        "{error}"
    );
}

#[test]
fn more_gates_than_can_be_counted_are_refused() {
    let ands: u64 = 1 << 20;
    let bit = |name: &str| cenote_circuit::Value {
        name: name.into(),
        width: 1,
        order: BitOrder::Lsb,
    };
    let gates = vec![Gate::And(0, 0); ands as usize];
    let circuit = Circuit::new(vec![bit("x")], vec![bit("y")], gates, vec![1]).unwrap();
    let refused =
        |circuit: &Circuit, lanes: u64| check_size(circuit, lanes as usize).unwrap_err().to_string();
    let lanes = MAX_ANDS / ands;
    assert!(lanes <= MAX_BITS);
    assert!(check_size(&circuit, lanes as usize).is_ok());
    let text = refused(&circuit, lanes + 1);
    assert!(text.contains("AND gates are more than"), "{text}");

    // Without wires there is nothing else to count.
    let none = Builder::new().finish();
    assert!(refused(&none, MAX_BITS + 1).contains("more than"));
    assert!(refused(&none, u64::MAX).contains("more than"));
}

#[test]
fn impossible_sizes_are_refused() {
    let program = program(1);
    let parts = |lanes, owners| {
        Program::new(
            "t",
            program.circuit().clone(),
            owners,
            program.receivers().to_vec(),
            lanes,
        )
    };
    for (lanes, owners, why) in [
        (0, 2, "there are no lanes"),
        (usize::MAX, 2, "bits that one job may have"),
        (1, 1, "every input needs an owner"),
    ] {
        let error = parts(lanes, vec![PartyId(0); owners])
            .map(drop)
            .unwrap_err()
            .to_string();
        assert!(error.contains(why), "{error}");
    }
    assert!(parts(1, vec![PartyId(0); 2]).is_ok());
}
