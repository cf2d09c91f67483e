//! A peer that withholds its last message does not take verified outputs away.

use std::time::{Duration, Instant};

use cenote::runner::Party;
use cenote::{BitMatrix, Parties, PartyId, Program, Protocol, Report, Transport, circuits};
use cenote_net::{AbortReason, Channel, ChannelOptions, Closer, Meter, Step, memory_pair};
use cenote_three::{Links, Ring, steps};

/// A channel that loses the farewell.
struct Mute(Box<dyn Channel>);

impl Channel for Mute {
    fn peer(&self) -> PartyId {
        self.0.peer()
    }

    fn send_parts(&mut self, step: Step, parts: &[&[u8]]) -> cenote_net::Result<()> {
        if step == steps::FINISH {
            return Ok(());
        }
        self.0.send_parts(step, parts)
    }

    fn flush(&mut self) -> cenote_net::Result<()> {
        self.0.flush()
    }

    fn recv_parts(&mut self, step: Step, parts: &mut [&mut [u8]]) -> cenote_net::Result<()> {
        self.0.recv_parts(step, parts)
    }

    fn abort(&mut self, reason: AbortReason) {
        self.0.abort(reason);
    }

    fn closer(&self) -> Closer {
        self.0.closer()
    }

    fn interrupter(&self) -> Closer {
        self.0.interrupter()
    }

    fn meter(&self) -> Meter {
        self.0.meter()
    }
}

/// The rings of three parties, of which `mute` says no farewell.
fn rings(mute: PartyId) -> Vec<Ring> {
    let options = ChannelOptions::with_timeout(Duration::from_millis(700));
    let mut ends: Vec<Vec<Box<dyn Channel>>> = (0..3).map(|_| Vec::new()).collect();
    for (a, b) in [(0, 1), (1, 2), (2, 0)] {
        let (for_a, for_b) = memory_pair(PartyId(a), PartyId(b), options.clone());
        ends[usize::from(a)].push(Box::new(for_a));
        ends[usize::from(b)].push(Box::new(for_b));
    }
    let ring = |(me, mut ends): (u8, Vec<Box<dyn Channel>>)| {
        if PartyId(me) == mute {
            ends = ends
                .into_iter()
                .map(|end| -> Box<dyn Channel> { Box::new(Mute(end)) })
                .collect();
        }
        let mut to = |peer| {
            let index = ends.iter().position(|end| end.peer() == PartyId(peer)).unwrap();
            ends.remove(index)
        };
        Ring {
            previous: to((me + 2) % 3),
            next: to((me + 1) % 3),
        }
    };
    (0..3).zip(ends).map(ring).collect()
}

#[test]
fn outputs_survive_a_withheld_farewell_and_the_report_warns() {
    let mute = PartyId(2);
    let circuit = circuits::by_name("add8").unwrap();
    let receivers = vec![Parties::one(PartyId(0)).with(mute)];
    let program = Program::new("add", circuit, vec![PartyId(0), mute], receivers, 3).unwrap();
    let input = |owner, row: usize| (owner, BitMatrix::from_fn(8, 3, move |wire, _| wire == row));
    let inputs = [input(PartyId(0), 0), input(mute, 2)];
    let start = Instant::now();
    let ends: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = rings(mute)
            .into_iter()
            .zip(rings(PartyId(9)))
            .zip((0..3).map(PartyId))
            .map(|((evaluator, generator), me)| {
                let (program, inputs) = (&program, &inputs);
                scope.spawn(move || {
                    let own: Vec<_> = inputs
                        .iter()
                        .map(|(owner, bits)| (*owner == me).then(|| bits.clone()))
                        .collect();
                    let party = Party {
                        me,
                        protocol: &Protocol::default(),
                        program,
                        inputs: &own,
                        also_agree: &(),
                        transport: Transport::Memory,
                    };
                    party.run(|| Ok(vec![Links { generator, evaluator }].into()), &mut |_, _| ())
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert!(start.elapsed() < Duration::from_secs(10));

    let report = ends[0].as_ref().expect("its output is verified").report.clone();
    assert_eq!(
        report.outputs[0].values.as_ref().unwrap(),
        &["0x05", "0x05", "0x05"]
    );
    let [warning] = report.warnings.as_slice() else {
        panic!("{:?}", report.warnings)
    };
    for part in ["the outputs of party 0 are verified", "party 2", "finish"] {
        assert!(warning.contains(part), "{warning}");
    }
    assert_eq!(Report::of_one(report.clone()).warnings, report.warnings);
    // Party 1 learns nothing, so it has nothing to keep.
    let error = ends[1].as_ref().unwrap_err().to_string();
    assert!(
        error.contains("party 2") || error.contains("party 0 stopped"),
        "{error}"
    );
}
