//! Jobs that stand, and those that keep values.

use cenote_service::audit::Actor;
use cenote_service::job::{Binding, Digest, JobId, Source, Standing};
use cenote_service::live::{Call, Reply};
use cenote_service::{Error, Job, Result, Timestamp};
use zeroize::Zeroizing;

use super::Fake;

impl Fake {
    /// A job that has kept an output under `name`.
    pub(crate) fn kept_by_peer(&self, name: &str) -> JobId {
        let id = self.proposed_keeping(name, None).proposal.id;
        let posted = vec![Binding::new("left", Source::Posted)];
        let by = Actor::Person("ada".into());
        self.jobs
            .approve(id, posted, String::new(), by, Timestamp::now())
            .expect("approved");
        self.peers_approve(id);
        self.run(id);
        id
    }

    /// A job of a peer's that stands and runs: party 0 calls it with a value of `least`.
    pub(crate) fn standing_by_peer(&self) -> Job {
        let body = Digest::of(b"standing");
        let mut proposal = self.proposal(1, body, "standing").expect("made");
        proposal.standing = Some(Standing {
            calls: 10,
            callers: vec![0],
            parameters: Some([("least".into(), "decimal(9,2)".into())].into()),
        });
        let job = self.note(proposal, body, Actor::Peer(1)).expect("proposed");
        let (id, now) = (job.proposal.id, Timestamp::now());
        let posted = vec![Binding::new("left", Source::Posted)];
        let by = Actor::Person("ada".into());
        let approved = self.jobs.approve(id, posted, String::new(), by, now);
        approved.expect("approved");
        self.peers_approve(id);
        self.jobs.queue(id, now).expect("queued");
        self.jobs.start(id, now).expect("started");
        job
    }

    /// Answers a call of it with the result that there is, and keeps the value.
    pub(super) fn answer_call(&self, call: &Call, reply: Reply) -> Result<()> {
        let least = call
            .inputs
            .get("least")
            .map(|text| text.to_string())
            .unwrap_or_default();
        if least.parse::<f64>().is_err() {
            return Err(Error::Call(
                "the value of parameter least must be of type decimal(9,2)".into(),
            ));
        }
        let mut shown = self.shown.lock().expect("whole");
        shown.posted = [("least".to_owned(), least)].into();
        reply(Ok(Zeroizing::new(shown.result.clone().into_bytes())));
        Ok(())
    }
}
