//! A peer that withholds its last message does not take verified outputs away.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use cenote::runner::{AlsoAgree, Connections, Party, Terms};
use cenote::{BitMatrix, Parties, PartyId, Program, Protocol, Report, Transport, circuits};
use cenote_net::{Channel, Step};
use cenote_session::{Warning, WarningKind};
use cenote_testkit::{Between, Tapped};
use cenote_three::steps;

/// Loses the farewell.
struct Mute;

impl Between for Mute {
    fn send(&mut self, channel: &mut dyn Channel, step: Step, parts: &[&[u8]]) -> cenote_net::Result<()> {
        if step == steps::FINISH {
            return Ok(());
        }
        channel.send_parts(step, parts)
    }
}

/// What a party's caller hears of a session that failed.
#[derive(Default)]
struct Heard(Mutex<Option<Vec<Warning>>>);

impl AlsoAgree for Heard {
    fn terms(&self) -> Terms {
        Terms::new()
    }

    fn warned(&self, warnings: Vec<Warning>) {
        *self.0.lock().unwrap() = Some(warnings);
    }
}

#[test]
fn outputs_survive_a_withheld_farewell_and_the_report_warns() {
    let mute = PartyId(2);
    let circuit = circuits::by_name("add8").unwrap();
    let receivers = vec![Parties::one(PartyId(0)).with(mute)];
    let program = Program::new("add", circuit, vec![PartyId(0), mute], receivers, 3).unwrap();
    let input = |owner, row: usize| (owner, BitMatrix::from_fn(8, 3, move |wire, _| wire == row));
    let inputs = [input(PartyId(0), 0), input(mute, 2)];
    let heard: [Heard; 3] = Default::default();
    let start = Instant::now();
    let ends: Vec<_> = std::thread::scope(|scope| {
        let all = Connections::in_memory(&Protocol::default().topology(), Duration::from_secs(20));
        let threads: Vec<_> = all
            .into_iter()
            .zip((0..3).map(PartyId))
            .map(|(connections, me)| {
                let connections = match me == mute {
                    true => connections.map(|end| Box::new(Tapped::new(Mute, end))),
                    false => connections,
                };
                let (program, inputs, heard) = (&program, &inputs, &heard);
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
                        also_agree: &heard[usize::from(me.0)],
                        transport: Transport::Memory,
                        phase_timeout: None,
                    };
                    party.run(|| Ok(connections), &mut |_, _| ())
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert!(start.elapsed() < Duration::from_secs(60));

    let report = ends[0].as_ref().expect("its output is verified").report.clone();
    assert_eq!(
        report.outputs[0].values.as_ref().unwrap(),
        &["0x05", "0x05", "0x05"]
    );
    let [warning] = report.warnings.as_slice() else {
        panic!("{:?}", report.warnings)
    };
    for part in ["what party 0 learnt is verified", "party 2", "finish"] {
        assert!(warning.text.contains(part), "{warning}");
    }
    assert_eq!(report.warnings[0].kind, WarningKind::NoAgreement);
    assert_eq!(
        Report::of_one(report.clone()).warnings,
        [report.warnings[0].text.as_str()]
    );
    // Party 1 learns nothing, so it has nothing to keep.
    let error = ends[1].as_ref().unwrap_err().to_string();
    assert!(
        error.contains("party 2") || error.contains("party 0 stopped"),
        "{error}"
    );
    // What its session warned of it hears all the same.
    let heard = heard.map(|heard| heard.0.into_inner().unwrap());
    assert_eq!(heard[0..2], [None, Some(Vec::new())]);
}
