//! Times of a job's phases, both parties in one process, over the loopback interface:
//! `cargo bench -p cenote-lego --bench eval -- aes128 128` (circuit and copies).

use std::net::{TcpListener, TcpStream};
use std::sync::Barrier;
use std::time::Instant;

use cenote_circuit::{Circuit, Plan, library};
use cenote_lego::LegoEngine;
use cenote_lego::{Config, Order};
use cenote_net::{Channel, ChannelOptions, PartyId, TcpChannel};
use cenote_primitives::BitMatrix;
use cenote_session::{Engine, Parties, Result, WireVector};

const GARBLER: PartyId = PartyId(0);
const EVALUATOR: PartyId = PartyId(1);

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1).filter(|argument| argument != "--bench");
    let name = arguments.next().unwrap_or_else(|| "aes128".into());
    let lanes = arguments.next().and_then(|text| text.parse().ok()).unwrap_or(1);
    let times: usize = arguments.next().and_then(|text| text.parse().ok()).unwrap_or(5);
    let Ok(circuit) = library::by_name(&name) else {
        println!("there is no circuit {name}");
        return Ok(());
    };
    let plan = Plan::new(&circuit);
    println!(
        "{name}, {lanes} copies, milliseconds per copy; {} AND gates each",
        plan.and_count()
    );

    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let dialled = TcpStream::connect(listener.local_addr().expect("an address")).expect("a connection");
    let accepted = listener.accept().expect("a connection").0;
    let start = Barrier::new(2);
    let job = Job {
        circuit: &circuit,
        plan: &plan,
        lanes,
        times,
        start: &start,
    };
    std::thread::scope(|scope| {
        let parties = [(GARBLER, EVALUATOR, accepted), (EVALUATOR, GARBLER, dialled)];
        let parties = parties.map(|(me, peer, stream)| scope.spawn(move || job.party(me, peer, stream)));
        parties
            .into_iter()
            .try_for_each(|party| party.join().expect("no party panics"))
    })
}

/// What both parties do.
#[derive(Clone, Copy)]
struct Job<'a> {
    circuit: &'a Circuit,
    plan: &'a Plan,
    lanes: usize,
    times: usize,
    /// Where they wait for one another between phases.
    start: &'a Barrier,
}

impl Job<'_> {
    fn party(&self, me: PartyId, peer: PartyId, stream: TcpStream) -> Result<()> {
        let Self {
            circuit,
            plan,
            lanes,
            times,
            start,
        } = *self;
        let channel = TcpChannel::over(peer, stream, ChannelOptions::default())?;
        let channels: Vec<Box<dyn Channel>> = vec![Box::new(channel)];
        let mut last = Instant::now();
        let mut lap = |engine: &LegoEngine, what: &str, divisor: usize| {
            let traffic = engine.costs().traffic;
            start.wait();
            if me == EVALUATOR {
                let time = last.elapsed().as_secs_f64() * 1e3 / divisor as f64;
                println!(
                    "{what:>12} {time:9.4} ms {:12} B received",
                    traffic.payload_received
                );
            }
            last = Instant::now();
        };
        let mut engine = LegoEngine::start(me, channels, Config::new("bench"))?;
        lap(&engine, "setup", 1);
        let widths = circuit.inputs().iter().map(|value| value.width as usize);
        let owners: Vec<_> = widths
            .enumerate()
            .map(|(index, width)| (PartyId((index % 2) as u8), width))
            .collect();
        engine.generate(order(plan, &owners).times((lanes * times) as u64))?;
        lap(&engine, "independent", lanes * times);
        for _ in 0..times {
            engine.prepare(plan, lanes)?;
            lap(&engine, "dependent", lanes);
        }
        for _ in 0..times {
            let mut parts = Vec::new();
            for &(owner, width) in &owners {
                let bits = BitMatrix::from_fn(width, lanes, |row, lane| (row * lane) % 3 == 0);
                parts.push(engine.input(owner, width, lanes, (owner == me).then_some(&bits))?);
            }
            let inputs = WireVector::concat(&parts.iter().collect::<Vec<_>>());
            let outputs = engine.run(plan, &inputs)?;
            engine.reveal(&outputs, Parties::one(EVALUATOR))?;
            drop((outputs, inputs, parts));
            lap(&engine, "online", lanes);
        }
        engine.finish()
    }
}

/// The material of one copy.
fn order(plan: &Plan, owners: &[(PartyId, usize)]) -> Order {
    let total = |owner| {
        let owned = owners.iter().filter(|(of, _)| *of == owner);
        owned.map(|(_, width)| *width as u64).sum()
    };
    Order {
        ands: plan.and_count() as u64,
        garbler_inputs: total(GARBLER),
        evaluator_inputs: total(EVALUATOR),
        masks: plan.output_wires() as u64,
        ports: plan.input_wires() as u64,
        ..Order::NOTHING
    }
}
