//! Values that the parties keep together instead of opening them, and that later jobs take as inputs.
//!
//! **Where shares of the protocol outlive a session** ([`Protocol::KEPT_ROWS`](cenote_protocol::Protocol::KEPT_ROWS)) each party keeps its own, and a later
//! session goes on with them: [`Engine::keep`](cenote_session::Engine::keep) and [`Engine::take`](cenote_session::Engine::take).
//!
//! **With other protocols, of two parties,** the circuit of the job sees to it, so that none of them knows of it: a value is masked, and each party holds tags of the
//! other's share and key, as [`cenote_program::kept`] says of the rows of programs. A circuit that takes a value opens of all that one bit of each instance to both, whether all tags
//! of all values are right; where one is not, every output that is opened is zero. When nobody deviates a job reveals nothing of all this, so that a value may be taken by any
//! number of jobs.

mod circuit;
mod share;

use cenote_circuit::library::GF64_BITS;
use cenote_net::PartyId;
use cenote_params::keeping::error;
use cenote_primitives::BitMatrix;
pub use cenote_program::KEPT_VALUE;
use cenote_program::kept::{self, KEPT_VALUES, put_together, rows_in_parts};
use cenote_session::{Error as EngineError, Parties};
use zeroize::Zeroize;

use crate::{Error, Result};
pub(crate) use circuit::too_large;
use share::SHAPE;
pub use share::Share;

/// The parties of a circuit that takes or keeps a value.
const PAIR: [PartyId; 2] = [PartyId(0), PartyId(1)];
/// A party's key, pad, key of keys and pad of keys.
const SECRETS: usize = 4 * GF64_BITS;
/// A party's tags: of its share, and of its key.
const TAGS: usize = 2 * GF64_BITS;

/// An input that is a kept value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Take {
    /// The input's name.
    pub input: String,
    /// The value's name.
    pub name: String,
    /// The job that kept it, if the job file says so.
    pub of: Option<String>,
    /// Its bits, in an instance.
    pub width: u32,
}

/// An output that is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Keep {
    /// The output's name.
    pub output: String,
    /// The value's name.
    pub name: String,
    /// After so many days it is deleted.
    pub days: u16,
    /// Its bits, in an instance.
    pub width: u32,
}

/// What a job takes and keeps, and where in its circuit that is: after the inputs that parties give, and after the outputs that are opened.
#[derive(Clone, Debug, Default)]
pub struct Keeping {
    takes: Vec<Take>,
    keeps: Vec<Keep>,
    opened: usize,
    /// Rows of a share for each wire, if the protocol's own shares are kept.
    rows: Option<usize>,
}

/// What this party has put in for the values that a job keeps, until the job ends.
#[derive(Debug)]
pub struct Fresh(Vec<Share>);

impl Keeping {
    /// What a job that opens all its outputs keeps and takes: nothing.
    pub(crate) fn nothing(outputs: usize) -> Self {
        Keeping {
            opened: outputs,
            ..Keeping::default()
        }
    }

    /// Sees that what is taken and kept in so many instances is as safe as the job is to be, in bits.
    ///
    /// # Errors
    /// [`Error::Usage`] with what to do.
    pub(crate) fn check_security(&self, lanes: usize, bits: u32) -> Result<()> {
        let takes = self.takes.iter().map(|take| take.width);
        let widths = takes.chain(self.keeps.iter().map(|keep| keep.width));
        let widest = widths.filter(|_| self.rows.is_none()).max();
        match widest.map(|width| error(width.into(), lanes as u64)) {
            Some(error) if !error.meets(bits) => Err(Error::Usage(format!(
                "what is kept is safe up to 2^{:.1}, and the job asks for a security of {bits} bits; ask for less, or keep narrower or fewer values in a job",
                error.log2()
            ))),
            _ => Ok(()),
        }
    }

    /// Whether nothing is taken or kept.
    pub fn is_empty(&self) -> bool {
        self.takes.is_empty() && self.keeps.is_empty()
    }

    /// The values that are taken, in the order of the circuit's inputs.
    pub fn takes(&self) -> &[Take] {
        &self.takes
    }

    /// The values that are kept, in the order of the circuit's outputs.
    pub fn keeps(&self) -> &[Keep] {
        &self.keeps
    }

    /// How many outputs are opened. They are the first ones.
    pub fn opened(&self) -> usize {
        self.opened
    }

    /// Rows of a share of a value of `width` bits.
    pub(crate) fn rows_of(&self, width: u32) -> usize {
        match self.rows {
            Some(rows) => rows * width as usize,
            None => rows_in_parts(width),
        }
    }

    /// Bytes of the shares of all that is kept in `lanes` instances, 2^64 - 1 if they are more.
    pub fn share_bytes(&self, lanes: usize) -> u64 {
        let each = self.keeps.iter().map(|keep| {
            let rows = self.rows_of(keep.width) as u64;
            rows.saturating_mul(lanes.div_ceil(8) as u64)
                .saturating_add(SHAPE as u64)
        });
        each.fold(0, u64::saturating_add)
    }

    /// The share of the taken value of that number in `lanes` instances, of its bytes; nothing if they are of another shape.
    pub fn share(&self, number: usize, lanes: usize, bytes: &[u8]) -> Option<Share> {
        Share::from_bytes(self.rows_of(self.takes.get(number)?.width), lanes, bytes)
    }

    /// Values that are in the circuit of a job in two parts, one for each party.
    fn in_parts(&self, values: usize) -> usize {
        if self.rows.is_some() { 0 } else { 2 * values }
    }

    /// Who gives the inputs that are not taken as shares and that no party chooses.
    pub(crate) fn owners(&self) -> impl Iterator<Item = PartyId> + use<> {
        let parts = self.in_parts(self.takes.len() + self.keeps.len());
        PAIR.into_iter().cycle().take(parts)
    }

    /// Who learns the outputs that are neither opened nor kept as shares.
    pub(crate) fn receivers(&self) -> impl Iterator<Item = Parties> + use<> {
        let parts = PAIR.map(Parties::one).into_iter().cycle();
        let check = (self.in_parts(self.takes.len()) > 0).then(|| PAIR.into_iter().collect());
        parts.take(self.in_parts(self.keeps.len())).chain(check)
    }

    /// The inputs of `me` that come after those that it gives: its shares of what is taken, one entry each, and fresh secrets for what is kept.
    ///
    /// # Errors
    /// [`Error::Usage`] if a share is missing or of another shape, or `me` is not one of the parties; where there is no room.
    pub fn inputs(
        &self,
        me: PartyId,
        lanes: usize,
        mut shares: Vec<Share>,
    ) -> Result<(Vec<Option<BitMatrix>>, Fresh)> {
        let shaped = |(share, take): (&Share, &Take)| {
            share.0.rows() == self.rows_of(take.width) && share.0.lanes() == lanes
        };
        if shares.len() != self.takes.len() || !shares.iter().zip(&self.takes).all(shaped) {
            return Err(Error::Usage(
                "the shares are not those of the values that the job takes".into(),
            ));
        }
        let given = shares
            .iter_mut()
            .map(|share| std::mem::replace(&mut share.0, BitMatrix::zeros(0, 0)));
        if self.rows.is_some() || self.is_empty() {
            return Ok((given.map(Some).collect(), Fresh(Vec::new())));
        }
        let place = Self::place(me)?;
        let mut inputs = Vec::new();
        let mut put = |bits: BitMatrix| {
            let mut pair = [None, None];
            pair[place] = Some(bits);
            inputs.extend(pair);
        };
        given.for_each(&mut put);
        let mut fresh = Vec::new();
        for keep in &self.keeps {
            let mask = if place == 0 { keep.width as usize } else { 0 };
            let bits = kept::fresh(mask + SECRETS, lanes)?;
            put(bits.clone());
            fresh.push(Share(bits));
        }
        Ok((inputs, Fresh(fresh)))
    }

    fn place(me: PartyId) -> Result<usize> {
        let place = PAIR.iter().position(|&party| party == me);
        place.ok_or_else(|| Error::Usage(format!("{me} is no party of a circuit that keeps values")))
    }

    /// What `me` has of the values that were kept, in their order, from all outputs of the circuit, which are overwritten.
    ///
    /// # Errors
    /// [`EngineError::Aborted`] with [`KEPT_VALUE`] if a party put in something else than it held of a value that was taken;
    /// [`EngineError::Internal`] if `outputs` are not those of the circuit.
    pub fn finish(
        &self,
        me: PartyId,
        fresh: Fresh,
        mut outputs: Vec<Option<BitMatrix>>,
    ) -> Result<Vec<Share>> {
        let shares = self.shares(me, fresh, &mut outputs);
        outputs.iter_mut().skip(self.opened).for_each(wipe);
        shares
    }

    fn shares(&self, me: PartyId, fresh: Fresh, outputs: &mut [Option<BitMatrix>]) -> Result<Vec<Share>> {
        let foreign = || {
            Error::from(EngineError::Internal(
                "the outputs are not those of the circuit".into(),
            ))
        };
        let hidden = outputs.get_mut(self.opened..).ok_or_else(foreign)?;
        if self.rows.is_some() || self.is_empty() {
            let own = hidden
                .iter_mut()
                .map(|share| share.take().map(Share).ok_or_else(foreign));
            return own.collect();
        }
        let (held, check) = hidden
            .split_at_checked(2 * self.keeps.len())
            .ok_or_else(foreign)?;
        let place = Self::place(me)?;
        if !self.takes.is_empty() {
            let [Some(right)] = check else {
                return Err(foreign());
            };
            self.check(PAIR[1 - place], right)?;
        }
        let mut shares = Vec::new();
        for ((keep, fresh), outputs) in self.keeps.iter().zip(&fresh.0).zip(held.chunks_exact(2)) {
            let learnt = outputs[place].as_ref().ok_or_else(foreign)?;
            let whole = put_together(keep.width as usize, &fresh.0, learnt)?;
            shares.push(Share(whole.ok_or_else(foreign)?));
        }
        Ok(shares)
    }

    /// Sees that everything that was taken is what was kept.
    fn check(&self, other: PartyId, right: &BitMatrix) -> Result<()> {
        if right.rows() == 1 && (0..right.lanes()).all(|lane| right.get(0, lane)) {
            return Ok(());
        }
        let names: Vec<String> = self
            .takes
            .iter()
            .map(|take| format!("\"{}\"", take.name))
            .collect();
        let detail = format!(
            "what it put in of the kept values {} is not what it held",
            names.join(", ")
        );
        Err(EngineError::cheated(KEPT_VALUE, other, KEPT_VALUES, detail).into())
    }
}

/// Overwrites what a party put in or learnt of kept values.
pub fn wipe(bits: &mut Option<BitMatrix>) {
    if let Some(bits) = bits {
        bits.words_mut().zeroize();
    }
}

#[cfg(test)]
mod tests;
