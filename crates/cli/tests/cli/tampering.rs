//! A party that deviates, as the others' processes see it: this test plays the parent of parties joined by plain TCP, and stands
//! between them.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, ChildStdin, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Value, json};

use crate::common::{cenote, finish, write};

/// Where the first connection that sends so many bytes has a bit flipped.
#[derive(Clone)]
struct Flip {
    byte: usize,
    wanted: Arc<AtomicBool>,
}

/// Passes on what arrives, with one bit flipped if that is still wanted when the byte comes by.
fn pass(mut from: TcpStream, mut to: TcpStream, flip: Option<Flip>) {
    let mut buffer = vec![0; 64 << 10];
    let mut passed = 0;
    while let Ok(read @ 1..) = from.read(&mut buffer) {
        if let Some(flip) = &flip
            && (passed..passed + read).contains(&flip.byte)
            && flip.wanted.swap(false, Ordering::SeqCst)
        {
            buffer[flip.byte - passed] ^= 1;
        }
        passed += read;
        if to.write_all(&buffer[..read]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(std::net::Shutdown::Write);
}

/// Listens in the place of `target`, and meddles with what is sent to it, or with what it sends back.
fn stand_before(target: SocketAddr, there: Option<Flip>, back: Option<Flip>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for incoming in listener.incoming() {
            let (incoming, outgoing) = (incoming.unwrap(), TcpStream::connect(target).unwrap());
            let (back_from, back_to) = (outgoing.try_clone().unwrap(), incoming.try_clone().unwrap());
            let (there, back) = (there.clone(), back.clone());
            std::thread::spawn(move || pass(incoming, outgoing, there));
            std::thread::spawn(move || pass(back_from, back_to, back));
        }
    });
    address
}

struct Party {
    child: Child,
    input: ChildStdin,
    output: BufReader<std::process::ChildStdout>,
}

impl Party {
    fn start(me: usize, task: &Value) -> Self {
        let mut child = cenote()
            .arg("child")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let (input, output) = (
            child.stdin.take().unwrap(),
            BufReader::new(child.stdout.take().unwrap()),
        );
        let mut party = Party { child, input, output };
        party.tell(&json!({ "me": me, "task": task }));
        party
    }

    fn tell(&mut self, message: &Value) {
        writeln!(self.input, "{message}").unwrap();
    }

    fn hear(&mut self) -> Value {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"))
    }

    /// Its last word, and its exit code.
    fn end(mut self) -> (Value, Option<i32>) {
        let mut last = self.hear();
        while last.get("progress").is_some() {
            last = self.hear();
        }
        let code = finish(self.child).code;
        drop(self.input);
        (last, code)
    }
}

/// What is run, and where it is meddled with.
struct Case {
    protocol: &'static str,
    parties: usize,
    lanes: usize,
    /// In what is sent to party 0.
    there: Option<usize>,
    /// In what party 0 sends.
    back: Option<usize>,
}

/// Three parties; in the middle of the long messages to party 0.
const THREE: Case = Case {
    protocol: "three",
    parties: 3,
    lanes: 20_000,
    there: Some(500_000),
    back: None,
};

/// Two parties; in what the garbler sends.
fn two(byte: usize) -> Case {
    Case {
        protocol: "lego",
        parties: 2,
        lanes: 2,
        there: None,
        back: Some(byte),
    }
}

fn run_with(case: &Case, flip: bool) -> Vec<(Value, Option<i32>)> {
    let folder = tempfile::tempdir().unwrap();
    let (protocol, lanes) = (case.protocol, case.lanes);
    let to: Vec<String> = (0..case.parties).map(|party| party.to_string()).collect();
    let job = format!(
        "protocol = \"{protocol}\"\ncircuit = \"lib:mult32\"\nlanes = {lanes}\n\
         [[input]]\nparty = 0\nhex = \"3\"\n[[input]]\nparty = 1\nhex = \"5\"\n[[output]]\nto = [{}]\n",
        to.join(", ")
    );
    let job = write(folder.path(), "job.toml", &job);
    let task = json!({
        "setting": { "transport": "tcp", "timeout": { "secs": 10, "nanos": 0 } },
        "task": { "name": "job", "details": { "path": job, "lanes": lanes } },
    });
    let mut parties: Vec<Party> = (0..case.parties).map(|me| Party::start(me, &task)).collect();
    let mut contacts: Vec<Value> = parties
        .iter_mut()
        .map(|party| party.hear()["ready"].clone())
        .collect();
    let wanted = Arc::new(AtomicBool::new(flip));
    let target = contacts[0]["address"].as_str().unwrap().parse().unwrap();
    let at = |byte: usize| Flip {
        byte,
        wanted: wanted.clone(),
    };
    contacts[0]["address"] = json!(stand_before(target, case.there.map(at), case.back.map(at)));
    parties
        .iter_mut()
        .for_each(|party| party.tell(&json!({ "meet": contacts })));
    let ends = parties.into_iter().map(Party::end).collect();
    assert!(
        !wanted.load(Ordering::SeqCst),
        "the connection was too short to meddle with"
    );
    ends
}

#[test]
fn what_arrives_unchanged_is_accepted() {
    for case in [THREE, two(0)] {
        accepted(&case, &run_with(&case, false));
    }
}

#[test]
fn one_flipped_bit_is_cheating() {
    caught(&run_with(&THREE, true));
}

/// Keys of base OTs and corrections of commitments are noticed; tables of gates may be checked, or are outvoted. The output is
/// right or there is none.
#[test]
fn one_flipped_bit_among_two_is_noticed_or_changes_nothing() {
    let mut noticed = 0;
    for byte in [1_000, 19_900, 60_000, 200_000, 1_500_000, 3_000_000] {
        let case = two(byte);
        let ends = run_with(&case, true);
        if ends.iter().all(|(_, code)| *code == Some(0)) {
            accepted(&case, &ends);
        } else {
            caught(&ends);
            noticed += 1;
        }
    }
    assert!(noticed > 0);
}

/// Asserts that all parties have the right output.
#[track_caller]
fn accepted(case: &Case, ends: &[(Value, Option<i32>)]) {
    for (end, code) in ends {
        assert_eq!(*code, Some(0), "{end}");
        let values = &end["done"]["outputs"][0]["values"];
        assert_eq!(values[case.lanes - 1], "0x0000000f");
    }
}

/// Asserts that all parties fail, one of them with a check.
#[track_caller]
fn caught(ends: &[(Value, Option<i32>)]) {
    for (end, code) in ends {
        let kind = end["failed"]["kind"].as_str().unwrap_or_else(|| panic!("{end}"));
        assert!(
            matches!(
                (kind, code),
                ("cheating", Some(4)) | ("reported", Some(6)) | ("network", Some(3))
            ),
            "{end} {code:?}"
        );
    }
    let caught = |(end, code): &&(Value, Option<i32>)| {
        *code == Some(4)
            && end["failed"]["message"]
                .as_str()
                .unwrap()
                .contains("aborted: the check \"")
    };
    assert!(ends.iter().any(|end| caught(&end)), "{ends:?}");
}
