//! A program that stays: one session of its parties, in which it is computed again and again, each time on other inputs.

use std::ops::Range;

use cenote_primitives::BitMatrix;
use cenote_session::{AnyEngine, AnyWires, Phases, Warning, handshake};
use cenote_store::Store;
use serde::Deserialize;
use toml::Spanned;

use crate::program::Evaluated;
use crate::registry::Prepared;
use crate::report::{NO_ERROR_LOG2, Output, told};
use crate::runner::{Connections, Party};
use crate::settings_file::SettingsFile;
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
    /// [`Error::Protocol`] if a peer is missing, different, lost, or caught cheating.
    pub fn start(
        party: Party<'a>,
        prepared: Prepared,
        stock: Option<&Store>,
        mut connections: Connections,
    ) -> Result<Self> {
        let demand = party.program.demand();
        let batch = of_calls(party.program, most_together(party.program) as u64)?;
        let limit = party.phase_timeout;
        let phases = connections.phases(limit.unwrap_or_else(|| prepared.phase_limit(&batch.demand())));
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
    /// [`Error::Protocol`]; the session is over then.
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

/// `[standing]` in the file of a job.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct StandingEntry {
    calls: Spanned<u64>,
    callers: Option<Spanned<Vec<u8>>>,
}

impl StandingEntry {
    /// How often the job may be called, and by whom: if it does not say so, by these `usual` callers, or it is asked for them.
    pub(crate) fn calls(
        &self,
        (mut usual, unknown): (Vec<u8>, &str),
        parties: u8,
        source: &SettingsFile,
    ) -> Result<Calls> {
        let most = *self.calls.get_ref();
        if !(1..=Calls::MOST).contains(&most) {
            let what = format!("a job that stands may be called 1 to {} times", Calls::MOST);
            return Err(source.fault(self.calls.span(), what));
        }
        let Some(stated) = &self.callers else {
            usual.sort_unstable();
            usual.dedup();
            return match usual.is_empty() {
                true => Err(source.fault(self.calls.span(), unknown)),
                false => Ok(Calls { most, callers: usual }),
            };
        };
        let callers = stated.get_ref().clone();
        let in_order = callers.is_sorted_by(|a, b| a < b) && callers.iter().all(|caller| *caller < parties);
        if callers.is_empty() || !in_order {
            let what = format!(
                "`callers` are numbers of parties from 0 to {}, in ascending order",
                parties - 1
            );
            return Err(source.fault(stated.span(), what));
        }
        Ok(Calls { most, callers })
    }
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
/// [`Error::Usage`] if that is more than a job may be.
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
/// [`Error::Usage`] if the bits of calls have other shapes than the program's inputs.
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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use cenote_net::PartyId;
    use cenote_session::Parties;

    use super::*;
    use crate::runner::{Transport, as_threads};
    use crate::{Protocol, circuits};

    /// `add8` of parties 0 and 1, in so many lanes, of which all learn the sum.
    fn adder(parties: u8, lanes: usize) -> Program {
        let circuit = circuits::by_name("add8").unwrap();
        let owners = vec![PartyId(0), PartyId(1)];
        let to = vec![Parties::all(usize::from(parties))];
        Program::new("add8", circuit, owners, to, lanes).unwrap()
    }

    fn number(value: u64, lanes: usize) -> BitMatrix {
        let mut bits = BitMatrix::zeros(8, lanes);
        for lane in 0..lanes {
            for row in 0..8 {
                bits.set(row, lane, (value + lane as u64) >> row & 1 == 1);
            }
        }
        bits
    }

    #[test]
    fn batches_of_all_sizes_are_answered_in_one_session() {
        for protocol in Protocol::all() {
            let (parties, lanes) = (protocol.parties(), 3);
            let program = adder(parties, lanes);
            let all = of_calls(&program, 300).unwrap();
            let prepared = protocol.prepare(&all.demand()).unwrap();
            let connections = Connections::in_memory(&protocol.topology(), Duration::from_secs(60));
            let work = |me: PartyId, connections, _: &mut dyn FnMut(u64, u64)| {
                let party = Party {
                    me,
                    protocol: &protocol,
                    program: &program,
                    inputs: &[],
                    also_agree: &(),
                    transport: Transport::Memory,
                    phase_timeout: None,
                };
                let mut session = Standing::start(party, prepared.clone(), None, connections)?;
                let mut next = 0;
                for batch in [1, 2, 70, 1] {
                    let calls: Vec<Vec<Option<BitMatrix>>> = (next..next + batch)
                        .map(|call| {
                            let of =
                                |owner| (me.0 == owner).then(|| number(call * (1 + u64::from(owner)), lanes));
                            vec![of(0), of(1)]
                        })
                        .collect();
                    let calls: Vec<&[Option<BitMatrix>]> = calls.iter().map(Vec::as_slice).collect();
                    let inputs = side_by_side(&program, &calls)?;
                    let computed = session.compute(&inputs, calls.len())?;
                    let outputs = session.open(computed)?;
                    for place in 0..batch {
                        let sum = |lane| (3 * (next + place) + 2 * lane) % 256;
                        let expected = (0..lanes as u64).map(|lane| format!("{:#04x}", sum(lane)));
                        let given = outputs_of(&program, &outputs, place as usize);
                        assert_eq!(given[0].values, Some(expected.collect()), "{}", protocol.name());
                    }
                    next += batch;
                }
                assert!(session.error_log2() < -30.0);
                session.end().map(drop)
            };
            as_threads(connections, &mut |_, _| (), work).unwrap();
        }
    }

    #[test]
    fn a_batch_is_no_larger_than_memory_allows_for() {
        assert_eq!(most_together(&adder(3, 1)), MOST_TOGETHER);
        assert_eq!(most_together(&adder(3, 1 << 30)), 1);
        let error = of_calls(&adder(3, 1), u64::MAX).err().unwrap();
        assert!(error.to_string().contains("fewer calls"), "{error}");
    }

    #[test]
    fn inputs_of_another_shape_are_refused() {
        let program = adder(3, 2);
        let call = [Some(number(1, 2)), None];
        let short = [Some(number(1, 1)), None];
        assert!(side_by_side(&program, &[&call, &call]).is_ok());
        assert!(side_by_side(&program, &[&call, &short]).is_err());
    }
}
