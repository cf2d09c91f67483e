//! The catalogue on the page.

use cenote_service::live::{CatalogueColumn, Happened};

use super::{assert_clean, enter, go, go_to_job};
use crate::fake::World;

#[test]
fn all_catalogues_are_shown_as_they_change() {
    let world = World::new();
    let Some(browser) = enter(&world) else { return };
    go(&browser, &world, "catalogue", "Catalogue");
    for text in [
        "North Bank (you)",
        "Version 3, digest cdcdcdcd",
        "people-2026.csv. Published to South Bank.",
        "u64 not null",
        "An answer may not single out fewer than 10 rows.",
        "This party is not connected. Its catalogue is as it was last.",
        "It has published nothing to you.",
    ] {
        browser.until_shown(text);
    }
    browser.picture("catalogue");
    {
        let mut shown = world.fake.shown.lock().expect("whole");
        let tables = &mut shown.catalogue.parties[1].tables;
        // Whatever a service lets through: it becomes text, and no markup.
        tables[0].name = "<b id=evil>payments</b>".into();
        tables[0].columns.push(CatalogueColumn {
            name: "owed".into(),
            kind: "decimal(12,2)".into(),
            promises: vec!["from 0 to less than 13".into()],
        });
    }
    browser.until_with(
        "document.getElementById('said').textContent === 'The catalogue of South Bank has changed.'",
        || world.fake.tell(&Happened::Catalogue { party: 1 }),
    );
    browser.until_shown("from 0 to less than 13");
    browser.until_shown("<b id=evil>payments</b>");
    assert_eq!(
        browser.run("return document.getElementById('evil')"),
        serde_json::Value::Null
    );
    assert_clean(&browser);
}

#[test]
fn the_data_of_the_catalogue_is_chosen_at_first() {
    let world = World::new();
    world.fake.shown.lock().expect("whole").proposed = [("left".to_owned(), "loans.csv".to_owned())].into();
    let job = world.fake.proposed_by_peer("circuit");
    let Some(browser) = enter(&world) else { return };
    go_to_job(&browser, &world, &job);
    browser.until_shown("Your catalogue names loans.csv for it.");
    assert_eq!(
        browser.run("return document.querySelector('form select').value"),
        "loans.csv"
    );
    browser.press("Approve with this data");
    browser.until("document.getElementById('said').textContent === 'You have approved the job.'");
    let bound = world.fake.jobs.get(job.proposal.id).expect("a job").binding;
    assert_eq!(
        bound[0].source,
        cenote_service::job::Source::Data("loans.csv".into())
    );
    assert_clean(&browser);
}
