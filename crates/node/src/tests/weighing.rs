//! What is told before a job is proposed or decided on.

use cenote_service::job::{PageRequest, StateName};
use cenote_service::live::{Compose, Live, Place, Submission};

use super::catalogue::{bank, publish, sees};
use super::queries::{answer, stock_tables, submission, submit, text};
use super::world::{ALL, NONE, World, person, with_data};

#[test]
fn a_plan_tells_what_a_query_takes_and_where_it_is_wrong() {
    let world = World::new(3, ALL);
    stock_tables(&world);
    let plan = |job: &str| world.node(0).plan(job);
    let job = text(3, "[2]");
    let planned = plan(&job).expect("a plan");
    assert_eq!(
        (planned.program_kind.as_str(), planned.protocol.as_str()),
        ("query", "three")
    );
    let learnt = planned.learnt.join(" ");
    assert!(learnt.contains("party 2 learns the answer"), "{learnt}");
    assert!(planned.ands > 0 && planned.levels > Some(0) && planned.memory > 0);
    assert!(planned.steps.iter().any(|step| step.owner == Some(1)));
    let outputs: Vec<&str> = planned
        .outputs
        .iter()
        .map(|output| output.name.as_str())
        .collect();
    assert_eq!(outputs, ["customers", "joint"]);
    assert_eq!(planned.seconds, None, "nothing ran yet");

    let wrong = plan(&job.replace("a.owed", "a.owned")).expect_err("a fault");
    assert!(wrong.message.contains("owned"), "{}", wrong.message);
    assert_eq!(wrong.at, Some(Place { line: 1, column: 37 }));
    let wrong = plan(&job.replace("max_rows = 4", "max_rows = 0")).expect_err("a fault");
    assert_eq!(wrong.at, None, "{}", wrong.message);
    // As large as no proposal may be, it is not planned for long.
    let large = job.replace("max_rows = 4", "max_rows = 200_000_000");
    plan(&large).expect_err("too large");

    // Nothing of it is kept.
    let all = PageRequest {
        state: None,
        before: None,
        limit: 10,
    };
    assert!(
        world
            .node(0)
            .core
            .base
            .jobs
            .list(all)
            .expect("listed")
            .jobs
            .is_empty()
    );
    let programs = std::fs::read_dir(world.path(0).join("service/programs")).expect("there");
    assert_eq!(programs.count(), 0);
    let id = submit(&world, job.clone(), "query");
    world.wait_for(id, StateName::Done);
    let file = world.node(2).fetch_parquet(id, "key", person()).expect("a file");
    assert!(file.starts_with(b"PAR1") && file.ends_with(b"PAR1"));
    let again = plan(&job).expect("a plan");
    assert!(again.seconds.is_some_and(|seconds| seconds > 0.0));
    let program = &world.job(1, id).proposal.program;
    let computes = world.node(1).computes(program).expect("kept");
    assert!(
        computes.text.starts_with("SELECT COUNT(*) AS customers"),
        "{}",
        computes.text
    );
}

#[test]
fn a_plan_is_refused_for_what_a_proposal_would_be() {
    let world = World::with(2, NONE, |settings| {
        let folder = settings.folder.parent().expect("a folder");
        settings.tables = Some(folder.join("tables.toml"));
    });
    let rules = "[[table]]\nname = \"bank_0\"\nhidden = [\"owed\"]\nmin_group = 5\n";
    std::fs::write(world.path(0).join("tables.toml"), rules).expect("written");
    let three = world.node(0).plan(&text(3, "[1]")).expect_err("three parties");
    assert!(three.message.contains("this service has 2"), "{}", three.message);
    let own = world.node(0).plan(&text(2, "[1]")).expect_err("its own rules");
    assert!(
        own.message.contains("`min_group` must be at least 5"),
        "{}",
        own.message
    );
    let job = text(2, "[1]");
    let fault = world
        .node(0)
        .submit(
            Submission {
                approval: Some(with_data(&[("bank_0", "bank_0.csv")])),
                ..submission(job, "own")
            },
            person(),
        )
        .map(drop)
        .expect_err("refused");
    assert!(
        fault.to_string().contains(&own.message),
        "{fault} and {}",
        own.message
    );
}

/// What another job says instead, and what is told of that.
const OTHERS: [(&str, &str, &str); 3] = [
    (
        "query = ",
        "max_join_rows = 50\nquery = ",
        "The most rows of a join: 50; before: no bound.",
    ),
    (
        "max_rows = 4",
        "max_rows = 5",
        "New: tables bank_0 (a table of up to 5 rows)",
    ),
    (
        "unique = [\"id\"]",
        "unique = [\"id\"]\nbelow = { owed = 5000 }",
        "New in table bank_0: owed less than 5000.",
    ),
];

/// Of what a party approved, the query that is alike is compared, and constants are told apart from the rest.
#[test]
fn a_query_is_compared_with_one_that_was_approved() {
    let world = World::with(2, NONE, |settings| {
        let folder = settings.folder.parent().expect("a folder");
        settings.tables = (settings.me == 1).then(|| folder.join("tables.toml"));
    });
    stock_tables(&world);
    let rules = "[[table]]\nname = \"bank_1\"\nanswers_per_day = 3\n";
    std::fs::write(world.path(1).join("tables.toml"), rules).expect("written");
    let job = |least: u32, to: &str| {
        let filter = format!("USING (id) WHERE a.owed > {least}");
        text(2, to).replace("USING (id)", &filter)
    };
    let weigh = |key: &str, job: String| {
        let id = submit(&world, job, key);
        world.wait_for(id, StateName::Proposed);
        (id, world.node(1).weigh(id).expect("weighed"))
    };
    let (first, weighed) = weigh("first", job(5, "[0, 1]"));
    assert_eq!(weighed.compared, None);
    assert_eq!(
        weighed.allowance,
        ["Table bank_1: 0 of 3 answers of the last 24 hours are used; 3 are left."]
    );
    for party in [0, 1] {
        let name = format!("bank_{party}");
        let data = with_data(&[(&*name, &*format!("{name}.csv"))]);
        world
            .node(party)
            .approve(first, data, person())
            .expect("approved");
    }
    world.wait_for(first, StateName::Done);

    let (second, weighed) = weigh("second", job(70, "[0, 1]"));
    let compared = weighed.compared.expect("compared");
    assert_eq!(compared.job, first.to_string());
    assert!(
        compared.same_but_for_constants && compared.differs.is_empty(),
        "{compared:?}"
    );
    let constants: Vec<(u64, &str)> = compared
        .constants
        .iter()
        .map(|constant| (constant.to - constant.from, constant.before.as_str()))
        .collect();
    assert_eq!(constants, [(2, "5")]);
    assert!(weighed.allowance[0].contains("1 of 3"), "{:?}", weighed.allowance);

    // The same words are not the same query where the job says other things.
    for (number, (from, to, told)) in OTHERS.into_iter().enumerate() {
        let other = job(5, "[0, 1]");
        assert!(other.contains(from), "{other}");
        let (_, weighed) = weigh(&format!("other-{number}"), other.replace(from, to));
        let compared = weighed.compared.expect("compared");
        assert!(!compared.same_but_for_constants, "{compared:?}");
        let differs = compared.differs.join(" ");
        assert!(differs.contains(told), "{differs}");
    }

    // What was not approved is not what it is compared with.
    let more = job(5, "[0]").replace("SUM(a.owed + b.owed) AS joint", "MAX(a.owed) AS most");
    let (_, weighed) = weigh("third", more);
    let compared = weighed.compared.expect("compared");
    assert_ne!(compared.job, second.to_string());
    assert!(!compared.same_but_for_constants && compared.constants.is_empty());
    assert_eq!(
        compared.differs,
        [
            "The answer goes no more to party-1.",
            "New: column most.",
            "Left out: column joint."
        ]
    );
    world.verify();
}

/// What the page does: a query becomes a job, which is planned, and proposed with this party's own data.
#[test]
fn what_is_composed_of_catalogues_is_planned_and_proposed() {
    let world = World::new(2, NONE);
    stock_tables(&world);
    for party in [0, 1] {
        publish(&world, party, &bank(party, 4, ""));
    }
    sees(&world, 0, 1, &["bank_1"]);
    let compose = |sql: &str| {
        world.node(0).compose(Compose {
            sql: sql.into(),
            receivers: vec!["party-0".into()],
            ..Compose::default()
        })
    };
    let made = compose("SELECT COUNT(*) AS customers\nFROM bank_0 JOIN bank_1 USING (id)").expect("made");
    let planned = world.node(0).plan(&made.job).expect("a plan");
    let inputs: Vec<(&str, u8)> = planned
        .inputs
        .iter()
        .map(|input| (input.name.as_str(), input.owner))
        .collect();
    assert_eq!(inputs, [("bank_0", 0), ("bank_1", 1)]);
    let data: Vec<(&str, &str)> = made
        .data
        .iter()
        .map(|(table, data)| (table.as_str(), data.as_str()))
        .collect();
    assert_eq!(data, [("bank_0", "bank_0.csv")]);
    let submission = Submission {
        approval: Some(with_data(&data)),
        ..submission(made.job, "composed")
    };
    let job = world.node(0).submit(submission, person()).expect("proposed");
    assert!(job.decisions[0].is_some());
    let id = job.proposal.id;
    world.wait_for(id, StateName::Proposed);
    let approval = with_data(&[("bank_1", "bank_1.csv")]);
    world.node(1).approve(id, approval, person()).expect("approved");
    world.wait_for(id, StateName::Done);
    assert_eq!(
        answer(&world, 0, id)["answer"]["rows"],
        serde_json::json!([["2"]])
    );
}
