//! One party of a measured session: an engine, a circuit on made-up inputs, and a stock of triples whose level is
//! known exactly.

use std::sync::Arc;
use std::time::Instant;

use cenote_circuit::{BitOrder, Builder, Circuit, Plan};
use cenote_net::PartyId;
use cenote_params::three::Variant;
use cenote_primitives::{BLOCK_BITS, BitMatrix};
use cenote_session::{Costs, Demand, Engine, Parties, WireVector};
use cenote_three::{Config, Lag, Links, Method, Three, ThreeEngine};

use super::Settings;
use crate::sample;
use cenote::{CircuitDescription, Error, PARTIES, Result, check_size, circuits, columns};

/// A circuit whose input value `i` belongs to party `i mod 3`, and whose outputs all parties learn.
pub(crate) struct Load {
    pub(crate) circuit: Circuit,
    pub(crate) plan: Plan,
}

impl Load {
    /// # Errors
    /// Those of [`circuits::open`]; [`Error::Usage`] if the circuit has no AND gates.
    pub(crate) fn open(name: &str) -> Result<Self> {
        let circuit = circuits::open(name)?;
        let plan = Plan::new(&circuit);
        if plan.and_count() == 0 {
            return Err(Error::Usage(format!(
                "{name} has no AND gates; there is nothing to measure"
            )));
        }
        Ok(Load { circuit, plan })
    }

    /// What it is, under its name.
    pub(crate) fn describe(&self, name: &str) -> CircuitDescription {
        CircuitDescription {
            name: name.into(),
            digest: hex::encode(self.plan.digest()),
            and_gates: self.plan.and_count() as u64,
            and_depth: self.plan.and_depth() as u64,
        }
    }

    /// Made-up inputs for `lanes` lanes.
    pub(crate) fn instance(&self, lanes: usize) -> Result<Instance> {
        check_size(&self.circuit, lanes)?;
        let inputs = sample::bits(1, self.plan.input_wires(), lanes);
        let expected = self.plan.evaluate(&inputs).expect("one row for each input wire");
        let expected = Arc::new(expected);
        Ok(Instance { inputs, expected })
    }
}

/// Inputs, and the outputs that they must give.
pub(crate) struct Instance {
    inputs: BitMatrix,
    expected: Arc<BitMatrix>,
}

impl Instance {
    pub(crate) fn lanes(&self) -> usize {
        self.inputs.lanes()
    }

    /// The first lanes of it.
    pub(crate) fn first(&self, lanes: usize) -> Self {
        Self {
            inputs: columns(&self.inputs, 0..lanes),
            expected: Arc::new(columns(&self.expected, 0..lanes)),
        }
    }
}

/// Outputs that are not yet opened.
pub(crate) struct Pending {
    wires: <ThreeEngine as Engine>::Wires,
    expected: Arc<BitMatrix>,
}

/// One party.
pub(crate) struct Driver {
    pub(crate) engine: ThreeEngine,
    method: Method,
    workers: u64,
    /// One AND gate, for asking for triples by number.
    unit: Plan,
    /// Blocks of gates that each worker has verified.
    used: u64,
    /// Blocks of gates that were announced to each worker and are not evaluated yet, as the engine counts them.
    prepared: u64,
    /// Batches asked of each worker, not counting the first stock of the variant on-demand.
    wanted: u64,
}

impl Driver {
    /// Starts a session in which up to `ahead` batches per worker wait in stock.
    pub(crate) fn start(me: PartyId, links: Vec<Links>, settings: &Settings, ahead: u64) -> Result<Self> {
        let method = settings.method()?;
        let mut config = Config::new(method.clone(), "cenote bench");
        config.view_check = settings.protocol.view_check;
        config.lag = Lag::Measured;
        config.ahead = usize::try_from(ahead).unwrap_or(usize::MAX);
        let workers = links.len() as u64;
        let engine = ThreeEngine::start(me, links, config)?;
        let mut b = Builder::new();
        let x = b.input("x", 1, BitOrder::Lsb);
        let y = b.input("y", 1, BitOrder::Lsb);
        let product = b.and(x[0], y[0]);
        b.output("xy", &[product], BitOrder::Lsb);
        Ok(Self {
            engine,
            method,
            workers,
            unit: Plan::new(&b.finish()),
            used: 0,
            prepared: 0,
            wanted: 0,
        })
    }

    pub(crate) fn n(&self) -> u64 {
        self.method.n()
    }

    /// How many blocks of gates are opened together at most: with triples much less than a batch, of which a section then has a whole number.
    pub(crate) fn most_opened(&self) -> u64 {
        match self.method {
            Method::Triples(_) => self.n() / 8,
            Method::Proofs(_) => u64::MAX,
        }
    }

    /// Whether triples are shuffled against a whole batch of gates, so that every verification spends a batch.
    pub(crate) fn spends_batches(&self) -> bool {
        self.method.verification() == Variant::Reshuffle.into()
    }

    /// Sees to it that `batches` whole batches are in stock or asked for, besides the one in use: the stock that a section
    /// starts and ends with. It announces gates that need as many. After that, each `N` announced blocks, begun ones
    /// included, cause one more batch to be made.
    /// Proofs need none.
    pub(crate) fn want_stock(&mut self, batches: u64) -> Result<()> {
        if let Method::Proofs(_) = self.method {
            return Ok(());
        }
        let n = self.n();
        let level = self
            .wanted
            .max(self.used.div_ceil(n) + batches)
            .max((self.used + self.prepared).div_ceil(n));
        let blocks = level * n - self.used - self.prepared;
        // The engine spreads lanes over the workers by groups: first whole groups for everyone, then the rest.
        let group = (ThreeEngine::group_lanes(&self.unit) / BLOCK_BITS) as u64;
        for blocks in [blocks / group * group, blocks % group] {
            let lanes = blocks * self.workers * BLOCK_BITS as u64;
            if lanes > 0 {
                let lanes = usize::try_from(lanes).map_err(|_| too_many())?;
                self.engine.prepare(&self.unit, lanes)?;
            }
        }
        self.told_of(blocks);
        Ok(())
    }

    fn told_of(&mut self, blocks: u64) {
        self.prepared += blocks;
        let level = (self.used + self.prepared).div_ceil(self.n());
        self.wanted = self.wanted.max(level);
    }

    /// Batches asked of each worker. All of them are made once the stock is full.
    pub(crate) fn batches_wanted(&self) -> u64 {
        self.wanted
    }

    /// How many blocks of gates a batch of triples suffices for at least, if no layer has more than `layer` blocks.
    ///
    /// # Errors
    /// [`Error::Usage`] if that is less than half a batch.
    pub(crate) fn usable_blocks(&self, layer: u64) -> Result<u64> {
        let n = self.n();
        if !self.spends_batches() {
            return Ok(n);
        }
        // A layer is verified as a whole, with one batch.
        if 2 * layer > n {
            let variant = self.method.verification();
            return Err(Error::Usage(format!(
                "a layer of this circuit has {layer} blocks of gates, too many for the variant {variant} with batches of {n}"
            )));
        }
        Ok(n - layer)
    }

    /// Gives all parties the value of party 0, and lets none go on before it has it. So parties whose clocks differ agree on
    /// how much to measure.
    pub(crate) fn agree(&mut self, value: u16) -> Result<u16> {
        let bits = BitMatrix::from_fn(16, 1, |row, _| value >> row & 1 == 1);
        let own = (self.engine.me() == PartyId(0)).then_some(&bits);
        let wires = self.engine.input(PartyId(0), 16, 1, own)?;
        let bits = self.engine.reveal(&wires, all())?.ok_or_else(nothing_opened)?;
        Ok((0..16).fold(0, |value, row| value | u16::from(bits.get(row, 0)) << row))
    }

    /// Announces the evaluation of `plan` on `lanes` lanes.
    pub(crate) fn announce(&mut self, load: &Load, lanes: usize) -> Result<()> {
        self.engine.prepare(&load.plan, lanes)?;
        self.told_of(self.blocks(load, lanes));
        Ok(())
    }

    /// Shares the inputs and evaluates the circuit. All values of an owner are shared at once.
    pub(crate) fn evaluate(&mut self, load: &Load, instance: &Instance) -> Result<Pending> {
        let me = self.engine.me();
        let ranges: Vec<_> = {
            let mut next = 0;
            let values = load.circuit.inputs().iter();
            values
                .map(|value| {
                    let first = next;
                    next += value.width as usize;
                    first..next
                })
                .collect()
        };
        let owned = |owner: usize| ranges.iter().skip(owner).step_by(usize::from(PARTIES));
        let mut shared = Vec::new();
        for owner in 0..usize::from(PARTIES) {
            let rows: Vec<usize> = owned(owner).flat_map(Clone::clone).collect();
            if rows.is_empty() {
                continue;
            }
            let id = PartyId(owner as u8);
            let own = (id == me).then(|| pick(&instance.inputs, &rows));
            let wires = self
                .engine
                .input(id, rows.len(), instance.lanes(), own.as_ref())?;
            shared.push(wires);
        }
        let mut taken = [0; PARTIES as usize];
        let parts: Vec<_> = ranges
            .iter()
            .enumerate()
            .map(|(index, range)| {
                let owner = index % usize::from(PARTIES);
                let first = taken[owner];
                taken[owner] += range.len();
                shared[owner].select(first..taken[owner])
            })
            .collect();
        let inputs = if parts.is_empty() {
            self.engine.constant(&BitMatrix::zeros(0, instance.lanes()))?
        } else {
            WireVector::concat(&parts.iter().collect::<Vec<_>>())
        };
        let wires = self.engine.run(&load.plan, &inputs)?;
        self.prepared = self.prepared.saturating_sub(self.blocks(load, instance.lanes()));
        Ok(Pending {
            wires,
            expected: Arc::clone(&instance.expected),
        })
    }

    /// Verifies, opens, and compares with plain evaluation.
    pub(crate) fn open(&mut self, pending: Pending) -> Result<()> {
        let opened = self
            .engine
            .reveal(&pending.wires, all())?
            .ok_or_else(nothing_opened)?;
        if opened == *pending.expected {
            return Ok(());
        }
        let bug = std::io::Error::other("they differ from plain evaluation");
        Err(Error::local("checking the outputs", bug))
    }

    /// Evaluates `instance`, opens its outputs, and gives the seconds that this took.
    pub(crate) fn run(&mut self, load: &Load, instance: &Instance) -> Result<f64> {
        let start = Instant::now();
        let pending = self.evaluate(load, instance)?;
        self.open(pending)?;
        let seconds = start.elapsed().as_secs_f64();
        self.count(load, instance.lanes());
        Ok(seconds)
    }

    /// Blocks of gates of `lanes` lanes for each worker: exact if every worker has whole blocks of lanes.
    fn blocks(&self, load: &Load, lanes: usize) -> u64 {
        Three::and_blocks(&Demand::new().and_run(&load.plan, lanes, 1)).div_ceil(self.workers)
    }

    /// Counts the gates of `lanes` lanes as verified together.
    pub(crate) fn count(&mut self, load: &Load, lanes: usize) {
        let blocks = self.blocks(load, lanes);
        self.used += if self.spends_batches() {
            blocks.next_multiple_of(self.n())
        } else {
            blocks
        };
    }

    pub(crate) fn fill_stock(&mut self) -> Result<()> {
        Ok(self.engine.fill_stock()?)
    }

    pub(crate) fn costs(&self) -> Costs {
        self.engine.costs()
    }

    pub(crate) fn finish(mut self) -> Result<Costs> {
        self.engine.finish()?;
        Ok(self.engine.costs())
    }
}

/// The rows of `bits` with these numbers.
fn pick(bits: &BitMatrix, rows: &[usize]) -> BitMatrix {
    let mut picked = BitMatrix::zeros(rows.len(), bits.lanes());
    for (to, &from) in rows.iter().enumerate() {
        picked.row_mut(to).copy_from_slice(bits.row(from));
    }
    picked
}

fn all() -> Parties {
    Parties::all(usize::from(PARTIES))
}

fn nothing_opened() -> Error {
    Error::local("opening outputs", std::io::Error::other("nothing came out"))
}

pub(crate) fn too_many() -> Error {
    Error::Usage("that is more than this machine can address; measure less".into())
}
