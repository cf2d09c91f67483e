//! What a session's demand takes: pools, and the buffers that their gadgets come in.

use cenote_params::pool::{Parameters, Work};

use crate::{MUX_WIDTH, Sizes};

/// What a demand takes.
#[derive(Clone, Debug)]
pub struct Prepared {
    /// Pool, buckets and code.
    pub sizes: Sizes,
    /// Gadgets of each kind that are made at once: AND gates, and gadgets of [`MUX_WIDTH`].
    pub buffers: [u32; 2],
    /// Buffers of each kind that are made before they are needed.
    pub ahead: [u64; 2],
    /// What is drawn of each kind.
    pub(super) works: [Work; 2],
}

/// The largest pool that is chosen where none is stated: half a gigabyte at the evaluator. One eight times as large saves 2% of the
/// gates.
pub(super) const LARGEST_CHOSEN: u32 = 1 << 21;

/// Most gadgets made at once: 60 MB at both parties together.
const LARGEST_BUFFER: f64 = 131_072.0;

/// The fewest.
const SMALLEST_BUFFER: f64 = 1024.0;

/// Buffers that the gadgets of a program come in of which nobody knows how many it takes.
const GUESSED_BUFFERS: f64 = 16.0;

/// Standard deviations by which fewer gadgets may be left than on average without another buffer.
const DEVIATIONS: f64 = 5.0;

impl Prepared {
    /// `shared` gadgets of [`MUX_WIDTH`] can do a part of the `work`.
    pub(super) fn new(sizes: Sizes, work: &Work, shared: u64, known: bool) -> Self {
        let works = sizes.works(work, shared);
        let of = |kind: usize, pool: Option<&Parameters>, width: usize| {
            let made = pool.map_or(0.0, |pool| {
                let rate = pool.check_rate();
                let made = works[kind].made(pool, &sizes.anchor) + f64::from(pool.bucket());
                made + DEVIATIONS * (made * rate / (1.0 - rate)).sqrt()
            });
            let [least, most] = [SMALLEST_BUFFER, LARGEST_BUFFER].map(|gates| gates / width as f64);
            let buffers = (made / most).ceil().max(1.0);
            let buffers = if known {
                buffers
            } else {
                buffers.max(GUESSED_BUFFERS)
            };
            let buffer = (made / buffers).clamp(least, most).ceil() as u32;
            let ahead = if known { buffers as u64 - 1 } else { u64::MAX };
            (buffer.next_multiple_of(64), ahead)
        };
        let kinds = [of(0, Some(&sizes.pool), 1), of(1, sizes.mux.as_ref(), MUX_WIDTH)];
        Self {
            buffers: kinds.map(|(buffer, _)| buffer),
            ahead: kinds.map(|(_, ahead)| ahead),
            sizes,
            works,
        }
    }

    /// Of each kind that there is, its pool, the gates of a gadget, what is drawn, and how many buffers are made, about.
    pub(super) fn kinds(&self) -> impl Iterator<Item = (&Parameters, usize, &Work, f64)> {
        let kinds = self.sizes.pools().zip(&self.works).zip(self.buffers);
        kinds.map(|(((pool, width), work), buffer)| {
            let made = work.made(pool, &self.sizes.anchor);
            let buffers = (made / f64::from(buffer)).ceil();
            (pool, width as usize, work, buffers)
        })
    }

    /// What the report of a session says of its parameters.
    pub fn to_json(&self) -> serde_json::Value {
        let mut value = serde_json::to_value(&self.sizes).expect("parameters are numbers");
        if let Some(fields) = value.as_object_mut() {
            fields.remove("security");
            fields.insert("buffer".into(), self.buffers[0].into());
            if self.sizes.mux.is_some() {
                fields.insert("mux_buffer".into(), self.buffers[1].into());
            }
        }
        value
    }
}
