//! `cenote job`, `token`, `audit` and `doctor`, over the interface of a service that the test makes up.

#[path = "../../../web/tests/web/fake.rs"]
#[allow(dead_code, reason = "another crate's tests use the rest")]
pub(crate) mod fake;

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use cenote::Identity;
use cenote_service::job::{FailKind, StateName};
use cenote_service::token::Scope;
use cenote_service::{Job, Timestamp};
use cenote_web::Options;

use self::fake::{RESULT, World};
use crate::common::{Ended, cenote, finish, run, start, write};

const JOB: &str = "circuit = \"lib:add32\"\nlanes = 1\n";

/// A service, and the party file beside it.
pub(crate) struct Place {
    pub(crate) world: World,
    pub(crate) folder: tempfile::TempDir,
    pub(crate) config: PathBuf,
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

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
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
pub(crate) fn plain(arguments: &[&str]) -> Command {
    let mut command = cenote();
    for name in ["CONFIG", "SERVICE", "FINGERPRINT", "TOKEN", "TOKEN_FILE"] {
        command.env_remove(format!("CENOTE_{name}"));
    }
    command.args(arguments);
    command
}

pub(crate) fn private(path: &Path, mode: u32) {
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
        .failed(2, &["is proposed: it has no result", "wait until it is done"]);

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
    verify(&copy).failed(
        5,
        &[
            "copy.jsonl, line ",
            "was changed: its text and its hash do not belong together",
        ],
    );
    let cut = write(place.folder.path(), "cut.jsonl", &text[..text.len() - 5]);
    verify(&cut).failed(5, &["is cut off: the file ends in the middle of it"]);
    verify(Path::new("/nowhere")).failed(5, &["/nowhere"]);
}

#[test]
fn a_missed_deadline_has_an_exit_code_of_its_own() {
    let place = Place::new();
    write(place.folder.path(), "job.toml", JOB);
    let submitted = place.run(&["job", "submit", "job.toml"]);
    assert_eq!(submitted.code, Some(0), "{}", submitted.stderr);
    assert!(
        submitted
            .stderr
            .contains("own approval is still missing: cenote job approve "),
        "{}",
        submitted.stderr
    );
    let listed = place.run(&["job", "list", "--json"]).json();
    let id = listed["jobs"][0]["id"].as_str().expect("a name").to_owned();
    let shown = place.run(&["job", "show", &id]);
    assert!(
        well(&shown).contains("waits for   this party, which has not decided"),
        "{}",
        shown.stdout
    );
    let job = id.parse().expect("a name");
    let reason = "it was not done by then; it waited for party 1 (South Bank)";
    place
        .world
        .fake
        .jobs
        .fail(job, FailKind::Deadline, reason.into(), Timestamp::now())
        .expect("failed");
    place
        .run(&["job", "watch", &id])
        .failed(8, &["the job failed", "it waited for party 1 (South Bank)"]);
    place
        .run(&["job", "fetch", &id])
        .failed(2, &["is failed: it has no result", "see why it ended"]);
}
