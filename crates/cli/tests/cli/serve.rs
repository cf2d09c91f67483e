//! Whole services, from the commands that set them up to what a job gave.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command};

use serde_json::Value;

use crate::common::{Ended, addresses, cenote, finish, run, start, wait_until, write};
use crate::others::kill;

/// A command about jobs at the service of a party file.
fn job(config: &Path, args: &[&str]) -> Command {
    let mut command = cenote();
    command.arg("job").args(args).arg("--config").arg(config);
    command
}

fn list(config: &Path) -> Vec<Value> {
    let listed = run(&mut job(config, &["list", "--json"]));
    match listed.code {
        Some(0) => listed.json()["jobs"].as_array().cloned().unwrap_or_default(),
        _ => Vec::new(),
    }
}

/// Waits until the only job at a service is in this state; its name.
#[track_caller]
fn only_job(config: &Path, state: &str) -> String {
    let mut name = String::new();
    wait_until(&format!("that a job is {state}"), || {
        match list(config).as_slice() {
            [only] if only["state"] == state => {
                only["id"].as_str().unwrap_or_default().clone_into(&mut name);
                true
            }
            _ => false,
        }
    });
    name
}

/// Ends a service in order.
pub(crate) fn ended(service: Child) -> Ended {
    kill(service.id(), "-TERM");
    let ended = finish(service);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    ended
}

/// Whether a service may have huge pages.
#[cfg(target_os = "linux")]
fn huge_pages(service: &Child) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{}/status", service.id())).unwrap();
    let said = status.lines().find_map(|line| line.strip_prefix("THP_enabled:"));
    said.unwrap().trim() == "1"
}

#[cfg(target_os = "linux")]
#[test]
fn services_of_three_parties_do_without_huge_pages_unless_told_otherwise() {
    for (parties, said, has) in [("3", None, false), ("3", Some("1"), true), ("2", None, true)] {
        let folder = tempfile::tempdir().unwrap();
        let mut command = cenote();
        command.env_remove("MIMALLOC_ALLOW_THP");
        command.envs(said.map(|said| ("MIMALLOC_ALLOW_THP", said)));
        command
            .args(["serve", "--local", parties, "--folder"])
            .arg(folder.path());
        let service = start(&mut command);
        wait_until("that the services are up", || {
            folder.path().join("sample.toml").exists()
        });
        assert_eq!(huge_pages(&service), has, "{parties} parties, {said:?}");
        ended(service);
    }
}

#[test]
fn services_for_a_look_run_their_sample() {
    let folder = tempfile::tempdir().unwrap();
    let home = |name: &str| folder.path().join(name).join("party.toml");
    let services = start(
        cenote()
            .args(["serve", "--local", "3", "--json-log", "--folder"])
            .arg(folder.path()),
    );
    let sample = folder.path().join("sample.toml");
    wait_until("that the services are up", || {
        sample.exists() && run(&mut job(&home("anna"), &["list"])).code == Some(0)
    });
    // What the others publish is there, and each approves without saying which data it gives.
    let catalogue = || run(cenote().arg("catalogue").arg("--config").arg(home("anna")));
    wait_until("that all catalogues are there", || {
        let known = catalogue().stdout;
        ["bank_a", "bank_b", "bank_c"]
            .iter()
            .all(|table| known.contains(table))
    });
    let text = catalogue().stdout;
    assert!(
        text.contains("0 anna (this party): version 1")
            && text.contains("data bank.csv, published to bert, cleo"),
        "{text}"
    );
    let mut names = Vec::new();
    for party in ["anna", "bert", "cleo"] {
        let name = only_job(&home(party), "proposed");
        let shown = run(&mut job(&home(party), &["show", &name])).stdout;
        assert!(
            shown.contains(" AS joint\n            FROM bank_a a JOIN"),
            "{shown}"
        );
        let approved = run(&mut job(&home(party), &["approve", &name]));
        assert_eq!(approved.code, Some(0), "{}", approved.stderr);
        assert!(
            approved.stderr.contains("of the catalogue: data bank.csv"),
            "{}",
            approved.stderr
        );
    }
    for party in ["anna", "bert", "cleo"] {
        let name = only_job(&home(party), "done");
        let fetched = run(&mut job(&home(party), &["fetch", &name])).json();
        let rows = fetched["answer"]["rows"].as_array().unwrap();
        assert!(
            !rows.is_empty() && rows[0][0].as_str().unwrap().starts_with("customer-"),
            "{party}: {fetched}"
        );
        let again = run(&mut job(&home(party), &["fetch", &name]));
        assert_ne!(again.code, Some(0), "{party} has it twice");
        names.push(name);
    }
    assert!(names.iter().all(|name| *name == names[0]));
    a_catalogue_is_read_again(&services, &home("anna"), &home("bert"));
    let Ended {
        stdout, stderr: log, ..
    } = ended(services);
    // What is printed is kept by whoever started it, and opens nothing.
    assert!(
        stdout.contains("cenote token login --config ") && !stdout.contains("cenote_"),
        "{stdout}"
    );
    let lines: Vec<&str> = log.lines().filter(|line| line.starts_with('{')).collect();
    assert!(
        lines
            .iter()
            .all(|line| serde_json::from_str::<Value>(line).is_ok()),
        "{log}"
    );
    assert!(lines.iter().any(|line| line.contains(&names[0])), "{log}");
    assert!(!log.contains("customer-"), "{log}");
    assert!(stdout.contains("cenote job approve "), "{stdout}");
    assert!(sample.exists(), "the sample can be submitted again");
}

/// What anna publishes anew reaches bert.
fn a_catalogue_is_read_again(services: &Child, anna: &Path, bert: &Path) {
    let file = anna.with_file_name("catalogue.toml");
    let text = std::fs::read_to_string(&file).unwrap();
    let seen = || run(cenote().arg("catalogue").arg("--config").arg(bert)).stdout;
    std::fs::write(&file, text.replace("\"bank_a\"", "\"deposits\"")).unwrap();
    kill(services.id(), "-HUP");
    wait_until("that the new table is there", || seen().contains("deposits"));
    assert!(
        seen().contains("0 anna: version 2") && !seen().contains("bank_a,"),
        "{}",
        seen()
    );
}

/// Invite, join, twice serve, submit, approve.
#[test]
#[allow(clippy::too_many_lines, reason = "one story, told in order")]
fn two_parties_meet_and_run_a_job_in_six_commands() {
    let folder = tempfile::tempdir().unwrap();
    let homes = ["acme", "bank"].map(|name| folder.path().join(name));
    let [meeting, first_page, second_page] = addresses();
    let mut invite = start(
        cenote()
            .args([
                "invite",
                "--parties",
                "2",
                "--name",
                "acme",
                "--address",
                &meeting,
            ])
            .arg(&homes[0]),
    );
    let mut told = BufReader::new(invite.stdout.take().unwrap());
    let mut line = String::new();
    let invitation = loop {
        line.clear();
        assert_ne!(told.read_line(&mut line).unwrap(), 0, "no invitation");
        let word = line
            .split_whitespace()
            .find(|word| word.starts_with("cenote-invitation"));
        if let Some(word) = word {
            break word.to_owned();
        }
    };
    let joined = run(cenote()
        .args(["join", &invitation])
        .arg(&homes[1])
        .args(["--name", "bank"]));
    assert_eq!(joined.code, Some(0), "{}", joined.stderr);
    let mut rest = String::new();
    std::io::Read::read_to_string(&mut told, &mut rest).unwrap();
    assert_eq!(finish(invite).code, Some(0));
    let code = |text: &str| {
        text.lines()
            .find(|line| line.trim().starts_with("code"))
            .map(str::to_owned)
    };
    assert!(
        code(&rest).is_some() && code(&rest) == code(&joined.stdout),
        "{rest}\n{}",
        joined.stdout
    );

    // Both are on one machine, where other tests have the ports that are meant for pages.
    let configs = homes.each_ref().map(|home| home.join("party.toml"));
    for (config, page) in configs.iter().zip([&first_page, &second_page]) {
        let text = std::fs::read_to_string(config).unwrap();
        std::fs::write(
            config,
            text.replace(
                "[service]\n",
                &format!("[service]\nhttp = \"{page}\"\nhttp_names = [\"Party.Test\"]\n"),
            ),
        )
        .unwrap();
    }
    let services = configs
        .each_ref()
        .map(|config| start(cenote().arg("serve").arg("--config").arg(config)));
    for config in &configs {
        wait_until("that a service is up", || {
            run(&mut job(config, &["list"])).code == Some(0)
        });
    }
    for (host, answer) in [("party.test", "200"), ("other.test", "421")] {
        let mut stream = TcpStream::connect(&first_page).unwrap();
        write!(
            stream,
            "GET /healthz HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"
        )
        .unwrap();
        let mut status = String::new();
        BufReader::new(stream).read_line(&mut status).unwrap();
        assert!(status.contains(answer), "{host}: {status}");
    }
    let file = write(
        folder.path(),
        "job.toml",
        "protocol = \"authenticated\"\ncircuit = \"lib:add32\"\nlanes = 1\n[[input]]\nparty = 0\n[[input]]\nparty = 1\n[[output]]\nto = [1]\n",
    );
    let values = [("x", "5\n"), ("y", "7\n")]
        .map(|(name, value)| format!("{name}={}", write(folder.path(), name, value).display()));
    let submitted = run(job(&configs[0], &["submit", "--approve", "--post", &values[0]]).arg(&file));
    assert_eq!(submitted.code, Some(0), "{}", submitted.stderr);
    let name = only_job(&configs[1], "proposed");
    let approved = run(&mut job(&configs[1], &["approve", &name, "--post", &values[1]]));
    assert_eq!(approved.code, Some(0), "{}", approved.stderr);
    assert_eq!(only_job(&configs[1], "done"), name);
    let fetched = run(&mut job(&configs[1], &["fetch", &name])).json();
    assert_eq!(fetched["outputs"][0]["values"][0], "0x0000000c");
    assert_eq!(only_job(&configs[0], "done"), name);
    assert_ne!(
        run(&mut job(&configs[0], &["fetch", &name])).code,
        Some(0),
        "it learnt nothing"
    );
    services.into_iter().for_each(|service| drop(ended(service)));
    a_lost_key_is_told_and_given_up(&homes[1]);
}

/// At a party whose service has ended, and which has the result of a job.
fn a_lost_key_is_told_and_given_up(home: &Path) {
    let (config, key) = (home.join("party.toml"), home.join("service/results.key"));
    let serve = |more: &[&str]| run(cenote().arg("serve").args(more).arg("--config").arg(&config));
    serve(&["--give-up-sealed"]).failed(2, &["results.key", "nothing was given up"]);
    std::fs::remove_file(&key).unwrap();
    serve(&[]).failed(
        2,
        &[
            "results.key is missing: 1 results",
            "cenote serve --give-up-sealed",
        ],
    );
    let doctor = run(cenote().arg("doctor").arg("--config").arg(&config));
    assert!(
        doctor.stdout.contains("results.key is missing"),
        "{}",
        doctor.stdout
    );
    let given_up = serve(&["--give-up-sealed"]);
    assert_eq!(given_up.code, Some(0), "{}", given_up.stderr);
    assert!(
        given_up.stdout.contains("deleted 1 results"),
        "{}",
        given_up.stdout
    );
    assert!(key.exists());
    // A byte of its log is not as it was written.
    let log = home.join("service/audit.jsonl");
    let text = std::fs::read_to_string(&log).unwrap();
    std::fs::write(&log, text.replacen("\"policy\"", "\"policx\"", 1)).unwrap();
    serve(&[]).failed(
        2,
        &[
            "audit.jsonl",
            "line 3 was changed",
            "find out who could write to it",
        ],
    );
}
