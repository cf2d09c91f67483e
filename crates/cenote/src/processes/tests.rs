//! Children that are shell scripts.

use super::*;

fn shell(script: &str) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", script]);
    command
}

const READY: &str =
    r#"read start; echo '{"ready":{"party":'$P',"address":"127.0.0.1:1","fingerprint":"f"}}';"#;

fn run<const N: usize>(scripts: [&str; N], patience: Duration) -> Result<Vec<u32>> {
    let command = |party: PartyId| {
        let mut command = shell(&scripts[party.index()].replace("READY", READY));
        command.env("P", party.0.to_string());
        command
    };
    run_all(N as u8, command, |party| party.0, None, patience, |_| ())
}

#[test]
fn children_meet_and_their_results_come_in_order() {
    let script =
        r#"READY read all; echo "{\"progress\":{\"done\":1,\"total\":1}}"; echo "{\"done\":1$P}"; read end"#;
    assert_eq!(run([script; 3], Duration::ZERO).unwrap(), [10, 11, 12]);
    assert_eq!(run([script; 2], Duration::ZERO).unwrap(), [10, 11]);
}

#[test]
fn a_killed_child_is_the_cause_and_silent_ones_are_stopped() {
    let start = Instant::now();
    let error = run(
        [
            "READY read all; exec sleep 60",
            "READY read all; kill -9 $$",
            "READY exec sleep 60",
        ],
        Duration::ZERO,
    );
    let Err(Error::Parties(failures)) = error else {
        panic!("{error:?}")
    };
    assert_eq!(failures.root().party, 1);
    assert!(failures.root().message.contains("signal: 9"), "{failures}");
    assert_eq!(failures.all().len(), 3);
    assert!(start.elapsed() < Duration::from_secs(20));
}

#[test]
fn a_failure_before_all_are_ready_ends_the_others_soon() {
    let failed =
        r#"echo '{"failed":{"party":2,"kind":"bad-input","message":"line 3","peer":null,"remoteness":0}}'"#;
    let start = Instant::now();
    let error = run(
        ["READY read all", "READY read all", failed],
        Duration::from_secs(60),
    );
    let Err(Error::Parties(failures)) = error else {
        panic!("{error:?}")
    };
    assert_eq!(
        (failures.root().party, failures.root().kind),
        (2, crate::Kind::BadInput)
    );
    assert!(start.elapsed() < Duration::from_secs(20));
}

#[test]
fn a_child_that_speaks_nonsense_has_failed() {
    let error = run(
        ["echo nonsense", "echo nonsense", "echo nonsense"],
        Duration::ZERO,
    );
    let Err(Error::Parties(failures)) = error else {
        panic!("{error:?}")
    };
    assert_eq!(failures.all().len(), 3);
}

#[test]
fn children_hear_orders_and_say_what_is_no_line() {
    // The shell takes lines in the order in which they come.
    let script = r#"READY read all; echo '{"note":0}'; read line; order=$(head -c 3); echo '{"bytes":5}'; printf "$P:$order"; echo '{"done":1}'; read end"#;
    let (sender, orders) = channel();
    let command = |party: PartyId| {
        let mut command = shell(&script.replace("READY", READY));
        command.env("P", party.0.to_string());
        command
    };
    let mut said = Vec::new();
    let heard = |heard| match heard {
        Heard::Note(party, _) => {
            let order = [b"abc", b"def"][party.index()];
            sender.send((party, order.to_vec())).unwrap();
        }
        Heard::Said(party, bytes) => said.push((party.0, String::from_utf8(bytes).unwrap())),
        Heard::Progress { .. } => {}
    };
    let done: Vec<u32> = run_all(2, command, |party| party.0, Some(orders), Duration::ZERO, heard).unwrap();
    said.sort();
    assert_eq!(
        (done, said),
        (vec![1, 1], vec![(0, "0:abc".into()), (1, "1:def".into())])
    );
}

#[test]
fn a_child_that_says_less_than_it_announced_has_failed() {
    let script = r#"READY read all; echo '{"bytes":5000000000}'; printf abc"#;
    let error = run([script, "READY read all; read end"], Duration::ZERO).unwrap_err();
    assert!(error.to_string().contains("without a word"), "{error}");
}
