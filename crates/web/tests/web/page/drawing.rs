//! How the page is drawn anew when something has happened.

use std::time::{Duration, Instant};

use cenote_service::live::Happened;

use super::{assert_clean, enter, go, go_to_job};
use crate::browser::Browser;
use crate::fake::World;

/// Tells of something until the page has asked for what is new, has done with the answers, and asks again.
pub(super) fn draw_twice(browser: &Browser, world: &World) {
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
