//! The programs of Cenote beside one another.

use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use crate::common::{cenote, run};
use crate::programs;

#[test]
fn a_program_that_is_not_built_is_named_with_the_command_that_builds_it() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let alone = folder.path().join("debug").join("cenote");
    std::fs::create_dir(alone.parent().unwrap()).unwrap();
    std::fs::hard_link(programs::cenote(), &alone).unwrap();
    for (words, package) in [
        (["serve", "--local=3"], "cenote-serve"),
        (["doctor", "--json"], "cenote-serve"),
        (["bench", "ring"], "cenote-bench"),
        (["soak", "--help"], "cenote-bench"),
    ] {
        let build = format!("cargo build -p {package}");
        run(Command::new(&alone).args(words)).failed(2, &[&build]);
    }
}

#[test]
fn a_program_elsewhere_on_the_path_is_never_run() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let [home, path] = ["home", "path"].map(|name| folder.path().join(name));
    for folder in [&home, &path] {
        std::fs::create_dir(folder).unwrap();
    }
    let alone = home.join("cenote");
    std::fs::hard_link(programs::cenote(), &alone).unwrap();
    let (trap, sprung) = (path.join("cenote-serve"), folder.path().join("sprung"));
    std::fs::write(&trap, format!("#!/bin/sh\ntouch {}\n", sprung.display())).unwrap();
    std::fs::set_permissions(&trap, std::fs::Permissions::from_mode(0o755)).unwrap();
    let ended = run(Command::new(&alone)
        .args(["serve", "--local", "3"])
        .current_dir(&path)
        .env("PATH", &path));
    ended.failed(2, &["cenote-serve", &format!("not in {}", home.display())]);
    assert!(!sprung.exists());
}

#[test]
fn a_program_of_another_version_does_nothing() {
    let folder = programs::cenote().parent().unwrap();
    for (name, words) in [
        ("cenote-serve", ["init", "here"]),
        ("cenote-bench", ["ring", "--json"]),
    ] {
        let place = tempfile::tempdir().unwrap();
        let ended = run(Command::new(folder.join(name))
            .args(words)
            .args(["--started-by", "0.0.1"])
            .current_dir(place.path()));
        ended.failed(2, &["0.0.1", env!("CARGO_PKG_VERSION"), "what to do"]);
        assert_eq!(std::fs::read_dir(place.path()).unwrap().count(), 0);
    }
}

#[test]
fn help_of_the_other_programs_is_theirs() {
    for (command, word) in [
        ("serve", "--local"),
        ("init", "--parties"),
        ("audit", "verify"),
        ("bench", "authenticated"),
        ("soak", "--hours"),
    ] {
        let ended = run(cenote().args([command, "--help"]));
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
        assert!(ended.stdout.contains(word), "{command}: {}", ended.stdout);
    }
}
