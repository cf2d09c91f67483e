//! What a session says that it holds, ahead and afterwards, is what it holds: counted by the allocator, for each party.

mod common;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use cenote_circuit::{BitOrder, Builder, Circuit, Plan, library};
use cenote_lego::{Forecast, LegoEngine, LegoWires, Order};
use cenote_net::{ChannelOptions, PartyId, memory_pair};
use cenote_primitives::BitMatrix;
use cenote_session::{Cause, Demand, Engine, Error, Parties, Reason, Result, WireVector};
use common::{A, B, config, put_in, random_bits};

/// Counts the bytes of each party, which are those that its thread asks for, wherever they are given back.
struct Counting;

static HELD: [AtomicU64; 3] = [const { AtomicU64::new(0) }; 3];
/// The largest piece that each party can have, if that is limited.
static LARGEST: [AtomicUsize; 3] = [const { AtomicUsize::new(usize::MAX) }; 3];
static MOST: [AtomicU64; 3] = [const { AtomicU64::new(0) }; 3];

/// What belongs to no party.
const NOBODY: usize = 2;

thread_local! {
    static OWNER: Cell<usize> = const { Cell::new(NOBODY) };
}

/// Room for the owner before what is asked for.
fn with_owner(layout: Layout) -> (Layout, usize) {
    let align = layout.align().max(16);
    let whole =
        Layout::from_size_align(layout.size() + align, align).expect("tests ask for less than there can be");
    (whole, align)
}

fn refused(layout: Layout) -> bool {
    let owner = OWNER.try_with(Cell::get).unwrap_or(NOBODY);
    layout.size() > LARGEST[owner].load(Ordering::Relaxed)
}

/// # Safety
/// `base` is null or points to `size + offset` bytes that are the caller's, 16 or more of them before `offset`.
unsafe fn owned(base: *mut u8, offset: usize, size: usize) -> *mut u8 {
    if base.is_null() {
        return base;
    }
    let owner = OWNER.try_with(Cell::get).unwrap_or(NOBODY);
    let held = HELD[owner].fetch_add(size as u64, Ordering::Relaxed) + size as u64;
    MOST[owner].fetch_max(held, Ordering::Relaxed);
    // SAFETY: there is room for it, aligned to 16 bytes or more.
    unsafe {
        base.cast::<usize>().write(owner);
        base.add(offset)
    }
}

// SAFETY: all memory is the system's; what is returned lies `offset` bytes into it, aligned as asked.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if refused(layout) {
            return std::ptr::null_mut();
        }
        let (whole, offset) = with_owner(layout);
        // SAFETY: the layout is not empty; `owned` gets what it needs.
        unsafe { owned(System.alloc(whole), offset, layout.size()) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if refused(layout) {
            return std::ptr::null_mut();
        }
        let (whole, offset) = with_owner(layout);
        // SAFETY: as above.
        unsafe { owned(System.alloc_zeroed(whole), offset, layout.size()) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        let (whole, offset) = with_owner(layout);
        // SAFETY: `at` came from `owned` with the same layout.
        unsafe {
            let base = at.sub(offset);
            HELD[base.cast::<usize>().read()].fetch_sub(layout.size() as u64, Ordering::Relaxed);
            System.dealloc(base, whole);
        }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// One test at a time counts.
static ONE: Mutex<()> = Mutex::new(());

/// Bytes of a wire that is kept, in a lane.
const WIRE: u64 = 56;

/// What a run took at each party: counted, said afterwards, said ahead.
struct Taken {
    counted: u64,
    said: u64,
    forecast: u64,
}

/// Two levels of 2^15 AND gates each on 512 wires.
fn wide() -> Circuit {
    let mut b = Builder::new();
    let [x, y] = ["x", "y"].map(|name| b.input(name, 256, BitOrder::Lsb));
    let mut products = Vec::new();
    for shift in 0..128 {
        products.extend((0..256).map(|i| b.and(x[i], y[(i + shift) % 256])));
    }
    let mut sums = x;
    for (i, &product) in products.iter().enumerate() {
        let again = b.and(product, products[(i + 1) % products.len()]);
        sums[i % 256] = b.xor(sums[i % 256], again);
    }
    b.output("sums", &sums, BitOrder::Lsb);
    b.finish()
}

/// One AND gate, whose bit is given 512 times: much is opened, and little computed.
fn opened() -> Circuit {
    let mut b = Builder::new();
    let [x, y] = ["x", "y"].map(|name| b.input(name, 1, BitOrder::Lsb));
    let product = b.and(x[0], y[0]);
    b.output("products", &[product; 512], BitOrder::Lsb);
    b.finish()
}

/// Runs `circuit` as a program does, half of its inputs each party's, its outputs `to` be opened in the end, in groups of lanes
/// if there are more than may be ahead.
fn run(circuit: &str, lanes: usize, ahead: Option<u64>, to: Parties) -> Vec<Taken> {
    let circuit = match circuit {
        "wide" => wide(),
        "opened" => opened(),
        name => library::by_name(name).unwrap(),
    };
    let plan = &Plan::new(&circuit);
    let bits = |wires: usize| (wires * lanes) as u64;
    let half = bits(plan.input_wires() / 2);
    let demand = Demand::new()
        .and_run(plan, lanes, 1)
        .and_input(A, half)
        .and_input(B, half)
        .and_output(to, bits(plan.output_wires()));
    taken(&demand, ahead, |engine| execute(engine, plan, lanes, to))
}

/// Runs a program that does what `demand` says.
fn taken(
    demand: &Demand<'_>,
    ahead: Option<u64>,
    program: impl Fn(&mut LegoEngine) -> Result<()> + Sync,
) -> Vec<Taken> {
    let _one = ONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let program = &program;
    let options = ChannelOptions {
        queue_bytes: 1 << 18,
        ..ChannelOptions::default()
    };
    let (for_a, for_b) = memory_pair(A, B, options);
    std::thread::scope(|scope| {
        let parties = [(A, for_a), (B, for_b)].map(|(me, channel)| {
            scope.spawn(move || -> Result<Taken> {
                OWNER.set(me.index());
                let before = HELD[me.index()].load(Ordering::SeqCst);
                MOST[me.index()].store(before, Ordering::SeqCst);
                let session = || {
                    let mut config = config(me, 40, 1);
                    if let Some(ahead) = ahead {
                        (config.epoch, config.ahead) = (ahead / 2, ahead);
                    }
                    config
                };
                let forecast = Forecast::new(demand, 1, &session())?;
                let mut engine = LegoEngine::start(me, vec![Box::new(channel)], session())?;
                engine.set_threads(1);
                program(&mut engine)?;
                let counted = MOST[me.index()].load(Ordering::SeqCst) - before;
                let said = engine.costs().memory_bytes;
                let forecast = [forecast.garbler_bytes, forecast.evaluator_bytes][me.index()];
                Ok(Taken {
                    counted,
                    said,
                    forecast,
                })
            })
        });
        parties.map(|party| party.join().unwrap().unwrap()).into()
    })
}

fn execute(engine: &mut LegoEngine, plan: &Plan, lanes: usize, to: Parties) -> Result<()> {
    let (half, me) = (plan.input_wires() / 2, engine.me());
    let most = engine.most_lanes(plan).min(lanes);
    let groups: Vec<usize> = (0..lanes)
        .step_by(most)
        .map(|start| most.min(lanes - start))
        .collect();
    let inputs = [A, B].map(|owner| (owner, half * lanes));
    engine.prepare_values(&inputs, &[(to, plan.output_wires() * lanes)])?;
    engine.prepare(plan, lanes)?;
    let mut results = Vec::new();
    for (seed, &group) in groups.iter().enumerate() {
        let inputs = random_bits(seed as u64, plan.input_wires(), group);
        let mut of = |owner: PartyId| {
            let first = owner.index() * half;
            let own = BitMatrix::from_fn(half, group, |row, lane| inputs.get(first + row, lane));
            engine.input(owner, half, group, (owner == me).then_some(&own))
        };
        let (a, b) = (of(A)?, of(B)?);
        let outputs = engine.run(plan, &LegoWires::concat(&[&a, &b]))?;
        drop((a, b));
        results.push(if groups.len() > 1 {
            engine.settle(outputs)?
        } else {
            outputs
        });
    }
    for wires in &results {
        engine.reveal(wires, to)?;
    }
    engine.finish()
}

/// At most what was said, and what was said is at most a fifth more.
fn check(what: &str, taken: &[Taken]) {
    for (party, taken) in taken.iter().enumerate() {
        let Taken {
            counted,
            said,
            forecast,
        } = *taken;
        for (when, bound) in [("afterwards", said), ("ahead", forecast)] {
            let words = format!("{what}, party {party}: {counted} bytes, {when} said to be {bound}");
            println!("{words} ({:.3})", bound as f64 / counted as f64);
            assert!(counted <= bound && bound <= counted + counted / 5, "{words}");
        }
    }
}

#[test]
fn what_is_said_is_what_is_held() {
    check("many gates", &run("aes128", 16, None, Parties::one(B)));
    check(
        "many inputs and outputs",
        &run("add32", 1024, None, Parties::all(2)),
    );
    check("one's output", &run("mult16", 256, None, Parties::one(A)));
}

#[test]
fn what_is_opened_is_counted() {
    check("opened to one", &run("opened", 64, None, Parties::one(A)));
    let ahead = 64 * 512;
    for to in [Parties::one(A), Parties::one(B), Parties::all(2)] {
        for groups in [3, 8] {
            let what = format!("opened to {to} in {groups} groups");
            check(&what, &run("opened", groups * 64, Some(ahead), to));
        }
    }
}

/// A program that finds out its circuits as it runs makes what all its outputs take with its first inputs.
#[test]
fn what_an_open_program_opens_is_counted() {
    let (circuit, lanes, ahead) = (opened(), 64, 1 << 12);
    let plan = &Plan::new(&circuit);
    let bits = |wires: usize| (wires * lanes) as u64;
    let (outputs, to) = (bits(plan.output_wires()), Parties::one(A));
    let demand = Demand::new()
        .and_gates(2 * ahead)
        .and_input(A, bits(1))
        .and_input(B, bits(1))
        .and_output(to, outputs);
    let program = |engine: &mut LegoEngine| {
        demand.announce(engine)?;
        let inputs = put_in(engine, &circuit, &random_bits(1, 2, lanes))?;
        let wires = engine.run(plan, &inputs)?;
        engine.reveal(&wires, to)?;
        engine.finish()
    };
    for (party, taken) in taken(&demand, Some(ahead), program).iter().enumerate() {
        let Taken {
            counted, forecast, ..
        } = *taken;
        // The wires of circuits that are not known are the demand's to say.
        let bound = forecast + outputs * WIRE;
        assert!(
            counted <= bound && bound <= 2 * counted,
            "party {party}: {counted} bytes, said to be {bound}"
        );
    }
}

#[test]
fn it_does_not_grow_with_the_program() {
    let ahead = 64 * 512;
    let few = run("mult16", 2 * 64, Some(ahead), Parties::one(B));
    let many = run("mult16", 10 * 64, Some(ahead), Parties::one(B));
    check("two groups", &few);
    check("ten groups", &many);
    for (few, many) in few.iter().zip(&many) {
        // Outputs wait until the last input is in; more groups share the error, for which buckets are a little larger.
        let waiting = 8 * 64 * 32 * WIRE;
        assert!(many.counted < few.counted + waiting + few.counted / 8);
    }
}

#[test]
fn a_circuit_in_pieces_takes_what_its_pieces_do() {
    let check = |circuit: &str, lanes: usize, ahead: u64| {
        let taken = run(circuit, lanes, Some(ahead), Parties::one(B));
        check(&format!("{circuit} on {lanes} lanes by {ahead}"), &taken);
        taken[B.index()].counted
    };
    check("sha256", 2, 1 << 14);
    check("aes128", 16, 1 << 15);
    let narrow = check("sha256", 1, 1 << 13);
    // A level of four times as many gates as may be ahead is cut, too. Wires are more.
    let wide = check("wide", 1, 1 << 13);
    assert!(wide < narrow + narrow / 2, "{wide}, {narrow}");
}

/// Starts sessions, limits what `poor` can have in one piece to 2 MiB, and runs `call` at both parties.
fn limited<T>(poor: PartyId, call: impl Fn(&mut LegoEngine) -> Result<T> + Sync) -> [Result<()>; 2] {
    let _one = ONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let (for_a, for_b) = memory_pair(A, B, ChannelOptions::with_timeout(Duration::from_secs(60)));
    let call = &call;
    let results = std::thread::scope(|scope| {
        let parties = [(A, for_a), (B, for_b)].map(|(me, channel)| {
            scope.spawn(move || {
                OWNER.set(me.index());
                let mut engine = LegoEngine::start(me, vec![Box::new(channel)], config(me, 40, 1))?;
                if me == poor {
                    LARGEST[me.index()].store(2 << 20, Ordering::Relaxed);
                }
                call(&mut engine).map(|_| ())
            })
        });
        parties.map(|party| party.join())
    });
    LARGEST[poor.index()].store(usize::MAX, Ordering::Relaxed);
    results.map(|result| result.expect("no party panics"))
}

#[test]
fn a_party_without_memory_says_what_for_and_the_peer_is_told() {
    for poor in [A, B] {
        let order = Order {
            ands: 30_000,
            ..Order::NOTHING
        };
        let results = limited(poor, |engine| engine.generate(order));
        for (party, result) in results.into_iter().enumerate() {
            match result {
                Err(Error::OutOfMemory(text)) if party == poor.index() => {
                    assert!(text.contains("no room for garbled gates: "), "{text}");
                }
                Err(Error::PeerStopped { reason, .. }) if party != poor.index() => {
                    assert_eq!(reason, Reason::Own(Cause::OutOfMemory));
                }
                other => panic!("party {party}: {other:?}"),
            }
        }
        let bits = BitMatrix::zeros(1, 1 << 20);
        let results = limited(poor, |engine| engine.constant(&bits));
        match &results[poor.index()] {
            Err(Error::OutOfMemory(text)) => {
                assert!(text.contains("no room for inputs and outputs: "), "{text}");
            }
            other => panic!("{other:?}"),
        }
        assert!(results[1 - poor.index()].is_ok());
    }
}
