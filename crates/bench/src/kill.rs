//! Parties that are killed in the middle of a stream of computations, again and again, and begin anew with what they have on disk.
//!
//! Each *life* is a session of its own, with a process for each party. At a random moment one of them is killed (SIGKILL); the other must
//! notice, and the next life must work. Every output is compared with plain evaluation, and no material may be used twice, in whatever
//! life.

use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use cenote::local::{Assigned, Seat, Setting, Task, run_heard};
use cenote::processes::Heard;
use cenote::text::grouped;
use cenote::{Error, Kind, Result};
use cenote_net::PartyId;
use cenote_primitives::{Block, Sampler};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::soak::{Note, Soak, audit_of, take_part};
use crate::usage::Machine;

/// A life ends so many seconds at most after the parties have begun, or after all have used something.
const LONGEST: f64 = 8.0;

/// How often it is looked at what a party has noted, and how long it may note nothing.
const LOOK: Duration = Duration::from_millis(10);
const IDLE: Duration = Duration::from_secs(120);

/// How long the last life goes on, which nobody cuts off.
const LAST: Duration = Duration::from_secs(1);

/// A life, and who is killed when.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Killed {
    soak: Soak,
    party: u8,
    after: Duration,
    /// Where parties note what they use, if it is waited for that each has noted something.
    noted: Vec<PathBuf>,
}

impl Assigned for Killed {
    const NAME: &'static str = "killed";

    fn take_part(&self, seat: &Seat<'_>) -> Result<Value> {
        take_part(&self.soak, seat, || self.arm(seat.me))
    }
}

impl Killed {
    /// Has this process killed, if it is the one.
    fn arm(&self, me: PartyId) {
        if me.0 != self.party {
            return;
        }
        let (after, noted) = (self.after, self.noted.clone());
        std::thread::spawn(move || {
            let length = |path: &PathBuf| fs::metadata(path).map_or(0, |file| file.len());
            let before: Vec<u64> = noted.iter().map(length).collect();
            let is_idle = || {
                noted
                    .iter()
                    .zip(&before)
                    .any(|(path, before)| length(path) == *before)
            };
            let start = Instant::now();
            while is_idle() && start.elapsed() < IDLE {
                std::thread::sleep(LOOK);
            }
            std::thread::sleep(after);
            let me = rustix::process::getpid();
            let _ = rustix::process::kill_process(me, rustix::process::Signal::KILL);
        });
    }
}

/// What came of a life.
#[derive(Clone, Debug, Serialize)]
pub struct Life {
    /// Which it was, from 0.
    pub number: u32,
    /// The party that was killed; nobody in the last life.
    pub killed: Option<u8>,
    /// Seconds after which it was.
    pub after: f64,
    /// Whether they count from when all had used something, not from when the parties had begun.
    pub from_use: bool,
    /// What each party told last.
    pub parties: Vec<Option<Note>>,
    /// Gadgets that each party has used.
    pub used: Vec<u64>,
    /// Items of stock from which each party has used some for the first time.
    pub new_items: Vec<u64>,
    /// Gadgets that a party has used twice, in whatever lives.
    pub twice: u64,
}

/// All lives.
#[derive(Clone, Debug, Serialize)]
pub struct KillReport {
    /// What was computed.
    pub soak: Soak,
    /// Times that a party was killed.
    pub kills: u32,
    /// AND gates of the computations whose end was told, at least.
    pub and_gates: u64,
    /// Gadgets that each party has used.
    pub used: Vec<u64>,
    /// Items of stock that each party has used some of.
    pub items: Vec<u64>,
    /// Gadgets that a party has used twice.
    pub twice: u64,
    /// Outputs that were wrong, and the first of them.
    pub wrong: u64,
    /// The first of them.
    pub first_wrong: Option<String>,
    pub machine: Machine,
}

/// What a party has used, by the item's name and the upper part of the number: a bit for each lower part.
#[derive(Default)]
struct Used(HashMap<([u8; 8], u32), Vec<u64>>);

/// Bits of the lower part.
const LOW: u32 = 16;

impl Used {
    /// Adds what the party has noted, and empties the file. How many there are, how many were there before, and items that are new.
    fn add(&mut self, path: &Path) -> Result<[u64; 3]> {
        let fault = |error| Error::local(format!("reading {}", path.display()), error);
        let bytes = match fs::read(path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Vec::new(),
            read => read.map_err(fault)?,
        };
        let [mut count, mut twice, mut items] = [0; 3];
        let mut known: HashSet<[u8; 8]> = self.0.keys().map(|(item, _)| *item).collect();
        let notes: Vec<([u8; 8], u64)> = bytes
            .as_chunks::<16>()
            .0
            .iter()
            .map(|note| {
                let (item, number) = note.split_first_chunk().expect("a note has 16 bytes");
                let number = number.try_into().expect("and 8 are left");
                (*item, u64::from_le_bytes(number))
            })
            .collect();
        for near in notes.chunk_by(|a, b| (a.0, a.1 >> LOW) == (b.0, b.1 >> LOW)) {
            let (item, number) = near[0];
            let page = self.0.entry((item, (number >> LOW) as u32)).or_default();
            page.resize(1 << (LOW - 6), 0);
            for (_, number) in near {
                let low = (number & ((1 << LOW) - 1)) as usize;
                let mask = 1 << (low % 64);
                twice += u64::from(page[low / 64] & mask != 0);
                page[low / 64] |= mask;
            }
            count += near.len() as u64;
            items += u64::from(known.insert(item));
        }
        if !bytes.is_empty() {
            fs::File::create(path).map_err(fault)?;
        }
        Ok([count, twice, items])
    }
}

/// Computes `soak` in `times + 1` lives of processes for each party, started by `command`, which must call [`crate::child_main`]. `told`
/// hears of each life.
///
/// # Errors
/// [`Error::Usage`] for a protocol that does not make by itself what is missing in stock; [`Error::Parties`] if a party fails in another way than by being
/// killed or by losing the other, or in the last life. Wrong outputs, and what was used twice, are no failure, but in the report.
pub fn run_killed(
    soak: &Soak,
    times: u32,
    setting: Setting,
    command: &dyn Fn() -> Command,
    told: &mut dyn FnMut(&Life),
) -> Result<KillReport> {
    if !soak.protocol.replenishes() {
        let what = "sessions of this protocol do not make by themselves what is missing in stock: there is nothing to go on with";
        return Err(Error::Usage(what.into()));
    }
    let own = tempfile::tempdir().map_err(|error| Error::local("making a folder for stock", error))?;
    let folder = soak.stock.clone().unwrap_or_else(|| own.path().to_owned());
    let parties = soak.protocol.parties();
    let mut dice = Sampler::new(Block([soak.seed, 0x6b69_6c6c]));
    let mut used: Vec<Used> = (0..parties).map(|_| Used::default()).collect();
    let mut report = KillReport::new(soak, times);
    for number in 0..=times {
        let is_last = number == times;
        let stream = Soak {
            seed: soak.seed.wrapping_add(number.into()),
            length: if is_last { LAST } else { Duration::from_secs(3600) },
            stock: Some(folder.clone()),
            ..soak.clone()
        };
        let fate = Fate::new(&mut dice, parties);
        let task = match is_last {
            true => Task::new(&stream)?,
            false => Task::new(&fate.of(stream, &folder))?,
        };
        let mut life = Life {
            number,
            killed: (!is_last).then_some(fate.party),
            after: fate.after.as_secs_f64(),
            from_use: fate.from_use,
            parties: last_notes(parties, setting, &task, command, is_last)?,
            used: Vec::new(),
            new_items: Vec::new(),
            twice: 0,
        };
        life.count(&mut used, &folder)?;
        report.add(&life);
        told(&life);
    }
    Ok(report)
}

/// Who is killed when.
struct Fate {
    party: u8,
    after: Duration,
    /// Whether it counts from when all have used something.
    from_use: bool,
}

impl Fate {
    fn new(dice: &mut Sampler, parties: u8) -> Self {
        let party = dice.below(parties.into()) as u8;
        let after = Duration::from_secs_f64(LONGEST * f64::from(1 + dice.below(1000)) / 1000.0);
        let from_use = dice.below(2) == 1;
        Fate {
            party,
            after,
            from_use,
        }
    }

    /// The life of this fate, with stock in `folder`.
    fn of(&self, soak: Soak, folder: &Path) -> Killed {
        let waited_for = if self.from_use { soak.protocol.parties() } else { 0 };
        Killed {
            soak,
            party: self.party,
            after: self.after,
            noted: (0..waited_for)
                .map(|party| audit_of(folder, PartyId(party)))
                .collect(),
        }
    }
}

/// Lives a life, and gives what each party told last. Only in a life that is not the last may parties be lost.
fn last_notes(
    parties: u8,
    setting: Setting,
    task: &Task,
    command: &dyn Fn() -> Command,
    is_last: bool,
) -> Result<Vec<Option<Note>>> {
    let mut notes: Vec<Option<Note>> = vec![None; parties.into()];
    let ended = run_heard::<_, Note>(parties, setting, task, command, &mut |heard| {
        if let Heard::Note(party, note) = heard
            && let Ok(note) = serde_json::from_value(note)
        {
            notes[party.index()] = Some(note);
        }
    });
    match ended {
        Ok(last) => Ok(last.into_iter().map(Some).collect()),
        Err(Error::Parties(failures))
            if !is_last && failures.all().iter().all(|failure| is_loss(failure.kind)) =>
        {
            Ok(notes)
        }
        Err(error) => Err(error),
    }
}

/// Whether a party may fail so when it, or its peer, is killed.
fn is_loss(kind: Kind) -> bool {
    matches!(kind, Kind::Network | Kind::Internal)
}

impl Life {
    /// Counts what the parties have noted in `folder` that they used.
    fn count(&mut self, used: &mut [Used], folder: &Path) -> Result<()> {
        for (party, used) in used.iter_mut().enumerate() {
            let [count, twice, items] = used.add(&audit_of(folder, PartyId(party as u8)))?;
            self.used.push(count);
            self.new_items.push(items);
            self.twice += twice;
        }
        Ok(())
    }

    pub fn line(&self) -> String {
        let gates = self.parties.iter().flatten().map(|note| note.and_gates).min();
        let how = match self.killed {
            Some(party) => {
                let from = if self.from_use { " of use" } else { "" };
                format!("party {party} was killed after {:.2} s{from}", self.after)
            }
            None => "nobody was killed".into(),
        };
        let used: Vec<String> = self.used.iter().map(|&count| grouped(count)).collect();
        let mut line = format!(
            "life {}: {how}; {} ANDs told, {} gadgets used{}",
            self.number,
            grouped(gates.unwrap_or(0)),
            used.join(" and "),
            if self.new_items.iter().any(|&items| items > 0) {
                ", of a new pool"
            } else {
                ""
            },
        );
        if self.twice > 0 {
            let _ = write!(line, "; {} USED TWICE", grouped(self.twice));
        }
        line
    }
}

impl KillReport {
    fn new(soak: &Soak, kills: u32) -> Self {
        let parties = soak.protocol.parties().into();
        KillReport {
            soak: soak.clone(),
            kills,
            and_gates: 0,
            used: vec![0; parties],
            items: vec![0; parties],
            twice: 0,
            wrong: 0,
            first_wrong: None,
            machine: Machine::now(),
        }
    }

    fn add(&mut self, life: &Life) {
        for (party, (count, items)) in life.used.iter().zip(&life.new_items).enumerate() {
            self.used[party] += count;
            self.items[party] += items;
        }
        self.twice += life.twice;
        let notes = || life.parties.iter().flatten();
        self.and_gates += notes().map(|note| note.and_gates).min().unwrap_or(0);
        self.wrong += notes().map(|note| note.wrong).sum::<u64>();
        let first =
            notes().find_map(|note| Some(format!("party {}, {}", note.party, note.first_wrong.as_ref()?)));
        self.first_wrong = self.first_wrong.take().or(first);
    }

    /// Whether no output was wrong and nothing was used twice.
    ///
    /// # Errors
    /// [`Error::Local`] that says what was.
    pub fn verdict(&self) -> Result<()> {
        let fault = |what: String, why: String| Err(Error::local(what, std::io::Error::other(why)));
        match (&self.first_wrong, self.twice) {
            (Some(first), _) => fault(format!("checking {} wrong outputs", self.wrong), first.clone()),
            (None, 1..) => fault(
                "checking what was used".into(),
                format!("{} gadgets were used twice", self.twice),
            ),
            (None, 0) => Ok(()),
        }
    }

    /// As text.
    pub fn summary(&self) -> String {
        let used: Vec<String> = self.used.iter().map(|&count| grouped(count)).collect();
        let items: Vec<String> = self.items.iter().map(u64::to_string).collect();
        format!(
            "{}\n{}, seed {}, computations of up to {} ANDs\n{} kills; {} ANDs or more, {} gadgets of {} pools used at the parties, {} twice; {} wrong outputs\n",
            self.machine.line(),
            self.soak.protocol.describe(),
            self.soak.seed,
            grouped(self.soak.largest),
            self.kills,
            grouped(self.and_gates),
            used.join(" and "),
            items.join(" and "),
            self.twice,
            self.wrong,
        )
    }
}
