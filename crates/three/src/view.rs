//! View comparison (Furukawa et al. 2017; S&P 2017, Section III-D): each pair of parties makes sure that both saw the
//! same opened values, and then that what must be a sharing of zero is one.
//!
//! The order matters, and is stricter than in the papers and in the spec's Section 7, which put both into one view. If a
//! corrupted party sends an honest one a wrong component of `ρ`, off by `δ`, that party's word on `t` is off by `δ·b`
//! for the component of `b` that the corrupted party lacks. A tag or hash of it, sent to the corrupted party, who knows
//! everything else under it, would give away `b`, and with `σ = y ⊕ b` the secret `y`, before the abort. So the words on
//! `t` are compared only after all opened values have been found equal with both peers; then they are a function of
//! what the corrupted party knows.

use cenote_net::Step;
use cenote_primitives::{Block, Block512, PolyMac, Position, Prg, as_bytes};
use cenote_session::{Check, Error, Result};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use crate::checks;
use crate::ring::Ring;
use crate::settings::ViewCheck;

/// The steps of one comparison: first the opened values, then the words on products.
pub(crate) struct ViewSteps {
    pub(crate) opened: Step,
    pub(crate) products: Step,
    /// What has failed if the words differ.
    pub(crate) product: Check,
}

/// One thread's views towards both peers since the last comparison.
pub(crate) enum Views {
    /// Under keys that each pair shares.
    Mac(Box<KeyedViews>),
    /// Hashes.
    Sha256(Box<HashedViews>),
}

/// Views under MACs; arrays are in the order previous, next.
pub(crate) struct KeyedViews {
    opened: [KeyedView; 2],
    products: [KeyedView; 2],
}

/// Hashes of views. The opened values are the same towards both peers.
pub(crate) struct HashedViews {
    opened: Sha256,
    products: [Sha256; 2],
}

/// A view under a MAC: a one-time MAC per comparison, its key the same, its pad fresh.
pub(crate) struct KeyedView {
    mac: PolyMac,
    pads: Prg,
    next_pad: u64,
}

impl KeyedView {
    fn new(prg: Prg) -> Self {
        let mut key = [Block512::ZERO];
        prg.fill(Position { stream: 0, index: 0 }, &mut key);
        let mac = PolyMac::new(first_half(key[0]));
        Self {
            mac,
            pads: prg,
            next_pad: 0,
        }
    }

    fn tag(&mut self) -> Block {
        let mut pad = [Block512::ZERO];
        self.pads.fill(
            Position {
                stream: 1,
                index: self.next_pad,
            },
            &mut pad,
        );
        self.next_pad += 1;
        self.mac.finish() ^ first_half(pad[0])
    }
}

fn first_half(block: Block512) -> Block {
    Block([block.0[0], block.0[1]])
}

impl Views {
    /// Empty views. `keys` derives keys that are shared with the previous and the next party from a label, which begins
    /// with `purpose`.
    pub(crate) fn new(check: ViewCheck, purpose: &str, keys: impl Fn(&str) -> [Prg; 2]) -> Self {
        match check {
            ViewCheck::Mac => {
                let views = |part| keys(&format!("{purpose}, {part}")).map(KeyedView::new);
                Views::Mac(Box::new(KeyedViews {
                    opened: views("opened values"),
                    products: views("products"),
                }))
            }
            ViewCheck::Sha256 => Views::Sha256(Box::new(HashedViews {
                opened: Sha256::new(),
                products: [Sha256::new(), Sha256::new()],
            })),
        }
    }

    /// Adds values that all three parties must see alike.
    pub(crate) fn add_opened(&mut self, values: &[Block512]) {
        match self {
            Views::Mac(views) => views.opened.iter_mut().for_each(|view| view.mac.update(values)),
            Views::Sha256(views) => views.opened.update(as_bytes(values)),
        }
    }

    /// Adds words on products: this party's word towards each peer must equal that peer's word towards this party.
    pub(crate) fn add_products(&mut self, to_previous: &[Block512], to_next: &[Block512]) {
        for (index, words) in [to_previous, to_next].into_iter().enumerate() {
            match self {
                Views::Mac(views) => views.products[index].mac.update(words),
                Views::Sha256(views) => views.products[index].update(as_bytes(words)),
            }
        }
    }

    /// Compares all that was added since the last comparison with both peers.
    pub(crate) fn compare(&mut self, ring: &mut Ring, steps: &ViewSteps) -> Result<()> {
        match self {
            Views::Mac(views) => {
                let tags = views.opened.each_mut().map(|view| view.tag().to_bytes());
                must_be_equal(ring, &tags, checks::VIEW_COMPARISON, steps.opened)?;
                let tags = views.products.each_mut().map(|view| view.tag().to_bytes());
                must_be_equal(ring, &tags, steps.product, steps.products)
            }
            Views::Sha256(views) => {
                let hash: [u8; 32] = views.opened.finalize_reset().into();
                must_be_equal(ring, &[hash, hash], checks::VIEW_COMPARISON, steps.opened)?;
                let hashes = views
                    .products
                    .each_mut()
                    .map(|view| -> [u8; 32] { view.finalize_reset().into() });
                must_be_equal(ring, &hashes, steps.product, steps.products)
            }
        }
    }
}

/// Sends each peer this party's tag and aborts unless both send the same one back.
fn must_be_equal<const N: usize>(
    ring: &mut Ring,
    tags: &[[u8; N]; 2],
    check: Check,
    step: Step,
) -> Result<()> {
    let (from_previous, from_next) = ring.exchange(step, &tags[0], &tags[1])?;
    let equal = [tags[0].ct_eq(&from_previous), tags[1].ct_eq(&from_next)];
    for (equal, channel) in equal.into_iter().zip([&ring.previous, &ring.next]) {
        if !bool::from(equal) {
            // Which of the two is honest cannot be told: the third may have sent them different things.
            let peer = channel.peer();
            let what = match check {
                checks::VIEW_COMPARISON => format!("this party and {peer} saw different opened values"),
                _ => format!("this party and {peer} disagree on a product: one was wrong"),
            };
            return Err(Error::cheated(check, None, step, &what));
        }
    }
    Ok(())
}
