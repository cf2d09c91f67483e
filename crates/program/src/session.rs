//! A session: where a program's values live, and what they are computed with.

mod running;

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::panic::Location;
use std::rc::Rc;
use std::time::Duration;

use cenote_net::PartyId;
use cenote_session::{AnyEngine, Costs, Engine, Warning, erased};

use crate::choice::Plans;
use crate::error::{Error, Misuse, Result};
use crate::machine::{Hosted, Machine, Recorder, Slot};
use crate::node::{Held, State};
use crate::segment::{Due, Recipe, Segment};

/// One party's part in a computation over secrets, whatever the protocol.
///
/// All parties run the same program: the same calls, in the same order, with the same public arguments; they hold on to the same secrets, too, for what
/// nobody holds any more is not computed. Before anything is revealed they compare what they have done, and stop if it differs. Operations on
/// [`Secret`](crate::Secret)s are recorded; what is recorded is compiled and run when something is revealed, when lanes are moved, or when it
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
    /// Whether records go through no networks where they can be moved in secret orders, for tests.
    no_networks: bool,
    failure: Option<Failure>,
    /// Whether everything is recorded and nothing run.
    recording: bool,
    /// The step that the program is in.
    step: usize,
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
                no_networks: false,
                failure: None,
                recording,
                step: 0,
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

    /// Has records move in secret orders, where the protocol has such, whatever it takes: for tests.
    pub(crate) fn use_no_networks(&self) {
        self.0.core.borrow_mut().no_networks = true;
    }

    pub(crate) fn uses_no_networks(&self) -> bool {
        self.0.core.borrow().no_networks
    }

    /// Has `told` called with the AND gates run so far whenever some were. It cannot use the session.
    pub fn on_progress(&self, told: impl FnMut(u64) + 'static) {
        self.0.core.borrow_mut().progress = Some(Box::new(told));
    }

    /// Says that what the program does next belongs to this step of it, and gives the one before: [`tally`](crate::tally) tells what each takes.
    pub fn enter(&self, step: usize) -> usize {
        let core = &mut *self.0.core.borrow_mut();
        core.machine.enter(step);
        std::mem::replace(&mut core.step, step)
    }

    /// This party.
    pub fn me(&self) -> PartyId {
        self.0.core.borrow().machine.me()
    }

    /// Number of parties.
    pub fn parties(&self) -> usize {
        self.0.core.borrow().machine.parties()
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

    pub(crate) fn is(&self, other: &Session) -> bool {
        Rc::ptr_eq(&self.0, &other.0)
    }

    /// Notes what the program did wrong.
    pub(crate) fn fail_at(&self, what: impl Into<String>, at: &'static Location<'static>) {
        let what = what.into();
        self.0.core.borrow_mut().fail(Error::Misuse(Misuse { what, at }));
    }

    /// Notes what happened to the session, to be told at the next reveal.
    pub(crate) fn fail_with(&self, error: Error) {
        self.0.core.borrow_mut().failure = Some(Failure::New(error));
    }

    /// What was noted of the session, which has failed.
    pub(crate) fn failure(&self) -> Error {
        let failed = self.0.core.borrow_mut().check();
        failed
            .err()
            .unwrap_or_else(|| Error::Failed("it has failed".into()))
    }

    /// Runs what was recorded of single secrets, so that what comes next is compiled by itself.
    pub(crate) fn flush(&self) {
        let core = &mut *self.0.core.borrow_mut();
        if !core.recording {
            self.run(core, 1);
        }
    }

    /// Sees that all parties say the same here.
    ///
    /// # Errors
    /// [`cenote_session::Error`], of a difference, of the network; what the program did wrong before.
    pub(crate) fn compare(&self, said: [u8; 32]) -> Result<()> {
        let core = &mut *self.0.core.borrow_mut();
        core.attempt(|machine| machine.compare(&said));
        core.check()
    }

    /// Runs everything that was recorded.
    pub(crate) fn flush_all(&self) {
        let core = &mut *self.0.core.borrow_mut();
        while let Some((&lanes, _)) = core.open.first_key_value().filter(|_| !core.recording) {
            self.run(core, lanes);
        }
    }

    /// New wires, which `make` makes.
    pub(crate) fn made(&self, make: impl FnOnce(&mut dyn Machine) -> cenote_session::Result<Slot>) -> State {
        let core = &mut *self.0.core.borrow_mut();
        self.sweep(core);
        match core.attempt(make) {
            Some(slot) => State::Wires(Held::new(slot, &self.0.dropped), 0),
            None => State::Lost,
        }
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
