//! A program that stays: one session of its parties, in which it is computed again and again, each time on other inputs.

use std::ops::Range;

use cenote_primitives::BitMatrix;
use cenote_session::{AnyEngine, AnyWires, Phases, Warning, handshake};
use cenote_store::Store;

use crate::program::Evaluated;
use crate::registry::Prepared;
use crate::report::{NO_ERROR_LOG2, Output, told};
use crate::runner::{Connections, Party};
use crate::{Error, Program, Result};

/// One party of a session in which a program is computed again and again. All parties make the same calls in the same order.
///
/// Each batch of calls is computed side by side and verified before anything of it is opened, as a whole program is; so no input of a batch can
/// depend on an output of the same batch.
pub struct Standing<'a> {
    party: Party<'a>,
    engine: AnyEngine,
    phases: Phases,
}

/// A batch of calls that was computed, of which nothing is open yet.
pub struct Batch(Evaluated<AnyWires>);

impl<'a> Standing<'a> {
    /// Meets the peers and starts the session. `party.program` has the lanes of one call; `prepared` is for all calls that the session may serve.
    ///
    /// # Errors
    /// [`Error::Protocol`](crate::Error::Protocol) if a peer is missing, different, lost, or caught cheating.
    pub fn start(
        party: Party<'a>,
        prepared: Prepared,
        stock: Option<&Store>,
        mut connections: Connections,
    ) -> Result<Self> {
        let demand = party.program.demand();
        let limit = party.phase_timeout;
        let phases = connections.phases(limit.unwrap_or_else(|| prepared.phase_limit(&demand)));
        phases.begin("the handshake");
        let terms = party.terms(&prepared, stock.is_some());
        let session = handshake(party.me, &mut connections, &terms, party.also_agree)?;
        phases.begin("the set-up");
        let mut engine = prepared.start(party.me, connections, &session, stock)?;
        demand.announce_telling(&mut *engine, &mut |_, _| ())?;
        phases.pause();
        Ok(Standing {
            party,
            engine,
            phases,
        })
    }

    /// Computes a batch of so many calls, whose `inputs` lie side by side: one entry for each input value, wires × lanes of all calls, where this party owns it.
    ///
    /// # Errors
    /// [`Error::Protocol`](crate::Error::Protocol); the session is over then.
    pub fn compute(&mut self, inputs: &[Option<BitMatrix>], calls: usize) -> Result<Batch> {
        self.phases.begin("a batch of calls");
        let program = self.party.program;
        let lanes = program.lanes() * calls;
        let evaluated = program.evaluate(&mut *self.engine, inputs, lanes, &mut |_, _| ())?;
        Ok(Batch(evaluated))
    }

    /// Verifies a batch and opens it: one entry for each output value, its bits in the lanes of all calls, where this party is a receiver.
    ///
    /// # Errors
    /// As [`Standing::compute`].
    pub fn open(&mut self, batch: Batch) -> Result<Vec<Option<BitMatrix>>> {
        let outputs = self.party.program.reveal(&mut *self.engine, batch.0)?;
        self.phases.pause();
        Ok(outputs)
    }

    /// The base-2 logarithm of the probability that a wrong output of the session so far passes.
    pub fn error_log2(&self) -> f64 {
        self.engine.error_bound().max(NO_ERROR_LOG2)
    }

    /// Ends the session in agreement with the peers.
    ///
    /// # Errors
    /// What a peer did instead. All that was opened was verified, and stands.
    pub fn end(mut self) -> Result<Vec<Warning>> {
        self.phases.begin("the farewell");
        self.engine.finish()?;
        Ok(told(self.engine.warnings()))
    }
}

/// How often a job that stands may be called, and by whom.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Calls {
    /// Calls in all.
    pub most: u64,
    /// The parties whose inputs come with each call, in ascending order. Each of them makes every call; the others' inputs stay as they are.
    pub callers: Vec<u8>,
}

impl Calls {
    /// Calls of one job, at most.
    pub const MOST: u64 = 1 << 32;
}

/// Calls that are computed side by side, at most.
const MOST_TOGETHER: usize = 4096;
/// Gates and wires of all lanes of calls that are computed side by side, about.
const WORK_TOGETHER: usize = 1 << 22;

/// How many calls of `program`, which has the lanes of one, are computed side by side at most.
pub fn most_together(program: &Program) -> usize {
    let circuit = program.circuit();
    let wires = circuit.input_wires() as usize + circuit.output_wires().len();
    let each = (program.plan().and_count().max(wires).max(1)).saturating_mul(program.lanes());
    (WORK_TOGETHER / each).clamp(1, MOST_TOGETHER)
}

/// `calls` calls of `program`, which has the lanes of one, as one program: what parameters and memory are computed from.
///
/// # Errors
/// [`Error::Usage`](crate::Error::Usage) if that is more than a job may be.
pub fn of_calls(program: &Program, calls: u64) -> Result<Program> {
    let lanes = usize::try_from(calls)
        .unwrap_or(usize::MAX)
        .saturating_mul(program.lanes());
    program.clone().on_lanes(lanes)
}

/// What a call gives of the outputs of its batch, where this party is a receiver: those of call number `place`, as text.
pub fn outputs_of(program: &Program, outputs: &[Option<BitMatrix>], place: usize) -> Vec<Output> {
    let each = program.lanes();
    let of_call = |bits: &BitMatrix| lanes_of(bits, place * each..(place + 1) * each);
    let own: Vec<Option<BitMatrix>> = outputs.iter().map(|bits| bits.as_ref().map(of_call)).collect();
    Output::all(program, &own)
}

/// The inputs of calls side by side: one entry for each input value, where each of the `calls` has its bits.
///
/// # Errors
/// [`Error::Usage`](crate::Error::Usage) if the bits of calls have other shapes than the program's inputs.
pub fn side_by_side(program: &Program, calls: &[&[Option<BitMatrix>]]) -> Result<Vec<Option<BitMatrix>>> {
    let each = program.lanes();
    let mut all = Vec::new();
    for (value, input) in program.circuit().inputs().iter().enumerate() {
        let width = input.width as usize;
        let of_calls: Option<Vec<&BitMatrix>> = calls.iter().map(|call| call.get(value)?.as_ref()).collect();
        let Some(of_calls) = of_calls else {
            all.push(None);
            continue;
        };
        if of_calls
            .iter()
            .any(|bits| (bits.rows(), bits.lanes()) != (width, each))
        {
            return Err(Error::Usage(
                "the inputs of a call are not of the program's shape".into(),
            ));
        }
        let mut bits = BitMatrix::zeros(width, each * calls.len());
        for (place, of_call) in of_calls.iter().enumerate() {
            for row in 0..width {
                for lane in 0..each {
                    bits.set(row, place * each + lane, of_call.get(row, lane));
                }
            }
        }
        all.push(Some(bits));
    }
    Ok(all)
}

/// Lanes that may begin anywhere.
fn lanes_of(bits: &BitMatrix, range: Range<usize>) -> BitMatrix {
    let mut part = BitMatrix::zeros(bits.rows(), range.len());
    for row in 0..bits.rows() {
        for (lane, from) in range.clone().enumerate() {
            part.set(row, lane, bits.get(row, from));
        }
    }
    part
}
