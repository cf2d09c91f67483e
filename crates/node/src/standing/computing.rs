//! What the calls of a session of a job that stands are computed with.

use cenote::runner::Connections;
use cenote::standing::{Standing, most_together};
use cenote::{BitMatrix, Party, PartyId, Program, Transport};
use cenote_service::job::FailKind;

use super::desk::Desk;
use super::queries::Queries;
use super::session::Serving;
use crate::compiled::Work;
use crate::failure::Fault;

/// Calls by which what may have been answered grows on the disk. After a crash fewer than so many are lost.
const CHUNK: u64 = 256;
/// AND gates of a call that are computed in one piece, for certain.
const WHOLE: u64 = 1 << 22;

/// What the calls of a session are of.
pub(crate) enum Serves<'a> {
    /// A circuit, computed over these connections. This party's inputs stay the same, if they are given here.
    Circuit {
        connections: Connections,
        fixed: Vec<Option<BitMatrix>>,
    },
    /// A query.
    Query(Queries<'a>),
}

/// The same, once the session is up.
pub(super) enum Computing<'a> {
    Circuit {
        session: Box<Standing<'a>>,
        program: &'a Program,
        fixed: Vec<Option<BitMatrix>>,
    },
    Query(Queries<'a>),
}

impl Serving<'_> {
    /// What calls are computed with.
    pub(super) fn start<'b>(
        &'b self,
        desk: &'b Desk,
        serves: Serves<'b>,
    ) -> std::result::Result<Computing<'b>, Fault> {
        match (serves, &desk.compiled.work) {
            (Serves::Query(queries), _) => Ok(Computing::Query(queries)),
            (
                Serves::Circuit { connections, fixed },
                Work::Circuit {
                    job: circuit,
                    program,
                    prepared,
                    ..
                },
            ) => {
                let party = Party {
                    me: PartyId(self.me),
                    protocol: circuit.protocol(),
                    program,
                    inputs: &[],
                    also_agree: self.also_agree,
                    transport: Transport::Tls,
                    phase_timeout: self.phase_timeout,
                };
                Ok(Computing::Circuit {
                    session: Box::new(Standing::start(party, prepared.clone(), None, connections)?),
                    program,
                    fixed,
                })
            }
            _ => Err(Fault::new(FailKind::Internal, "it is no circuit")),
        }
    }
}

impl Computing<'_> {
    /// How many calls are computed side by side, at most.
    pub(super) fn together(&self) -> usize {
        match self {
            Computing::Circuit { program, .. } => most_together(program),
            Computing::Query(_) => 1,
        }
    }

    /// Calls by which what may have been answered grows on the disk: those of a query are charged as they are made.
    pub(super) fn chunk(&self) -> u64 {
        match self {
            Computing::Circuit { .. } => CHUNK,
            Computing::Query(_) => 1,
        }
    }
}

/// Whether nothing of a batch can be learnt before its outputs are opened: its gates are verified then, in one piece.
pub(super) fn opens_late(program: &Program) -> bool {
    (1..=WHOLE).contains(&program.and_gates())
}
