//! Asking on the page: a query is written, planned as it is typed, proposed and answered.

use cenote_service::Job;
use cenote_service::audit::Actor;
use cenote_service::job::PageRequest;
use cenote_service::live::{Compared, Happened, OtherConstant, Weighed};
use cenote_service::token::Scope;
use serde_json::{Value, json};

use super::{assert_clean, enter, go, go_to_job};
use crate::browser::Browser;
use crate::fake::World;
use crate::fake::asking::{self, WRONG};

pub(super) const QUERY: &str =
    "SELECT region, SUM(owed) AS total FROM people JOIN loans USING (id) GROUP BY region";
const TAB: &str = "\u{E004}";
const ENTER: &str = "\u{E007}";
pub(super) const ESCAPE: &str = "\u{E00C}";
const DOWN: &str = "\u{E015}";

/// A service that knows tables.
pub(super) fn world() -> World {
    let world = World::new();
    {
        let mut shown = world.fake.shown.lock().expect("whole");
        shown.catalogue = asking::catalogue(&shown.names);
    }
    world
}

/// A browser in the section.
pub(super) fn ask(world: &World) -> Option<Browser> {
    let browser = enter(world)?;
    go(&browser, world, "ask", "Ask");
    Some(browser)
}

fn text(browser: &Browser) -> String {
    let text = browser.run("return document.getElementById('sql').value");
    text.as_str().unwrap_or_default().to_owned()
}

pub(super) fn until_planned(browser: &Browser, is: &str) {
    browser.until(&format!(
        "document.querySelector('[data-plan]').dataset.plan === {}",
        json!(is)
    ));
}

/// What the list of words offers.
fn offered(browser: &Browser) -> Vec<String> {
    let words = browser.run("return [...document.querySelectorAll('[role=option] bdi:first-child')].map((one) => one.textContent)");
    serde_json::from_value(words).expect("texts")
}

fn jobs(world: &World) -> Vec<Job> {
    let request = PageRequest {
        state: None,
        before: None,
        limit: 200,
    };
    world.fake.jobs.list(request).expect("listed").jobs
}

/// Answers of two columns.
fn answer(rows: &[(&str, &str)]) -> String {
    let rows: Vec<[&str; 2]> = rows.iter().map(|(region, total)| [*region, *total]).collect();
    json!({"job": "00", "answer": {"columns": ["region", "total"], "types": ["char(8)", "decimal(9,2)"], "row_count": rows.len(), "rows": rows}})
        .to_string()
}

#[test]
fn a_new_user_asks_with_the_mouse_and_sees_the_answer() {
    let world = world();
    world.fake.shown.lock().expect("whole").result =
        answer(&[("north", "10.50"), ("east", "-3.25"), ("south", "7.00")]);
    let Some(browser) = enter(&world) else { return };
    browser.press("Ask");
    browser.until("document.title === 'Ask · Cenote'");
    browser.until_shown("South Bank");
    browser.until_shown("Not connected; this is as of");
    browser.until_shown("stands here as you type");
    browser.screen(1280, 900, "light");
    browser.click(".of-party details summary");
    browser.until_shown("decimal(9,2) not null, less than 100000");
    browser.until_shown("an answer tells of groups of 10 rows or more only");
    // Names are put in with the mouse; a table of two parties with its party.
    browser.click("#sql");
    browser.keys("SELECT region, SUM(owed) AS total FROM");
    browser.keys(ESCAPE);
    browser.click("button[data-insert='people']");
    assert!(text(&browser).ends_with("FROM people"), "{}", text(&browser));
    browser.click("button[data-insert='\"South Bank\".visits']");
    assert!(text(&browser).ends_with("FROM people \"South Bank\".visits"));
    browser.run("document.getElementById('sql').value = ''");
    browser.click("#sql");
    browser.keys(&format!("{QUERY}{ESCAPE}"));
    until_planned(&browser, "there");
    for shown in [
        "North Bank (you) learns the answer: the columns region, total, and gives loans.",
        "about 3.2 s, as jobs like it took here",
        "4.2 million AND gates in 320 levels",
        "at most 52 MB",
        "How it is computed: 2 steps",
        "You give loans.csv.",
    ] {
        browser.until_shown(shown);
    }
    browser.click("section[data-plan] > details > summary");
    browser.until_shown("# to [\"North Bank\"]");
    browser.picture("ask");
    browser.press("Propose");
    browser.until_shown("South Bank");
    browser.until("document.querySelector('#card-answer')?.offsetParent !== null");
    let job = jobs(&world).remove(0);
    assert!(job.decisions[0].is_some(), "the asker's party has approved");
    assert_eq!(job.binding.len(), 1);
    browser.until_shown("waiting for decisions");
    world.fake.peers_approve(job.proposal.id);
    world.fake.run(job.proposal.id);
    browser.until_shown("3 rows.");
    browser.click("button[data-column='1']");
    let totals = browser.run("return [...document.querySelectorAll('.grid-of-rows tbody tr')].map((row) => row.cells[1].textContent)");
    assert_eq!(totals, json!(["-3.25", "7.00", "10.50"]));
    let script = "const label = [...document.querySelectorAll('label')].find((one) => one.textContent === 'Chart'); \
        const select = document.getElementById(label.htmlFor); select.selectedIndex = 1; select.onchange()";
    browser.run(script);
    browser.until("document.querySelector('svg.chart .bar') !== null");
    browser.run("window.saved = null; URL.createObjectURL = (blob) => { blob.text().then((text) => { window.saved = text; }); return 'blob:x'; }; HTMLAnchorElement.prototype.click = () => undefined");
    browser.press("Save as CSV");
    browser.until("window.saved !== null");
    assert_eq!(
        browser.run("return window.saved"),
        "region,total\nnorth,10.50\neast,-3.25\nsouth,7.00\n"
    );
    browser.run("window.saved = null; URL.createObjectURL = (blob) => { blob.arrayBuffer().then((bytes) => { window.saved = [...new Uint8Array(bytes)]; }); return 'blob:x'; }");
    browser.press("Save as Parquet");
    browser.until("window.saved !== null");
    assert_eq!(browser.run("return window.saved"), json!(b"PAR1\xff".to_vec()));
    browser.picture("ask-answer");
    // It stands among the earlier questions, and comes back into the editor to be asked with another constant.
    browser.until_shown("Earlier questions");
    browser.run("document.getElementById('sql').value = 'SELECT 1'");
    browser.press("Ask again");
    browser.until(&format!(
        "document.getElementById('sql').value === {}",
        json!(QUERY)
    ));
    assert_clean(&browser);
}

#[test]
fn a_query_is_written_and_proposed_with_the_keyboard_alone() {
    let world = world();
    let Some(browser) = ask(&world) else { return };
    let focused = || {
        let text = "const one = document.activeElement; return one.labels?.[0]?.textContent ?? one.textContent.trim()";
        browser.run(text).as_str().unwrap_or_default().to_owned()
    };
    let walk_to = |wanted: &str| {
        for _ in 0..60 {
            if focused().starts_with(wanted) {
                return;
            }
            browser.keys(TAB);
        }
        panic!("the keyboard does not come to {wanted}");
    };
    walk_to("Question, in SQL");
    browser.keys("sel");
    assert_eq!(offered(&browser), ["SELECT"]);
    let open = "return document.getElementById('sql').getAttribute('aria-expanded')";
    assert_eq!(browser.run(open), "true");
    browser.keys(&format!("{DOWN}{ENTER}"));
    assert_eq!(text(&browser), "SELECT");
    // Columns of the tables that are named, with what they are.
    browser.keys(" * FROM peo");
    assert_eq!(offered(&browser), ["people"]);
    browser.keys(&format!("{DOWN}{ENTER} p WHERE p."));
    assert_eq!(offered(&browser), ["id", "region"]);
    browser.keys(DOWN);
    let active = browser.run("return document.getElementById(document.getElementById('sql').getAttribute('aria-activedescendant')).textContent");
    assert!(
        active.as_str().is_some_and(|text| text.contains("u32 not null")),
        "{active}"
    );
    browser.keys(&format!("{ENTER} > 3"));
    assert_eq!(text(&browser), "SELECT * FROM people p WHERE p.id > 3");
    // Nothing is chosen, so Enter is a new line; Escape closes the list; and Tab goes on.
    browser.keys(&format!("{ENTER}AN{ESCAPE}"));
    assert_eq!(offered(&browser), Vec::<String>::new());
    browser.keys("D p.re");
    assert_eq!(offered(&browser), ["region"]);
    browser.keys(ENTER);
    assert!(text(&browser).ends_with("p.re\n"));
    // Nothing is offered in a text.
    browser.keys("= 'sel");
    assert_eq!(offered(&browser), Vec::<String>::new());
    browser.keys(&format!("'{TAB}"));
    assert_ne!(focused(), "Question, in SQL");
    until_planned(&browser, "there");
    walk_to("Propose");
    browser.keys(ENTER);
    browser.until_shown("waiting for decisions");
    assert_eq!(jobs(&world).len(), 1);
    assert_clean(&browser);
}

#[test]
fn a_fault_is_shown_where_it_is() {
    let world = world();
    let Some(browser) = ask(&world) else { return };
    browser.click("#sql");
    browser.keys(&format!("SELECT 'é',{ENTER}  {WRONG} FROM loans"));
    until_planned(&browser, "fault");
    browser.until_shown("Line 2, column 3: there is no column wrong_column; <b>write</b> id");
    let marked = browser.run("return document.querySelector('.behind mark').textContent");
    assert_eq!(marked, WRONG);
    assert_eq!(
        browser.run("return document.querySelector('button.main').disabled"),
        true
    );
    browser.press("Go there");
    let selected = "const one = document.getElementById('sql'); return one.value.slice(one.selectionStart, one.selectionEnd)";
    assert_eq!(browser.run(selected), WRONG);
    browser.picture("ask-fault");
    browser.keys("id");
    until_planned(&browser, "there");
    assert_eq!(
        browser.run("return document.querySelector('.behind mark')"),
        Value::Null
    );
    assert_clean(&browser);
}

#[test]
fn a_plan_that_is_overtaken_is_not_shown() {
    let world = world();
    let Some(browser) = ask(&world) else { return };
    world.fake.shown.lock().expect("whole").held = Some("first".into());
    browser.click("#sql");
    browser.keys("SELECT 'first' FROM loans");
    let planned = || world.fake.shown.lock().expect("whole").planned.clone();
    let end = std::time::Instant::now() + std::time::Duration::from_secs(20);
    while planned().is_empty() {
        assert!(std::time::Instant::now() < end);
        std::thread::yield_now();
    }
    // The first is under way, and what is asked for next waits for it.
    browser.run("const one = document.getElementById('sql'); one.value = \"SELECT 'second' FROM loans\"; one.dispatchEvent(new Event('input'))");
    browser.run("window.seen = []; new MutationObserver(() => window.seen.push(document.querySelector('[data-plan]').textContent)).observe(document.querySelector('[data-plan]'), { subtree: true, childList: true })");
    until_planned(&browser, "waiting");
    world.fake.shown.lock().expect("whole").held = None;
    until_planned(&browser, "there");
    browser.until_shown("the query SELECT 'second' FROM loans");
    let seen = browser.run("return window.seen.some((text) => text.includes(`'first'`))");
    assert_eq!(seen, false);
    assert_clean(&browser);
}

#[test]
fn markup_in_names_queries_and_faults_is_text() {
    let world = world();
    let attack = "<img src=x onerror='window.broken = 1'>";
    {
        let mut shown = world.fake.shown.lock().expect("whole");
        let party = &mut shown.catalogue.parties[1];
        party.name = attack.into();
        let table = &mut party.tables[0];
        table.name = attack.into();
        table.columns[0].name = attack.into();
        table.columns[0].kind = attack.into();
        table.columns[0].promises = vec![attack.into()];
        table.rules = vec![attack.into()];
    }
    let sql = format!("SELECT '{attack}' FROM people");
    let text = format!("query = {}", json!(sql));
    let old = world
        .fake
        .propose(0, &text, "old", Actor::Service)
        .expect("proposed");
    let theirs = world
        .fake
        .propose(1, &format!("{text}\n"), "new", Actor::Peer(1))
        .expect("proposed");
    world.fake.shown.lock().expect("whole").weighed = Weighed {
        compared: Some(Compared {
            job: old.proposal.id.to_string(),
            same_but_for_constants: true,
            constants: vec![OtherConstant {
                from: 7,
                to: 9 + attack.len() as u64,
                before: attack.into(),
            }],
            differs: vec![attack.into()],
        }),
        looked_through: None,
        allowance: vec![attack.into()],
    };
    let Some(browser) = ask(&world) else { return };
    browser.until_shown(attack);
    browser.run("document.querySelectorAll('.ask details').forEach((one) => { one.open = true; })");
    browser.click("#sql");
    browser.keys(&format!("{attack} {WRONG}"));
    until_planned(&browser, "fault");
    browser.keys(" <im");
    browser.keys(ESCAPE);
    let clean = || {
        let made = browser.run("return document.querySelectorAll('main img, main script, main b').length");
        assert_eq!(made, 0);
        assert_eq!(browser.run("return window.broken ?? null"), Value::Null);
    };
    clean();
    browser.press("Ask again");
    browser.until(&format!(
        "document.getElementById('sql').value === {}",
        json!(sql)
    ));
    until_planned(&browser, "there");
    clean();
    go_to_job(&browser, &world, &theirs);
    browser.until_shown("You approved the same query with other constants before");
    browser.until_shown("What else differs:");
    assert_eq!(
        browser.run("return document.querySelector('pre.sql mark').textContent"),
        format!("'{attack}'")
    );
    browser.picture("job-weighed");
    clean();
    go(&browser, &world, "jobs", "Jobs");
    browser.until_shown(&sql[..40]);
    clean();
    assert_clean(&browser);
}

#[test]
fn an_approver_sees_what_differs_from_what_was_approved() {
    let world = world();
    let query = |least: u32| {
        format!(
            "query = {}",
            json!(QUERY.replace("GROUP", &format!("WHERE owed > {least} GROUP")))
        )
    };
    let propose = |least, key| {
        world
            .fake
            .propose(1, &query(least), key, Actor::Peer(1))
            .expect("proposed")
    };
    let (old, new) = (propose(500, "old"), propose(20, "new"));
    let at = QUERY.find("GROUP").expect("there") as u64 + 13;
    world.fake.shown.lock().expect("whole").weighed = Weighed {
        compared: Some(Compared {
            job: old.proposal.id.to_string(),
            same_but_for_constants: true,
            constants: vec![OtherConstant {
                from: at,
                to: at + 2,
                before: "500".into(),
            }],
            differs: vec!["The answer goes also to South Bank.".into()],
        }),
        looked_through: None,
        allowance: vec!["Table loans: 2 of 5 answers of the last 24 hours are used; 3 are left.".into()],
    };
    let Some(browser) = enter(&world) else { return };
    browser.screen(1280, 900, "light");
    go_to_job(&browser, &world, &new);
    for text in [
        "They are marked above; in their places stood 500.",
        "The answer goes also to South Bank.",
        "2 of 5 answers of the last 24 hours",
        "North Bank (you) learns the answer",
    ] {
        browser.until_shown(text);
    }
    let marked = browser.run(
        "return [...document.querySelectorAll('pre.sql mark')].map((one) => [one.textContent, one.title])",
    );
    assert_eq!(marked, json!([["20", "before: 500"]]));
    browser.picture("job-of-a-peer");
    assert_clean(&browser);
}

#[test]
fn tables_are_listed_as_they_are_published() {
    let world = world();
    let Some(browser) = ask(&world) else { return };
    browser.until_shown("people");
    world.fake.shown.lock().expect("whole").catalogue.parties[1].tables[0].name = "persons".into();
    browser.until_with(
        "document.querySelector('button[data-insert=persons]') !== null",
        || {
            world.fake.tell(&Happened::Catalogue { party: 1 });
        },
    );
    browser.click("#sql");
    browser.keys("SELECT 1 FROM per");
    assert_eq!(offered(&browser), ["persons"]);
    assert_clean(&browser);
}

#[test]
fn who_may_not_propose_sees_no_editor() {
    let world = world();
    let Some(browser) = Browser::open() else { return };
    browser.go(&format!(
        "{}/#{}",
        world.url(),
        world.login(&[Scope::Read, Scope::Approve])
    ));
    browser.until("document.querySelector('h1')?.textContent === 'Overview'");
    browser.go(&format!("{}/#/ask", world.url()));
    browser.until("document.title === 'Overview · Cenote'");
    let seen = browser.run("return [...document.querySelectorAll('nav a')].map((one) => one.textContent)");
    assert!(!seen.to_string().contains("Ask"), "{seen}");
    assert_eq!(browser.run("return document.getElementById('sql')"), Value::Null);
    assert_clean(&browser);
}

#[test]
fn what_jobs_compute_is_listed() {
    let world = world();
    world.fake.proposed_by_peer("circuit = \"lib:add32\"");
    world.fake.proposed_by_peer("circuit = \"add32.txt\"");
    let Some(browser) = enter(&world) else { return };
    browser.until_shown("circuit add32 from a file");
    go(&browser, &world, "jobs", "Jobs");
    let cells = browser
        .run("return [...document.querySelectorAll('tbody tr')].map((row) => row.cells[1].textContent)");
    assert_eq!(cells, json!(["circuit add32 from a file", "circuit add32"]));
}

#[test]
fn ten_thousand_rows_are_answered_in_place() {
    let world = world();
    let rows: Vec<(String, String)> = (0..10_000)
        .map(|row| (format!("r{row}"), format!("{}.00", 7919 * row % 10_000)))
        .collect();
    let rows: Vec<(&str, &str)> = rows.iter().map(|(one, other)| (&**one, &**other)).collect();
    world.fake.shown.lock().expect("whole").result = answer(&rows);
    let Some(browser) = ask(&world) else { return };
    browser.screen(360, 740, "dark");
    browser.click("#sql");
    browser.keys(&format!("{QUERY}{ESCAPE}"));
    until_planned(&browser, "there");
    browser.press("Propose");
    browser.until_shown("waiting for decisions");
    let id = jobs(&world)[0].proposal.id;
    world.fake.peers_approve(id);
    world.fake.run(id);
    browser.until_shown("10,000 rows.");
    browser.press("Later rows");
    browser.until_shown("Rows 101 to 200");
    let wide = browser.run("return document.documentElement.scrollWidth");
    assert_eq!(wide, 360);
    browser.picture("ask-phone");
    assert_clean(&browser);
}
