//! Two parties in one process.
#![allow(dead_code, reason = "each test file uses a part of this")]

use std::time::Duration;

use cenote_circuit::{Circuit, Plan};
use cenote_lego::LegoEngine;
use cenote_lego::{Config, LegoWires};
use cenote_net::{Channel, ChannelOptions, PartyId, memory_pair};
use cenote_primitives::{BitMatrix, Entropy, Sampler};
use cenote_session::conformance::Cluster;
use cenote_session::{Engine, Parties, Result, WireVector};
use cenote_testkit::PartyContext;

/// The garbler.
pub(crate) const A: PartyId = PartyId(0);
/// The evaluator.
pub(crate) const B: PartyId = PartyId(1);

/// A configuration with fixed randomness.
pub(crate) fn config(me: PartyId, security: u32, seed: u64) -> Config {
    let mut config = Config::new("test");
    config.security = security;
    config.entropy = Entropy::for_tests(seed << 8 | u64::from(me.0));
    config
}

/// Two parties over memory.
pub(crate) struct Two {
    pub(crate) security: u32,
}

impl Cluster for Two {
    type Engine = LegoEngine;

    fn parties(&self) -> usize {
        2
    }

    fn run<T: Send>(&self, program: impl Fn(&mut LegoEngine) -> Result<T> + Sync) -> Vec<Result<T>> {
        let options = ChannelOptions::with_timeout(Duration::from_secs(60));
        let (for_a, for_b) = memory_pair(A, B, options);
        let program = &program;
        std::thread::scope(|scope| {
            let party = |me: PartyId, channel: Box<dyn Channel>| {
                scope.spawn(move || {
                    let mut engine = LegoEngine::start(me, vec![channel], config(me, self.security, 1))?;
                    program(&mut engine)
                })
            };
            let parties = [party(A, Box::new(for_a)), party(B, Box::new(for_b))];
            parties.map(|party| party.join().expect("no party panics")).into()
        })
    }
}

/// Starts an engine over the world's channel.
pub(crate) fn start(context: &mut PartyContext, security: u32) -> Result<LegoEngine> {
    let (me, peer) = (context.me, PartyId(1 - context.me.0));
    let seed = u64::from_le_bytes(context.seed[..8].try_into().expect("eight bytes"));
    LegoEngine::start(me, vec![context.take(peer, "main")], config(me, security, seed))
}

pub(crate) fn random_bits(seed: u64, rows: usize, lanes: usize) -> BitMatrix {
    let mut sampler = Sampler::new(Entropy::for_tests(seed).block());
    BitMatrix::from_fn(rows, lanes, |_, _| sampler.next_u32() & 1 == 1)
}

/// Puts input `i` of `circuit` in, which belongs to party `i mod 2`; `inputs` has the rows of all.
pub(crate) fn put_in(engine: &mut LegoEngine, circuit: &Circuit, inputs: &BitMatrix) -> Result<LegoWires> {
    let mut parts = Vec::new();
    let mut first = 0;
    for (index, value) in circuit.inputs().iter().enumerate() {
        let owner = PartyId((index % 2) as u8);
        let width = value.width as usize;
        let own = (owner == engine.me())
            .then(|| BitMatrix::from_fn(width, inputs.lanes(), |row, lane| inputs.get(first + row, lane)));
        parts.push(engine.input(owner, width, inputs.lanes(), own.as_ref())?);
        first += width;
    }
    Ok(WireVector::concat(&parts.iter().collect::<Vec<_>>()))
}

/// Announces the inputs of `circuit`, as [`put_in`] gives them, and that its outputs go to `to`; then builds it.
pub(crate) fn prepare(
    engine: &mut LegoEngine,
    circuit: &Circuit,
    plan: &Plan,
    lanes: usize,
    to: Parties,
) -> Result<()> {
    let inputs: Vec<_> = circuit
        .inputs()
        .iter()
        .enumerate()
        .map(|(index, value)| (PartyId((index % 2) as u8), value.width as usize * lanes))
        .collect();
    engine.prepare_values(&inputs, &[(to, plan.output_wires() * lanes)])?;
    engine.prepare(plan, lanes)
}

/// The bound on all errors if Theorem 2's three bounds and the comparison of `Δ` are at `2^-security` each, and the code of
/// commitments at 2^-41: the others are far below.
pub(crate) fn most_error(security: u32) -> f64 {
    (4.0 * (-f64::from(security)).exp2() + (-41f64).exp2()).log2() + 1e-9
}
