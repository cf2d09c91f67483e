//! What this party gives to jobs: its files of data and what was posted, looked at before it approves, and read as what was approved.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Cursor};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use cenote::PartyId;
use cenote::catalogue::{OwnTable, own_name, party_of};
use cenote::query::{self, Table};
use cenote_service::job::{Binding, FailKind, FileMark, Job, JobId, Proposal, Source};
use cenote_service::live::Approval;
use cenote_service::{Error, Result, ResultKey};
use zeroize::Zeroizing;

use crate::compiled::{Compiled, Work};
use crate::data::{self, Folder, Posted};
use crate::failure::Fault;
use crate::locks::lock;
use crate::settings::Settings;

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
fn check_file(name: &str, approved: Option<FileMark>, file: &File) -> std::result::Result<(), Fault> {
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

/// What this party gives to jobs: its folder of data, what was posted, and what may be asked of its tables. While its lock is held no other is taken.
pub(crate) struct OwnData {
    me: u8,
    /// The names of all parties.
    names: Vec<String>,
    pub(crate) folder: Folder,
    pub(crate) posted: Posted,
    /// The file of what may be asked of its tables.
    tables: Option<PathBuf>,
    /// The tables of one approval at a time are tried: that takes memory.
    trying: Mutex<()>,
}

impl OwnData {
    /// Opens the folders of a service.
    ///
    /// # Errors
    /// What the system says.
    pub(crate) fn open(settings: &Settings, key: Arc<ResultKey>) -> std::result::Result<Self, String> {
        Ok(OwnData {
            me: settings.me,
            names: settings.names.clone(),
            folder: Folder::open(&settings.data)?,
            posted: Posted::open(&settings.folder.join("posted"), key)?,
            tables: settings.tables.clone(),
            trying: Mutex::default(),
        })
    }

    /// The data that goes with this party's inputs where nobody chooses, if there is some for each: what is `named` for an input, or what is called as it is.
    pub(crate) fn usual_binding(
        &self,
        proposal: &Proposal,
        named: &BTreeMap<String, String>,
    ) -> Option<Vec<Binding>> {
        let comes_later = proposal.is_caller(self.me);
        let mine = proposal.inputs.iter();
        let mine = mine.filter(|input| input.owner == self.me && !comes_later);
        mine.map(|input| {
            Some(Binding::new(
                input.name.clone(),
                Source::Data(match named.get(&input.name) {
                    Some(data) => data.clone(),
                    None => self.folder.named_as(&input.name)?,
                }),
            ))
        })
        .collect()
    }

    /// The approval with the files that it is of, as they are now.
    pub(crate) fn marked(&self, mut approval: Approval) -> Result<Approval> {
        for bound in &mut approval.binding {
            bound.file = match &bound.source {
                Source::Data(name) => Some(self.folder.mark(name).map_err(Error::Approval)?),
                Source::Posted => None,
            };
        }
        Ok(approval)
    }

    /// Sees that this party can take part with what is given: a query may be asked, named data is there, and posted values fit. Named data
    /// is not read.
    pub(crate) fn check_data(&self, compiled: &Compiled, approval: &Approval) -> Result<()> {
        self.check_tables(compiled, &approval.binding)?;
        let mut posted: BTreeMap<&str, &str> = approval
            .posted
            .iter()
            .map(|(name, text)| (name.as_str(), text.as_str()))
            .collect();
        for bound in &approval.binding {
            match &bound.source {
                Source::Data(name) => self.folder.check(name).map_err(Error::Approval)?,
                Source::Posted => {
                    let text = posted.remove(bound.input.as_str()).ok_or_else(|| {
                        Error::Approval(format!(
                            "the values of input {:?} are not posted with it",
                            bound.input
                        ))
                    })?;
                    compiled
                        .check_posted(self.me, &bound.input, text)
                        .map_err(Error::Approval)?;
                }
            }
        }
        match posted.keys().next() {
            None => Ok(()),
            Some(name) => Err(Error::Approval(format!(
                "values are posted for {name:?}, which is not bound to posted values"
            ))),
        }
    }

    /// What may be asked of this party's tables, whoever approves it, if that is limited.
    pub(crate) fn rules_of_tables(&self) -> Result<Option<query::Policy>> {
        let rules = self.tables.as_deref().map(query::Policy::load).transpose();
        rules.map_err(|error| Error::Approval(error.to_string()))
    }

    /// Sees that no table of a query has the name of a party before it that does not own it.
    pub(crate) fn check_parties(&self, compiled: &Compiled) -> std::result::Result<(), String> {
        for table in compiled.tables() {
            let Some(party) = party_of(&table.name) else {
                continue;
            };
            let owner = usize::from(table.party.0);
            let is_others = self.names.iter().position(|name| name == party);
            if is_others.is_some_and(|named| named != owner) {
                return Err(format!(
                    "the job calls a table of party {owner} {:?}, and {party} is another party",
                    table.name
                ));
            }
        }
        Ok(())
    }

    /// Sees that a job may ask what it does of this party's tables, if it is a query, with the data that is bound to them.
    pub(crate) fn check_tables(&self, compiled: &Compiled, binding: &[Binding]) -> Result<()> {
        match &compiled.work {
            Work::Query(query) => self.check_query(compiled, query, binding),
            Work::Circuit { .. } => Ok(()),
        }
    }

    /// The same of the query of a job, with certain values of its parameters.
    pub(crate) fn check_query(
        &self,
        compiled: &Compiled,
        query: &query::Proposed,
        binding: &[Binding],
    ) -> Result<()> {
        self.check_parties(compiled).map_err(Error::Approval)?;
        let Some(rules) = self.rules_of_tables()? else {
            return Ok(());
        };
        let refused = |error: cenote::Error| Error::Approval(error.to_string());
        rules.check_job(PartyId(self.me), query.job()).map_err(refused)?;
        let mine = |bound: &&Binding| {
            let mut inputs = compiled.inputs.iter();
            inputs.any(|input| input.owner == self.me && input.name == bound.input)
        };
        for bound in binding.iter().filter(mine) {
            let data = match &bound.source {
                Source::Data(name) => Some(name.as_str()),
                Source::Posted => None,
            };
            // A rule that calls the table by its short name is for the data that is called so.
            let name = match rules.names(&bound.input) {
                true => bound.input.as_str(),
                false => own_name(&bound.input),
            };
            let usual = self.folder.named_as(name);
            rules
                .check_data(&bound.input, data, usual.as_deref())
                .map_err(refused)?;
        }
        Ok(())
    }

    /// Counts a query among the answers of today, once.
    pub(crate) fn count_answer(&self, id: JobId, compiled: &Compiled) -> Result<()> {
        match &compiled.work {
            Work::Query(query) => self.count_call(&id.to_string(), query),
            Work::Circuit { .. } => Ok(()),
        }
    }

    /// Counts a query that is known by this name among the answers of today, once.
    pub(crate) fn count_call(&self, name: &str, query: &query::Proposed) -> Result<()> {
        let Some(rules) = self.rules_of_tables()? else {
            return Ok(());
        };
        rules
            .count(PartyId(self.me), query.job().query(), Some(name))
            .map_err(|error| Error::Approval(error.to_string()))
    }

    /// Sees that this party's tables of a query keep what the job declares of them. It is counted as an answer before the tables are read: whoever
    /// proposed it sees by what this party decides how that went.
    pub(crate) fn try_tables(&self, id: JobId, compiled: &Compiled, approval: &Approval) -> Result<()> {
        let Work::Query(query) = &compiled.work else {
            return Ok(());
        };
        self.count_answer(id, compiled)?;
        let _turn = lock(&self.trying);
        let posted = |name: &str| approval.posted.get(name).cloned().map(Zeroizing::new);
        let tables = self
            .read_tables(&approval.binding, compiled, query, posted)
            .map_err(|fault| Error::Approval(fault.reason))?;
        query
            .rehearse(&tables)
            .map_err(|error| Error::Approval(error.to_string()))
    }

    /// The files of data that are there of those that are bound, by the data's name. They are not read.
    pub(crate) fn found(&self, binding: Vec<Binding>) -> BTreeMap<String, FileMark> {
        let mark = |bound: Binding| match bound.source {
            Source::Data(name) => self.folder.mark(&name).ok().map(|mark| (name, mark)),
            Source::Posted => None,
        };
        binding.into_iter().filter_map(mark).collect()
    }

    /// What was posted with this party's approval of a job that has begun, by the input's name, each once. It stays if the job may go on later.
    pub(crate) fn posted_for(
        &self,
        job: &Job,
        compiled: &Compiled,
    ) -> std::result::Result<impl FnMut(&str) -> Option<Zeroizing<String>> + use<>, Fault> {
        let mut posted = BTreeMap::new();
        let mut bound = job.binding.iter();
        if let Some(bound) = bound.find(|bound| bound.source == Source::Posted) {
            let taken = self
                .posted
                .take(job.proposal.id, bound.posted, compiled.goes_on());
            posted = taken.map_err(|reason| Fault::new(FailKind::BadInput, reason))?;
        }
        Ok(move |name: &str| posted.remove(name))
    }

    /// This party's tables of a query, as [`OwnData::read_inputs`] reads inputs.
    pub(crate) fn read_tables(
        &self,
        binding: &[Binding],
        compiled: &Compiled,
        query: &query::Proposed,
        posted: impl FnMut(&str) -> Option<Zeroizing<String>>,
    ) -> std::result::Result<Vec<Option<Table>>, Fault> {
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
        read: impl Fn(usize, InputData, &str) -> std::result::Result<T, Fault>,
    ) -> std::result::Result<Vec<Option<T>>, Fault> {
        let bad = |reason: String| Fault::new(FailKind::BadInput, reason);
        let mut inputs = Vec::new();
        for (index, input) in compiled.inputs.iter().enumerate() {
            if input.owner != self.me {
                inputs.push(None);
                continue;
            }
            let bound = binding.iter().find(|bound| bound.input == input.name);
            let read = match bound.map(|bound| &bound.source) {
                Some(Source::Data(name)) => {
                    let file = self.folder.file(name).map_err(bad)?;
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

    /// Why the data of a published table cannot stand for it, if it cannot.
    pub(crate) fn misfit(&self, table: &OwnTable) -> Option<String> {
        match self.folder.check(&table.data) {
            Err(what) => Some(what),
            Ok(()) => {
                let _turn = lock(&self.trying);
                table.misfit(&self.folder.path(&table.data).ok()?)
            }
        }
    }

    /// Waits until no tables are tried, and keeps others from that.
    #[cfg(test)]
    pub(crate) fn hold_tables(&self) -> std::sync::MutexGuard<'_, ()> {
        lock(&self.trying)
    }
}
