//! A job from a query: the declarations of exactly the tables that it names, as their owners have published them.

use std::fmt::Write as _;

use cenote_net::PartyId;
use cenote_query::{Answer, Count, Declared, Place, Query, Schema, TableName, meant, nearest, tables_named};
use cenote_session::Parties;
use cenote_tables::printable;

use super::own::{own_name, party_of};
use super::published::{Published, PublishedTable};
use super::words::quoted;
use crate::Protocol;

/// Tables that a complaint lists, at most.
const LISTED: usize = 20;

/// What a party is known to publish.
#[derive(Clone, Copy, Debug)]
pub struct Known<'a> {
    /// The party.
    pub party: u8,
    /// Its tables.
    pub published: &'a Published,
}

/// What a job is to be.
#[derive(Clone, Copy, Debug)]
pub struct Wanted<'a> {
    /// The query.
    pub sql: &'a str,
    /// The names of those who learn the answer.
    pub receivers: &'a [String],
    /// The protocol, if it is stated.
    pub protocol: Option<&'a str>,
    /// What the job is for, in a line.
    pub name: Option<&'a str>,
    /// Groups of fewer rows are left out; without it, as the rules of the tables want it.
    pub min_group: Option<u64>,
    /// The most rows of the answer; without it, all learn how many there are.
    pub max_rows: Option<u64>,
}

/// A job that was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Composed {
    /// The job file's text.
    pub job: String,
    /// Its tables.
    pub tables: Vec<ComposedTable>,
}

/// A table of a job that was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ComposedTable {
    /// The job's name of it.
    pub name: String,
    /// Whose it is.
    pub party: u8,
    /// Its name in the catalogue.
    pub published: String,
}

/// Why no job can be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what}")]
pub struct Unfit {
    /// Where in the query.
    pub place: Option<Place>,
    /// What is wrong, and what to write instead.
    pub what: String,
}

impl Unfit {
    fn new(what: impl Into<String>) -> Self {
        let what: String = what.into();
        Unfit {
            place: None,
            what: what.chars().map(printable).collect(),
        }
    }
}

impl From<cenote_query::Error> for Unfit {
    fn from(error: cenote_query::Error) -> Self {
        match error {
            cenote_query::Error::Query { at, what } => Unfit { place: at, what },
            other => Unfit::new(other.to_string()),
        }
    }
}

/// Makes a job of a query for party `me`, where the parties have these `names`, of what they are known to publish.
///
/// # Errors
/// [`Unfit`]: what is wrong with the query, with the place; that a table is not published, or by several parties.
pub fn compose(
    me: u8,
    names: &[String],
    known: &[Known<'_>],
    wanted: &Wanted<'_>,
) -> Result<Composed, Unfit> {
    let receivers = receivers(names, wanted.receivers)?;
    let protocol = wanted.protocol.map(|name| {
        Protocol::named(name).ok_or_else(|| {
            let names: Vec<&str> = Protocol::names().collect();
            Unfit::new(format!(
                "there is no protocol {name}; there are {}",
                names.join(", ")
            ))
        })
    });
    let protocol = protocol.transpose()?;
    let all = u8::try_from(names.len()).unwrap_or(u8::MAX);
    let mut found: Vec<(&PublishedTable, Declared)> = Vec::new();
    let without_tables = schema(all, Vec::new(), receivers, wanted, 0);
    tables_named(wanted.sql, without_tables, &mut |name| {
        let (party, table) = find(names, known, name)?;
        let mut declared = table.declared(party).map_err(|refused| refused.what)?;
        if name.has_party() {
            declared.name = format!("{}.{}", names[usize::from(party)], table.name);
        }
        found.push((table, declared.clone()));
        Ok(declared)
    })?;
    link(names, &mut found);
    let least = found
        .iter()
        .map(|(table, _)| table.limits.min_group())
        .max()
        .unwrap_or(0);
    let min_group = wanted.min_group.unwrap_or(least);
    let owners = found.iter().map(|(_, declared)| declared.party);
    let parties = owners
        .chain(receivers.iter())
        .fold(me.max(1), |most, party| most.max(party.0))
        + 1;
    let protocol = protocol.unwrap_or_else(|| Protocol::usual(parties));
    if protocol.parties() < parties {
        return Err(Unfit::new(format!(
            "protocol {} has {} parties, and {parties} take part here; leave it out, or name one for {parties}",
            protocol.name(),
            protocol.parties()
        )));
    }
    let tables: Vec<Declared> = found.iter().map(|(_, declared)| declared.clone()).collect();
    let schema = schema(protocol.parties(), tables, receivers, wanted, min_group);
    Query::new(wanted.sql, schema).map_err(|error| because_of_rules(error.into(), wanted, min_group))?;
    let job = text(wanted, protocol.name(), receivers, min_group, &found);
    let tables = found.into_iter().map(|(table, declared)| ComposedTable {
        name: declared.name,
        party: declared.party.0,
        published: table.name.clone(),
    });
    Ok(Composed {
        job,
        tables: tables.collect(),
    })
}

/// Says of a query that cannot have `min_group` who wants that.
fn because_of_rules(unfit: Unfit, wanted: &Wanted<'_>, min_group: u64) -> Unfit {
    match wanted.min_group.is_none() && min_group > 0 && unfit.what.contains("min_group") {
        true => Unfit {
            what: format!(
                "{} (the rules of its tables want min_group = {min_group})",
                unfit.what
            ),
            ..unfit
        },
        false => unfit,
    }
}

fn schema(
    parties: u8,
    tables: Vec<Declared>,
    receivers: Parties,
    wanted: &Wanted<'_>,
    min_group: u64,
) -> Schema {
    let most = |most: u64| Count::AtMost(usize::try_from(most).unwrap_or(usize::MAX));
    Schema {
        parties,
        tables,
        answer: Answer {
            to: receivers,
            count: wanted.max_rows.map_or(Count::Revealed, most),
            min_group,
        },
        max_join_rows: None,
        parameters: Vec::new(),
        secret_only: false,
    }
}

fn receivers(names: &[String], wanted: &[String]) -> Result<Parties, Unfit> {
    let mut receivers = Parties::NONE;
    for name in wanted {
        let party = (0..)
            .zip(names)
            .find(|(_, other)| *other == name)
            .ok_or_else(|| {
                let near = meant(&nearest(name, names.iter().map(String::as_str)));
                Unfit::new(format!(
                    "there is no party {name}{near}; the parties are {}",
                    names.join(", ")
                ))
            })?;
        receivers = receivers.with(PartyId(party.0));
    }
    match receivers == Parties::NONE {
        true => Err(Unfit::new(
            "nobody would learn the answer; name at least one receiver",
        )),
        false => Ok(receivers),
    }
}

/// The one published table that the query can mean.
fn find<'a>(
    names: &[String],
    known: &[Known<'a>],
    wanted: &TableName,
) -> Result<(u8, &'a PublishedTable), String> {
    let all = || {
        let tables = |known: &Known<'a>| {
            let (party, published) = (known.party, known.published);
            published.tables.iter().map(move |table| (party, table))
        };
        known.iter().flat_map(tables)
    };
    let of = |party: u8| names.get(usize::from(party)).map_or("", String::as_str);
    let full = |(party, table): (u8, &PublishedTable)| format!("{}.{}", word(of(party)), word(&table.name));
    let fitting: Vec<(u8, &PublishedTable)> = all()
        .filter(|(party, table)| wanted.can_mean(of(*party), &table.name))
        .collect();
    match fitting[..] {
        [one] => Ok(one),
        [] => {
            let near = nearest(wanted.name(), all().map(|(_, table)| table.name.as_str()));
            let mut listed: Vec<String> = all().map(full).collect();
            let more = listed.len().saturating_sub(LISTED);
            listed.truncate(LISTED);
            if more > 0 {
                listed.push(format!("{more} more"));
            }
            let published = match listed.is_empty() {
                true => "no party publishes any to this one".to_owned(),
                false => format!("there are {}", listed.join(", ")),
            };
            Err(format!(
                "no party publishes a table {wanted}{}; {published}",
                meant(&near)
            ))
        }
        ref several => {
            let several: Vec<String> = several.iter().map(|one| full(*one)).collect();
            Err(format!(
                "several parties publish a table {wanted}; write {}",
                several.join(" or ")
            ))
        }
    }
}

/// A name as SQL takes it.
fn word(name: &str) -> String {
    let mut letters = name.chars();
    let is_plain = letters
        .next()
        .is_some_and(|first| first.is_ascii_alphabetic() || first == '_')
        && letters.all(|letter| letter.is_ascii_alphanumeric() || letter == '_');
    match is_plain {
        true => name.to_owned(),
        false => format!("\"{name}\""),
    }
}

/// Tables that have the same rows as another one promise so if the other is in the job.
fn link(names: &[String], found: &mut [(&PublishedTable, Declared)]) {
    let called: Vec<(u8, String, String)> = found
        .iter()
        .map(|(table, declared)| (declared.party.0, table.name.clone(), declared.name.clone()))
        .collect();
    for (table, declared) in found {
        let Some(other) = &table.same_rows_as else {
            continue;
        };
        let is_meant = |(party, published, name): &&(u8, String, String)| {
            let owner = names.get(usize::from(*party));
            let is_owner = party_of(other).is_none_or(|named| owner.is_some_and(|owner| owner == named));
            *name != declared.name && published == own_name(other) && is_owner
        };
        let mut meant = called.iter().filter(is_meant);
        // The owner has promised this of one table.
        declared.same_rows_as = match (meant.next(), meant.next()) {
            (Some((_, _, name)), None) => Some(name.clone()),
            _ => None,
        };
    }
}

/// The text of the job file.
fn text(
    wanted: &Wanted<'_>,
    protocol: &str,
    receivers: Parties,
    min_group: u64,
    found: &[(&PublishedTable, Declared)],
) -> String {
    let mut text = String::new();
    if let Some(name) = wanted.name {
        let line: String = name
            .chars()
            .map(|letter| if letter.is_control() { ' ' } else { letter })
            .collect();
        let _ = writeln!(text, "# {}", line.trim());
    }
    let to: Vec<String> = receivers.iter().map(|party| party.0.to_string()).collect();
    let _ = writeln!(
        text,
        "protocol = {}\nquery = {}\n",
        quoted(protocol),
        query(wanted.sql)
    );
    let _ = writeln!(text, "[answer]\nto = [{}]", to.join(", "));
    let _ = match wanted.max_rows {
        Some(most) => writeln!(text, "max_rows = {most}"),
        None => writeln!(text, "count = \"revealed\""),
    };
    if min_group > 0 {
        let _ = writeln!(text, "min_group = {min_group}");
    }
    for (table, declared) in found {
        let same_rows = declared.same_rows_as.as_deref();
        let declaration = table.declaration(&declared.name, declared.party.0, same_rows);
        let _ = write!(text, "\n{declaration}");
    }
    text
}

/// The query as TOML has it: on lines of its own, if it can stand so.
fn query(sql: &str) -> String {
    let is_plain = |letter: char| !letter.is_control() || matches!(letter, '\n' | '\t');
    let sql = sql.trim_end();
    match sql.chars().all(is_plain) && !sql.contains('\\') && !sql.contains("\"\"\"") {
        true => format!("\"\"\"\n{sql}\n\"\"\""),
        false => quoted(sql),
    }
}
