//! Programs that are useful in themselves, on every engine, beside the figures of Zhu, Huang and Cassel (CCS 2017), Table 5.

mod programs;
mod report;

use std::sync::mpsc;

use cenote::programs::{Run, Session};
use cenote::{Error, PartyId, Protocol, Result};
use cenote_program::local;
use cenote_session::{ClearEngine, Connections, Topology};
use serde::{Deserialize, Serialize};

pub use programs::{App, CLEAR, Paper};
pub use report::{AppRow, AppsReport};

use crate::measure::{Measurement, Place, no_report};
use crate::usage::Machine;
use programs::{AppParty, Clock};

/// What to measure.
#[derive(Clone, Debug)]
pub struct Apps {
    /// The programs.
    pub apps: Vec<App>,
    /// Protocols by name, or [`CLEAR`].
    pub engines: Vec<String>,
    /// Sessions of each; medians are reported.
    pub repeat: u32,
}

/// One program on one engine.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct AppBench {
    app: App,
    /// `None` in the clear.
    protocol: Option<Protocol>,
    /// What it takes, about.
    and_gates: u64,
}

impl Measurement for AppBench {
    const NAME: &'static str = "app";

    type Party = AppParty;

    fn topology(&self) -> Topology {
        match &self.protocol {
            Some(protocol) => protocol.topology(),
            None => Topology {
                name: CLEAR.into(),
                parties: 2,
                workers: 1,
                purposes: &["values"],
                shared: &[],
            },
        }
    }

    fn run(
        &self,
        me: PartyId,
        connections: Connections,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<AppParty> {
        let (told, telling) = mpsc::channel();
        let (all, app) = (self.and_gates, self.app);
        let program = move |session: &Session| {
            session.on_progress(move |done| {
                // Nobody listening any more is no failure.
                let _ = told.send(done);
            });
            let mut clock = Clock::start(session);
            app.run(session, &mut clock)?;
            Ok(clock.measured())
        };
        // The program has a thread of its own, and this one tells how far it is.
        let measured = std::thread::scope(|scope| {
            let party = scope.spawn(move || match &self.protocol {
                Some(protocol) => {
                    let run = Run {
                        protocol: protocol.clone(),
                        name: app.name(),
                        and_gates: all,
                    };
                    run.over(me, connections, program)
                }
                None => {
                    let session = Session::new(ClearEngine::new(me, connections.channels()));
                    let measured = program(&session)?;
                    session.finish()?;
                    Ok(measured)
                }
            });
            telling.iter().for_each(|done| progress(done, all));
            party.join().unwrap_or_else(|_| Err(no_report()))
        })?;
        Ok(AppParty {
            peak_memory_bytes: cenote_session::memory::peak(),
            ..measured
        })
    }
}

impl Apps {
    /// The protocols, `None` for the engine in the clear.
    fn protocols(&self) -> Result<Vec<Option<Protocol>>> {
        let named = |name: &String| match name.as_str() {
            CLEAR => Ok(None),
            name => Protocol::named(name).map(Some).ok_or_else(|| {
                let names: Vec<&str> = Protocol::names().collect();
                Error::Usage(format!(
                    "there is no engine {name}: there are {CLEAR}, {}",
                    names.join(", ")
                ))
            }),
        };
        self.engines.iter().map(named).collect()
    }
}

/// Measures, in `place`; `about` is told what comes next.
///
/// # Errors
/// [`Error::Usage`] for an engine that does not exist; [`Error::Parties`] or [`Error::Protocol`] if a party fails.
pub fn run_apps(apps: &Apps, place: &mut Place<'_>, about: &mut dyn FnMut(&str)) -> Result<AppsReport> {
    let protocols = apps.protocols()?;
    let machine = Machine::now();
    let mut rows = Vec::new();
    for &app in &apps.apps {
        about(&format!("counting {}", app.name()));
        let and_gates = app.and_gates()?;
        for protocol in &protocols {
            let engine = protocol.as_ref().map_or(CLEAR, Protocol::name);
            about(&format!("{} on {engine}", app.name()));
            let bench = AppBench {
                app,
                protocol: protocol.clone(),
                and_gates,
            };
            let sessions: Vec<Vec<AppParty>> = (0..apps.repeat.max(1))
                .map(|_| place.measure(&bench))
                .collect::<Result<_>>()?;
            rows.push(AppRow::new(app, engine, &sessions).ok_or_else(no_report)?);
        }
    }
    Ok(AppsReport {
        transport: place.transport(),
        repeat: apps.repeat,
        rows,
        machine,
    })
}

impl App {
    /// AND gates of the whole program with the circuits that have the fewest: it is run in the clear.
    fn and_gates(self) -> Result<u64> {
        let counted = local::in_the_clear(2, |session| {
            self.run(session, &mut Clock::start(session))?;
            Ok(session.costs().and_gates)
        });
        Ok(counted?[0])
    }
}
