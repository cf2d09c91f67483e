//! What a phase of a session takes one party.

use cenote_session::Engine;
use serde::{Deserialize, Serialize};

use crate::usage::{Stopwatch, thread_seconds};

/// A phase at one party.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Phase {
    pub(crate) seconds: f64,
    /// Processor seconds of the thread that calls the engine.
    pub(crate) busy_seconds: f64,
    /// Processor seconds of all threads of the process.
    pub(crate) cpu_seconds: f64,
    pub(crate) bytes_sent: u64,
    pub(crate) and_gates: u64,
}

impl Phase {
    /// What a session has counted so far.
    fn counted(engine: &impl Engine) -> Self {
        let costs = engine.costs();
        Phase {
            bytes_sent: costs.traffic.bytes_sent,
            and_gates: costs.and_gates,
            ..Phase::default()
        }
    }

    /// The AND gates that costs are stated for, at least one.
    pub(crate) fn gates(&self) -> f64 {
        self.and_gates.max(1) as f64
    }

    pub(crate) fn add(&mut self, other: Phase) {
        self.seconds += other.seconds;
        self.busy_seconds += other.busy_seconds;
        self.cpu_seconds += other.cpu_seconds;
        self.bytes_sent += other.bytes_sent;
        self.and_gates += other.and_gates;
    }
}

/// Measures a phase.
pub(crate) struct Clock {
    watch: Stopwatch,
    busy_seconds: f64,
    before: Phase,
}

impl Clock {
    /// Of the beginning of a session.
    pub(crate) fn of_setup() -> Self {
        Self::after(Phase::default())
    }

    /// Of a session that has begun.
    pub(crate) fn start(engine: &impl Engine) -> Self {
        Self::after(Phase::counted(engine))
    }

    fn after(before: Phase) -> Self {
        Self {
            before,
            busy_seconds: thread_seconds(),
            watch: Stopwatch::start(),
        }
    }

    pub(crate) fn stop(self, engine: &impl Engine) -> Phase {
        let (seconds, cpu_seconds) = self.watch.read();
        let (after, before) = (Phase::counted(engine), self.before);
        Phase {
            seconds,
            busy_seconds: thread_seconds() - self.busy_seconds,
            cpu_seconds,
            bytes_sent: after.bytes_sent - before.bytes_sent,
            and_gates: after.and_gates - before.and_gates,
        }
    }
}
