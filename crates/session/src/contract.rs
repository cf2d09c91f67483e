//! The contract between programs and protocols.

use std::fmt;
use std::ops::Range;

use cenote_circuit::Plan;
use cenote_net::PartyId;
use cenote_primitives::{BitMatrix, LaneRun};

use crate::{Costs, Result, Warning};

/// A set of parties, such as those entitled to an output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Parties(u8);

impl Parties {
    /// No party.
    pub const NONE: Parties = Parties(0);

    /// All of `count` parties.
    ///
    /// # Panics
    /// If `count` exceeds 8.
    pub fn all(count: usize) -> Self {
        assert!(count <= 8, "at most 8 parties");
        Parties(((1u16 << count) - 1) as u8)
    }

    /// One party.
    ///
    /// # Panics
    /// If its index exceeds 7.
    pub fn one(party: PartyId) -> Self {
        Parties::NONE.with(party)
    }

    /// The set and `party`.
    ///
    /// # Panics
    /// If its index exceeds 7.
    #[must_use]
    pub fn with(self, party: PartyId) -> Self {
        assert!(party.0 < 8, "at most 8 parties");
        Parties(self.0 | 1 << party.0)
    }

    /// Whether `party` is in the set.
    pub fn contains(self, party: PartyId) -> bool {
        party.0 < 8 && self.0 >> party.0 & 1 == 1
    }

    /// The members, in order.
    pub fn iter(self) -> impl Iterator<Item = PartyId> {
        (0..8).map(PartyId).filter(move |&party| self.contains(party))
    }
}

impl FromIterator<PartyId> for Parties {
    fn from_iter<I: IntoIterator<Item = PartyId>>(parties: I) -> Self {
        parties.into_iter().fold(Parties::NONE, Parties::with)
    }
}

impl fmt::Display for Parties {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, party) in self.iter().enumerate() {
            write!(f, "{}{}", if position == 0 { "" } else { "," }, party.0)?;
        }
        Ok(())
    }
}

/// Secret wires as a protocol holds them: `wires` × `lanes` secret bits, meaningless to the program.
pub trait WireVector: Clone + Send {
    /// Number of wires.
    fn wires(&self) -> usize;

    /// Number of lanes.
    fn lanes(&self) -> usize;

    /// The wires of `range`, in order.
    ///
    /// # Panics
    /// If the range is not within `0..wires()`: which wires a program selects is public and the program's own doing.
    fn select(&self, range: Range<usize>) -> Self;

    /// The wires of all `parts`, one part after the other.
    ///
    /// # Panics
    /// If `parts` is empty or their lanes differ.
    fn concat(parts: &[&Self]) -> Self;

    /// All of its wires.
    fn whole(&self) -> Piece<'_, Self>
    where
        Self: Sized,
    {
        (self, 0..self.wires())
    }
}

/// Some of the wires of a vector.
pub type Piece<'a, W> = (&'a W, Range<usize>);

/// The wires of pieces, as vectors of their own.
pub fn selected<W: WireVector>(pieces: &[Piece<'_, W>]) -> Vec<W> {
    let select = |(wires, range): &Piece<'_, W>| wires.select(range.clone());
    pieces.iter().map(select).collect()
}

/// A protocol, as one party sees it.
///
/// All parties make the same calls in the same order, with the same public arguments. A call that fails with anything
/// but [`crate::Error::BadInput`] ends the session: secrets are wiped, peers are told, and later calls fail with
/// [`crate::Error::Poisoned`].
pub trait Engine {
    /// Secret wires of this protocol. They live as long as the session.
    type Wires: WireVector;

    /// This party.
    fn me(&self) -> PartyId;

    /// Number of parties.
    fn parties(&self) -> usize;

    /// Function-dependent work ahead of the inputs: announces that `plan` will be run on `lanes` lanes, so that stock
    /// for it is made. Optional; [`Engine::run`] does what was not prepared.
    fn prepare(&mut self, plan: &Plan, lanes: usize) -> Result<()>;

    /// Work ahead of inputs and outputs: announces how many secret bits which party will give ([`Engine::input`]), and how
    /// many will be revealed to which parties, all counted once for each lane. Optional, and best called before
    /// [`Engine::prepare`]; most protocols have nothing to do.
    fn prepare_values(&mut self, _inputs: &[(PartyId, usize)], _outputs: &[(Parties, usize)]) -> Result<()> {
        Ok(())
    }

    /// Work ahead of circuits that are not known yet: announces that about so many AND gates will be run, besides those of
    /// [`Engine::prepare`]. Optional; most protocols have nothing to do.
    fn prepare_gates(&mut self, _count: u64) -> Result<()> {
        Ok(())
    }

    /// Makes what is to be there before any of what was announced is run, if there is such a thing and it takes long; `told` hears how much
    /// is made, of how much, in gates about. Optional: what was not made is made when it is needed.
    fn make_ahead(&mut self, _told: &mut dyn FnMut(u64, u64)) -> Result<()> {
        Ok(())
    }

    /// Secret wires with the private bits of `owner`: `wires` × `lanes`. The owner gives `bits` of that shape, all
    /// others `None`.
    fn input(
        &mut self,
        owner: PartyId,
        wires: usize,
        lanes: usize,
        bits: Option<&BitMatrix>,
    ) -> Result<Self::Wires>;

    /// Wires that hold public bits, the same at every party.
    fn constant(&mut self, bits: &BitMatrix) -> Result<Self::Wires>;

    /// Evaluates `plan` in every lane of `inputs` (one wire per input wire of the plan, in order).
    fn run(&mut self, plan: &Plan, inputs: &Self::Wires) -> Result<Self::Wires>;

    /// As [`Engine::run`], in every lane of the wires of all `inputs`, one piece after the other.
    ///
    /// # Panics
    /// If there are no pieces, their lanes differ, or a range is not within its vector.
    fn run_pieces(&mut self, plan: &Plan, inputs: &[Piece<'_, Self::Wires>]) -> Result<Self::Wires> {
        if let [(wires, range)] = inputs
            && *range == (0..wires.wires())
        {
            return self.run(plan, wires);
        }
        let parts = selected(inputs);
        let inputs = Self::Wires::concat(&parts.iter().collect::<Vec<_>>());
        self.run(plan, &inputs)
    }

    /// The wires whose lanes are those of `runs`, one run after the other, of `parts`, which all have the same wires. Local:
    /// nothing is sent.
    ///
    /// # Errors
    /// [`crate::Error::BadInput`] if the wires differ, or a run is not within its part (see [`crate::check_arrange`]).
    fn arrange(&mut self, parts: &[Piece<'_, Self::Wires>], runs: &[LaneRun]) -> Result<Self::Wires>;

    /// Whether the protocol moves lanes in orders that nobody knows ([`Engine::draw`], [`Engine::shuffle`]).
    fn shuffles(&self) -> bool {
        false
    }

    /// The number of a new order of so many lanes, uniformly random and known to no party.
    ///
    /// # Errors
    /// [`crate::Error::BadInput`] if the protocol does not shuffle.
    fn draw(&mut self, _lanes: usize) -> Result<u32> {
        Err(does_not_shuffle())
    }

    /// The lanes of `wires` in the order with this number, or `back` from it. The same number moves different wires alike. That only their order has
    /// changed is verified before anything that depends on them is revealed or kept.
    ///
    /// # Errors
    /// [`crate::Error::BadInput`] if there is no such order of so many lanes; as [`Engine::draw`].
    fn shuffle(&mut self, _wires: &Self::Wires, _order: u32, _back: bool) -> Result<Self::Wires> {
        Err(does_not_shuffle())
    }

    /// Whether the protocol compares tables by digests ([`Engine::digest`]).
    fn digests(&self) -> bool {
        false
    }

    /// 64 wires in one lane. If `these` and `those`, which have the same shape, are equal, all of them are 0. If not, that happens with probability
    /// 2^-64, which [`Engine::error_bound`] counts, whatever the parties have given and sent. No ANDs are run.
    ///
    /// The wires tell more of what was compared than whether it is equal: a program reveals only whether all of them are 0.
    ///
    /// # Errors
    /// [`crate::Error::BadInput`] if the protocol has no digests, or the shapes differ (see [`crate::check_digest`]).
    fn digest(&mut self, _these: &Self::Wires, _those: &Self::Wires) -> Result<Self::Wires> {
        let what = "this protocol does not compare tables by digests";
        Err(crate::Error::BadInput(what.into()))
    }

    /// Whether each level of a plan takes a message from party to party, so that a plan with fewer levels may be faster than one with
    /// fewer ANDs.
    fn levels_take_rounds(&self) -> bool {
        false
    }

    /// The most lanes of `plan` that can be run before [`Engine::settle`] is called so that the session's memory stays within
    /// what it is meant to take: a multiple of 64. The same at all parties.
    fn most_lanes(&self, _plan: &Plan) -> usize {
        usize::MAX & !63
    }

    /// Computes `wires` and forgets what they were computed from, for programs whose memory is to be bounded: what is returned
    /// can be revealed or kept, and nothing else can be done with it. Nothing is opened to anybody. Optional; in most protocols
    /// wires depend on nothing.
    fn settle(&mut self, wires: Self::Wires) -> Result<Self::Wires> {
        Ok(wires)
    }

    /// Verifies everything that `wires` depend on, then opens them to the parties in `to`. `Some` exactly at those.
    fn reveal(&mut self, wires: &Self::Wires, to: Parties) -> Result<Option<BitMatrix>>;

    /// Whether shares outlive their session ([`Engine::keep`], [`Engine::take`]).
    fn keeps(&self) -> bool {
        false
    }

    /// This party's share of `wires`, from which [`Engine::take`] makes them in a later session of the same parties: as many lanes, and a row for each
    /// wire, in order, as often as the protocol's shares have parts, part after part. Everything that they depend on is verified first. Only of protocols
    /// whose shares outlive a session.
    ///
    /// # Errors
    /// [`crate::Error::BadInput`] if they do not.
    fn keep(&mut self, _wires: &Self::Wires) -> Result<BitMatrix> {
        Err(crate::Error::BadInput(
            "shares of this protocol end with their session".into(),
        ))
    }

    /// `wires` of which this party kept `share`, as [`Engine::keep`] gave it.
    ///
    /// # Errors
    /// That the share of another party is not what it kept; as [`Engine::keep`].
    fn take(&mut self, _wires: usize, _share: &BitMatrix) -> Result<Self::Wires> {
        Err(crate::Error::BadInput(
            "shares of this protocol end with their session".into(),
        ))
    }

    /// Sees that all parties have done the same so far, for a program that is not compared as a whole before it is run: `digest` is of
    /// everything public that it has done.
    ///
    /// # Errors
    /// [`cenote_net::Error::Mismatch`] in the field "program" if a peer's digest is another.
    fn compare(&mut self, digest: &[u8; 32]) -> Result<()>;

    /// Ends the session in agreement with the peers: all of them have what they need once this returns.
    fn finish(&mut self) -> Result<()>;

    /// What the session has cost this party so far.
    fn costs(&self) -> Costs;

    /// The base-2 logarithm of the probability that a wrong output of the session so far passes, at most; minus infinity
    /// for an engine that cannot be cheated.
    fn error_bound(&self) -> f64 {
        f64::NEG_INFINITY
    }

    /// The base-2 logarithm of the operations that break the weakest primitive of the session so far; infinity for an engine
    /// that rests on none.
    fn computational_bits(&self) -> f64 {
        f64::INFINITY
    }

    /// What this party should know of the session besides its outputs.
    fn warnings(&self) -> Vec<Warning> {
        Vec::new()
    }
}

pub(crate) fn does_not_shuffle() -> crate::Error {
    crate::Error::BadInput("this protocol does not move lanes in secret orders".into())
}
