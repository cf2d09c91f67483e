//! Which attempts were handed out, and what may be handed out next: the rules that every coordinator holds the leader to.

use std::collections::BTreeSet;

use crate::{Attempt, Job, Piece};

/// What is recorded of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Entry {
    /// It was handed out.
    HandedOut(Attempt),
    /// All parties were done with it.
    Done(Attempt),
    /// It does not count.
    Lost(Attempt),
    /// A check failed in it.
    Failed(Attempt),
}

/// What is known of a piece.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Count {
    /// The number of the last attempt; 0 if there was none.
    pub(crate) last: u32,
    pub(crate) state: State,
}

/// What became of the last attempt at a piece.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum State {
    /// It was lost, or there was none.
    #[default]
    Open,
    /// It runs.
    Out,
    /// It counts.
    Done,
    /// A check failed in it, which ends the job.
    Failed,
}

/// The attempts of a job.
#[derive(Clone, Debug)]
pub(crate) struct Book {
    shards: u32,
    attempts: u32,
    /// Attempts that were handed out, those of the same job under earlier names included.
    handed_out: u32,
    counts: Vec<Count>,
    /// The shards that may be handed out: those tried least first, then by their index.
    ready: BTreeSet<(u32, u32)>,
    shards_done: u32,
}

impl Book {
    /// That of a job of which nothing was handed out but `before` attempts under earlier names.
    pub(crate) fn new(job: &Job, before: u32) -> Self {
        Self {
            shards: job.shards(),
            attempts: job.attempts(),
            handed_out: before,
            counts: vec![Count::default(); job.pieces() as usize],
            ready: (0..job.shards()).map(|shard| (0, shard)).collect(),
            shards_done: 0,
        }
    }

    fn index(&self, piece: Piece) -> Option<usize> {
        match piece {
            Piece::Shard(index) => (index < self.shards).then_some(index as usize),
            Piece::Merge => Some(self.shards as usize),
        }
    }

    /// What is known of a piece; nothing of one that there is not.
    pub(crate) fn count(&self, piece: Piece) -> Count {
        self.index(piece).map(|at| self.counts[at]).unwrap_or_default()
    }

    /// All pieces in order, the merge last.
    pub(crate) fn counts(&self) -> &[Count] {
        &self.counts
    }

    /// Attempts that were handed out, all together.
    pub(crate) fn handed_out(&self) -> u32 {
        self.handed_out
    }

    /// Attempts that are left.
    pub(crate) fn left(&self) -> u32 {
        self.attempts.saturating_sub(self.handed_out)
    }

    /// Pieces that are done.
    pub(crate) fn done(&self) -> u32 {
        self.shards_done + u32::from(self.is_over())
    }

    /// Pieces that are not done and do not run.
    pub(crate) fn needed(&self) -> u32 {
        self.ready.len() as u32 + u32::from(self.count(Piece::Merge).state == State::Open)
    }

    /// Whether all pieces are done.
    pub(crate) fn is_over(&self) -> bool {
        self.count(Piece::Merge).state == State::Done
    }

    /// The attempt in which a check failed, if there is one.
    pub(crate) fn failed(&self) -> Option<Attempt> {
        let at = self
            .counts
            .iter()
            .position(|count| count.state == State::Failed)?;
        let piece = if at as u32 == self.shards {
            Piece::Merge
        } else {
            Piece::Shard(at as u32)
        };
        let number = self.counts[at].last;
        Some(Attempt { piece, number })
    }

    /// Why an attempt may not be handed out.
    ///
    /// # Errors
    /// In words.
    pub(crate) fn permits(&self, attempt: Attempt) -> Result<(), String> {
        let Attempt { piece, number } = attempt;
        let Some(at) = self.index(piece) else {
            return Err(format!("there are {} shards, and none is {piece}", self.shards));
        };
        let Count { last, state } = self.counts[at];
        if piece == Piece::Merge && self.shards_done < self.shards {
            let missing = self.shards - self.shards_done;
            return Err(format!(
                "{missing} shards are not done yet, and the merge needs them"
            ));
        }
        match state {
            State::Done => return Err(format!("{piece} is done")),
            State::Out => return Err(format!("attempt {last} at it still runs")),
            State::Failed => return Err(format!("a check failed in attempt {last} at it")),
            State::Open => {}
        }
        if u64::from(number) != u64::from(last) + 1 {
            return Err(format!("the attempt before was number {last}"));
        }
        if self.left() == 0 {
            return Err(format!("all {} attempts of the job are used up", self.attempts));
        }
        Ok(())
    }

    /// What to hand out next, if anything may be: what was tried least, in the order of the indices.
    pub(crate) fn next(&self) -> Option<Attempt> {
        let piece = match self.ready.first() {
            Some(&(_, index)) => Piece::Shard(index),
            None => Piece::Merge,
        };
        let number = self.count(piece).last.checked_add(1)?;
        let attempt = Attempt { piece, number };
        self.permits(attempt).is_ok().then_some(attempt)
    }

    /// Notes an entry. Between attempts that are handed out, numbers may be left out: those that only another party knows of.
    ///
    /// # Errors
    /// In words, where it does not follow from what was noted before. Nothing is noted then.
    pub(crate) fn note(&mut self, entry: Entry) -> Result<(), String> {
        let (Entry::HandedOut(attempt)
        | Entry::Done(attempt)
        | Entry::Lost(attempt)
        | Entry::Failed(attempt)) = entry;
        let Attempt { piece, number } = attempt;
        let at = self.index(piece).ok_or_else(|| format!("there is no {piece}"))?;
        let count = self.counts[at];
        let state = match entry {
            Entry::HandedOut(_) if number > count.last && count.state == State::Open => {
                let more = number - count.last;
                if more > self.left() {
                    return Err(format!(
                        "{attempt} is beyond the {} that there may be",
                        self.attempts
                    ));
                }
                self.handed_out += more;
                State::Out
            }
            Entry::Done(_) if number == count.last && count.state == State::Out => State::Done,
            Entry::Failed(_) if number == count.last && count.state == State::Out => State::Failed,
            Entry::Lost(_) if number == count.last && matches!(count.state, State::Out | State::Done) => {
                State::Open
            }
            _ => {
                return Err(format!(
                    "{attempt} was not handed out, or twice, or has ended before"
                ));
            }
        };
        if let Piece::Shard(index) = piece {
            self.shards_done += u32::from(state == State::Done);
            self.shards_done -= u32::from(count.state == State::Done);
            self.ready.remove(&(count.last, index));
            if state == State::Open {
                self.ready.insert((number, index));
            }
        }
        self.counts[at] = Count { last: number, state };
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn book(shards: u32, attempts: u32) -> Book {
        Book::new(&Job::new(Vec::new(), shards, attempts).unwrap(), 0)
    }

    fn shard(index: u32, number: u32) -> Attempt {
        Attempt {
            piece: Piece::Shard(index),
            number,
        }
    }

    const MERGE: Attempt = Attempt {
        piece: Piece::Merge,
        number: 1,
    };

    #[test]
    fn what_was_tried_least_comes_first() {
        let mut book = book(3, 9);
        let mut order = Vec::new();
        let mut lost = vec![shard(0, 1), shard(2, 1), shard(0, 2)];
        while let Some(next) = book.next() {
            book.note(Entry::HandedOut(next)).unwrap();
            assert_ne!(book.next(), Some(next), "one at a time");
            let is_lost = lost.iter().position(|one| *one == next).map(|at| lost.remove(at));
            let end = if is_lost.is_some() {
                Entry::Lost
            } else {
                Entry::Done
            };
            book.note(end(next)).unwrap();
            order.push(next);
        }
        let shards = [(0, 1), (1, 1), (2, 1), (0, 2), (2, 2), (0, 3)];
        let expected = shards.map(|(index, number)| shard(index, number));
        assert_eq!(order, [&expected[..], &[MERGE]].concat());
        assert!(book.is_over());
        assert_eq!(
            (book.done(), book.needed(), book.handed_out(), book.left()),
            (4, 0, 7, 2)
        );
    }

    #[test]
    fn what_may_not_be_handed_out_is_refused() {
        let mut book = book(2, 4);
        book.note(Entry::HandedOut(shard(0, 1))).unwrap();
        let refused = |book: &Book, attempt: Attempt, why: &str| {
            let said = book.permits(attempt).unwrap_err();
            assert!(said.contains(why), "{attempt}: {said}");
        };
        refused(&book, shard(0, 1), "still runs");
        refused(&book, shard(0, 2), "still runs");
        refused(&book, shard(1, 2), "number 0");
        refused(&book, shard(1, 0), "number 0");
        refused(&book, shard(2, 1), "none is shard 2");
        refused(&book, MERGE, "2 shards are not done");
        assert!(book.permits(shard(1, 1)).is_ok());
        book.note(Entry::Lost(shard(0, 1))).unwrap();
        refused(&book, shard(0, 1), "number 1");
        refused(&book, shard(0, 3), "number 1");
        book.note(Entry::HandedOut(shard(0, 2))).unwrap();
        book.note(Entry::Done(shard(0, 2))).unwrap();
        refused(&book, shard(0, 3), "is done");
        book.note(Entry::HandedOut(shard(1, 2))).unwrap();
        book.note(Entry::Lost(shard(1, 2))).unwrap();
        refused(&book, shard(1, 3), "used up");
        assert_eq!(book.next(), None);
    }

    #[test]
    fn what_does_not_follow_is_not_noted() {
        let mut book = book(2, 4);
        for entry in [
            Entry::Done(shard(0, 0)),
            Entry::Lost(shard(0, 0)),
            Entry::HandedOut(shard(0, 0)),
            Entry::HandedOut(shard(0, 5)),
            Entry::HandedOut(shard(2, 1)),
            Entry::Done(shard(1, 1)),
        ] {
            assert!(book.note(entry).is_err(), "{entry:?}");
        }
        assert_eq!(book.handed_out(), 0);
        book.note(Entry::HandedOut(shard(0, 1))).unwrap();
        assert!(book.note(Entry::HandedOut(shard(0, 2))).is_err());
        assert!(book.note(Entry::Done(shard(0, 2))).is_err());
        book.note(Entry::Done(shard(0, 1))).unwrap();
        assert!(book.note(Entry::HandedOut(shard(0, 2))).is_err());
        assert!(book.note(Entry::Failed(shard(0, 1))).is_err());
        // Another party was not done with it.
        book.note(Entry::Lost(shard(0, 1))).unwrap();
        assert_eq!(book.next(), Some(shard(1, 1)));
        book.note(Entry::HandedOut(shard(1, 1))).unwrap();
        book.note(Entry::Failed(shard(1, 1))).unwrap();
        assert!(book.note(Entry::Lost(shard(1, 1))).is_err(), "it stays so");
        assert!(book.permits(shard(1, 2)).unwrap_err().contains("a check failed"));
        assert_eq!(book.failed(), Some(shard(1, 1)));
    }
}
