//! One wait of a channel: until when it lasts, and whom it blames.

use std::time::{Duration, Instant};

use crate::deadline::Deadline;
use crate::roll::{BEAT, OnRoll, Seen};
use crate::{Awaited, ChannelOptions, Error, PartyId, Result, Step, Waiting};

/// How many reads that bring something are still made when the time is over: what had come before it was must count, if
/// this process was not given time to read it.
const LATE_READS: u32 = 64;
/// How much longer than asked for a wait takes if this process was stopped meanwhile. The peer is not blamed for that
/// time.
const STOPPED: Duration = Duration::from_secs(1);

/// One wait of a channel.
pub(crate) struct Wait {
    peer: PartyId,
    awaited: Awaited,
    step: Step,
    deadline: Deadline,
    late: u32,
    told: bool,
    on_roll: Option<OnRoll>,
    extended: bool,
}

impl Wait {
    /// The wait for a message of `bytes` bytes from `peer`, from now on.
    pub(crate) fn receive(options: &ChannelOptions, peer: PartyId, step: Step, bytes: usize) -> Self {
        Self::new(options, (peer, Awaited::Message(step)), step, bytes)
    }

    /// The wait until `peer` has taken `bytes` bytes.
    pub(crate) fn send(options: &ChannelOptions, peer: PartyId, step: Step, bytes: usize) -> Self {
        Self::new(options, (peer, Awaited::Room(step)), step, bytes)
    }

    fn new(options: &ChannelOptions, (peer, awaited): (PartyId, Awaited), step: Step, bytes: usize) -> Self {
        Self {
            peer,
            awaited,
            step,
            deadline: options.deadline(bytes),
            late: 0,
            told: false,
            on_roll: None,
            extended: false,
        }
    }

    pub(crate) fn waited(&self) -> Duration {
        self.deadline.waited()
    }

    fn timeout(&self) -> Error {
        Error::Timeout {
            peer: self.peer,
            step: self.step,
            waited: self.deadline.waited(),
        }
    }

    /// What is left of the phase, if there is one.
    fn phase_left(&self, options: &ChannelOptions) -> Result<Option<Duration>> {
        let left = options.phase.remaining();
        if left == Some(Duration::ZERO) {
            let phase = options.phase.phase();
            return Err(Error::PhaseOver {
                peer: self.peer,
                step: self.step,
                phase: phase.name,
                limit: phase.limit,
            });
        }
        Ok(left)
    }

    /// Notes that something has come, if not all.
    pub(crate) fn progress(&mut self, options: &ChannelOptions) -> Result<()> {
        self.phase_left(options)?;
        if self.deadline.remaining().is_none() {
            self.late += 1;
            if self.late > LATE_READS {
                return Err(self.timeout());
            }
        }
        Ok(())
    }

    /// The time is over. Whom to blame, or how much longer to wait.
    fn over(&mut self, options: &ChannelOptions) -> Result<Duration> {
        match options.roll.seen(self.peer, self.waited()) {
            Seen::Behind(peer) => Err(Error::Stuck {
                peer,
                through: self.peer,
                step: self.step,
                waited: self.waited(),
            }),
            Seen::Waiting if !self.extended => {
                self.extended = true;
                self.deadline.extend(options.timeout);
                self.deadline.remaining().ok_or_else(|| self.timeout())
            }
            Seen::Waiting | Seen::Nothing => Err(self.timeout()),
        }
    }

    /// How long to sleep at most, before this is called again. Tells peers and the listener when it is time.
    pub(crate) fn left(&mut self, options: &ChannelOptions) -> Result<Duration> {
        let phase_left = self.phase_left(options)?;
        let left = match self.deadline.remaining() {
            Some(left) => left,
            None => self.over(options)?,
        };
        let left = left.min(phase_left.unwrap_or(Duration::MAX));
        let waited = self.waited();
        let until = |moment: Duration| moment.checked_sub(waited).filter(|rest| !rest.is_zero());
        let mut sleep = left;
        if self.on_roll.is_none() {
            match until(BEAT) {
                Some(rest) => sleep = sleep.min(rest),
                None => self.on_roll = Some(options.roll.wait_for(self.peer)),
            }
        }
        if !self.told {
            match until(options.on_wait.after()) {
                Some(rest) => sleep = sleep.min(rest),
                None => {
                    self.told = true;
                    options.on_wait.tell(&Waiting {
                        peer: self.peer,
                        awaited: self.awaited.clone(),
                        waited,
                        left,
                    });
                }
            }
        }
        Ok(sleep)
    }

    /// Sleeps by `sleep`, which was asked to take at most `limit`.
    pub(crate) fn sleep(&mut self, limit: Duration, sleep: impl FnOnce(Duration)) {
        let start = Instant::now();
        sleep(limit);
        let stopped = start.elapsed().saturating_sub(limit);
        if stopped > STOPPED {
            self.deadline.extend(stopped);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: Duration = Duration::from_secs(1000);
    const STEP: Step = Step {
        code: 1,
        name: "test",
    };

    /// A wait for party 1 whose time is just over, once party 1 was heard of just now, waiting for party 2, and party 2 so many
    /// seconds ago.
    fn over(silent: u64) -> (Wait, ChannelOptions) {
        let options = ChannelOptions::with_timeout(LIMIT);
        options.roll.heard(1, 0, 0b100);
        options.roll.heard(2, silent, 0);
        let mut wait = Wait::receive(&options, PartyId(1), STEP, 0);
        wait.deadline = Deadline::begun(LIMIT, LIMIT);
        (wait, options)
    }

    #[test]
    fn the_silent_party_behind_a_live_one_is_named() {
        let (mut wait, options) = over(600);
        let error = wait.left(&options).unwrap_err();
        assert!(
            matches!(
                error,
                Error::Stuck {
                    peer: PartyId(2),
                    through: PartyId(1),
                    step: STEP,
                    ..
                }
            ),
            "{error}"
        );
        assert_eq!(
            error.to_string(),
            "nothing has been heard from party 2: party 1, waited for in step \"test\" for 1000.0 s, answers and says that it \
             waits for party 2"
        );
    }

    #[test]
    fn a_party_that_says_that_it_waits_has_its_time_once_more() {
        let (mut wait, options) = over(10);
        let left = wait.left(&options).unwrap();
        assert!(left > LIMIT / 2 && left <= LIMIT, "{left:?}");
        wait.deadline = Deadline::begun(2 * LIMIT, 2 * LIMIT);
        let error = wait.left(&options).unwrap_err();
        assert!(
            matches!(error, Error::Timeout { peer: PartyId(1), .. }),
            "{error}"
        );
    }
}
