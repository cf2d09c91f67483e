//! What a party has learnt, on the page.

use cenote_service::Job;
use cenote_service::Timestamp;
use cenote_service::audit::Actor;
use cenote_service::job::{Binding, FileMark, Source};
use serde_json::{Value, json};

use super::{assert_clean, enter, go, go_to_job};
use crate::browser::Browser;
use crate::fake::World;

const ROWS: usize = 10_000;

/// A job that is done, with this result.
fn done(world: &World, result: &Value) -> Job {
    world.fake.shown.lock().expect("whole").result = result.to_string();
    let job = world.fake.proposed_by_peer("circuit");
    let id = job.proposal.id;
    let mut left = Binding::new("left", Source::Data("salaries".into()));
    left.file = Some(FileMark {
        bytes: 4096,
        changed: Timestamp::now(),
    });
    let ada = Actor::Person("ada".into());
    let approved = world
        .fake
        .jobs
        .approve(id, vec![left], String::new(), ada, Timestamp::now());
    approved.expect("approved");
    world.fake.peers_approve(id);
    world.fake.run(id);
    job
}

/// Names, amounts with nulls and negative ones among them, and days.
fn answer() -> Value {
    let rows: Vec<[Option<String>; 3]> = (0..ROWS)
        .map(|row| {
            let amount = 7919 * row % ROWS;
            let sign = if row % 2 == 0 { "" } else { "-" };
            [
                Some(format!("<img src=x onerror=alert({row})>")),
                (row % 1000 != 3).then(|| format!("{sign}{}.{:02}", amount / 100, amount % 100)),
                Some(format!("2026-{:02}-{:02}", 1 + row % 12, 1 + row % 28)),
            ]
        })
        .collect();
    json!({ "job": "00", "answer": {
        "columns": ["<b>who</b>", "amount", "day"], "types": ["char(40)", "decimal(9,2)", "date"], "row_count": ROWS, "rows": rows,
    }})
}

/// The texts of a column as it is shown.
fn column(browser: &Browser, place: usize) -> Vec<String> {
    let script = format!(
        "return [...document.querySelectorAll('.grid-of-rows tbody tr')].map((row) => row.cells[{place}].textContent)"
    );
    serde_json::from_value(browser.run(&script)).expect("texts")
}

fn sort_by(browser: &Browser, place: usize) {
    browser.click(&format!("button[data-column='{place}']"));
}

fn choose(browser: &Browser, label: &str, option: &str) {
    let script = format!(
        "const label = [...document.querySelectorAll('label')].find((one) => one.textContent === '{label}'); \
         const select = document.getElementById(label.htmlFor); \
         select.selectedIndex = [...select.options].findIndex((one) => one.textContent === '{option}'); select.onchange()"
    );
    browser.run(&script);
}

#[test]
fn an_answer_is_a_table_that_can_be_sorted_drawn_and_saved() {
    let world = World::new();
    let job = done(&world, &answer());
    let Some(browser) = enter(&world) else { return };
    go_to_job(&browser, &world, &job);
    browser.press("Fetch the result");
    browser.until_shown("10,000 rows.");
    // What parties wrote is text.
    assert_eq!(column(&browser, 0)[0], "<img src=x onerror=alert(0)>");
    assert_eq!(column(&browser, 0).len(), 100);
    sort_by(&browser, 1);
    let least = column(&browser, 1);
    assert_eq!((&*least[0], &*least[1]), ("-99.99", "-99.97"));
    assert_eq!(
        browser.run("return document.querySelector('th[aria-sort=ascending]').textContent"),
        "amount ▲"
    );
    sort_by(&browser, 1);
    assert_eq!(column(&browser, 1)[0], "99.98");
    // Only what changes is read out, and the focus stays where it was pressed.
    assert_eq!(
        browser.run("return document.querySelectorAll('[aria-live] table').length"),
        0
    );
    let focus = || browser.run("return document.activeElement.textContent");
    let press = |text: &str| {
        browser.run(&format!(
            "const button = [...document.querySelectorAll('button')].find((one) => one.textContent === '{text}'); button.focus(); button.click()"
        ));
    };
    press("Later rows");
    browser.until_shown("Rows 101 to 200");
    assert_eq!(focus(), "Later rows");
    assert_eq!(
        browser.run("return document.getElementById('said').textContent"),
        "Rows 101 to 200"
    );
    press("Earlier rows");
    browser.until_shown("Rows 1 to 100");
    assert_eq!(focus(), "Later rows", "there are no earlier ones");
    press("Later rows");
    browser.until_shown("Rows 101 to 200");
    browser.run("for (let turn = 0; turn < 98; turn += 1) [...document.querySelectorAll('button')].find((one) => one.textContent === 'Later rows').click()");
    browser.until_shown("Rows 9,901 to 10,000");
    assert_eq!(column(&browser, 1)[90..], ["null"; 10]);

    for (kind, shape, count) in [
        ("Bars", "rect.bar", 60),
        ("Points", "circle.dot", 2000),
        ("Lines", "polyline.line", 1),
    ] {
        choose(&browser, "Chart", kind);
        choose(&browser, "Across", "day");
        let found = browser.run(&format!(
            "return document.querySelectorAll('.chart {shape}').length"
        ));
        assert_eq!(found, count, "{kind}");
        browser.picture(&format!("answer-{kind}"));
    }
    assert!(browser.text().contains("The first 2,000 of 10,000 rows"));
    browser.screen(360, 740, "dark");
    assert_eq!(browser.run("return document.documentElement.scrollWidth"), 360);
    browser.picture("answer-phone");
    assert_clean(&browser);
}

#[test]
fn what_is_saved_is_what_the_command_writes() {
    let world = World::new();
    let rows = json!([["a,\"b\"", "1"], ["", null], [null, "-2"]]);
    let result = json!({ "answer": { "columns": ["name", "n"], "types": ["char(8)", "i8"], "row_count": 3, "rows": rows } });
    let job = done(&world, &result);
    let Some(browser) = enter(&world) else { return };
    go_to_job(&browser, &world, &job);
    browser.press("Fetch the result");
    browser.until_shown("3 rows.");
    browser.run("URL.createObjectURL = (blob) => { blob.text().then((text) => { globalThis.saved = text; }); return '#'; }; HTMLAnchorElement.prototype.click = () => undefined");
    browser.press("Save as CSV");
    browser.until("globalThis.saved !== undefined");
    assert_eq!(
        browser.run("return globalThis.saved"),
        "name,n\n\"a,\"\"b\"\"\",1\n\"\",\n,-2\n"
    );
    browser.run("globalThis.saved = undefined");
    browser.press("Save as JSON");
    browser.until("globalThis.saved !== undefined");
    let saved = browser.run("return globalThis.saved");
    let saved: Value = serde_json::from_str(saved.as_str().expect("text")).expect("JSON");
    assert_eq!(saved, result, "nothing is left out");
    assert_clean(&browser);
}

#[test]
fn days_of_every_year_have_their_places_in_a_chart() {
    let world = World::new();
    let days = [
        "0001-01-01",
        "0099-12-31",
        "2026-01-02",
        "12026-01-02",
        "-0044-03-15",
    ];
    let rows: Vec<Value> = (1..)
        .zip(days)
        .map(|(n, day)| json!([day, n.to_string()]))
        .collect();
    let result = json!({ "answer": { "columns": ["day", "n"], "types": ["date", "i8"], "row_count": days.len(), "rows": rows } });
    let job = done(&world, &result);
    let Some(browser) = enter(&world) else { return };
    go_to_job(&browser, &world, &job);
    browser.press("Fetch the result");
    browser.until_shown("5 rows.");
    choose(&browser, "Chart", "Points");
    let places = browser.run(
        "return [...document.querySelectorAll('.chart circle.dot')].map((dot) => dot.getAttribute('cx'))",
    );
    let places: Vec<f64> = serde_json::from_value::<Vec<String>>(places)
        .expect("texts")
        .iter()
        .map(|place| place.parse().expect("a number"))
        .collect();
    let in_order = [4, 0, 1, 2, 3].map(|place: usize| places[place]);
    assert!(
        in_order.is_sorted() && places.iter().all(|place| place.is_finite()),
        "{places:?}"
    );
    assert_clean(&browser);
}

#[test]
fn outputs_of_a_circuit_are_numbers_and_long_ones_are_not() {
    let world = World::new();
    let output = |name: &str, width: u32, values: &[&str]| json!({ "name": name, "width": width, "order": "lsb", "to": [0], "values": values });
    let key = "0x000102030405060708090a0b0c0d0e0f";
    let result = json!({ "outputs": [output("sum", 64, &["0xffffffffffffffff", "0x0a"]), output("key", 128, &[key, key])] });
    let job = done(&world, &result);
    let Some(browser) = enter(&world) else { return };
    go_to_job(&browser, &world, &job);
    browser.press("Fetch the result");
    browser.until_shown("2 rows.");
    assert_eq!(column(&browser, 0), ["18446744073709551615", "10"]);
    assert_eq!(column(&browser, 1), [key; 2]);
    assert_clean(&browser);
}

/// It was given out once, and must not be lost.
#[test]
fn a_result_that_is_no_table_is_shown_as_it_came() {
    let world = World::new();
    let result = json!({ "outputs": [{ "name": "nothing", "width": 0, "order": "lsb", "to": [0], "values": ["0x"] }] });
    let job = done(&world, &result);
    let Some(browser) = enter(&world) else { return };
    go_to_job(&browser, &world, &job);
    browser.press("Fetch the result");
    browser.until_shown("\"values\": [");
    assert_clean(&browser);
}

#[test]
fn the_log_names_the_data_that_was_used() {
    let world = World::new();
    done(&world, &json!({}));
    let Some(browser) = enter(&world) else { return };
    go(&browser, &world, "log", "Log");
    browser.until_shown("with salaries (4.1 kB)");
    assert!(!browser.text().contains("[object"));
    assert_clean(&browser);
}

/// Nobody takes another party's proposal back before deciding on it.
#[test]
fn a_proposal_of_another_party_is_declined_and_not_cancelled() {
    let world = World::new();
    let job = world.fake.proposed_by_peer("circuit");
    let Some(browser) = enter(&world) else { return };
    go_to_job(&browser, &world, &job);
    browser.until_shown("Or do not take part");
    assert!(!browser.text().contains("Take it back"));
}
