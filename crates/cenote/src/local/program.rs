//! A program that is written while parties run it, all of them on this machine.

use std::process::Command;
use std::sync::mpsc::{Receiver, channel};
use std::time::Instant;

use cenote_net::PartyId;
use cenote_program::interpreter::{Instruction, Interpreter, Opened};
use cenote_session::memory;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::parties::{Assigned, Task, run_ordered, value};
use super::seat::{Seat, Setting};
use crate::processes::Heard;
use crate::programs::{Conversation, Followed, Run};
use crate::stop::Session;
use crate::{Error, Protocol, Result};

/// One party's part in a program.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct ProgramPart {
    protocol: Protocol,
    name: String,
    and_gates: u64,
}

/// Runs a program with a process for each party: what comes by `batches`, until that ends. `told` is called with what a party opened for each batch, or with what is
/// wrong with what it says. `command` starts a child, which must call [`child_main`](super::child_main). Gives how it ended at each party.
///
/// A party is sent its own inputs only.
///
/// # Errors
/// [`Error::Usage`] if there is no memory for it; [`Error::Parties`] if a party fails, such as for an instruction that has no meaning.
pub fn run_program(
    run: &Run<'_>,
    setting: Setting,
    command: impl Fn() -> Command,
    batches: Receiver<Vec<Instruction>>,
    told: &mut dyn FnMut(PartyId, Result<Vec<Opened>>),
) -> Result<Vec<Followed>> {
    let parties = run.protocol.parties();
    let (prepared, demand) = (run.prepare()?, run.demand());
    let bytes = (0..parties).map(|party| prepared.session_bytes(&demand, PartyId(party)));
    memory::admit(bytes.fold(0, u64::saturating_add)).map_err(|error| Error::Usage(error.to_string()))?;
    let task = Task::new(&ProgramPart {
        protocol: run.protocol.clone(),
        name: run.name.into(),
        and_gates: run.and_gates,
    })?;
    let (sender, orders) = channel();
    let pass_on = move || {
        for batch in batches {
            for party in (0..parties).map(PartyId) {
                let own: Vec<Instruction> = batch
                    .iter()
                    .map(|instruction| instruction.of_party(party))
                    .collect();
                // What it is made of can always be written.
                let Ok(bytes) = postcard::to_stdvec(&own) else {
                    return;
                };
                if sender.send((party, bytes)).is_err() {
                    return;
                }
            }
        }
        (0..parties).for_each(|party| drop(sender.send((PartyId(party), Vec::new()))));
    };
    std::thread::Builder::new()
        .name("instructions".into())
        .spawn(pass_on)
        .map_err(|error| Error::local("starting a thread", error))?;
    run_ordered(parties, setting, &task, Some(orders), command, &mut |heard| {
        if let Heard::Said(party, said) = heard {
            told(party, read(&said));
        }
    })
}

impl Assigned for ProgramPart {
    const NAME: &'static str = "program";

    fn take_part(&self, seat: &Seat<'_>) -> Result<Value> {
        let start = Instant::now();
        let run = Run {
            protocol: self.protocol.clone(),
            name: &self.name,
            and_gates: self.and_gates,
        };
        let (prepared, demand) = (run.prepare()?, run.demand());
        let topology = self.protocol.topology();
        let ended = Session::run("its peers were told", |session| {
            seat.parent.hear_within(session);
            let connections = session.interrupts(seat.connect(&topology, prepared.budget(&demand))?);
            let conversation = Conversation {
                me: seat.me,
                demand: &demand,
                terms: run.terms(),
                also_agree: &(),
                phase_timeout: seat.phase_timeout(),
            };
            let follow = |session: &cenote_program::Session| follow(seat, session);
            Ok(conversation.hold(prepared, connections, follow)?.1)
        })?;
        value(&Followed::new(seat.me, start, ended))
    }
}

/// Does what the parent says, until it says no more.
fn follow(seat: &Seat<'_>, session: &cenote_program::Session) -> Result<()> {
    let mut wrong = None;
    let batches = std::iter::from_fn(|| {
        let batch = read(&seat.parent.hear()?);
        batch.map_err(|error| wrong = Some(error)).ok()
    });
    let mut interpreter = Interpreter::new(session.clone());
    interpreter.follow(batches, |opened| {
        let bytes = postcard::to_stdvec(&opened).map_err(|error| strange(&error))?;
        seat.parent.say(&bytes)
    })?;
    match (wrong, crate::stop::word()) {
        (Some(error), _) => Err(error),
        // Its session says what stopped it.
        (None, Some(word)) => Err(Error::Usage(word)),
        (None, None) => Ok(()),
    }
}

fn read<T: DeserializeOwned>(bytes: &[u8]) -> Result<T> {
    postcard::from_bytes(bytes).map_err(|error| strange(&error))
}

fn strange(error: &postcard::Error) -> Error {
    Error::local(
        "reading what another process tells",
        std::io::Error::other(error.to_string()),
    )
}
