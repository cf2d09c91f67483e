//! A new user of `serve --local 3`, from its first page to the answer of a query of their own, with no command but the links to the pages.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::browser::Browser;
use crate::common::{cenote, run, start, wait_until};
use crate::serve::ended;

/// How long it may take.
const BAR: Duration = Duration::from_secs(120);

/// How many customers owe all banks much together.
const QUERY: &str = "SELECT COUNT(*) AS customers, SUM(a.owed + b.owed + c.owed) AS owed FROM bank_a a JOIN bank_b b USING (id) JOIN bank_c c USING (id) \
                     WHERE a.owed + b.owed + c.owed > 500000";

/// WebDriver's name of the key that closes the list of words.
const ESCAPE: &str = "\u{E00C}";

/// Logs in to the page of a party, as the link that services print does.
fn log_in(browser: &Browser, folder: &Path, party: &str) {
    let config = folder.join(party).join("party.toml");
    let mut link = String::new();
    wait_until("that the service gives a link", || {
        link = run(cenote().args(["token", "login", "--config"]).arg(&config)).stdout;
        !link.is_empty()
    });
    browser.go("about:blank");
    browser.go(link.trim());
    browser.until("document.querySelector('h1')?.textContent === 'Overview'");
}

#[test]
fn a_new_user_has_the_answer_to_a_query_of_their_own_within_two_minutes() {
    let (Some(browser), Some(others)) = (Browser::open(), Browser::open()) else {
        return;
    };
    let begun = Instant::now();
    let folder = tempfile::tempdir().unwrap();
    let mut services = cenote();
    services
        .args(["serve", "--local", "3", "--folder"])
        .arg(folder.path());
    let services = start(&mut services);
    log_in(&browser, folder.path(), "anna");
    browser.press("Ask");
    for table in ["bank_a", "bank_b", "bank_c"] {
        browser.until_shown(table);
    }
    browser.click("#sql");
    browser.keys(&format!("{QUERY}{ESCAPE}"));
    browser.until_shown("anna (you) learns the answer: the columns customers, owed, and gives bank_a.");
    browser.press("Propose");
    browser.until_shown("waiting for decisions");
    // The others find it on their pages, see what it tells whom, and give the data that their catalogues name.
    for party in ["bert", "cleo"] {
        log_in(&others, folder.path(), party);
        others.press("Jobs");
        others.click_found(
            "[...document.querySelectorAll('tr')].find((one) => one.textContent.includes('AS customers'))?.querySelector('a')",
        );
        others.until_shown("anna learns the answer");
        others.picture(&format!("newcomer-{party}"));
        others.press("Approve with this data");
        others.until_shown("approved");
    }
    browser.until_shown("One row.");
    let cells = browser
        .run("return [...document.querySelectorAll('.grid-of-rows tbody td')].map((one) => one.textContent)");
    let cells: Vec<String> = serde_json::from_value(cells).unwrap();
    assert_eq!(cells, expected(folder.path()));
    browser.picture("newcomer");
    assert!(begun.elapsed() < BAR, "{:?}", begun.elapsed());
    for browser in [&browser, &others] {
        assert_eq!(browser.errors(), Vec::<String>::new());
    }
    ended(services);
}

/// The same of the sample files.
fn expected(folder: &Path) -> [String; 2] {
    let owed = |party: &str| -> BTreeMap<String, i64> {
        let text = std::fs::read_to_string(folder.join(party).join("data/bank.csv")).unwrap();
        let rows = text.lines().skip(1).filter_map(|line| {
            let (id, owed) = line.split_once(',')?;
            let cents: String = owed.chars().filter(|digit| *digit != '.').collect();
            Some((id.to_owned(), cents.parse().unwrap()))
        });
        rows.collect()
    };
    let (a, b, c) = (owed("anna"), owed("bert"), owed("cleo"));
    let all = a
        .iter()
        .filter_map(|(id, owed)| Some(owed + b.get(id)? + c.get(id)?));
    let large: Vec<i64> = all.filter(|cents| *cents > 50_000_000).collect();
    let cents: i64 = large.iter().sum();
    [
        large.len().to_string(),
        format!("{}.{:02}", cents / 100, cents % 100),
    ]
}
