//! Sessions of two parties over what they keep on disk, which may be cut off, as when a process is killed.

use std::collections::BTreeSet;
use std::fs::{self, OpenOptions};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use cenote_circuit::{BitOrder, Builder, Plan};
use cenote_net::{Channel, ChannelOptions, Closer, Label, PartyId, Step, memory_pair};
use cenote_primitives::{BitMatrix, Block, Sampler};
use cenote_session::{Engine, Error, Parties, Result, WireVector};
use cenote_store::{ItemId, Store, StoreKey};

use crate::{Adversary, Gate, Message};

/// Where a session is cut off: after so many messages of both parties.
#[derive(Default)]
pub struct Cut {
    after: u64,
    timeout: Option<Duration>,
    sent: AtomicU64,
    /// What opens once party 1 sends a message of this step.
    heard: Option<(Step, Gate)>,
    closers: Mutex<Vec<Closer>>,
}

impl Cut {
    /// After so many messages.
    pub fn after(messages: u64) -> Arc<Self> {
        Arc::new(Self {
            after: messages,
            ..Self::default()
        })
    }

    /// Not at all, unless it is told to be cut off [`now`](Cut::now).
    pub fn never() -> Arc<Self> {
        Self::after(u64::MAX)
    }

    /// The same, whose parties wait for one another no longer than this.
    pub fn never_but_within(timeout: Duration) -> Arc<Self> {
        Arc::new(Self {
            after: u64::MAX,
            timeout: Some(timeout),
            ..Self::default()
        })
    }

    /// Not at all, unless it is told to; this gate opens once party 1 sends a message of a step.
    pub fn never_but_opens(gate: Gate, step: Step) -> Arc<Self> {
        Arc::new(Self {
            after: u64::MAX,
            heard: Some((step, gate)),
            ..Self::default()
        })
    }

    /// Cuts the session off.
    pub fn now(&self) {
        let closers = self.closers.lock().unwrap_or_else(PoisonError::into_inner);
        closers.iter().for_each(Closer::close);
    }

    /// Messages that were sent.
    pub fn sent(&self) -> u64 {
        self.sent.load(Ordering::Relaxed)
    }

    /// Channels of parties 0 and 1 to each other. What party 0 sends passes `adversary`.
    pub fn channels(self: &Arc<Self>, name: &str, adversary: Option<&Adversary>) -> [Box<dyn Channel>; 2] {
        let options = ChannelOptions::with_timeout(self.timeout.unwrap_or(Duration::from_secs(20)));
        let (a, b) = memory_pair(PartyId(0), PartyId(1), options);
        let closers = [a.closer(), b.closer()];
        self.closers
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .extend(closers);
        let counted = |me: PartyId, channel: Box<dyn Channel>| -> Box<dyn Channel> {
            let cut = self.clone();
            let counting = Adversary::with(move |_, _, message: Message| {
                if let Some((step, gate)) = &cut.heard
                    && me == PartyId(1)
                    && message.step == *step
                {
                    gate.open();
                }
                if cut.sent.fetch_add(1, Ordering::Relaxed) + 1 >= cut.after {
                    cut.now();
                }
                vec![message]
            });
            Box::new(counting.wrap(Label::from(name), channel))
        };
        let mut a = counted(PartyId(0), Box::new(a));
        if let Some(adversary) = adversary {
            a = Box::new(adversary.wrap(Label::from(name), a));
        }
        [a, counted(PartyId(1), Box::new(b))]
    }
}

/// The store of party `me`, which notes what it uses.
///
/// # Panics
/// If it cannot be opened.
pub fn store(folder: &Path, me: PartyId) -> Store {
    let store = Store::open(&folder.join(me.0.to_string()), &StoreKey::from_bytes([7; 32])).unwrap();
    let audit = OpenOptions::new()
        .create(true)
        .append(true)
        .open(audit(folder, me));
    store.audited(audit.unwrap())
}

fn audit(folder: &Path, me: PartyId) -> std::path::PathBuf {
    folder.join(format!("audit {}", me.0))
}

/// What each party keeps.
///
/// # Panics
/// If it cannot be listed.
pub fn items(folder: &Path) -> [BTreeSet<ItemId>; 2] {
    [0, 1].map(|me| {
        let listed = store(folder, PartyId(me)).inventory().unwrap().items;
        listed.into_iter().map(|stored| stored.item.id).collect()
    })
}

/// How much of what is kept either party has used, at least.
///
/// # Panics
/// If a party has used something twice.
pub fn used_once(folder: &Path) -> usize {
    let used = [0, 1].map(|me| {
        let bytes = fs::read(audit(folder, PartyId(me))).unwrap_or_default();
        let mut numbers: Vec<[u8; 16]> = bytes.as_chunks().0.to_vec();
        let count = numbers.len();
        numbers.sort_unstable();
        numbers.dedup();
        assert_eq!(numbers.len(), count, "party {me} used something twice");
        count
    });
    used[0].min(used[1])
}

/// Runs so many sessions over the pools of a folder by `session`, each of which is cut off after any message, and is told its number. In how many
/// a party failed, and how many of them ended with the pools that both had before.
///
/// # Panics
/// If something is used twice, or a party fails otherwise than because it was cut off.
pub fn cut_off_anywhere<T>(
    folder: &Path,
    sessions: u64,
    session: impl Fn(u64, &Arc<Cut>) -> [Result<T>; 2],
) -> [usize; 2] {
    let mut dice = Sampler::new(Block([3, 1]));
    // Of a session that is not cut off.
    let all = Cut::never();
    assert!(session(0, &all).iter().all(Result::is_ok));
    let messages = all.sent() as u32;
    let (mut cut_off, mut resumed, mut before) = (0, 0, items(folder));
    for number in 1..=sessions {
        let results = session(number, &Cut::after(dice.below(messages).into()));
        for error in results.iter().filter_map(|result| result.as_ref().err()) {
            assert_eq!(error.check(), None, "{error}");
            let expected = matches!(error, Error::Net(_) | Error::PeerStopped { .. });
            assert!(expected, "{error:?}");
        }
        cut_off += usize::from(results.iter().any(Result::is_err));
        let now = items(folder);
        resumed += usize::from(now == before && now[0] == now[1]);
        before = now;
        used_once(folder);
    }
    [cut_off, resumed]
}

/// Copies a folder, as if the machine had stopped now.
///
/// # Panics
/// If it cannot be read or written.
pub fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy_folder(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// Lanes of [`ands`].
pub const LANES: usize = 150;

/// The AND of two wires.
pub fn and() -> Plan {
    let mut b = Builder::new();
    let x = b.input("x", 2, BitOrder::Lsb);
    let both = b.and(x[0], x[1]);
    b.output("both", &[both], BitOrder::Lsb);
    Plan::new(&b.finish())
}

/// Wires of `owner`'s with `values`.
///
/// # Errors
/// The engine's.
pub fn input<E: Engine>(engine: &mut E, owner: PartyId, values: &BitMatrix) -> Result<E::Wires> {
    let given = (engine.me() == owner).then_some(values);
    engine.input(owner, values.rows(), values.lanes(), given)
}

/// So many times 150 ANDs of party 0's bits with party 1's, opened to both.
///
/// # Errors
/// The engine's.
///
/// # Panics
/// If an output is wrong.
pub fn ands<E: Engine>(engine: &mut E, times: u64) -> Result<()> {
    for round in 0..times {
        let lanes = LANES;
        let of = |factor: u64| {
            BitMatrix::from_fn(1, lanes, |_, lane| {
                (lane as u64 * factor + round).is_multiple_of(3)
            })
        };
        let (x, y) = (of(5), of(7));
        let x_wires = input(engine, PartyId(0), &x)?;
        let y_wires = input(engine, PartyId(1), &y)?;
        let wires = E::Wires::concat(&[&x_wires, &y_wires]);
        let outputs = engine.run(&and(), &wires)?;
        let outputs = engine.reveal(&outputs, Parties::all(2))?.expect("for both");
        let right = BitMatrix::from_fn(1, lanes, |_, lane| x.get(0, lane) && y.get(0, lane));
        assert_eq!(outputs, right);
    }
    Ok(())
}
