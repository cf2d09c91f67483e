//! The process of a party among those of one machine: how it meets the others.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use cenote_net::{Budget, Identity, Listen, OnWait, PartyId, Patience, PeerAddress};
use cenote_primitives::BitMatrix;
use cenote_session::{Connections, Link, Topology, handshake};
use serde::{Deserialize, Serialize};

use crate::processes::{Contact, Parent};
use crate::registry::version;
use crate::runner::{AlsoAgree, Outcome};
use crate::stop::Session;
use crate::text::tell;
use crate::{Error, Party, Program, Protocol, Result, Transport};

/// How parties on this machine find each other.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Setting {
    /// How they are joined.
    pub transport: Transport,
    /// How long one waits for another that is silent.
    pub timeout: Duration,
    /// How long each phase of a session may take: see [`Party::phase_timeout`].
    pub phase_timeout: Option<Duration>,
}

/// Where a party's process stands: which party it is, and how it meets the others.
pub struct Seat<'a> {
    /// The party.
    pub me: PartyId,
    pub(super) setting: Setting,
    pub(super) parent: &'a Parent,
}

impl Seat<'_> {
    /// How the parties are joined.
    pub(crate) fn transport(&self) -> Transport {
        self.setting.transport
    }

    /// How long one waits for another that is silent.
    pub(crate) fn timeout(&self) -> Duration {
        self.setting.timeout
    }

    /// How long each phase may take.
    pub(crate) fn phase_timeout(&self) -> Option<Duration> {
        self.setting.phase_timeout
    }

    /// Tells the parent how much is done, of how much.
    pub fn progress(&self, done: u64, total: u64) {
        self.parent.progress(done, total);
    }

    /// Tells the parent something else: see [`crate::processes::Heard::Note`].
    pub fn note(&self, note: serde_json::Value) {
        self.parent.note(note);
    }

    /// Runs `program`, as [`Party::run`] does.
    ///
    /// # Errors
    /// Those of [`Party::run`]; [`Error::Local`] if this machine cannot listen.
    pub fn compute(
        &self,
        protocol: &Protocol,
        program: &Program,
        inputs: &[Option<BitMatrix>],
        also_agree: &dyn AlsoAgree,
    ) -> Result<Outcome> {
        self.compute_over(|connections| connections, protocol, program, inputs, also_agree)
    }

    /// The same over what `wrap` makes of the connections.
    ///
    /// # Errors
    /// As [`Seat::compute`].
    pub fn compute_over(
        &self,
        wrap: impl FnOnce(Connections) -> Connections,
        protocol: &Protocol,
        program: &Program,
        inputs: &[Option<BitMatrix>],
        also_agree: &dyn AlsoAgree,
    ) -> Result<Outcome> {
        let party = Party {
            me: self.me,
            protocol,
            program,
            inputs,
            also_agree,
            transport: self.setting.transport,
            phase_timeout: self.setting.phase_timeout,
        };
        let demand = program.demand();
        let prepared = protocol.prepare(&demand)?;
        let budget = prepared.budget(&demand);
        Session::run("its peers were told", |session| {
            let connect = || {
                Ok(wrap(
                    session.interrupts(self.connect(&protocol.topology(), budget)?),
                ))
            };
            let progress = &mut |done, total| self.progress(done, total);
            party.run_prepared(prepared, None, connect, progress)
        })
    }

    /// Tells the operator, on the standard error that all processes share, of parties that are waited for for long.
    pub(crate) fn on_wait(&self) -> OnWait {
        let me = self.me;
        OnWait::new(OnWait::AFTER, move |waiting| {
            tell(format_args!("{me}: {waiting}"))
        })
    }

    /// Connects to the others, makes sure that one process of each has come, and does `work`, which ends in order at the
    /// operator's word.
    ///
    /// # Errors
    /// [`Error::Local`] if this machine cannot listen; [`Error::Protocol`] if a peer is missing or different; those of `work`.
    pub fn meet<T>(&self, topology: &Topology, work: impl FnOnce(Connections) -> Result<T>) -> Result<T> {
        Session::run("its peers were told", |session| {
            let mut connections = session.interrupts(self.connect(topology, Budget::default())?);
            // How long a measurement takes is the operator's choice.
            let _phases = self.setting.phase_timeout.map(|limit| {
                let phases = connections.phases(limit);
                phases.begin("the measurement");
                phases
            });
            handshake(self.me, &mut connections, &vec![version()], &())?;
            work(connections)
        })
    }

    /// Makes a key, listens, tells the parent, and connects to those that the parent tells of.
    pub(crate) fn connect(&self, topology: &Topology, budget: Budget) -> Result<Connections> {
        let identity = Identity::generate()?;
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
            .map_err(|error| Error::local("listening on the loopback interface", error))?;
        let address: SocketAddr = listener
            .local_addr()
            .map_err(|error| Error::local("listening on the loopback interface", error))?;
        let contacts = self.parent.meet(Contact {
            party: self.me.0,
            address,
            fingerprint: identity.fingerprint().to_string(),
        })?;
        let parties = contacts.into_iter().map(|contact| PeerAddress {
            address: contact.address.to_string(),
            fingerprint: contact.fingerprint.parse().ok(),
            relayed: false,
        });
        let link = Link {
            me: self.me,
            parties: parties.collect(),
            listen: Listen::Bound(listener),
            identity: (self.setting.transport == Transport::Tls).then(|| Arc::new(identity)),
            connect_timeout: self.setting.timeout,
            timeout: self.setting.timeout,
            on_wait: self.on_wait(),
            budget,
            patience: Patience::default(),
        };
        Ok(Connections::connect(topology, link)?)
    }
}
