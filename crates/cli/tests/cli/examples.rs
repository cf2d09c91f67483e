//! The jobs in `examples/` run, and their answers are those of the data beside them.

use std::path::Path;

use serde_json::{Value, json};

use crate::common::{cenote, run};

fn report(example: &str) -> Value {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let job = examples.join(example).join("job.toml");
    run(cenote().arg("run").arg(job).arg("--json")).json()
}

#[test]
fn the_examples_answer_what_their_readme_says() {
    let rows = report("pay")["answer"]["rows"].clone();
    let expected = json!([
        ["clerk", "4", "38750.000000"],
        ["engineer", "5", "61740.000000"],
        ["nurse", "3", "47166.666667"]
    ]);
    assert_eq!(rows, expected);
    assert_eq!(report("overlap")["answer"]["rows"], json!([["2"]]));
    let owed = json!([
        ["N", "3", "97500.50"],
        ["S", "4", "228600.00"],
        ["W", "5", "327400.75"]
    ]);
    assert_eq!(report("loans")["answer"]["rows"], owed);
    let higher: Vec<bool> = report("bids")["outputs"][0]["values"]
        .as_array()
        .expect("ten lots")
        .iter()
        .map(|value| value.as_str().is_some_and(|value| value.ends_with('1')))
        .collect();
    assert_eq!(
        higher,
        [true, false, false, true, false, true, false, false, true, true]
    );
    assert_eq!(
        report("cipher")["outputs"][0]["values"],
        json!(["0x69c4e0d86a7b0430d8cdb78070b4c55a"])
    );
}

#[test]
fn every_example_is_in_their_readme() {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let readme = std::fs::read_to_string(examples.join("README.md")).expect("the readme");
    for entry in std::fs::read_dir(&examples).expect("the folder") {
        let entry = entry.expect("an entry");
        if entry.file_type().expect("a type").is_dir() {
            let command = format!("cenote run examples/{}/job.toml", entry.file_name().display());
            assert!(
                readme.contains(&command),
                "examples/README.md does not have `{command}`"
            );
        }
    }
}
