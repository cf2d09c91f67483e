//! A session: where a program's values live, and what they are computed with.

mod running;

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::panic::Location;
use std::rc::Rc;
use std::time::Duration;

use cenote_net::PartyId;
use cenote_primitives::BitMatrix;
use cenote_session::{AnyEngine, Costs, Engine, Parties, Warning, erased};

use crate::choice::Plans;
use crate::error::{Error, Misuse, Result};
use crate::machine::{Hosted, Machine, Recorder, Slot};
use crate::secret::Secret;
use crate::segment::{Due, Recipe, Segment};
use crate::value::{Held, Node, State, Value};
use crate::values::Values;
use crate::word::Word;

/// One party's part in a computation over secrets, whatever the protocol.
///
/// All parties run the same program: the same calls, in the same order, with the same public arguments; they hold on to the same secrets, too, for what
/// nobody holds any more is not computed. Before anything is revealed they compare what they have done, and stop if it differs. Operations on
/// [`Secret`]s are recorded; what is recorded is compiled and run when something is revealed, when lanes are moved, or when it
/// has become much. A session that has failed computes nothing more, and says at the next [`Session::reveal`] what happened.
///
/// Clones are the same session.
#[derive(Clone)]
pub struct Session(Rc<Shared>);

struct Shared {
    core: RefCell<Core>,
    /// Vectors of wires that are no longer used.
    dropped: Rc<RefCell<Vec<Slot>>>,
}

struct Core {
    machine: Box<dyn Machine>,
    /// Operations under way, by the number of lanes.
    open: BTreeMap<usize, Segment>,
    /// Plans, and when each was used last, in runs.
    plans: HashMap<Recipe, (Plans, u64)>,
    runs: u64,
    /// How long a message takes from party to party, about.
    way: Duration,
    failure: Option<Failure>,
    /// Whether everything is recorded and nothing run.
    recording: bool,
    /// Whether anything was revealed to this party.
    learnt: bool,
    /// AND gates run.
    done: u64,
    /// Is told them.
    progress: Option<Box<dyn FnMut(u64)>>,
}

/// Most recipes whose plans are kept.
const PLANS: usize = 512;

/// How long a message takes on one machine or in one room, about.
const WAY: Duration = Duration::from_micros(30);

enum Failure {
    /// Not told yet.
    New(Error),
    Told(String),
}

impl Session {
    /// A session of `engine`.
    pub fn new<E: Engine + 'static>(engine: E) -> Self {
        Self::of(erased(engine))
    }

    /// A session of an engine of any protocol.
    pub fn of(engine: AnyEngine) -> Self {
        Self::over(Box::new(Hosted::new(engine)), false)
    }

    /// A session that computes nothing, for functions that are recorded.
    pub(crate) fn recording() -> Self {
        Self::over(Box::new(Recorder::default()), true)
    }

    pub(crate) fn over(machine: Box<dyn Machine>, recording: bool) -> Self {
        Session(Rc::new(Shared {
            core: RefCell::new(Core {
                machine,
                open: BTreeMap::new(),
                plans: HashMap::new(),
                runs: 0,
                way: WAY,
                failure: None,
                recording,
                learnt: false,
                done: 0,
                progress: None,
            }),
            dropped: Rc::default(),
        }))
    }

    /// Says how long a message takes from party to party, about, from which circuits are chosen (30 µs unless it is said). All parties say
    /// the same.
    pub fn set_way(&self, way: Duration) {
        self.0.core.borrow_mut().way = way;
    }

    /// Has `told` called with the AND gates run so far whenever some were. It cannot use the session.
    pub fn on_progress(&self, told: impl FnMut(u64) + 'static) {
        self.0.core.borrow_mut().progress = Some(Box::new(told));
    }

    /// This party.
    pub fn me(&self) -> PartyId {
        self.0.core.borrow().machine.me()
    }

    /// Number of parties.
    pub fn parties(&self) -> usize {
        self.0.core.borrow().machine.parties()
    }

    /// `len` secrets of `owner`, which gives them; the others give `None`.
    #[track_caller]
    pub fn input<T: Word>(&self, owner: PartyId, len: usize, values: Option<&[T]>) -> Secret<T> {
        let at = Location::caller();
        let wires = T::BITS as usize;
        if let Some(what) = no_row(len) {
            return Secret::of(self.misuse(what, at, T::BITS, 1));
        }
        if let Some(values) = values
            && values.len() != len
        {
            let what = format!("{} values were given for an input of {len}", values.len());
            return Secret::of(self.misuse(what, at, T::BITS, len));
        }
        let bits = values.map(|values| {
            let bits: Vec<u128> = values.iter().map(|value| value.to_bits()).collect();
            to_matrix(&bits, T::BITS)
        });
        let value = self.make(T::BITS, len, |machine| {
            machine.input(owner, wires, len, bits.as_ref())
        });
        Secret::of(value)
    }

    /// A value that everybody knows, for calculating with secrets.
    pub fn public<T: Word>(&self, value: T) -> Secret<T> {
        Secret::of(self.constant(T::BITS, value.to_bits()))
    }

    /// The same public bits in every lane that they meet.
    pub(crate) fn constant(&self, width: u32, bits: u128) -> Value {
        self.node(width, 1, State::Constant(bits))
    }

    /// Public bits in each lane.
    pub(crate) fn constant_row(&self, width: u32, values: &[u128]) -> Value {
        let bits = to_matrix(values, width);
        self.make(width, values.len(), |machine| machine.constant(&bits))
    }

    /// Values that everybody knows, one in each lane.
    #[track_caller]
    pub fn public_row<T: Word>(&self, values: &[T]) -> Secret<T> {
        if let Some(what) = no_row(values.len()) {
            return Secret::of(self.misuse(what, Location::caller(), T::BITS, 1));
        }
        let bits: Vec<u128> = values.iter().map(|value| value.to_bits()).collect();
        Secret::of(self.constant_row(T::BITS, &bits))
    }

    /// Verifies everything that `secrets` depend on, then opens it to the parties in `to`: `Some` exactly at those.
    ///
    /// # Errors
    /// What the program did wrong, or what happened to the session, since the last call.
    #[track_caller]
    pub fn reveal<V: Values>(&self, secrets: &V, to: Parties) -> Result<Option<V::Clear>> {
        let mut values = Vec::new();
        secrets.each(&mut |secret| values.push(secret.value().clone()));
        if values.iter().any(|value| !self.is(value.session())) {
            self.fail_at("a secret of another session is revealed", Location::caller());
        }
        let mut opened = Vec::with_capacity(values.len());
        // Those with as many lanes are opened together.
        let mut at = 0;
        while at < values.len() {
            let lanes = values[at].lanes();
            let same = values[at..]
                .iter()
                .take_while(|value| value.lanes() == lanes)
                .count();
            let together = &values[at..at + same];
            if let Some(bits) = self.open_wires(together, to)? {
                let mut first = 0;
                for value in together {
                    opened.push((bits.clone(), first, value.width()));
                    first += value.width() as usize;
                }
            }
            at += same;
        }
        let mut rows = opened.into_iter();
        Ok(to
            .contains(self.me())
            .then(|| V::clear(&mut || rows.next().expect("one for each value"))))
    }

    /// As [`Session::reveal`], to all parties.
    ///
    /// # Errors
    /// As [`Session::reveal`].
    #[track_caller]
    pub fn open<V: Values>(&self, secrets: &V) -> Result<V::Clear> {
        let all = Parties::all(self.parties());
        Ok(self.reveal(secrets, all)?.expect("all parties learn it"))
    }

    /// Ends the session in agreement with the peers. What was not revealed is gone.
    ///
    /// # Errors
    /// What the program did wrong, or what happened to the session.
    pub fn finish(&self) -> Result<Costs> {
        let core = &mut *self.0.core.borrow_mut();
        core.open.clear();
        core.check()?;
        let result = core.machine.finish();
        let costs = core.machine.costs();
        core.failure = Some(Failure::Told("it is finished".into()));
        result?;
        Ok(costs)
    }

    /// Whether this party has learnt anything.
    pub fn has_learnt(&self) -> bool {
        self.0.core.borrow().learnt
    }

    /// What the session has cost this party so far.
    pub fn costs(&self) -> Costs {
        self.0.core.borrow().machine.costs()
    }

    /// The base-2 logarithm of the probability that a wrong output so far has passed, at most.
    pub fn error_bound(&self) -> f64 {
        self.0.core.borrow().machine.error_bound()
    }

    /// The base-2 logarithm of the work that breaks the weakest primitive of the protocol; infinite if it rests on none.
    pub fn computational_bits(&self) -> f64 {
        self.0.core.borrow().machine.computational_bits()
    }

    /// What this party should know besides its outputs, in words.
    pub fn warnings(&self) -> Vec<Warning> {
        self.0.core.borrow().machine.warnings()
    }

    /// What was recorded of single secrets, and nothing run.
    pub(crate) fn recorded(&self) -> Result<Option<Due>> {
        let core = &mut *self.0.core.borrow_mut();
        core.check()?;
        Ok(core.open.remove(&1).and_then(Segment::into_due))
    }

    /// A new input of a function that is recorded.
    pub(crate) fn argument(&self, width: u32) -> Value {
        self.make(width, 1, |machine| {
            machine.input(PartyId(0), width as usize, 1, None)
        })
    }

    pub(crate) fn is(&self, other: &Session) -> bool {
        Rc::ptr_eq(&self.0, &other.0)
    }

    pub(crate) fn node(&self, width: u32, lanes: usize, state: State) -> Value {
        Value(Rc::new(Node {
            session: self.clone(),
            width,
            lanes,
            state: RefCell::new(state),
        }))
    }

    /// Notes what the program did wrong, and gives a value without bits.
    pub(crate) fn misuse(
        &self,
        what: impl Into<String>,
        at: &'static Location<'static>,
        width: u32,
        lanes: usize,
    ) -> Value {
        self.fail_at(what, at);
        self.node(width, lanes.max(1), State::Lost)
    }

    fn fail_at(&self, what: impl Into<String>, at: &'static Location<'static>) {
        let what = what.into();
        self.0.core.borrow_mut().fail(Error::Misuse(Misuse { what, at }));
    }

    /// Runs what was recorded of single secrets, so that what comes next is compiled by itself.
    pub(crate) fn flush(&self) {
        let core = &mut *self.0.core.borrow_mut();
        if !core.recording {
            self.run(core, 1);
        }
    }

    /// A value of new wires, which `make` makes.
    pub(crate) fn make(
        &self,
        width: u32,
        lanes: usize,
        make: impl FnOnce(&mut dyn Machine) -> cenote_session::Result<Slot>,
    ) -> Value {
        let core = &mut *self.0.core.borrow_mut();
        self.sweep(core);
        let state = match core.attempt(make) {
            Some(slot) => State::Wires(Held::new(slot, &self.0.dropped), 0),
            None => State::Lost,
        };
        self.node(width, lanes, state)
    }

    /// Gives wires back that are no longer used.
    fn sweep(&self, core: &mut Core) {
        for slot in self.0.dropped.borrow_mut().drain(..) {
            core.machine.forget(slot);
        }
    }
}

impl Core {
    /// Keeps plans, and for them gives up those that were not used for longest.
    fn keep(&mut self, recipe: Recipe, plans: Plans) {
        if self.plans.len() >= PLANS {
            let mut last: Vec<u64> = self.plans.values().map(|(_, used)| *used).collect();
            let (_, &mut middle, _) = last.select_nth_unstable(PLANS / 2);
            self.plans.retain(|_, (_, used)| *used > middle);
        }
        self.plans.insert(recipe, (plans, self.runs));
    }

    fn fail(&mut self, error: Error) {
        self.failure.get_or_insert(Failure::New(error));
    }

    /// Lets the machine do something, unless the session has failed.
    fn attempt<R>(&mut self, work: impl FnOnce(&mut dyn Machine) -> cenote_session::Result<R>) -> Option<R> {
        if self.failure.is_some() {
            return None;
        }
        match work(&mut *self.machine) {
            Ok(result) => Some(result),
            Err(error) => {
                self.fail(error.into());
                None
            }
        }
    }

    /// The failure, if there was one: in full the first time, and then in words.
    fn check(&mut self) -> Result<()> {
        match self.failure.take() {
            None => Ok(()),
            Some(Failure::New(error)) => {
                self.failure = Some(Failure::Told(error.to_string()));
                Err(error)
            }
            Some(Failure::Told(words)) => {
                self.failure = Some(Failure::Told(words.clone()));
                Err(Error::Failed(words))
            }
        }
    }
}

/// Why rows of `one` and of `other` secrets cannot be calculated with.
pub(crate) fn lengths_differ(one: usize, other: usize) -> String {
    format!(
        "a row of {one} secrets meets a row of {other}: rows must be of one length, or one of them a single secret"
    )
}

/// Why there is no row of `len` secrets.
pub(crate) fn no_row(len: usize) -> Option<String> {
    match u32::try_from(len) {
        Ok(0) => Some("a row of no secrets".into()),
        Ok(_) => None,
        Err(_) => Some(format!("a row of {len} secrets: it has fewer than 2^32")),
    }
}

/// The low `width` bits of `values`, one value in each lane.
fn to_matrix(values: &[u128], width: u32) -> BitMatrix {
    let mut rows = BitMatrix::zeros(values.len(), width as usize);
    for (lane, bits) in values.iter().enumerate() {
        for (word, at) in rows.row_mut(lane).iter_mut().zip([0, 64]) {
            *word = (bits >> at) as u64;
        }
    }
    rows.mask_padding();
    rows.transpose()
}
