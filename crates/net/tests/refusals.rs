//! What the log says of strangers: words, and few lines of them.

mod common;

use std::fmt;
use std::io::Write;
use std::net::TcpStream;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use cenote_net::Label;
use common::{brief, configs, connect_all};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

/// The warnings of this process.
static LINES: Mutex<Vec<String>> = Mutex::new(Vec::new());

struct Log;

struct Message(String);

impl Visit for Message {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        assert_eq!(field.name(), "message", "all is said in the line");
        self.0 = format!("{value:?}");
    }
}

impl Subscriber for Log {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() <= Level::WARN && metadata.target().starts_with("cenote_net")
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut message = Message(String::new());
        event.record(&mut message);
        LINES.lock().unwrap().push(message.0);
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

/// The only test of this binary: the log is the process's.
#[test]
fn strangers_are_told_of_in_words_and_few_lines() {
    tracing::subscriber::set_global_default(Log).unwrap();
    let hello = [&[0xCE, 1, 0x01, 0xFF, 114, 0, 0, 0][..], &[0; 114]].concat();
    for (tls, sent, words) in [
        (true, &b"GET / HTTP/1.1\r\n\r\n"[..], "what it sent is not TLS"),
        (true, b"", "it went away within the TLS handshake"),
        (
            false,
            b"GET / HTTP/1.1\r\n\r\n",
            "it does not speak this protocol",
        ),
        (false, &hello, "it does not speak this protocol"),
        (false, b"", "it went away before it had said who it is"),
    ] {
        LINES.lock().unwrap().clear();
        let mut configs = configs(2, tls, &brief(5000));
        for config in &mut configs {
            config.connect_timeout = Duration::from_secs(60);
        }
        let target = configs[0].parties[0].address.clone();
        // The second party comes when all strangers have been refused.
        let second = configs.pop().unwrap();
        let labels = [Label::from("main")];
        let mut refused = Vec::new();
        let begun = Instant::now();
        std::thread::scope(|scope| {
            let first = scope.spawn(|| connect_all(configs, &labels));
            for _ in 0..30 {
                let mut stranger = TcpStream::connect(&target).unwrap();
                refused.push(stranger.local_addr().unwrap().to_string());
                stranger.write_all(sent).unwrap();
                if sent.is_empty() {
                    continue;
                }
                stranger.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
                let ended = std::io::Read::read_to_end(&mut stranger, &mut Vec::new());
                let kept = matches!(&ended, Err(error) if error.kind() == std::io::ErrorKind::WouldBlock);
                assert!(!kept, "{words}");
            }
            let start = Instant::now();
            while LINES.lock().unwrap().is_empty() && start.elapsed() < Duration::from_secs(5) {
                std::thread::sleep(Duration::from_millis(5));
            }
            std::thread::sleep(Duration::from_millis(200));
            connect_all(vec![second], &labels).remove(0).unwrap();
            first.join().unwrap().remove(0).unwrap();
        });
        let lines = LINES.lock().unwrap();
        let rest = |line: &String| {
            let begins = |from| line.strip_prefix(&format!("refused a connection from {from}: {words}"));
            refused.iter().find_map(begins).map(str::to_owned)
        };
        let told = lines.iter().map(|line| match rest(line).as_deref() {
            Some("") => 1,
            Some(rest) => {
                let more = rest
                    .strip_prefix(" (")
                    .and_then(|rest| rest.split_once(" more like it in the last "));
                1 + more.unwrap_or_else(|| panic!("{line}")).0.parse::<u64>().unwrap()
            }
            None => panic!("{line}"),
        });
        assert_eq!(told.sum::<u64>(), 30, "{lines:?}");
        assert_eq!(rest(&lines[0]).as_deref(), Some(""), "{lines:?}");
        // The first, one in 10 s at most, and the last.
        let most = 2 + begun.elapsed().as_secs() / 10;
        assert!(lines.len() as u64 <= most, "{lines:?}");
    }
}
