//! The calls of a query that stands: each is asked in a session of its own, with the values that its caller gives.

use std::collections::BTreeMap;
use std::time::Duration;

use cenote::query::{Answered, OwnInput, Proposed, Table};
use cenote::runner::{AlsoAgree, Connections};
use cenote::{PartyReport, Transport};
use cenote_net::Channel;
use cenote_service::job::{CallId, FailKind};
use cenote_session::Topology;

use super::words::{VALUES, recv_assent, recv_values, send_assent, send_values};
use crate::compiled::{Compiled, Work};
use crate::failure::Fault;

/// What this party's calls of a query are answered with.
pub(crate) struct Queries<'a> {
    pub(crate) compiled: &'a Compiled,
    /// This party's tables, which keep what the job declares of them.
    pub(crate) tables: Vec<Option<Table>>,
    /// Sees that a call may be asked of them, and counts it among the answers of today.
    pub(crate) allow: &'a (dyn Fn(&Proposed, CallId) -> Result<(), Fault> + Sync),
    /// Joins the parties of a session of this name.
    pub(crate) join: &'a (dyn Fn(&Topology, &str) -> Result<Connections, Fault> + Sync),
    /// What becomes of what a session told besides its answer.
    pub(crate) keep: &'a (dyn Fn(&PartyReport) + Sync),
}

/// What is asked at a call.
pub(super) struct Asked {
    pub(super) values: BTreeMap<String, String>,
    /// The query with these values; why it cannot be asked with them, which all parties find alike.
    pub(super) called: Result<Proposed, String>,
}

/// What came of a call that was asked: the answer, if this party learns it; or why there is none, which all parties know.
pub(super) type Answer = Result<Option<Answered>, String>;

impl Queries<'_> {
    fn query(&self) -> Result<&Proposed, Fault> {
        match &self.compiled.work {
            Work::Query(query) => Ok(query),
            Work::Circuit { .. } => Err(Fault::new(FailKind::Internal, "it is no query")),
        }
    }

    /// What is asked at a call: its caller tells the others the values that it gives, and they see that these are of their types.
    pub(super) fn asked(
        &self,
        (caller, own): (u8, Option<BTreeMap<String, String>>),
        peers: &mut [Box<dyn Channel>],
    ) -> Result<Asked, Fault> {
        let query = self.query()?;
        let values = match own {
            Some(values) => {
                for peer in peers {
                    send_values(&mut **peer, &values).map_err(cenote::Error::from)?;
                }
                values
            }
            None => {
                let channel = peers.iter_mut().find(|peer| peer.peer().0 == caller);
                let channel = channel
                    .ok_or_else(|| Fault::new(FailKind::Internal, "there is no channel to the caller"))?;
                let given = recv_values(&mut **channel).map_err(cenote::Error::from)?;
                let given = given.iter().map(|(name, text)| (name.as_str(), text.as_str()));
                query
                    .job()
                    .values(given)
                    .map_err(|error| super::session::lie(channel.peer(), VALUES, error.to_string()))?
            }
        };
        let called = query.called(&self.compiled.bundle, &values);
        Ok(Asked {
            values,
            called: called.map_err(|error| error.to_string()),
        })
    }

    /// What this party gives to a call, once its rules allow it. What is wrong stays here.
    pub(super) fn given(&self, asked: &Asked, call: CallId) -> Option<OwnInput> {
        let called = asked.called.as_ref().ok()?;
        let given = (self.allow)(called, call).and_then(|()| Ok(called.given(&self.tables)?));
        let told = |fault: &Fault| {
            tracing::warn!(%call, reason = %fault.reason, "this party does not answer a call of a query");
        };
        given.inspect_err(told).ok()
    }

    /// Answers a call if all parties can, in a session called `name`.
    pub(super) fn answer(
        &self,
        (asked, given): (&Asked, Option<OwnInput>),
        peers: &mut [Box<dyn Channel>],
        (name, hold): (&str, &dyn Fn(Connections) -> Connections),
        (also_agree, phase_timeout): (&(dyn AlsoAgree + Sync), Option<Duration>),
    ) -> Result<Answer, Fault> {
        for peer in &mut *peers {
            send_assent(&mut **peer, given.is_some()).map_err(cenote::Error::from)?;
        }
        let mut cannot = Vec::new();
        for peer in &mut *peers {
            if !recv_assent(&mut **peer).map_err(cenote::Error::from)? {
                cannot.push(peer.peer().0);
            }
        }
        let (called, given) = match (&asked.called, given) {
            (Err(reason), _) => return Ok(Err(reason.clone())),
            (Ok(_), None) => {
                let reason = "this party cannot answer it with its data or by its rules: the log of its service says why";
                return Ok(Err(reason.into()));
            }
            (Ok(called), Some(given)) => (called, given),
        };
        if let Some(party) = cannot.first() {
            return Ok(Err(format!(
                "party {party} cannot answer it with its data or by its rules; its operator sees why"
            )));
        }
        let connections = hold((self.join)(&called.topology(), name)?);
        let how = (also_agree, Transport::Tls, phase_timeout);
        let ended = called.answer(given, how, connections, &mut |_| ())?;
        (self.keep)(&ended.report);
        Ok(ended.answer.map_err(|error| error.to_string()))
    }
}
