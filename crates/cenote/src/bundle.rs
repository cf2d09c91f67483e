//! A job file and the files that it names, in memory: how a job is sent to those who have not its folder.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::settings_file::SettingsFile;
use crate::{Error, Result};

/// A job file's text, and those of the files that it names.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bundle {
    /// The job file's text.
    pub job: String,
    /// Texts of files, by the names that the job file gives them.
    pub files: BTreeMap<String, String>,
}

/// What a job file says that it computes, as far as that can be told without looking further.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stated {
    /// A query.
    Query(String),
    /// The library's circuit of this name.
    Library(String),
    /// The circuit in a file of this name.
    File(String),
}

impl Bundle {
    /// What the job file says that it computes.
    pub fn stated(&self) -> Option<Stated> {
        let table: toml::Table = self.job.parse().ok()?;
        let text = |key: &str| Some(table.get(key)?.as_str()?.to_owned());
        if let Some(query) = text("query") {
            return Some(Stated::Query(query));
        }
        let circuit = text("circuit")?;
        Some(match circuit.strip_prefix("lib:") {
            Some(name) => Stated::Library(name.to_owned()),
            None => Stated::File(circuit),
        })
    }

    /// Gates that a job's circuit of the library may come to while it is built: who sends a bundle decides what is built, and this many take
    /// some hundreds of megabytes. Many instances are lanes.
    pub const MOST_GATES: usize = 1 << 22;
    /// What complaints call the job file.
    pub(crate) const JOB: &str = "the job";
    /// Files, at most.
    const FILES: usize = 16;
    /// Bytes of a name, at most.
    const NAME: usize = 128;
    /// Bytes of the names of all tables of a job file that is written in one way, at most.
    const NAMES: usize = 1 << 20;

    /// Bytes of all texts.
    pub fn bytes(&self) -> usize {
        let files = self.files.iter().map(|(name, text)| name.len() + text.len());
        self.job.len() + files.sum::<usize>()
    }

    /// The same job written in one way, whatever the comments, the space and the order of keys in its file; columns keep their order, which means something. None if
    /// it is no job file, or would be much longer so.
    pub fn canonical(&self) -> Option<Self> {
        let mut table: toml::Table = self.job.parse().ok()?;
        // Every table of an array is written under its whole name, so a short text could become a very long one.
        if names(&table, 0) > Self::NAMES {
            return None;
        }
        sort_keys(&mut table);
        Some(Self {
            job: toml::to_string(&table).ok()?,
            files: self.files.clone(),
        })
    }

    /// The one text of the bundle: what its digest is taken of.
    ///
    /// # Errors
    /// [`Error::Usage`] if it cannot be written.
    pub fn text(&self) -> Result<String> {
        serde_json::to_string(self).map_err(|error| Error::Usage(format!("the job cannot be sent: {error}")))
    }

    /// The bundle of that text.
    ///
    /// # Errors
    /// [`Error::Usage`] if it is none, or would be written in another way.
    pub fn parse(text: &str) -> Result<Self> {
        let bundle: Bundle =
            serde_json::from_str(text).map_err(|_| Error::Usage("this is no job with its files".into()))?;
        if bundle.text()? == text {
            Ok(bundle)
        } else {
            Err(Error::Usage(
                "this job with its files is not written as others write it".into(),
            ))
        }
    }

    /// Sees that the files are those that the job names: each with its name and whether it is a file.
    pub(crate) fn check(&self, named: &[(&str, bool)], source: &SettingsFile) -> Result<()> {
        if self.files.len() > Self::FILES {
            return Err(source.fault_in_general(format!("there are more than {} files", Self::FILES)));
        }
        let wanted = || named.iter().filter(|(_, file)| *file).map(|(name, _)| *name);
        if let Some(wrong) = wanted().find(|name| !is_plain(name)) {
            return Err(source.fault_in_general(format!(
                "{wrong:?} is no name of a file beside the job; give names without folders, drives and control characters"
            )));
        }
        if let Some(missing) = wanted().find(|name| !self.files.contains_key(*name)) {
            return Err(
                source.fault_in_general(format!("the file {missing:?} is missing; send it with the job"))
            );
        }
        match self
            .files
            .keys()
            .find(|name| !wanted().any(|wanted| wanted == *name))
        {
            Some(other) if is_plain(other) => {
                Err(source
                    .fault_in_general(format!("the job does not name the file {other:?}; leave it out")))
            }
            Some(_) => Err(source.fault_in_general("there is a file with a name that is none; leave it out")),
            None => Ok(()),
        }
    }
}

/// Keys whose tables have an order that means something.
const ORDERED: &str = "columns";

/// Bytes of the names under which the tables in `table` are written, if its own name has `path` bytes.
fn names(table: &toml::Table, path: usize) -> usize {
    let of = |value: &toml::Value, path: usize| match value {
        toml::Value::Table(table) => path + names(table, path),
        _ => 0,
    };
    let each = table.iter().map(|(key, value)| {
        let path = path + key.len() + 1;
        match value {
            toml::Value::Array(items) => items.iter().map(|item| of(item, path)).sum(),
            other => of(other, path),
        }
    });
    each.sum()
}

fn sort_keys(table: &mut toml::Table) {
    let mut all: Vec<_> = std::mem::take(table).into_iter().collect();
    all.sort_by(|(one, _), (other, _)| one.cmp(other));
    for (key, value) in &mut all {
        if key != ORDERED {
            sort_within(value);
        }
    }
    table.extend(all);
}

fn sort_within(value: &mut toml::Value) {
    match value {
        toml::Value::Table(table) => sort_keys(table),
        toml::Value::Array(all) => all.iter_mut().for_each(sort_within),
        _ => {}
    }
}

/// Whether `name` is a file's own name: neither a path nor hidden.
fn is_plain(name: &str) -> bool {
    let wrong = |character: char| character.is_control() || matches!(character, '/' | '\\' | ':');
    !name.is_empty() && name.len() <= Bundle::NAME && !name.starts_with('.') && !name.contains(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Job;

    const JOB: &str = "protocol = \"three\"\ncircuit = \"lib:add8\"\nlanes = 2\n[[input]]\nparty = 0\n[[input]]\nparty = 1\n\
        [[output]]\nto = [2]\n";

    fn bundle(job: &str) -> Bundle {
        Bundle {
            job: job.into(),
            files: BTreeMap::new(),
        }
    }

    fn refusal(bundle: &Bundle) -> String {
        Job::from_bundle(bundle).map(drop).unwrap_err().to_string()
    }

    #[test]
    fn a_job_says_what_it_computes() {
        assert_eq!(bundle(JOB).stated(), Some(Stated::Library("add8".into())));
        let own = JOB.replace("lib:add8", "add8");
        assert_eq!(bundle(&own).stated(), Some(Stated::File("add8".into())));
        let query = bundle("query = \"SELECT 1\"").stated();
        assert_eq!(query, Some(Stated::Query("SELECT 1".into())));
        assert_eq!(bundle("circuit = 1").stated(), None);
        assert_eq!(bundle("[[").stated(), None);
    }

    #[test]
    fn a_short_text_that_would_become_a_long_one_is_not_written_anew() {
        let items = vec!["{}"; 20_000].join(",");
        let long = format!("{} = [{items}]", "k".repeat(30_000));
        assert!(bundle(&long).canonical().is_none());
        let nested = format!("a = {{ {} = [{items}] }}", "k".repeat(30_000));
        assert!(bundle(&nested).canonical().is_none());
        assert!(bundle(&format!("k = [{items}]")).canonical().is_some());
    }

    #[test]
    fn one_job_has_one_text() {
        let written = [
            "# ours\nquery = \"SELECT a, b FROM t\"\nprotocol = 'three'\n[answer]\nto = [0]\nmax_rows = 4\n[[table]]\nparty = 1\nname = \"t\"\n\
             columns = { b = \"u8\", a = \"u8\" }\nmax_rows = 10\n",
            "protocol=\"three\"\n\nquery = 'SELECT a, b FROM t' # all\n[[table]]\nname = \"t\"\nmax_rows = 1_0\nparty = 1\n\
             [table.columns]\nb = \"u8\"\na = \"u8\"\n[answer]\nmax_rows = 4\nto = [\n0,\n]\n",
        ];
        // Rules have digests of such texts, so that another way to write them is noticed here.
        let text = "protocol = \"three\"\nquery = \"SELECT a, b FROM t\"\n\n[answer]\nmax_rows = 4\nto = [0]\n\n[[table]]\n\
            max_rows = 10\nname = \"t\"\nparty = 1\n\n[table.columns]\nb = \"u8\"\na = \"u8\"\n";
        for job in written {
            let canonical = bundle(job).canonical().unwrap();
            assert_eq!(canonical.job, text);
            assert_eq!(canonical.canonical(), Some(canonical));
        }
        let other = written[0].replace("b = \"u8\", a = \"u8\"", "a = \"u8\", b = \"u8\"");
        assert_ne!(
            bundle(&other).canonical().unwrap().job,
            text,
            "columns have an order"
        );
        assert_eq!(bundle("[[").canonical(), None);
    }

    #[test]
    fn a_job_is_read_without_any_file_of_this_machine() {
        let job = Job::from_bundle(&bundle(JOB)).unwrap();
        assert_eq!(job.stated_lanes().unwrap(), 2);

        let mut text = Vec::new();
        let circuit = crate::circuits::by_name("add8").unwrap();
        cenote_circuit::format::write(&circuit, cenote_circuit::format::Format::Fashion, &mut text).unwrap();
        let mut own = bundle(&JOB.replace("lib:add8", "mine.txt"));
        let text_of = String::from_utf8(text).unwrap();
        own.files.insert("mine.txt".into(), text_of.clone());
        let read = Job::from_bundle(&own).unwrap();
        assert_eq!(read.circuit().gates().len(), circuit.gates().len());

        own.files.insert("other.txt".into(), text_of);
        assert!(refusal(&own).contains("does not name the file \"other.txt\""));
        own.files.clear();
        assert!(refusal(&own).contains("\"mine.txt\" is missing"));
        own.files.insert("mine.txt".into(), "1 2\nnonsense".into());
        let text = refusal(&own);
        assert!(text.starts_with("mine.txt"), "{text}");
    }

    #[test]
    fn values_and_paths_are_refused() {
        for (from, to, part) in [
            (
                "party = 1",
                "party = 1\nhex = \"0x1\"",
                "the job, line 6: a job that is proposed has neither values",
            ),
            ("party = 1", "party = 1\nfile = \"b\"", "neither values nor files"),
            (
                "to = [2]",
                "to = [2]\nfile = \"out\"",
                "line 10: outputs of a job that is proposed are fetched",
            ),
            ("lanes = 2\n", "", "`lanes` is missing"),
            (
                "lib:add8",
                "../circuit.txt",
                "is no name of a file beside the job",
            ),
            ("lib:add8", "/etc/passwd", "is no name of a file beside the job"),
            ("lib:add8", ".hidden", "is no name of a file beside the job"),
            ("lib:add8", "there.txt", "the file \"there.txt\" is missing"),
        ] {
            let job = JOB.replace(from, to);
            assert_ne!(job, JOB, "{from}");
            let mut sent = bundle(&job);
            if to.contains("..") || to.starts_with('/') {
                sent.files.insert(to.into(), "1 1".into());
            }
            let text = refusal(&sent);
            assert!(text.contains(part), "{to}: {text}");
        }
    }

    #[test]
    fn a_bundle_has_one_text() {
        let sent = bundle(JOB);
        let text = sent.text().unwrap();
        assert_eq!(Bundle::parse(&text).unwrap(), sent);
        for other in [
            text.replace("{\"job\"", "{ \"job\""),
            text.replace("\"files\":{}", "\"files\":{},\"more\":1"),
            String::new(),
        ] {
            assert!(Bundle::parse(&other).is_err(), "{other}");
        }
    }
}
