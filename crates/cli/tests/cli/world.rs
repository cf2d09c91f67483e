//! Parties that know each other by address and fingerprint, as processes of this machine.

use std::path::{Path, PathBuf};
use std::process::{Child, Command};

use crate::common::{Ended, addresses, cenote, finish, run, start, write};

/// Parties with identities and party files in a folder.
pub(crate) struct World<const N: usize> {
    pub(crate) folder: tempfile::TempDir,
    pub(crate) addresses: [String; N],
    pub(crate) fingerprints: [String; N],
}

pub(crate) fn identity(folder: &Path, name: &str) -> String {
    let file = folder.join(name);
    let made = run(cenote().args(["identity", "new", "--file"]).arg(&file));
    assert_eq!(made.code, Some(0), "{}", made.stderr);
    let shown = run(cenote().args(["identity", "show", "--file"]).arg(&file));
    assert!(made.stdout.contains(shown.stdout.trim()), "{}", made.stdout);
    shown.stdout.trim().to_owned()
}

pub(crate) fn paths<const N: usize>(jobs: &[PathBuf; N]) -> [&Path; N] {
    std::array::from_fn(|party| jobs[party].as_path())
}

impl World<3> {
    pub(crate) fn three() -> Self {
        Self::new()
    }

    /// The job of `party`: 16-bit addition of party 0's and party 1's values, for parties 1 and 2. `header` comes first.
    pub(crate) fn job(&self, party: usize, header: &str) -> PathBuf {
        self.addition(party, &format!("protocol = \"three\"\n{header}"), "[1, 2]")
    }

    pub(crate) fn jobs(&self, headers: [&str; 3]) -> [PathBuf; 3] {
        [0, 1, 2].map(|party| self.job(party, headers[party]))
    }
}

impl World<2> {
    pub(crate) fn two() -> Self {
        Self::new()
    }

    /// The jobs of both parties with `protocol`: 16-bit addition of their values, for both. Each party's header comes first.
    pub(crate) fn jobs_of(&self, protocol: &str, headers: [&str; 2]) -> [PathBuf; 2] {
        [0, 1].map(|party| {
            let header = format!("protocol = \"{protocol}\"\n{}", headers[party]);
            self.addition(party, &header, "[0, 1]")
        })
    }

    pub(crate) fn jobs(&self, headers: [&str; 2]) -> [PathBuf; 2] {
        self.jobs_of("lego", headers)
    }

    pub(crate) fn job(&self, party: usize, header: &str) -> PathBuf {
        self.jobs([header; 2])[party].clone()
    }
}

impl<const N: usize> World<N> {
    /// Has `party` wait for a silent peer for so many seconds.
    pub(crate) fn waits(&self, party: usize, seconds: u32) {
        let name = format!("party{party}.toml");
        let text = std::fs::read_to_string(self.folder.path().join(&name)).unwrap();
        let waits = |line: &str| match line.starts_with("timeout = ") {
            true => format!("timeout = {seconds}\n"),
            false => format!("{line}\n"),
        };
        let text: String = text.lines().map(waits).collect();
        write(self.folder.path(), &name, &text);
    }

    /// Gives every party a stock folder, and a key file to be made.
    pub(crate) fn add_stock(&self) {
        for party in 0..N {
            let name = format!("party{party}.toml");
            let text = std::fs::read_to_string(self.folder.path().join(&name)).unwrap();
            let text = format!("stock = \"stock{party}\"\nstock_key = \"stock{party}.key\"\n{text}");
            write(self.folder.path(), &name, &text);
        }
    }

    pub(crate) fn make_stock(&self, jobs: &[PathBuf; N], more: &[&str]) -> [Ended; N] {
        let children: [Child; N] = std::array::from_fn(|party| self.start_stock(party, &jobs[party], more));
        children.map(finish)
    }

    /// `cenote stock make` of one party.
    pub(crate) fn start_stock(&self, party: usize, job: &Path, more: &[&str]) -> Child {
        start(self.stock_command(party, &["make"]).arg(job).args(more))
    }

    pub(crate) fn show_stock(&self, party: usize) -> Ended {
        self.stock(party, &["show", "--json"])
    }

    /// `cenote stock` of one party.
    pub(crate) fn stock(&self, party: usize, command: &[&str]) -> Ended {
        run(&mut self.stock_command(party, command))
    }

    /// `cenote stock` of one party, to be run.
    pub(crate) fn stock_command(&self, party: usize, more: &[&str]) -> Command {
        let config = self.folder.path().join(format!("party{party}.toml"));
        let mut command = cenote();
        command.arg("stock").args(more).arg("--config").arg(config);
        command
    }

    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let fingerprints = std::array::from_fn(|party| identity(folder.path(), &format!("{party}.pem")));
        let world = World {
            folder,
            addresses: addresses(),
            fingerprints,
        };
        (0..N).for_each(|party| world.configure(party, &world.fingerprints, 20.0));
        world
    }

    /// Writes the file of `party`, which believes in these fingerprints. It waits for a silent peer as long as a busy machine may need.
    pub(crate) fn configure(&self, party: usize, fingerprints: &[String; N], connect_timeout: f64) {
        let mut text = format!(
            "party = {party}\nidentity = \"{party}.pem\"\nlisten = \"{}\"\ntimeout = 60\nconnect_timeout = {connect_timeout:?}\n",
            self.addresses[party]
        );
        for peer in (0..N).filter(|&peer| peer != party) {
            text += &format!(
                "[[peer]]\nparty = {peer}\naddress = \"{}\"\nfingerprint = \"{}\"\n",
                self.addresses[peer], fingerprints[peer]
            );
        }
        write(self.folder.path(), &format!("party{party}.toml"), &text);
    }

    pub(crate) fn start(&self, party: usize, job: &Path, more: &[&str]) -> Child {
        start(&mut self.party_command(party, job, more))
    }

    /// `cenote party`, to be run.
    pub(crate) fn party_command(&self, party: usize, job: &Path, more: &[&str]) -> Command {
        let config = self.folder.path().join(format!("party{party}.toml"));
        let mut command = cenote();
        command
            .args(["party", "--config"])
            .arg(config)
            .arg(job)
            .args(more);
        command
    }

    /// Runs all parties, each with its own job file.
    pub(crate) fn run(&self, jobs: [&Path; N], more: &[&str]) -> [Ended; N] {
        let children: [Child; N] = std::array::from_fn(|party| self.start(party, jobs[party], more));
        children.map(finish)
    }

    fn addition(&self, party: usize, header: &str, to: &str) -> PathBuf {
        let own = |owner: usize, hex: &str| {
            if owner == party {
                format!("hex = \"{hex}\"\n")
            } else {
                String::new()
            }
        };
        let text = format!(
            "{header}\n[[input]]\nparty = 0\n{}[[input]]\nparty = 1\n{}[[output]]\nto = {to}\n",
            own(0, "1000"),
            own(1, "0234")
        );
        write(self.folder.path(), &format!("job{party}.toml"), &text)
    }
}
