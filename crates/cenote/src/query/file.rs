//! The file of a job that is a query.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use cenote_net::PartyId;
use cenote_query::{Answer, Count, Declared, MAX_ROWS, Query, Schema};
use cenote_session::{Parties, Terms};
use cenote_tables::Table;
use serde::Deserialize;
use sha2::{Digest as _, Sha256};
use toml::Spanned;

use super::entry::{TableEntry, declared};
use super::parameters::{GREATEST, Values, calls, check_proposed, parameters};
use super::planned::Part;
use super::shards::InShards;
use crate::fields::{entitled, is_setting, protocol};
use crate::files::same_file;
use crate::settings_file::{SettingsFile, StatedSetting};
use crate::shards::digest;
use crate::standing::{Calls, StandingEntry};
use crate::{Bundle, Error, Protocol, Result};

/// Most exchanges of records of a query that is proposed: about a second of planning, which is done before anybody has decided on it.
const MAX_EXCHANGES: u64 = 1 << 27;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    protocol: Option<Spanned<String>>,
    query: Option<Spanned<String>>,
    max_join_rows: Option<u64>,
    #[serde(default)]
    secret_only: bool,
    shards: Option<Spanned<u32>>,
    attempts: Option<Spanned<u32>>,
    standing: Option<Spanned<StandingEntry>>,
    #[serde(default)]
    parameters: BTreeMap<Spanned<String>, Spanned<String>>,
    #[serde(default, rename = "table")]
    tables: Vec<Spanned<TableEntry>>,
    answer: Option<AnswerEntry>,
}

impl File {
    /// How many parties it names, at least two.
    fn parties(&self) -> u8 {
        let owners = self.tables.iter().map(|table| *table.get_ref().party.get_ref());
        let to = self.answer.as_ref().and_then(|answer| answer.to.as_ref());
        let receivers = to.into_iter().flat_map(|to| to.get_ref()).map(|to| *to.get_ref());
        owners
            .chain(receivers)
            .fold(2, |parties, party| parties.max(party.saturating_add(1)))
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AnswerEntry {
    to: Option<Spanned<Vec<Spanned<u8>>>>,
    max_rows: Option<Spanned<u64>>,
    count: Option<Spanned<String>>,
    min_group: Option<u64>,
    file: Option<PathBuf>,
}

/// A job that is a query, read, checked and planned. Tables are not read before [`QueryJob::tables`].
#[derive(Debug)]
pub struct QueryJob {
    path: PathBuf,
    protocol: Protocol,
    text: String,
    query: Query,
    pub(super) calls: Option<Calls>,
    in_shards: Option<InShards>,
    files: Vec<Option<PathBuf>>,
    answer_file: Option<PathBuf>,
}

/// What a command line says instead of the file.
#[derive(Clone, Debug, Default, serde::Serialize, Deserialize)]
pub struct Instead {
    /// The query.
    pub query: Option<String>,
    /// The protocol.
    pub protocol: Option<String>,
    /// How many shards it is cut into.
    #[serde(default)]
    pub shards: Option<u32>,
    /// The values of the query's parameters.
    #[serde(default)]
    pub parameters: BTreeMap<String, String>,
    /// Parameters without a value have a sample, by which the query is planned.
    #[serde(default)]
    pub samples: bool,
}

impl QueryJob {
    /// Whether the file at `path` is a job that is a query, as far as that can be told.
    pub fn is_at(path: &Path) -> bool {
        crate::files::read(path, 64 << 20, "job file").is_ok_and(|text| Self::is_in(&text))
    }

    /// Reads the job file at `path`, and plans its query.
    ///
    /// # Errors
    /// [`Error::Config`] with the line, if a key is missing, unknown or wrong; [`Error::Usage`] with the place in the query.
    pub fn load(path: &Path) -> Result<Self> {
        Self::load_with(path, &Instead::default())
    }

    /// The same with what is said instead of the file.
    ///
    /// # Errors
    /// As [`QueryJob::load`].
    pub fn load_with(path: &Path, instead: &Instead) -> Result<Self> {
        let (file, settings, source) = SettingsFile::read_with::<File>(path, is_setting)?;
        let values = match instead.samples && instead.parameters.is_empty() {
            true => Values::Sample(GREATEST),
            false => Values::Given(&instead.parameters),
        };
        Self::checked(file, &settings, &source, (instead, values))
    }

    /// Whether the text of a job file is that of a query, as far as that can be told.
    pub fn is_in(text: &str) -> bool {
        text.parse::<toml::Table>()
            .is_ok_and(|table| table.contains_key("query") || table.contains_key("table"))
    }

    /// Reads a job that was proposed, and plans its query: no file of this machine is looked at.
    ///
    /// # Errors
    /// As [`QueryJob::load`]; where the job names files of tables or of the answer, declares a table that its query does not ask for, or takes long to
    /// plan, or the bundle has files.
    pub(crate) fn from_bundle(bundle: &Bundle, values: Values<'_>) -> Result<Self> {
        let path = Path::new(Bundle::JOB);
        let (file, settings, source) =
            SettingsFile::parse_with::<File>(path, bundle.job.clone(), is_setting)?;
        if let Some(table) = file.tables.iter().find(|table| table.get_ref().file.is_some()) {
            return Err(source.fault(
                table.span(),
                "a job that is proposed names no files of tables; leave `file` out, and give the data with the approval",
            ));
        }
        if file.answer.as_ref().is_some_and(|answer| answer.file.is_some()) {
            return Err(source.fault_in_general(
                "the answer of a job that is proposed is fetched; leave `file` of [answer] out",
            ));
        }
        let is_cut = file.shards.is_some();
        check_proposed(&source, file.standing.as_ref(), &file.parameters, is_cut)?;
        bundle.check(&[], &source)?;
        let spans: Vec<_> = file.tables.iter().map(Spanned::span).collect();
        let job = Self::checked(file, &settings, &source, (&Instead::default(), values))?;
        // One with parameters is planned for several samples.
        let samples = if job.parameters().is_empty() { 1 } else { 3 };
        let exchanges = job.exchanges().saturating_mul(samples);
        if exchanges > MAX_EXCHANGES {
            return Err(source.fault_in_general(format!(
                "planning the query would take {exchanges} exchanges, more than the limit of {MAX_EXCHANGES} for a proposed job; lower `max_rows` of \
                 the tables, or run it with `cenote party`"
            )));
        }
        let asked = job.query.tables();
        let tables = job.query.schema().tables.iter().zip(spans).enumerate();
        for (at, (table, span)) in tables {
            // Its owner would have it read and checked, and tell whether it keeps what the proposer declares of it.
            if !asked.contains(&at) {
                let what = format!(
                    "the query does not ask for table {}; leave it out of the job",
                    table.name
                );
                return Err(source.fault(span, what));
            }
        }
        Ok(job)
    }

    fn checked(
        file: File,
        settings: &[StatedSetting],
        source: &SettingsFile,
        (instead, values): (&Instead, Values<'_>),
    ) -> Result<Self> {
        let path = source.path();
        let protocol = match (&instead.protocol, &file.protocol) {
            (Some(name), _) => Protocol::named(name).ok_or_else(|| {
                let names: Vec<&str> = Protocol::names().collect();
                Error::Usage(format!(
                    "there is no protocol {name}; there are {}",
                    names.join(" and ")
                ))
            })?,
            (None, Some(named)) => protocol(named, settings, source)?,
            (None, None) => {
                let keys: Vec<&str> = settings.iter().map(|setting| setting.key.as_str()).collect();
                let name = fitting(file.parties(), &keys).name();
                protocol(&Spanned::new(0..0, name.to_owned()), settings, source)?
            }
        };
        let parties = protocol.parties();
        let text = instead
            .query
            .clone()
            .or_else(|| file.query.as_ref().map(|query| query.get_ref().clone()));
        let text =
            text.ok_or_else(|| source.fault_in_general("`query` is missing; write query = \"SELECT …\""))?;
        let (mut tables, mut files) = (Vec::new(), Vec::new());
        for entry in file.tables {
            let entry = entry.into_inner();
            files.push(entry.file.as_ref().map(|file| source.resolve(file)));
            tables.push(declared(source, entry, parties)?);
        }
        let (answer, answer_file) = match file.answer {
            Some(entry) => answer(source, entry, parties)?,
            None => (everything(parties), None),
        };
        if let Some(answer) = &answer_file
            && !takes_answer(answer, files.iter().flatten().map(PathBuf::as_path).chain([path]))
        {
            return Err(source.fault_in_general(format!(
                "the answer's file {} must end in .csv or .parquet, and be none of the tables' files",
                answer.display()
            )));
        }
        let schema = Schema {
            parties,
            parameters: parameters(source, file.parameters, values)?,
            tables,
            answer,
            max_join_rows: file
                .max_join_rows
                .map(|most| usize::try_from(most).unwrap_or(usize::MAX)),
            secret_only: file.secret_only,
        };
        let calls = file.standing.map(|standing| calls(source, &standing, &schema));
        let calls = calls.transpose()?;
        let shards = instead.shards.map(|shards| Spanned::new(0..0, shards));
        let counts = (shards.or(file.shards), file.attempts);
        let plan = match counts.0 {
            Some(_) => Query::to_cut,
            None => Query::new,
        };
        let query = plan(&text, schema).map_err(|error| match error {
            cenote_query::Error::Declared(what) => source.fault_in_general(what),
            other => other.into(),
        })?;
        let in_shards = InShards::read(counts, &query, &protocol, source)?;
        Ok(QueryJob {
            path: path.to_owned(),
            protocol,
            text,
            query,
            calls,
            in_shards,
            files,
            answer_file,
        })
    }

    /// The protocol and its settings.
    pub fn protocol(&self) -> &Protocol {
        &self.protocol
    }

    /// About how many exchanges of records are measured in planning: those of one shard stand for all.
    pub(super) fn exchanges(&self) -> u64 {
        match &self.in_shards {
            None => self.query.exchanges(),
            Some(InShards { cut, .. }) => {
                let merge = cut.merge().exchanges();
                cut.shard().exchanges().saturating_add(merge)
            }
        }
    }

    /// How it is cut, if it is.
    pub(super) fn in_shards(&self) -> Option<&InShards> {
        self.in_shards.as_ref()
    }

    /// What is computed in a part of the job.
    pub(super) fn part(&self, part: Part) -> &Query {
        match (part, &self.in_shards) {
            (Part::Shard, Some(InShards { cut, .. })) => cut.shard(),
            (Part::Merge, Some(InShards { cut, .. })) => cut.merge(),
            _ => &self.query,
        }
    }

    /// The protocol of the sessions in which a part of the job is computed.
    ///
    /// # Errors
    /// [`Error::Usage`] if it cannot be as safe as that must be.
    pub(super) fn protocol_of(&self, part: Part) -> Result<Protocol> {
        match (part, &self.in_shards) {
            (Part::Shard | Part::Merge, Some(in_shards)) => in_shards.counts.protocol(&self.protocol),
            _ => Ok(self.protocol.clone()),
        }
    }

    /// The text of the query.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The query, and how it is done.
    pub fn query(&self) -> &Query {
        &self.query
    }

    /// Of how many rows a group has at least that is in the answer, and how many rows that has at most, if it is bounded beforehand.
    pub fn answer(&self) -> (u64, Option<u64>) {
        let answer = &self.query.schema().answer;
        let most = match answer.count {
            Count::AtMost(most) => Some(most as u64),
            Count::Revealed => None,
        };
        (answer.min_group, most)
    }

    /// The file that the answer is written to by those to whom it goes, if the job names one.
    pub fn answer_file(&self) -> Option<&Path> {
        self.answer_file.as_deref()
    }

    /// The tables of `me`, read from their files; nothing for those of others.
    ///
    /// # Errors
    /// [`Error::Config`] if one has no file; [`Error::Table`] with the row, if it cannot be used. Values are not quoted.
    pub fn tables(&self, me: PartyId) -> Result<Vec<Option<Table>>> {
        let tables = self.query.schema().tables.iter().enumerate();
        let read = |(at, declared): (usize, &Declared)| {
            let own = declared.party == me;
            let read = || {
                Ok(cenote_tables::read(
                    self.file_of(at)?,
                    &declared.fields,
                    declared.max_rows,
                )?)
            };
            own.then(read).transpose()
        };
        tables.map(read).collect()
    }

    /// The file of the table in place `at` of the schema.
    ///
    /// # Errors
    /// [`Error::Config`] if the job names none.
    pub(super) fn file_of(&self, at: usize) -> Result<&Path> {
        self.files[at].as_deref().ok_or_else(|| {
            let Declared { name, party, .. } = &self.query.schema().tables[at];
            let what = format!("table {name} of {party} has no file here; give `file = \"…\"`");
            Error::config(&self.path, None, what)
        })
    }

    /// The tables of `me`, and the files that the job names for them.
    pub(super) fn own_files(&self, me: PartyId) -> impl Iterator<Item = (&Declared, Option<&Path>)> {
        let tables = self.query.schema().tables.iter().zip(&self.files);
        tables
            .filter(move |(table, _)| table.party == me)
            .map(|(table, file)| (table, file.as_deref()))
    }

    /// What the parties compare of it.
    pub(crate) fn terms(&self) -> Terms {
        let schema = self.query.schema();
        let mut terms: Terms = vec![("query".into(), short(self.text.trim()))];
        for (number, parameter) in (1..).zip(&schema.parameters) {
            let told = format!(
                "{} {} = {:?}",
                parameter.name(),
                parameter.kind(),
                parameter.value()
            );
            terms.push((format!("parameter {number}"), short(&told)));
        }
        for (number, table) in (1..).zip(&schema.tables) {
            let Declared {
                name,
                party,
                max_rows,
                unique,
                at_most,
                distinct,
                below,
                values,
                same_rows_as,
                fields,
            } = table;
            let columns: Vec<String> = fields
                .iter()
                .map(|field| {
                    let null = if field.nullable { "" } else { " not null" };
                    format!("{:?} {}{null}", field.name, field.kind)
                })
                .collect();
            let told = format!(
                "{name:?} of {party}, at most {max_rows} rows, unique {unique:?}, at_most {at_most:?}, distinct {distinct:?}, below {below:?}, values {values:?}, same_rows_as {same_rows_as:?}: {}",
                columns.join(", ")
            );
            // What a table is called is the job's, and names of terms are this program's.
            terms.push((format!("table {number}"), short(&told)));
        }
        let Answer { to, count, min_group } = schema.answer;
        let most = schema
            .max_join_rows
            .map_or("not stated".into(), |most| most.to_string());
        terms.push(("max_join_rows".into(), most));
        terms.push(("secret_only".into(), schema.secret_only.to_string()));
        terms.push((
            "answer".into(),
            format!("to {to}, {count:?}, groups of {min_group} or more"),
        ));
        // Last, since it follows from what people have stated.
        terms.push((
            "plan".into(),
            hex::encode(Sha256::digest(self.query.explained().tree())),
        ));
        terms
    }

    /// What stands for it in reports.
    pub(crate) fn digest(&self) -> String {
        digest(&self.terms())
    }
}

/// The protocol of a job that names none: the usual one for so many parties, unless only another has settings of these names.
fn fitting(parties: u8, settings: &[&str]) -> Protocol {
    let usual = Protocol::usual(parties);
    let has_all = |protocol: &Protocol| {
        let has = |key: &&str| Protocol::with_setting(key).contains(&protocol.name());
        settings.iter().all(has)
    };
    let mut others = Protocol::all().filter(|other| other.parties() == usual.parties());
    match has_all(&usual) {
        true => usual,
        false => others.find(has_all).unwrap_or(usual),
    }
}

/// Whether an answer can be written to this file, which is none of the others.
fn takes_answer<'a>(answer: &Path, mut others: impl Iterator<Item = &'a Path>) -> bool {
    let end = answer.extension().and_then(|end| end.to_str());
    matches!(end, Some("csv" | "parquet")) && !others.any(|other| same_file(other, answer))
}

/// A text, or its digest if it is long.
fn short(text: &str) -> String {
    match text.len() {
        0..=900 => text.to_owned(),
        len => format!("{len} bytes with SHA-256 {}", hex::encode(Sha256::digest(text))),
    }
}

fn answer(source: &SettingsFile, entry: AnswerEntry, parties: u8) -> Result<(Answer, Option<PathBuf>)> {
    let to = match &entry.to {
        Some(to) => entitled(source, to, parties)?,
        None => Parties::all(parties.into()),
    };
    let count = match (&entry.max_rows, &entry.count) {
        (Some(rows), None) => {
            let most = usize::try_from(*rows.get_ref()).unwrap_or(usize::MAX);
            if !(1..=MAX_ROWS).contains(&most) {
                return Err(source.fault(rows.span(), format!("`max_rows` is 1 to {MAX_ROWS}")));
            }
            Count::AtMost(most)
        }
        (None, Some(count)) if count.get_ref() == "revealed" => Count::Revealed,
        (None, Some(count)) => {
            return Err(source.fault(count.span(), "write count = \"revealed\", or max_rows = N"));
        }
        (None, None) => {
            return Err(source.fault_in_general("[answer] needs `max_rows = N`, or `count = \"revealed\"` if everybody may learn how many rows it has"));
        }
        (Some(_), Some(count)) => {
            return Err(source.fault(count.span(), "an answer has `max_rows` or `count`, not both"));
        }
    };
    let answer = Answer {
        to,
        count,
        min_group: entry.min_group.unwrap_or(0),
    };
    Ok((answer, entry.file.map(|file| source.resolve(file))))
}

fn everything(parties: u8) -> Answer {
    Answer {
        to: Parties::all(parties.into()),
        count: Count::Revealed,
        min_group: 0,
    }
}
