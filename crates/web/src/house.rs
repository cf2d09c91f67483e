//! What the interface is given, and how calls that block are made from it.

use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

use cenote_service::{Database, Jobs, Live, Tokens};
use tokio::sync::Semaphore;
use zeroize::Zeroizing;

use crate::connections::Connections;
use crate::history::History;
use crate::hub::Hub;
use crate::limits::Limits;
use crate::meter::Meter;
use crate::names::Names;
use crate::places::Places;
use crate::plans::Plans;
use crate::problem::{Answer, Refusal};
use crate::rate::Rates;
use crate::turns::{Turns, Who};

/// The service behind the interface.
#[derive(Clone)]
pub struct House {
    /// What is up.
    pub live: Arc<dyn Live>,
    /// Its jobs.
    pub jobs: Jobs,
    /// Its database, in which its tokens and the end of its audit log are.
    pub database: Database,
}

impl std::fmt::Debug for House {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("House")
            .field("database", &self.database)
            .finish_non_exhaustive()
    }
}

/// How long a call waits for its turn to block.
const TURN: Duration = Duration::from_secs(10);

tokio::task_local! {
    /// Who makes the request that a task answers, once that is known.
    pub(crate) static CALLER: OnceLock<Who>;
}

/// What every call of the interface can reach.
pub(crate) struct Site {
    pub(crate) house: House,
    pub(crate) tokens: Tokens,
    pub(crate) names: Names,
    pub(crate) limits: Limits,
    pub(crate) hub: Hub,
    pub(crate) history: History,
    pub(crate) meter: Arc<Meter>,
    pub(crate) connections: Arc<Connections>,
    pub(crate) rates: Rates,
    /// How fast addresses may try to log in.
    pub(crate) strangers: Rates,
    /// Event streams that may yet be opened.
    pub(crate) streams: Places,
    /// Large bodies that may yet be read.
    pub(crate) large: Places,
    /// Turns of plans.
    pub(crate) plans: Plans,
    /// Whether the service was ready when it was last asked for somebody without a token, and when that was.
    pub(crate) readiness: Mutex<Option<(Instant, bool)>>,
    /// What makes the secrets of pages, which nobody can compute from a cookie.
    page_key: Zeroizing<[u8; 32]>,
    /// The whole audit log is read by one at a time.
    pub(crate) verifying: Arc<Semaphore>,
    turns: Turns,
}

pub(crate) type Shared = axum::extract::State<Arc<Site>>;

impl Site {
    pub(crate) fn new(
        house: House,
        names: Names,
        limits: Limits,
        hub: Hub,
        history: History,
    ) -> cenote_service::Result<Self> {
        let mut page_key = Zeroizing::new([0; 32]);
        getrandom::fill(page_key.as_mut_slice()).map_err(|error| {
            cenote_service::Error::Database(format!("the system gives no random bytes: {error}"))
        })?;
        let meter: Arc<Meter> = Arc::default();
        let connections = Connections::new(limits.clone(), Arc::clone(&meter));
        Ok(Site {
            tokens: Tokens::new(house.database.clone()),
            house,
            names,
            hub,
            history,
            meter,
            connections: Arc::new(connections),
            rates: Rates::new(limits.rate, limits.burst),
            strangers: Rates::new(limits.logins, limits.logins_burst),
            streams: Places::new(limits.streams, limits.streams_per_token),
            large: Places::new(limits.large_bodies, limits.large_bodies_per_token),
            plans: Plans::new(),
            readiness: Mutex::default(),
            page_key,
            verifying: Arc::new(Semaphore::new(1)),
            turns: Turns::new(),
            limits,
        })
    }

    /// What the page of a session must send with each call. It is not to be had from the session's cookie.
    pub(crate) fn page_secret(&self, session: &str) -> String {
        blake3::keyed_hash(&self.page_key, session.as_bytes())
            .to_hex()
            .to_string()
    }

    /// Does what blocks on a thread for that, when it is the turn of who makes the request.
    pub(crate) async fn block<T: Send + 'static>(
        self: &Arc<Self>,
        work: impl FnOnce(&Site) -> T + Send + 'static,
    ) -> Answer<T> {
        let who = CALLER.try_with(|caller| caller.get().cloned());
        let who = who.ok().flatten().unwrap_or(Who::Stranger);
        self.block_as(&who, work).await
    }

    /// Looks whom to let in, which does not wait for calls of those who are in.
    pub(crate) async fn enter<T: Send + 'static>(
        self: &Arc<Self>,
        work: impl FnOnce(&Site) -> cenote_service::Result<T> + Send + 'static,
    ) -> Answer<T> {
        self.block_as(&Who::Entering, work).await?.map_err(Refusal::from)
    }

    async fn block_as<T: Send + 'static>(
        self: &Arc<Self>,
        who: &Who,
        work: impl FnOnce(&Site) -> T + Send + 'static,
    ) -> Answer<T> {
        let Ok(Some(turn)) = tokio::time::timeout(TURN, self.turns.take(who)).await else {
            return Err(Refusal::busy());
        };
        let (site, span) = (Arc::clone(self), tracing::Span::current());
        let done = tokio::task::spawn_blocking(move || {
            let outcome = span.in_scope(|| work(&site));
            drop(turn);
            outcome
        });
        done.await.map_err(|_| {
            tracing::error!(target: "cenote_web", "a call panicked");
            Refusal::from(cenote_service::Error::Corrupt("a call that panicked".into()))
        })
    }

    /// The same as [`Site::block`] for calls that may fail.
    pub(crate) async fn ask<T: Send + 'static>(
        self: &Arc<Self>,
        work: impl FnOnce(&Site) -> cenote_service::Result<T> + Send + 'static,
    ) -> Answer<T> {
        self.block(work).await?.map_err(Refusal::from)
    }
}
