//! What a party lets be asked of its tables: its policy, checked on the typed plan before anybody is met.

use std::path::{Path, PathBuf};

use cenote_net::PartyId;
use cenote_query::{Declared, FlowKind, Query};
use cenote_tables::Field;
use serde::Deserialize;
use toml::Spanned;

use super::answers::{Answers, Limit};
use super::file::QueryJob;
use crate::catalogue::{Limits, TableRule, own_name};
use crate::settings_file::SettingsFile;
use crate::{Error, Result};

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
    /// The data that it is for. Without it, the data that usually goes with the table, or what is posted.
    data: Option<Vec<String>>,
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

/// How many queries were asked of a table within a day, and how many may be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AskedToday {
    /// The table.
    pub table: String,
    /// How many were asked.
    pub asked: u64,
    /// How many may be.
    pub most: u64,
}

impl Policy {
    /// Reads the policy at `path`.
    ///
    /// # Errors
    /// [`Error::Config`] with the line, if a key is missing, unknown or wrong.
    pub fn load(path: &Path) -> Result<Self> {
        let (file, source) = SettingsFile::read::<Rules>(path)?;
        let mut rules: Vec<Rule> = Vec::new();
        for rule in file.tables {
            if rules.iter().any(|other| other.name == rule.get_ref().name) {
                return Err(source.fault(rule.span(), format!("table {} comes twice", rule.get_ref().name)));
            }
            if rule.get_ref().name.contains(char::is_control) {
                return Err(source.fault(rule.span(), "a name has no control characters"));
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

    fn rule(&self, table: &str) -> Result<&Rule> {
        self.known(table)
            .ok_or_else(|| self.refused(table, "it is not named there"))
    }

    /// Whether there is a rule for a table of just this name.
    pub fn names(&self, table: &str) -> bool {
        self.rules.iter().any(|rule| rule.name == table)
    }

    /// The rule for a table. A job may put the name of its party before that of the table.
    fn known(&self, table: &str) -> Option<&Rule> {
        let named = |name: &str| self.rules.iter().find(|rule| rule.name == name);
        named(table).or_else(|| named(own_name(table)))
    }

    /// What a party with this policy, or without one, lets be asked of a table.
    pub(crate) fn limits(policy: Option<&Policy>, table: &str) -> Limits {
        let Some(policy) = policy else {
            return Limits::Free;
        };
        policy.known(table).map_or(Limits::Closed, |rule| {
            Limits::Rule(TableRule {
                min_group: rule.min_group.unwrap_or(0),
                hidden: rule.hidden.clone(),
                aggregates_only: rule.aggregates_only,
                answers_per_day: rule.answers_per_day,
            })
        })
    }

    /// The columns that the rule of a table hides and that are not among these; nothing if there is no rule.
    pub(crate) fn hidden_besides(&self, table: &str, fields: &[Field]) -> Option<Vec<&str>> {
        let rule = self.known(table)?;
        let is_besides = |name: &&String| fields.iter().all(|field| field.name != **name);
        Some(
            rule.hidden
                .iter()
                .filter(is_besides)
                .map(String::as_str)
                .collect(),
        )
    }

    /// Sees that `query` may be asked of the tables of `me`: of all that the job declares, since all are bound to data and read.
    ///
    /// # Errors
    /// [`Error::Usage`], which names the table and the rule.
    fn check(&self, me: PartyId, query: &Query) -> Result<()> {
        let schema = query.schema();
        let flows = query.flows();
        for (at, table) in schema.tables.iter().enumerate() {
            if table.party != me {
                continue;
            }
            let refused = |what: &str| Err(self.refused(&table.name, what));
            let rule = self.rule(&table.name)?;
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

    /// Sees that the rule of a table is for the data that stands for it: `data` by its name, where the one called `usual` goes with the table if
    /// nobody chooses; without a name, what is posted.
    ///
    /// # Errors
    /// [`Error::Usage`], which names the table and the data.
    pub fn check_data(&self, table: &str, data: Option<&str>, usual: Option<&str>) -> Result<()> {
        let named = match (&self.rule(table)?.data, data) {
            (Some(names), Some(data)) => names.iter().any(|name| name == data),
            (Some(_), None) => false,
            (None, data) => data.is_none_or(|data| usual == Some(data)),
        };
        if named {
            return Ok(());
        }
        let what = match data {
            Some(data) => format!("its rule is not for the data {data:?}; name it under `data`"),
            None => "its rule is for the data that it names, and not for what is posted".into(),
        };
        Err(self.refused(table, &what))
    }

    /// Sees that `job` may ask `me` for what it does, cut as it is.
    ///
    /// # Errors
    /// [`Error::Usage`], which names the table and the rule; where another party's table is whole in all shards, and one of `me` is not.
    pub fn check_job(&self, me: PartyId, job: &QueryJob) -> Result<()> {
        self.check(me, job.query())?;
        let in_shards = job.in_shards();
        match in_shards.and_then(|in_shards| in_shards.cut.varies_beside(me)) {
            None => Ok(()),
            Some(table) => Err(Error::Usage(format!(
                "the job is cut so that every shard has all of table {table}, whose owner could give other rows in each, and learn of single rows of this party; with a policy, \
                 take part in jobs only whose tables are all cut by a key, or leave `shards` out"
            ))),
        }
    }

    /// Sees the same of a file that the party's own job names for a table, if the rule says for which data it is.
    pub(super) fn check_file(&self, table: &Declared, file: Option<&Path>) -> Result<()> {
        if self.rule(&table.name)?.data.is_none() {
            return Ok(());
        }
        let name = file.and_then(Path::file_name).and_then(|name| name.to_str());
        self.check_data(&table.name, name.or(Some("")), None)
    }

    /// How many queries were asked within a day of each table of `me` in `query` of which only so many may be. Nothing is counted.
    ///
    /// # Errors
    /// [`Error::Usage`] where a table is not named; [`Error::Local`] or [`Error::Data`] if the list cannot be read.
    pub fn asked(&self, me: PartyId, query: &Query) -> Result<Vec<AskedToday>> {
        let limits = self.daily_limits(me, query)?;
        if limits.is_empty() {
            return Ok(Vec::new());
        }
        let counts = Answers::beside(&self.path).counted(&limits)?;
        let told = limits.iter().zip(counts).map(|(limit, asked)| AskedToday {
            table: limit.table.to_owned(),
            asked,
            most: limit.most,
        });
        Ok(told.collect())
    }

    /// The tables of `me` in `query` of which only so many queries may be asked within a day.
    fn daily_limits(&self, me: PartyId, query: &Query) -> Result<Vec<Limit<'_>>> {
        let own = query.schema().tables.iter().filter(|table| table.party == me);
        let mut limits = Vec::new();
        for table in own {
            let rule = self.rule(&table.name)?;
            if let Some(most) = rule.answers_per_day {
                limits.push(Limit {
                    table: &rule.name,
                    most,
                });
            }
        }
        Ok(limits)
    }

    /// Counts `query` among the answers of today: once for each table of `me`, and once for each `job` of a service.
    ///
    /// # Errors
    /// [`Error::Usage`] if there have been as many as may be; [`Error::Local`] or [`Error::Data`] if the list cannot be kept.
    pub fn count(&self, me: PartyId, query: &Query, job: Option<&str>) -> Result<()> {
        let limits = self.daily_limits(me, query)?;
        if limits.is_empty() {
            return Ok(());
        }
        match Answers::beside(&self.path).count(&limits, job)? {
            Ok(()) => Ok(()),
            Err((limit, asked)) => {
                let most = limit.most;
                let what = format!("there have been {asked} queries within a day, and {most} may be");
                Err(self.refused(limit.table, &what))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use cenote_query::{Answer, Count, Declared, Schema};
    use cenote_session::Parties;
    use cenote_tables::Field;

    use super::*;

    /// A query over `people` of party 0 and `loans` of party 1.
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
            unique: vec![vec!["id".into()]],
            at_most: [].into(),
            distinct: [].into(),
            below: [].into(),
            values: [].into(),
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
            max_join_rows: None,
            parameters: Vec::new(),
            secret_only: false,
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
            "[[table]]\nname = \"loans\"\nanswers_per_day = 2\n[[table]]\nname = \"people\"\n",
        );
        let query = query("SELECT owed FROM loans", 0);
        let ask = |party: u8, job: Option<&str>| {
            policy
                .count(PartyId(party), &query, job)
                .map_err(|error| error.to_string())
        };
        assert_eq!((ask(1, None), ask(1, Some("job"))), (Ok(()), Ok(())));
        let told = ask(1, None).unwrap_err();
        assert!(told.contains("2 queries within a day, and 2 may be"), "{told}");
        assert_eq!(ask(1, Some("job")), Ok(()), "it is counted already");
        assert_eq!(ask(0, None), Ok(()));
    }

    /// All tables that a job declares are bound to data, read and checked, whether it asks for them or not.
    #[test]
    fn tables_that_are_declared_and_not_asked_are_guarded_and_counted() {
        let folder = tempfile::tempdir().unwrap();
        let query = query("SELECT owed FROM loans", 0);
        let told = |text: &str| {
            let policy = policy(folder.path(), text);
            let checked = policy.check(PartyId(0), &query);
            checked
                .and_then(|()| policy.count(PartyId(0), &query, None))
                .map_err(|error| error.to_string())
        };
        let unnamed = told("").unwrap_err();
        assert!(unnamed.contains("table people: it is not named"), "{unnamed}");
        let groups = told("[[table]]\nname = \"people\"\nmin_group = 5\n").unwrap_err();
        assert!(groups.contains("`min_group` must be at least 5"), "{groups}");
        let counted = "[[table]]\nname = \"people\"\nanswers_per_day = 1\n";
        assert_eq!(told(counted), Ok(()));
        assert!(told(counted).unwrap_err().contains("1 queries within a day"));
    }

    #[test]
    fn a_rule_is_for_its_own_data() {
        let folder = tempfile::tempdir().unwrap();
        let policy = policy(
            folder.path(),
            "[[table]]\nname = \"loans\"\n[[table]]\nname = \"people\"\ndata = [\"people-2026.csv\"]\n",
        );
        let told = |table: &str, data| {
            let usual = format!("{table}.csv");
            let checked = policy.check_data(table, data, Some(&usual));
            checked.map_err(|error| error.to_string())
        };
        assert_eq!(told("loans", Some("loans.csv")), Ok(()));
        assert_eq!(told("loans", None), Ok(()));
        assert_eq!(told("people", Some("people-2026.csv")), Ok(()));
        let error = told("loans", Some("salaries.csv")).unwrap_err();
        assert!(
            error.contains("table loans") && error.contains("\"salaries.csv\""),
            "{error}"
        );
        assert!(told("people", Some("people.csv")).is_err());
        assert!(told("people", None).unwrap_err().contains("posted"));
        assert!(
            told("salaries", Some("salaries.csv"))
                .unwrap_err()
                .contains("not named")
        );
    }
}
