//! Programs that parties run while they are written: what they do is recorded, and sent some at a time.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, TryLockError};

use cenote::circuits;
use cenote::programs::interpreter::{Instruction, Operation, Packed, Recorded};
use cenote::stop::Scope;
use cenote::{Error, PartyConfig, Protocol, Result};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::error::{UsageError, raised};
use crate::follow::{Following, between, clear, here};
use crate::query::setting;

/// Instructions that are sent at a time, and bytes of numbers.
const BATCH: usize = 1024;
const BATCH_BYTES: usize = 8 << 20;

/// A program that parties run while it is written.
#[pyclass(frozen, module = "cenote._cenote")]
pub(crate) struct Program {
    parties: u8,
    me: Option<u8>,
    written: Mutex<Written>,
    /// Ends the parties, whoever waits for them.
    scope: Option<Arc<Scope>>,
}

/// What was written of a program, and who runs it.
struct Written {
    /// The number of the next value.
    next: u64,
    /// What is yet to be sent, how much of it is no more than forgetting, and bytes of it.
    batch: Vec<Instruction>,
    forgetting: usize,
    bytes: usize,
    run: Run,
}

enum Run {
    By(Box<Following>),
    /// Nothing is run: it is a function with arguments of so many bits.
    Recording(Vec<u32>),
}

impl Program {
    fn new(parties: u8, me: Option<u8>, following: Following) -> Self {
        let scope = Some(following.scope());
        let run = Run::By(Box::new(following));
        Self::of(parties, me, scope, Written::new(0, run))
    }

    fn of(parties: u8, me: Option<u8>, scope: Option<Arc<Scope>>, written: Written) -> Self {
        Program {
            parties,
            me,
            scope,
            written: Mutex::new(written),
        }
    }

    /// What was written, unless another thread uses it: none waits for another while it has the interpreter.
    fn written(&self) -> PyResult<MutexGuard<'_, Written>> {
        match self.written.try_lock() {
            Ok(written) => Ok(written),
            Err(TryLockError::Poisoned(poisoned)) => Ok(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => Err(UsageError::new_err(
                "another thread is using this session: a session is used by one thread at a time",
            )),
        }
    }

    fn are_parties(&self, parties: &[u8]) -> PyResult<()> {
        match parties.iter().find(|&&party| party >= self.parties) {
            None => Ok(()),
            Some(_) => Err(UsageError::new_err(format!(
                "there is no such party: they are 0 to {}",
                self.parties - 1
            ))),
        }
    }
}

impl Written {
    fn new(next: u64, run: Run) -> Self {
        Written {
            next,
            batch: Vec::new(),
            forgetting: 0,
            bytes: 0,
            run,
        }
    }

    /// Adds an instruction, and gives the number of its first result.
    fn push(&mut self, py: Python<'_>, instruction: Instruction, bytes: usize) -> PyResult<u64> {
        let first = self.next;
        self.next += instruction.results();
        self.batch.push(instruction);
        self.bytes += bytes;
        // Parties send at the same places of their programs, though they forget at others.
        if self.batch.len() - self.forgetting >= BATCH || self.bytes >= BATCH_BYTES {
            self.send(py)?;
        }
        Ok(first)
    }

    fn send(&mut self, py: Python<'_>) -> PyResult<()> {
        let Run::By(following) = &mut self.run else {
            return Ok(());
        };
        if !self.batch.is_empty() {
            (self.bytes, self.forgetting) = (0, 0);
            following.send(py, std::mem::take(&mut self.batch))?;
        }
        Ok(())
    }

    fn following(&mut self) -> PyResult<&mut Following> {
        match &mut self.run {
            Run::By(following) => Ok(following),
            Run::Recording(_) => Err(UsageError::new_err("a function that is recorded does not run")),
        }
    }

    fn recorded(&self, outputs: Vec<u64>) -> PyResult<Recorded> {
        match &self.run {
            Run::Recording(inputs) => Ok(Recorded {
                inputs: inputs.clone(),
                body: self.batch.clone(),
                outputs,
            }),
            Run::By(_) => Err(UsageError::new_err("a program that runs is no function")),
        }
    }
}

#[pymethods]
impl Program {
    /// A program with a process for each party on this machine.
    #[staticmethod]
    #[pyo3(signature = (name, parties, protocol, security, and_gates, timeout, phase_timeout))]
    fn here(
        name: String,
        parties: u8,
        protocol: Option<&str>,
        security: Option<u32>,
        and_gates: Option<u64>,
        timeout: f64,
        phase_timeout: Option<f64>,
    ) -> PyResult<Self> {
        let started = (|| {
            let protocol = protocol_of(protocol, parties, security)?;
            let and_gates = and_gates.unwrap_or_else(|| usual_gates(&protocol));
            here(name, protocol, and_gates, setting(timeout, phase_timeout)?)
        })();
        Ok(Program::new(
            parties,
            None,
            started.map_err(|error| raised(&error))??,
        ))
    }

    /// A program as the party of a party file.
    #[staticmethod]
    #[pyo3(signature = (config, name, protocol, security, and_gates))]
    fn between(
        config: PathBuf,
        name: String,
        protocol: Option<&str>,
        security: Option<u32>,
        and_gates: Option<u64>,
    ) -> PyResult<Self> {
        let config = PartyConfig::load(&config).map_err(|error| raised(&error))?;
        let (parties, me) = (config.peers.len() as u8 + 1, config.me.0);
        let protocol = protocol_of(protocol, parties, security).map_err(|error| raised(&error))?;
        let and_gates = and_gates.unwrap_or_else(|| usual_gates(&protocol));
        Ok(Program::new(
            parties,
            Some(me),
            between(config, name, protocol, and_gates)?,
        ))
    }

    /// A program without secrecy, in this process.
    #[staticmethod]
    fn clear(parties: u8) -> PyResult<Self> {
        if !(1..=8).contains(&parties) {
            return Err(UsageError::new_err(format!(
                "there are 1 to 8 parties, not {parties}"
            )));
        }
        Ok(Program::new(parties, None, clear()?))
    }

    /// A function with arguments of so many bits: they are its first values.
    #[staticmethod]
    fn recording(widths: Vec<u32>) -> Self {
        let next = widths.len() as u64;
        Self::of(1, None, None, Written::new(next, Run::Recording(widths)))
    }

    #[getter]
    fn parties(&self) -> u8 {
        self.parties
    }

    /// The party of this process; `None` if all are on this machine.
    #[getter]
    fn me(&self) -> Option<u8> {
        self.me
    }

    /// Numbers of a party, which are given there.
    #[pyo3(signature = (owner, width, lanes, data, kind))]
    fn input(
        &self,
        py: Python<'_>,
        owner: u8,
        width: u32,
        lanes: usize,
        data: Option<&[u8]>,
        kind: String,
    ) -> PyResult<u64> {
        let mut written = self.written()?;
        written.following()?;
        self.are_parties(&[owner])?;
        let bits = data.map(|data| packed(py, width, lanes, data)).transpose()?;
        let input = Instruction::Input {
            owner,
            width,
            lanes,
            kind,
            bits,
        };
        // The same where the numbers are not given.
        written.push(py, input, (width as usize).saturating_mul(lanes) / 8)
    }

    /// Numbers that everybody knows.
    fn public(&self, py: Python<'_>, width: u32, lanes: usize, data: &[u8]) -> PyResult<u64> {
        let numbers = packed(py, width, lanes, data)?;
        let bytes = numbers.size();
        self.written()?.push(py, Instruction::Public(numbers), bytes)
    }

    /// Does something with values.
    fn apply(&self, py: Python<'_>, name: &str, operands: Vec<u64>, numbers: Vec<u64>) -> PyResult<u64> {
        let operation: Operation = name
            .parse()
            .map_err(|()| UsageError::new_err(format!("there is no operation {name}")))?;
        let bytes = 8 * numbers.len();
        let instruction = Instruction::Apply {
            operation,
            operands,
            numbers,
        };
        self.written()?.push(py, instruction, bytes)
    }

    /// Makes a recorded function a value that can be called.
    fn define(&self, py: Python<'_>, function: &Program, outputs: Vec<u64>) -> PyResult<u64> {
        let recorded = function.written()?.recorded(outputs)?;
        py.detach(|| recorded.check())
            .map_err(|error| raised(&error.into()))?;
        let bytes = size_of::<Instruction>() * recorded.body.len();
        self.written()?.push(py, Instruction::Define(recorded), bytes)
    }

    /// A circuit as a value that can be called; the widths of its inputs and of its outputs. `name` is what errors call it.
    fn circuit(&self, py: Python<'_>, name: PathBuf, text: String) -> PyResult<(u64, Vec<u32>, Vec<u32>)> {
        let circuit = py
            .detach(|| circuits::read_text(&name, &text))
            .map_err(|error| raised(&error))?;
        let widths = |values: &[circuits::Value]| values.iter().map(|value| value.width).collect();
        let (inputs, outputs) = (widths(circuit.inputs()), widths(circuit.outputs()));
        let bytes = text.len();
        let function = self.written()?.push(py, Instruction::Circuit(text), bytes)?;
        Ok((function, inputs, outputs))
    }

    /// A recorded function as a circuit in Bristol Fashion.
    fn to_bristol(&self, py: Python<'_>, outputs: Vec<u64>) -> PyResult<String> {
        let recorded = self.written()?.recorded(outputs)?;
        py.detach(|| {
            let circuit = recorded.circuit().map_err(|error| raised(&error.into()))?;
            let mut text = Vec::new();
            circuits::write(&circuit, circuits::Format::Fashion, &mut text)
                .map_err(|error| UsageError::new_err(error.to_string()))?;
            Ok(String::from_utf8_lossy(&text).into_owned())
        })
    }

    /// Verifies values and opens them to parties. `None` if none of those is here.
    fn reveal<'py>(
        &self,
        py: Python<'py>,
        values: Vec<u64>,
        to: Vec<u8>,
        kinds: Vec<String>,
    ) -> PyResult<Option<Vec<Bound<'py, PyBytes>>>> {
        let mut written = self.written()?;
        written.following()?;
        self.are_parties(&to)?;
        written.batch.push(Instruction::Reveal { values, to, kinds });
        written.send(py)?;
        let opened = written.following()?.opened(py)?;
        opened
            .map(|values| {
                let numbers = values.iter().map(|value| py.detach(|| value.numbers()));
                numbers
                    .map(|numbers| Ok(PyBytes::new(py, &numbers.map_err(|error| raised(&error.into()))?)))
                    .collect()
            })
            .transpose()
    }

    /// Says that the program does not use these values again.
    fn forget(&self, values: Vec<u64>) -> PyResult<()> {
        let mut written = self.written()?;
        if matches!(written.run, Run::By(_)) {
            written.batch.push(Instruction::Forget(values));
            written.forgetting += 1;
        }
        Ok(())
    }

    /// Ends it in agreement, and gives how it ended at each party that is here, as JSON.
    fn close(&self, py: Python<'_>) -> PyResult<String> {
        let mut written = self.written()?;
        written.send(py)?;
        let ended = written.following()?.close(py)?;
        serde_json::to_string(ended)
            .map_err(|error| raised(&Error::local("telling what it took", error.into())))
    }

    /// Ends it at once, without agreement, also while another thread waits for it.
    fn stop(&self, py: Python<'_>) {
        const WHY: &str = "its program has failed";
        match self.written() {
            Ok(mut written) => {
                if let Run::By(following) = &mut written.run {
                    following.end(py, WHY);
                }
            }
            Err(_) => {
                if let Some(scope) = &self.scope {
                    scope.stop(WHY);
                }
            }
        }
    }
}

/// Numbers as they are sent.
fn packed(py: Python<'_>, width: u32, lanes: usize, data: &[u8]) -> PyResult<Packed> {
    let packed = py.detach(|| Packed::of_numbers(width, data));
    let packed = packed.map_err(|error| UsageError::new_err(error.to_string()))?;
    if packed.lanes() != lanes {
        let what = format!("{} numbers were given for {lanes}", packed.lanes());
        return Err(UsageError::new_err(what));
    }
    Ok(packed)
}

/// AND gates that a program announces which says nothing of them: as many as cost little when they are not needed. All parties have the same.
fn usual_gates(protocol: &Protocol) -> u64 {
    match protocol.parties() {
        2 => 100_000,
        _ => 100_000_000,
    }
}

/// The protocol of this name, or the usual one, for so many parties.
fn protocol_of(name: Option<&str>, parties: u8, security: Option<u32>) -> Result<Protocol> {
    if !(2..=3).contains(&parties) {
        return Err(Error::Usage(format!(
            "two or three parties compute together, not {parties}"
        )));
    }
    let protocol = match name {
        None => Protocol::usual(parties),
        Some(name) => Protocol::named(name).ok_or_else(|| {
            let names: Vec<&str> = Protocol::names().collect();
            Error::Usage(format!(
                "there is no protocol \"{name}\"; there are {}",
                names.join(", ")
            ))
        })?,
    };
    if protocol.parties() != parties {
        let what = format!(
            "protocol \"{}\" is for {} parties, not {parties}",
            protocol.name(),
            protocol.parties()
        );
        return Err(Error::Usage(what));
    }
    let Some(security) = security else {
        return Ok(protocol);
    };
    let read = |error: serde_json::Error| Error::Usage(format!("security {security}: {error}"));
    let mut settings = serde_json::to_value(&protocol).map_err(read)?;
    settings["security"] = security.into();
    serde_json::from_value(settings).map_err(read)
}
