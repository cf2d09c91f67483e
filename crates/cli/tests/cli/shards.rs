//! Queries that are cut into shards, on one machine and between parties.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::common::{Ended, cenote, finish, run, write};
use crate::world::World;

/// Orders of party 0 and items of party 1, some of which are of no order.
pub(crate) fn tables(folder: &Path) {
    let orders: String = (0..120).map(|id| format!("{},{}\n", 3 * id, id % 5)).collect();
    let items: String = (0..240)
        .map(|item| format!("{},{}\n", item % 180, item * 7 % 100))
        .collect();
    write(folder, "orders.csv", &format!("id,region\n{orders}"));
    write(folder, "items.csv", &format!("of,price\n{items}"));
}

/// What the answer is: sums of the prices of items by the region of their orders.
pub(crate) fn expected() -> Value {
    let mut sums = [0u64; 5];
    let mut counts = [0u64; 5];
    for item in 0..240u64 {
        let of = item % 180;
        if of % 3 == 0 && of / 3 < 120 {
            sums[(of / 3 % 5) as usize] += item * 7 % 100;
            counts[(of / 3 % 5) as usize] += 1;
        }
    }
    let rows = (0..5usize).map(|region| {
        let cells = [
            region.to_string(),
            counts[region].to_string(),
            sums[region].to_string(),
        ];
        Value::from(cells.to_vec())
    });
    rows.collect()
}

pub(crate) fn job(folder: &Path, name: &str, head: &str) -> PathBuf {
    let text = format!(
        "{head}
query = \"SELECT region, COUNT(*), SUM(price) FROM orders JOIN items ON id = of GROUP BY region ORDER BY region\"

[answer]
to = [0, 1, 2]
max_rows = 5

[[table]]
name = \"orders\"
party = 0
file = \"orders.csv\"
columns = {{ id = \"u32 not null\", region = \"u8 not null\" }}
max_rows = 130
unique = [\"id\"]
distinct = {{ region = 5 }}

[[table]]
name = \"items\"
party = 1
file = \"items.csv\"
columns = {{ of = \"u32 not null\", price = \"u16 not null\" }}
max_rows = 250
at_most = {{ of = 2 }}
"
    );
    write(folder, name, &text)
}

pub(crate) fn rows(ended: &Ended) -> Value {
    ended.json()["answer"]["rows"].clone()
}

#[test]
fn a_query_in_shards_has_its_answer() {
    let folder = tempfile::tempdir().unwrap();
    tables(folder.path());
    for head in ["", "shards = 1", "shards = 4", "shards = 2\nattempts = 9"] {
        let job = job(folder.path(), "job.toml", head);
        let ended = run(cenote().arg("run").arg(&job).arg("--json"));
        assert_eq!(rows(&ended), expected(), "{head}");
        let name = &ended.json()["circuit"]["name"];
        let told = match head.split_whitespace().nth(2) {
            None => "query".to_owned(),
            Some(shards) => format!("query in {shards} shards"),
        };
        assert_eq!(name, &told);
    }
}

/// Two parties authenticate what they keep, row by row.
#[test]
fn two_parties_compute_shards() {
    let folder = tempfile::tempdir().unwrap();
    tables(folder.path());
    let text = std::fs::read_to_string(job(folder.path(), "three.toml", "shards = 2")).unwrap();
    for protocol in ["authenticated", "jimu"] {
        let text = text.replace("to = [0, 1, 2]", "to = [1]");
        let job = write(
            folder.path(),
            "job.toml",
            &format!("protocol = \"{protocol}\"\n{text}"),
        );
        let ended = run(cenote().arg("run").arg(&job).arg("--json"));
        assert_eq!(rows(&ended), expected(), "{protocol}");
    }
}

/// Each shard keeps groups and a part of the total.
#[test]
fn groups_meet_their_total() {
    let folder = tempfile::tempdir().unwrap();
    tables(folder.path());
    let text = std::fs::read_to_string(job(folder.path(), "all.toml", "")).unwrap();
    let text = text.replace("to = [0, 1, 2]", "to = [1]").replace(
        "ORDER BY",
        "HAVING SUM(price) > (SELECT SUM(price) * 0.07 FROM items) ORDER BY",
    );
    let answer = |head: &str| {
        let job = write(folder.path(), "job.toml", &format!("{head}\n{text}"));
        rows(&run(cenote().arg("run").arg(&job).arg("--json")))
    };
    let whole = answer("");
    let found = whole.as_array().map(Vec::len);
    assert!(found.is_some_and(|rows| (1..5).contains(&rows)), "{whole}");
    for protocol in ["three", "authenticated"] {
        let head = format!("protocol = \"{protocol}\"\nshards = 4");
        assert_eq!(answer(&head), whole, "{protocol}");
    }
    let plan = run(cenote().arg("plan").arg(folder.path().join("job.toml")));
    let second = "the rows of relation 2 that 4 shards have kept, 1 of each";
    assert!(plan.stdout.contains(second), "{}", plan.stdout);
}

#[test]
fn a_plan_tells_how_a_job_is_cut() {
    let folder = tempfile::tempdir().unwrap();
    tables(folder.path());
    let job = job(folder.path(), "job.toml", "shards = 4\nattempts = 11");
    let plan = run(cenote().arg("plan").arg(&job).arg("--json")).json();
    let shards = &plan["shards"];
    assert_eq!((&shards["shards"], &shards["attempts"]), (&4.into(), &11.into()));
    assert_eq!(shards["tables"][0]["table"], "orders");
    assert_eq!(shards["tables"][0]["of"], 130);
    let gates = |name: &str| shards[name].as_u64().unwrap();
    let all = 4 * gates("shard_and_gates") + gates("merge_and_gates");
    assert_eq!(plan["and_gates"].as_u64(), Some(all));
    let told = run(cenote().arg("plan").arg(&job));
    for part in [
        "each shard",
        "4, at most 11 attempts",
        "which of them were tried again",
    ] {
        assert!(told.stdout.contains(part), "no {part:?} in {}", told.stdout);
    }
}

/// A join that does not fit is told how many shards it needs.
#[test]
fn a_plan_proposes_shards_for_what_does_not_fit() {
    let folder = tempfile::tempdir().unwrap();
    tables(folder.path());
    let text = std::fs::read_to_string(job(folder.path(), "small.toml", "")).unwrap();
    let text = text
        .replace("max_rows = 130", "max_rows = 3000000")
        .replace("max_rows = 250", "max_rows = 3000000");
    let job = write(folder.path(), "job.toml", &text);
    let plan = run(cenote().arg("plan").arg(&job).args(["--memory", "1000"]));
    assert!(plan.stderr.contains("With `shards = "), "{}", plan.stderr);
}

#[test]
fn what_cannot_be_cut_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    tables(folder.path());
    for (head, told) in [
        ("shards = 0", "`shards` is 1 or more"),
        ("shards = 5000", "4096 is the most"),
        ("attempts = 5", "give `shards` too"),
        ("shards = 4\nattempts = 4", "`attempts` is 5 to"),
        ("shards = 2\nsecurity = 127", "needs a security of 129 bits"),
    ] {
        let job = job(folder.path(), "job.toml", head);
        let ended = run(cenote().arg("run").arg(&job));
        ended.failed(2, &[told]);
    }
    let whole = self::job(folder.path(), "whole.toml", "");
    let world = World::three();
    let coordinated = world.start(0, &whole, &["--coordinate", "127.0.0.1:0"]);
    finish(coordinated).failed(2, &["the job is not cut into shards"]);
}

#[test]
fn parties_compute_shards_together_and_compare_how_many_there_are() {
    let world = World::three();
    tables(world.folder.path());
    let cut = job(world.folder.path(), "job.toml", "shards = 3");
    for ended in world.run([&cut; 3], &["--json"]) {
        assert_eq!(rows(&ended), expected());
    }
    // Nothing is left of a job that is done.
    let left = std::fs::read_dir(world.folder.path().join("shards-0"));
    assert_eq!(left.map_or(0, Iterator::count), 0);
    let other = job(world.folder.path(), "other.toml", "shards = 4");
    let ended = world.run([&cut, &cut, &other], &[]);
    ended[0].failed(2, &["party 2", "3", "4"]);
    ended[2].failed(2, &["party 0", "4", "3"]);
}
