//! The page, in a real browser.

use std::time::{Duration, Instant};

use cenote_service::audit::Actor;
use cenote_service::job::{JobId, StateName};
use cenote_service::live::{Alarm, AlarmKind, Happened, LinkState, Running};
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
    assert_eq!(sections, json!(["Overview", "Jobs", "Kept values", "Log"]));
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
fn an_approver_is_told_of_little_security_and_of_what_is_not_shown() {
    let world = World::new();
    {
        let mut shown = world.fake.shown.lock().expect("whole");
        shown.statistical = 1;
        shown
            .files
            .insert("circuit.txt".into(), "0123456789abcdef".repeat(5000));
    }
    let job = world.fake.proposed_by_peer("circuit");
    let Some(browser) = enter(&world) else { return };
    go_to_job(&browser, &world, &job);
    browser.until_shown("is not caught with a chance of 1 in 2");
    browser.click("details.card summary");
    browser.until_shown("Nothing of its 80,000 bytes is shown yet.");
    browser.press("Show more of it");
    browser.until_shown("The first 65,536 of its 80,000 bytes are shown.");
    browser.press("Show more of it");
    browser.until_shown("All of its 80,000 bytes are shown.");
    let shown =
        browser.run("return document.querySelector('pre[aria-label=\"circuit.txt\"]').textContent.length");
    assert_eq!(shown, 80_000);
    assert_clean(&browser);
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
        }];
    }
    let Some(browser) = enter(&world) else { return };
    for text in [
        "South Bank",
        "connected",
        "three: triples",
        &short(&waiting),
        "250 of 1,000",
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
        shown.peers[0].link = LinkState::Down {
            reason: "its machine does not answer".into(),
            again: Some(Timestamp::now()),
        };
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
fn a_job_is_proposed_approved_and_its_result_fetched() {
    let world = World::new();
    let Some(browser) = enter(&world) else { return };
    browser.press("Propose");
    browser.until_shown("Propose a job");
    browser.until_shown("Each of two parties gives a number");
    browser.picture("propose");
    browser.press("Propose to the other parties");
    browser.until("document.querySelector('h1')?.textContent.startsWith('Job ')");
    let listed = world.fake.jobs.list(all()).expect("listed").jobs;
    let id = listed[0].proposal.id;
    assert_eq!(listed[0].proposal.proposer, 0);
    for text in [
        "Adds three numbers.",
        "North Bank (you), South Bank",
        "1 × 32 bits",
        "Your decision",
    ] {
        browser.until_shown(text);
    }
    browser.picture("job");
    // What is typed stays, whatever happens meanwhile.
    browser.click("section form select");
    browser.keys("Type");
    browser.keys("\u{E007}");
    browser.until("document.querySelector('form textarea')?.offsetParent !== null");
    browser.click("form textarea");
    browser.keys("42");
    world.fake.proposed_by_peer("circuit of another");
    draw_twice(&browser, &world);
    assert_eq!(
        browser.run("return document.querySelector('form textarea').value"),
        "42"
    );
    browser.press("Approve with this data");
    browser.until("document.body.innerText.includes('Your decision') === false");
    browser.until_shown("Take it back");
    assert_eq!(world.fake.shown.lock().expect("whole").posted["left"], "42");
    world.fake.peers_approve(id);
    browser.until("document.querySelector('h1 .state')?.textContent === 'approved'");
    world.fake.run(id);
    browser.until_shown("Fetch the result");
    browser.until_shown("A result is given out once");
    let done = Happened::Job {
        job: id,
        state: StateName::Done,
    };
    browser.until_with(
        &format!(
            "document.getElementById('said').textContent === 'Job {}: done.'",
            short(&listed[0])
        ),
        || world.fake.tell(&done),
    );
    browser.press("Fetch the result");
    browser.until_shown("\"sum\": \"7\"");
    browser.until_shown("Save as a file");
    browser.picture("result");
    assert_clean(&browser);
    go(&browser, &world, "log", "Log");
    browser.until_shown("fetched");
    browser.press("Check the whole log");
    browser.until_shown("are as they were written");
    browser.picture("log");
    assert_clean(&browser);
}

/// Tells of something until the page has asked for what is new, has done with the answers, and asks again.
fn draw_twice(browser: &Browser, world: &World) {
    let asked = || world.fake.shown.lock().expect("whole").asked;
    let before = asked();
    let start = Instant::now();
    while asked() < before + 2 {
        assert!(start.elapsed() < Duration::from_secs(20), "{}", browser.text());
        world.fake.tell(&Happened::Stock);
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn a_drawing_that_takes_long_is_shown_though_more_happens() {
    let world = World::new();
    let job = world.fake.proposed_by_peer("circuit");
    let Some(browser) = enter(&world) else { return };
    go_to_job(&browser, &world, &job);
    {
        let mut shown = world.fake.shown.lock().expect("whole");
        // Longer than the page waits after an event.
        shown.pause = Duration::from_millis(1500);
        shown.summary = "Adds five numbers.".into();
    }
    browser.until_with("document.body.innerText.includes('Adds five numbers.')", || {
        world.fake.tell(&Happened::Stock);
    });
    // Where the reader goes meanwhile is shown, and stays.
    draw_twice(&browser, &world);
    go(&browser, &world, "kept", "Kept values");
    std::thread::sleep(Duration::from_millis(2000));
    assert_eq!(
        browser.run("return document.querySelector('h1').textContent"),
        "Kept values"
    );
    assert_clean(&browser);
}

#[test]
fn a_drawing_in_the_place_of_another_leaves_alone_what_has_not_changed() {
    let world = World::new();
    let job = world.fake.proposed_by_peer("circuit");
    let Some(browser) = enter(&world) else { return };
    go_to_job(&browser, &world, &job);
    browser.run("window.before = document.querySelector('form button'); window.before.focus()");
    world.fake.shown.lock().expect("whole").summary = "Adds five numbers.".into();
    browser.run(
        "for (const _ of [1, 2]) dispatchEvent(new CustomEvent('cenote-refresh', { detail: { stay: true } }))",
    );
    browser.until_shown("Adds five numbers.");
    assert_eq!(
        browser.run("return document.activeElement === window.before && window.before.isConnected"),
        true
    );
    assert_clean(&browser);
}

fn all() -> cenote_service::job::PageRequest {
    cenote_service::job::PageRequest {
        state: None,
        before: None,
        limit: 200,
    }
}

#[test]
fn a_job_is_approved_with_the_keyboard_alone() {
    let world = World::new();
    let job = world.fake.proposed_by_peer("circuit");
    let Some(browser) = enter(&world) else { return };
    let (tab, enter, down) = ("\u{E004}", "\u{E007}", "\u{E015}");
    let focused = || {
        let text = "const one = document.activeElement; return one.labels?.[0]?.textContent ?? one.textContent.trim()";
        browser.run(text).as_str().unwrap_or_default().to_owned()
    };
    let walk_to = |wanted: &str| {
        for _ in 0..60 {
            if focused().starts_with(wanted) {
                // Where the focus is can be seen.
                let seen =
                    browser.run("return getComputedStyle(document.activeElement).outlineStyle !== 'none'");
                assert_eq!(seen, true, "{wanted}");
                return;
            }
            browser.keys(tab);
        }
        panic!("the keyboard does not come to {wanted}");
    };
    browser.keys(tab);
    assert_eq!(focused(), "Skip to the content");
    browser.keys(enter);
    walk_to(&format!("Job {}", short(&job)));
    browser.keys(enter);
    browser.until(
        "document.activeElement.tagName === 'H1' && document.activeElement.textContent.startsWith('Job ')",
    );
    walk_to("Data for left");
    browser.keys(down);
    walk_to("Why (optional");
    browser.keys("agreed on Monday");
    walk_to("Approve with this data");
    browser.keys(enter);
    browser.until("document.body.innerText.includes('Your decision') === false");
    let decided = world.fake.jobs.get(job.proposal.id).expect("there");
    assert!(decided.decisions[0].is_some());
    assert_eq!(
        world
            .fake
            .jobs
            .disclosures(decided.proposal.program.digest, "loans.csv".into())
            .expect("counted"),
        1
    );
    // The focus is where the new content begins, and the change is told.
    browser.until("document.activeElement.tagName === 'H1'");
    browser.until("document.getElementById('said').textContent.length > 0");
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
fn a_job_is_declined_with_a_reason() {
    let world = World::new();
    let job = world.fake.proposed_by_peer("circuit");
    let Some(browser) = enter(&world) else { return };
    go_to_job(&browser, &world, &job);
    browser.press("Decline");
    // Without a reason nothing is sent.
    assert_eq!(
        browser.run("return document.activeElement.validity.valueMissing"),
        true
    );
    browser.keys("not before the audit");
    browser.press("Decline");
    browser.until_shown("North Bank (you) does not take part: not before the audit");
    assert_eq!(
        world.fake.jobs.get(job.proposal.id).expect("there").state.name(),
        StateName::Declined
    );
}

#[test]
fn what_peers_say_is_shown_as_text() {
    let world = World::new();
    let attack = "<script>window.broken = 1</script><img src=x onerror='window.broken = 2'>";
    {
        let mut shown = world.fake.shown.lock().expect("whole");
        shown.names[1] = attack.into();
        shown.peers[0].name = attack.into();
        shown.peers[0].link = LinkState::Refused {
            reason: attack.into(),
        };
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
        ("propose".into(), "Propose".into()),
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
fn ten_thousand_jobs_are_shown_a_page_at_a_time() {
    let world = World::new();
    let Some(browser) = enter(&world) else { return };
    // Many at once, since each call returns only when the disk has it.
    std::thread::scope(|scope| {
        for part in 0..50 {
            let fake = &world.fake;
            scope.spawn(move || {
                for number in 0..200 {
                    let key = format!("{part} {number}");
                    fake.propose(0, "circuit", &key, Actor::Service)
                        .expect("proposed");
                }
            });
        }
    });
    go(&browser, &world, "jobs", "Jobs");
    let first = || {
        browser
            .run("return document.querySelector('tbody a').textContent")
            .as_str()
            .unwrap_or_default()
            .to_owned()
    };
    let rows = || browser.run("return document.querySelectorAll('tbody tr').length");
    browser.until("document.querySelector('tbody a')?.textContent.startsWith('10000: ')");
    assert_eq!(rows(), 25);
    browser.press("Older");
    browser.until("document.querySelector('tbody a')?.textContent.startsWith('9975: ')");
    browser.press("Newest");
    browser.until("document.querySelector('tbody a')?.textContent.startsWith('10000: ')");
    go(&browser, &world, "jobs?before=12", "Jobs");
    browser.until("document.querySelector('tbody a')?.textContent.startsWith('11: ')");
    assert!(first().starts_with("11: ") && rows() == 11);
    go(&browser, &world, "", "Overview");
    browser.until_shown("All that wait");
    let elements = browser.run("return document.querySelectorAll('*').length");
    assert!(elements.as_u64() < Some(1000), "{elements}");
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
        "Stock of three: triples. stock: 20M at last, 40M at most",
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

/// The sections, with a job that waits and one that is done, and their titles.
fn sections(world: &World) -> Vec<(String, String)> {
    let waiting = world.fake.proposed_by_peer("circuit");
    let done = world.fake.proposed_by_peer("circuit of another");
    let binding = vec![cenote_service::job::Binding::new(
        "left",
        cenote_service::job::Source::Posted,
    )];
    world
        .fake
        .jobs
        .approve(
            done.proposal.id,
            binding,
            String::new(),
            Actor::Person("ada".into()),
            Timestamp::now(),
        )
        .expect("approved");
    world.fake.peers_approve(done.proposal.id);
    world.fake.run(done.proposal.id);
    let kept = world.fake.kept_by_peer("balances");
    let keeping = world.fake.proposed_keeping("totals", Some(("balances", kept)));
    {
        let mut shown = world.fake.shown.lock().expect("whole");
        shown.alarms = vec![Alarm {
            kind: AlarmKind::StockLow,
            text: "Little is left of the stock".into(),
            advice: "wait, or give the machine more time".into(),
            since: Timestamp::now(),
        }];
        shown.peers[0].link = LinkState::Down {
            reason: "its machine does not answer".into(),
            again: None,
        };
    }
    vec![
        (String::new(), "Overview".into()),
        ("jobs".into(), "Jobs".into()),
        of_job(&waiting),
        of_job(&done),
        of_job(&keeping),
        ("propose".into(), "Propose".into()),
        ("kept".into(), "Kept values".into()),
        ("log".into(), "Log".into()),
        ("tokens".into(), "Tokens".into()),
    ]
}

/// The texts whose contrast with what is behind them is less than the guidelines ask (WCAG 2.2, 1.4.3: 4.5, or 3 for large text).
const CONTRAST: &str = r"
const channel = (value) => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4);
const parse = (text) => text.match(/[\d.]+/g).map(Number);
const light = ([r, g, b]) => 0.2126 * channel(r / 255) + 0.7152 * channel(g / 255) + 0.0722 * channel(b / 255);
const ground = (one) => {
  for (let at = one; at; at = at.parentElement) {
    const colour = parse(getComputedStyle(at).backgroundColor);
    if (colour.length < 4 || colour[3] === 1) return colour;
  }
  return matchMedia('(prefers-color-scheme: dark)').matches ? [18, 18, 18] : [255, 255, 255];
};
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
const low = [];
let seen = 0;
while (walker.nextNode()) {
  const one = walker.currentNode.parentElement;
  if (!walker.currentNode.textContent.trim() || one.getClientRects().length === 0 || one.closest('.unseen, .skip, script, noscript, :disabled')) continue;
  const style = getComputedStyle(one);
  const colour = one.closest('svg') ? style.fill : style.color;
  const [a, b] = [light(parse(colour)), light(ground(one))];
  const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
  const large = parseFloat(style.fontSize) >= 24 || (parseFloat(style.fontSize) >= 18.66 && style.fontWeight >= 700);
  seen += 1;
  if (ratio < (large ? 3 : 4.5)) low.push(`${ratio.toFixed(2)} ${one.tagName}.${one.className}: ${walker.currentNode.textContent.trim().slice(0, 40)}`);
}
return { seen, low };
";

#[test]
fn texts_can_be_read_in_both_colour_schemes_and_on_a_phone() {
    let world = World::new();
    let Some(browser) = enter(&world) else { return };
    let sections = sections(&world);
    let mut grounds = Vec::new();
    for scheme in ["light", "dark"] {
        for (number, (place, title)) in sections.iter().enumerate() {
            browser.screen(1200, 900, scheme);
            go(&browser, &world, place, title);
            let found = browser.run(CONTRAST);
            assert!(found["seen"].as_u64() > Some(10), "{place}");
            assert_eq!(found["low"], json!([]), "{scheme} {place}");
            browser.picture(&format!("{scheme}-{number}"));
            // A phone: nothing is wider than the screen, and what is pressed is large enough for a finger.
            browser.screen(360, 740, scheme);
            let wide = browser.run("return document.documentElement.scrollWidth");
            assert_eq!(wide, 360, "{scheme} {place}");
            let small = browser.run(
                "return [...document.querySelectorAll('button, nav a, select, main input, textarea')].filter((one) => one.offsetParent \
                 && !one.closest('.check') && Math.min(one.offsetHeight, one.offsetWidth) < 32).map((one) => one.outerHTML.slice(0, 80))",
            );
            assert_eq!(small, json!([]), "{place}");
            browser.picture(&format!("phone-{scheme}-{number}"));
        }
        grounds.push(browser.run("return getComputedStyle(document.body).backgroundColor"));
    }
    assert_ne!(grounds[0], grounds[1]);
    assert_clean(&browser);
}

/// What a screen reader is told, by the browser's accessibility tree.
#[test]
fn everything_has_a_role_and_a_name() {
    let world = World::new();
    let Some(browser) = enter(&world) else { return };
    browser.command("Accessibility.enable", &json!({}));
    for (place, title) in sections(&world) {
        go(&browser, &world, &place, &title);
        let tree = browser.command("Accessibility.getFullAXTree", &json!({}));
        let nodes: Vec<(&str, &str)> = tree["nodes"]
            .as_array()
            .expect("nodes")
            .iter()
            .filter(|node| node["ignored"] != true)
            .map(|node| {
                let text = |part: &str| node[part]["value"].as_str().unwrap_or_default();
                (text("role"), text("name"))
            })
            .collect();
        let count = |role: &str| nodes.iter().filter(|(found, _)| *found == role).count();
        assert_eq!((count("main"), count("banner")), (1, 1), "{place}: {nodes:?}");
        assert!(nodes.contains(&("navigation", "Sections")), "{place}");
        assert!(count("status") >= 1 && count("alert") == 1, "{place}");
        let needs_name = [
            "button",
            "link",
            "textbox",
            "combobox",
            "checkbox",
            "spinbutton",
            "progressbar",
            "img",
            "image",
            "table",
            "region",
            "navigation",
            "columnheader",
            "group",
        ];
        for (role, name) in &nodes {
            assert!(
                !needs_name.contains(role) || !name.trim().is_empty() || *role == "group",
                "{place}: a {role} without a name"
            );
        }
        // Headings go down a step at a time, from one of the first level.
        let levels = browser.run("return [...document.querySelectorAll('h1, h2, h3')].filter((one) => one.offsetParent).map((one) => Number(one.tagName[1]))");
        let levels: Vec<u64> = levels
            .as_array()
            .expect("levels")
            .iter()
            .filter_map(Value::as_u64)
            .collect();
        assert_eq!(levels.iter().filter(|level| **level == 1).count(), 1, "{place}");
        assert!(
            levels[0] == 1 && levels.windows(2).all(|pair| pair[1] <= pair[0] + 1),
            "{place}: {levels:?}"
        );
        // Names of elements are given once.
        let twice = browser.run("const ids = [...document.querySelectorAll('[id]')].map((one) => one.id); return ids.length - new Set(ids).size");
        assert_eq!(twice, 0, "{place}");
        let title = browser.run("return document.title");
        assert!(
            title.as_str().is_some_and(|title| title.ends_with("· Cenote")),
            "{title}"
        );
    }
    assert_eq!(browser.run("return document.documentElement.lang"), "en");
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
            .authenticate(cenote_service::token::Kind::Bearer, &made, Timestamp::now())
    };
    assert_eq!(authenticate().expect("let in").name, "nightly report");
    go(&browser, &world, "", "Overview");
    go(&browser, &world, "tokens", "Tokens");
    browser.click("button[aria-label='Revoke nightly report, for programs']");
    browser.until("document.querySelector(\"button[aria-label^='Revoke nightly']\") === null");
    authenticate().expect_err("revoked");
    assert_clean(&browser);
}
