//! Programs in Rust over secret values, between the parties of a party file.
//!
//! ```no_run
//! use std::path::Path;
//!
//! use cenote::programs::{Run, Session};
//! use cenote::{PartyConfig, PartyId, Protocol};
//!
//! # fn main() -> cenote::Result<()> {
//! let config = PartyConfig::load(Path::new("party.toml"))?;
//! let run = Run {
//!     protocol: Protocol::named("lego").expect("it exists"),
//!     name: "who is richer",
//!     and_gates: 1000,
//! };
//! let own = [1_000_000u64];
//! let first_is = run.between(&config, |session: &Session| {
//!     let [first, second] = [0, 1].map(PartyId).map(|party| {
//!         session.input(party, 1, (session.me() == party).then_some(&own[..]))
//!     });
//!     Ok(session.open(&first.gt(&second))?[0])
//! })?;
//! println!("party 0 is the richer one: {first_is}");
//! # Ok(())
//! # }
//! ```

use std::time::{Duration, Instant};

use cenote_net::PartyId;
use cenote_primitives::Entropy;
use cenote_program::interpreter::{Instruction, Interpreter, Opened};
pub use cenote_program::{
    Divided, Function, Int, Integer, Memory, Operand, Result, Secret, Session, Uint, Values, Word, apps,
    interpreter, local, table,
};
pub use cenote_session::Demand;
use cenote_session::{AlsoAgree, ClearEngine, Connections, Costs, Terms, Warning, handshake, memory};

use serde::{Deserialize, Serialize};

use crate::meeting::{entered, meet};
use crate::report::{PartyCosts, Seconds, no_agreement, told};
use crate::{Error, PartyConfig, Prepared, Protocol, stop};

/// A session of one party alone, without secrecy, for trying programs out.
pub fn clear_session() -> Session {
    let mut seed = [0; 8];
    Entropy::os().fill(&mut seed);
    let engine = ClearEngine::new(PartyId(0), Vec::new());
    Session::new(engine.shuffling(u64::from_le_bytes(seed)))
}

/// A run of a program. All parties say the same.
#[derive(Clone, Debug)]
pub struct Run<'a> {
    /// The protocol and its settings.
    pub protocol: Protocol,
    /// What the parties call the program, and its version: they compare it before they compute. What the program does they compare before anything
    /// is revealed.
    pub name: &'a str,
    /// About how many AND gates it computes. More than that are computed too, but cost more each.
    pub and_gates: u64,
}

impl Run<'_> {
    /// Meets the peers of `config`, runs `program` with them, and ends the session in agreement.
    ///
    /// # Errors
    /// [`Error::Config`] or [`Error::Usage`] for what is wrong before anybody is met; [`Error::Protocol`] if a peer is missing, different, lost, or caught
    /// cheating; [`Error::Usage`] with the place in the program if it does what has no meaning.
    pub fn between<T>(
        &self,
        config: &PartyConfig,
        program: impl FnOnce(&Session) -> Result<T>,
    ) -> crate::Result<T> {
        Ok(self.meet_and_run(config, program)?.0)
    }

    /// As [`Run::between`], for a program that is not written in Rust: it does what `batches` say, until they end, and `told` hears what was opened for each. Parties need not
    /// [forget](Instruction::Forget) alike.
    ///
    /// # Errors
    /// As [`Run::between`].
    pub fn follow(
        &self,
        config: &PartyConfig,
        batches: impl IntoIterator<Item = Vec<Instruction>>,
        mut told: impl FnMut(Vec<Opened>),
    ) -> crate::Result<Followed> {
        let start = Instant::now();
        let ((), ended) = self.meet_and_run(config, |session| {
            Interpreter::forgetting_alone(session.clone()).follow(batches, |opened| {
                told(opened);
                Ok(())
            })
        })?;
        Ok(Followed::new(config.me, start, ended))
    }

    /// As [`Run::between`], as party `me` over `connections`.
    ///
    /// # Errors
    /// As [`Run::between`].
    pub fn over<T>(
        &self,
        me: PartyId,
        connections: Connections,
        program: impl FnOnce(&Session) -> Result<T>,
    ) -> crate::Result<T> {
        let prepared = self.prepare()?;
        Ok(self.run(prepared, me, connections, None, program)?.0)
    }

    fn meet_and_run<T>(
        &self,
        config: &PartyConfig,
        program: impl FnOnce(&Session) -> Result<T>,
    ) -> crate::Result<(T, Ended)> {
        let identity = entered(config, &self.protocol)?;
        let prepared = self.prepare()?;
        let bytes = prepared.session_bytes(&self.demand(), config.me);
        memory::admit(bytes).map_err(|error| Error::Usage(error.to_string()))?;
        let what = "the program has ended, and its peers were told";
        stop::Session::run(what, |session| {
            let connections = meet(config, identity, &self.protocol.topology(), session)?;
            self.run(prepared, config.me, connections, config.phase_timeout, program)
        })
    }

    pub(crate) fn prepare(&self) -> crate::Result<Prepared> {
        self.protocol.prepare(&self.demand())
    }

    pub(crate) fn terms(&self) -> Terms {
        vec![
            ("program".into(), self.name.into()),
            ("AND gates".into(), self.and_gates.to_string()),
        ]
    }

    pub(crate) fn demand(&self) -> Demand<'static> {
        // What is announced shares the chance of an error with what comes beyond it, so something is.
        Demand::new().and_gates(self.and_gates.max(1))
    }

    fn run<T>(
        &self,
        prepared: Prepared,
        me: PartyId,
        connections: Connections,
        phase_timeout: Option<Duration>,
        program: impl FnOnce(&Session) -> Result<T>,
    ) -> crate::Result<(T, Ended)> {
        let demand = self.demand();
        let conversation = Conversation {
            me,
            demand: &demand,
            terms: self.terms(),
            also_agree: &(),
            phase_timeout,
        };
        conversation.hold(prepared, connections, program)
    }
}

/// How a program ended that followed instructions, at one party.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Followed {
    /// What it cost.
    pub costs: PartyCosts,
    /// Whether all parties have said that they ended it. If not, what this party has learnt was verified all the same.
    pub is_agreed: bool,
    /// What this party should know besides, in words.
    pub warnings: Vec<String>,
}

impl Followed {
    pub(crate) fn new(me: PartyId, start: Instant, ended: Ended) -> Self {
        let mut seconds = Seconds::default();
        seconds.add("total", start.elapsed());
        Followed {
            costs: PartyCosts::new(me.0, &ended.costs, seconds),
            is_agreed: ended.is_agreed,
            warnings: ended.warnings.iter().map(ToString::to_string).collect(),
        }
    }
}

/// A program that a party runs with the others.
pub(crate) struct Conversation<'a> {
    pub(crate) me: PartyId,
    /// What the program does, about.
    pub(crate) demand: &'a Demand<'a>,
    /// What the parties compare besides the protocol's terms.
    pub(crate) terms: Terms,
    pub(crate) also_agree: &'a (dyn AlsoAgree + Sync),
    pub(crate) phase_timeout: Option<Duration>,
}

pub(crate) struct Ended {
    pub(crate) costs: Costs,
    pub(crate) error_log2: f64,
    pub(crate) computational_bits: f64,
    pub(crate) warnings: Vec<Warning>,
    /// Whether the session has ended in agreement. If not, this party has learnt its outputs all the same.
    pub(crate) is_agreed: bool,
}

impl Conversation<'_> {
    /// Compares the terms, runs `program`, and ends the session in agreement.
    pub(crate) fn hold<T, E: Into<Error>>(
        self,
        prepared: Prepared,
        mut connections: Connections,
        program: impl FnOnce(&Session) -> std::result::Result<T, E>,
    ) -> crate::Result<(T, Ended)> {
        let me = self.me;
        // What people have stated differently is told before what follows from it. The version comes first.
        let mut terms = prepared.terms(false);
        terms.splice(1..1, self.terms);
        terms.extend(self.also_agree.terms());
        let phases = connections.phases(
            self.phase_timeout
                .unwrap_or_else(|| prepared.phase_limit(self.demand)),
        );
        phases.begin("the handshake");
        let name = handshake(me, &mut connections, &terms, self.also_agree)?;
        phases.begin("the set-up");
        let mut engine = prepared.start(me, connections, &name, None)?;
        if let Err(error) = self.demand.announce(&mut *engine) {
            self.also_agree.warned(told(engine.warnings()));
            return Err(error.into());
        }
        let session = Session::of(engine);
        // How long a program takes nobody knows ahead: its time is limited if that was asked for.
        match self.phase_timeout {
            Some(_) => phases.begin("the program"),
            None => drop(phases),
        }
        let ended = program(&session)
            .map_err(Into::into)
            .and_then(|result| match session.finish() {
                // A peer that withholds its farewell must not take away what is verified.
                Err(cenote_program::Error::Session(error)) if session.has_learnt() => {
                    Ok((result, Some(no_agreement(me, &error))))
                }
                finished => Ok(finished.map(|_| (result, None))?),
            });
        let (result, unfinished) = ended.inspect_err(|_| self.also_agree.warned(told(session.warnings())))?;
        let is_agreed = unfinished.is_none();
        let warnings = told(unfinished.into_iter().chain(session.warnings()).collect());
        let ended = Ended {
            costs: session.costs(),
            error_log2: session.error_bound(),
            computational_bits: session.computational_bits(),
            warnings,
            is_agreed,
        };
        Ok((result, ended))
    }
}
