//! `cenote kept`, over the interface of a service that the test makes up.

use crate::services::{Place, well};

#[test]
fn kept_values_are_shown_listed_and_dropped_by_commands() {
    let place = Place::new();
    let fake = &place.world.fake;
    let old = fake.kept_by_peer("balances").to_string();
    let job = fake
        .proposed_keeping("totals", Some(("balances", old.parse().expect("a name"))))
        .proposal
        .id
        .to_string();
    let shown = place.run(&["job", "show", &job]);
    for part in [
        &format!("takes       the value balances that job {old} kept, as old; nobody learns it\n"),
        "keeps       sum, 1 value of 32 bits, as totals (u64) for 30 days; nobody learns it\n",
    ] {
        assert!(well(&shown).contains(part), "{}", shown.stdout);
    }
    assert!(!shown.stdout.contains("reveals"), "{}", shown.stdout);
    let listed = place.run(&["kept", "list"]);
    assert!(
        well(&listed).contains(&format!("balances                  {old}")),
        "{}",
        listed.stdout
    );
    let listed = place.run(&["kept", "list", "--json"]).json();
    assert_eq!(
        (listed[0]["name"].as_str(), listed[0]["job"].as_str()),
        (Some("balances"), Some(old.as_str()))
    );
    let drop = |name: &str, of: &str| place.run(&["kept", "drop", name, "--of", of]);
    drop("../balances", &old).failed(2, &["the name of a kept value"]);
    drop("balances", "zzz").failed(2, &["at least 8 of the digits"]);
    drop("balances", &job[..8]).failed(2, &["no job that begins so"]);
    drop("totals", &old).failed(2, &["keeps no value totals", "what to do"]);
    let dropped = drop("balances", &old[..8]);
    assert_eq!(well(&dropped), format!("balances of job {old} is dropped\n"));
    drop("balances", &old).failed(2, &["keeps no value balances"]);
    assert_eq!(fake.jobs.kept_in_all().expect("summed"), (0, 0));
}
