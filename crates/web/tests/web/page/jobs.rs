//! Jobs on the page: proposed, decided on, listed.

use cenote_service::audit::Actor;
use cenote_service::job::StateName;
use cenote_service::live::{Happened, Running};

use super::drawing::draw_twice;
use super::{assert_clean, enter, go, go_to_job, short};
use crate::browser::Browser;
use crate::fake::World;

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
fn a_job_is_proposed_approved_and_its_result_fetched() {
    let world = World::new();
    let Some(browser) = enter(&world) else { return };
    go(&browser, &world, "propose", "A job file");
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
    type_data(&browser, &world);
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

/// What is typed stays, whatever happens meanwhile.
fn type_data(browser: &Browser, world: &World) {
    browser.click("section form select");
    browser.keys("Type");
    browser.keys("\u{E007}");
    browser.until("document.querySelector('form textarea')?.offsetParent !== null");
    browser.click("form textarea");
    browser.keys("42");
    world.fake.proposed_by_peer("circuit of another");
    draw_twice(browser, world);
    assert_eq!(
        browser.run("return document.querySelector('form textarea').value"),
        "42"
    );
}

fn all() -> cenote_service::job::PageRequest {
    cenote_service::job::PageRequest {
        state: None,
        before: None,
        limit: 200,
    }
}

#[test]
fn a_job_that_stands_is_called_again_and_again() {
    let world = World::new();
    let answer = |total: &str| {
        let rows = serde_json::json!([["north", total]]);
        let answer = serde_json::json!({"columns": ["region", "total"], "types": ["char(8)", "decimal(9,2)"], "row_count": 1, "rows": rows});
        world.fake.shown.lock().expect("whole").result =
            serde_json::json!({"job": "00", "call": "0123456789", "answer": answer}).to_string();
    };
    answer("10.50");
    let job = world.fake.standing_by_peer();
    world.fake.shown.lock().expect("whole").running = vec![Running {
        job: job.proposal.id,
        since: job.created_at,
        done: 3,
        total: 10,
        stands: true,
        shards: None,
    }];
    let Some(browser) = enter(&world) else { return };
    go_to_job(&browser, &world, &job);
    browser.until_shown("called up to 10 times until its deadline, by North Bank (you)");
    browser.until_shown("It stands: 3 of 10 calls have begun.");
    browser.until_shown("Each call gives the values of :least. All parties learn them");
    browser.click("form input[type=text]");
    browser.keys("100.50");
    browser.press("Call it");
    browser.until_shown("One row.");
    browser.until_shown("10.50");
    assert_eq!(world.fake.shown.lock().expect("whole").posted["least"], "100.50");
    browser.picture("call");
    // The next call's takes its place.
    answer("11.25");
    browser.press("Call it");
    browser.until_shown("11.25");
    assert!(!browser.text().contains("10.50"));
    browser.run("document.querySelector('form input[type=text]').value = 'much'");
    browser.press("Call it");
    browser.until_shown("The value of parameter least must be of type decimal(9,2).");
    assert_clean(&browser);
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
