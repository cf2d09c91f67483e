//! A job: the circuit, the protocol, who gives which input and who learns which output.

mod file;
mod read;
pub(crate) mod shards;

use std::io::BufRead;
use std::path::{Path, PathBuf};

use cenote_circuit::{Circuit, Value};
use cenote_net::PartyId;
use cenote_primitives::BitMatrix;
use cenote_session::Parties;

use crate::keeping::Keeping;
use crate::program::check_size;
use crate::shards::Counts;
use crate::standing::Calls;
use crate::{Error, Program, Protocol, Result, data};
use file::Secret;

/// Where an input's value comes from. Its `Debug` does not tell the value.
#[derive(Clone, Debug)]
enum Origin {
    /// One value, in wire order, the same in every lane.
    Inline(Secret),
    /// A file of values, one for each lane.
    File(PathBuf),
    /// At its owner's machine.
    Elsewhere,
}

#[derive(Clone, Debug)]
struct Input {
    owner: PartyId,
    origin: Origin,
    line: usize,
}

/// A job file, read and checked. Files of values are not read before [`Job::infer_lanes`] and [`Job::read_inputs`], but that values are counted
/// to find the cheapest protocol, if the job states neither protocol nor lanes.
#[derive(Clone, Debug)]
pub struct Job {
    path: PathBuf,
    protocol: Protocol,
    circuit_name: String,
    circuit: Circuit,
    lanes: Option<usize>,
    inputs: Vec<Input>,
    receivers: Vec<Parties>,
    output_files: Vec<Option<PathBuf>>,
    keeping: Keeping,
    /// How often it may be called, if it stands.
    calls: Option<Calls>,
    /// How it is cut, if it is.
    counts: Option<Counts>,
    /// What is made of its circuit has at most so many gates.
    most_gates: usize,
}

impl Job {
    /// The protocol and its security.
    pub fn protocol(&self) -> &Protocol {
        &self.protocol
    }

    /// The circuit, with the bit orders that the job states.
    pub fn circuit(&self) -> &Circuit {
        &self.circuit
    }

    /// The files that receivers write each output value to, where the job names one.
    pub fn output_files(&self) -> &[Option<PathBuf>] {
        &self.output_files
    }

    /// Who learns each output value.
    pub(crate) fn receivers(&self) -> &[Parties] {
        &self.receivers
    }

    /// The number of lanes as the job states it.
    ///
    /// # Errors
    /// [`Error::Config`] if it does not.
    pub fn stated_lanes(&self) -> Result<usize> {
        self.lanes.ok_or_else(|| {
            Error::config(
                &self.path,
                None,
                "`lanes` is missing: parties on different machines cannot count each other's values; add `lanes = N` \
                 above the first [[input]]",
            )
        })
    }

    /// The number of lanes where the inputs of all parties are at hand: as stated, or that of the files, or 1. Files are read
    /// only where it is not stated.
    ///
    /// # Errors
    /// [`Error::Config`] if an input has no value here; [`Error::Data`] if files cannot be read or differ in length.
    pub fn infer_lanes(&self) -> Result<usize> {
        self.inputs
            .iter()
            .try_for_each(|input| self.check_origin(input))?;
        if let Some(lanes) = self.lanes {
            return Ok(lanes);
        }
        let mut lanes: Option<(usize, String)> = None;
        for (input, value) in self.inputs.iter().zip(self.circuit.inputs()) {
            let Origin::File(path) = &input.origin else {
                continue;
            };
            let found = data::count(path, value)?;
            match &lanes {
                None => lanes = Some((found, path.display().to_string())),
                Some((wanted, what)) if found != *wanted => {
                    let what = format!(
                        "has {found} values, but {what} has {wanted}: all inputs need one value for each lane"
                    );
                    return Err(Error::data(path, None, what));
                }
                Some(_) => {}
            }
        }
        let lanes = lanes.map_or(1, |(lanes, _)| lanes);
        check_size(&self.circuit, lanes)
            .map_err(|error| Error::config(&self.path, None, error.to_string()))?;
        Ok(lanes)
    }

    /// The program that all parties run.
    ///
    /// # Errors
    /// Those of [`Program::new`]; [`Error::Usage`] if what is kept would not be as safe as the job.
    pub fn program(&self, lanes: usize) -> Result<Program> {
        self.keeping.check_security(lanes, self.protocol.security())?;
        self.whole(lanes)
    }

    /// The program, whatever the protocol's security.
    fn whole(&self, lanes: usize) -> Result<Program> {
        let given = self.inputs.iter().map(|input| input.owner);
        let opened = self.receivers.iter().copied();
        let owners = given.chain(self.keeping.owners()).collect();
        let receivers = opened.chain(self.keeping.receivers()).collect();
        Program::keeping(
            self.circuit_name.clone(),
            self.circuit.clone(),
            (owners, receivers),
            self.keeping.opened(),
            lanes,
        )
    }

    /// How many inputs parties give. They are the first ones.
    pub fn given(&self) -> usize {
        self.inputs.len()
    }

    /// What the job takes of what earlier ones kept, and what it keeps. Its inputs come after those that parties give.
    pub fn keeping(&self) -> &Keeping {
        &self.keeping
    }

    /// How often the job may be called and by whom, if it stands: it is computed again and again then, each time on other inputs.
    pub fn calls(&self) -> Option<&Calls> {
        self.calls.as_ref()
    }

    /// Whether the job is cut into shards.
    pub fn is_in_shards(&self) -> bool {
        self.counts.is_some()
    }

    /// Sees that the job can be run outside of a service.
    ///
    /// # Errors
    /// [`Error::Config`] if it takes or keeps values.
    pub fn check_standalone(&self) -> Result<()> {
        match self.keeping.is_empty() {
            true => Ok(()),
            false => Err(Error::config(
                &self.path,
                None,
                "only services keep values between jobs; submit it to one with `cenote job submit`",
            )),
        }
    }

    /// The bits of each input value that `me` owns, `None` for the others. Only `me`'s values and files are read.
    ///
    /// # Errors
    /// [`Error::Config`] or [`Error::Data`] with the line, if a value is missing or wrong. The value is not quoted. That of
    /// [`Job::check_standalone`].
    pub fn read_inputs(&self, me: PartyId, lanes: usize) -> Result<Vec<Option<BitMatrix>>> {
        self.check_standalone()?;
        let read = |(input, value): (&Input, &Value)| {
            if input.owner != me {
                return Ok(None);
            }
            self.check_origin(input)?;
            match &input.origin {
                Origin::File(path) => data::read(path, value, lanes).map(Some),
                Origin::Inline(Secret(hex)) => {
                    let mut number = vec![0; value.words()];
                    value.parse_hex(hex, &mut number).map_err(|error| {
                        Error::data(
                            &self.path,
                            Some(input.line),
                            format!("`hex` of {}: {error}", value.name),
                        )
                    })?;
                    data::repeat(&number, value, lanes).map(Some)
                }
                Origin::Elsewhere => Ok(None),
            }
        };
        self.inputs.iter().zip(self.circuit.inputs()).map(read).collect()
    }

    /// The bits of the input value of that number, whose values `reader` gives, one a line; complaints call it `name`.
    ///
    /// # Errors
    /// [`Error::Data`] with the name and the line, if a value is missing or wrong. The value is not quoted.
    pub fn read_input<'a>(
        &self,
        index: usize,
        lanes: usize,
        name: &'a str,
        reader: Box<dyn BufRead + 'a>,
    ) -> Result<BitMatrix> {
        let value = self.circuit.inputs().get(index);
        let value = value.ok_or_else(|| Error::Usage(format!("the circuit has no input value {index}")))?;
        data::read_from(name, reader, value, lanes)
    }

    /// Warns in the log if others than the owner of the job file may read the values in it.
    pub(crate) fn warn_if_exposed(&self) {
        let secrets = self
            .inputs
            .iter()
            .any(|input| matches!(input.origin, Origin::Inline(_)));
        if secrets && others_may_read(&self.path) {
            tracing::warn!(
                file = %self.path.display(),
                "this job file has values of inputs in it and may be read by others: chmod 600 it, or put the values into \
                 files of their own"
            );
        }
    }

    fn check_origin(&self, input: &Input) -> Result<()> {
        match input.origin {
            Origin::Elsewhere => Err(Error::config(
                &self.path,
                Some(input.line),
                format!(
                    "the input of {} has no value here; give `hex = \"…\"` or `file = \"…\"`",
                    input.owner
                ),
            )),
            _ => Ok(()),
        }
    }
}

#[cfg(unix)]
fn others_may_read(path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata(path).is_ok_and(|metadata| metadata.mode() & 0o044 != 0)
}

#[cfg(not(unix))]
fn others_may_read(_: &Path) -> bool {
    false
}
