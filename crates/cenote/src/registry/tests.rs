use std::time::Duration;

use super::*;
use crate::runner::Outcome;
use crate::{Executed, Job, Party, Transport, Variant};

#[test]
fn every_protocol_survives_json_and_copies() {
    for name in Protocol::names() {
        let mut protocol = Protocol::named(name).unwrap();
        assert_eq!(protocol.name(), name);
        let key = if name == "example" { "password" } else { "security" };
        protocol.set(key, Setting::Number(33)).unwrap();
        assert_ne!(protocol, Protocol::named(name).unwrap());
        let json = serde_json::to_value(&protocol).unwrap();
        assert_eq!((&json["protocol"], &json[key]), (&name.into(), &33.into()));
        assert_eq!(serde_json::from_value::<Protocol>(json).unwrap(), protocol);
        assert_eq!(protocol.clone(), protocol);
    }
    assert_ne!(Protocol::from(Three::default()), Protocol::from(Lego::default()));
    let unknown = serde_json::from_str::<Protocol>("{\"protocol\":\"four\"}");
    assert!(unknown.unwrap_err().to_string().contains("no protocol \"four\""));
}

/// Whoever says how many parties there are, and no more, gets a protocol of so many.
#[test]
fn the_usual_protocol_has_as_many_parties_as_asked_for() {
    for parties in [2, 3] {
        assert_eq!(Protocol::usual(parties).parties(), parties);
    }
    assert_eq!(Protocol::usual(3), Protocol::default());
}

#[test]
fn protocols_without_stock_call_its_items_nothing() {
    let with_triples = Three {
        variant: Some(Variant::OnDemand.into()),
        ..Three::default()
    };
    let all = std::iter::once(with_triples.into()).chain(Protocol::all());
    let (with, without): (Vec<Protocol>, Vec<Protocol>) = all.partition(|protocol| protocol.item().is_ok());
    let mut words: Vec<&str> = with.iter().map(|protocol| protocol.item().unwrap()).collect();
    words.dedup();
    assert_eq!(items().collect::<Vec<_>>(), words);
    assert!(words.contains(&"epoch") && words.contains(&"lot"), "{words:?}");
    let names: Vec<_> = without.iter().map(Protocol::name).collect();
    assert_eq!(names, ["three", "example"]);
    for (protocol, why) in without.iter().zip(["takes nothing from stock", "has no stock"]) {
        for refused in [
            protocol.item().map(drop),
            protocol
                .order_stock(&Demand::new().and_gates(1), Amount::Runs(1))
                .map(drop),
        ] {
            assert!(
                matches!(&refused, Err(Error::Usage(what)) if what.contains(why)),
                "{refused:?}"
            );
        }
    }
}

#[test]
fn every_setting_can_be_set_and_no_other() {
    for name in Protocol::names() {
        let mut protocol = Protocol::named(name).unwrap();
        let missing = protocol.set("nonsense", Setting::Number(1)).unwrap_err();
        assert!(missing.contains("no setting"), "{missing}");
        for key in [
            "variant",
            "view_check",
            "security",
            "workers",
            "garbler",
            "pool",
            "password",
        ] {
            let known = Protocol::with_setting(key).contains(&name);
            let refused = protocol.set(key, Setting::Other).unwrap_err();
            assert_eq!(!refused.contains("no setting"), known, "{name}: {key}: {refused}");
        }
    }
}

const JOB: &str = r#"protocol = "example"
password = 7
circuit = "lib:add8"
lanes = 3
[[input]]
party = 0
hex = "0x05"
[[input]]
party = 1
hex = "0x06"
[[output]]
to = [1]
"#;

/// Runs the job at both parties; the password of `odd` is another.
fn run(job: &Job, odd: Option<u8>) -> Vec<Result<Outcome>> {
    let program = job.program(3).unwrap();
    let topology = job.protocol().topology();
    let all = Connections::in_memory(&topology, Duration::from_secs(20));
    std::thread::scope(|scope| {
        let party = |(me, connections): (u8, Connections)| {
            let program = &program;
            scope.spawn(move || {
                let mut protocol = job.protocol().clone();
                if odd == Some(me) {
                    protocol.set("password", Setting::Number(8)).unwrap();
                }
                let party = Party {
                    me: PartyId(me),
                    protocol: &protocol,
                    program,
                    inputs: &job.read_inputs(PartyId(me), 3).unwrap(),
                    also_agree: &(),
                    transport: Transport::Memory,
                    phase_timeout: None,
                };
                party.run(|| Ok(connections), &mut |_, _| ())
            })
        };
        let threads: Vec<_> = (0..).zip(all).map(party).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

/// A peer of two sessions that passes on what each party says lets nobody compute with whom it has not agreed to: it is the names of the sessions
/// that differ.
#[test]
fn parties_of_different_sessions_do_not_compute_with_each_other() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("job.toml");
    for name in ["lego", "jimu", "authenticated"] {
        let text = JOB.replace(
            "protocol = \"example\"\npassword = 7",
            &format!("protocol = {name:?}"),
        );
        std::fs::write(&path, text).unwrap();
        let job = Job::load(&path).unwrap();
        let program = job.program(3).unwrap();
        let finished = |sessions: [&str; 2]| -> Vec<Result<Executed>> {
            let all = Connections::in_memory(&job.protocol().topology(), Duration::from_secs(20));
            std::thread::scope(|scope| {
                let party = |(me, (connections, session)): (PartyId, (Connections, _))| {
                    let (job, program) = (&job, &program);
                    scope.spawn(move || {
                        let inputs = job.read_inputs(me, 3).unwrap();
                        let prepared = job.protocol().prepare(&program.demand()).unwrap();
                        let mut engine = prepared.start(me, connections, session, None)?;
                        program.execute(&mut *engine, &inputs, |_| ())
                    })
                };
                let all = (0..).map(PartyId).zip(all.into_iter().zip(sessions));
                let threads: Vec<_> = all.map(party).collect();
                threads.into_iter().map(|thread| thread.join().unwrap()).collect()
            })
        };
        assert!(finished(["one", "one"]).iter().all(Result::is_ok), "{name}");
        let refused: Vec<_> = finished(["one", "another"])
            .into_iter()
            .filter_map(Result::err)
            .collect();
        assert_eq!(refused.len(), 2, "{name}");
        let caught = |error: &Error| error.kind() == crate::Kind::Cheating;
        assert!(refused.iter().any(caught), "{name}: {refused:?}");
    }
}

/// A protocol is in jobs, runs, reports and errors once it is on the list.
#[test]
fn a_protocol_takes_one_line_here() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("job.toml");
    std::fs::write(&path, JOB).unwrap();
    let job = Job::load(&path).unwrap();
    let outcomes = run(&job, None);
    let values = |party: usize| outcomes[party].as_ref().unwrap().report.outputs[0].values.clone();
    assert_eq!(values(1), Some(vec!["0x0b".to_owned(); 3]));
    assert_eq!(values(0), None);
    let report = &outcomes[1].as_ref().unwrap().report;
    let json = serde_json::to_value(&report.description).unwrap();
    assert_eq!(
        (&json["protocol"], &json["password"]),
        (&"example".into(), &7.into())
    );
    assert_eq!(report.description.protocol.describe(), "example, in the clear");

    for outcome in run(&job, Some(1)) {
        let error = outcome.unwrap_err();
        assert!(
            error.to_string().contains("the check \"password\" failed"),
            "{error}"
        );
        assert_eq!(error.kind(), crate::Kind::Cheating);
    }
    let refused = job
        .protocol()
        .order_stock(&Demand::new(), Amount::Runs(1))
        .map(|_| ());
    assert!(
        matches!(&refused, Err(Error::Usage(what)) if what.contains("\"example\" has no stock")),
        "{refused:?}"
    );
    std::fs::write(&path, JOB.replace("= 7", "= 256")).unwrap();
    let error = Job::load(&path).unwrap_err().to_string();
    assert!(
        error.contains("line 2") && error.contains("from 0 to 255"),
        "{error}"
    );
}
