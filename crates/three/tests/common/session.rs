//! Whole sessions under a watchdog, for tests in which something goes wrong.

use std::net::{TcpListener, TcpStream};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::{Duration, Instant};

use cenote_circuit::{BitOrder, Builder, Plan};
use cenote_net::{Channel, ChannelOptions, PartyId, TcpChannel, memory_pair};
use cenote_primitives::{BitMatrix, Entropy, Sampler};
use cenote_session::{Engine, Parties, Result, WireVector};
use cenote_three::{Config, Links, Method, Ring, ThreeEngine, ThreeWires, ViewCheck};

use super::intercept::{Spy, tap};

/// After this long a session has hung.
const WATCHDOG: Duration = Duration::from_secs(40);

/// A change of a party's configuration.
pub(crate) type Change = fn(&mut Config);

/// A session to be run.
#[derive(Clone)]
pub(crate) struct Session {
    pub(crate) method: Method,
    pub(crate) view_check: ViewCheck,
    /// Fixes every party's randomness.
    pub(crate) seed: u64,
    /// Who has an adversary or a listener at its channels.
    pub(crate) spies: [Option<Arc<Spy>>; 3],
    /// The deadline of every channel.
    pub(crate) timeout: Duration,
    /// A pair of parties whose channels have another deadline.
    pub(crate) impatient: Option<([u8; 2], Duration)>,
    /// What all parties change.
    pub(crate) change: Option<Change>,
    /// A party that differs from the others, and how.
    pub(crate) odd: Option<(u8, Change)>,
    /// Over sockets instead of memory.
    pub(crate) tcp: bool,
}

impl Session {
    pub(crate) fn new(method: impl Into<Method>, view_check: ViewCheck, seed: u64) -> Self {
        Self {
            method: method.into(),
            view_check,
            seed,
            spies: [None, None, None],
            timeout: Duration::from_secs(15),
            impatient: None,
            change: None,
            odd: None,
            tcp: false,
        }
    }

    /// The same session with `spy` at party `party`.
    pub(crate) fn with_spy(mut self, party: u8, spy: &Arc<Spy>) -> Self {
        self.spies[usize::from(party)] = Some(Arc::clone(spy));
        self
    }

    /// The channels of the three parties, adversaries in between.
    pub(crate) fn links(&self) -> [Links; 3] {
        let options = |a: u8, b: u8| match self.impatient {
            Some((pair, timeout)) if pair.contains(&a) && pair.contains(&b) => {
                ChannelOptions::with_timeout(timeout)
            }
            _ => ChannelOptions::with_timeout(self.timeout),
        };
        let rings = || {
            let mut ends: [[Option<Box<dyn Channel>>; 3]; 3] = Default::default();
            for (a, b) in [(0, 1), (1, 2), (0, 2)] {
                let (for_a, for_b) = self.pair(PartyId(a), PartyId(b), options(a, b));
                ends[a as usize][b as usize] = Some(for_a);
                ends[b as usize][a as usize] = Some(for_b);
            }
            [0, 1, 2].map(|me| Ring {
                previous: ends[me][(me + 2) % 3].take().unwrap(),
                next: ends[me][(me + 1) % 3].take().unwrap(),
            })
        };
        let ([g0, g1, g2], [e0, e1, e2]) = (rings(), rings());
        let mut me = 0;
        [(g0, e0), (g1, e1), (g2, e2)].map(|(generator, evaluator)| {
            let links = Links { generator, evaluator };
            let links = match &self.spies[usize::from(me)] {
                Some(spy) => tap(spy, me, links),
                None => links,
            };
            me += 1;
            links
        })
    }

    fn pair(&self, a: PartyId, b: PartyId, options: ChannelOptions) -> (Box<dyn Channel>, Box<dyn Channel>) {
        if !self.tcp {
            let (for_a, for_b) = memory_pair(a, b, options);
            return (Box::new(for_a), Box::new(for_b));
        }
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let for_a = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (for_b, _) = listener.accept().unwrap();
        let over = |peer, stream| -> Box<dyn Channel> {
            Box::new(TcpChannel::over(peer, stream, options.clone()).unwrap())
        };
        (over(b, for_a), over(a, for_b))
    }

    /// The configuration of party `me`.
    pub(crate) fn config(&self, me: u8) -> Config {
        let mut config = Config::new(self.method.clone(), "attacked");
        config.view_check = self.view_check;
        config.entropy = Entropy::for_tests(self.seed << 8 | u64::from(me));
        if let Some(change) = self.change {
            change(&mut config);
        }
        if let Some((party, change)) = self.odd
            && party == me
        {
            change(&mut config);
        }
        config
    }

    /// Runs `program` at all parties and gives their results.
    ///
    /// # Panics
    /// If a party panics, or is not done when the watchdog barks.
    pub(crate) fn run<T: Send + 'static>(
        &self,
        program: impl Fn(&mut ThreeEngine) -> Result<T> + Send + Sync + 'static,
    ) -> [Result<T>; 3] {
        let links = self.links().map(Some);
        self.run_links(links, program).map(Option::unwrap)
    }

    /// Like [`Session::run`] over given channels; a party without channels does not take part.
    pub(crate) fn run_links<T: Send + 'static>(
        &self,
        links: [Option<Links>; 3],
        program: impl Fn(&mut ThreeEngine) -> Result<T> + Send + Sync + 'static,
    ) -> [Option<Result<T>>; 3] {
        let program = Arc::new(program);
        let (done, results) = mpsc::channel();
        let mut running = 0;
        for (me, links) in links.into_iter().enumerate() {
            let Some(links) = links else { continue };
            let (program, done, config) = (Arc::clone(&program), done.clone(), self.config(me as u8));
            running += 1;
            std::thread::spawn(move || {
                let party = || {
                    let mut engine = ThreeEngine::start(PartyId(me as u8), vec![links], config)?;
                    program(&mut engine)
                };
                let result = catch_unwind(AssertUnwindSafe(party));
                // The watchdog may have given up.
                let _ = done.send((me, result));
            });
        }
        let deadline = Instant::now() + WATCHDOG;
        let mut all = [None, None, None];
        for _ in 0..running {
            let left = deadline.saturating_duration_since(Instant::now());
            match results.recv_timeout(left) {
                Ok((me, Ok(result))) => all[me] = Some(result),
                Ok((me, Err(_))) => panic!("party {me} panicked"),
                Err(_) => panic!("a party hangs; done: {:?}", all.each_ref().map(Option::is_some)),
            }
        }
        all
    }
}

/// Number of wires that each party puts into [`small_program`].
pub(crate) const WIDTH: usize = 3;

/// Instances that [`small_program`] computes.
pub(crate) const LANES: usize = 50;

/// `x ∧ y ∧ z` and `(x ∧ y) ⊕ z`, bit by bit: two AND layers.
pub(crate) fn small_plan() -> Plan {
    let mut b = Builder::new();
    let [x, y, z] = ["x", "y", "z"].map(|name| b.input(name, WIDTH as u32, BitOrder::Lsb));
    let mut out = Vec::new();
    for i in 0..WIDTH {
        let both = b.and(x[i], y[i]);
        out.push(b.and(both, z[i]));
        out.push(b.xor(both, z[i]));
    }
    b.output("out", &out, BitOrder::Lsb);
    Plan::new(&b.finish())
}

pub(crate) fn random_bits(seed: u64, rows: usize, lanes: usize) -> BitMatrix {
    let mut sampler = Sampler::new(Entropy::for_tests(seed).block());
    BitMatrix::from_fn(rows, lanes, |_, _| sampler.next_u32() & 1 == 1)
}

/// The input of party `owner` in [`small_program`].
pub(crate) fn small_input(owner: u8) -> BitMatrix {
    input_of(owner, LANES)
}

/// The same in this many instances.
pub(crate) fn input_of(owner: u8, lanes: usize) -> BitMatrix {
    random_bits(1000 + u64::from(owner), WIDTH, lanes)
}

/// What [`small_program`] must give for these inputs.
pub(crate) fn small_answer(inputs: &[BitMatrix; 3]) -> BitMatrix {
    let all = BitMatrix::from_fn(3 * WIDTH, inputs[0].lanes(), |row, lane| {
        inputs[row / WIDTH].get(row % WIDTH, lane)
    });
    small_plan().evaluate(&all).unwrap()
}

/// The outputs that the parties were given, whatever happened later.
#[derive(Clone, Default)]
pub(crate) struct Outputs(Arc<Mutex<[Option<BitMatrix>; 3]>>);

impl Outputs {
    pub(crate) fn get(&self) -> [Option<BitMatrix>; 3] {
        self.0.lock().unwrap().clone()
    }

    /// Notes what a party was given.
    pub(crate) fn set(&self, party: PartyId, output: Option<BitMatrix>) {
        self.0.lock().unwrap()[party.index()] = output;
    }
}

/// Shares each party's input.
pub(crate) fn share(engine: &mut ThreeEngine, inputs: &[BitMatrix; 3]) -> Result<ThreeWires> {
    let mut parts = Vec::new();
    for owner in 0..3 {
        let input = &inputs[usize::from(owner)];
        let own = (engine.me() == PartyId(owner)).then_some(input);
        parts.push(engine.input(PartyId(owner), input.rows(), input.lanes(), own)?);
    }
    Ok(WireVector::concat(&parts.iter().collect::<Vec<_>>()))
}

/// Every kind of call once: inputs of all parties, a circuit, an output for all, a good end.
pub(crate) fn small_program(
    inputs: [BitMatrix; 3],
    outputs: &Outputs,
) -> impl Fn(&mut ThreeEngine) -> Result<()> + Send + Sync + 'static {
    let (plan, outputs) = (small_plan(), outputs.clone());
    move |engine| {
        engine.prepare(&plan, inputs[0].lanes())?;
        let wires = share(engine, &inputs)?;
        let results = engine.run(&plan, &wires)?;
        let revealed = engine.reveal(&results, Parties::all(3))?;
        outputs.set(engine.me(), revealed);
        engine.finish()
    }
}

/// Runs `case` for all of `0..count`, `threads` at a time, and gathers what they give in order.
pub(crate) fn in_parallel<T: Send>(count: usize, threads: usize, case: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let next = AtomicUsize::new(0);
    let results = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    if index >= count {
                        break;
                    }
                    let result = case(index);
                    results.lock().unwrap().push((index, result));
                }
            });
        }
    });
    let mut results = results.into_inner().unwrap();
    results.sort_by_key(|&(index, _)| index);
    results.into_iter().map(|(_, result)| result).collect()
}
