//! One listener to the service, whose events all streams share.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use cenote_service::live::Happened;
use cenote_service::{Timestamp, Tokens};
use tokio::sync::broadcast;

use crate::history::History;
use crate::house::House;

/// Events that a stream may be behind; one that is further behind is told that it has missed some.
const BEHIND: usize = 1024;
/// How soon the listener notices that it shall end.
const NOTICE: Duration = Duration::from_millis(100);

/// How often expired tokens are forgotten.
const SWEEP: Duration = Duration::from_secs(60);

/// Where streams of events come from.
pub(crate) struct Hub {
    sender: broadcast::Sender<Happened>,
}

/// The thread that listens, until it is dropped.
#[derive(Debug)]
pub(crate) struct Ear {
    end: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Hub {
    /// Starts to listen, and to note the history.
    pub(crate) fn start(house: &House, history: &History, step: Duration) -> std::io::Result<(Self, Ear)> {
        let (sender, _) = broadcast::channel(BEHIND);
        let end = Arc::new(AtomicBool::new(false));
        let (live, tell, ended, history) = (
            Arc::clone(&house.live),
            sender.clone(),
            Arc::clone(&end),
            history.clone(),
        );
        let tokens = Tokens::new(house.database.clone());
        // Here, so that nothing is lost of what happens before the thread runs.
        let listener = live.listen();
        let thread = std::thread::Builder::new()
            .name("web-events".into())
            .spawn(move || {
                let (mut due, mut sweep) = (Instant::now(), Instant::now());
                while !ended.load(Ordering::Relaxed) {
                    if let Some(happened) = listener.next(NOTICE) {
                        // Nobody needs to be listening.
                        let _ = tell.send(happened);
                    }
                    if Instant::now() >= due {
                        due = Instant::now() + step;
                        history.note(live.as_ref());
                    }
                    if Instant::now() >= sweep {
                        sweep = Instant::now() + SWEEP;
                        // What is not swept at once is swept later; expired ones let nobody in.
                        let _ = tokens.sweep(Timestamp::now());
                    }
                }
            })?;
        let ear = Ear {
            end,
            thread: Some(thread),
        };
        Ok((Hub { sender }, ear))
    }

    /// What happens from now on.
    pub(crate) fn listen(&self) -> broadcast::Receiver<Happened> {
        self.sender.subscribe()
    }
}

impl Drop for Ear {
    fn drop(&mut self) {
        self.end.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // It holds the service, and has nothing to say.
            let _ = thread.join();
        }
    }
}
