//! Worlds for tests, with either database.

use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::job::{Digest, Estimate, Input, JobId, Program, Proposal, Security};
use crate::{
    Address, Database, Error, Result, Timestamp, catalogues, database, heads, job, results_key, token,
};

/// A service's folder and database, which may be closed and opened again.
pub(crate) struct World {
    database: Option<Database>,
    pub(crate) address: Address,
    folder: TempDir,
}

impl World {
    pub(crate) fn new(address: Address) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let mut world = World {
            database: None,
            address,
            folder,
        };
        world.open();
        world
    }

    pub(crate) fn embedded() -> Self {
        Self::new(Address::Embedded)
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.folder.path().join("service")
    }

    pub(crate) fn database(&self) -> Database {
        self.database.clone().expect("open")
    }

    pub(crate) fn close(&mut self) {
        self.database = None;
    }

    fn open(&mut self) {
        let opened = open_once_free(&self.path(), &self.address);
        self.database = Some(opened.expect("opens"));
    }

    /// Closes the database, whose other handles must be gone, and opens it again.
    pub(crate) fn reopen(&mut self) -> Database {
        self.close();
        self.open();
        self.database()
    }

    pub(crate) fn log(&self) -> String {
        std::fs::read_to_string(self.path().join("audit.jsonl")).expect("readable")
    }
}

/// Opens a database that was just closed. What another test starts, and a server that is slow to end a connection, may hold it for longer than
/// opening it waits.
pub(crate) fn open_once_free(path: &Path, address: &Address) -> Result<Database> {
    let start = Instant::now();
    loop {
        match Database::open(path, address) {
            Err(Error::InUse { .. }) if start.elapsed() < Duration::from_secs(20) => {}
            opened => return opened,
        }
    }
}

/// Tests that take a [`World`], run here with SQLite; `ALL` is for the other database.
macro_rules! suite {
    ($($name:ident),* $(,)?) => {
        mod embedded {
            $(#[test]
            fn $name() {
                super::$name(crate::testing::World::embedded());
            })*
        }
        pub(crate) const ALL: &[(&str, fn(crate::testing::World))] = &[$((stringify!($name), $name)),*];
    };
}
pub(crate) use suite;

pub(crate) fn at(seconds: u64) -> Timestamp {
    Timestamp::from_millis(1_700_000_000_000 + seconds * 1000)
}

/// The name of the proposal of this number.
pub(crate) fn named(number: u8) -> JobId {
    JobId::of(0, [number; 15])
}

/// A proposal of party 0 of three, with an input of each, whose outputs parties 0 and 1 learn.
pub(crate) fn proposal(number: u8) -> Proposal {
    let input = |name: &str, owner| Input {
        name: name.into(),
        kind: "u32".into(),
        owner,
    };
    Proposal {
        id: named(number),
        proposer: 0,
        parties: 3,
        protocol: "example".into(),
        program: Program {
            kind: "circuit".into(),
            digest: Digest::of(b"program"),
        },
        inputs: vec![input("left", 0), input("middle", 1), input("right", 2)],
        receivers: vec![0, 1],
        security: Security {
            statistical: 40,
            computational: 128,
        },
        deadline: at(100_000),
        estimate: Estimate {
            ands: 1000,
            bytes: 1000,
        },
        idempotency_key: format!("key {number}"),
        takes: Vec::new(),
        keeps: Vec::new(),
        standing: None,
    }
}

/// A PostgreSQL server's port, unless it is told another.
const PORT: u16 = 5432;

/// A PostgreSQL server of the system's packages, for this test alone.
pub(crate) struct Server {
    programs: PathBuf,
    user: Option<(u32, u32)>,
    folder: TempDir,
    runs: bool,
}

impl Server {
    /// Starts one that is reached over its socket, if the machine has it.
    pub(crate) fn start() -> Option<Self> {
        let mut server = Self::prepare()?;
        assert!(server.launch("-c listen_addresses=''"), "does not start");
        Some(server)
    }

    /// Makes one that does not run yet, if the machine has it.
    pub(crate) fn prepare() -> Option<Self> {
        let programs = programs()?;
        let folder = tempfile::tempdir().expect("a folder");
        let owner = std::os::unix::fs::MetadataExt::uid(&std::fs::metadata(folder.path()).expect("there"));
        // The server refuses to run as root.
        let user = if owner == 0 { Some(other_user()?) } else { None };
        let server = Server {
            programs,
            user,
            folder,
            runs: false,
        };
        server.give_away(server.folder.path());
        let initialised = server.program(
            "initdb",
            &[
                "--auth=trust",
                "--username=cenote",
                "--no-sync",
                "--encoding=UTF8",
            ],
        );
        assert!(initialised, "no database");
        Some(server)
    }

    /// Starts it with these options, and says whether it came up.
    pub(crate) fn launch(&mut self, options: &str) -> bool {
        let options = format!("-k {} -c fsync=off {options}", self.folder.path().display());
        self.runs = self.program("pg_ctl", &["--wait", "--log=/dev/null", "-o", &options, "start"]);
        self.runs
    }

    /// Writes a file beside its data, for the server's user only.
    pub(crate) fn put(&self, name: &str, text: &str) {
        let path = self.data().join(name);
        std::fs::write(&path, text).expect("written");
        std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o600)).expect("closed");
        self.give_away(&path);
    }

    fn give_away(&self, path: &Path) {
        if let Some((user, group)) = self.user {
            std::os::unix::fs::chown(path, Some(user), Some(group)).expect("given away");
        }
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    fn program(&self, name: &str, arguments: &[&str]) -> bool {
        let mut command = Command::new(self.programs.join(name));
        if let Some((user, group)) = self.user {
            command.uid(user).gid(group);
        }
        let status = command
            .arg("-D")
            .arg(self.data())
            .args(arguments)
            .current_dir(self.folder.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .status()
            .expect("starts");
        status.success()
    }

    fn url(&self, port: u16, name: &str) -> String {
        let host = self.folder.path().display().to_string().replace('/', "%2F");
        format!("postgres:///{name}?host={host}&port={port}&user=cenote")
    }

    /// A new database.
    pub(crate) fn database(&self, name: &str) -> Address {
        self.run("postgres", &format!("CREATE DATABASE {name}"));
        Address::parse(&self.url(PORT, name)).expect("an address")
    }

    /// Runs a statement in a database.
    pub(crate) fn run(&self, database: &str, sql: &str) {
        self.run_on(PORT, database, sql);
    }

    /// The same, where the server was started with a port of its own.
    pub(crate) fn run_on(&self, port: u16, database: &str, sql: &str) {
        postgres::Client::connect(&self.url(port, database), postgres::NoTls)
            .and_then(|mut client| client.batch_execute(sql))
            .expect("runs");
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if self.runs {
            let stopped = self.program("pg_ctl", &["--mode=immediate", "stop"]);
            assert!(stopped || std::thread::panicking(), "does not stop");
        }
    }
}

/// The folder of the server's programs.
fn programs() -> Option<PathBuf> {
    let packages = std::fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten()
        .flatten();
    let folders = packages.map(|version| version.path().join("bin"));
    let path = std::env::var_os("PATH").unwrap_or_default();
    folders
        .chain(std::env::split_paths(&path))
        .find(|folder| folder.join("initdb").is_file() && folder.join("pg_ctl").is_file())
}

/// A user, other than root, that the server can run as.
fn other_user() -> Option<(u32, u32)> {
    let users = std::fs::read_to_string("/etc/passwd").ok()?;
    ["postgres", "nobody"].iter().find_map(|wanted| {
        let line = users
            .lines()
            .find(|line| line.split(':').next() == Some(wanted))?;
        let mut fields = line.split(':').skip(2);
        Some((fields.next()?.parse().ok()?, fields.next()?.parse().ok()?))
    })
}

#[test]
fn postgresql_keeps_the_same_promises() {
    let Some(server) = Server::start() else {
        eprintln!("skipped: there is no PostgreSQL server (initdb, pg_ctl) on this machine");
        return;
    };
    let suites = [
        database::tests::ALL,
        job::tests::ALL,
        job::tests::bounds::ALL,
        job::tests::calls::ALL,
        job::tests::results::ALL,
        job::tests::kept::ALL,
        job::tests::rulings::ALL,
        job::tests::unsettled::ALL,
        job::tests::many::ALL,
        heads::tests::ALL,
        catalogues::tests::ALL,
        results_key::tests::ALL,
        token::tests::ALL,
    ];
    for (number, (name, test)) in suites.into_iter().flatten().enumerate() {
        eprintln!("{name}");
        test(World::new(server.database(&format!("suite{number}"))));
    }
    database::tests::postgres(&server);
}
