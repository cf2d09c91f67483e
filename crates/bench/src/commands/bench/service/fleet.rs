//! The services of all parties on this machine, each a process of its own with a folder of its own.

use std::collections::{HashMap, VecDeque};
use std::fs::File;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use cenote::{Error, Result};
use cenote_api::view::{About, JobView, Stock};
use cenote_node::local;

use cenote_console::Sibling;
use cenote_console::service::{Reach, Service};

/// Where services listen that are made on this machine.
const USUAL_HOST: &str = "127.0.0.1";

/// How long a service may take to come up with its peers.
const UP: Duration = Duration::from_secs(60);
/// How often it is asked whether it is.
const LOOK: Duration = Duration::from_millis(5);
/// How long stock may take to be made, and how often it is looked at.
const FULL: Duration = Duration::from_secs(600);
const SOMETIMES: Duration = Duration::from_millis(200);
/// Ends of jobs that are remembered for those who ask late.
const REMEMBERED: usize = 20_000;
/// How often a job is looked at of whose end nothing is heard.
const AGAIN: Duration = Duration::from_secs(2);

/// The rules of every party: whatever is proposed is approved.
const POLICY: &str = "max_unsettled = 1000\n[[rule]]\nname = \"all\"\ndata = \"any\"\ncalls = 4294967296\nthen = \"approve\"\n";

/// The services, which end with this.
pub(super) struct Fleet {
    pub(super) members: Vec<Member>,
}

/// A party.
pub(super) struct Member {
    pub(super) folder: PathBuf,
    reach: Reach,
    process: Mutex<Option<Child>>,
    ends: Arc<Ends>,
}

/// Jobs that have ended at a party, as its events tell.
#[derive(Default)]
struct Ends {
    known: Mutex<Known>,
    heard: Condvar,
    over: AtomicBool,
}

#[derive(Default)]
struct Known {
    ended: HashMap<String, Instant>,
    order: VecDeque<String>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Random bytes of the operating system.
pub(super) fn random<const N: usize>() -> Result<[u8; N]> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(|error| {
        fault(
            "drawing a name",
            format!("the system gives no random bytes: {error}"),
        )
    })?;
    Ok(bytes)
}

pub(super) fn fault(what: impl Into<String>, why: impl Into<String>) -> Error {
    Error::local(what, std::io::Error::other(why.into()))
}

impl Fleet {
    /// Makes `parties` parties in `folder`, each with `data`, by the names of inputs, and brings their services up.
    ///
    /// # Errors
    /// What the system says; a service that does not come up.
    pub(super) fn start(folder: &Path, parties: u8, data: &[(&str, &str)]) -> Result<Self> {
        let wrong = |error: cenote_node::Error| fault("making the parties", error.to_string());
        let made = local::make(folder, parties).map_err(wrong)?;
        let host = own_host();
        let mut members = Vec::new();
        // Other services of this machine may want the usual ports at the same time.
        let mut held = Vec::new();
        if host != USUAL_HOST {
            for places in &made.places {
                held.push(hold(&host, places)?);
            }
        }
        for file in made.files {
            held.push(settle(&file, &host)?);
            let home = file.parent().unwrap_or(Path::new("")).to_owned();
            write(&home.join("policy.toml"), POLICY)?;
            for (name, text) in data {
                write(&home.join("data").join(name), text)?;
            }
            members.push(Member {
                folder: home,
                reach: Reach {
                    config: Some(file),
                    service: None,
                    fingerprint: None,
                    token_file: None,
                },
                process: Mutex::new(None),
                ends: Arc::default(),
            });
        }
        drop((held, made.places));
        let fleet = Fleet { members };
        for member in &fleet.members {
            member.start()?;
        }
        for member in &fleet.members {
            member.wait(|_| None)?;
        }
        for member in &fleet.members {
            member.wait_ready()?;
            member.listen()?;
        }
        Ok(fleet)
    }

    /// Waits until all parties have the stock that they are to keep: three quarters at least, since more is made once there is less.
    ///
    /// # Errors
    /// That they have not, within [`FULL`].
    pub(super) fn fill_stock(&self, told: &dyn Fn(&str)) -> Result<()> {
        let start = Instant::now();
        loop {
            let mut missing = 0;
            for member in &self.members {
                let stock: Vec<Stock> = member.service()?.get("/api/v1/stock")?;
                let lacks = stock
                    .iter()
                    .map(|kind| (kind.target - kind.target / 4).saturating_sub(kind.amount));
                missing = missing.max(lacks.sum::<u64>());
            }
            if missing == 0 {
                return Ok(());
            }
            told(&format!("filling the stock: {missing} AND gates to go"));
            if start.elapsed() > FULL {
                return Err(fault(
                    "filling the stock",
                    format!("{missing} AND gates are missing after {FULL:?}"),
                ));
            }
            std::thread::sleep(SOMETIMES);
        }
    }

    /// The party of this number, counted on and on.
    pub(super) fn member(&self, number: usize) -> &Member {
        &self.members[number % self.members.len()]
    }
}

impl Drop for Fleet {
    fn drop(&mut self) {
        for member in &self.members {
            member.ends.over.store(true, Ordering::Relaxed);
            member.kill();
        }
    }
}

/// An address of this machine that hardly anybody else uses, where the loopback interface has more than one: what is bound to any free port of
/// 127.0.0.1 is not in the way of a service that starts again.
fn own_host() -> String {
    let process = std::process::id();
    let host = format!("127.{}.{}.2", (process >> 8) as u8, process as u8);
    match TcpListener::bind((host.as_str(), 0)) {
        Ok(_) => host,
        Err(_) => USUAL_HOST.to_owned(),
    }
}

/// Holds the port at which a party's peers will find it at `host`.
fn hold(host: &str, places: &local::Places) -> Result<TcpListener> {
    let fault = |error| Error::local(format!("holding a port of {host}"), error);
    let port = places.peers.local_addr().map_err(fault)?.port();
    TcpListener::bind((host, port)).map_err(fault)
}

/// Moves a party, and where it looks for its peers, to `host`, and its interface to a free port of that. While what this gives is held, the
/// port is not given to another party.
fn settle(file: &Path, host: &str) -> Result<TcpListener> {
    let fault = |error| Error::local(format!("preparing {}", file.display()), error);
    let listener = TcpListener::bind((host, 0)).map_err(fault)?;
    let address = listener.local_addr().map_err(fault)?;
    let text = std::fs::read_to_string(file).map_err(fault)?;
    let lines = text.lines().map(|line| match line.starts_with("http = ") {
        true => format!("http = \"{address}\"\n"),
        false => format!("{line}\n"),
    });
    let text = lines
        .collect::<String>()
        .replace(&format!("\"{USUAL_HOST}:"), &format!("\"{host}:"));
    write(file, &text)?;
    Ok(listener)
}

pub(super) fn write(path: &Path, text: &str) -> Result<()> {
    std::fs::write(path, text).map_err(|error| Error::local(format!("writing {}", path.display()), error))
}

impl Member {
    /// Starts its process. What that says goes to a file in its folder.
    pub(super) fn start(&self) -> Result<()> {
        let log = File::options()
            .create(true)
            .append(true)
            .open(self.folder.join("log"))
            .map_err(|error| Error::local("making a log", error))?;
        let mut command = Sibling::Serve.command(None, 0)?;
        command.arg("--config").args(&self.reach.config);
        command.env("RUST_LOG", "warn");
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
        let child = command
            .spawn()
            .map_err(|error| Error::local("starting a service", error))?;
        *lock(&self.process) = Some(child);
        Ok(())
    }

    /// Ends its process at once (SIGKILL).
    pub(super) fn kill(&self) {
        if let Some(mut child) = lock(&self.process).take() {
            // Neither can fail in a way that matters: it has ended, or ends now.
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    /// Calls to its interface.
    pub(super) fn service(&self) -> Result<Service> {
        self.reach.open()
    }

    /// Waits until it can take jobs. Gives how long that took.
    pub(super) fn wait_ready(&self) -> Result<Duration> {
        self.wait(|about| about.not_ready)
    }

    /// Waits until it answers, and nothing is `missing`.
    pub(super) fn wait(&self, missing: fn(About) -> Option<String>) -> Result<Duration> {
        let start = Instant::now();
        let mut why = "it does not answer".to_owned();
        while start.elapsed() < UP {
            if let Ok(service) = self.service()
                && let Ok(about) = service.get::<About>("/api/v1/about")
            {
                match missing(about) {
                    None => return Ok(start.elapsed()),
                    Some(missing) => why = missing,
                }
            }
            if let Some(child) = lock(&self.process).as_mut()
                && let Ok(Some(status)) = child.try_wait()
            {
                let log = std::fs::read_to_string(self.folder.join("log")).unwrap_or_default();
                return Err(fault(
                    "bringing a service up",
                    format!("{status}: {}", log.lines().last().unwrap_or_default()),
                ));
            }
            std::thread::sleep(LOOK);
        }
        Err(fault("waiting for a service", why))
    }

    /// Hears of the ends of jobs from here on, also when it was started anew.
    fn listen(&self) -> Result<()> {
        let (ends, reach) = (Arc::clone(&self.ends), self.reach.clone());
        let body = move || {
            while !ends.over.load(Ordering::Relaxed) {
                let heard = reach.open().and_then(|service| {
                    service.listen("/api/v1/events", &mut |event| {
                        ends.hear(event);
                        Ok(false)
                    })
                });
                if heard.is_err() {
                    std::thread::sleep(LOOK);
                }
            }
        };
        std::thread::Builder::new()
            .name("events".into())
            .spawn(body)
            .map(drop)
            .map_err(|error| Error::local("listening to a service", error))
    }

    /// Waits for the end of a job, within `limit`. Gives when it was heard of, and the job.
    pub(super) fn wait_end(
        &self,
        service: &Service,
        id: &str,
        limit: Duration,
    ) -> Result<(Instant, JobView)> {
        let start = Instant::now();
        loop {
            let at = self.ends.wait(id, AGAIN.min(limit));
            let job: Result<cenote_api::view::JobDetail> = service.get(&format!("/api/v1/jobs/{id}"));
            match job {
                Ok(detail) if has_ended(&detail.job.state) => {
                    return Ok((at.unwrap_or_else(Instant::now), detail.job));
                }
                Err(error) if at.is_some() || start.elapsed() > limit => return Err(error),
                _ => {}
            }
            if start.elapsed() > limit {
                return Err(fault(
                    "waiting for a job",
                    format!("{id} has not ended in {limit:?}"),
                ));
            }
        }
    }

    /// When the end of a job was heard of, at most `limit` from now.
    pub(super) fn heard_end(&self, id: &str, limit: Duration) -> Option<Instant> {
        self.ends.wait(id, limit)
    }

    /// Bytes of memory that its process holds, where the system tells.
    pub(super) fn resident(&self) -> Option<u64> {
        let id = lock(&self.process).as_ref()?.id();
        let status = std::fs::read_to_string(format!("/proc/{id}/status")).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
        let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
        Some(kilobytes * 1024)
    }

    /// Jobs that it has run from stock.
    pub(super) fn jobs_from_stock(&self) -> Result<u64> {
        let metrics = self.service()?.get_text("/metrics")?;
        let of = |line: &str| line.strip_prefix("cenote_jobs_from_stock_total ")?.parse().ok();
        Ok(metrics.lines().find_map(of).unwrap_or(0))
    }

    /// Processor seconds that its process has used, where the system tells.
    pub(super) fn processor(&self) -> Option<f64> {
        let id = lock(&self.process).as_ref()?.id();
        let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
        let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
        let ticks: u64 = fields.get(11)?.parse::<u64>().ok()? + fields.get(12)?.parse::<u64>().ok()?;
        Some(ticks as f64 / 100.0)
    }
}

/// Whether nothing more happens to a job in this state.
pub(super) fn has_ended(state: &str) -> bool {
    matches!(state, "done" | "declined" | "failed" | "cancelled")
}

impl Ends {
    fn hear(&self, event: &str) {
        let value: serde_json::Value = serde_json::from_str(event).unwrap_or_default();
        let (Some(job), Some(state)) = (value["job"].as_str(), value["state"].as_str()) else {
            return;
        };
        if value["event"] != "job" || !has_ended(state) {
            return;
        }
        let mut known = lock(&self.known);
        if known.order.len() >= REMEMBERED
            && let Some(oldest) = known.order.pop_front()
        {
            known.ended.remove(&oldest);
        }
        known.ended.insert(job.to_owned(), Instant::now());
        known.order.push_back(job.to_owned());
        self.heard.notify_all();
    }

    fn wait(&self, id: &str, limit: Duration) -> Option<Instant> {
        let known = lock(&self.known);
        let (known, _) = self
            .heard
            .wait_timeout_while(known, limit, |known| !known.ended.contains_key(id))
            .unwrap_or_else(PoisonError::into_inner);
        known.ended.get(id).copied()
    }
}
