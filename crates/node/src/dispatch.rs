//! What comes from peers, on its way to those who do it.
//!
//! Each peer has a few threads of its own, and each a bounded queue: a peer that sends more than is done for it is left out, and both say
//! again where their jobs stand. So it holds up nobody but itself. What is about one job stays in order.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Weak;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::{Duration, Instant};

use cenote_service::job::{FailKind, JobId, Remote};
use cenote_service::live::Happened;
use cenote_service::words::plain;

use crate::core::Core;
use crate::message::{JobStatus, LEADER, Message};
use crate::names;
use crate::peer::{Greeting, Hello, Past};
use crate::peers::Task;
use crate::queue::{Call, Limits};
use crate::wires::{Hear, LONGEST};

/// Threads of a peer.
pub(crate) const WORKERS: usize = 4;
/// Messages that wait for one.
const WAITING: usize = 1024;
/// Jobs of which a peer says where they stand, for which as much is done as for what it says of its stock.
const AT_ONCE: usize = 10;
/// What it weighs to show or to keep a whole catalogue, beside what a peer says of its stock.
const CATALOGUE: usize = 100;

/// Starts the threads of a peer. They end when what is sent to them can come from nobody any more.
pub(crate) fn workers(core: &Weak<Core>, peer: u8) -> std::io::Result<Vec<SyncSender<Task>>> {
    (0..WORKERS)
        .map(|worker| {
            let (sender, tasks) = sync_channel(WAITING);
            let core = core.clone();
            std::thread::Builder::new()
                .name(format!("peer-{peer}-{worker}"))
                .spawn(move || serve(&core, peer, &tasks))?;
            Ok(sender)
        })
        .collect()
}

fn serve(core: &Weak<Core>, peer: u8, tasks: &Receiver<Task>) {
    while let Ok(task) = tasks.recv() {
        let bytes = match &task {
            Task::Message(message, bytes) => {
                let Some(turn) = core.upgrade().map(|core| core.turn(peer, message)) else {
                    return;
                };
                std::thread::sleep(turn);
                *bytes
            }
            Task::Up | Task::Statuses => 0,
        };
        let Some(core) = core.upgrade() else { return };
        let done = catch_unwind(AssertUnwindSafe(|| match task {
            Task::Message(message, _) => core.obey(peer, message),
            Task::Up => core.statuses.greet(peer),
            Task::Statuses => core.statuses.tell_statuses(peer),
        }));
        if let Some(known) = core.base.peers.get(peer) {
            let mut known = known.known();
            known.waiting = known.waiting.saturating_sub(bytes);
        }
        if done.is_err() {
            core.base.monitor.refused(peer);
            tracing::error!(peer, "something that a peer asked for failed; the log says where");
        }
    }
}

/// The ears of a service.
pub(crate) struct Ears(pub(crate) Weak<Core>);

impl Hear for Ears {
    fn message(&self, from: u8, message: Vec<u8>) {
        if let Some(core) = self.0.upgrade() {
            core.take_message(from, &message);
        }
    }

    fn link(&self, peer: u8, up: bool) {
        if let Some(core) = self.0.upgrade() {
            core.take_link(peer, up);
        }
    }
}

impl Core {
    fn take_message(&self, from: u8, bytes: &[u8]) {
        let Some(peer) = self.base.peers.get(from) else {
            return;
        };
        let parsed = if bytes.len() > LONGEST {
            Err(format!("a message of {} bytes", bytes.len()))
        } else {
            Message::parse(bytes)
        };
        match parsed {
            Ok(Message::Hello {
                version,
                program,
                jobs,
                per_proposer,
                memory,
                names: theirs,
            }) => {
                let program = plain(&program, 64);
                // A job that is alone begins whatever is said here.
                let limits = Limits {
                    jobs: jobs.max(1),
                    per_proposer: per_proposer.max(1),
                    memory,
                };
                let hello = Hello {
                    differs: names::difference(&self.base.settings.names, version, &theirs),
                    program,
                    limits,
                };
                self.hear_hello(from, hello);
            }
            Ok(Message::Remembers { told }) => self.base.witness.hear_remembers(from, told),
            Ok(Message::Recalls { number, there }) => self.base.witness.hear_recalls(from, number, there),
            Ok(Message::Head { told }) => self.base.witness.hear_head(from, told),
            Ok(_) if !peer.known().is_with_us() => {}
            // What is said of a job comes after the job where it has come before.
            Ok(Message::Statuses { jobs }) => {
                let all = jobs.len();
                for worker in 0..WORKERS {
                    let of_worker = |status: &&JobStatus| worker_of(status.job) == worker;
                    let jobs: Vec<JobStatus> = jobs.iter().filter(of_worker).cloned().collect();
                    if !jobs.is_empty() {
                        let share = (bytes.len() * jobs.len()).div_ceil(all);
                        self.base
                            .peers
                            .put(from, worker, Task::Message(Message::Statuses { jobs }, share));
                    }
                }
            }
            Ok(message) => {
                let worker = message.job().map_or(0, worker_of);
                self.base
                    .peers
                    .put(from, worker, Task::Message(message, bytes.len()));
            }
            Err(what) => {
                self.base.monitor.refused(from);
                // As often as proposals, so that it cannot make this party talk without end.
                if peer.known().bucket.take(Instant::now()) {
                    if let Some(unsaid) = self.base.peers.line_on(from) {
                        tracing::warn!(from, what, unsaid, "a peer is not understood");
                    }
                    self.base.peers.tell(from, &Message::Unclear { what });
                }
            }
        }
    }

    /// A peer says what it is, perhaps again and again.
    fn hear_hello(&self, from: u8, hello: Hello) {
        let Some(peer) = self.base.peers.get(from) else {
            return;
        };
        let differs = hello.differs.clone();
        let is_new = {
            let mut known = peer.known();
            if differs.is_some() {
                known.lost.get_or_insert_with(Instant::now);
                known.was_with_us = false;
            }
            let is_new = known.hello.as_ref() != Some(&hello);
            known.hello = Some(hello);
            known.past.is_greeted = true;
            is_new
        };
        if let Some(differs) = differs.filter(|_| is_new)
            && let Some(unsaid) = self.base.peers.line_on(from)
        {
            tracing::error!(from, differs, unsaid, "nothing can be done with a peer");
        }
        self.base.witness.look_at(from);
        if is_new {
            self.base.monitor.tell(&Happened::Peer { party: from });
            self.base.scheduler.start_ready();
        }
    }

    /// A peer says whether it can record what it is told. Once it can, the clock tells it again of what it could not record.
    fn hear_recording(&self, from: u8, works: bool) {
        let Some(peer) = self.base.peers.get(from) else {
            return;
        };
        {
            let mut known = peer.known();
            if known.stuck != works {
                return;
            }
            known.stuck = !works;
            known.behind |= works;
        }
        if let Some(unsaid) = self.base.peers.line_on(from) {
            tracing::warn!(from, works, unsaid, "a peer says whether it can record anything");
        }
        self.base.monitor.tell(&Happened::Peer { party: from });
    }

    /// How long it is until something is done for what a peer says of many jobs or of its stock, which can make much work for few
    /// bytes: meanwhile what else it says waits too.
    fn turn(&self, from: u8, message: &Message) -> Duration {
        let work = match message {
            Message::Statuses { jobs } => 1 + jobs.len() / AT_ONCE,
            Message::Levels { .. }
            | Message::Compare { .. }
            | Message::Lacking { .. }
            | Message::Make { .. }
            | Message::Catalogue { .. }
            | Message::Recording { .. } => 1,
            Message::ShowCatalogue { .. } | Message::CatalogueText { .. } => CATALOGUE,
            _ => return Duration::ZERO,
        };
        self.base.peers.get(from).map_or(Duration::ZERO, |peer| {
            peer.known().rounds.owe(work as f64, Instant::now())
        })
    }

    fn take_link(&self, party: u8, up: bool) {
        let Some(peer) = self.base.peers.get(party) else {
            return;
        };
        {
            let mut known = peer.known();
            known.up = up;
            known.greeting = Greeting::Due;
            known.stuck = false;
            (known.past, known.was_with_us) = (Past::default(), false);
            if !up {
                known.lost.get_or_insert_with(Instant::now);
            }
        }
        tracing::info!(peer = party, up, "link");
        if up {
            self.base.peers.put(party, 0, Task::Up);
        } else {
            self.base.stock.lose_stock(party);
            let all_running = self.base.scheduler.queue().all_running();
            for running in all_running {
                if party < running.parties {
                    let reason = format!("the connection to party {party} was lost");
                    running.stop(FailKind::PeerLost, reason);
                }
            }
        }
        self.base.monitor.tell(&Happened::Peer { party });
        self.base.scheduler.start_ready();
    }

    /// Does what a peer says.
    pub(crate) fn obey(&self, from: u8, message: Message) {
        match message {
            Message::Hello { .. }
            | Message::Remembers { .. }
            | Message::Recalls { .. }
            | Message::Head { .. } => {}
            Message::Propose { proposal } => self.proposals.hear_proposal(from, *proposal),
            Message::Want { program, at } => self.proposals.send_piece(from, program, at),
            Message::Piece {
                program,
                at,
                of,
                text,
            } => self.proposals.hear_piece(from, program, at, of, &text),
            Message::Approve { job, proposal } => {
                self.decisions.hear(from, job, Remote::Approve { proposal })
            }
            Message::Decline {
                job,
                proposal,
                reason,
            } => self
                .decisions
                .hear(from, job, Remote::Decline { proposal, reason }),
            Message::Cancel { job } => self.decisions.hear(from, job, Remote::Cancel),
            Message::Fail {
                job,
                failure: kind,
                reason,
            } => self.decisions.hear(
                from,
                job,
                Remote::Fail {
                    kind,
                    reason,
                    waited_for: None,
                },
            ),
            Message::Start { job, shelf, again } if from == LEADER => {
                self.transitions.hear_start(from, job, Call { shelf, again })
            }
            Message::Levels { levels, lacks } => self.base.stock.hear_levels(from, levels, lacks),
            Message::Compare { shelf, items } => self.base.stock.hear_compare(from, shelf, &items),
            Message::Lacking { shelf, items } => self.base.stock.hear_lacking(from, shelf, &items),
            Message::Make {
                run,
                stock,
                shelf,
                runs,
            } => self.base.stock.hear_make(from, run, stock, shelf, runs),
            Message::Ready { run } => self.base.stock.hear_ready(from, run),
            Message::Unready { run } => self.base.stock.hear_unready(from, run),
            Message::Go { run } => self.base.stock.hear_go(from, run),
            Message::Start { .. } => {
                self.base.monitor.refused(from);
                let what = "a beginning that only the leader decides on".into();
                self.base.peers.tell(from, &Message::Unclear { what });
            }
            Message::Statuses { jobs } => {
                for status in &jobs {
                    self.statuses.hear_status(from, status);
                }
            }
            Message::Ask { job } => self.statuses.hear_ask(from, job),
            Message::Recording { works } => self.hear_recording(from, works),
            Message::Catalogue { version, digest } => self.base.catalogues.hear_offer(from, version, digest),
            Message::ShowCatalogue { version } => self.base.catalogues.show(from, version),
            Message::CatalogueText { version, text } => self.base.catalogues.hear(from, version, text),
            Message::Unclear { what } => {
                let what = plain(&what, 200);
                if let Some(unsaid) = self.base.peers.line_on(from) {
                    tracing::warn!(from, what, unsaid, "a peer did not understand");
                }
            }
        }
    }
}

fn worker_of(job: JobId) -> usize {
    usize::from(job.0[0]) % WORKERS
}
