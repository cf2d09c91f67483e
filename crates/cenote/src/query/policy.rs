//! What a party lets be asked of its tables: its policy, checked on the typed plan before anybody is met.

use std::fs::{File, OpenOptions};
use std::io::{Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use cenote_net::PartyId;
use cenote_query::{FlowKind, Query};
use serde::Deserialize;
use toml::Spanned;

use crate::settings_file::Source;
use crate::{Error, Result};

/// Seconds of a day.
const DAY: u64 = 86_400;

/// What is added to the name of a policy's file for the list of the answers of the last day.
const ANSWERS: &str = ".answers";

/// Most bytes of that list.
const MAX_LIST: u64 = 16 << 20;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Rules {
    #[serde(default, rename = "table")]
    tables: Vec<Spanned<Rule>>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Rule {
    name: String,
    /// Columns of which an answer may have sums and counts only.
    #[serde(default)]
    hidden: Vec<String>,
    /// Whether an answer may tell of groups only.
    #[serde(default)]
    aggregates_only: bool,
    /// The least `min_group` that a job must have.
    min_group: Option<u64>,
    /// How many queries a day may be asked of the table.
    answers_per_day: Option<u64>,
}

/// A party's policy.
#[derive(Debug)]
pub struct Policy {
    path: PathBuf,
    rules: Vec<Rule>,
}

impl Policy {
    /// Reads the policy at `path`.
    ///
    /// # Errors
    /// [`Error::Config`] with the line, if a key is missing, unknown or wrong.
    pub fn load(path: &Path) -> Result<Self> {
        let (file, source) = Source::read::<Rules>(path)?;
        let mut rules: Vec<Rule> = Vec::new();
        for rule in file.tables {
            if rules.iter().any(|other| other.name == rule.get_ref().name) {
                return Err(source.fault(rule.span(), format!("table {} comes twice", rule.get_ref().name)));
            }
            let rule_is_weak = !rule.get_ref().hidden.is_empty() && rule.get_ref().min_group.is_none();
            if rule_is_weak {
                let what = "with `hidden`, give `min_group` too: the sum of a single row is its value";
                return Err(source.fault(rule.span(), what));
            }
            rules.push(rule.into_inner());
        }
        Ok(Policy {
            path: path.to_owned(),
            rules,
        })
    }

    fn refused(&self, table: &str, what: &str) -> Error {
        Error::Usage(format!(
            "the policy {} does not let this be asked of table {table}: {what}",
            self.path.display()
        ))
    }

    /// Sees that `query` may be asked of the tables of `me`.
    ///
    /// # Errors
    /// [`Error::Usage`], which names the table and the rule.
    pub fn check(&self, me: PartyId, query: &Query) -> Result<()> {
        let schema = query.schema();
        let flows = query.flows();
        for at in query.tables() {
            let table = &schema.tables[at];
            if table.party != me {
                continue;
            }
            let refused = |what: &str| Err(self.refused(&table.name, what));
            let Some(rule) = self.rules.iter().find(|rule| rule.name == table.name) else {
                return refused("it is not named there");
            };
            if let Some(missing) = rule
                .hidden
                .iter()
                .find(|name| table.fields.iter().all(|field| field.name != **name))
            {
                return refused(&format!(
                    "`hidden` names {missing}, which the job does not declare"
                ));
            }
            for flow in flows.iter().filter(|flow| flow.table == at) {
                let column = &flow.column;
                let hidden = rule.hidden.iter().any(|name| name.eq_ignore_ascii_case(column));
                if hidden && flow.kind < FlowKind::Totals {
                    return refused(&format!(
                        "{column} is hidden, and the answer would tell of it by more than sums and counts"
                    ));
                }
                if rule.aggregates_only && flow.kind == FlowKind::Rows {
                    return refused(&format!(
                        "it may be told of by groups only, and the answer would tell of {column} in single rows"
                    ));
                }
            }
            if let Some(least) = rule.min_group.filter(|least| schema.answer.min_group < *least) {
                let found = schema.answer.min_group;
                return refused(&format!(
                    "`min_group` must be at least {least}, and the job has {found}"
                ));
            }
        }
        Ok(())
    }

    /// Counts `query` among the answers of today.
    ///
    /// # Errors
    /// [`Error::Usage`] if there have been as many as may be; [`Error::Local`] if the list cannot be kept.
    pub fn count(&self, me: PartyId, query: &Query) -> Result<()> {
        let schema = query.schema();
        let names: Vec<&str> = query
            .tables()
            .into_iter()
            .map(|at| &schema.tables[at])
            .filter(|table| table.party == me)
            .map(|table| table.name.as_str())
            .collect();
        let limited = |rule: &&Rule| rule.answers_per_day.is_some() && names.contains(&rule.name.as_str());
        let limited: Vec<&Rule> = self.rules.iter().filter(limited).collect();
        if limited.is_empty() {
            return Ok(());
        }
        let mut name = self.path.clone().into_os_string();
        name.push(ANSWERS);
        let failed = |error: std::io::Error| {
            let what = format!("keeping the list of answers {}", Path::new(&name).display());
            Error::local(what, error)
        };
        let mut list = opened(Path::new(&name)).map_err(failed)?;
        // Another process of this party may ask at the same moment.
        list.lock().map_err(failed)?;
        let now = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map_or(0, |since| since.as_secs());
        let mut kept = recent(&mut list, now).map_err(failed)?;
        for rule in limited {
            let most = rule.answers_per_day.unwrap_or(u64::MAX);
            let asked = kept.iter().filter(|(_, table)| *table == rule.name).count() as u64;
            if asked >= most {
                let what = format!("there have been {asked} queries within a day, and {most} may be");
                return Err(self.refused(&rule.name, &what));
            }
        }
        kept.extend(names.iter().map(|name| (now, (*name).to_owned())));
        let text: String = kept.iter().map(|(at, table)| format!("{at} {table}\n")).collect();
        rewrite(&mut list, &text).map_err(failed)
    }
}

/// The list of answers, which nobody else may read.
fn opened(path: &Path) -> std::io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        options.mode(0o600);
    }
    options.open(path)
}

/// The answers of the last day.
fn recent(list: &mut File, now: u64) -> std::io::Result<Vec<(u64, String)>> {
    let mut text = String::new();
    (&mut *list).take(MAX_LIST).read_to_string(&mut text)?;
    let entry = |line: &str| {
        let (at, table) = line.split_once(' ')?;
        Some((at.parse::<u64>().ok()?, table.to_owned()))
    };
    // Of a clock that was set back, what is in the future counts too.
    Ok(text
        .lines()
        .filter_map(entry)
        .filter(|(at, _)| at.saturating_add(DAY) > now)
        .collect())
}

fn rewrite(list: &mut File, text: &str) -> std::io::Result<()> {
    list.set_len(0)?;
    list.rewind()?;
    list.write_all(text.as_bytes())?;
    list.sync_all()
}

#[cfg(test)]
mod tests {
    use cenote_query::{Answer, Count, Declared, Schema};
    use cenote_session::Parties;
    use cenote_tables::Field;

    use super::*;

    fn query(sql: &str, min_group: u64) -> Query {
        let field = |name: &str, kind: &str| Field {
            name: name.into(),
            kind: kind.parse().unwrap(),
            nullable: false,
        };
        let table = |name: &str, party, fields| Declared {
            name: name.into(),
            party: PartyId(party),
            fields,
            max_rows: 10,
            unique: vec!["id".into()],
            at_most: [].into(),
            distinct: [].into(),
            same_rows_as: None,
        };
        let people = vec![field("id", "u32"), field("name", "char(8)"), field("age", "u8")];
        let loans = vec![field("id", "u32"), field("owed", "u32")];
        let schema = Schema {
            parties: 2,
            tables: vec![table("people", 0, people), table("loans", 1, loans)],
            answer: Answer {
                to: Parties::all(2),
                count: Count::AtMost(10),
                min_group,
            },
        };
        Query::new(sql, schema).unwrap()
    }

    fn policy(folder: &Path, text: &str) -> Policy {
        let path = folder.join("policy.toml");
        std::fs::write(&path, text).unwrap();
        Policy::load(&path).unwrap()
    }

    #[test]
    fn what_a_policy_forbids_is_refused_on_the_plan() {
        let folder = tempfile::tempdir().unwrap();
        let policy = policy(
            folder.path(),
            "[[table]]\nname = \"people\"\nmin_group = 0\nhidden = [\"name\", \"age\"]\n",
        );
        let told = |sql: &str| {
            policy
                .check(PartyId(0), &query(sql, 0))
                .map_err(|error| error.to_string())
        };
        for fine in [
            "SELECT people.id, owed FROM people JOIN loans USING (id)",
            "SELECT SUM(age), COUNT(*) FROM people JOIN loans USING (id) WHERE owed > 5",
            "SELECT COUNT(*) FROM people WHERE age > 18",
            "SELECT owed FROM loans",
        ] {
            assert_eq!(told(fine), Ok(()), "{fine}");
        }
        for refused in [
            "SELECT name FROM people",
            "SELECT n FROM (SELECT name AS n, id FROM people) p",
            "SELECT MAX(age) FROM people",
            "SELECT id FROM people WHERE age > 18",
            "SELECT id FROM people ORDER BY age LIMIT 1",
            "SELECT CASE WHEN age > 18 THEN 1 ELSE 0 END FROM people",
            "SELECT age, COUNT(*) FROM people GROUP BY age",
            "SELECT owed FROM loans LEFT JOIN people ON people.id = loans.id WHERE name IS NULL",
            "SELECT owed FROM people JOIN loans USING (id) WHERE age = owed",
            "SELECT loans.id FROM loans LEFT JOIN people ON people.id = loans.id AND people.age > 18 WHERE people.id IS NULL",
        ] {
            let error = told(refused).expect_err(refused);
            assert!(
                error.contains("policy.toml") && error.contains("is hidden"),
                "{error}"
            );
        }
        let weak = folder.path().join("weak.toml");
        std::fs::write(&weak, "[[table]]\nname = \"people\"\nhidden = [\"name\"]\n").unwrap();
        let error = Policy::load(&weak).unwrap_err().to_string();
        assert!(error.contains("give `min_group` too"), "{error}");
        // Another party's tables are none of its business, and its own that are not named may not be asked.
        assert!(
            policy
                .check(PartyId(1), &query("SELECT owed FROM loans", 0))
                .is_err()
        );
    }

    #[test]
    fn groups_must_be_large_and_alone() {
        let folder = tempfile::tempdir().unwrap();
        let policy = policy(
            folder.path(),
            "[[table]]\nname = \"loans\"\naggregates_only = true\nmin_group = 5\n",
        );
        let told = |sql: &str, least| {
            policy
                .check(PartyId(1), &query(sql, least))
                .map_err(|error| error.to_string())
        };
        assert_eq!(told("SELECT SUM(owed) FROM loans", 5), Ok(()));
        assert_eq!(told("SELECT owed, COUNT(*) FROM loans GROUP BY owed", 7), Ok(()));
        let small = told("SELECT SUM(owed) FROM loans", 4).unwrap_err();
        assert!(
            small.contains("`min_group` must be at least 5, and the job has 4"),
            "{small}"
        );
        let single = told("SELECT owed FROM loans", 0).unwrap_err();
        assert!(single.contains("by groups only"), "{single}");
    }

    #[test]
    fn answers_of_a_day_are_counted() {
        let folder = tempfile::tempdir().unwrap();
        let policy = policy(
            folder.path(),
            "[[table]]\nname = \"loans\"\nanswers_per_day = 2\n",
        );
        let query = query("SELECT owed FROM loans", 0);
        let ask = || {
            policy
                .count(PartyId(1), &query)
                .map_err(|error| error.to_string())
        };
        assert_eq!((ask(), ask()), (Ok(()), Ok(())));
        assert!(
            ask()
                .unwrap_err()
                .contains("2 queries within a day, and 2 may be")
        );
        assert_eq!(
            policy
                .count(PartyId(0), &query)
                .map_err(|error| error.to_string()),
            Ok(())
        );
        // A day later they may be asked again.
        let list = folder.path().join("policy.toml.answers");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            assert_eq!(
                std::fs::metadata(&list).unwrap().permissions().mode() & 0o777,
                0o600
            );
        }
        let old: String = std::fs::read_to_string(&list)
            .unwrap()
            .lines()
            .map(|line| {
                format!(
                    "{} loans\n",
                    line.split(' ').next().unwrap().parse::<u64>().unwrap() - DAY
                )
            })
            .collect();
        std::fs::write(&list, old).unwrap();
        assert_eq!(ask(), Ok(()));
    }
}
