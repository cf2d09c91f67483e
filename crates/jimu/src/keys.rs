//! What a party keeps of a pool, whichever its role, and with what a session over the pool begins.

use cenote_net::Channel;
use cenote_pool::Role;
use cenote_pool::session::Begun;
use cenote_primitives::{Block, as_bytes, as_bytes_mut};
use cenote_session::Result;
use zeroize::Zeroizing;

use crate::cell::Cell;
use crate::gadget::Shape;
use crate::offline::{Make, Maker};
use crate::online::{Common, Evaluator, Garbler, Side, Supplied};
use crate::settings::{Config, Sizes};
use crate::setup::{
    EvaluatorBase, EvaluatorKeys, EvaluatorMaker, GarblerBase, GarblerKeys, GarblerMaker, code,
};

/// What a party keeps of a pool for as long as the pool lives.
pub(crate) enum Base {
    Garbler(GarblerBase),
    Evaluator(EvaluatorBase),
}

impl Base {
    /// Sets a pool up with the party at the other end of `channel`.
    pub(crate) fn establish(
        role: Role,
        channel: &mut dyn Channel,
        config: &mut Config,
        sizes: &Sizes,
    ) -> Result<Self> {
        Ok(match role {
            Role::Garbler => Base::Garbler(GarblerBase::establish(channel, config, sizes)?),
            Role::Evaluator => Base::Evaluator(EvaluatorBase::establish(channel, config, sizes)?),
        })
    }

    /// The coin of the hashes' start, which both parties know.
    pub(crate) fn coin(&self) -> Block {
        match self {
            Base::Garbler(base) => base.coin,
            Base::Evaluator(base) => base.coin,
        }
    }

    /// As bytes. Their number follows from the code.
    pub(crate) fn encode(&self) -> Zeroizing<Vec<u8>> {
        let coin = [self.coin()];
        Zeroizing::new(match self {
            Base::Garbler(base) => [as_bytes(&coin), as_bytes(&base.seeds), as_bytes(&base.delta)].concat(),
            Base::Evaluator(base) => {
                let positions = base.positions.iter().map(|&at| at as u64);
                let positions = Zeroizing::new(positions.collect::<Vec<u64>>());
                [
                    as_bytes(&coin),
                    as_bytes(&base.seeds),
                    as_bytes(&base.delta_hash),
                    as_bytes(&positions),
                    as_bytes(&*base.gamma),
                ]
                .concat()
            }
        })
    }

    /// The inverse of [`Base::encode`]; nothing if these are no keys of such a role and sizes.
    pub(crate) fn decode(role: Role, bytes: &[u8], sizes: &Sizes) -> Option<Self> {
        let code = code(sizes).ok()?;
        let mut rest = bytes;
        let mut blocks = |count: usize| -> Option<Zeroizing<Vec<Block>>> {
            let mut blocks = Zeroizing::new(vec![Block::ZERO; count]);
            let (part, later) = rest.split_at_checked(size_of_val(&blocks[..]))?;
            as_bytes_mut(&mut blocks).copy_from_slice(part);
            rest = later;
            Some(blocks)
        };
        let coin = blocks(1)?[0];
        let base = match role {
            Role::Garbler => Base::Garbler(GarblerBase {
                coin,
                seeds: blocks(code.length())?,
                delta: blocks(code.label_blocks())?,
            }),
            Role::Evaluator => {
                let (seeds, delta_hash) = (blocks(code.watched())?, blocks(code.hash_blocks())?);
                let mut words = Zeroizing::new(vec![0u64; code.watched() + 1]);
                let (part, later) = rest.split_at_checked(size_of_val(&words[..]))?;
                as_bytes_mut(&mut words).copy_from_slice(part);
                rest = later;
                let (positions, gamma) = words.split_at(code.watched());
                let positions = Zeroizing::new(positions.iter().map(|&at| at as usize).collect::<Vec<_>>());
                let sound = positions.is_sorted_by(|a, b| a < b) && *positions.last()? < code.length();
                if !sound || gamma[0] & 1 == 0 {
                    return None;
                }
                Base::Evaluator(EvaluatorBase {
                    positions,
                    seeds,
                    delta_hash,
                    coin,
                    gamma: Zeroizing::new([gamma[0]]),
                })
            }
        };
        rest.is_empty().then_some(base)
    }
}

/// What a session computes with, and what makes its gadgets.
pub(crate) enum Keys {
    Garbler(GarblerKeys, GarblerMaker),
    Evaluator(EvaluatorKeys, EvaluatorMaker),
}

impl Keys {
    /// Begins a session over a pool.
    pub(crate) fn begin(
        begun: &Begun<Sizes, Base>,
        channel: &mut dyn Channel,
        config: &mut Config,
    ) -> Result<Self> {
        let Begun { sizes, which, .. } = begun;
        Ok(match &begun.base {
            Base::Garbler(base) => {
                let (keys, mut maker) = base.begin(channel, config, sizes, *which)?;
                maker.kept = begun.kept.clone();
                Keys::Garbler(keys, maker)
            }
            Base::Evaluator(base) => {
                let (keys, mut maker) = base.begin(channel, config, sizes, *which)?;
                maker.kept = begun.kept.clone();
                Keys::Evaluator(keys, maker)
            }
        })
    }

    /// One side of the session.
    pub(crate) fn side(
        self,
        sizes: &Sizes,
        supplied: Supplied,
        start: impl FnOnce(Box<dyn Make>) -> Result<Maker>,
    ) -> Result<Box<dyn Side>> {
        let (sizes, blocks) = (sizes.clone(), sizes.blocks());
        Ok(match self {
            Keys::Garbler(keys, maker) => {
                let (cell, maker) = (Cell::garbler(blocks), start(Box::new(maker))?);
                let common = Common::new(sizes, cell, supplied, Shape::garbler_blocks, maker)?;
                Box::new(Garbler::new(keys, common))
            }
            Keys::Evaluator(keys, maker) => {
                let (cell, maker) = (Cell::evaluator(blocks), start(Box::new(maker))?);
                let common = Common::new(sizes, cell, supplied, Shape::evaluator_blocks, maker)?;
                Box::new(Evaluator::new(keys, common))
            }
        })
    }
}
