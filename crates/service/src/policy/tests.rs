//! What rules decide, and how a policy with a fault is told of.

use super::*;
use crate::Result;
use crate::job::{Keep, Proposal, Unsettled};
use crate::testing::proposal;

const SIZE: Size = Size {
    ands: 1000,
    bytes: 500,
};

fn parties() -> Vec<String> {
    ["acme", "bank", "clinic"].map(String::from).to_vec()
}

fn policy(text: &str) -> Policy {
    Policy::parse("policy.toml", text, &parties()).expect("a policy")
}

#[derive(Default)]
struct Counts {
    approved: u64,
    disclosed: u64,
    unsettled: Vec<Unsettled>,
}

impl Past for Counts {
    fn approved_within_an_hour(&mut self, _rule: &str) -> Result<u64> {
        Ok(self.approved)
    }

    fn most_disclosures(&mut self, _program: &Digest) -> Result<u64> {
        Ok(self.disclosed)
    }

    fn data(&self) -> Vec<String> {
        vec!["cards".into()]
    }

    fn unsettled(&mut self) -> Result<Vec<Unsettled>> {
        Ok(self.unsettled.clone())
    }
}

fn rule(policy: &Policy, proposal: &Proposal, size: Size) -> Ruling {
    let mut past = Counts {
        approved: 4,
        disclosed: 2,
        ..Counts::default()
    };
    policy.rule(proposal, size, &mut past).expect("ruled")
}

/// Whether a rule with this condition approves the usual proposal.
fn holds(condition: &str) -> bool {
    let any = match condition.contains("data") {
        true => "",
        false => "data = \"any\"",
    };
    let text = format!("[[rule]]\nname = \"r\"\nthen = \"approve\"\n{condition}\n{any}\n");
    rule(&policy(&text), &proposal(1), SIZE).verdict == Verdict::Approve
}

fn keeping() -> Proposal {
    let mut proposal = proposal(1);
    proposal.receivers.clear();
    proposal.keeps.push(Keep {
        output: "z".into(),
        name: "sum".into(),
        kind: "u8".into(),
        days: 1,
    });
    proposal
}

#[test]
fn what_is_kept_may_be_opened_to_anybody_later() {
    let keeps = |condition: &str| {
        let text = format!("[[rule]]\nname = \"r\"\nthen = \"approve\"\ndata = \"any\"\n{condition}\n");
        rule(&policy(&text), &keeping(), SIZE).verdict == Verdict::Approve
    };
    assert!(!keeps(""), "nobody learns it, for now");
    assert!(!keeps("receivers = [\"acme\"]"));
    assert!(keeps(&format!("programs = [\"{}\"]", Digest::of(b"program"))));
    assert!(keeps("receivers = [\"acme\"]\nkeeps = [\"sum\"]"));
    assert!(keeps("receivers = [\"acme\"]\nkeeps = \"any\""));
    assert!(!keeps("keeps = [\"other\"]"));
    assert!(!keeps("keeps = []"));
    // A rule that declines is not got round by keeping something besides.
    for then in ["decline", "ask"] {
        let rules = "[[rule]]\nname = \"not them\"\nproposers = [\"acme\", \"bank\", \"clinic\"]\n"
            .to_owned()
            + &format!("receivers = [\"acme\", \"bank\"]\nthen = \"{then}\"\n")
            + "[[rule]]\nname = \"all\"\ndata = \"any\"\nkeeps = \"any\"\nthen = \"approve\"\n";
        let ruling = rule(&policy(&rules), &keeping(), SIZE);
        assert_eq!(ruling.rule.expect("a rule").name, "not them");
    }
    // Of a job that keeps nothing this says nothing.
    assert!(holds("keeps = []"));
}

#[test]
fn each_condition_decides() {
    let right = Digest::of(b"program");
    let wrong = Digest::of(b"another");
    assert!(holds(""));
    assert!(holds(&format!("programs = [\"{wrong}\", \"{right}\"]")));
    assert!(!holds(&format!("programs = [\"{wrong}\"]")));
    assert!(holds("proposers = [\"bank\", \"acme\"]"));
    assert!(!holds("proposers = [\"bank\", \"clinic\"]"));
    assert!(holds("receivers = [\"bank\", \"acme\"]"));
    assert!(holds("receivers = [\"clinic\", \"bank\", \"acme\"]"));
    // Party 1 would learn outputs too.
    assert!(!holds("receivers = [\"acme\"]"));
    assert!(holds("data = [\"shops\", \"cards\"]"));
    assert!(!holds("data = [\"shops\"]"));
    assert!(!holds("data = []"));
    for (key, limit) in [("max_ands", 1000), ("max_bytes", 500)] {
        assert!(holds(&format!("{key} = {limit}")), "{key}");
        assert!(!holds(&format!("{key} = {}", limit - 1)), "{key}");
    }
    assert!(holds("max_jobs_an_hour = 5"));
    assert!(!holds("max_jobs_an_hour = 4"));
    let programs = format!("programs = [\"{right}\"]\n");
    assert!(holds(&format!("{programs}disclosures = 3")));
    assert!(!holds(&format!("{programs}disclosures = 2")));
    // The proposer's estimate is not what is looked at.
    let text = "[[rule]]\nname = \"r\"\nthen = \"approve\"\ndata = \"any\"\nmax_ands = 999";
    let mut small = proposal(1);
    small.estimate.ands = 1;
    assert_eq!(rule(&policy(text), &small, SIZE).verdict, Verdict::Ask);
}

#[test]
fn a_rule_that_fits_but_for_the_program_says_so() {
    let other = Digest::of(b"another");
    let reason = |more: &str| {
        let text = format!(
            "[[rule]]\nname = \"r\"\nthen = \"approve\"\ndata = \"any\"\nprograms = [\"{other}\"]\n{more}"
        );
        rule(&policy(&text), &proposal(1), SIZE).reason
    };
    let near = reason("max_jobs_an_hour = 1");
    let digest = proposal(1).program.digest;
    let told = format!("fits in all else: it does not name {digest}");
    assert!(near.contains(&told), "{near}");
    for far in [
        "proposers = [\"clinic\"]",
        "receivers = [\"acme\"]",
        "max_ands = 999",
    ] {
        let reason = reason(far);
        assert!(
            reason.contains("is for other programs") && !reason.contains("fits"),
            "{reason}"
        );
    }
}

#[test]
fn the_first_rule_that_matches_decides_and_is_named() {
    let policy = policy(
        "otherwise = \"decline\"\n\n[[rule]]\nname = \"large\"\nproposers = [\"bank\"]\nthen = \"decline\"\n\n\
         [[rule]]\nname = \"small\"\nmax_ands = 2000\ndata = \"any\"\nthen = \"approve\"\n\n[[rule]]\nname = \"rest\"\nmax_ands = 3000\nthen = \"ask\"\n",
    );
    let ruling = rule(&policy, &proposal(1), SIZE);
    assert_eq!(ruling.reason, "rule \"small\" (line 9) approves");
    let small = RuleName {
        name: "small".into(),
        line: 9,
    };
    assert_eq!((ruling.verdict, ruling.rule), (Verdict::Approve, Some(small)));
    let larger = Size { ands: 2001, bytes: 0 };
    let ruling = rule(&policy, &proposal(1), larger);
    assert_eq!(ruling.reason, "rule \"rest\" (line 15) leaves it to a person");
    let mut of_bank = proposal(1);
    of_bank.proposer = 1;
    let ruling = rule(&policy, &of_bank, SIZE);
    assert_eq!(
        (ruling.verdict, ruling.reason.as_str()),
        (Verdict::Decline, "rule \"large\" (line 4) declines")
    );
    let largest = Size { ands: 3001, bytes: 0 };
    let ruling = rule(&policy, &proposal(1), largest);
    assert_eq!((ruling.verdict, ruling.rule), (Verdict::Decline, None));
    assert_eq!(
        ruling.reason,
        "no rule matches, so that it is declined; rule \"large\" (line 4) is for other proposers; rule \"small\" (line 9) is for at most \
         2000 AND gates, and the job has 3001; rule \"rest\" (line 15) is for at most 3000 AND gates, and the job has 3001"
    );
}

#[test]
fn without_rules_a_person_decides() {
    for policy in [Policy::ask(), policy("")] {
        let ruling = rule(&policy, &proposal(1), SIZE);
        assert_eq!((ruling.verdict, ruling.rule), (Verdict::Ask, None));
        assert_eq!(ruling.reason, "no rule matches, so that a person decides");
    }
}

/// Whatever rules say, and whether or not there are any.
#[test]
fn too_little_security_is_declined() {
    let mut weak = proposal(1);
    weak.security.statistical = 39;
    let all = "[[rule]]\nname = \"r\"\ndata = \"any\"\nthen = \"approve\"";
    for policy in [Policy::ask(), policy(all)] {
        let ruling = rule(&policy, &weak, SIZE);
        assert_eq!((ruling.verdict, ruling.rule), (Verdict::Decline, None));
        assert!(
            ruling.reason.contains("39 bits") && ruling.reason.contains("40 at least"),
            "{}",
            ruling.reason
        );
    }
    let lower = policy(&format!("min_security = 39\n{all}"));
    assert_eq!(rule(&lower, &weak, SIZE).verdict, Verdict::Approve);
}

#[test]
fn faults_name_the_line_and_what_to_write() {
    let good = format!("programs = [\"{}\"]", Digest::of(b"program"));
    let rule = |lines: &str| {
        format!("# a policy\n[[rule]]\nname = \"r\"\nthen = \"approve\"\n{lines}\ndata = \"any\"\n")
    };
    let cases = [
        (
            "otherwise = \"approve\"".to_owned(),
            1,
            "write otherwise = \"ask\" or \"decline\"",
        ),
        ("rule = 1".to_owned(), 1, "invalid type"),
        ("[[rule]\n".to_owned(), 1, ""),
        (rule("maximum = 1"), 5, "unknown field `maximum`"),
        (rule("max_ands = \"many\""), 5, "invalid type"),
        (rule("max_ands = 0"), 5, "max_ands is a number from 1"),
        (rule("max_bytes = -1"), 5, "max_bytes is a number from 1"),
        (rule("proposers = []"), 5, "remove the line to allow all"),
        (
            rule("proposers = [\n\"acme\",\n\"dentist\"]"),
            7,
            "write one of: acme, bank, clinic",
        ),
        (
            rule("receivers = [\"Acme\"]"),
            5,
            "write one of: acme, bank, clinic",
        ),
        (rule("programs = [\"12ab\"]"), 5, "64 of the digits 0-9 and a-f"),
        (rule("disclosures = 3"), 5, "write programs = [\"…\"]"),
        (
            rule(&format!("{good}\ndisclosures = 0")),
            6,
            "disclosures is a number from 1",
        ),
        ("[[rule]]\nthen = \"ask\"".to_owned(), 1, "write name = \"…\""),
        (
            "\n[[rule]]\nname = \"r\"".to_owned(),
            2,
            "write then = \"approve\"",
        ),
        (
            "[[rule]]\nname = \"r\"\nthen = \"yes\"".to_owned(),
            3,
            "\"decline\" or \"ask\"",
        ),
        (
            "[[rule]]\nname = \"\"\nthen = \"ask\"".to_owned(),
            2,
            "1 to 64 bytes",
        ),
        (
            "[[rule]]\nname = \"r\"\nthen = \"decline\"\nmax_jobs_an_hour = 1".to_owned(),
            4,
            "max_jobs_an_hour limits what is approved",
        ),
        (
            format!("{0}{0}", rule("")),
            9,
            "the rule on line 3 has this name too",
        ),
        (rule("").replace("any", "all"), 6, "or \"any\""),
        (
            "[[rule]]\nname = \"r\"\nthen = \"approve\"".to_owned(),
            3,
            "or data = [\"…\"]",
        ),
        ("min_security = 0".to_owned(), 1, "from 1 to 128"),
    ];
    for (text, line, what) in cases {
        let fault = Policy::parse("policy.toml", &text, &parties()).expect_err(&text);
        assert_eq!(fault.line, Some(line), "{text}\n{fault}");
        assert!(fault.what.contains(what), "{text}\n{fault}");
        assert!(
            fault
                .to_string()
                .starts_with(&format!("policy.toml, line {line}: ")),
            "{fault}"
        );
    }
}

#[test]
fn files_that_cannot_be_policies_are_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("policy.toml");
    let fault = Policy::read(&path, &parties()).expect_err("missing");
    assert!(fault.what.starts_with("cannot be read: "), "{fault}");
    std::fs::write(&path, vec![b'\n'; (1 << 20) + 1]).expect("written");
    let fault = Policy::read(&path, &parties()).expect_err("large");
    assert!(fault.what.contains("at most 1048576"), "{fault}");
    std::fs::write(&path, "otherwise = \"decline\"").expect("written");
    let policy = Policy::read(&path, &parties()).expect("a policy");
    assert_eq!(policy.digest(), Digest::of(b"otherwise = \"decline\""));
}

#[test]
fn the_documented_policy_is_one() {
    let text = include_str!("../policy.rs");
    let example: String = text
        .lines()
        .skip_while(|line| *line != "//! ```toml")
        .skip(1)
        .take_while(|line| *line != "//! ```")
        .map(|line| line.trim_start_matches("//!").to_owned() + "\n")
        .collect();
    let example = example.replace("5f70…", &Digest::of(b"program").to_string());
    let ruling = rule(&policy(&example), &proposal(1), SIZE);
    assert_eq!(ruling.verdict, Verdict::Approve, "{}", ruling.reason);
}

#[test]
fn a_rule_does_not_suffice_for_a_job_with_a_peer_whose_sessions_broke_off() {
    let says = |head: &str, then: &str, times, grave| {
        let rules = format!("{head}\n[[rule]]\nname = \"r\"\ndata = \"any\"\nthen = \"{then}\"\n");
        let mut past = Counts {
            unsettled: vec![Unsettled {
                peer: 2,
                times,
                grave,
            }],
            ..Counts::default()
        };
        policy(&rules).rule(&proposal(1), SIZE, &mut past).expect("ruled")
    };
    assert_eq!(says("", "approve", 2, false).verdict, Verdict::Approve);
    let asked = says("", "approve", 3, false);
    assert_eq!(asked.verdict, Verdict::Ask);
    assert!(
        asked.reason.contains("rule \"r\"") && asked.reason.contains("party 2"),
        "{}",
        asked.reason
    );
    assert_eq!(says("", "approve", 1, true).verdict, Verdict::Ask);
    assert_eq!(
        says("max_unsettled = 4", "approve", 3, false).verdict,
        Verdict::Approve
    );
    assert_eq!(
        says("max_unsettled = 1", "approve", 1, false).verdict,
        Verdict::Ask
    );
    // Whatever is on record, what a rule declines is declined.
    assert_eq!(says("", "decline", 3, true).verdict, Verdict::Decline);
    for times in ["0", "-1", "1001"] {
        let text = format!("max_unsettled = {times}\n");
        let fault =
            Policy::parse("policy.toml", &text, &parties()).expect_err("no try at all, or any number");
        assert!(
            fault.line == Some(1) && fault.what.contains("1 to 1000"),
            "{fault}"
        );
    }
    assert_eq!(policy("max_unsettled = 1000\n").most_unsettled(), 1000);
}
