//! What services say to each other.
//!
//! Messages are JSON, of bounded size, and hold no value of anybody's: what a job computes, decisions, and states. What a peer says of a job
//! it says of itself only; who says it is known from the connection.

use cenote::ServiceConfig;
use cenote_service::job::{Digest, FailKind, JobId, Proposal, StateName};
use cenote_service::{Timestamp, Told};
use serde::{Deserialize, Serialize};

/// The version of what follows. Services of different versions do nothing with each other.
pub(crate) const VERSION: u32 = 10;

/// The party that says when a job begins: the lowest-numbered one, which is in all of them.
pub(crate) const LEADER: u8 = 0;

/// Shelves of a service's stock, the same number at all parties.
pub(crate) const SHELVES: u8 = 8;

/// Bytes of a program's text in a message. Its JSON has at most six times as many, for control characters.
pub(crate) const PIECE: usize = 128 << 10;

/// Jobs in a message of their states.
pub(crate) const STATUSES: usize = 1000;

/// Amounts of stock in a message.
pub(crate) const LEVELS: usize = ServiceConfig::KINDS * SHELVES as usize;

/// Items of stock in a message: those that a party lacks, or that are asked about.
pub(crate) const LACKS: usize = 1024;

/// Names of parties in a message, and bytes of each, at most. No party file has more.
const NAMES: usize = 16;
const NAME: usize = 64;

/// Characters of a peer's reason that are kept.
const REASON: usize = 200;

/// A message to a peer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) enum Message {
    /// The first one over a connection.
    Hello {
        /// Of these messages.
        version: u32,
        /// The version of the program.
        program: String,
        /// Jobs that the sender runs side by side, at most.
        jobs: u64,
        /// Of those, one proposer's.
        per_proposer: u64,
        /// Bytes of memory that they may take there: the leader begins no more than fit. Versions before the sixth do not say it.
        #[serde(default)]
        memory: u64,
        /// The names of all parties, in order. Versions before the seventh do not say them.
        #[serde(default)]
        names: Vec<String>,
    },
    /// What the sender remembers of the receiver's audit log. Both say so before anything but the greeting.
    Remembers {
        /// Its end as the receiver has told it last; nothing if it never has.
        told: Option<Told>,
    },
    /// Whether the sender's audit log holds what the receiver remembers of it.
    Recalls {
        /// The line that was asked about.
        number: u64,
        there: bool,
    },
    /// How far the sender's audit log has grown.
    Head { told: Told },
    /// Asks the receiver to take part.
    Propose {
        /// In what.
        proposal: Box<Proposal>,
    },
    /// The sender lacks a program, from a byte on.
    Want {
        /// Its digest.
        program: Digest,
        /// The byte.
        at: u64,
    },
    /// A part of a program's text, as it was asked for.
    Piece {
        /// The digest of the whole.
        program: Digest,
        /// Where the part begins, in bytes.
        at: u64,
        /// Bytes of the whole.
        of: u64,
        /// The part.
        text: String,
    },
    /// The sender takes part.
    Approve {
        /// In which job.
        job: JobId,
        /// The digest of what it was asked.
        proposal: Digest,
    },
    /// The sender does not take part.
    Decline {
        /// In which job.
        job: JobId,
        /// The digest of what it was asked.
        proposal: Digest,
        /// Why not.
        reason: String,
    },
    /// The sender takes the job back.
    Cancel { job: JobId },
    /// The job failed at the sender.
    Fail {
        job: JobId,
        /// How.
        failure: FailKind,
        /// In words.
        reason: String,
    },
    /// The job begins, says its leader.
    Start {
        job: JobId,
        /// The shelf of stock that serves it, if one does.
        shelf: Option<u8>,
        /// How often it has begun before.
        again: u64,
    },
    /// What is on shelves of the sender.
    Levels {
        /// The amounts.
        levels: Vec<Level>,
        /// Items on these shelves that a single other party lacks by its own word.
        lacks: Vec<Lack>,
    },
    /// Asks the receiver which of these items it lacks.
    Compare {
        shelf: u8,
        /// Items that the sender has on it.
        items: Vec<Digest>,
    },
    /// Of the items that it was asked about the sender lacks these.
    Lacking { shelf: u8, items: Vec<Digest> },
    /// The leader asks to make stock.
    Make {
        /// What it is called.
        run: JobId,
        /// Of which kind.
        stock: Digest,
        /// For which shelf.
        shelf: u8,
        /// For so many runs of a typical job.
        runs: u64,
    },
    /// The sender is ready to make stock.
    Ready {
        /// What it is called.
        run: JobId,
    },
    /// The sender does not make stock, or not any more.
    Unready {
        /// What it is called.
        run: JobId,
    },
    /// All are ready to make stock, says the leader.
    Go {
        /// What it is called.
        run: JobId,
    },
    /// Where unfinished jobs stand at the sender.
    Statuses { jobs: Vec<JobStatus> },
    /// The sender does not know a job of the receiver's, and asks to be asked.
    Ask { job: JobId },
    /// The version of what the sender publishes of its tables to the receiver.
    Catalogue {
        version: u64,
        /// The digest of its text.
        digest: Digest,
    },
    /// Asks for that version.
    ShowCatalogue { version: u64 },
    /// It, as it was asked for.
    CatalogueText { version: u64, text: String },
    /// Whether the sender can record what it is told. Until it says so, it can.
    Recording { works: bool },
    /// The receiver has said something that is not understood.
    Unclear { what: String },
}

/// What is on a shelf of one kind of stock, in runs of a typical job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Level {
    pub(crate) shelf: u8,
    /// The kind.
    pub(crate) stock: Digest,
    /// All that jobs can use.
    pub(crate) runs: u64,
    /// The most that one item has.
    pub(crate) largest: u64,
}

/// An item of stock that a party lacks, by its own word to the sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Lack {
    pub(crate) shelf: u8,
    pub(crate) item: Digest,
    /// Who lacks it.
    pub(crate) by: u8,
}

/// Where a job stands at the one who says so.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct JobStatus {
    pub(crate) job: JobId,
    /// The digest of its proposal.
    pub(crate) proposal: Digest,
    /// Who proposed it.
    pub(crate) proposer: u8,
    pub(crate) state: StateName,
    /// Whether the sender has approved it.
    pub(crate) approved: bool,
    pub(crate) deadline: Timestamp,
}

impl Message {
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        // Nothing in a message can fail to be written.
        serde_json::to_vec(self).unwrap_or_default()
    }

    /// The message in `bytes`.
    ///
    /// # Errors
    /// What is wrong with it, without quoting it.
    pub(crate) fn parse(bytes: &[u8]) -> Result<Self, String> {
        let mut message: Message = serde_json::from_slice(bytes).map_err(|error| {
            format!(
                "a message that is none ({:?} error in column {})",
                error.classify(),
                error.column()
            )
        })?;
        match &mut message {
            Message::Decline { reason, .. } | Message::Fail { reason, .. } => *reason = cut(reason),
            Message::Unclear { what } => *what = cut(what),
            Message::Hello { names, .. } if !are_few(names) => {
                return Err("more or longer names of parties than there are".into());
            }
            Message::Head { told } | Message::Remembers { told: Some(told) } if !told.is_possible() => {
                return Err("an end that no audit log has".into());
            }
            Message::Statuses { jobs } if jobs.len() > STATUSES => {
                return Err(format!("the statuses of {} jobs in one message", jobs.len()));
            }
            Message::Levels { levels, .. } if levels.len() > LEVELS => {
                return Err(format!("{} amounts of stock in one message", levels.len()));
            }
            Message::Levels { lacks, .. } if lacks.len() > LACKS => {
                return Err(format!("{} lacking items of stock in one message", lacks.len()));
            }
            Message::Compare { items, .. } | Message::Lacking { items, .. } if items.len() > LACKS => {
                return Err(format!("{} items of stock in one message", items.len()));
            }
            _ => {}
        }
        Ok(message)
    }

    /// The job that it is about: messages about one job stay in order.
    pub(crate) fn job(&self) -> Option<JobId> {
        match self {
            Message::Propose { proposal } => Some(proposal.id),
            Message::Approve { job, .. }
            | Message::Decline { job, .. }
            | Message::Cancel { job }
            | Message::Fail { job, .. }
            | Message::Start { job, .. }
            | Message::Ask { job } => Some(*job),
            Message::Hello { .. }
            | Message::Remembers { .. }
            | Message::Recalls { .. }
            | Message::Head { .. }
            | Message::Want { .. }
            | Message::Piece { .. }
            | Message::Statuses { .. }
            | Message::Levels { .. }
            | Message::Compare { .. }
            | Message::Lacking { .. }
            | Message::Make { .. }
            | Message::Ready { .. }
            | Message::Unready { .. }
            | Message::Go { .. }
            | Message::Catalogue { .. }
            | Message::ShowCatalogue { .. }
            | Message::CatalogueText { .. }
            | Message::Recording { .. }
            | Message::Unclear { .. } => None,
        }
    }
}

fn are_few(names: &[String]) -> bool {
    names.len() <= NAMES && names.iter().all(|name| name.len() <= NAME)
}

/// What is kept of a peer's words.
fn cut(words: &str) -> String {
    cenote_service::words::plain(words, REASON)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_message_is_refused_without_being_quoted() {
        let job = JobId([7; 16]);
        let message = Message::Start {
            job,
            shelf: Some(7),
            again: 1,
        };
        assert_eq!(Message::parse(&message.to_bytes()), Ok(message));
        for wrong in [
            "",
            "null",
            "[]",
            "{\"kind\":\"secret\"}",
            "{\"kind\":\"start\",\"job\":\"secret\"}",
            "{\"kind\":\"cancel\",\"job\":\"07070707070707070707070707070707\",\"secret\":1}",
            "{\"kind\":\"cancel\"}",
            &"[".repeat(100_000),
        ] {
            let fault = Message::parse(wrong.as_bytes()).expect_err(wrong);
            assert!(!fault.contains("secret") && fault.len() < 100, "{fault}");
        }
    }

    #[test]
    fn an_older_service_is_understood_as_far_as_its_version() {
        let older = br#"{"kind":"hello","version":5,"program":"0.1.0","jobs":8,"per_proposer":6}"#;
        let parsed = Message::parse(older);
        assert!(
            matches!(parsed, Ok(Message::Hello { version: 5, .. })),
            "{parsed:?}"
        );
    }

    #[test]
    fn a_greeting_has_few_and_short_names() {
        let hello = |names| Message::Hello {
            version: VERSION,
            program: String::new(),
            jobs: 1,
            per_proposer: 1,
            memory: 1,
            names,
        };
        let most = hello(vec!["x".repeat(64); 16]);
        assert_eq!(Message::parse(&most.to_bytes()), Ok(most));
        for more in [vec!["x".repeat(65)], vec![String::new(); 17]] {
            assert!(Message::parse(&hello(more).to_bytes()).is_err());
        }
    }

    #[test]
    fn what_a_peer_says_is_cut_before_it_is_kept() {
        let (job, failure) = (JobId([7; 16]), FailKind::Internal);
        let reason = "\u{1b}[2J\u{202e}\u{2066}".to_owned() + &"x".repeat(100_000);
        let long = Message::Fail { job, failure, reason };
        match Message::parse(&long.to_bytes()) {
            Ok(Message::Fail { reason, .. }) => assert!(reason.starts_with("[2Jx") && reason.len() == REASON),
            other => panic!("{other:?}"),
        }
        let empty = Message::Statuses { jobs: Vec::new() };
        assert_eq!(Message::parse(&empty.to_bytes()), Ok(empty));
    }

    #[test]
    fn an_end_that_no_log_has_is_refused() {
        let told = |number| Told {
            era: Digest([1; 32]),
            number,
            place: u64::MAX,
            hash: Digest([2; 32]),
            mark: Digest([3; 32]),
        };
        let both = |number| {
            let told = told(number);
            [Message::Head { told }, Message::Remembers { told: Some(told) }]
        };
        for message in both(1) {
            assert_eq!(Message::parse(&message.to_bytes()), Ok(message));
        }
        for number in [0, 1 << 63] {
            assert!(
                both(number)
                    .iter()
                    .all(|message| Message::parse(&message.to_bytes()).is_err())
            );
        }
    }

    #[test]
    fn a_catalogue_fits_in_a_message() {
        let text = "\"".repeat(cenote::catalogue::MAX_BYTES);
        let version = u64::MAX;
        let message = Message::CatalogueText { version, text };
        assert!(message.to_bytes().len() <= crate::wires::LONGEST);
    }

    #[test]
    fn a_piece_fits_in_a_message() {
        let piece = Message::Piece {
            program: Digest([0; 32]),
            at: u64::MAX,
            of: u64::MAX,
            text: "\u{1}".repeat(PIECE),
        };
        assert!(piece.to_bytes().len() <= crate::wires::LONGEST);
        let status = JobStatus {
            job: JobId([0; 16]),
            proposal: Digest([0; 32]),
            proposer: 255,
            state: StateName::Cancelled,
            approved: false,
            deadline: Timestamp::from_millis(u64::MAX),
        };
        let all = Message::Statuses {
            jobs: vec![status; STATUSES],
        };
        assert!(all.to_bytes().len() <= crate::wires::LONGEST);
        let level = Level {
            shelf: 255,
            stock: Digest([0; 32]),
            runs: u64::MAX,
            largest: u64::MAX,
        };
        let lack = Lack {
            shelf: 255,
            item: Digest([0; 32]),
            by: 255,
        };
        let levels = |count, lacks| Message::Levels {
            levels: vec![level; count],
            lacks: vec![lack; lacks],
        };
        let all = levels(LEVELS, LACKS);
        assert!(all.to_bytes().len() <= crate::wires::LONGEST);
        assert_eq!(Message::parse(&all.to_bytes()), Ok(all));
        assert!(Message::parse(&levels(LEVELS + 1, 0).to_bytes()).is_err());
        assert!(Message::parse(&levels(0, LACKS + 1).to_bytes()).is_err());
        let items = |count| vec![Digest([255; 32]); count];
        let compare = |items| Message::Compare { shelf: 255, items };
        let lacking = |items| Message::Lacking { shelf: 255, items };
        for all in [compare(items(LACKS)), lacking(items(LACKS))] {
            assert!(all.to_bytes().len() <= crate::wires::LONGEST);
            assert_eq!(Message::parse(&all.to_bytes()), Ok(all));
        }
        for more in [compare(items(LACKS + 1)), lacking(items(LACKS + 1))] {
            assert!(Message::parse(&more.to_bytes()).is_err());
        }
    }
}
