//! What a session computes with: an engine, what counts, or what records.

use std::borrow::Cow;
use std::ops::Range;

use cenote_circuit::Plan;
use cenote_net::PartyId;
use cenote_primitives::{BitMatrix, LaneRun, as_bytes};
use cenote_session::{AnyEngine, AnyWires, Costs, Error, Parties, Piece, Result, Warning, WireVector};

/// A vector of wires that a [`Machine`] keeps.
pub(crate) type Slot = usize;

/// Some wires of a slot.
pub(crate) type Wires = (Slot, Range<usize>);

/// What vectors of wires, which have numbers, are made and computed with.
pub(crate) trait Machine {
    fn me(&self) -> PartyId;
    fn parties(&self) -> usize;
    fn levels_take_rounds(&self) -> bool;
    fn input(&mut self, owner: PartyId, wires: usize, lanes: usize, bits: Option<&BitMatrix>)
    -> Result<Slot>;
    fn constant(&mut self, bits: &BitMatrix) -> Result<Slot>;
    /// Runs `plan`, which may be `new`, in `lanes` lanes of all wires of `inputs`.
    fn run(&mut self, plan: &Plan, new: bool, lanes: usize, inputs: &[Wires]) -> Result<Slot>;
    fn arrange(&mut self, parts: &[Wires], runs: &[LaneRun]) -> Result<Slot>;
    /// See [`cenote_session::Engine::shuffles`].
    fn shuffles(&self) -> bool {
        false
    }
    fn draw(&mut self, _lanes: usize) -> Result<u32> {
        refuse("shuffle")
    }
    fn shuffle(&mut self, _wires: &Wires, _order: u32, _back: bool) -> Result<Slot> {
        refuse("shuffle")
    }
    /// See [`cenote_session::Engine::digests`].
    fn digests(&self) -> bool {
        false
    }
    fn digest(&mut self, _these: &[Wires], _those: &[Wires]) -> Result<Slot> {
        refuse("compare rows")
    }
    fn reveal(&mut self, wires: &[Wires], to: Parties) -> Result<Option<BitMatrix>>;
    /// Whether shares can be kept as they are.
    fn keeps(&self) -> bool {
        false
    }
    /// See [`cenote_session::Engine::keep`].
    fn keep(&mut self, _wires: &Wires) -> Result<BitMatrix> {
        refuse("keep")
    }
    /// See [`cenote_session::Engine::take`].
    fn take(&mut self, _wires: usize, _lanes: usize, _share: &BitMatrix) -> Result<Slot> {
        refuse("take what was kept")
    }
    /// Compares what the parties say, besides what they have done.
    fn compare(&mut self, _said: &[u8; 32]) -> Result<()> {
        Ok(())
    }
    /// Whether it only counts what a program takes: what it reveals has no meaning.
    fn foresees(&self) -> bool {
        false
    }
    /// Foresees more AND gates, which it may or may not take.
    fn spare(&mut self, _and_gates: u64) {}
    /// What is done from here on belongs to this step of the program.
    fn enter(&mut self, _step: usize) {}
    /// How much of the circuit that is run next belongs to which step, about.
    fn share(&mut self, _shares: Vec<(usize, u64)>) {}
    fn forget(&mut self, slot: Slot);

    // What is said of a machine that computes nothing with anybody.

    fn finish(&mut self) -> Result<()> {
        Ok(())
    }

    fn costs(&self) -> Costs {
        Costs::default()
    }

    fn error_bound(&self) -> f64 {
        f64::NEG_INFINITY
    }

    fn computational_bits(&self) -> f64 {
        f64::INFINITY
    }

    fn warnings(&self) -> Vec<Warning> {
        Vec::new()
    }
}

/// An engine and the wires that are alive.
pub(crate) struct Hosted {
    engine: AnyEngine,
    wires: Vec<Option<(u64, AnyWires)>>,
    free: Vec<Slot>,
    /// How many vectors of wires there have been: each has a number, which slots do not, as they are used again.
    made: u64,
    done: Done,
}

/// Everything public that was done so far. The parties compare it before anything is revealed, since most of it is in no message: three
/// parties that calculate with different constants, or in a different order, would not notice.
struct Done(blake3::Hasher);

impl Done {
    /// Adds a call, and what it is given.
    fn call(&mut self, name: &str, numbers: impl IntoIterator<Item = u64>) {
        self.bytes(name.as_bytes());
        let numbers: Vec<u8> = numbers.into_iter().flat_map(u64::to_le_bytes).collect();
        self.bytes(&numbers);
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.0.update(&(bytes.len() as u64).to_le_bytes());
        self.0.update(bytes);
    }

    fn digest(&self) -> [u8; 32] {
        self.0.finalize().into()
    }
}

impl Hosted {
    pub(crate) fn new(engine: AnyEngine) -> Self {
        Self {
            engine,
            wires: Vec::new(),
            free: Vec::new(),
            made: 0,
            done: Done(blake3::Hasher::new()),
        }
    }

    fn hold(&mut self, wires: AnyWires) -> Slot {
        let wires = (self.made, wires);
        self.made += 1;
        match self.free.pop() {
            Some(slot) => {
                self.wires[slot] = Some(wires);
                slot
            }
            None => {
                self.wires.push(Some(wires));
                self.wires.len() - 1
            }
        }
    }

    fn at(&self, slot: Slot) -> &(u64, AnyWires) {
        kept(&self.wires, slot)
    }

    /// Adds a call on `wires`, and what else it is given.
    fn note(&mut self, name: &str, wires: &[Wires], more: impl IntoIterator<Item = u64>) {
        let numbers = |(slot, range): &Wires| [self.at(*slot).0, range.start as u64, range.end as u64];
        let wires: Vec<u64> = wires.iter().flat_map(numbers).collect();
        self.done.call(name, wires);
        self.done.call("and", more);
    }
}

fn kept(wires: &[Option<(u64, AnyWires)>], slot: Slot) -> &(u64, AnyWires) {
    wires[slot].as_ref().expect("a slot in use has wires")
}

/// All wires of `of` together; nothing if there are none.
fn together<'a>(wires: &'a [Option<(u64, AnyWires)>], of: &[Wires]) -> Option<Cow<'a, AnyWires>> {
    let select = |(slot, range): &Wires| {
        let all = &kept(wires, *slot).1;
        match *range == (0..all.wires()) {
            true => Cow::Borrowed(all),
            false => Cow::Owned(all.select(range.clone())),
        }
    };
    match of {
        [] => None,
        [one] => Some(select(one)),
        several => {
            let parts: Vec<_> = several.iter().map(select).collect();
            let parts: Vec<&AnyWires> = parts.iter().map(|part| &**part).collect();
            Some(Cow::Owned(AnyWires::concat(&parts)))
        }
    }
}

fn pieces<'a>(wires: &'a [Option<(u64, AnyWires)>], of: &[Wires]) -> Vec<Piece<'a, AnyWires>> {
    of.iter()
        .map(|(slot, range)| (&kept(wires, *slot).1, range.clone()))
        .collect()
}

impl Machine for Hosted {
    fn me(&self) -> PartyId {
        self.engine.me()
    }

    fn parties(&self) -> usize {
        self.engine.parties()
    }

    fn levels_take_rounds(&self) -> bool {
        self.engine.levels_take_rounds()
    }

    fn input(
        &mut self,
        owner: PartyId,
        wires: usize,
        lanes: usize,
        bits: Option<&BitMatrix>,
    ) -> Result<Slot> {
        self.note("input", &[], [owner.0.into(), wires as u64, lanes as u64]);
        let wires = self.engine.input(owner, wires, lanes, bits)?;
        Ok(self.hold(wires))
    }

    fn constant(&mut self, bits: &BitMatrix) -> Result<Slot> {
        self.note("constant", &[], [bits.rows() as u64, bits.lanes() as u64]);
        self.done.call("bits", bits.words().iter().copied());
        let wires = self.engine.constant(bits)?;
        Ok(self.hold(wires))
    }

    fn run(&mut self, plan: &Plan, new: bool, lanes: usize, inputs: &[Wires]) -> Result<Slot> {
        self.note("run", inputs, [lanes as u64]);
        self.done.bytes(&plan.digest());
        if new {
            // Peers with another plan would send other messages, and be accused of cheating.
            self.engine.compare(&self.done.digest())?;
        }
        let outputs = if inputs.is_empty() {
            let nothing = self.engine.constant(&BitMatrix::zeros(0, lanes))?;
            self.engine.run(plan, &nothing)?
        } else {
            self.engine.run_pieces(plan, &pieces(&self.wires, inputs))?
        };
        Ok(self.hold(outputs))
    }

    fn arrange(&mut self, parts: &[Wires], runs: &[LaneRun]) -> Result<Slot> {
        self.note("arrange", parts, []);
        self.done.bytes(as_bytes(runs));
        let arranged = self.engine.arrange(&pieces(&self.wires, parts), runs)?;
        Ok(self.hold(arranged))
    }

    fn shuffles(&self) -> bool {
        self.engine.shuffles()
    }

    fn draw(&mut self, lanes: usize) -> Result<u32> {
        self.note("draw", &[], [lanes as u64]);
        self.engine.draw(lanes)
    }

    fn shuffle(&mut self, wires: &Wires, order: u32, back: bool) -> Result<Slot> {
        self.note(
            "shuffle",
            std::slice::from_ref(wires),
            [order.into(), back.into()],
        );
        // Peers that move other rows, or another way, would wait for each other, and be accused of cheating.
        self.engine.compare(&self.done.digest())?;
        let wires = together(&self.wires, std::slice::from_ref(wires)).expect("there are some");
        let moved = self.engine.shuffle(&wires, order, back)?;
        Ok(self.hold(moved))
    }

    fn digests(&self) -> bool {
        self.engine.digests()
    }

    fn digest(&mut self, these: &[Wires], those: &[Wires]) -> Result<Slot> {
        self.note("digest", these, []);
        self.note("of those", those, []);
        // Peers that are elsewhere would toss no coin, and be accused of cheating.
        self.engine.compare(&self.done.digest())?;
        let [these, those] = [these, those].map(|wires| together(&self.wires, wires));
        let (Some(these), Some(those)) = (these, those) else {
            return Err(Error::BadInput("a digest of no wires".into()));
        };
        let digest = self.engine.digest(&these, &those)?;
        Ok(self.hold(digest))
    }

    fn reveal(&mut self, wires: &[Wires], to: Parties) -> Result<Option<BitMatrix>> {
        self.note("reveal", wires, to.iter().map(|party| party.0.into()));
        self.engine.compare(&self.done.digest())?;
        match together(&self.wires, wires) {
            Some(wires) => self.engine.reveal(&wires, to),
            None => Ok(to.contains(self.me()).then(|| BitMatrix::zeros(0, 0))),
        }
    }

    fn keeps(&self) -> bool {
        self.engine.keeps()
    }

    fn keep(&mut self, wires: &Wires) -> Result<BitMatrix> {
        self.note("keep", std::slice::from_ref(wires), []);
        self.engine.compare(&self.done.digest())?;
        let wires = together(&self.wires, std::slice::from_ref(wires)).expect("there are some");
        self.engine.keep(&wires)
    }

    fn take(&mut self, wires: usize, lanes: usize, share: &BitMatrix) -> Result<Slot> {
        if share.lanes() != lanes {
            return Err(Error::BadInput("a share of so many rows is expected".into()));
        }
        self.note("take", &[], [wires as u64, lanes as u64]);
        // Peers that take something else would say other digests, and be accused of cheating.
        self.engine.compare(&self.done.digest())?;
        let wires = self.engine.take(wires, share)?;
        Ok(self.hold(wires))
    }

    fn compare(&mut self, said: &[u8; 32]) -> Result<()> {
        self.done.bytes(said);
        self.engine.compare(&self.done.digest())
    }

    fn forget(&mut self, slot: Slot) {
        // At the end of the session all are gone.
        if let Some(wires) = self.wires.get_mut(slot) {
            *wires = None;
            self.free.push(slot);
        }
    }

    fn finish(&mut self) -> Result<()> {
        self.wires.clear();
        self.engine.compare(&self.done.digest())?;
        self.engine.finish()
    }

    fn costs(&self) -> Costs {
        self.engine.costs()
    }

    fn error_bound(&self) -> f64 {
        self.engine.error_bound()
    }

    fn computational_bits(&self) -> f64 {
        self.engine.computational_bits()
    }

    fn warnings(&self) -> Vec<Warning> {
        self.engine.warnings()
    }
}

/// A machine without an engine: it counts inputs, and refuses everything else.
#[derive(Default)]
pub(crate) struct Recorder {
    inputs: Slot,
}

/// Why a function cannot be recorded.
fn refuse<T>(what: &str) -> Result<T> {
    Err(Error::BadInput(format!(
        "a function that is recorded cannot {what}: it calculates with single secrets, and nothing else"
    )))
}

impl Machine for Recorder {
    fn me(&self) -> PartyId {
        PartyId(0)
    }

    fn parties(&self) -> usize {
        1
    }

    fn levels_take_rounds(&self) -> bool {
        false
    }

    fn input(&mut self, _: PartyId, _: usize, _: usize, bits: Option<&BitMatrix>) -> Result<Slot> {
        if bits.is_some() {
            return refuse("take inputs of a party");
        }
        self.inputs += 1;
        Ok(self.inputs - 1)
    }

    fn constant(&mut self, _: &BitMatrix) -> Result<Slot> {
        refuse("use rows")
    }

    fn run(&mut self, _: &Plan, _: bool, _: usize, _: &[Wires]) -> Result<Slot> {
        refuse("reveal")
    }

    fn arrange(&mut self, _: &[Wires], _: &[LaneRun]) -> Result<Slot> {
        refuse("use rows")
    }

    fn reveal(&mut self, _: &[Wires], _: Parties) -> Result<Option<BitMatrix>> {
        refuse("reveal")
    }

    fn forget(&mut self, _: Slot) {}
}
