//! What is told before a decision: what a job would take, what programs compute, and how a query differs from one that was approved.

use cenote::query::{Declared, Proposed, Word, words};
use cenote::{PartyId, Stated};
use cenote_service::job::{Job, Program, Source, Verdict};
use cenote_service::live::{
    AskedQuery, Compared, Computes, Input, OtherConstant, PlanFault, PlanStep, Planned, Weighed,
};
use cenote_service::{Error, Result};

use crate::compiled::{Compiled, QUERY, Work};
use crate::core::Core;

/// Jobs of the proposer that are looked through for one that was approved, at most.
const LOOKED_AT: usize = 2000;
/// Of which so many are read at once.
const PAGE: usize = 200;

impl Core {
    /// What a job of this text would take and reveal.
    ///
    /// # Errors
    /// Why it cannot be proposed here.
    pub(crate) fn plan(&self, job: &str) -> std::result::Result<Planned, PlanFault> {
        let compiled = self.proposals.planned(job)?;
        let (steps, learnt, levels) = match &compiled.work {
            Work::Query(query) => (query.steps(), query.learnt(), query.levels()),
            Work::Circuit { .. } => (Vec::new(), Vec::new(), None),
        };
        let steps = steps.into_iter().map(|step| PlanStep {
            depth: step.depth,
            what: step.what,
            owner: step.owner,
            rows: step.rows,
            ands: step.takes.and_gates,
        });
        let inputs = compiled.inputs.iter().map(|input| Input {
            name: input.name.clone(),
            kind: input.kind.clone(),
            owner: input.owner,
            data: None,
        });
        let (security, size, protocol) = (
            compiled.security(),
            compiled.estimate(),
            compiled.protocol().name(),
        );
        Ok(Planned {
            program_kind: compiled.named().kind,
            steps: steps.collect(),
            learnt,
            outputs: compiled.outputs(),
            inputs: inputs.collect(),
            protocol: protocol.into(),
            statistical: security.statistical,
            computational: security.computational,
            ands: size.ands,
            levels,
            bytes: size.bytes,
            memory: compiled.memory_at(self.me()),
            seconds: self.base.monitor.pace_of(protocol, size.bytes),
        })
    }

    /// What a program computes, in a line.
    pub(crate) fn computes(&self, program: &Program) -> Option<Computes> {
        Some(match &*self.base.programs.stated(program.digest)? {
            Stated::Query(sql) => Computes::new(sql, false),
            Stated::Library(name) => Computes::new(name, true),
            Stated::File(name) => Computes::new(name, false),
        })
    }

    /// What a person should weigh a job by.
    pub(crate) fn weigh(&self, job: &Job) -> Result<Weighed> {
        if job.proposal.program.kind != QUERY {
            return Ok(Weighed::default());
        }
        let compiled = self.base.programs.of_job(job)?;
        let (before, looked_through) = self.approved_before(job)?;
        let compared = before.map(|before| self.compare(job, &compiled, &before));
        Ok(Weighed {
            compared: compared.transpose()?,
            looked_through,
            allowance: self.allowance(job, &compiled)?,
        })
    }

    /// The latest query of the same proposer that this party has approved: one that is the same but for constants, if there is one. Beside it, how
    /// many jobs were looked through, if there are more.
    fn approved_before(&self, job: &Job) -> Result<(Option<Job>, Option<u64>)> {
        let asked = self.words_of(job);
        let me = usize::from(self.me());
        let is_approved = |other: &Job| {
            let decision = other.decisions.get(me).and_then(Option::as_ref);
            decision.is_some_and(|decision| decision.verdict == Verdict::Approve)
        };
        let (mut latest, mut before, mut looked) = (None, job.number, 0);
        while looked < LOOKED_AT {
            let page = self
                .base
                .jobs
                .of_proposer(job.proposal.proposer, before, PAGE as u16)?;
            looked += PAGE;
            for other in page.jobs {
                if other.proposal.program.kind != QUERY || !is_approved(&other) {
                    continue;
                }
                let words = self.words_of(&other);
                let pair = asked.as_deref().zip(words.as_deref());
                if pair.is_some_and(|(asked, before)| are_alike(asked, before)) {
                    return Ok((Some(other), None));
                }
                latest.get_or_insert(other);
            }
            match page.next {
                Some(next) => before = next,
                None => return Ok((latest, None)),
            }
        }
        Ok((latest, Some(looked as u64)))
    }

    fn words_of(&self, job: &Job) -> Option<Vec<Word>> {
        match &*self.base.programs.stated(job.proposal.program.digest)? {
            Stated::Query(sql) => words(sql),
            _ => None,
        }
    }

    fn compare(&self, job: &Job, compiled: &Compiled, before: &Job) -> Result<Compared> {
        let (asked, known) = (self.words_of(job), self.words_of(before));
        let pairs = asked.as_deref().zip(known.as_deref());
        let are_alike = pairs.is_some_and(|(asked, known)| are_alike(asked, known));
        let constants = match pairs.filter(|_| are_alike) {
            None => Vec::new(),
            Some((asked, known)) => {
                let others = asked
                    .iter()
                    .zip(known)
                    .filter(|(word, old)| word.is_constant && word.text != old.text);
                let told = others.map(|(word, old)| OtherConstant {
                    from: word.from as u64,
                    to: word.to as u64,
                    before: old.text.clone(),
                });
                told.collect()
            }
        };
        let mut differs = self.other_receivers(job, before);
        match self.base.programs.of_job(before) {
            Ok(known) => differs.extend(other_promises(compiled, &known)),
            Err(error) => differs.push(format!("What else differs cannot be told: {error}.")),
        }
        Ok(Compared {
            job: before.proposal.id.to_string(),
            same_but_for_constants: are_alike && differs.is_empty(),
            constants,
            differs,
        })
    }

    fn other_receivers(&self, job: &Job, before: &Job) -> Vec<String> {
        let names = |of: &Job, without: &Job| {
            let only = of.proposal.receivers.iter();
            let only = only.filter(|party| !without.proposal.receivers.contains(party));
            only.map(|party| self.base.peers.name(*party)).collect::<Vec<_>>()
        };
        let mut differs = Vec::new();
        match names(job, before) {
            new if !new.is_empty() => differs.push(format!("The answer goes also to {}.", new.join(", "))),
            _ => {}
        }
        match names(before, job) {
            gone if !gone.is_empty() => {
                differs.push(format!("The answer goes no more to {}.", gone.join(", ")));
            }
            _ => {}
        }
        if job.proposal.protocol != before.proposal.protocol {
            let (new, old) = (&job.proposal.protocol, &before.proposal.protocol);
            differs.push(format!("The protocol is {new}, and was {old}."));
        }
        let (new, old) = (
            job.proposal.security.statistical,
            before.proposal.security.statistical,
        );
        if new != old {
            differs.push(format!("The security is {new} bits, and was {old}."));
        }
        differs
    }

    /// How often this party's data may be asked yet.
    fn allowance(&self, job: &Job, compiled: &Compiled) -> Result<Vec<String>> {
        let mut told = Vec::new();
        let refused = |error: cenote::Error| Error::Approval(error.to_string());
        if let (Work::Query(query), Some(rules)) = (&compiled.work, self.base.data.rules_of_tables()?) {
            let me = PartyId(self.me());
            if let Err(error) = rules.check_job(me, query.job()) {
                return Ok(vec![format!("This party's rules do not allow it: {error}.")]);
            }
            for asked in rules.asked(me, query.job().query()).map_err(refused)? {
                let left = asked.most.saturating_sub(asked.asked);
                told.push(format!(
                    "Table {}: {} of {} answers of the last 24 hours are used; {left} are left.",
                    asked.table, asked.asked, asked.most
                ));
            }
        }
        let program = job.proposal.program.digest;
        let limits = self.base.policy.read().disclosures_of(&program);
        let binding = self
            .base
            .catalogues
            .usual_binding(&job.proposal, compiled)
            .unwrap_or_default();
        for bound in binding {
            let Source::Data(name) = bound.source else {
                continue;
            };
            let used = self.base.jobs.disclosures(program, name.clone())?;
            for (rule, most) in &limits {
                let left = most.saturating_sub(used);
                told.push(format!(
                    "Rule {rule}: {used} of {most} disclosures of this query on {name} are used; {left} are left."
                ));
            }
        }
        Ok(told)
    }
}

/// A query as its job asks it.
pub(crate) fn asked(compiled: &Compiled) -> Option<AskedQuery> {
    let Work::Query(query) = &compiled.work else {
        return None;
    };
    let answer = query.job().answer();
    Some(AskedQuery {
        sql: query.job().text().to_owned(),
        min_group: answer.0,
        max_rows: answer.1,
        learnt: query.learnt(),
    })
}

/// Whether two queries are the same but for constants.
fn are_alike(one: &[Word], other: &[Word]) -> bool {
    one.len() == other.len() && one.iter().zip(other).all(|(word, old)| word.is_like(old))
}

/// What differs in columns, tables and groups.
fn other_promises(compiled: &Compiled, known: &Compiled) -> Vec<String> {
    let mut differs = Vec::new();
    let columns = |of: &Compiled| of.outputs().into_iter().map(|output| output.name).collect();
    let tables = |of: &Compiled| {
        let told = of
            .inputs
            .iter()
            .map(|input| format!("{} ({})", input.name, input.kind));
        told.collect()
    };
    let lists: [(&str, Vec<String>, Vec<String>); 2] = [
        ("column", columns(compiled), columns(known)),
        ("table", tables(compiled), tables(known)),
    ];
    for (what, new, old) in lists {
        let only = |of: &[String], without: &[String]| {
            let only = of.iter().filter(|name| !without.contains(name));
            only.cloned().collect::<Vec<_>>()
        };
        for (begin, only) in [("New", only(&new, &old)), ("Left out", only(&old, &new))] {
            if !only.is_empty() {
                let s = if only.len() == 1 { "" } else { "s" };
                differs.push(format!("{begin}: {what}{s} {}.", only.join(", ")));
            }
        }
    }
    let (Work::Query(new), Work::Query(old)) = (&compiled.work, &known.work) else {
        return differs;
    };
    differs.extend(other_tables(new, old));
    let ((new_group, new_most), (old_group, old_most)) = (new.job().answer(), old.job().answer());
    if new_group != old_group {
        differs.push(format!(
            "Groups of fewer than {new_group} rows are left out, and before those of fewer than {old_group}."
        ));
    }
    let bound = |most: Option<u64>| most.map_or("no bound".into(), |most| most.to_string());
    let (schema, before) = (new.job().query().schema(), old.job().query().schema());
    let joined = |most: Option<usize>| bound(most.map(|most| most as u64));
    let yes = |is: bool| if is { "yes" } else { "no" }.to_owned();
    let cut = |query: &Proposed| query.in_shards().unwrap_or_else(|| "not cut".into());
    let settings = [
        ("The most rows of the answer", bound(new_most), bound(old_most)),
        (
            "The most rows of a join",
            joined(schema.max_join_rows),
            joined(before.max_join_rows),
        ),
        (
            "Owners compute nothing on their own rows",
            yes(schema.secret_only),
            yes(before.secret_only),
        ),
        ("Shards", cut(new), cut(old)),
    ];
    for (what, new, old) in settings {
        if new != old {
            differs.push(format!("{what}: {new}; before: {old}."));
        }
    }
    if differs.is_empty() {
        let (learnt, before) = (new.learnt(), old.learnt());
        let only = learnt.iter().filter(|sentence| !before.contains(sentence));
        differs.extend(only.map(|sentence| format!("New: {sentence}")));
        let gone = before.iter().filter(|sentence| !learnt.contains(sentence));
        differs.extend(gone.map(|sentence| format!("Said no more: {sentence}")));
    }
    differs
}

/// What differs in tables that both queries have.
fn other_tables(new: &Proposed, old: &Proposed) -> Vec<String> {
    let mut differs = Vec::new();
    let before = &old.job().query().schema().tables;
    for table in &new.job().query().schema().tables {
        let Some(before) = before.iter().find(|one| one.name == table.name) else {
            continue;
        };
        let name = &table.name;
        if table.party != before.party {
            differs.push(format!(
                "Table {name} is of {}, and was of {}.",
                table.party, before.party
            ));
        }
        let (facts, known) = (facts(table), facts(before));
        let only = |of: &[String], without: &[String]| {
            let only = of.iter().filter(|fact| !without.contains(fact));
            only.cloned().collect::<Vec<_>>().join("; ")
        };
        let (gained, lost) = (only(&facts, &known), only(&known, &facts));
        if !gained.is_empty() {
            differs.push(format!("New in table {name}: {gained}."));
        }
        if !lost.is_empty() {
            differs.push(format!("Left out of table {name}: {lost}."));
        }
        if gained.is_empty() && lost.is_empty() && facts != known {
            differs.push(format!(
                "The columns or promises of table {name} are in another order."
            ));
        }
    }
    differs
}

/// Columns and promises of a table, one each. Its name, owner and size are told elsewhere.
fn facts(table: &Declared) -> Vec<String> {
    let Declared {
        name: _,
        party: _,
        max_rows: _,
        fields,
        unique,
        at_most,
        distinct,
        below,
        values,
        same_rows_as,
    } = table;
    let mut told: Vec<String> = Vec::new();
    told.extend(fields.iter().map(|one| {
        let null = if one.nullable { "" } else { " not null" };
        format!("column {} {}{null}", one.name, one.kind)
    }));
    told.extend(
        unique
            .iter()
            .map(|columns| format!("unique {}", columns.join(", "))),
    );
    told.extend(
        at_most
            .iter()
            .map(|(column, most)| format!("a value comes at most {most} times in {column}")),
    );
    told.extend(
        distinct
            .iter()
            .map(|(column, most)| format!("at most {most} different values of {column}")),
    );
    told.extend(
        below
            .iter()
            .map(|(column, end)| format!("{column} less than {end}")),
    );
    told.extend(
        values
            .iter()
            .map(|(column, all)| format!("{column} is one of {all:?}")),
    );
    told.extend(
        same_rows_as
            .iter()
            .map(|other| format!("the same rows as {other}")),
    );
    told
}
