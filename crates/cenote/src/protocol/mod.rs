//! The choice of a protocol and of its security, by name; and how a party runs a program with it.

mod lego;
mod three;

use cenote_session::{Costs, Engine};
use serde::{Deserialize, Serialize};

pub use self::lego::{Lego, Parameters as LegoParameters};
pub use self::three::{Three, and_blocks};
use crate::program::Executed;
use crate::runner::{Fields, Party};
use crate::stock::Stock;
use crate::{Error, Program, Result};
use cenote_session::{Connections, Topology};

/// A protocol with its settings, the same at all parties. In JSON its name is the field `protocol`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "protocol", rename_all = "kebab-case")]
pub enum Protocol {
    /// Three parties, of which one may be malicious.
    Three(Three),
    /// Two parties, either of which may be malicious.
    Lego(Lego),
}

impl Default for Protocol {
    /// Three parties.
    fn default() -> Self {
        Protocol::Three(Three::default())
    }
}

impl From<Three> for Protocol {
    fn from(settings: Three) -> Self {
        Protocol::Three(settings)
    }
}

impl From<Lego> for Protocol {
    fn from(settings: Lego) -> Self {
        Protocol::Lego(settings)
    }
}

impl Protocol {
    /// The names there are.
    pub const NAMES: [&str; 2] = [Three::NAME, Lego::NAME];

    /// Its name in jobs and reports.
    pub fn name(&self) -> &'static str {
        match self {
            Protocol::Three(_) => Three::NAME,
            Protocol::Lego(_) => Lego::NAME,
        }
    }

    /// Number of parties.
    pub fn parties(&self) -> u8 {
        match self {
            Protocol::Three(_) => Three::PARTIES,
            Protocol::Lego(_) => Lego::PARTIES,
        }
    }

    /// Workers, as the protocol understands them: pairs of threads of each party, or threads that evaluate.
    pub fn workers(&self) -> u8 {
        match self {
            Protocol::Three(settings) => settings.workers,
            Protocol::Lego(settings) => settings.workers,
        }
    }

    /// A wrong output passes with probability at most 2 to the minus this.
    pub fn security(&self) -> u32 {
        match self {
            Protocol::Three(settings) => settings.security,
            Protocol::Lego(settings) => settings.security,
        }
    }

    /// Sees that there are parameters that run `program` at the security level.
    ///
    /// # Errors
    /// [`Error::Usage`] if there are none.
    pub fn check(&self, program: &Program) -> Result<()> {
        self.session(program).map(|_| ())
    }

    /// What joins the parties.
    pub fn topology(&self) -> Topology {
        Topology {
            name: self.name().into(),
            parties: self.parties(),
            workers: match self {
                Protocol::Three(settings) => settings.workers,
                Protocol::Lego(settings) => settings.workers,
            },
            purposes: match self {
                Protocol::Three(_) => Three::PURPOSES,
                Protocol::Lego(_) => Lego::PURPOSES,
            },
            shared: &[],
        }
    }

    /// What the parties compare of it, the protocol's name first.
    pub(crate) fn fields(&self) -> Fields {
        let mut fields = vec![("protocol".to_owned(), self.name().to_owned())];
        let settings = match self {
            Protocol::Three(settings) => settings.fields(),
            Protocol::Lego(settings) => settings.fields(),
        };
        fields.extend(settings.into_iter().map(|(name, value)| (name.to_owned(), value)));
        fields
    }

    /// The settings of the three-party protocol, for what only that has.
    ///
    /// # Errors
    /// [`Error::Usage`] for another protocol: there is no `what` with it.
    pub(crate) fn three(&self, what: &str) -> Result<&Three> {
        match self {
            Protocol::Three(settings) => Ok(settings),
            other => Err(Error::Usage(format!(
                "there is no {what} with protocol \"{}\", only with \"{}\"",
                other.name(),
                Three::NAME
            ))),
        }
    }

    /// Finds the parameters for `program`.
    ///
    /// # Errors
    /// [`Error::Usage`] if no parameters reach the security level.
    pub(crate) fn session(&self, program: &Program) -> Result<Session<'_>> {
        Ok(match self {
            Protocol::Three(settings) => {
                Session::Three(settings, settings.parameters(program.plan(), program.lanes())?)
            }
            Protocol::Lego(settings) => Session::Lego(settings, settings.parameters(program)?),
        })
    }
}

/// A protocol with the parameters for a program.
pub(crate) enum Session<'a> {
    Three(&'a Three, cenote_params::three::Parameters),
    Lego(&'a Lego, lego::Parameters),
}

/// What a session gave one party.
pub(crate) struct Finished {
    pub(crate) executed: Executed,
    pub(crate) costs: Costs,
    /// The cut-and-choose parameters, for the report.
    pub(crate) parameters: serde_json::Value,
    /// The base-2 logarithm of the probability that a wrong output passes.
    pub(crate) error_log2: f64,
    /// What the party should know besides.
    pub(crate) warnings: Vec<String>,
}

impl Session<'_> {
    /// Runs the party's program over `connections`, with what is in `stock` instead of what is made in the session if given.
    pub(crate) fn run(
        self,
        party: &Party<'_>,
        connections: Connections,
        stock: Option<Stock<'_>>,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<Finished> {
        match self {
            Session::Three(settings, parameters) => {
                let stock = match stock {
                    Some(Stock::Material(_)) => return Err(foreign_stock(party)),
                    Some(Stock::Triples(folder)) => Some(folder),
                    None => None,
                };
                settings.run(parameters, party, connections, stock, progress)
            }
            Session::Lego(settings, parameters) => {
                let stock = match stock {
                    Some(Stock::Triples(_)) => return Err(foreign_stock(party)),
                    Some(Stock::Material(folder)) => Some(folder),
                    None => None,
                };
                settings.run(parameters, party, connections, stock, progress)
            }
        }
    }
}

fn foreign_stock(party: &Party<'_>) -> Error {
    let name = party.protocol.name();
    Error::Usage(format!(
        "the stock given is not of protocol \"{name}\", which the job has"
    ))
}

/// Runs the program of `party` with an engine that was started.
fn execute<E: Engine>(
    engine: &mut E,
    party: &Party<'_>,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Executed> {
    tracing::info!(me = %party.me, protocol = party.protocol.name(), "session started");
    let total = party.program.and_gates();
    party
        .program
        .execute(engine, party.inputs, |done| progress(done, total))
}
