//! `docs/architecture.svg`, the picture of the crates, is drawn here from what Cargo says of the workspace. To draw it again:
//!
//! ```sh
//! CENOTE_DRAW=1 cargo test -p cenote-bench --test architecture
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// The layers of the house, the highest first. A crate uses only crates of layers below its own.
const LAYERS: &[&[&str]] = &[
    &["python"],
    &["cli", "bench", "serve"],
    &["console", "node", "web"],
    &["cenote", "service"],
    &["query", "api"],
    &["tables", "program"],
    &["testkit", "three", "authenticated", "jimu", "lego"],
    &["protocol", "pool", "shards"],
    &["store", "ot", "garble", "commit"],
    &["session"],
    &["net", "circuit", "params"],
    &["primitives"],
];

const COMMAND: &str = "CENOTE_DRAW=1 cargo test -p cenote-bench --test architecture";

/// What Cargo says of the crates: what each is for, and which it uses, outside tests.
struct House {
    purposes: BTreeMap<String, String>,
    uses: BTreeMap<String, BTreeSet<String>>,
}

impl House {
    fn read() -> House {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let told = Command::new(cargo)
            .args(["metadata", "--no-deps", "--offline", "--format-version", "1"])
            .current_dir(root())
            .output()
            .expect("cargo runs");
        assert!(told.status.success(), "{}", String::from_utf8_lossy(&told.stderr));
        let told: Value = serde_json::from_slice(&told.stdout).expect("JSON");
        let mut house = House {
            purposes: BTreeMap::new(),
            uses: BTreeMap::new(),
        };
        for package in told["packages"].as_array().expect("a list") {
            let name = short(package["name"].as_str().expect("a name")).expect("a crate of the house");
            let purpose = package["description"].as_str().unwrap_or_default();
            let used = package["dependencies"].as_array().expect("a list");
            let used = used
                .iter()
                .filter(|one| one["kind"].as_str() != Some("dev") && one["path"].is_string())
                .filter_map(|one| short(one["name"].as_str()?));
            house.uses.insert(name.clone(), used.collect());
            house
                .purposes
                .insert(name, purpose.trim_end_matches('.').to_owned());
        }
        house
    }

    /// What a crate uses, and what these use, down to the ground.
    fn reach(&self, name: &str) -> BTreeSet<&str> {
        let mut reached = BTreeSet::new();
        let mut open: Vec<&str> = self.uses[name].iter().map(String::as_str).collect();
        while let Some(next) = open.pop() {
            if reached.insert(next) {
                open.extend(self.uses[next].iter().map(String::as_str));
            }
        }
        reached
    }

    /// The crates that `name` uses, without those that another one of them uses in turn.
    fn arrows(&self, name: &str) -> Vec<&str> {
        let used = &self.uses[name];
        let implied = |one: &str| {
            used.iter()
                .any(|other| other != one && self.reach(other).contains(one))
        };
        used.iter()
            .map(String::as_str)
            .filter(|one| !implied(one))
            .collect()
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A crate's name without what all of them begin with.
fn short(package: &str) -> Option<String> {
    package
        .strip_prefix("cenote")
        .map(|rest| rest.strip_prefix('-').unwrap_or("cenote").to_owned())
}

/// The layer of a crate, counted from the top.
fn layer(name: &str) -> usize {
    let found = LAYERS.iter().position(|layer| layer.contains(&name));
    found.unwrap_or_else(|| panic!("no layer has the crate {name}: add it to LAYERS, then run {COMMAND}"))
}

const WIDTH: f64 = 1000.0;
const BOX: f64 = 76.0;
const STEP: f64 = 124.0;
const GAP: f64 = 26.0;
const MARGIN: f64 = 24.0;

/// Where a crate stands: left edge, top and width.
fn place(name: &str) -> (f64, f64, f64) {
    let row = layer(name);
    let count = LAYERS[row].len() as f64;
    let width = ((WIDTH - 2.0 * MARGIN - (count - 1.0) * GAP) / count).min(300.0);
    let left = (WIDTH - count * width - (count - 1.0) * GAP) / 2.0;
    let column = LAYERS[row].iter().position(|one| *one == name).expect("there") as f64;
    (left + column * (width + GAP), MARGIN + row as f64 * STEP, width)
}

fn middle(name: &str) -> f64 {
    let (left, _, width) = place(name);
    left + width / 2.0
}

/// Where the arrow between `name` and `other` meets the box of `name`: all that meet there are spread in the order of their far ends.
fn port(name: &str, other: &str, all: &[&str]) -> f64 {
    let mut all = all.to_vec();
    all.sort_by(|a, b| middle(a).total_cmp(&middle(b)).then(a.cmp(b)));
    let at = all.iter().position(|one| *one == other).expect("there") as f64 + 1.0;
    let (left, _, width) = place(name);
    left + width * at / (all.len() as f64 + 1.0)
}

/// Lines of about as many letters as fit.
fn wrap(text: &str, letters: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let last = lines.last_mut().expect("one");
        if !last.is_empty() && last.len() + 1 + word.len() > letters {
            lines.push(word.to_owned());
        } else {
            *last += if last.is_empty() { "" } else { " " };
            *last += word;
        }
    }
    lines
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

fn draw(house: &House) -> String {
    let height = 2.0 * MARGIN + (LAYERS.len() - 1) as f64 * STEP + BOX;
    let mut svg = format!(
        r##"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" font-family="Helvetica, Arial, sans-serif" role="img" aria-label="The crates of Cenote in layers; arrows go from a crate to those that it uses, all of them below it">
<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path d="M0 0L8 4L0 8z" fill="#7c9aa3"/></marker></defs>
<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>
"##
    );
    let arrows: BTreeMap<&str, Vec<&str>> = house
        .uses
        .keys()
        .map(|name| (name.as_str(), house.arrows(name)))
        .collect();
    for (user, used) in &arrows {
        for one in used {
            let users: Vec<&str> = arrows
                .iter()
                .filter(|(_, used)| used.contains(one))
                .map(|(user, _)| *user)
                .collect();
            let (from, to) = (port(user, one, used), port(one, user, &users));
            let (top, bottom) = (place(user).1 + BOX, place(one).1);
            let _ = writeln!(
                svg,
                r##"<path class="{user}-{one}" d="M{from:.0} {top}C{from:.0} {:.0} {to:.0} {:.0} {to:.0} {bottom}" fill="none" stroke="#7c9aa3" stroke-width="1.3" marker-end="url(#head)"/>"##,
                top + 34.0,
                bottom - 34.0,
            );
        }
    }
    for name in LAYERS.iter().copied().flatten() {
        let (left, top, width) = place(name);
        let centre = middle(name);
        let _ = writeln!(
            svg,
            r##"<rect x="{left:.1}" y="{top}" width="{width:.1}" height="{BOX}" rx="6" fill="#e8f3f5" stroke="#2b7a8c"/>
<text x="{centre:.1}" y="{}" text-anchor="middle" font-size="14" font-weight="bold" fill="#12343d">{name}</text>"##,
            top + 19.0,
        );
        let lines = wrap(&house.purposes[*name], (width / 6.0) as usize);
        for (at, line) in lines.iter().take(4).enumerate() {
            let _ = writeln!(
                svg,
                r##"<text x="{centre:.1}" y="{}" text-anchor="middle" font-size="10" fill="#33525c">{}</text>"##,
                top + 33.0 + 11.0 * at as f64,
                escaped(line),
            );
        }
    }
    svg + "</svg>\n"
}

#[test]
fn every_crate_stands_in_one_layer_above_all_that_it_uses() {
    let house = House::read();
    for (user, used) in &house.uses {
        for one in used {
            assert!(
                layer(user) < layer(one),
                "an arrow points up: {user} uses {one}, which is not in a layer below it"
            );
        }
    }
    let drawn: Vec<&str> = LAYERS.iter().copied().flatten().copied().collect();
    for name in &drawn {
        assert!(
            house.uses.contains_key(*name),
            "there is no crate {name}: take it out of LAYERS"
        );
        assert_eq!(
            drawn.iter().filter(|one| *one == name).count(),
            1,
            "{name} stands in two places"
        );
    }
}

#[test]
fn the_picture_has_every_crate_and_every_arrow() {
    let drawn = draw(&House::read());
    let path = root().join("docs/architecture.svg");
    if std::env::var_os("CENOTE_DRAW").is_some() {
        std::fs::write(&path, &drawn).expect("written");
    }
    let kept = std::fs::read_to_string(&path).expect("the picture");
    assert!(
        kept == drawn,
        "docs/architecture.svg does not show the crates as they are: run {COMMAND}"
    );
}
