//! Workers: each a generator, or a prover, and an evaluator on threads and channels of their own, side by side (S&P 2017, Figure 5).

use cenote_circuit::Plan;
use cenote_net::Closer;
use cenote_params::three::Parameters;
use cenote_session::{Error, Piece, Result};

use crate::last_word::{LastWord, telling};
use crate::material::tally::Tally;
use crate::online::checker::Checker;
use crate::online::evaluator::{Evaluator, Group, Outputs, planned_blocks, planned_layers};
use crate::wires::ThreeWires;

pub(crate) struct Worker {
    pub(crate) evaluator: Evaluator,
    pub(crate) checker: Checker,
    /// Blocks of gates announced and not yet run.
    prepared: u64,
    /// The gate log as it will be when these have been run.
    ahead: Option<Tally>,
    last_word: LastWord,
}

impl Worker {
    pub(crate) fn new(evaluator: Evaluator, checker: Checker, last_word: LastWord) -> Self {
        Self {
            evaluator,
            checker,
            last_word,
            prepared: 0,
            ahead: None,
        }
    }

    /// Announces the evaluation of `plan` on `groups`.
    pub(crate) fn prepare<'a>(&mut self, plan: &Plan, groups: impl Iterator<Item = &'a Group>) {
        self.prepared += planned_blocks(plan, groups);
        self.checker.prepare(self.prepared);
    }

    /// The gate log as it is.
    fn tally(&self, parameters: &Parameters) -> Tally {
        let used = match &self.checker {
            Checker::Triples(verifier, _) => verifier.supply.used(),
            Checker::Proofs(_) => 0,
        };
        Tally::new(parameters, used, self.evaluator.log.words())
    }

    /// Announces the evaluation of `plan` on `groups`; gives the batches needed since the start for all that is announced,
    /// if nothing is revealed before all of it has been run.
    pub(crate) fn foresee<'a>(
        &mut self,
        parameters: &Parameters,
        plan: &'a Plan,
        groups: impl Iterator<Item = &'a Group> + Clone + 'a,
    ) -> u64 {
        let mut tally = match self.ahead {
            Some(tally) if self.prepared > 0 => tally,
            _ => self.tally(parameters),
        };
        self.prepared += planned_blocks(plan, groups.clone());
        tally.add(planned_layers(plan, groups));
        self.ahead = Some(tally);
        tally.batches()
    }

    /// The batches needed since the start to run `plan` on `groups` now and reveal what it gives.
    pub(crate) fn need<'a>(
        &self,
        parameters: &Parameters,
        plan: &'a Plan,
        groups: impl Iterator<Item = &'a Group> + 'a,
    ) -> u64 {
        let mut tally = self.tally(parameters);
        tally.add(planned_layers(plan, groups));
        tally.batches()
    }

    /// Evaluates `plan` in the lanes of these groups.
    fn run(
        &mut self,
        plan: &Plan,
        inputs: &[Piece<'_, ThreeWires>],
        outputs: Vec<Outputs<'_>>,
    ) -> Result<()> {
        let blocks = planned_blocks(plan, outputs.iter().map(Outputs::group));
        self.prepared = self.prepared.saturating_sub(blocks);
        // Triples are made while gates are evaluated, and not only once these wait for verification.
        let waiting = (self.evaluator.log.words() as u64).div_ceil(8);
        self.checker.prepare(waiting + blocks);
        self.evaluator.run(plan, inputs, outputs, &mut self.checker)
    }

    /// Tells this worker's peers why it stops, and finds the best explanation of `error`.
    fn give_up(&mut self, error: Error) -> Error {
        let error = self.checker.explain(error);
        // If another worker has stopped this one, the engine tells the peers that worker's reason.
        if !matches!(error, Error::Net(cenote_net::Error::Closed { .. })) {
            self.evaluator.ring.abort(self.last_word.of(&error));
        }
        error
    }
}

/// Which groups worker `index` of `count` evaluates.
pub(crate) fn groups_of(
    groups: &[Group],
    index: usize,
    count: usize,
) -> impl Iterator<Item = &Group> + Clone {
    groups.iter().skip(index).step_by(count)
}

/// Runs `work` at all workers that have any jobs, each on a thread of its own if there are several. If one fails, the others
/// are stopped, and the error that says most is returned.
fn at_all<J: Send>(
    workers: &mut [Worker],
    mut job: impl FnMut(&Worker) -> Option<J>,
    work: impl Fn(&mut Worker, J) -> Result<()> + Sync,
) -> Result<()> {
    let others: Vec<_> = workers
        .iter()
        .map(|worker| worker.evaluator.ring.interrupters())
        .collect();
    let mut busy: Vec<(&mut Worker, J)> = workers
        .iter_mut()
        .filter_map(|worker| Some((job(worker)?, worker)))
        .map(|(job, worker)| (worker, job))
        .collect();
    let attempt = |worker: &mut Worker, job: J| -> Result<()> {
        // Dropped on failure and on a panic, which must not leave the others waiting.
        let mut stop = StopOthers(&others);
        let result = work(worker, job).map_err(|error| worker.give_up(error));
        if result.is_ok() {
            stop.0 = &[];
        }
        result
    };
    let results: Vec<Result<()>> = match busy.len() {
        0 | 1 => busy.drain(..).map(|(worker, job)| attempt(worker, job)).collect(),
        _ => std::thread::scope(|scope| {
            let start = |(worker, job)| scope.spawn(|| attempt(worker, job));
            let threads: Vec<_> = busy.drain(..).map(start).collect();
            let lost = |_| Err(Error::Internal("an evaluator's thread panicked".into()));
            threads
                .into_iter()
                .map(|thread| thread.join().unwrap_or_else(lost))
                .collect()
        }),
    };
    most_telling(results.into_iter())
}

/// What all of them gave, or else the error that says most about the cause.
pub(crate) fn most_telling<T, All: FromIterator<T>>(results: impl Iterator<Item = Result<T>>) -> Result<All> {
    let mut errors = Vec::new();
    let done = results
        .filter_map(|result| result.map_err(|error| errors.push(error)).ok())
        .collect();
    let mut errors = errors.into_iter();
    match errors.next() {
        None => Ok(done),
        Some(first) => Err(more_telling(errors, first)),
    }
}

/// Of `error` and the `others` the one that says most about the cause; `error` if others say as much.
pub(crate) fn more_telling(others: impl Iterator<Item = Error>, error: Error) -> Error {
    others.fold(error, |known, other| match telling(&other) > telling(&known) {
        true => other,
        false => known,
    })
}

/// Interrupts the evaluators of all workers when it is dropped.
struct StopOthers<'a>(&'a [[Closer; 2]]);

impl Drop for StopOthers<'_> {
    fn drop(&mut self) {
        self.0.iter().flatten().for_each(Closer::close);
    }
}

/// Evaluates `plan`, spread over the workers.
pub(crate) fn run_groups(
    workers: &mut [Worker],
    plan: &Plan,
    inputs: &[Piece<'_, ThreeWires>],
    outputs: Vec<Outputs<'_>>,
) -> Result<()> {
    let mut jobs: Vec<Vec<Outputs<'_>>> = workers.iter().map(|_| Vec::new()).collect();
    let count = workers.len();
    for (index, outputs) in outputs.into_iter().enumerate() {
        jobs[index % count].push(outputs);
    }
    let mut jobs = jobs.into_iter();
    at_all(
        workers,
        |_| jobs.next().filter(|job| !job.is_empty()),
        |worker, outputs| worker.run(plan, inputs, outputs),
    )
}

/// Verifies all gates that the workers have evaluated, and waits until all are, whichever worker they were evaluated by.
pub(crate) fn verify(workers: &mut [Worker]) -> Result<()> {
    at_all(
        workers,
        |worker| (!worker.evaluator.log.is_empty() || worker.checker.is_busy()).then_some(()),
        |worker, ()| worker.evaluator.settle(&mut worker.checker),
    )
}
