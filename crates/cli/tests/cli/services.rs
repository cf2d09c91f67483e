//! `cenote job`, `token`, `audit` and `doctor`, over the interface of a service that the test makes up.

#[path = "../../../web/tests/web/fake.rs"]
#[allow(dead_code, reason = "another crate's tests use the rest")]
pub(crate) mod fake;

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use cenote::Identity;
use cenote_service::job::{FailKind, StateName};
use cenote_service::live::{Alarm, AlarmKind, LinkState};
use cenote_service::token::Scope;
use cenote_service::{Job, Timestamp};
use cenote_web::Options;

use self::fake::{RESULT, World};
use crate::common::{Ended, cenote, finish, run, start, write};

const JOB: &str = "circuit = \"lib:add32\"\nlanes = 1\n";

/// A service, and the party file beside it.
pub(crate) struct Place {
    pub(crate) world: World,
    folder: tempfile::TempDir,
    config: PathBuf,
}

impl Place {
    pub(crate) fn new() -> Self {
        Self::of(World::with(on_own_host()))
    }

    fn of(world: World) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let identity = folder.path().join("identity.pem");
        Identity::generate()
            .expect("an identity")
            .save(&identity)
            .expect("saved");
        std::fs::create_dir(folder.path().join("data")).expect("made");
        private(&folder.path().join("data"), 0o700);
        write(&folder.path().join("data"), "loans.csv", "1\n");
        let peers: String = (1..3)
            .map(|party| {
                format!(
                    "[[peer]]\nparty = {party}\nfingerprint = \"{}\"\n",
                    "ab".repeat(32)
                )
            })
            .collect();
        let config = write(
            folder.path(),
            "party.toml",
            &format!(
                "party = 0\nidentity = \"identity.pem\"\nlisten = \"127.0.0.1:0\"\n{peers}[service]\nfolder = '{}'\nhttp = \"{}\"\n",
                world.database.folder().path().display(),
                world.served().address()
            ),
        );
        Place {
            world,
            folder,
            config,
        }
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = plain(arguments);
        command
            .arg("--config")
            .arg(&self.config)
            .current_dir(self.folder.path());
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Ended {
        run(&mut self.command(arguments))
    }

    fn state(&self, job: &Job) -> StateName {
        self.world
            .fake
            .jobs
            .get(job.proposal.id)
            .expect("there")
            .state
            .name()
    }
}

/// What is served is found at a port that nobody else takes afterwards.
fn on_own_host() -> Options {
    let address = format!("{}:0", cenote_testkit::own_host());
    Options {
        listen: Some(address.parse().expect("an address")),
        ..Options::default()
    }
}

/// A command that knows no service from its surroundings.
fn plain(arguments: &[&str]) -> Command {
    let mut command = cenote();
    for name in ["CONFIG", "SERVICE", "FINGERPRINT", "TOKEN", "TOKEN_FILE"] {
        command.env_remove(format!("CENOTE_{name}"));
    }
    command.args(arguments);
    command
}

fn private(path: &Path, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).expect("set");
}

#[track_caller]
pub(crate) fn well(ended: &Ended) -> &str {
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    &ended.stdout
}

#[test]
fn a_job_goes_from_submission_to_result_by_commands() {
    let place = Place::new();
    write(place.folder.path(), "job.toml", JOB);
    write(place.folder.path(), "left.txt", "7\n");
    let submit = [
        "job",
        "submit",
        "job.toml",
        "--post",
        "left=left.txt",
        "--key",
        "once",
        "--json",
    ];
    let job = place.run(&submit).json();
    let id = job["id"].as_str().expect("a name").to_owned();
    assert_eq!(job["decisions"][0]["verdict"], "approve");
    assert_eq!(
        place.world.fake.shown.lock().expect("whole").posted["left"],
        "7\n"
    );
    // The same again is the same job.
    assert!(
        place
            .run(&["job", "list", "--state", "proposed"])
            .stdout
            .contains(&id)
    );
    let shown = place.run(&["job", "show", &id[..8]]);
    for part in [
        &id,
        "Adds three numbers.",
        "sum: 1 value of 32 bits, to party 0, party 1",
        "party 1 has not decided",
    ] {
        assert!(well(&shown).contains(part), "{}", shown.stdout);
    }
    place
        .run(&["job", "fetch", &id])
        .failed(2, &["it is not done", "what to do"]);

    let mut watch = place.command(&["job", "watch", &id]);
    let watch = start(&mut watch);
    let parsed = id.parse().expect("a name");
    place.world.fake.peers_approve(parsed);
    place.world.fake.run(parsed);
    assert!(well(&finish(watch)).ends_with(&format!("job {id} is done\n")));

    let fetched = place.run(&["job", "fetch", &id, "--output", "result.json", "--key", "mine"]);
    assert_eq!(well(&fetched), "");
    let file = place.folder.path().join("result.json");
    assert_eq!(std::fs::read_to_string(&file).expect("written"), RESULT);
    assert_eq!(
        file.metadata().expect("there").permissions().mode() & 0o777,
        0o600
    );
    assert_eq!(
        well(&place.run(&["job", "fetch", &id, "--key", "mine"])),
        format!("{RESULT}\n")
    );
    place
        .run(&["job", "fetch", &id, "--output", "other.json"])
        .failed(2, &["another key"]);
    assert!(!place.folder.path().join("other.json").exists());
}

#[test]
fn jobs_are_decided_on_by_commands() {
    let place = Place::new();
    let fake = &place.world.fake;
    let (first, second, third) = (
        fake.proposed_by_peer("circuit 1"),
        fake.proposed_by_peer("circuit 2"),
        fake.proposed_by_peer("circuit 3"),
    );
    let name = |job: &Job| job.proposal.id.to_string();
    let other = second.digest.to_string();
    let wrong = [
        "job",
        "approve",
        &name(&first),
        "--data",
        "left=loans.csv",
        "--proposal",
        &other,
    ];
    place.run(&wrong).failed(2, &["not that of the proposal"]);
    let without = place.run(&["job", "approve", &name(&first)]);
    without.failed(2, &["each of this party's inputs (left) needs one source"]);
    assert_eq!(
        fake.jobs.get(first.proposal.id).expect("there").decisions[0],
        None
    );
    let approved = place.run(&[
        "job",
        "approve",
        &name(&first),
        "--data",
        "left=loans.csv",
        "--reason",
        "agreed",
    ]);
    assert_eq!(well(&approved), format!("job {} is proposed\n", name(&first)));
    // What is approved is shown.
    assert!(approved.stderr.contains("reveals") && approved.stderr.contains(&first.digest.to_string()));
    well(&place.run(&["job", "decline", &name(&second), "--reason", "not on our data"]));
    assert_eq!(place.state(&second), StateName::Declined);
    well(&place.run(&["job", "cancel", &name(&third)]));
    assert_eq!(place.state(&third), StateName::Cancelled);
    // How a job ended is the exit code of who waits for it.
    place
        .run(&["job", "watch", &name(&second)])
        .failed(7, &["was declined", "not on our data"]);
    let failed = fake.jobs.fail(
        first.proposal.id,
        FailKind::Cheating,
        "a check failed\u{1b}[2J".into(),
        Timestamp::now(),
    );
    failed.expect("failed");
    let watched = place.run(&["job", "watch", &name(&first)]);
    watched.failed(4, &["the job failed (party 0): a check failed"]);
    assert!(!watched.stderr.contains('\u{1b}'));
    place
        .run(&["job", "show", "zzz"])
        .failed(2, &["at least 8 of the digits"]);
    place
        .run(&["job", "show", "00000000"])
        .failed(2, &["none of the last 200 jobs"]);
}

#[test]
fn a_service_elsewhere_is_known_by_its_key() {
    let identity = Identity::generate().expect("an identity");
    let fingerprint = identity.fingerprint().to_string();
    let world = World::with(Options {
        tls: Some(identity),
        ..on_own_host()
    });
    let job = world.fake.proposed_by_peer("circuit");
    let url = format!("https://{}", world.served().address());
    let token = world.token(&[Scope::Read]);
    let call = |arguments: &[&str], token: &str| {
        let mut command = plain(arguments);
        run(command.args(["--service", &url]).env("CENOTE_TOKEN", token))
    };
    let list = ["job", "list", "--fingerprint"];
    let listed = call(&[&list[..], &[&fingerprint]].concat(), &token);
    assert!(well(&listed).contains(&job.proposal.id.to_string()));
    call(&[&list[..], &[&"ab".repeat(32)]].concat(), &token)
        .failed(3, &["does not show the key that is pinned"]);
    call(&["job", "list"], &token).failed(2, &["needs --fingerprint"]);
    call(&[&list[..], &[&fingerprint]].concat(), "cenote_x").failed(2, &["the token is not valid"]);
    let cancel = [
        "job",
        "cancel",
        &job.proposal.id.to_string(),
        "--fingerprint",
        &fingerprint,
    ];
    call(&cancel, &token).failed(2, &["the token may not propose"]);
    // A stream of events comes over TLS too.
    let id = job.proposal.id.to_string();
    let mut watch = plain(&[
        "job",
        "watch",
        &id,
        "--service",
        &url,
        "--fingerprint",
        &fingerprint,
        "--json",
    ]);
    let watch = start(watch.env("CENOTE_TOKEN", &token));
    world
        .fake
        .jobs
        .cancel(
            job.proposal.id,
            cenote_service::audit::Actor::Service,
            Timestamp::now(),
        )
        .expect("cancelled");
    world.fake.tell(&cenote_service::live::Happened::Job {
        job: job.proposal.id,
        state: StateName::Cancelled,
    });
    // It may have begun before or after.
    let watched = finish(watch);
    watched.failed(7, &["was cancelled"]);
    assert!(
        watched.stdout.lines().all(|line| line.starts_with("{\"event\":")),
        "{}",
        watched.stdout
    );
    // A token is sent in the clear on this machine only.
    let far = ["job", "list", "--service", "http://party.example:7180"];
    run(plain(&far).env("CENOTE_TOKEN", &token)).failed(2, &["in the clear"]);
    run(&mut plain(&["job", "list"])).failed(2, &["which service?"]);
}

#[test]
fn a_service_that_is_not_there_is_named() {
    let mut place = Place::new();
    let url = place.world.url();
    place.world.served = None;
    place
        .run(&["job", "list"])
        .failed(3, &[&url, "what to do: see that it runs"]);
}

#[test]
fn tokens_are_made_listed_and_revoked_by_commands() {
    let place = Place::new();
    let made = place.run(&[
        "token",
        "new",
        "report",
        "--scopes",
        "read,propose",
        "--days",
        "7",
    ]);
    let token = well(&made).trim().to_owned();
    let id = token.split('_').nth(1).expect("a name").to_owned();
    let listed = place.run(&["token", "list"]);
    let line = well(&listed)
        .lines()
        .find(|line| line.starts_with(&id))
        .expect("listed");
    assert!(line.ends_with("propose,read              report"), "{line}");
    assert!(!listed.stdout.contains(&token[24..]));
    let file = write(place.folder.path(), "token", &format!("{token}\n"));
    let with_file = |arguments: &[&str]| run(place.command(arguments).arg("--token-file").arg(&file));
    well(&with_file(&["job", "list"]));
    with_file(&["token", "list"]).failed(2, &["may not admin"]);
    let link = with_file(&["token", "login"]);
    assert!(
        well(&link).starts_with(&format!("{}/#cenote_", place.world.url())),
        "{}",
        link.stdout
    );
    well(&place.run(&["token", "revoke", &id]));
    with_file(&["job", "list"]).failed(2, &["the token is not valid"]);
    place
        .run(&["token", "revoke", &id])
        .failed(2, &["no valid token"]);
    place
        .run(&["token", "revoke", "../jobs"])
        .failed(2, &["16 digits"]);
}

#[test]
fn an_audit_log_that_was_changed_is_told_from_one_that_was_not() {
    let place = Place::new();
    place.world.fake.proposed_by_peer("circuit");
    // What a peer has said is in the file a moment later, or once the end of the log is asked for.
    place.world.database.audit_head().expect("an end");
    let folder = place.world.database.folder().path().to_owned();
    let text = std::fs::read_to_string(folder.join("audit.jsonl")).expect("readable");
    let lines = text.lines().count();
    let verify = |path: &Path| run(plain(&["audit", "verify", "--json"]).arg(path));
    assert_eq!(verify(&folder).json()["number"], lines);
    let copy = write(
        place.folder.path(),
        "copy.jsonl",
        &text.replace("\"proposer\":1", "\"proposer\":2"),
    );
    verify(&copy).failed(5, &["copy.jsonl, line ", "its hash is that of another line"]);
    let cut = write(place.folder.path(), "cut.jsonl", &text[..text.len() - 5]);
    verify(&cut).failed(5, &["it has no end"]);
    verify(Path::new("/nowhere")).failed(5, &["/nowhere"]);
}

#[test]
fn the_doctor_looks_at_a_service_that_is_up() {
    let place = Place::new();
    let healthy = place.run(&["doctor"]);
    let text = well(&healthy);
    for part in [
        "this party's fingerprint is ",
        "it takes jobs",
        "South Bank is connected",
        "40000000 of 50000000",
        "as the database has them",
        "free on the disk",
        "a person decides on each job",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    assert!(!text.contains("FAULT"), "{text}");
    {
        let mut shown = place.world.fake.shown.lock().expect("whole");
        shown.ready = Err("West Bank is not there".into());
        shown.peers[0].clock_ahead = Some(-7000.0);
        shown.peers[0].version = Some("0.0.9".into());
        shown.peers[1].link = LinkState::Refused {
            reason: "it shows another key".into(),
        };
        shown.stock[0].amount = 5;
        shown.alarms = vec![Alarm {
            kind: AlarmKind::Cheating,
            text: "South Bank cheated".into(),
            advice: "speak with its operator".into(),
            since: Timestamp::now(),
        }];
    }
    private(&place.folder.path().join("identity.pem"), 0o644);
    private(&place.folder.path().join("data"), 0o755);
    let ill = place.run(&["doctor"]);
    ill.failed(1, &["there are 5 faults"]);
    for part in [
        "chmod 600 it",
        "it takes no jobs: West Bank is not there",
        "the clock of South Bank is 7.0 s behind",
        "South Bank runs 0.0.9",
        "West Bank is refused: it shows another key",
        "5 of 50000000",
        "South Bank cheated",
        "speak with its operator",
        "chmod 700",
    ] {
        assert!(ill.stdout.contains(part), "{part}\n{}", ill.stdout);
    }
    let told = run(place.command(&["doctor"]).arg("--json"));
    let findings: serde_json::Value = serde_json::from_str(&told.stdout).expect("one object");
    let findings = findings["findings"].as_array().expect("findings").clone();
    assert_eq!(
        findings
            .iter()
            .filter(|finding| finding["grade"] == "fault")
            .count(),
        5
    );
    // Each finding that is not well says what to do.
    assert!(
        findings.iter().all(|finding| finding["grade"] == "well"
            || finding["advice"].as_str().is_some_and(|text| text.len() > 5))
    );
}

#[test]
fn the_doctor_looks_at_a_service_that_is_down() {
    let mut place = Place::new();
    let does_not_answer = format!("does not answer at {}", place.world.served().address());
    place.world.served = None;
    let held = place.run(&["doctor"]);
    held.failed(1, &["there is a fault"]);
    assert!(held.stdout.contains(&does_not_answer), "{}", held.stdout);
    let Place {
        world,
        folder,
        config,
    } = place;
    let service = world.database.folder().path().to_owned();
    let log = std::fs::read_to_string(service.join("audit.jsonl")).expect("readable");
    // The test's own folder stands for that of a service whose process has ended.
    let left = folder.path().join("left");
    std::fs::create_dir(&left).expect("made");
    private(&left, 0o700);
    std::fs::write(left.join("audit.jsonl"), &log).expect("written");
    private(&left.join("audit.jsonl"), 0o600);
    let text = std::fs::read_to_string(&config).expect("readable");
    let text = text.replace(&service.display().to_string(), &left.display().to_string());
    std::fs::write(&config, &text).expect("written");
    let doctor = |config: &Path| run(plain(&["doctor", "--config"]).arg(config));
    let down = doctor(&config);
    for part in [
        "it does not run",
        "is free",
        "party 1 connects to this one",
        "lines, each follows",
        "material is made while jobs run",
    ] {
        assert!(well(&down).contains(part), "{part}\n{}", down.stdout);
    }
    // What is wrong on the disk is found.
    std::fs::write(left.join("audit.jsonl"), log.replace("begun", "began")).expect("written");
    let policy = write(folder.path(), "policy.toml", "what = 1\n");
    std::fs::write(&config, format!("{text}policy = '{}'\n", policy.display())).expect("written");
    let ill = doctor(&config);
    ill.failed(1, &["there are 2 faults"]);
    for part in [
        "audit     line 1 is not as it was written",
        "policy    ",
        "find out who could write to it",
    ] {
        assert!(ill.stdout.contains(part), "{part}\n{}", ill.stdout);
    }
}
