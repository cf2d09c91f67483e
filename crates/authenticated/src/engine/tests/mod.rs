//! Sessions with a party that cheats: what it sends passes through the hands of an adversary, or its secrets are not what they should be.

mod gates;
mod hash;
mod leaky;
mod lots;
mod messages;
mod pool;
mod replay;
mod short;
mod window;

use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use cenote_circuit::{BitOrder, Builder, Plan};
use cenote_net::{ChannelOptions, Label, Step, memory_pair};
use cenote_params::lpn::Lpn;
use cenote_pool::kept::Which;
use cenote_pool::session::Begun;
use cenote_primitives::{BitMatrix, Block, Entropy};
use cenote_session::{Engine, Parties, WireVector};
use cenote_testkit::kept::{and, input};
use cenote_testkit::{Adversary, Message, noticed};

use super::*;
use crate::checks::{BIT_OPENING, GATES, LEAKY_AND, MASKED_VALUES, OT_CONSISTENCY, OWN_INPUT, POINTS};
use crate::settings::MAX_LOT;
use crate::setup::{Base, ONE};
use crate::{AuthenticatedWires, steps};

impl AuthenticatedEngine {
    /// What the session rests on.
    pub(crate) fn keys(&self) -> &Keys {
        &self
            .party
            .as_ref()
            .expect("a session that goes on has a party")
            .keys
    }
}

const GARBLER: PartyId = PartyId(0);
const EVALUATOR: PartyId = PartyId(1);

/// Leaky ANDs of a pool.
const POOL: u32 = 64;

/// How short leaky ANDs can be, in bits.
const LENGTHS: [u32; 3] = [48, 72, 96];

/// Parameters of a toy: three leaky ANDs for a triple, of so many bits.
fn toy(leaky_bits: u32) -> Sizes {
    let sizes = Sizes {
        security: 1,
        pool: cenote_params::pool::check_triples(1, POOL.into(), 3).unwrap(),
        leaky_bits,
    };
    assert_eq!(sizes.bucket(), 3);
    sizes
}

/// A generator of no security, of whose iterations a lot takes two.
const GENERATOR: Lpn = Lpn {
    secret: 8,
    block: 4,
    blocks: 64,
};

/// The source of authenticated bits that a step belongs to.
fn generator(step: Step) -> Option<Lpn> {
    cenote_ot::steps::PCG.contains(&step).then_some(GENERATOR)
}

fn config(seed: u64) -> Config {
    let mut config = Config::new("test");
    config.lot = 192;
    config.segment = 64;
    config.entropy = Entropy::for_tests(seed);
    config
}

/// A session, what its parties send behind adversaries.
struct Session {
    seed: u64,
    adversaries: [Adversary; 2],
    timeout: Duration,
    generator: Option<Lpn>,
    over_bases: bool,
    /// Bits of each party's leaky ANDs.
    leaky_bits: [u32; 2],
    /// Leaky ANDs made at once, at first and at most.
    lots: [u32; 2],
}

/// What sessions rest on that are run hundreds of times: making it takes far longer than all else that they do.
fn bases() -> &'static [Base; 2] {
    static BASES: OnceLock<[Base; 2]> = OnceLock::new();
    BASES.get_or_init(|| {
        let options = ChannelOptions::with_timeout(Duration::from_secs(20));
        let (mut garbler, mut evaluator) = memory_pair(GARBLER, EVALUATOR, options);
        std::thread::scope(|scope| {
            let of_garbler = scope.spawn(|| Base::establish(&mut garbler, &mut config(0), Role::Garbler));
            let of_evaluator = Base::establish(&mut evaluator, &mut config(1), Role::Evaluator);
            [of_garbler.join().unwrap().unwrap(), of_evaluator.unwrap()]
        })
    })
}

/// A session over [`bases`].
fn begin(
    me: PartyId,
    mut channel: Box<dyn Channel>,
    mut config: Config,
    sizes: Sizes,
) -> Result<AuthenticatedEngine> {
    let role = Role::of(me, GARBLER);
    let base = bases()[me.index()].encode();
    let begun = Begun {
        sizes: sizes.clone(),
        base: Base::decode(&base, role).unwrap(),
        which: Which::default(),
        kept: None,
        copies: [None, None],
    };
    let keys = Keys::begin(&begun, channel.as_mut(), &mut config, role)?;
    let supply = Supply::new(&sizes, Lots::new(&config, &sizes), None)?;
    let party = Party::new(keys, supply, config.segment as usize);
    Ok(AuthenticatedEngine::begun(
        me,
        channel,
        &config,
        sizes,
        party,
        Duration::ZERO,
    ))
}

impl Session {
    fn honest(seed: u64) -> Self {
        Self::with(seed, [passing(), passing()])
    }

    fn with(seed: u64, adversaries: [Adversary; 2]) -> Self {
        Self {
            seed,
            adversaries,
            timeout: Duration::from_secs(20),
            generator: None,
            over_bases: false,
            leaky_bits: [LENGTHS[0]; 2],
            lots: [192; 2],
        }
    }

    /// The same without a set-up of its own.
    fn over_bases(mut self) -> Self {
        self.over_bases = true;
        self
    }

    /// The same with leaky ANDs of so many bits.
    fn of_bits(mut self, leaky_bits: u32) -> Self {
        self.leaky_bits = [leaky_bits; 2];
        self
    }

    /// With `adversary` between what `from` sends and its peer.
    fn cheating(seed: u64, from: PartyId, adversary: &Adversary) -> Self {
        Self::with(
            seed,
            match from == GARBLER {
                true => [adversary.clone(), passing()],
                false => [passing(), adversary.clone()],
            },
        )
    }

    /// Runs a program at both parties.
    fn run<T: Send>(self, program: impl Fn(&mut AuthenticatedEngine) -> Result<T> + Sync) -> [Result<T>; 2] {
        let options = ChannelOptions::with_timeout(self.timeout);
        let (for_garbler, for_evaluator) = memory_pair(GARBLER, EVALUATOR, options);
        let [garbler, evaluator] = &self.adversaries;
        let label = || Label::from("main");
        let for_garbler: Box<dyn Channel> = Box::new(garbler.wrap(label(), Box::new(for_garbler)));
        let for_evaluator: Box<dyn Channel> = Box::new(evaluator.wrap(label(), Box::new(for_evaluator)));
        let (program, seed, generator) = (&program, self.seed, self.generator);
        let (over_bases, leaky_bits, [lot, largest_lot]) = (self.over_bases, self.leaky_bits, self.lots);
        std::thread::scope(|scope| {
            let party = |me: PartyId, channel: Box<dyn Channel>| {
                scope.spawn(move || {
                    let mut config = config(2 * seed + u64::from(me.0));
                    config.generator = generator;
                    (config.lot, config.largest_lot) = (lot, Some(largest_lot));
                    let sizes = toy(leaky_bits[me.index()]);
                    let mut engine = match over_bases {
                        true => {
                            config.session = format!("test {seed}");
                            begin(me, channel, config, sizes)?
                        }
                        false => AuthenticatedEngine::start(me, channel, config, sizes)?,
                    };
                    program(&mut engine)
                })
            };
            [party(GARBLER, for_garbler), party(EVALUATOR, for_evaluator)]
                .map(|party| party.join().expect("no party panics"))
        })
    }
}

/// One that does nothing.
fn passing() -> Adversary {
    Adversary::with(|_, _, message| vec![message])
}

/// Changes the body of the messages of a step, which it numbers.
fn changing(step: Step, mut change: impl FnMut(usize, &mut Vec<u8>) + Send + 'static) -> Adversary {
    let mut seen = 0;
    Adversary::with(move |_, _, mut message: Message| {
        if message.step == step {
            change(seen, &mut message.body);
            seen += 1;
        }
        vec![message]
    })
}

/// The check that failed at a party itself.
fn check<T: std::fmt::Debug>(result: &Result<T>) -> Check {
    match result {
        Err(Error::Aborted { check, .. }) => *check,
        other => panic!("no check failed: {other:?}"),
    }
}

fn bits(wires: usize, lanes: usize, bit: impl FnMut(usize, usize) -> bool) -> BitMatrix {
    BitMatrix::from_fn(wires, lanes, bit)
}

/// The AND of four wires, in two levels.
fn and_of_four() -> Plan {
    let mut b = Builder::new();
    let x = b.input("x", 4, BitOrder::Lsb);
    let (left, right) = (b.and(x[0], x[1]), b.and(x[2], !x[3]));
    let all = b.and(left, right);
    b.output("all", &[all], BitOrder::Lsb);
    Plan::new(&b.finish())
}

/// Inputs of both, an AND in so many lanes, and its outputs to both.
fn program(lanes: usize) -> impl Fn(&mut AuthenticatedEngine) -> Result<BitMatrix> + Sync {
    move |engine| {
        let (x, y) = values(lanes);
        let x = input(engine, GARBLER, &x)?;
        let y = input(engine, EVALUATOR, &y)?;
        let both = engine.run(&and(), &AuthenticatedWires::concat(&[&x, &y]))?;
        let opened = engine.reveal(&both, Parties::all(2))?;
        engine.finish()?;
        Ok(opened.expect("everybody is entitled"))
    }
}

fn values(lanes: usize) -> (BitMatrix, BitMatrix) {
    (
        bits(1, lanes, |_, lane| lane % 3 == 0),
        bits(1, lanes, |_, lane| lane % 5 < 3),
    )
}

fn expected(lanes: usize) -> BitMatrix {
    bits(1, lanes, |_, lane| lane % 3 == 0 && lane % 5 < 3)
}

#[test]
fn honest_parties_agree_and_pay_what_is_declared() {
    let lanes = 1000;
    for leaky_bits in LENGTHS {
        let costs = Session::honest(1).of_bits(leaky_bits).run(|engine| {
            assert_eq!(program(lanes)(engine)?, expected(lanes));
            Ok((engine.costs(), engine.error_bound(), engine.computational_bits()))
        });
        let [garbler, evaluator] = costs.map(|costs| costs.unwrap());
        for (costs, error, work) in [&garbler, &evaluator] {
            assert_eq!(costs.and_gates, 1000);
            assert!(
                costs
                    .phases
                    .iter()
                    .map(|(name, _)| *name)
                    .eq(["setup", "online", "pool"])
            );
            assert!(*error < 0.0 && error.is_finite() && *work > 115.0);
        }
        // Of a lot each way: 576 bits, and as many masks as gates can be drawn, but for the first one's pool; short blocks, and a bit.
        let sent = garbler.0.traffic.payload_sent;
        assert_eq!(sent, evaluator.0.traffic.payload_received);
        let lots = (64 + 3000u64).div_ceil(192);
        let at_least = lots * (576 * 31 / 8 + 24 * u64::from(leaky_bits + 1) + 64) + 1000 * (16 + 16 + 32);
        assert!((at_least..at_least * 2).contains(&sent), "{sent} {at_least}");
    }
}

#[test]
fn secrets_are_not_printed() {
    let done = Session::honest(2).run(|engine| {
        let wires = engine.constant(&bits(2, 3, |_, _| true))?;
        assert_eq!(format!("{wires:?}"), "AuthenticatedWires(2 × 3)");
        assert_eq!(format!("{:?}", engine.parts().0.keys), "Keys");
        Ok(())
    });
    assert!(done.iter().all(Result::is_ok));
}

/// However much is computed, a session holds what it held after the first lots.
#[test]
fn an_endless_session_holds_no_more_than_a_short_one() {
    let held = Session::honest(3).run(|engine| {
        let mut wires = input(engine, GARBLER, &bits(4, 100, |row, lane| (row + lane) % 2 == 0))?;
        let mut held = Vec::new();
        for round in 0..12 {
            for _ in 0..3 {
                let all = engine.run(&and_of_four(), &wires)?;
                wires = AuthenticatedWires::concat(&[&all, &wires.select(0..3)]);
            }
            if round == 5 {
                engine.reveal(&wires, Parties::all(2))?;
            }
            let party = engine.parts().0;
            held.push((party.supply.pool.bytes(), party.supply.masks.left(), party.held()));
        }
        engine.reveal(&wires, Parties::all(2))?;
        Ok(held)
    });
    for held in held.map(Result::unwrap) {
        // 900 gates in each round, in segments of 64; a lot has masks for 64 gates.
        let most = held[..3].iter().map(|held| held.0).max();
        for (bytes, masks, segments) in &held {
            assert!(Some(*bytes) <= most && *masks <= 64 && *segments <= 6, "{held:?}");
        }
    }
}
