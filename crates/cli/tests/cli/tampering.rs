//! A party that deviates, as the others' processes see it: this test plays the parent of three parties joined by plain TCP, and
//! stands between them.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, ChildStdin, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Value, json};

use crate::common::{cenote, finish, write};

/// Where the first connection that sends so many bytes has a bit flipped: in the middle of the long messages.
const FLIPPED_BYTE: usize = 500_000;

/// Passes on what arrives, with one bit flipped if `flip` is still set when the byte comes by.
fn pass(mut from: TcpStream, mut to: TcpStream, flip: &AtomicBool) {
    let mut buffer = vec![0; 64 << 10];
    let mut passed = 0;
    while let Ok(read @ 1..) = from.read(&mut buffer) {
        if (passed..passed + read).contains(&FLIPPED_BYTE) && flip.swap(false, Ordering::SeqCst) {
            buffer[FLIPPED_BYTE - passed] ^= 1;
        }
        passed += read;
        if to.write_all(&buffer[..read]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(std::net::Shutdown::Write);
}

/// Listens in the place of `target`, and meddles with what is sent to it.
fn stand_before(target: SocketAddr, flip: Arc<AtomicBool>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for incoming in listener.incoming() {
            let (incoming, outgoing) = (incoming.unwrap(), TcpStream::connect(target).unwrap());
            let (back_from, back_to) = (outgoing.try_clone().unwrap(), incoming.try_clone().unwrap());
            let flip = flip.clone();
            std::thread::spawn(move || pass(incoming, outgoing, &flip));
            std::thread::spawn(move || pass(back_from, back_to, &AtomicBool::new(false)));
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

fn run_with(flip: bool) -> Vec<(Value, Option<i32>)> {
    let folder = tempfile::tempdir().unwrap();
    let job = "protocol = \"three\"\ncircuit = \"lib:mult32\"\nlanes = 20000\n\
               [[input]]\nparty = 0\nhex = \"3\"\n[[input]]\nparty = 1\nhex = \"5\"\n[[output]]\nto = [0, 1, 2]\n";
    let job = write(folder.path(), "job.toml", job);
    let task = json!({
        "setting": { "transport": "tcp", "timeout": { "secs": 10, "nanos": 0 } },
        "task": { "Job": { "path": job, "lanes": 20000 } },
    });
    let mut parties: Vec<Party> = (0..3).map(|me| Party::start(me, &task)).collect();
    let mut contacts: Vec<Value> = parties
        .iter_mut()
        .map(|party| party.hear()["ready"].clone())
        .collect();
    let flip = Arc::new(AtomicBool::new(flip));
    let target = contacts[0]["address"].as_str().unwrap().parse().unwrap();
    contacts[0]["address"] = json!(stand_before(target, flip.clone()));
    parties.iter_mut().for_each(|party| party.tell(&json!(contacts)));
    let ends = parties.into_iter().map(Party::end).collect();
    assert!(
        !flip.load(Ordering::SeqCst),
        "the connection was too short to meddle with"
    );
    ends
}

#[test]
fn what_arrives_unchanged_is_accepted() {
    for (end, code) in run_with(false) {
        assert_eq!(code, Some(0));
        assert_eq!(
            end["done"]["report"]["outputs"][0]["values"][19_999],
            "0x0000000f"
        );
    }
}

#[test]
fn one_flipped_bit_is_cheating() {
    let ends = run_with(true);
    for (end, code) in &ends {
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
