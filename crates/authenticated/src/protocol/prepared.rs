//! What a session's demand takes: a pool, and how its leaky ANDs and authenticated bits are made.

use cenote_params::cot::SoftSpoken;
use cenote_params::lpn::Lpn;

use crate::{Config, Cot, Sizes, USUAL_LOTS};

/// What a demand takes.
#[derive(Clone, Debug)]
pub struct Prepared {
    /// Pool and buckets.
    pub sizes: Sizes,
    /// Leaky ANDs made at once.
    pub lot: u32,
    /// The most leaky ANDs made at once: more than these where messages take long.
    pub largest_lot: u32,
    /// Gates garbled at once.
    pub segment: u32,
    /// The sizes of the generator of authenticated bits, if there is one: those that take the fewest bytes.
    pub generator: Option<Lpn>,
    pub(super) ands: u64,
    /// Bits of inputs.
    pub(super) inputs: u64,
    /// Authenticated bits of each party.
    pub(super) bits: u64,
}

/// The fewest large lots that the leaky ANDs of a session come in.
const SLOW_LOTS: u64 = 8;

/// Most gates garbled at once.
const LARGEST_SEGMENT: u32 = 1 << 15;

/// The fewest.
const SMALLEST_LOT: u64 = 1024;

/// Lots that the leaky ANDs of a program come in of which nobody knows how many it takes.
const GUESSED_LOTS: u64 = 16;

impl Prepared {
    pub(super) fn new(sizes: Sizes, ands: u64, known: bool, stated: Option<u32>) -> Self {
        let made = sizes.made(ands);
        let [most, most_where_slow] = USUAL_LOTS.map(u64::from);
        let lots = made.div_ceil(most).max(if known { 1 } else { GUESSED_LOTS });
        let lot = made.div_ceil(lots).clamp(SMALLEST_LOT, most);
        let lot = stated.unwrap_or(lot.next_multiple_of(64) as u32);
        let largest_lot = match stated {
            Some(lot) => lot,
            None => lot.max((made / SLOW_LOTS / 64 * 64).min(most_where_slow) as u32),
        };
        let usual = Config::new("").segment;
        Self {
            lot,
            largest_lot,
            segment: (lot / 8).clamp(usual, LARGEST_SEGMENT),
            sizes,
            generator: None,
            ands,
            inputs: 0,
            bits: 0,
        }
    }

    /// With bits for so many inputs, from a generator if there is to be one.
    pub(super) fn with_bits(mut self, inputs: u64, cot: Cot, softspoken: &SoftSpoken) -> Self {
        let leaky = self.lots().saturating_mul(self.lot.into());
        self.inputs = inputs;
        self.bits = leaky
            .saturating_mul(3)
            .saturating_add(self.ands)
            .saturating_add(inputs);
        self.generator = match cot {
            Cot::SoftSpoken => None,
            Cot::Pcg => Some(Lpn::cheapest(self.bits, softspoken)),
        };
        self
    }

    /// How many lots are made.
    pub(super) fn lots(&self) -> u64 {
        match self.ands {
            0 => 0,
            ands => self.sizes.made(ands).div_ceil(self.lot.into()),
        }
    }

    /// What the report of a session says of its parameters.
    pub fn to_json(&self) -> serde_json::Value {
        let mut value = serde_json::to_value(&self.sizes).expect("parameters are numbers");
        if let Some(fields) = value.as_object_mut() {
            fields.remove("security");
            fields.insert("lot".into(), self.lot.into());
            fields.insert("largest_lot".into(), self.largest_lot.into());
            if let Some(sizes) = &self.generator {
                let sizes = serde_json::to_value(sizes).expect("sizes are numbers");
                fields.insert("generator".into(), sizes);
            }
        }
        value
    }
}
