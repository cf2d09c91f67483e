//! Measurements, for people: `cargo test --release -p cenote-authenticated --test measure -- --ignored --nocapture`.

use std::path::Path;
use std::time::{Duration, Instant};

use cenote_authenticated::{AuthenticatedEngine, Config, Sizes};
use cenote_circuit::{Plan, library};
use cenote_net::{Channel, ChannelOptions, PartyId, memory_pair};
use cenote_primitives::BitMatrix;
use cenote_session::{Engine, Parties, Result, WireVector};
use cenote_store::{Store, StoreKey};

/// As in the command.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn env(name: &str, default: u32) -> u32 {
    std::env::var(name)
        .ok()
        .and_then(|value| value.parse().ok())
        .unwrap_or(default)
}

/// The processor time of this thread, where the system tells.
fn busy() -> f64 {
    let times = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let time = times.split(' ').next().and_then(|time| time.parse::<f64>().ok());
    time.unwrap_or(0.0)
}

/// When a phase began.
#[derive(Clone, Copy)]
struct Start(Instant, f64);

impl Start {
    fn now() -> Self {
        Self(Instant::now(), busy())
    }
}

fn party(me: PartyId, channel: Box<dyn Channel>) -> Result<()> {
    let mut config = Config::new("measure");
    config.symbols = env("SYMBOLS", 24);
    config.lot = env("LOT", 1 << 14);
    config.segment = env("SEGMENT", 1 << 11);
    let sizes = Sizes::search(40, env("POOL", 524_291)).unwrap();
    let bucket = sizes.pool.bucket;
    let tell = |what: &str, start: Start, count: f64| {
        let time = start.0.elapsed().as_secs_f64();
        let busy = (busy() - start.1) / count;
        let each = time * 1e9 / count;
        println!(
            "{me} {what}: {:.1} ms, {each:.1} ns each, busy {busy:.1} ns",
            time * 1e3
        );
    };
    let start = Start::now();
    let mut engine = AuthenticatedEngine::start(me, channel, config, sizes.clone())?;
    tell("set-up", start, 1.0);
    let start = Start::now();
    engine.fill()?;
    tell("fill", start, sizes.pool.pool_size as f64);
    let plan = Plan::new(&library::by_name("aes128").unwrap());
    for lanes in [1usize, 20] {
        let inputs = BitMatrix::from_fn(plan.input_wires(), lanes, |row, lane| {
            (row * 7 + lane * 3) % 5 < 2
        });
        let expected = plan.evaluate(&inputs).unwrap();
        let ands = (plan.and_count() * lanes) as f64;
        for _ in 0..2 {
            let start = Start::now();
            engine.ready(plan.and_count() * lanes)?;
            tell("ready", start, ands);
            let before = engine.costs().traffic;
            let own = (me.0 == 0).then_some(&inputs);
            let start = Start::now();
            let wires = engine.input(PartyId(0), plan.input_wires(), lanes, own)?;
            tell("input", start, (plan.input_wires() * lanes) as f64);
            let start = Start::now();
            let outputs = engine.run(&plan, &wires)?;
            tell("run", start, ands);
            let opened = engine.reveal(&outputs.select(0..plan.output_wires()), Parties::all(2))?;
            tell("run and reveal", start, ands);
            assert_eq!(opened.as_ref(), Some(&expected));
            let traffic = engine.costs().traffic;
            if me.0 == 0 {
                let bytes = traffic.payload_sent + traffic.payload_received
                    - before.payload_sent
                    - before.payload_received;
                println!("online {:.1} bytes an AND, B = {bucket}", bytes as f64 / ands);
            }
        }
    }
    let lanes = 200;
    let inputs = BitMatrix::zeros(plan.input_wires(), lanes);
    let wires = engine.constant(&inputs)?;
    for _ in 0..env("TIMES", 4) {
        let before = engine.costs().traffic;
        let start = Start::now();
        engine.run(&plan, &wires)?;
        let ands = (plan.and_count() * lanes) as f64;
        tell("all in", start, ands);
        let traffic = engine.costs().traffic;
        let bytes =
            traffic.payload_sent + traffic.payload_received - before.payload_sent - before.payload_received;
        println!("{me} {:.1} bytes an AND", bytes as f64 / ands);
    }
    engine.finish()
}

#[test]
#[ignore = "for people"]
fn measure() {
    let (for_a, for_b) = memory_pair(
        PartyId(0),
        PartyId(1),
        ChannelOptions::with_timeout(Duration::from_secs(60)),
    );
    std::thread::scope(|scope| {
        let other = scope.spawn(|| party(PartyId(1), Box::new(for_b)));
        party(PartyId(0), Box::new(for_a)).unwrap();
        other.join().unwrap().unwrap();
    });
}

/// An AES that was garbled ahead, in a session over a pool that is kept.
fn ahead(me: PartyId, channels: [Box<dyn Channel>; 2], folder: &Path) -> Result<()> {
    let store = Store::open(&folder.join(me.0.to_string()), &StoreKey::from_bytes([1; 32]))?;
    let plan = Plan::new(&library::by_name("aes128").unwrap());
    let inputs = BitMatrix::from_fn(plan.input_wires(), 1, |row, _| row % 3 == 0);
    let expected = plan.evaluate(&inputs).unwrap();
    let times = env("TIMES", 4);
    let tell =
        |what: &str, start: Instant| println!("{me} {what}: {:.2} ms", start.elapsed().as_secs_f64() * 1e3);
    for (session, channel) in channels.into_iter().enumerate() {
        let start = Instant::now();
        let config = Config::new(format!("measure {session}"));
        let sizes = Sizes::search(40, env("POOL", 8192)).unwrap();
        let mut engine = AuthenticatedEngine::start_kept(me, channel, config, sizes, &store)?;
        tell("set-up", start);
        for _ in 0..times {
            if session == 0 {
                let start = Instant::now();
                engine.make_ready(&plan, 1)?;
                tell("garbled ahead", start);
                continue;
            }
            let start = Instant::now();
            engine.prepare(&plan, 1)?;
            tell("claimed", start);
            let start = Instant::now();
            let own = (me.0 == 0).then_some(&inputs);
            let wires = engine.input(PartyId(0), plan.input_wires(), 1, own)?;
            tell("input", start);
            let outputs = engine.run(&plan, &wires)?;
            tell("input and run", start);
            let opened = engine.reveal(&outputs, Parties::all(2))?;
            tell("input, run and reveal", start);
            assert_eq!(opened.as_ref(), Some(&expected));
        }
        engine.finish()?;
    }
    Ok(())
}

#[test]
#[ignore = "for people"]
fn measure_what_was_garbled_ahead() {
    let folder = tempfile::tempdir().unwrap();
    let pair = || {
        let options = ChannelOptions::with_timeout(Duration::from_secs(60));
        memory_pair(PartyId(0), PartyId(1), options)
    };
    let ((a, b), (c, d)) = (pair(), pair());
    std::thread::scope(|scope| {
        let other = scope.spawn(|| ahead(PartyId(1), [Box::new(b), Box::new(d)], folder.path()));
        ahead(PartyId(0), [Box::new(a), Box::new(c)], folder.path()).unwrap();
        other.join().unwrap().unwrap();
    });
}
