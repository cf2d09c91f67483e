//! What commitments cost: Table III of the paper.

use std::time::Instant;

use cenote_commit::{ANSWER_BYTES, BATCH_UNIT, Batch, CODE_BITS, Committer, Opener, Receiver, Share};
use cenote_net::{Channel, PartyId, Step};
use cenote_ot::{DeltaReceiver, DeltaSender};
use cenote_primitives::{Block, Entropy, as_bytes, as_bytes_mut};
use serde::{Deserialize, Serialize};

use super::circuit_text::or_blank;
use super::paper::{Commitment, paper};
use super::{failed, topology};
use crate::measure::{Measurement, Place, no_report};
use crate::meeting::Meeting;
use crate::usage::{Machine, median};
use cenote::text::{Table, s};
use cenote::{Error, Link, Result, Transport};
use cenote_session::{Connections, Topology};

const CORRECTIONS: Step = Step {
    code: 0x3e0,
    name: "commit",
};
const CHALLENGE: Step = Step {
    code: 0x3e1,
    name: "challenge commitments",
};
const ANSWER: Step = Step {
    code: 0x3e2,
    name: "check commitments",
};
const OPEN: Step = Step {
    code: 0x3e3,
    name: "open commitments",
};
const PROVE: Step = Step {
    code: 0x3e4,
    name: "prove openings",
};

/// The session name that keys and proofs of a measurement are bound to.
const SESSION: &[u8] = b"cenote bench commit";

/// Commitments in a message.
const PIECE: usize = 16 * BATCH_UNIT;

/// Most strings: the committer keeps 56 bytes of each, the receiver 40.
pub const MOST_STRINGS: u64 = 1 << 28;

/// The numbers of strings that are measured unless others are named.
pub const STRINGS: [u64; 6] = [500, 1_000, 15_000, 50_000, 500_000, 10_000_000];

/// What to measure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CommitBench {
    /// Numbers of strings, one after the other.
    pub strings: Vec<u64>,
    /// Threads of each party.
    pub workers: u8,
    /// Runs of each number; medians are reported.
    pub repeat: u32,
    /// What slows the link down.
    pub link: Link,
}

/// What one party has measured for one number of strings.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct CommitTimes {
    commit: Vec<f64>,
    decommit: Vec<f64>,
    /// Sent by this party.
    commit_bytes: u64,
    decommit_bytes: u64,
}

/// What one party has measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CommitParty {
    setup: Vec<f64>,
    rows: Vec<CommitTimes>,
}

/// One side of the commitments.
enum Side {
    Committer(Committer),
    Receiver(Receiver),
}

impl Side {
    /// Base OTs, and a random OT for each position of the code.
    fn new(me: PartyId, channel: &mut dyn Channel, entropy: &mut Entropy) -> Result<Self> {
        Ok(match me {
            PartyId(0) => {
                let mut sender = DeltaSender::new(channel, entropy, SESSION).map_err(failed)?;
                let seeds = sender.random(channel, CODE_BITS).map_err(failed)?;
                Side::Committer(Committer::new(&seeds))
            }
            _ => {
                let mut receiver = DeltaReceiver::new(channel, entropy, SESSION).map_err(failed)?;
                let chosen = receiver.random(channel, entropy, CODE_BITS).map_err(failed)?;
                Side::Receiver(Receiver::new(&chosen.choices, &chosen.strings))
            }
        })
    }
}

/// The commitments of one thread. The last ones blind the check.
struct Strings {
    batch: Batch,
    messages: Vec<Block>,
    shares: Vec<Share>,
}

impl Strings {
    /// Room for `count` strings at the committer (`messages` too) or the receiver, from unit `first` on.
    fn new(first: u64, count: usize, committer: bool) -> Self {
        let columns = count.next_multiple_of(BATCH_UNIT) + BATCH_UNIT;
        Self {
            batch: Batch { first, columns },
            messages: vec![Block::ZERO; if committer { columns } else { 0 }],
            shares: vec![Share::default(); columns],
        }
    }

    /// The pieces that the batch is sent in.
    fn pieces(&self) -> Vec<Batch> {
        let Batch { first, columns } = self.batch;
        (0..columns)
            .step_by(PIECE)
            .map(|start| Batch {
                first: first + (start / BATCH_UNIT) as u64,
                columns: PIECE.min(columns - start),
            })
            .collect()
    }

    /// Commits, or receives commitments, and checks them.
    fn commit(&mut self, side: &Side, channel: &mut dyn Channel) -> Result<()> {
        let pieces = self.pieces();
        let mut corrections = vec![0; pieces.first().map_or(0, |piece| piece.correction_bytes())];
        match side {
            Side::Committer(committer) => {
                let arrays = self.messages.chunks_mut(PIECE).zip(self.shares.chunks_mut(PIECE));
                for (piece, (messages, shares)) in pieces.iter().zip(arrays) {
                    let corrections = &mut corrections[..piece.correction_bytes()];
                    committer.commit(*piece, messages, shares, corrections);
                    channel.send(CORRECTIONS, corrections)?;
                    channel.flush()?;
                }
                let mut alpha = [0; 16];
                channel.recv(CHALLENGE, &mut alpha)?;
                channel.send(ANSWER, &committer.answer(&pieces, Block::from_bytes(alpha)))?;
                channel.flush()?;
            }
            Side::Receiver(receiver) => {
                for (piece, shares) in pieces.iter().zip(self.shares.chunks_mut(PIECE)) {
                    let corrections = &mut corrections[..piece.correction_bytes()];
                    channel.recv(CORRECTIONS, corrections)?;
                    receiver.receive(*piece, corrections, shares);
                }
                let mut alpha = [0; 16];
                Entropy::os().fill(&mut alpha);
                channel.send(CHALLENGE, &alpha)?;
                channel.flush()?;
                let mut check = receiver.check(Block::from_bytes(alpha));
                check.absorb(&self.shares);
                let mut answer = vec![0; ANSWER_BYTES];
                channel.recv(ANSWER, &mut answer)?;
                check.finish(&answer).map_err(failed)?;
            }
        }
        Ok(())
    }

    /// Opens all of them, or verifies the openings. The messages arrive piece by piece and are not kept.
    fn decommit(&self, side: &Side, channel: &mut dyn Channel) -> Result<()> {
        match side {
            Side::Committer(_) => {
                let mut opener = Opener::new(SESSION);
                for (messages, shares) in self.messages.chunks(PIECE).zip(self.shares.chunks(PIECE)) {
                    channel.send(OPEN, as_bytes(messages))?;
                    channel.flush()?;
                    opener.open(messages, shares);
                }
                channel.send(PROVE, &opener.finish())?;
                channel.flush()?;
            }
            Side::Receiver(receiver) => {
                let mut verifier = receiver.verify(SESSION);
                let mut messages = vec![Block::ZERO; PIECE];
                for shares in self.shares.chunks(PIECE) {
                    let messages = &mut messages[..shares.len()];
                    channel.recv(OPEN, as_bytes_mut(messages))?;
                    verifier.absorb(messages, shares);
                }
                let mut proof = vec![0; verifier.proof_bytes()];
                channel.recv(PROVE, &mut proof)?;
                verifier.finish(&proof).map_err(failed)?;
            }
        }
        Ok(())
    }
}

impl Measurement for CommitBench {
    const NAME: &'static str = "commit";

    type Party = CommitParty;

    fn topology(&self) -> Topology {
        topology("bench commit", self.workers)
    }

    /// Party 0 commits.
    fn run(
        &self,
        me: PartyId,
        connections: Connections,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<CommitParty> {
        let (connections, mut meeting) = Meeting::take(connections)?;
        let mut channels = self.link.shape(connections).channels();
        let mut party = CommitParty {
            setup: Vec::new(),
            rows: vec![CommitTimes::default(); self.strings.len()],
        };
        let all = self.strings.iter().sum::<u64>() * u64::from(self.repeat);
        let mut done = 0;
        for _ in 0..self.repeat {
            let first = channels.first_mut().ok_or_else(no_report)?;
            meeting.wait()?;
            let start = Instant::now();
            let side = Side::new(me, first.as_mut(), &mut Entropy::os())?;
            party.setup.push(start.elapsed().as_secs_f64());
            let mut unit = 0;
            for (times, &strings) in party.rows.iter_mut().zip(&self.strings) {
                let mut parts = self.parts(strings, &mut unit, me == PartyId(0));
                let sent = |channels: &[Box<dyn Channel>]| -> u64 {
                    channels.iter().map(|channel| channel.meter().bytes_sent).sum()
                };
                let before = sent(&channels);
                times.commit.push(together(
                    &mut meeting,
                    &mut channels,
                    &mut parts,
                    |part, channel| part.commit(&side, channel),
                )?);
                let middle = sent(&channels);
                times.decommit.push(together(
                    &mut meeting,
                    &mut channels,
                    &mut parts,
                    |part, channel| part.decommit(&side, channel),
                )?);
                times.commit_bytes = middle - before;
                times.decommit_bytes = sent(&channels) - middle;
                done += strings;
                progress(done, all);
            }
        }
        meeting.wait()?;
        Ok(party)
    }
}

impl CommitBench {
    /// `strings` strings shared out among the threads, in units from `unit` on.
    fn parts(&self, strings: u64, unit: &mut u64, committer: bool) -> Vec<Strings> {
        let workers = u64::from(self.workers);
        let share = |worker: u64| strings * (worker + 1) / workers - strings * worker / workers;
        (0..workers)
            .map(|worker| {
                let part = Strings::new(*unit, share(worker) as usize, committer);
                *unit += (part.batch.columns / BATCH_UNIT) as u64;
                part
            })
            .collect()
    }
}

/// Runs `work` on every part, each with a channel and a thread of its own, once both parties are ready. Gives the seconds taken.
fn together(
    meeting: &mut Meeting,
    channels: &mut [Box<dyn Channel>],
    parts: &mut [Strings],
    work: impl Fn(&mut Strings, &mut dyn Channel) -> Result<()> + Sync,
) -> Result<f64> {
    meeting.wait()?;
    let start = Instant::now();
    let work = &work;
    let ended: Result<()> = match (channels, parts) {
        ([channel], [part]) => work(part, channel.as_mut()),
        (channels, parts) => std::thread::scope(|scope| {
            let threads: Vec<_> = parts
                .iter_mut()
                .zip(channels)
                .map(|(part, channel)| scope.spawn(move || work(part, channel.as_mut())))
                .collect();
            let panicked = || Error::local("committing", std::io::Error::other("a thread panicked"));
            let ended: Vec<_> = threads
                .into_iter()
                .map(|thread| thread.join().unwrap_or_else(|_| Err(panicked())))
                .collect();
            ended.into_iter().collect()
        }),
    };
    ended?;
    Ok(start.elapsed().as_secs_f64())
}

/// What a number of strings cost.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CommitRow {
    /// Strings of 128 bits.
    pub strings: u64,
    /// Microseconds per string to commit, check included: the median, at the slower party.
    pub commit_us: f64,
    /// The same with the set-up.
    pub commit_with_setup_us: f64,
    /// Microseconds per string to open, with a proof for all.
    pub decommit_us: f64,
    /// Bytes per string to commit, with frames: from the committer, to it.
    pub commit_bytes: [f64; 2],
    /// Bytes per string to open, from the committer, to it.
    pub decommit_bytes: [f64; 2],
    /// The paper's row.
    pub paper: Option<Commitment>,
}

/// Table III.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CommitReport {
    /// How the parties were joined.
    pub transport: Transport,
    /// What slowed the link down.
    pub link: Link,
    /// Threads of each party.
    pub workers: u8,
    /// Runs behind each median.
    pub repeat: u32,
    /// Milliseconds of the base OTs and the random OTs that give the seeds: the median, at the slower party.
    pub setup_ms: f64,
    /// By number of strings.
    pub rows: Vec<CommitRow>,
    pub machine: Machine,
}

/// Measures, in `place`.
///
/// # Errors
/// [`Error::Usage`] if nothing is to be run, or more than [`MOST_STRINGS`] at once; [`Error::Parties`] or
/// [`Error::Protocol`] if a party fails.
pub fn run_commit(bench: &CommitBench, place: &mut Place<'_>) -> Result<CommitReport> {
    let sizes = bench.strings.iter().all(|n| (1..=MOST_STRINGS).contains(n));
    if bench.repeat == 0 || bench.workers == 0 || bench.strings.is_empty() || !sizes {
        return Err(Error::Usage(format!(
            "1 to {MOST_STRINGS} strings are committed to at once, by at least one thread, at least one time"
        )));
    }
    let machine = Machine::now();
    let parties = place.measure(bench)?;
    let [committer, receiver] = parties.as_slice() else {
        return Err(no_report());
    };
    if [committer, receiver].map(|party| party.rows.len()) != [bench.strings.len(); 2] {
        return Err(no_report());
    }
    let slower = |a: &[f64], b: &[f64]| median(a).max(median(b));
    let setup = slower(&committer.setup, &receiver.setup);
    let row = |(index, &strings): (usize, &u64)| {
        let (a, b) = (&committer.rows[index], &receiver.rows[index]);
        let us = |seconds: f64| 1e6 * seconds / strings as f64;
        let commit = slower(&a.commit, &b.commit);
        let bytes = |a: u64, b: u64| [a, b].map(|bytes| bytes as f64 / strings as f64);
        CommitRow {
            strings,
            commit_us: us(commit),
            commit_with_setup_us: us(commit + setup),
            decommit_us: us(slower(&a.decommit, &b.decommit)),
            commit_bytes: bytes(a.commit_bytes, b.commit_bytes),
            decommit_bytes: bytes(a.decommit_bytes, b.decommit_bytes),
            paper: paper()
                .commitments()
                .iter()
                .find(|row| row.strings == strings)
                .copied(),
        }
    };
    Ok(CommitReport {
        transport: place.transport(),
        link: bench.link,
        workers: bench.workers,
        repeat: bench.repeat,
        setup_ms: 1e3 * setup,
        rows: bench.strings.iter().enumerate().map(row).collect(),
        machine,
    })
}

impl CommitReport {
    /// As a short table.
    pub fn table(&self) -> String {
        let mut table = Table::new("r");
        table.row(&[
            &"",
            &"commit",
            &"with set-up",
            &"decommit",
            &"commit",
            &"open",
            &" paper:",
            &"commit",
            &"with set-up",
            &"decommit",
        ]);
        table.row(&[
            &"strings",
            &"µs",
            &"µs",
            &"µs",
            &"bytes",
            &"bytes",
            &" threads",
            &"µs",
            &"µs",
            &"µs",
        ]);
        for row in &self.rows {
            let paper = |of: fn(&Commitment) -> f64| or_blank(row.paper.as_ref().map(of), 2);
            table.row(&[
                &row.strings,
                &format_args!("{:.3}", row.commit_us),
                &format_args!("{:.3}", row.commit_with_setup_us),
                &format_args!("{:.3}", row.decommit_us),
                &format_args!("{:.1}", row.commit_bytes[0]),
                &format_args!("{:.1}", row.decommit_bytes[0]),
                &row.paper
                    .map_or_else(String::new, |paper| paper.threads.to_string()),
                &paper(|paper| paper.commit_us),
                &paper(|paper| paper.commit_with_setup_us),
                &paper(|paper| paper.decommit_us),
            ]);
        }
        format!(
            "{}\nover {}, {}; {} thread{} a party, set-up {:.1} ms; median of {} run{}\n\n{table}",
            self.machine.line(),
            self.transport,
            self.link,
            self.workers,
            s(self.workers),
            self.setup_ms,
            self.repeat,
            s(self.repeat),
        )
    }
}
