//! One deviating party: a hook between its protocol code and its channels that changes what it sends.

use std::fmt::Debug;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use cenote_net::{Channel, Label, PartyId, Result, Step};

use crate::{Between, Tapped};

/// A message on its way out of the deviating party.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// The step that it claims to be of.
    pub step: Step,
    /// The bytes.
    pub body: Vec<u8>,
}

/// Which message to change: the given occurrence, from 0, among those that match.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// To this peer, or to any.
    pub peer: Option<PartyId>,
    /// Over channels with this label, or any.
    pub label: Option<Label>,
    /// Of the step with this code, or any.
    pub step: Option<u16>,
    /// How many matching messages pass unchanged before. Messages to different peers and labels count together, in
    /// the order sent.
    pub occurrence: usize,
}

impl Target {
    /// The first message of a step.
    pub fn step(step: Step) -> Self {
        Self {
            peer: None,
            label: None,
            step: Some(step.code),
            occurrence: 0,
        }
    }

    /// The same, to `peer` only.
    pub fn to(self, peer: PartyId) -> Self {
        Self {
            peer: Some(peer),
            ..self
        }
    }

    /// The same, over channels with `label` only.
    pub fn over(self, label: Label) -> Self {
        Self {
            label: Some(label),
            ..self
        }
    }

    /// The same, but after `occurrence` others.
    pub fn occurrence(self, occurrence: usize) -> Self {
        Self { occurrence, ..self }
    }

    fn matches(&self, peer: PartyId, label: &Label, step: Step) -> bool {
        self.peer.is_none_or(|wanted| wanted == peer)
            && self.label.as_ref().is_none_or(|wanted| wanted == label)
            && self.step.is_none_or(|wanted| wanted == step.code)
    }
}

/// What to do to a message.
#[derive(Clone, Debug)]
pub enum Perturbation {
    /// Flips bit `bit` (0 to 7) of byte `byte`, counted modulo the length; an empty message gets one byte instead.
    FlipBit {
        /// The byte.
        byte: usize,
        /// The bit.
        bit: u8,
    },
    /// Does not send it.
    Drop,
    /// Removes this many bytes at the end; all if there are fewer.
    Truncate(usize),
    /// Appends this many zero bytes.
    Extend(usize),
    /// Sends it twice.
    Duplicate,
    /// Sends it later.
    Delay(Duration),
    /// Sends it after the next message on the same channel. Without a next message it is not sent.
    SwapWithNext,
    /// Sends these bytes instead.
    Replace(Vec<u8>),
    /// Sends it as a message of another step.
    Relabel(Step),
    /// Sends it once the gate is open.
    WithholdUntil(Gate),
}

impl Perturbation {
    /// One of each kind that does not depend on the protocol, for tests that try all of them. The receiver must
    /// notice every one by framing alone, but for the first, which is the protocol's to notice.
    pub fn all() -> Vec<Self> {
        vec![
            Self::FlipBit { byte: 0, bit: 0 },
            Self::Drop,
            Self::Truncate(1),
            Self::Extend(1),
            Self::Duplicate,
            Self::SwapWithNext,
            Self::Relabel(Step {
                code: 0x7FFF,
                name: "relabelled",
            }),
        ]
    }

    /// Whether the receiver may never get the message.
    pub fn is_missed(&self) -> bool {
        matches!(self, Self::Drop | Self::SwapWithNext)
    }
}

/// What comes of a session in which the adversary perturbs the message of `target`, and parties wait for each other as long as they are
/// told. Who waits in vain does so to the end, so this is short at first, and longer and longer while a busy machine does not get to the message
/// within it.
///
/// # Panics
/// If the message is never sent.
pub fn perturbed<T>(
    target: &Target,
    perturbation: &Perturbation,
    session: impl Fn(&Adversary, Duration) -> T,
) -> T {
    let limits: &[u64] = match perturbation.is_missed() {
        true => &[500, 2_000, 8_000, 32_000],
        false => &[20_000],
    };
    for &limit in limits {
        let adversary = Adversary::new(target.clone(), perturbation.clone());
        let outcome = session(&adversary, Duration::from_millis(limit));
        if adversary.deviations() > 0 {
            return outcome;
        }
    }
    panic!("there was nothing to perturb: {target:?}, {perturbation:?}");
}

/// Runs a session of two parties for each perturbation of the first message of `step` that party `from` sends, side by side, and gives what
/// came of each: both parties' results, party 0's first. Both have failed, and the peer names `from`; only the sender of a session's `last`
/// message may be finished. Of a flipped bit it is enough that somebody notices it, unless it is `harmless`. Nothing is read after the last
/// message, so that one is not sent twice.
///
/// # Panics
/// If it is otherwise, or the message is never sent.
pub fn noticed<T: Debug + Send>(
    from: PartyId,
    [step, last]: [Step; 2],
    harmless: &[Step],
    session: impl Fn(&Adversary, Duration) -> [cenote_session::Result<T>; 2] + Sync,
) -> Vec<(Perturbation, [cenote_session::Result<T>; 2])> {
    let each = |perturbation: Perturbation| {
        let results = perturbed(&Target::step(step), &perturbation, &session);
        let told = format!("{} of {from} {perturbation:?}: {results:?}", step.name);
        if matches!(perturbation, Perturbation::FlipBit { .. }) {
            let is_noticed = results.iter().any(std::result::Result::is_err);
            assert!(is_noticed || harmless.contains(&step), "{told}");
        } else {
            let (at_itself, at_peer) = (&results[from.index()], &results[1 - from.index()]);
            // A party that has said that it is finished may be, whatever becomes of what it said.
            assert!(at_itself.is_err() || step == last, "{told}");
            let text = at_peer.as_ref().expect_err(&told).to_string();
            assert!(text.contains(&from.to_string()), "the peer is named: {told}");
        }
        (perturbation, results)
    };
    let mut all = Perturbation::all();
    all.retain(|perturbation| step != last || !matches!(perturbation, Perturbation::Duplicate));
    // Most of the time of those that miss a message is spent waiting.
    std::thread::scope(|scope| {
        let each = &each;
        let threads: Vec<_> = all
            .into_iter()
            .map(|perturbation| scope.spawn(move || each(perturbation)))
            .collect();
        threads
            .into_iter()
            .map(|thread| {
                thread
                    .join()
                    .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            })
            .collect()
    })
}

/// Something to wait for, such as another party's message. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct Gate(Arc<(Mutex<bool>, Condvar)>);

/// The longest wait at a gate, so that a test ends.
const GATE_LIMIT: Duration = Duration::from_secs(60);

impl Gate {
    /// A closed gate.
    pub fn new() -> Self {
        Self::default()
    }

    /// Opens it, for good.
    pub fn open(&self) {
        *self.0.0.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.0.1.notify_all();
    }

    /// Waits until it is open, at most a minute.
    pub fn wait(&self) {
        let guard = self.0.0.lock().unwrap_or_else(PoisonError::into_inner);
        drop(self.0.1.wait_timeout_while(guard, GATE_LIMIT, |open| !*open));
    }
}

/// Maps each message (with peer and label) to those that are sent in its place, and what to wait for before that.
type Hook = Box<dyn FnMut(PartyId, &Label, Message) -> (Vec<Message>, Option<Pause>) + Send>;

/// What to wait for before sending, while the party's other channels go on.
enum Pause {
    Time(Duration),
    Gate(Gate),
}

/// The deviation of one party, shared by all its channels. Clones share the state.
#[derive(Clone)]
pub struct Adversary {
    shared: Arc<Mutex<Shared>>,
}

struct Shared {
    hook: Hook,
    deviated: usize,
}

impl Adversary {
    /// Changes one message, at most once.
    pub fn new(target: Target, perturbation: Perturbation) -> Self {
        let mut before = target.occurrence;
        let mut done = false;
        let mut held: Option<(PartyId, Label, Message)> = None;
        Self::hooked(Box::new(move |peer, label, message| {
            if let Some((_, _, late)) = held.take_if(|(to, over, _)| *to == peer && over == label) {
                return (vec![message, late], None);
            }
            if done || !target.matches(peer, label, message.step) {
                return (vec![message], None);
            }
            if before > 0 {
                before -= 1;
                return (vec![message], None);
            }
            done = true;
            match &perturbation {
                Perturbation::SwapWithNext => {
                    held = Some((peer, label.clone(), message));
                    (Vec::new(), None)
                }
                Perturbation::Delay(time) => (vec![message], Some(Pause::Time(*time))),
                Perturbation::WithholdUntil(gate) => (vec![message], Some(Pause::Gate(gate.clone()))),
                other => (perturb(other, message), None),
            }
        }))
    }

    /// Any deviation: `hook` gets each message with its peer and label, and returns what to send in its place. It may
    /// wait, but then the party's other channels wait with it.
    pub fn with(mut hook: impl FnMut(PartyId, &Label, Message) -> Vec<Message> + Send + 'static) -> Self {
        Self::hooked(Box::new(move |peer, label, message| {
            (hook(peer, label, message), None)
        }))
    }

    fn hooked(hook: Hook) -> Self {
        Self {
            shared: Arc::new(Mutex::new(Shared { hook, deviated: 0 })),
        }
    }

    /// How many messages were not sent as they were, at once and once, so far. A test that expects a deviation to be
    /// noticed must check that there was one.
    pub fn deviations(&self) -> usize {
        self.lock().deviated
    }

    /// Puts the adversary in front of a channel.
    pub fn wrap(&self, label: Label, inner: Box<dyn Channel>) -> Tapped<Intercept> {
        let adversary = self.clone();
        Tapped::new(Intercept { adversary, label }, inner)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn apply(&self, peer: PartyId, label: &Label, message: Message) -> Vec<Message> {
        let mut shared = self.lock();
        let (sent, pause) = (shared.hook)(peer, label, message.clone());
        if pause.is_some() || sent != [message] {
            shared.deviated += 1;
        }
        drop(shared);
        match pause {
            Some(Pause::Time(time)) => std::thread::sleep(time),
            Some(Pause::Gate(gate)) => gate.wait(),
            None => {}
        }
        sent
    }
}

/// The perturbations that concern one message and no time.
fn perturb(perturbation: &Perturbation, mut message: Message) -> Vec<Message> {
    let body = &mut message.body;
    match perturbation {
        Perturbation::FlipBit { byte, bit } => match body.len() {
            0 => body.push(1),
            length => body[byte % length] ^= 1 << (bit % 8),
        },
        Perturbation::Drop => return Vec::new(),
        Perturbation::Truncate(count) => body.truncate(body.len().saturating_sub(*count)),
        Perturbation::Extend(count) => body.resize(body.len() + count, 0),
        Perturbation::Duplicate => return vec![message.clone(), message],
        Perturbation::Replace(bytes) => body.clone_from(bytes),
        Perturbation::Relabel(step) => message.step = *step,
        Perturbation::Delay(_) | Perturbation::SwapWithNext | Perturbation::WithholdUntil(_) => {}
    }
    vec![message]
}

/// The deviating party's end of a channel.
pub struct Intercept {
    adversary: Adversary,
    label: Label,
}

impl Between for Intercept {
    fn send(&mut self, channel: &mut dyn Channel, step: Step, parts: &[&[u8]]) -> Result<()> {
        let message = Message {
            step,
            body: parts.concat(),
        };
        for message in self.adversary.apply(channel.peer(), &self.label, message) {
            channel.send(message.step, &message.body)?;
        }
        Ok(())
    }
}
