//! The files that a command reads and writes.
#![cfg(unix)]

use std::fs::read_to_string;
use std::path::{Path, PathBuf};

use crate::common::{Ended, cenote, finish, run, start, write};
use crate::world::World;

const JOB: &str = "protocol = \"three\"\ncircuit = \"CIRCUIT\"\nlanes = 2\n[[input]]\nparty = 0\nfile = \"INPUT\"\n\
                   [[input]]\nparty = 1\nhex = \"3\"\n[[output]]\nto = [2]\nfile = \"sum.csv\"\n";

fn job(folder: &Path, circuit: &str, input: &str) -> PathBuf {
    let text = JOB.replace("CIRCUIT", circuit).replace("INPUT", input);
    write(folder, "job.toml", &text)
}

fn run_job(job: &Path) -> Ended {
    run(cenote().arg("run").arg(job))
}

/// A pipe that nobody writes to, a device without end, and a folder.
fn irregular(folder: &Path) -> [String; 3] {
    let pipe = folder.join("pipe");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(made.unwrap().success());
    [
        "/dev/zero".into(),
        pipe.display().to_string(),
        folder.display().to_string(),
    ]
}

#[test]
fn what_is_no_regular_file_is_refused_at_once() {
    let world = World::three();
    let folder = world.folder.path();
    write(folder, "values.csv", "1\n2\n");
    for file in irregular(folder) {
        let refused = |ended: Ended, code| ended.failed(code, &[&file, "not a regular file"]);
        refused(run_job(&job(folder, "lib:add8", &file)), 5);
        refused(run_job(&job(folder, &file, "values.csv")), 5);
        refused(run_job(Path::new(&file)), 2);
        let good = job(folder, "lib:add8", "values.csv");
        refused(run(cenote().args(["party", "--config", &file]).arg(good)), 2);
        refused(run(cenote().args(["circuit", "stats", &file])), 5);
        refused(run(cenote().args(["identity", "show", "--file", &file])), 2);
        let header = "circuit = \"lib:add16\"\nlanes = 2";
        let inputs = read_to_string(world.job(0, header)).unwrap();
        let text = inputs.replace("hex = \"1000\"", &format!("file = {file:?}"));
        let own = write(folder, "own.toml", &text);
        refused(finish(world.start(0, &own, &["--check"])), 5);
    }
}

/// A run that fails does not leave the output of an earlier one, and does not destroy it either.
#[test]
fn an_older_output_is_put_aside_before_the_start() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let read = |name: &str| read_to_string(folder.join(name)).ok();
    let good = job(folder, "lib:add8", "values.csv");
    write(folder, "values.csv", "1\n2\n");
    assert_eq!(run_job(&good).code, Some(0));
    let first = Some("0x04\n0x05\n".to_owned());
    assert_eq!((read("sum.csv"), read("sum.csv.previous")), (first.clone(), None));

    write(folder, "values.csv", "1\n999\n");
    for _ in 0..2 {
        run_job(&good).failed(5, &["party 0: ", "values.csv, line 2"]);
        assert_eq!((read("sum.csv"), read("sum.csv.previous")), (None, first.clone()));
    }
    write(folder, "values.csv", "3\n4\n");
    assert_eq!(run_job(&good).code, Some(0));
    let second = Some("0x06\n0x07\n".to_owned());
    assert_eq!(
        (read("sum.csv"), read("sum.csv.previous")),
        (second.clone(), first)
    );
    // A party that is killed before the end leaves no part of it.
    let long = read_to_string(&good).unwrap().replace("lib:add8", "lib:mult64");
    write(folder, "job.toml", &long.replace("lanes = 2", "lanes = 500000"));
    write(folder, "values.csv", &"7\n".repeat(500_000));
    let mut started = start(cenote().arg("run").arg(&good));
    crate::common::wait_until("the start", || read("sum.csv").is_none());
    started.kill().unwrap();
    finish(started);
    assert_eq!((read("sum.csv"), read("sum.csv.previous")), (None, second));
    let left = std::fs::read_dir(folder).unwrap().count();
    assert_eq!(left, 3, "job, values and what was put aside");
}

#[test]
fn an_output_has_a_file_of_its_own() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "sum.csv", "1\n2\n");
    let both = job(folder.path(), "lib:add8", "./sum.csv");
    run_job(&both).failed(2, &["job.toml, line 12", "a file of its own"]);
    assert_eq!(read_to_string(folder.path().join("sum.csv")).unwrap(), "1\n2\n");
}

#[test]
fn a_header_is_told_of_before_the_number_of_lines() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "values.csv", "value\n1\n2\n");
    let stated = job(folder.path(), "lib:add8", "values.csv");
    let inferred = read_to_string(&stated).unwrap().replace("lanes = 2\n", "");
    let inferred = write(folder.path(), "inferred.toml", &inferred);
    for job in [stated, inferred] {
        run_job(&job).failed(5, &["values.csv, line 1", "a file of values has no header"]);
    }
}
