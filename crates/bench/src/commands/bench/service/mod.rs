//! `cenote bench service`: the standing services of all parties on this machine, each `cenote serve` as an operator runs it, over its HTTP
//! interface and TLS between the parties.

mod calls;
mod fleet;
mod kill;
mod load;
mod report;
mod task;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use crate::Machine;
use cenote::local::{Setting, run_job};
use cenote::{Error, Result, Transport};

use self::calls::Standing;
use self::fleet::{Fleet, Member, write};
use self::report::{Large, Latency, Memory, Rated, Report, Restart, Used};
use self::task::{DATA, Task};
use cenote_console::args::{Form, seconds};
use cenote_console::{Progress, child};

#[derive(Debug, clap::Args)]
pub(crate) struct BenchService {
    /// Parties: 2 or 3
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(2..=3), default_value_t = 3)]
    parties: u8,
    /// The protocol [default: three for three parties, authenticated for two]
    #[arg(long, value_name = "NAME")]
    protocol: Option<String>,
    /// How many jobs of one AES to time, one after the other
    #[arg(long, value_name = "N", default_value_t = 200)]
    jobs: u64,
    /// How many small jobs to run side by side, for their rate
    #[arg(long, value_name = "N", default_value_t = 2000)]
    small: u64,
    /// The small jobs' circuit: one of the library, with two inputs x and y
    #[arg(long, value_name = "CIRCUIT", default_value = "lib:add8")]
    small_circuit: String,
    /// How many small jobs to keep in flight
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=256), default_value_t = 64)]
    in_flight: u64,
    /// How many calls of a standing AES to time, one after the other; 0 leaves all calls out
    #[arg(long, value_name = "N", default_value_t = 200)]
    calls: u64,
    /// How many calls of a standing AES, and ten times as many of the small circuit, to make side by side, for their rate
    #[arg(long, value_name = "N", default_value_t = 4000)]
    many_calls: u64,
    /// How many calls a caller makes with one request; there are as many callers as small jobs in flight
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1000), default_value_t = 32)]
    together: u64,
    /// AND gates of the large job, which also runs without services; 0 leaves it out
    #[arg(long, value_name = "N", value_parser = cenote::text::quantity, default_value = "100M")]
    large: u64,
    /// How often to run the large job each way; the fastest is reported
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), default_value_t = 3)]
    repeat: u32,
    /// Then run this many more small jobs, and watch memory
    #[arg(long, value_name = "N", value_parser = cenote::text::quantity, default_value = "0")]
    soak: u64,
    /// Wait until the stock is full before timing or killing; new services of two parties have some
    #[arg(long)]
    stock: bool,
    /// Instead of all this, run this many jobs while parties are killed (SIGKILL) and restarted, and check how each job ended
    #[arg(long, value_name = "N", value_parser = cenote::text::count)]
    kill: Option<u64>,
    /// About how many seconds between two kills
    #[arg(long, value_name = "SECONDS", value_parser = seconds, default_value = "3", requires = "kill")]
    every: Duration,
    /// Keep the parties in this folder [default: a folder that is deleted at the end]
    #[arg(long, value_name = "DIR")]
    folder: Option<PathBuf>,
    /// Seconds that a job may take
    #[arg(long, value_name = "SECONDS", value_parser = seconds, default_value = "60")]
    timeout: Duration,
    #[command(flatten)]
    pub(crate) form: Form,
}

/// Jobs that are run before the first is timed.
const WARM_UP: u64 = 10;
/// How often memory is looked at in a soak.
const LOOKS: u64 = 40;

impl BenchService {
    fn protocol(&self) -> &str {
        match (&self.protocol, self.parties) {
            (Some(protocol), _) => protocol,
            (None, 2) => "authenticated",
            (None, _) => "three",
        }
    }
}

pub(super) fn run(options: &BenchService, verbose: u8) -> Result<()> {
    let own;
    let folder = match &options.folder {
        Some(folder) => folder.as_path(),
        None => {
            own = tempfile::tempdir().map_err(|source| Error::local("making a folder", source))?;
            own.path()
        }
    };
    let progress = Progress::start("bringing services up");
    let machine = Machine::now();
    let fleet = Fleet::start(folder, options.parties, &DATA)?;
    let fill = || match options.stock {
        true => fleet.fill_stock(&|what| progress.name(what)),
        false => Ok(()),
    };
    fill()?;
    if let Some(jobs) = options.kill {
        let killed = killed(options, &fleet, jobs, &progress)?;
        drop(progress);
        options.form.print(&killed, || killed.text())?;
        return killed.verdict();
    }
    let small = Task::new(options.protocol(), &options.small_circuit, options.parties)?;

    progress.name("one AES at a time");
    let latency = latency(options, &fleet)?;
    let rate = match options.small {
        0 => None,
        _ => {
            fill()?;
            progress.name("small jobs side by side");
            Some(rate(options, &fleet, &small)?)
        }
    };
    let calls = match options.calls {
        0 => Vec::new(),
        _ => calls(options, &fleet, &small, &progress)?,
    };
    progress.name("a large job");
    let large = (options.large > 0)
        .then(|| large(options, &fleet, folder, verbose))
        .transpose()?;
    let memory = (options.soak > 0)
        .then(|| soak(options, &fleet, &small, &progress))
        .transpose()?;
    progress.name("starting services anew");
    let restart = restart(&fleet)?;
    drop(progress);
    let report = Report {
        machine,
        parties: options.parties,
        protocol: options.protocol().to_owned(),
        latency,
        rate,
        calls,
        large,
        memory,
        restart,
    };
    options.form.print(&report, || report.text())
}

/// Jobs of several circuits while parties are killed.
fn killed(options: &BenchService, fleet: &Fleet, jobs: u64, progress: &Progress) -> Result<kill::Killed> {
    let circuits = ["lib:add32", "lib:sub16", "lib:mult8", "lib:aes128"];
    let tasks = circuits.map(|circuit| Task::new(options.protocol(), circuit, options.parties));
    let tasks = tasks.into_iter().collect::<Result<Vec<_>>>()?;
    let plan = kill::Plan {
        jobs,
        in_flight: options.in_flight.min(16),
        every: options.every,
        patience: options.timeout.max(Duration::from_secs(120)),
    };
    kill::run(fleet, &tasks, &plan, &|what| progress.name(what))
}

fn latency(options: &BenchService, fleet: &Fleet) -> Result<Latency> {
    let aes = Task::new(options.protocol(), "lib:aes128", options.parties)?;
    let member = fleet.member(0);
    let service = member.service()?;
    for _ in 0..WARM_UP {
        load::one(member, &service, &aes, options.timeout)?;
    }
    let before = used(fleet)?;
    let mut took = Vec::new();
    for _ in 0..options.jobs.max(1) {
        took.push(load::one(member, &service, &aes, options.timeout)?);
    }
    Ok(Latency::new(&took, used(fleet)?.since(before)))
}

fn rate(options: &BenchService, fleet: &Fleet, small: &Task) -> Result<Rated> {
    let before = used(fleet)?;
    let rate = load::many(
        fleet,
        small,
        options.small,
        options.in_flight,
        options.timeout,
        &|_| (),
    )?;
    Ok(Rated::new(&rate, options.in_flight, used(fleet)?.since(before)))
}

/// Calls of jobs that stand.
fn calls(
    options: &BenchService,
    fleet: &Fleet,
    small: &Task,
    progress: &Progress,
) -> Result<Vec<calls::Called>> {
    let aes_circuit = "lib:aes128";
    let aes = Task::new(options.protocol(), aes_circuit, options.parties)?;
    progress.name("calls of a standing AES");
    let standing = Standing::start(fleet, &aes, aes_circuit, options.timeout)?;
    let mut all = vec![standing.time(options.calls, 1, 1)?];
    if options.many_calls > 0 {
        progress.name("many calls of a standing AES");
        all.push(standing.time(options.many_calls, options.in_flight, options.together)?);
    }
    standing.end()?;
    if options.many_calls > 0 {
        progress.name("many calls of a standing small circuit");
        let standing = Standing::start(fleet, small, &options.small_circuit, options.timeout)?;
        all.push(standing.time(10 * options.many_calls, options.in_flight, options.together)?);
        standing.end()?;
    }
    Ok(all)
}

/// What the services have used so far.
fn used(fleet: &Fleet) -> Result<Used> {
    Ok(Used {
        processor: fleet.members.iter().filter_map(Member::processor).sum(),
        from_stock: fleet.member(0).jobs_from_stock()?,
    })
}

/// The large job at the services and without them, in turn.
fn large(options: &BenchService, fleet: &Fleet, folder: &std::path::Path, verbose: u8) -> Result<Large> {
    let (values, task) = Task::large(options.protocol(), options.large, options.parties)?;
    let path = folder.join("large.toml");
    write(&path, &values.with_values)?;
    let data = |member: &fleet::Member, name: &str| member.folder.join("data").join(name);
    for member in &fleet.members {
        for (name, text) in &values.data {
            write(&data(member, name), text)?;
        }
    }
    let setting = Setting {
        transport: Transport::Tls,
        timeout: options.timeout,
        phase_timeout: None,
    };
    let command = child(verbose)?;
    let member = fleet.member(0);
    let service = member.service()?;
    let (mut served, mut alone) = (f64::INFINITY, f64::INFINITY);
    for _ in 0..options.repeat {
        let start = Instant::now();
        let job = load::submit(&service, &task, &load::name()?)?;
        let (at, _) = member.wait_end(&service, &job.id, options.timeout.max(Duration::from_secs(600)))?;
        served = served.min((at - start).as_secs_f64());
        load::fetch(&service, &job.id, &task)?;
        let report = run_job(&path, setting, &command, &mut |_, _| ())?;
        let seconds = report.parties.iter().map(|party| party.seconds.of("total"));
        alone = alone.min(seconds.fold(0.0, f64::max));
    }
    for member in &fleet.members {
        for (name, text) in &DATA {
            write(&data(member, name), text)?;
        }
    }
    Ok(Large::new(task.ands, served, alone))
}

/// Many small jobs, while memory is watched.
fn soak(options: &BenchService, fleet: &Fleet, small: &Task, progress: &Progress) -> Result<Memory> {
    let step = (options.soak / LOOKS).max(1);
    let looks = std::sync::Mutex::new(Vec::new());
    let start = Instant::now();
    let told = |ended: u64| {
        if ended.is_multiple_of(step) {
            let bytes: Vec<u64> = fleet
                .members
                .iter()
                .filter_map(|member| member.resident())
                .collect();
            let megabytes: Vec<String> = bytes
                .iter()
                .map(|bytes| format!("{:.1}", *bytes as f64 / 1e6))
                .collect();
            progress.name(&format!("soak: {ended} jobs, {} MB", megabytes.join(" and ")));
            looks
                .lock()
                .unwrap_or_else(std::sync::PoisonError::into_inner)
                .push(report::Look {
                    jobs: ended,
                    seconds: start.elapsed().as_secs_f64(),
                    bytes,
                });
        }
    };
    let rate = load::many(
        fleet,
        small,
        options.soak,
        options.in_flight,
        options.timeout,
        &told,
    )?;
    let mut looks = looks
        .into_inner()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    looks.sort_by_key(|look| look.jobs);
    Ok(Memory::new(options.soak, rate.seconds, looks))
}

/// Each party in turn is killed and started anew, while the others are up.
fn restart(fleet: &Fleet) -> Result<Restart> {
    let mut seconds = Vec::new();
    for member in &fleet.members {
        member.kill();
        let start = Instant::now();
        member.start()?;
        member.wait_ready()?;
        seconds.push(start.elapsed().as_secs_f64());
    }
    let page: serde_json::Value = fleet.member(0).service()?.get("/api/v1/jobs?limit=1")?;
    Ok(Restart {
        jobs: page["jobs"][0]["number"].as_u64().unwrap_or_default(),
        seconds,
    })
}
