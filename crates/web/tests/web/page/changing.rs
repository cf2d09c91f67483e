//! What peers can change on the page of who asks or decides: letters that hide, and catalogues.

use cenote_service::audit::Actor;
use cenote_service::live::Happened;
use serde_json::json;

use super::asking::{ESCAPE, QUERY, ask, until_planned, world};
use super::{assert_clean, enter, go, go_to_job};

#[test]
fn letters_that_hide_or_turn_text_are_marked() {
    let world = world();
    let sql = "SELECT 1 FROM people -- \u{202E}x\u{200B}\u{E0041}";
    let text = format!("query = {}", json!(sql));
    let job = world
        .fake
        .propose(1, &text, "turned", Actor::Peer(1))
        .expect("proposed");
    let Some(browser) = enter(&world) else { return };
    go_to_job(&browser, &world, &job);
    browser.until_shown("-- ⟨U+202E⟩x⟨U+200B⟩⟨U+E0041⟩");
    browser.until_shown("They are shown as ⟨U+…⟩.");
    go(&browser, &world, "jobs", "Jobs");
    // The line of a list comes without the letters that the service knows; the page marks the others.
    browser.until_shown("⟨U+E0041⟩");
    assert_eq!(
        browser.run("return document.body.textContent.includes('\\u202E')"),
        false
    );
    assert_clean(&browser);
}

/// A party that publishes again and again takes nobody's plan away.
#[test]
fn a_catalogue_that_changes_elsewhere_leaves_the_plan() {
    let world = world();
    let Some(browser) = ask(&world) else { return };
    browser.click("#sql");
    browser.keys(&format!("{QUERY}{ESCAPE}"));
    until_planned(&browser, "there");
    let planned = || world.fake.shown.lock().expect("whole").planned.len();
    let before = planned();
    let script = "window.seen = []; new MutationObserver(() => window.seen.push(document.querySelector('[data-plan]').dataset.plan)) \
        .observe(document.querySelector('[data-plan]'), { attributes: true })";
    browser.run(script);
    world.fake.shown.lock().expect("whole").catalogue.parties[1].tables[1].name = "calls".into();
    browser.until_with(
        "document.querySelector('button[data-insert=calls]') !== null",
        || {
            world.fake.tell(&Happened::Catalogue { party: 1 });
        },
    );
    assert_eq!(browser.run("return window.seen"), json!([]));
    assert_eq!(
        browser.run("return document.querySelector('button.main').disabled"),
        false
    );
    assert_eq!(planned(), before);
    // A table of the job is another matter.
    world.fake.shown.lock().expect("whole").catalogue.parties[0].tables[0].max_rows = 77;
    browser.until_with("window.seen.includes('waiting')", || {
        world.fake.tell(&Happened::Catalogue { party: 0 });
    });
    until_planned(&browser, "there");
    assert_clean(&browser);
}
