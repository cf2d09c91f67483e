//! Every link of the documents to a file of the repository, or to a heading, leads there.

use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The documents of `folder` itself.
fn documents(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("the folder");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    paths
        .filter(|path| path.extension().is_some_and(|end| end == "md"))
        .collect()
}

/// The text without what stands between lines of three backquotes.
fn prose(text: &str) -> String {
    let parts = text.split("\n```").step_by(2);
    parts.collect::<Vec<_>>().join("\n")
}

/// The names under which headings can be linked to.
fn anchors(text: &str) -> Vec<String> {
    let headings = text.lines().filter(|line| line.starts_with('#'));
    let anchor = |line: &str| {
        let title = line.trim_start_matches('#').trim().to_lowercase();
        let kept = title
            .chars()
            .filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
        kept.map(|c| if c == ' ' { '-' } else { c }).collect()
    };
    headings.map(anchor).collect()
}

/// What the links and pictures of a text lead to.
fn links(text: &str) -> impl Iterator<Item = &str> {
    let ends = text.split("](").skip(1);
    ends.filter_map(|rest| rest.split_once(')'))
        .map(|(target, _)| target)
}

#[test]
fn every_link_of_the_documents_leads_somewhere() {
    let folders = ["", "docs", "examples", "fuzz"].map(|folder| root().join(folder));
    let mut checked = 0;
    for document in folders.iter().flat_map(|folder| documents(folder)) {
        let text = prose(&std::fs::read_to_string(&document).expect("text"));
        for target in links(&text).filter(|target| !target.contains("://")) {
            let (path, anchor) = target.split_once('#').unwrap_or((target, ""));
            let there = match path {
                "" => document.clone(),
                path => document.parent().expect("a folder").join(path),
            };
            assert!(there.exists(), "{}: there is no {path}", document.display());
            if !anchor.is_empty() {
                let linked = prose(&std::fs::read_to_string(&there).expect("text"));
                let found = anchors(&linked).iter().any(|one| one == anchor);
                assert!(found, "{}: {path} has no heading #{anchor}", document.display());
            }
            checked += 1;
        }
    }
    assert!(checked > 100, "only {checked} links were found");
}
