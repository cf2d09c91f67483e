//! The table `[service]` of a party file: what its standing service is told.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use cenote_net::PartyId;
use serde::Deserialize;
use toml::Spanned;

use crate::fields::{check_address, is_setting, protocol};
use crate::settings_file::{SettingsFile, StatedSetting};
use crate::stock::kind::StockKind;
use crate::{Protocol, Result, text};

/// AND gates of a typical job, unless it is stated.
const TYPICAL_JOB: u64 = 1 << 16;
/// The largest target.
const MOST_ANDS: u64 = 1 << 50;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ServiceTable {
    folder: Option<PathBuf>,
    database: Option<Spanned<String>>,
    data: Option<PathBuf>,
    policy: Option<PathBuf>,
    catalogue: Option<PathBuf>,
    http: Option<Spanned<String>>,
    http_names: Option<Spanned<Vec<Spanned<String>>>>,
    names: Option<Spanned<Vec<Spanned<String>>>>,
    jobs: Option<Spanned<u64>>,
    jobs_per_proposer: Option<Spanned<u64>>,
    proposals_a_second: Option<Spanned<u64>>,
    keep_days: Option<Spanned<u64>>,
    #[serde(default)]
    stock: Vec<Spanned<StockTable>>,
}

/// Stock that a service keeps.
#[derive(Clone, Debug, PartialEq)]
pub struct StockTarget {
    /// What it is.
    pub kind: StockKind,
    /// The AND gates of jobs that it should serve.
    pub ands: u64,
    /// Jobs of fewer AND gates make their own material.
    pub least: u64,
}

/// The address of a database. `Debug` does not tell it, since it may hold a password.
#[derive(Clone, PartialEq)]
pub struct DatabaseAddress(pub String);

impl std::fmt::Debug for DatabaseAddress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("DatabaseAddress")
    }
}

/// What the standing service of a party is told. Read by [`PartyConfig::load`](crate::PartyConfig::load).
#[derive(Clone, Debug, PartialEq)]
pub struct ServiceConfig {
    /// Its folder: database, audit log, programs, posted values.
    pub folder: PathBuf,
    /// The address of a PostgreSQL server; SQLite in the folder without one.
    pub database: Option<DatabaseAddress>,
    /// The folder of the data that jobs may be given.
    pub data: PathBuf,
    /// The file of the rules that approve jobs; without one, persons do.
    pub policy: Option<PathBuf>,
    /// The file that says what is published of its tables to whom; without one, nothing is.
    pub catalogue: PathBuf,
    /// Where its page and its commands reach it, `host:port`.
    pub http: String,
    /// Names, besides addresses, by which they may call it.
    pub http_names: Vec<String>,
    /// The names of all parties, in order.
    pub names: Vec<String>,
    /// Jobs that run side by side.
    pub jobs: u64,
    /// Of those, the ones that one party has proposed.
    pub jobs_per_proposer: u64,
    /// Proposals that a peer may make in a second, in the long run.
    pub proposals_a_second: u64,
    /// How long ended jobs are listed.
    pub keep: Duration,
    /// What stock it keeps.
    pub stock: Vec<StockTarget>,
}

impl ServiceConfig {
    /// The port of party 0's page; the others' follow.
    pub const HTTP_PORT: u16 = 7180;

    /// Names of its page, at most.
    pub const HTTP_NAMES: usize = 16;

    /// Kinds of stock that it keeps, at most.
    pub const KINDS: usize = 16;

    pub(crate) fn read(
        table: Spanned<ServiceTable>,
        me: PartyId,
        parties: u8,
        source: &SettingsFile,
    ) -> Result<Self> {
        let table = table.into_inner();
        let path = |given: Option<PathBuf>, otherwise: &str| {
            source.resolve(given.unwrap_or_else(|| PathBuf::from(otherwise)))
        };
        let database = match table.database {
            None => None,
            Some(text) if text.get_ref() == "sqlite" => None,
            // The address itself is not quoted: it may hold a password.
            Some(text) if !text.get_ref().starts_with("postgres") => {
                return Err(source.fault(
                    text.span(),
                    "a database is \"sqlite\", in the service's folder, or the address postgres://… of a server",
                ));
            }
            Some(text) => Some(DatabaseAddress(text.into_inner())),
        };
        let http = match table.http {
            None => format!("127.0.0.1:{}", Self::HTTP_PORT + u16::from(me.0)),
            Some(address) => {
                check_address(source, &address)?;
                address.into_inner()
            }
        };
        let count = |given: Option<Spanned<u64>>, otherwise: u64, most: u64| match given {
            None => Ok(otherwise),
            Some(number) if (1..=most).contains(number.get_ref()) => Ok(number.into_inner()),
            Some(number) => Err(source.fault(number.span(), format!("give a number from 1 to {most}"))),
        };
        let jobs = count(table.jobs, 64, 1024)?;
        Ok(ServiceConfig {
            folder: path(table.folder, "service"),
            database,
            data: path(table.data, "data"),
            policy: table.policy.map(|policy| source.resolve(policy)),
            catalogue: path(table.catalogue, "catalogue.toml"),
            http,
            http_names: http_names(table.http_names, source)?,
            names: names(table.names, parties, source)?,
            jobs,
            jobs_per_proposer: count(table.jobs_per_proposer, (jobs * 3 / 4).max(1), 1024)?,
            proposals_a_second: count(table.proposals_a_second, 500, 100_000)?,
            keep: Duration::from_secs(count(table.keep_days, 90, 36_500)? * 24 * 3600),
            stock: stock(table.stock, me, parties, source)?,
        })
    }
}

/// A table of `[[service.stock]]`: its own keys, and settings of a protocol.
type StockTable = BTreeMap<String, Spanned<toml::Value>>;

fn stock(
    tables: Vec<Spanned<StockTable>>,
    me: PartyId,
    parties: u8,
    source: &SettingsFile,
) -> Result<Vec<StockTarget>> {
    let mut targets: Vec<StockTarget> = Vec::new();
    for table in tables {
        let span = table.span();
        let fault = |what: String| source.fault(span.clone(), what);
        let Some(target) = stock_target(table, me, parties, source)? else {
            continue;
        };
        if targets
            .iter()
            .any(|other| other.kind.protocol() == target.kind.protocol())
        {
            return Err(fault(
                "there is another table for the same protocol and settings".into(),
            ));
        }
        if targets.len() == ServiceConfig::KINDS {
            return Err(fault(format!(
                "there are at most {} kinds of stock",
                ServiceConfig::KINDS
            )));
        }
        targets.push(target);
    }
    Ok(targets)
}

fn stock_target(
    table: Spanned<StockTable>,
    me: PartyId,
    parties: u8,
    source: &SettingsFile,
) -> Result<Option<StockTarget>> {
    let span = table.span();
    let fault = |what: String| source.fault(span.clone(), what);
    let missing = |key: &str| fault(format!("`{key}` is missing in this table of [[service.stock]]"));
    let mut table = table.into_inner();
    let mut amount = |key: &str| {
        table
            .remove(key)
            .map(|value| amount(key, &value, source))
            .transpose()
    };
    let (ands, job, least) = (amount("ands")?, amount("job")?, amount("least")?);
    let protocol = stock_protocol(table, source)?.ok_or_else(|| missing("protocol"))?;
    let ands = ands.ok_or_else(|| missing("ands"))?;
    if !(1..=MOST_ANDS).contains(&ands) {
        return Err(fault(format!("`ands`: give a number from 1 to {MOST_ANDS}")));
    }
    let name = protocol.name();
    if protocol.parties() > parties {
        return Err(fault(format!(
            "protocol \"{name}\" has {} parties, and this file is of {parties}",
            protocol.parties()
        )));
    }
    if me.0 >= protocol.parties() {
        return Err(fault(format!(
            "{me} takes no part in jobs of protocol \"{name}\": leave this table out"
        )));
    }
    if let (true, Err(why)) = (Protocol::has_stock(name), protocol.item()) {
        // Files that were written when jobs without a variant took triples have such a table.
        let line = source.line(&span);
        tracing::warn!(
            "{}, line {line}: no stock is kept for this table; leave it out. {why}",
            source.path().display()
        );
        return Ok(None);
    }
    let kind =
        StockKind::new(protocol, job.unwrap_or(TYPICAL_JOB)).map_err(|error| fault(error.to_string()))?;
    Ok(Some(StockTarget {
        kind,
        ands,
        least: least.unwrap_or(0),
    }))
}

/// A number of gates, such as 65536 or "100M".
fn amount(key: &str, value: &Spanned<toml::Value>, source: &SettingsFile) -> Result<u64> {
    let read = match value.get_ref() {
        toml::Value::Integer(number) => u64::try_from(*number).map_err(|error| error.to_string()),
        toml::Value::String(text) => text::quantity(text),
        _ => Err("give a number, such as 65536 or \"100M\"".into()),
    };
    read.map_err(|what| source.fault(value.span(), format!("`{key}`: {what}")))
}

/// The protocol that a table names, with the settings that are the rest of the table; nothing if it names none.
fn stock_protocol(mut table: StockTable, source: &SettingsFile) -> Result<Option<Protocol>> {
    let name = table
        .remove("protocol")
        .map(|name| (name.span(), name.into_inner()));
    let Some((span, toml::Value::String(name))) = name else {
        return Ok(None);
    };
    let mut settings = Vec::new();
    for (key, value) in table {
        if !is_setting(&key) {
            return Err(source.fault(value.span(), format!("there is no setting `{key}` of stock")));
        }
        settings.push(StatedSetting::of(key, &value));
    }
    protocol(&Spanned::new(span, name), &settings, source).map(Some)
}

fn names(
    given: Option<Spanned<Vec<Spanned<String>>>>,
    parties: u8,
    source: &SettingsFile,
) -> Result<Vec<String>> {
    let Some(given) = given else {
        return Ok((0..parties).map(|party| format!("party-{party}")).collect());
    };
    if given.get_ref().len() != usize::from(parties) {
        return Err(source.fault(
            given.span(),
            format!("give a name for each of the {parties} parties, in order"),
        ));
    }
    let mut names: Vec<String> = Vec::new();
    for name in given.into_inner() {
        if let Some(wrong) = wrong_party_name(name.get_ref()) {
            return Err(source.fault(name.span(), wrong));
        }
        if names.contains(name.get_ref()) {
            return Err(source.fault(name.span(), "another party has this name"));
        }
        names.push(name.into_inner());
    }
    Ok(names)
}

fn http_names(given: Option<Spanned<Vec<Spanned<String>>>>, source: &SettingsFile) -> Result<Vec<String>> {
    let Some(given) = given else { return Ok(Vec::new()) };
    if given.get_ref().len() > ServiceConfig::HTTP_NAMES {
        let most = ServiceConfig::HTTP_NAMES;
        return Err(source.fault(given.span(), format!("give at most {most} names")));
    }
    let label = |label: &str| {
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
        (1..=63).contains(&label.len()) && label.bytes().all(fits)
    };
    let names = given.into_inner().into_iter();
    let checked = names.map(|name| {
        let fits = name.get_ref().len() <= 253 && name.get_ref().split('.').all(label);
        let span = name.span();
        fits.then(|| name.into_inner()).ok_or_else(|| {
            source.fault(
                span,
                "give a name of this machine in the DNS, such as party.example, without a port",
            )
        })
    });
    checked.collect()
}

/// What is wrong with the name of a party, if something is.
pub fn wrong_party_name(name: &str) -> Option<&'static str> {
    let fits = |character: char| character.is_alphanumeric() || matches!(character, ' ' | '-' | '_' | '.');
    if name.is_empty() || name.len() > 64 || !name.chars().all(fits) || name.trim() != name {
        return Some("a party's name has 1 to 64 letters, digits, and between them blanks, dots, - and _");
    }
    None
}

#[cfg(test)]
mod tests {
    use crate::PartyConfig;

    fn load(service: &str) -> Result<PartyConfig, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("party.toml");
        let peers: String = [1, 2]
            .map(|party| {
                let hex = "ab".repeat(32);
                format!("[[peer]]\nparty = {party}\nfingerprint = \"{hex}\"\n")
            })
            .concat();
        let text = format!("party = 0\nidentity = \"me.key\"\nlisten = \"0.0.0.0:7100\"\n{peers}{service}");
        std::fs::write(&path, text).unwrap();
        PartyConfig::load(&path).map_err(|error| error.to_string())
    }

    #[test]
    fn an_empty_table_is_a_service() {
        assert_eq!(load("").unwrap().service, None);
        let service = load("[service]\n").unwrap().service.unwrap();
        assert!(service.folder.ends_with("service") && service.folder.is_absolute());
        assert!(service.data.ends_with("data"));
        assert!(service.catalogue.ends_with("catalogue.toml"));
        assert_eq!(service.http, "127.0.0.1:7180");
        assert_eq!(service.names, ["party-0", "party-1", "party-2"]);
        assert!(service.http_names.is_empty());
        let named = load("[service]\nhttp_names = [\"party.example\", \"node-7\"]\n").unwrap();
        assert_eq!(named.service.unwrap().http_names, ["party.example", "node-7"]);
        assert_eq!((service.jobs, service.jobs_per_proposer), (64, 48));
        assert_eq!((service.database, service.policy), (None, None));
        let other = load("[service]\ndatabase = \"postgres://me:secret@db/x\"\n").unwrap();
        assert!(!format!("{other:?}").contains("secret"));
    }

    #[test]
    fn stock_has_targets() {
        let stock = |text: &str| load(&format!("[service]\n[[service.stock]]\n{text}\n"));
        let read = stock(
            "protocol = \"three\"\nvariant = \"on-demand\"\nands = \"100M\"\nsecurity = 50\nworkers = 2",
        )
        .unwrap();
        let [target] = &read.service.unwrap().stock[..] else {
            panic!("one target");
        };
        assert_eq!((target.ands, target.least), (100_000_000, 0));
        assert_eq!(target.kind.job(), super::TYPICAL_JOB);
        assert_eq!(
            (
                target.kind.protocol().security(),
                target.kind.protocol().workers()
            ),
            (50, 2)
        );
        for (text, part) in [
            ("ands = 5", "`protocol` is missing"),
            ("protocol = \"three\"", "`ands` is missing"),
            ("protocol = \"four\"\nands = 5", "there is no protocol"),
            ("protocol = \"three\"\nands = \"many\"", "give a whole number"),
            ("protocol = \"three\"\nands = 0", "from 1 to"),
            (
                "protocol = \"three\"\nvariant = \"on-demand\"\nands = 5\njob = 0",
                "has AND gates",
            ),
            (
                "protocol = \"three\"\nands = 5\ntarget = 5",
                "no setting `target`",
            ),
            (
                "protocol = \"three\"\nands = 5\ngarbler = 1",
                "a setting of protocols",
            ),
            (
                "protocol = \"authenticated\"\nands = 5\n[[service.stock]]\nprotocol = \"authenticated\"\nands = 6",
                "another table",
            ),
        ] {
            let text = stock(text).unwrap_err();
            assert!(text.contains(part) && text.contains("line 1"), "{part}: {text}");
        }
    }

    /// As files have it that were written when jobs without a variant took triples.
    #[test]
    fn a_table_for_which_nothing_is_made_is_left_out() {
        let text = "[service]\n[[service.stock]]\nprotocol = \"three\"\nands = \"4M\"\nleast = \"32K\"\n\
                    [[service.stock]]\nprotocol = \"authenticated\"\nands = \"4M\"\n";
        let stock = load(text).unwrap().service.unwrap().stock;
        let names: Vec<_> = stock.iter().map(|target| target.kind.protocol().name()).collect();
        assert_eq!(names, ["authenticated"]);
    }

    #[test]
    fn faults_have_their_line() {
        for (line, part) in [
            ("jobs = 0", "give a number from 1 to 1024"),
            ("names = [\"a\", \"b\"]", "a name for each of the 3 parties"),
            ("names = [\"a\", \"b\", \"a\"]", "another party has this name"),
            ("names = [\"a\", \"b\", \"c\\n\"]", "a party's name has"),
            ("http = \"8080\"", "an address is host:port"),
            ("http_names = [\"party.example:7180\"]", "a name of this machine"),
            ("http_names = [\"party..example\"]", "a name of this machine"),
            ("http_names = [\"\"]", "a name of this machine"),
            (
                "database = \"mysql://root:secret@db\"",
                "a database is \"sqlite\"",
            ),
            ("what = 1", "unknown field"),
        ] {
            let text = load(&format!("[service]\n{line}\n")).unwrap_err();
            assert!(text.contains(part) && text.contains("line 11"), "{line}: {text}");
            assert!(!text.contains("secret"), "{text}");
        }
    }
}
