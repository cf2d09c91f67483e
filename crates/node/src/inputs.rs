//! What a party gives to a job: its files of data and what was posted, read as what was approved.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Cursor};

use cenote::query::{self, Table};
use cenote_service::job::{Binding, FailKind, FileMark, Job, JobId, Source};
use zeroize::Zeroizing;

use crate::compiled::Compiled;
use crate::core::Core;
use crate::data;
use crate::failure::Fault;

/// What an input is read from.
pub(crate) enum InputData {
    /// A file of the folder of data.
    File(File),
    /// What was posted with the approval.
    Posted(Zeroizing<String>),
}

impl InputData {
    pub(crate) fn reader(&self) -> Box<dyn BufRead + '_> {
        match self {
            InputData::File(file) => Box::new(BufReader::new(file)),
            InputData::Posted(text) => Box::new(Cursor::new(text.as_bytes())),
        }
    }
}

/// Sees that a file of data is still the one that this party's approval is of.
fn check_file(name: &str, approved: Option<FileMark>, file: &File) -> Result<(), Fault> {
    let now = data::mark(file);
    match approved {
        Some(approved) if now != Some(approved) => Err(Fault::new(
            FailKind::BadInput,
            format!(
                "the data {name:?} has changed since it was approved: it had {approved}, and has {}; propose the job again",
                now.map_or_else(
                    || "nothing that can be looked at".to_owned(),
                    |now| now.to_string()
                )
            ),
        )),
        _ => Ok(()),
    }
}

impl Core {
    /// The files of data that are there for a job, by the data's name. They are not read.
    pub(crate) fn found(&self, id: JobId) -> BTreeMap<String, FileMark> {
        let binding = self.jobs.get(id).map_or_else(|_| Vec::new(), |job| job.binding);
        let mark = |bound: Binding| match bound.source {
            Source::Data(name) => self.data.mark(&name).ok().map(|mark| (name, mark)),
            Source::Posted => None,
        };
        binding.into_iter().filter_map(mark).collect()
    }

    /// What was posted with this party's approval of a job that has begun, by the input's name, each once.
    pub(crate) fn posted_for(
        &self,
        job: &Job,
    ) -> Result<impl FnMut(&str) -> Option<Zeroizing<String>> + use<>, Fault> {
        let mut posted = BTreeMap::new();
        let mut bound = job.binding.iter();
        if let Some(bound) = bound.find(|bound| bound.source == Source::Posted) {
            let taken = self.posted.take(&self.key, job.proposal.id, bound.posted);
            posted = taken.map_err(|reason| Fault::new(FailKind::BadInput, reason))?;
        }
        Ok(move |name: &str| posted.remove(name))
    }

    /// This party's tables of a query, as [`Core::read_inputs`] reads inputs.
    pub(crate) fn read_tables(
        &self,
        binding: &[Binding],
        compiled: &Compiled,
        query: &query::Proposed,
        posted: impl FnMut(&str) -> Option<Zeroizing<String>>,
    ) -> Result<Vec<Option<Table>>, Fault> {
        self.read_inputs(binding, compiled, posted, |index, source, name| match source {
            InputData::File(file) => Ok(query.table_in(index, file, name)?),
            InputData::Posted(text) => Ok(query.posted_table(index, text.as_bytes())?),
        })
    }

    /// This party's inputs, from what they are bound to, each as `read` understands it. `posted` gives what was posted for one.
    pub(crate) fn read_inputs<T>(
        &self,
        binding: &[Binding],
        compiled: &Compiled,
        mut posted: impl FnMut(&str) -> Option<Zeroizing<String>>,
        read: impl Fn(usize, InputData, &str) -> Result<T, Fault>,
    ) -> Result<Vec<Option<T>>, Fault> {
        let bad = |reason: String| Fault::new(FailKind::BadInput, reason);
        let mut inputs = Vec::new();
        for (index, input) in compiled.inputs.iter().enumerate() {
            if input.owner != self.me() {
                inputs.push(None);
                continue;
            }
            let bound = binding.iter().find(|bound| bound.input == input.name);
            let read = match bound.map(|bound| &bound.source) {
                Some(Source::Data(name)) => {
                    let file = self.data.file(name).map_err(bad)?;
                    let same = file.try_clone().map_err(|error| bad(error.to_string()))?;
                    let approved = bound.and_then(|bound| bound.file);
                    check_file(name, approved, &same)?;
                    let values = read(index, InputData::File(file), name);
                    check_file(name, approved, &same)?;
                    values
                }
                Some(Source::Posted) => {
                    let values = posted(&input.name)
                        .ok_or_else(|| bad(format!("the values of {:?} were not posted", input.name)))?;
                    read(index, InputData::Posted(values), &input.name)
                }
                None => return Err(bad(format!("the input {:?} is bound to nothing", input.name))),
            };
            inputs.push(Some(read?));
        }
        Ok(inputs)
    }
}
