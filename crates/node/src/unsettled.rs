//! What is on record against peers, and what the operator is told of it: sessions that began and did not end in agreement, checks that failed, and what
//! sessions told besides their outputs.

use std::sync::Arc;

use cenote_service::audit::{Actor, Event};
use cenote_service::job::{FailKind, Job, JobId, Tried, Unsettled};
use cenote_service::live::AlarmKind;
use cenote_service::{Database, Jobs, Timestamp};
use cenote_session::Warning;

use crate::failure::Fault;
use crate::locks::{Mutex, lock};
use crate::monitor::Monitor;
use crate::peers::Peers;
use crate::policy::PolicyInForce;
use crate::running_job::RunningJob;
use crate::witness::Witness;

/// A session's bound is the sum of what may go wrong in it, each of which has at most the probability 2^-security: of fewer than 2^3 such events.
const SUMMED: u16 = 3;

/// Bits of security that the bound of a session leaves, if those are fewer than a session of `security` bits has where no check was cut off before.
fn bits_left(error_log2: f64, security: u16) -> Option<u16> {
    let least = f64::from(security.saturating_sub(SUMMED));
    (error_log2 > -least).then(|| (-error_log2).clamp(0.0, least) as u16)
}

/// What the session of a job has warned of.
pub(crate) struct Told {
    job: JobId,
    protocol: &'static str,
    warning: Warning,
}

/// Something to be held against a peer, or against all of so many parties.
#[derive(Clone)]
pub(crate) struct Grave {
    tried: Tried,
    parties: u8,
    peer: Option<u8>,
    event: Event,
}

/// What is on record against peers.
pub(crate) struct AgainstPeers {
    /// What sessions have warned of, and the operator is not told yet.
    pub(crate) warnings: Mutex<Vec<Told>>,
    /// What could not be recorded, and is tried again.
    pub(crate) lost: Mutex<Vec<Grave>>,
    pub(crate) me: u8,
    pub(crate) database: Database,
    pub(crate) jobs: Jobs,
    pub(crate) policy: Arc<PolicyInForce>,
    pub(crate) peers: Arc<Peers>,
    pub(crate) monitor: Arc<Monitor>,
    pub(crate) witness: Arc<Witness>,
}

impl AgainstPeers {
    /// Sees what is on record against each peer, and raises or ends the alarm on that.
    pub(crate) fn look_at_unsettled(&self) {
        let all = match self.jobs.unsettled() {
            Ok(all) => all,
            Err(error) => return tracing::error!(%error, "what is on record against peers cannot be read"),
        };
        let most = self.policy.read().most_unsettled();
        for party in (0..self.peers.count()).filter(|party| *party != self.me) {
            let known = all.iter().find(|known| known.peer == party);
            let Some(known) = known.filter(|known| known.is_too_much(most)) else {
                self.monitor.end_alarm(AlarmKind::Unsettled, &party.to_string());
                continue;
            };
            let text = format!(
                "{known}. A peer that cheats and falls silent before that shows leaves no more than this. No rule approves a job with party {party} \
                 ({}) any more{}, and no job with it begins that this party has proposed; a person decides. Sessions of three parties that tell of no one \
                 party stand in the way of jobs of three only.",
                self.peers.name(party),
                if known.grave {
                    ", no stock is made with it"
                } else {
                    ""
                }
            );
            let grave = if known.grave { " --grave" } else { "" };
            let advice = format!(
                "See in the log and the audit log how these sessions ended, and speak with its operator. When you know why, `cenote peer settle {party} \
                 --times {}{grave}` lets rules decide again.",
                known.times
            );
            self.monitor
                .alarm(AlarmKind::Unsettled, &party.to_string(), capital(text), &advice);
        }
    }

    /// Why nothing is made in stock with the others among so many parties: a check has failed in a session with one of them, and nobody has settled it, or
    /// a folder was put back to an earlier state.
    pub(crate) fn caught_among(&self, parties: u8) -> Option<String> {
        if !lock(&self.lost).is_empty() {
            return Some("what is on record against peers could not be written".into());
        }
        if let Some(known) = self.witness.put_back_among(parties) {
            return Some(known.to_string());
        }
        match self.jobs.unsettled_among(parties) {
            Ok(all) => all
                .into_iter()
                .find(|known| known.grave)
                .map(|known| known.to_string()),
            Err(error) => Some(format!("what is on record against peers cannot be read: {error}")),
        }
    }

    /// A person has looked into what is on record against a peer, and has `seen` this.
    pub(crate) fn settle(&self, seen: Unsettled, by: Actor) -> cenote_service::Result<bool> {
        let settled = self.jobs.settle(seen, by, Timestamp::now())?;
        self.look_at_unsettled();
        Ok(settled)
    }

    /// A run of a job has failed, and not because a check has. It stays on record only if a peer could try something in it. An orderly stop of this service is held
    /// against nobody, but for shards that had broken off before.
    pub(crate) fn note_end(&self, running: &RunningJob) {
        let is_stopped = running
            .stopped()
            .is_some_and(|(kind, _)| kind == FailKind::Restarted);
        let noted = match running.run_on_record() {
            Some(run) if !running.is_open() => self.jobs.drop_run(run),
            Some(run) if is_stopped && !running.has_broken_off() && running.goes_on() => {
                self.jobs.drop_run(run)
            }
            Some(_) if is_stopped && running.goes_on() => self.jobs.break_off(running.job),
            _ => Ok(()),
        };
        if let Err(error) = noted {
            tracing::error!(job = %running.job, %error, "what is on record against peers of a job that broke off cannot be changed");
        }
    }

    /// A job has run, is recorded as it ended, and holds nothing that others wait for.
    pub(crate) fn look_back(&self, running: &RunningJob) {
        let told = running.take_warnings().into_iter();
        let told = told.map(|(protocol, warning)| Told {
            job: running.job,
            protocol,
            warning,
        });
        lock(&self.warnings).extend(told);
        if running.is_open() {
            self.look_at_unsettled();
        }
    }

    /// A check has failed in a session of so many parties: it is noted in the audit log, and held against the peer that it names, or against all of them
    /// if it names none.
    pub(crate) fn note_check(&self, tried: Tried, parties: u8, fault: &Fault) {
        let event = Event::CheckFailed {
            job: tried.job(),
            peer: fault.cheater,
            check: fault.check.unwrap_or("a check").to_owned(),
        };
        self.hold_against(tried, parties, fault.cheater, event);
    }

    fn hold_against(&self, tried: Tried, parties: u8, peer: Option<u8>, event: Event) {
        self.hold(Grave {
            tried,
            parties,
            peer,
            event,
        });
        self.look_at_unsettled();
    }

    /// Gives whether it is on record now.
    fn hold(&self, grave: Grave) -> bool {
        let event = grave.event.clone();
        let held = self
            .jobs
            .hold_against(grave.tried, grave.parties, grave.peer, event, Timestamp::now());
        if let Err(error) = &held {
            tracing::error!(%error, "what a session showed of a peer cannot be recorded; it is tried again");
            lock(&self.lost).push(grave);
        }
        held.is_ok()
    }

    /// By the clock: records what could not be recorded, and tells the operator what sessions have warned of. What is written to the disk for a warning
    /// delays nothing that peers could time.
    pub(crate) fn look(&self) {
        let lost = std::mem::take(&mut *lock(&self.lost));
        let mut rest = lost.into_iter();
        while let Some(grave) = rest.next() {
            let is_held = self.hold(grave);
            self.look_at_unsettled();
            if !is_held {
                lock(&self.lost).extend(rest);
                break;
            }
        }
        self.tell_warnings();
    }

    /// Of each protocol the latest warning of a kind stands.
    pub(crate) fn tell_warnings(&self) {
        let told = std::mem::take(&mut *lock(&self.warnings));
        let mut rest = told.into_iter();
        while let Some(told) = rest.next() {
            let (job, warning) = (told.job, &told.warning);
            self.monitor.alarm(
                AlarmKind::Warning,
                &format!("{} {}", told.protocol, warning.kind.name()),
                format!("Job {job}: {warning}."),
                "Keep the log and the audit log, and find out what happened. Before you know, let no peer see that you were warned: that alone can tell a \
                 cheater something of your inputs.",
            );
            let event = Event::Warned {
                job,
                warning: warning.text.clone(),
            };
            if let Err(error) = self.database.audit(Timestamp::now(), event) {
                tracing::error!(%job, %error, "a warning cannot be noted in the audit log; it is tried again");
                return lock(&self.warnings).extend(std::iter::once(told).chain(rest));
            }
        }
    }

    /// Compares the bound of a session with what the job promises and with what this party's policy demands at the least. It is known to all parties.
    pub(crate) fn check_bound(&self, job: &Job, error_log2: f64) {
        let floor = self.policy.read().least_security();
        let least = job.proposal.security.statistical.max(floor);
        let id = job.proposal.id;
        let Some(bits) = bits_left(error_log2, least) else {
            return;
        };
        self.monitor.alarm(
            AlarmKind::Warning,
            "bound",
            format!(
                "Job {id}: the probability that a wrong output passed was at most 2^-{bits}, which is more than at {least} bits of security, since checks of \
                 what these parties keep in stock were cut off before."
            ),
            "Find out with the peer why. Stock of more security leaves more, and so does stock that is made anew after `cenote stock drop`.",
        );
        let event = Event::BoundPassed { job: id, bits, least };
        // A job may promise more than this party demands.
        if bits_left(error_log2, floor).is_some() {
            self.hold_against(Tried::Bound { bits, floor }, job.proposal.parties, None, event);
        } else if let Err(error) = self.database.audit(Timestamp::now(), event) {
            tracing::error!(job = %id, %error, "a bound cannot be noted in the audit log");
        }
    }
}

/// The text with a capital at its beginning.
fn capital(text: String) -> String {
    let mut rest = text.chars();
    rest.next()
        .map(|first| first.to_uppercase().chain(rest).collect())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_that_is_passed_leaves_fewer_bits() {
        assert_eq!(bits_left(-37.0, 40), None, "a sum");
        assert_eq!(bits_left(f64::NEG_INFINITY, 128), None);
        assert_eq!(bits_left(-36.5, 40), Some(36));
        assert_eq!((bits_left(2.0, 40), bits_left(2.0, 1)), (Some(0), Some(0)));
    }
}
