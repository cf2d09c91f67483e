//! What a session holds does not grow with what it has computed: counted by the allocator.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::Barrier;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use cenote_authenticated::{AuthenticatedEngine, Config, Sizes};
use cenote_circuit::{Plan, library};
use cenote_net::{Channel, ChannelOptions, PartyId, memory_pair};
use cenote_primitives::BitMatrix;
use cenote_session::{Engine, Parties, Result};

/// Counts the bytes that are in use.
struct Counting;

static HELD: AtomicU64 = AtomicU64::new(0);

// SAFETY: all memory is the system's, which is asked for nothing else than what is asked for here.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        HELD.fetch_add(layout.size() as u64, Ordering::Relaxed);
        // SAFETY: the caller's layout.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        HELD.fetch_sub(layout.size() as u64, Ordering::Relaxed);
        // SAFETY: it was the system's, with this layout.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Rounds of the same computations.
const ROUNDS: usize = 240;

/// What may be held more in later rounds: less than 200 bytes for each computation.
const SLACK: u64 = 64 << 10;

/// Runs the rounds; `held` is told after each, when both parties have computed it.
fn compute(me: PartyId, channel: Box<dyn Channel>, both: &Barrier, held: &mut Vec<u64>) -> Result<()> {
    let mut config = Config::new("test");
    config.lot = 1 << 12;
    let mut engine = AuthenticatedEngine::start(me, channel, config, Sizes::search(40, 1100).unwrap())?;
    let plans = ["add32", "mult16", "add8"].map(|name| Plan::new(&library::by_name(name).unwrap()));
    for _ in 0..ROUNDS {
        for (plan, lanes) in plans.iter().zip([1, 3, 64]) {
            let own = BitMatrix::from_fn(plan.input_wires(), lanes, |row, lane| (row + lane) % 3 == 0);
            let given = (me.0 == 0).then_some(&own);
            let wires = engine.input(PartyId(0), plan.input_wires(), lanes, given)?;
            let outputs = engine.run(plan, &wires)?;
            let opened = engine.reveal(&outputs, Parties::all(2))?;
            assert_eq!(opened, Some(plan.evaluate(&own).unwrap()));
        }
        both.wait();
        held.push(HELD.load(Ordering::Relaxed));
        both.wait();
    }
    engine.finish()
}

#[test]
fn a_session_holds_no_more_after_many_computations() {
    let options = ChannelOptions::with_timeout(Duration::from_secs(60));
    let (for_a, for_b) = memory_pair(PartyId(0), PartyId(1), options);
    let both = Barrier::new(2);
    let mut held = Vec::with_capacity(ROUNDS);
    std::thread::scope(|scope| {
        let other = scope.spawn(|| {
            compute(
                PartyId(1),
                Box::new(for_b),
                &both,
                &mut Vec::with_capacity(ROUNDS),
            )
        });
        compute(PartyId(0), Box::new(for_a), &both, &mut held).unwrap();
        other.join().unwrap().unwrap();
    });
    // Lots, masks and circuits come and go: what is always held is what is held at the least.
    let least = |rounds: &[u64]| rounds.iter().copied().min().unwrap();
    let (early, late) = (
        least(&held[ROUNDS / 4..ROUNDS / 2]),
        least(&held[3 * ROUNDS / 4..]),
    );
    assert!(late <= early + SLACK, "{early} bytes were held, and {late} later");
}
