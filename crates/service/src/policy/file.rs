//! Reading a policy, so that each complaint has its line and says what to write.

use std::collections::BTreeMap;
use std::ops::{Range, RangeInclusive};
use std::path::Path;

use serde::Deserialize;
use toml::Spanned;

use super::rule::{Allowed, Rule, RuleName, Verdict};
use super::{Fault, LEAST_SECURITY, MOST_UNSETTLED, Policy};
use crate::job::{Digest, MOST_TIMES};
use crate::words::steers;

/// Larger files are not policies.
const MAX_BYTES: u64 = 1 << 20;
/// Bytes of a rule's name, at most.
const NAME: usize = 64;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Form {
    otherwise: Option<Spanned<String>>,
    min_security: Option<Spanned<i64>>,
    max_unsettled: Option<Spanned<i64>>,
    #[serde(default)]
    rule: Vec<Spanned<RuleForm>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RuleForm {
    name: Option<Spanned<String>>,
    then: Option<Spanned<String>>,
    programs: Option<Spanned<Vec<Spanned<String>>>>,
    proposers: Option<Spanned<Vec<Spanned<String>>>>,
    receivers: Option<Spanned<Vec<Spanned<String>>>>,
    data: Option<Spanned<NamesForm>>,
    keeps: Option<Spanned<NamesForm>>,
    max_ands: Option<Spanned<i64>>,
    max_bytes: Option<Spanned<i64>>,
    max_jobs_an_hour: Option<Spanned<i64>>,
    disclosures: Option<Spanned<i64>>,
    calls: Option<Spanned<i64>>,
}

/// `"any"`, or names.
#[derive(Deserialize)]
#[serde(untagged, expecting = "this is a list of names, or \"any\"")]
enum NamesForm {
    Word(String),
    Names(Vec<String>),
}

struct PolicyText<'a> {
    file: String,
    text: &'a str,
    parties: &'a [String],
}

impl Policy {
    /// Reads the policy at `path`, in which parties are called by these names, in their order.
    ///
    /// # Errors
    /// The first fault, with its line.
    pub fn read(path: &Path, parties: &[String]) -> Result<Self, Fault> {
        let fault = |what: String| Fault {
            file: path.display().to_string(),
            line: None,
            what,
        };
        let length = std::fs::metadata(path)
            .map_err(|error| fault(format!("cannot be read: {error}; give a readable TOML file")))?
            .len();
        if length > MAX_BYTES {
            return Err(fault(format!(
                "it has {length} bytes; a policy has at most {MAX_BYTES}"
            )));
        }
        let text = std::fs::read_to_string(path)
            .map_err(|error| fault(format!("cannot be read: {error}; give a readable TOML file")))?;
        Self::parse(&path.display().to_string(), &text, parties)
    }

    /// Reads the `text` of a policy, which complaints call `file`.
    ///
    /// # Errors
    /// As for [`Policy::read`].
    pub fn parse(file: &str, text: &str, parties: &[String]) -> Result<Self, Fault> {
        let source = PolicyText {
            file: file.to_owned(),
            text,
            parties,
        };
        let form: Form = toml::from_str(text).map_err(|error| Fault {
            file: file.to_owned(),
            line: error.span().map(|span| source.line(&span)),
            what: error.message().to_owned(),
        })?;
        let otherwise = match form
            .otherwise
            .as_ref()
            .map(|text| (text.get_ref().as_str(), text.span()))
        {
            None | Some(("ask", _)) => Verdict::Ask,
            Some(("decline", _)) => Verdict::Decline,
            Some((_, span)) => {
                return Err(source.fault(
                    span,
                    "what no rule matches is not approved; write otherwise = \"ask\" or \"decline\"",
                ));
            }
        };
        let least_security =
            source.within(&form.min_security, 1..=128, "min_security is a number of bits")?;
        let most_unsettled =
            source.within(&form.max_unsettled, 1..=MOST_TIMES, "max_unsettled is a number")?;
        let mut names = BTreeMap::new();
        let mut rules = Vec::new();
        for form in &form.rule {
            let rule = source.rule(form)?;
            if let Some(first) = names.insert(rule.name.name.clone(), rule.name.line) {
                return Err(source.fault_at(
                    rule.name.line,
                    format!("the rule on line {first} has this name too; give each rule a name of its own"),
                ));
            }
            rules.push(rule);
        }
        Ok(Policy {
            rules,
            otherwise,
            least_security: least_security.map_or(LEAST_SECURITY, |bits| bits as u16),
            most_unsettled: most_unsettled.unwrap_or(MOST_UNSETTLED),
            digest: Digest::of(text.as_bytes()),
        })
    }
}

impl PolicyText<'_> {
    fn line(&self, span: &Range<usize>) -> usize {
        let before = self.text.get(..span.start).unwrap_or(self.text);
        before.matches('\n').count() + 1
    }

    fn fault(&self, span: Range<usize>, what: impl Into<String>) -> Fault {
        self.fault_at(self.line(&span), what)
    }

    fn fault_at(&self, line: usize, what: impl Into<String>) -> Fault {
        Fault {
            file: self.file.clone(),
            line: Some(line),
            what: what.into(),
        }
    }

    fn rule(&self, spanned: &Spanned<RuleForm>) -> Result<Rule, Fault> {
        let form = spanned.get_ref();
        let name = form.name.as_ref().ok_or_else(|| {
            self.fault(
                spanned.span(),
                "the rule has no name; write name = \"…\", by which its decisions are told",
            )
        })?;
        let text = name.get_ref();
        if text.is_empty() || text.len() > NAME || text.chars().any(steers) {
            return Err(self.fault(
                name.span(),
                format!("a rule's name has 1 to {NAME} bytes and no characters that steer a screen"),
            ));
        }
        let then = self.verdict(spanned)?;
        Ok(Rule {
            name: RuleName {
                name: text.clone(),
                line: self.line(&name.span()),
            },
            then,
            programs: self.list(form.programs.as_ref(), "programs", |text| {
                text.parse::<Digest>().map_err(|error| {
                    format!("this is no digest of a program: {error}, as job files and proposals show it")
                })
            })?,
            proposers: self.list(form.proposers.as_ref(), "proposers", |text| self.party(text))?,
            receivers: self.list(form.receivers.as_ref(), "receivers", |text| self.party(text))?,
            data: self.allowed(
                form.data.as_ref(),
                "data is a list of names of this party's data, or \"any\"",
            )?,
            keeps: self.allowed(
                form.keeps.as_ref(),
                "keeps is a list of names under which outputs may be kept, or \"any\"",
            )?,
            max_ands: self.count(form.max_ands.as_ref(), "max_ands")?,
            max_bytes: self.count(form.max_bytes.as_ref(), "max_bytes")?,
            max_jobs_an_hour: self.count(form.max_jobs_an_hour.as_ref(), "max_jobs_an_hour")?,
            disclosures: self.count(form.disclosures.as_ref(), "disclosures")?,
            calls: self.count(form.calls.as_ref(), "calls")?,
        })
    }

    /// What a rule does, which suits its conditions.
    fn verdict(&self, spanned: &Spanned<RuleForm>) -> Result<Verdict, Fault> {
        let form = spanned.get_ref();
        let verdict = form.then.as_ref().ok_or_else(|| {
            self.fault(
                spanned.span(),
                "the rule does not say what it does; write then = \"approve\", \"decline\" or \"ask\"",
            )
        })?;
        let then = match verdict.get_ref().as_str() {
            "approve" => Verdict::Approve,
            "decline" => Verdict::Decline,
            "ask" => Verdict::Ask,
            _ => return Err(self.fault(verdict.span(), "write then = \"approve\", \"decline\" or \"ask\"")),
        };
        for (key, limit) in [
            ("max_jobs_an_hour", &form.max_jobs_an_hour),
            ("disclosures", &form.disclosures),
            ("calls", &form.calls),
        ] {
            if let Some(limit) = limit
                && then != Verdict::Approve
            {
                return Err(self.fault(
                    limit.span(),
                    format!("{key} limits what is approved; remove it, or write then = \"approve\""),
                ));
            }
        }
        if let (Some(limit), None) = (&form.disclosures, &form.programs) {
            return Err(self.fault(
                limit.span(),
                "disclosures are counted for each program, and anybody can make another program; write programs = [\"…\"], with their digests",
            ));
        }
        if then == Verdict::Approve && form.programs.is_none() && form.data.is_none() {
            return Err(self.fault(
                verdict.span(),
                "a rule that approves says what it gives away: write programs = [\"…\"], with their digests, or data = [\"…\"], with the names of data \
                 that any program may be given, or data = \"any\"",
            ));
        }
        Ok(then)
    }

    /// A number in this range, where there is one.
    fn within(
        &self,
        number: &Option<Spanned<i64>>,
        range: RangeInclusive<u64>,
        what: &str,
    ) -> Result<Option<u64>, Fault> {
        let Some(number) = number else { return Ok(None) };
        let given = u64::try_from(*number.get_ref()).ok();
        match given.filter(|given| range.contains(given)) {
            Some(given) => Ok(Some(given)),
            None => {
                let (least, most) = range.into_inner();
                Err(self.fault(number.span(), format!("{what} from {least} to {most}")))
            }
        }
    }

    fn list<T>(
        &self,
        list: Option<&Spanned<Vec<Spanned<String>>>>,
        key: &str,
        read: impl Fn(&str) -> Result<T, String>,
    ) -> Result<Option<Vec<T>>, Fault> {
        let Some(list) = list else { return Ok(None) };
        if list.get_ref().is_empty() {
            return Err(self.fault(
                list.span(),
                format!("no proposal meets an empty list; name {key}, or remove the line to allow all"),
            ));
        }
        list.get_ref()
            .iter()
            .map(|item| read(item.get_ref()).map_err(|what| self.fault(item.span(), what)))
            .collect::<Result<Vec<T>, Fault>>()
            .map(Some)
    }

    fn allowed(&self, names: Option<&Spanned<NamesForm>>, what: &str) -> Result<Option<Allowed>, Fault> {
        names
            .map(|names| match names.get_ref() {
                NamesForm::Names(list) => Ok(Allowed::Only(list.clone())),
                NamesForm::Word(word) if word == "any" => Ok(Allowed::Any),
                NamesForm::Word(_) => Err(self.fault(names.span(), what)),
            })
            .transpose()
    }

    fn party(&self, text: &str) -> Result<u8, String> {
        self.parties
            .iter()
            .position(|name| name == text)
            .and_then(|place| u8::try_from(place).ok())
            .ok_or_else(|| {
                format!(
                    "no party has this name; write one of: {}",
                    self.parties.join(", ")
                )
            })
    }

    fn count(&self, count: Option<&Spanned<i64>>, key: &str) -> Result<Option<u64>, Fault> {
        count
            .map(|count| {
                u64::try_from(*count.get_ref())
                    .ok()
                    .filter(|count| *count > 0)
                    .ok_or_else(|| {
                        self.fault(
                            count.span(),
                            format!("{key} is a number from 1; to allow none, remove the rule"),
                        )
                    })
            })
            .transpose()
    }
}
