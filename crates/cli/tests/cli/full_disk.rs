//! Disks that are full: the party says which file has no room, its peers hear why it stopped, and no stock is harmed.
#![cfg(target_os = "linux")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::common::{Ended, cenote, finish, start, wait_until, write};
use crate::others::kill;
use crate::world::World;

/// A small disk in memory, which only processes started by [`Disk::command`] see. It goes with this.
struct Disk(Child);

impl Disk {
    /// A disk of so many kilobytes at `folder`; `None` where this machine does not let its users have one.
    fn mount(folder: &Path, kilobytes: u64) -> Option<Self> {
        std::fs::create_dir_all(folder).unwrap();
        let script =
            format!("mount -t tmpfs -o mode=700,size={kilobytes}k none \"$0\" && echo mounted && exec cat");
        let mut holder = Command::new("unshare")
            .args(["--user", "--map-root-user", "--mount", "sh", "-c", &script])
            .arg(folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .ok()?;
        let mut line = String::new();
        BufReader::new(holder.stdout.take()?).read_line(&mut line).ok()?;
        let disk = Disk(holder);
        if line.is_empty() {
            println!("this machine does not let its users mount a disk in memory: skipped");
            return None;
        }
        Some(disk)
    }

    /// The same command, as a process that sees this disk.
    fn command(&self, command: &Command) -> Command {
        let mut entered = Command::new("nsenter");
        entered
            .args(["--user", "--mount", "--preserve-credentials", "--target"])
            .arg(self.0.id().to_string())
            .arg(command.get_program())
            .args(command.get_args());
        entered
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Runs what `command` gives for each party; the last one sees the disk.
fn all<const N: usize>(disk: &Disk, command: impl Fn(usize) -> Command) -> [Ended; N] {
    let children: [Child; N] = std::array::from_fn(|party| match party == N - 1 {
        true => start(&mut disk.command(&command(party))),
        false => start(&mut command(party)),
    });
    children.map(finish)
}

/// The last party's disk fills up while stock is made: it is told which file has no room, and the others what is wrong there.
/// What was in stock before remains at all of them, and serves.
fn stock_is_made_on_a_full_disk<const N: usize>(
    world: &World<N>,
    few: [PathBuf; N],
    many: [PathBuf; N],
    kilobytes: u64,
) {
    let Some(disk) = Disk::mount(&world.folder.path().join("disk"), kilobytes) else {
        return;
    };
    world.add_stock();
    let (stock, file) = (format!("\"stock{}\"", N - 1), format!("party{}.toml", N - 1));
    let text = std::fs::read_to_string(world.folder.path().join(&file)).unwrap();
    write(
        world.folder.path(),
        &file,
        &text.replace(&stock, "\"disk/stock\""),
    );
    let make = |jobs: &[PathBuf; N]| -> [Ended; N] {
        all(&disk, |party| {
            let mut command = world.stock_command(party, &["make"]);
            command.args(["--runs", "2"]).arg(&jobs[party]);
            command
        })
    };
    let shown = || -> [serde_json::Value; N] {
        all(&disk, |party| world.stock_command(party, &["show", "--json"])).map(|ended| ended.json())
    };
    let done = |ended: [Ended; N]| {
        for ended in ended {
            assert_eq!(ended.code, Some(0), "{}", ended.stderr);
        }
    };
    done(make(&few));
    let before = shown();
    let full = make(&many);
    disk_of_last_is_full(&full, "stock/");
    assert_eq!(shown(), before);

    // What is used is noted on the disk first.
    let zeros = world.folder.path().join("disk/zeros");
    let shell = |script: &str| {
        let mut command = Command::new("sh");
        command.args(["-c", script]).arg(&zeros);
        finish(start(&mut disk.command(&command)))
    };
    shell("cat /dev/zero > \"$0\"").failed(1, &["No space left"]);
    let online = || {
        all(&disk, |party| {
            world.party_command(party, &few[party], &["--online"])
        })
    };
    disk_of_last_is_full(&online(), "stock/");
    assert_eq!(shell("rm \"$0\"").code, Some(0));
    done(online());
}

/// The last party's disk had no room for something in this folder.
fn disk_of_last_is_full(ended: &[Ended], folder: &str) {
    let (last, others) = ended.split_last().unwrap();
    last.failed(
        1,
        &[
            "error: the disk is full: ",
            &format!("disk/{folder}"),
            "No space left",
            "make room on that disk",
        ],
    );
    for other in others {
        // It may have heard so from the third party.
        other.failed(3, &[&format!("party {}", others.len()), ": its disk is full"]);
    }
}

const LONG: &str = "circuit = \"lib:mult64\"\nlanes = 100000";

#[test]
fn three_parties_keep_their_stock_when_the_disk_of_one_is_full() {
    let world = World::three();
    let with_triples = |header: &str| format!("variant = \"baseline\"\n{header}");
    let few = with_triples("circuit = \"lib:add16\"\nlanes = 2");
    let few = world.jobs([few.as_str(); 3]).map(|job| kept(&job));
    let many = world.jobs([with_triples(LONG).as_str(); 3]);
    stock_is_made_on_a_full_disk(&world, few, many, 10_000);
}

#[test]
fn two_parties_keep_their_stock_when_the_disk_of_one_is_full() {
    let world = World::two();
    let few = world.jobs(["circuit = \"lib:add16\"\nlanes = 2"; 2]);
    let few = few.map(|job| kept(&job));
    let many = world.jobs(["circuit = \"lib:mult64\"\nlanes = 20"; 2]);
    stock_is_made_on_a_full_disk(&world, few, many, 10_000);
}

/// Another name for a job file, which the next one does not replace.
fn kept(job: &Path) -> PathBuf {
    let name = job.with_extension("few.toml");
    std::fs::rename(job, &name).unwrap();
    name
}

/// The room for outputs is looked for before anybody is met.
#[test]
fn an_output_on_a_full_disk_is_noticed_before_the_peers_are_met() {
    let world = World::three();
    let Some(disk) = Disk::mount(&world.folder.path().join("full"), 64) else {
        return;
    };
    let mut fill = Command::new("sh");
    fill.args(["-c", "cat /dev/zero > \"$0\""])
        .arg(world.folder.path().join("full/zeros"));
    finish(start(&mut disk.command(&fill))).failed(1, &["No space left"]);
    let text = std::fs::read_to_string(world.job(1, "circuit = \"lib:add16\"\nlanes = 2")).unwrap();
    let job = write(
        world.folder.path(),
        "job.toml",
        &format!("{text}file = \"full/sum.csv\"\n"),
    );
    let command = world.party_command(1, &job, &["--check"]);
    finish(start(&mut disk.command(&command))).failed(
        1,
        &[
            "error: the disk is full: ",
            "full/sum.csv: cannot be written: No space left",
            "make room",
        ],
    );
}

/// What a service answers to `/readyz`.
fn readiness(page: &str) -> String {
    let ask = || -> std::io::Result<String> {
        let mut stream = TcpStream::connect(page)?;
        stream.write_all(b"GET /readyz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        Ok(answer)
    };
    ask().unwrap_or_default()
}

/// Services whose disk fills up say so at once, lose nothing, and go on once there is room.
#[test]
fn services_on_a_full_disk_are_not_ready_and_go_on_by_themselves() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("disk");
    let Some(disk) = Disk::mount(&place, 96 << 10) else {
        return;
    };
    let home = place.join("services");
    let mut serve = cenote();
    serve.args(["serve", "--local", "2", "--folder"]).arg(&home);
    let mut services = start(&mut disk.command(&serve));
    let mut told = BufReader::new(services.stdout.take().unwrap());
    let mut line = String::new();
    let page = loop {
        line.clear();
        assert_ne!(told.read_line(&mut line).unwrap(), 0, "no page");
        if let Some((_, rest)) = line.split_once("http://") {
            break rest.split('/').next().unwrap_or_default().to_owned();
        }
    };
    wait_until("that the service is ready", || readiness(&page).contains(" 200 "));
    let call_at = |party: &str, args: &[&str]| {
        let mut command = cenote();
        command
            .args(args)
            .arg("--config")
            .arg(home.join(party).join("party.toml"));
        finish(start(&mut disk.command(&command)))
    };
    let call = |args: &[&str]| call_at("anna", args);
    let shell = |script: &str| {
        let mut command = Command::new("sh");
        command.args(["-c", script]).arg(place.join("zeros"));
        finish(start(&mut disk.command(&command)))
    };
    shell("cat /dev/zero > \"$0\"").failed(1, &["No space left"]);
    wait_until("that the service is not ready", || {
        readiness(&page).contains(" 503 ")
    });
    let sample = home.join("sample.toml");
    let submit = [
        "job",
        "submit",
        sample.to_str().unwrap(),
        "--key",
        "one",
        "--json",
    ];
    let full = call(&submit);
    full.failed(1, &["the disk of ", "services/anna/", "is full; make room"]);
    let seen = call(&["doctor"]);
    for part in [
        "it takes no jobs: ",
        "services/anna/",
        "make room",
        "No jobs are taken",
    ] {
        assert!(seen.stdout.contains(part), "{part}\n{}", seen.stdout);
    }
    // A little room is not enough: it would be gone at once.
    assert_eq!(shell("truncate -s -8M \"$0\"").code, Some(0));
    wait_until("that the room is seen", || {
        call(&["doctor"]).stdout.contains("MB are free, and it takes")
    });
    call(&submit).failed(1, &["the disk of ", "is full; make room"]);
    assert!(readiness(&page).contains(" 503 "));
    assert_eq!(shell("rm \"$0\"").code, Some(0));
    wait_until("that the service is ready again", || {
        readiness(&page).contains(" 200 ")
    });
    let job = call(&submit).json()["id"].as_str().unwrap().to_owned();
    for party in ["anna", "bert"] {
        let show = || call_at(party, &["job", "show", &job]).code;
        wait_until("that the job is there", || show() == Some(0));
        let approved = call_at(party, &["job", "approve", &job]);
        assert_eq!(approved.code, Some(0), "{}", approved.stderr);
    }
    let done = call(&["job", "watch", &job]);
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    kill(services.id(), "-TERM");
    assert_eq!(finish(services).code, Some(0));
}
