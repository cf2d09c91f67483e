//! Pools on disk: what of this protocol's is kept ([`cenote_pool::kept`]).
//!
//! The evaluator is the one that checks. It notes before it lets a coin be known that a check has begun: a garbler sees by the coin whether it
//! will be caught.

use cenote_net::{Channel, PartyId, Step};
use cenote_pool::Role;
use cenote_pool::kept::{self, Identity, Keep, MOST_SESSIONS};
use cenote_pool::session::{self, Begun};
use cenote_primitives::{Block, Entropy};
use cenote_protocol::Facts;
use cenote_session::{Result, Terms};
use cenote_store::{Item, Store};
use zeroize::Zeroizing;

use crate::gadget::Shape;
use crate::keys::Base;
use crate::settings::{Config, Sizes};
use crate::setup::GATES_LOG2;
use crate::steps;

// Each session has numbers of its own for gates.
const _: () = assert!(MOST_SESSIONS << GATES_LOG2 <= 1 << 62);

/// What a session keeps.
struct Keeping<'a> {
    role: Role,
    config: &'a mut Config,
}

/// The pool of a session: that which both parties keep and can put back, if there is a store, or a new one with `sizes`.
pub(crate) fn begin(
    me: PartyId,
    channel: &mut dyn Channel,
    config: &mut Config,
    sizes: Sizes,
    store: Option<&Store>,
) -> Result<Begun<Sizes, Base>> {
    let role = Role::of(me, config.garbler);
    session::begin(me, channel, &mut Keeping { role, config }, sizes, store)
}

/// What people should know of a pool.
pub(crate) fn facts(item: &Item) -> Facts {
    Identity::facts(item, &["gates", "multiplexers"])
}

impl Keep for Keeping<'_> {
    const PROTOCOL: &'static str = "jimu";
    const COPIES: &'static [&'static str] = &["gates", "mux"];
    const STEP: Step = steps::KEPT_POOLS;
    type Sizes = Sizes;
    type Base = Base;

    fn security(&self) -> u32 {
        self.config.security
    }

    fn garbler(&self) -> PartyId {
        self.config.garbler
    }

    fn session(&mut self) -> &mut String {
        &mut self.config.session
    }

    fn entropy(&mut self) -> &mut Entropy {
        &mut self.config.entropy
    }

    fn numbers(sizes: &Sizes) -> Vec<u32> {
        let mux = sizes.mux.as_ref().map_or(0, |mux| mux.pool_size());
        vec![sizes.pool.pool_size() as u32, mux as u32]
    }

    fn sizes(&self, numbers: &[u32]) -> Option<Sizes> {
        let [pool, mux] = *numbers else { return None };
        Sizes::search(self.config.security, pool, (mux > 0).then_some(mux)).ok()
    }

    fn terms(sizes: &Sizes) -> Terms {
        sizes.terms()
    }

    fn shapes(&self, sizes: &Sizes) -> Vec<kept::Shape> {
        let shapes = sizes.pools().map(|(parameters, width)| {
            let (blocks, width) = (sizes.blocks(), width as usize);
            let shape = Shape { blocks, width };
            let record = match self.role {
                Role::Garbler => shape.garbler_blocks(),
                Role::Evaluator => shape.evaluator_blocks(),
            };
            let size = parameters.pool_size() as usize;
            kept::Shape {
                size,
                together: parameters.bucket() as usize,
                blocks: size * record,
            }
        });
        shapes.collect()
    }

    /// A record ends with the number of its first gate.
    fn number(shape: &kept::Shape, copy: &[Block], place: usize) -> u64 {
        let record = shape.blocks / shape.size;
        copy[(place + 1) * record - 1].0[1]
    }

    fn establish(&mut self, channel: &mut dyn Channel, sizes: &Sizes) -> Result<Base> {
        Base::establish(self.role, channel, self.config, sizes)
    }

    fn coin(base: &Base) -> Block {
        base.coin()
    }

    fn encode(base: &Base) -> Zeroizing<Vec<u8>> {
        base.encode()
    }

    fn decode(&self, bytes: &[u8], sizes: &Sizes) -> Option<Base> {
        Base::decode(self.role, bytes, sizes)
    }
}

#[cfg(test)]
mod tests;
