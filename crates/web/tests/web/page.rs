//! The page, in a real browser.

mod answers;
mod asking;
mod catalogue;
mod changing;
mod drawing;
mod jobs;
mod look;

use std::time::Duration;

use cenote_service::job::{JobId, StateName};
use cenote_service::live::{Alarm, AlarmKind, Happened, LinkState, Running, RunningShards};
use cenote_service::token::Scope;
use cenote_service::{Job, Timestamp};
use cenote_web::Options;
use serde_json::{Value, json};

use crate::browser::Browser;
use crate::fake::World;

/// A browser that has logged in with all scopes.
fn enter(world: &World) -> Option<Browser> {
    let browser = Browser::open()?;
    browser.go(&format!("{}/#{}", world.url(), world.login(&Scope::ALL)));
    browser.until("document.querySelector('h1')?.textContent === 'Overview'");
    Some(browser)
}

/// Goes to a section, which has this title.
fn go(browser: &Browser, world: &World, place: &str, title: &str) {
    browser.go(&format!("{}/#/{place}", world.url()));
    let title = json!(format!("{title} · Cenote"));
    browser.until(&format!("document.title === {title}"));
}

fn go_to_job(browser: &Browser, world: &World, job: &Job) {
    let (place, title) = of_job(job);
    go(browser, world, &place, &title);
}

/// The place of a job, and its title.
fn of_job(job: &Job) -> (String, String) {
    (format!("jobs/{}", job.proposal.id), format!("Job {}", short(job)))
}

/// Nothing was forbidden by the content-security policy, and no script failed.
fn assert_clean(browser: &Browser) {
    assert_eq!(browser.errors(), Vec::<String>::new());
}

fn short(job: &Job) -> String {
    job.proposal.id.to_string()[..8].to_owned()
}

#[test]
fn a_link_logs_in_once() {
    let world = World::new();
    let Some(browser) = Browser::open() else { return };
    browser.go(&world.url());
    browser.until_shown("You are not logged in");
    let link = format!("{}/#{}", world.url(), world.login(&[Scope::Read]));
    browser.go("about:blank");
    browser.go(&link);
    browser.until_shown("South Bank");
    assert_eq!(browser.run("return location.href"), format!("{}/", world.url()));
    // Neither scripts nor the address hold what opens the session.
    assert_eq!(browser.run("return document.cookie"), "");
    let sections =
        browser.run("return [...document.querySelectorAll('#nav a')].map((one) => one.textContent)");
    assert_eq!(
        sections,
        json!(["Overview", "Jobs", "Catalogue", "Kept values", "Log"])
    );
    browser.press("Log out");
    browser.until_shown("You are not logged in");
    browser.go("about:blank");
    browser.go(&link);
    browser.until_shown("The token is not valid");
}

#[test]
fn a_link_is_used_where_the_page_is_shown_already() {
    let world = World::new();
    let Some(browser) = Browser::open() else { return };
    browser.go(&world.url());
    browser.until_shown("You are not logged in");
    let login = world.login(&Scope::ALL);
    browser.go(&format!("{}/#{login}", world.url()));
    browser.until("document.querySelector('h1')?.textContent === 'Overview'");
    assert_eq!(browser.run("return location.href"), format!("{}/", world.url()));
    // Another window of the same page is logged in too; one whose secret is gone is not.
    browser.go(&format!("{}/#/jobs", world.url()));
    browser.until("document.querySelector('h1')?.textContent === 'Jobs'");
    browser.run("localStorage.clear()");
    browser.go("about:blank");
    browser.go(&world.url());
    browser.until_shown("You are not logged in");
}

#[test]
fn the_overview_shows_peers_stock_jobs_and_alarms_as_they_change() {
    let world = World::new();
    let waiting = world.fake.proposed_by_peer("circuit");
    {
        let mut shown = world.fake.shown.lock().expect("whole");
        shown.running = vec![Running {
            job: JobId([7; 16]),
            since: Timestamp::now(),
            done: 250,
            total: 1000,
            stands: false,
            shards: Some(RunningShards {
                shards: 16,
                done: 3,
                handed_out: 5,
                attempts: 32,
                running: Some("shard 3 (attempt 2)".into()),
            }),
        }];
    }
    let Some(browser) = enter(&world) else { return };
    for text in [
        "South Bank",
        "connected",
        "three: triples",
        &short(&waiting),
        "250 of 1,000",
        "3 of 16 shards are done; now: shard 3 (attempt 2)",
        "Attempts so far: 5 of at most 32",
        "being filled",
    ] {
        browser.until_shown(text);
    }
    assert_eq!(
        browser.run("return document.querySelector('progress').value"),
        250
    );
    {
        let mut shown = world.fake.shown.lock().expect("whole");
        shown.peers[0].link = LinkState::Down;
        shown.peers[0].reason = Some("its machine does not answer".into());
        shown.peers[0].again = Some(Timestamp::now());
        shown.alarms = vec![Alarm {
            kind: AlarmKind::PeerLost,
            text: "South Bank has been away for 5 minutes".into(),
            advice: "ask its operator".into(),
            since: Timestamp::now(),
        }];
    }
    // The page may not hear of what happens yet.
    browser.until_with(
        "document.getElementById('said').textContent === 'The alarms have changed.'",
        || world.fake.tell(&Happened::Alarm),
    );
    browser.until_shown("its machine does not answer");
    browser.until_shown("South Bank has been away");
    browser.picture("overview");
    assert_clean(&browser);
}

#[test]
fn kept_values_are_shown_before_they_are_taken_and_dropped_with_the_keyboard() {
    let world = World::new();
    let old = world.fake.kept_by_peer("balances");
    let job = world.fake.proposed_keeping("totals", Some(("balances", old)));
    let Some(browser) = enter(&world) else { return };
    go_to_job(&browser, &world, &job);
    let old = &old.to_string()[..8];
    browser.until_shown(&format!(
        "Takes the value balances that job {old} kept, as old; nobody learns it."
    ));
    browser.until_shown("Keeps sum, 1 × 32 bits, as totals (u64) for 30 days; nobody learns it.");
    go(&browser, &world, "kept", "Kept values");
    browser.until_shown("This cannot be undone.");
    browser.until_shown("in 30 days");
    let (tab, enter) = ("\u{E004}", "\u{E007}");
    let name = format!("Drop balances of job {old}");
    for _ in 0..60 {
        let focused = browser.run("return document.activeElement.getAttribute('aria-label')");
        if focused == name.as_str() {
            break;
        }
        browser.keys(tab);
    }
    browser.keys(enter);
    browser.until("document.getElementById('said').textContent === 'balances is dropped.'");
    browser.until_shown("There are none.");
    browser.until("document.activeElement.tagName === 'H1'");
    assert_eq!(world.fake.jobs.kept_in_all().expect("summed"), (0, 0));
    go(&browser, &world, "log", "Log");
    browser.until_shown("kept dropped");
    browser.until_shown("value balances");
    browser.until_shown("learnt by nobody, kept as balances");
    assert_clean(&browser);
}

#[test]
fn what_peers_say_is_shown_as_text() {
    let world = World::new();
    let attack = "<script>window.broken = 1</script><img src=x onerror='window.broken = 2'>";
    {
        let mut shown = world.fake.shown.lock().expect("whole");
        shown.names[1] = attack.into();
        shown.peers[0].name = attack.into();
        shown.peers[0].link = LinkState::Refused;
        shown.peers[0].reason = Some(attack.into());
        shown.summary = attack.into();
        shown.stock[0].kind = attack.into();
        shown.alarms = vec![Alarm {
            kind: AlarmKind::Cheating,
            text: attack.into(),
            advice: attack.into(),
            since: Timestamp::now(),
        }];
    }
    let job = world.fake.proposed_by_peer("circuit");
    let says = cenote_service::job::Remote::Decline {
        proposal: job.digest,
        reason: attack.into(),
    };
    world
        .fake
        .jobs
        .hear(job.proposal.id, 2, says, Timestamp::now())
        .expect("heard");
    let Some(browser) = enter(&world) else { return };
    for (place, title) in [
        (String::new(), "Overview".into()),
        of_job(&job),
        ("jobs".into(), "Jobs".into()),
        ("log".into(), "Log".into()),
        ("ask".into(), "Ask".into()),
        ("propose".into(), "A job file".into()),
    ] {
        go(&browser, &world, &place, &title);
        let shown =
            browser.run("return document.documentElement.textContent.includes(\"<script>window.broken\")");
        assert_eq!(shown, true, "{place}");
        let made = browser.run(
            "return document.querySelectorAll('main script, main img, nav script, header script').length",
        );
        assert_eq!(made, 0, "{place}");
    }
    // A reason that is written from right to left leaves alone what is beside it.
    for ((place, title), of) in [
        (of_job(&job), "main .note bdi"),
        (("log".into(), "Log".into()), "main td bdi"),
    ] {
        go(&browser, &world, &place, &title);
        let isolated = browser.run(&format!(
            "return [...document.querySelectorAll('{of}')].some((one) => one.textContent.startsWith('<script>window.broken'))"
        ));
        assert_eq!(isolated, true, "{place}");
    }
    assert_eq!(browser.run("return window.broken ?? null"), Value::Null);
    assert_clean(&browser);
}

#[test]
fn charts_show_the_last_hour_and_say_what_they_show() {
    let world = World::with(Options {
        history: Duration::from_millis(50),
        ..Options::default()
    });
    let Some(browser) = enter(&world) else { return };
    {
        let mut shown = world.fake.shown.lock().expect("whole");
        shown.counts.jobs.insert(StateName::Done, 40);
        shown.counts.latency = vec![(0.01, 33), (0.1, 39), (f64::INFINITY, 40)];
        shown.stock[0].amount = 20_000_000;
    }
    world.fake.tell(&Happened::Stock);
    browser.until("document.querySelectorAll('svg.chart polyline').length >= 3");
    for beginning in [
        "Stock of three: triples. stock: 20 million now, 40 million at its highest",
        "Jobs a minute. done: ",
        "Time from submission to result. half of the jobs within: 5 ms",
    ] {
        browser.until(&format!("[...document.querySelectorAll('svg.chart')].some((one) => one.getAttribute('aria-label').startsWith({}))", json!(beginning)));
    }
    browser.press("Last day");
    browser.until("document.querySelector('button[aria-pressed=true]').textContent === 'Last day'");
    // The focus stays on what was pressed.
    browser.until("document.activeElement.textContent === 'Last day'");
    browser.press("Last hour");
    browser.until("document.querySelectorAll('svg.chart polyline').length >= 3");
    browser.picture("charts");
    assert_clean(&browser);
}

#[test]
fn administrators_make_and_revoke_tokens_on_the_page() {
    let world = World::new();
    let Some(browser) = enter(&world) else { return };
    go(&browser, &world, "tokens", "Tokens");
    browser.click("form input[type=text]");
    browser.keys("nightly report");
    browser.press("Make a token");
    browser.until_shown("it is not shown again");
    let made = browser.run("return document.querySelector('[aria-live] pre').textContent");
    let made = made.as_str().expect("a token").to_owned();
    let authenticate = || {
        world
            .tokens
            .authenticate(cenote_service::token::TokenKind::Bearer, &made, Timestamp::now())
    };
    assert_eq!(authenticate().expect("let in").name, "nightly report");
    go(&browser, &world, "", "Overview");
    go(&browser, &world, "tokens", "Tokens");
    browser.click("button[aria-label='Revoke nightly report, for programs']");
    browser.until("document.querySelector(\"button[aria-label^='Revoke nightly']\") === null");
    authenticate().expect_err("revoked");
    assert_clean(&browser);
}
