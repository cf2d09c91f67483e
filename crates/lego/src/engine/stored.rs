//! Sessions on stored material, and the offline runs that make it.

use std::time::{Duration, Instant};

use cenote_net::{Channel, Meter, PartyId};
use cenote_params::lego::Account;
use cenote_session::Result;

use super::{LegoEngine, agree, check_channels, threads};
use crate::failure::told_all;
use crate::online::{Evaluator, GARBLER, Garbler, Roles};
use crate::store::{ItemId, Store, draw, make};
use crate::{Config, EvaluatorKeys, GarblerKeys, Order, estimate};

/// What an offline run made.
#[derive(Clone, Copy, Debug)]
pub struct MadeLot {
    /// Its name.
    pub id: ItemId,
    /// How long it took.
    pub time: Duration,
    /// This party's traffic.
    pub traffic: Meter,
}

impl LegoEngine {
    /// Like [`LegoEngine::start`], with material from `folder` (see [`make_lot`]): there is no set-up and nothing is
    /// generated. The session uses one lot, the oldest of the garbler's of which both parties have as much left as `order`
    /// asks for, which both call with alike. It takes from it what is announced and needed, when it is needed, so that no
    /// more is in memory than without; more than `order` too, as long as the lot has it.
    ///
    /// What a session takes is recorded as used at both parties before it is. If a check fails, here or at the peer, or this
    /// process ends before the session has, the whole lot is deleted: see [`crate::store`].
    ///
    /// # Errors
    /// [`Error::Exhausted`](cenote_session::Error::Exhausted), at both parties, if no lot has enough, here or in a later call; [`Error::Storage`](cenote_session::Error::Storage) if a file
    /// cannot be read or written or another session draws from the folder; and those of [`LegoEngine::start`].
    pub fn start_stored(
        me: PartyId,
        channels: Vec<Box<dyn Channel>>,
        config: Config,
        folder: &Store,
        order: &Order,
    ) -> Result<Self> {
        let material = format!("stored, for {order}");
        let mut engine = Self::begin(me, channels, config, material, |role, channel, config| {
            Ok(if role == GARBLER {
                let (keys, drawer) = draw::<GarblerKeys>(folder, me, channel, config, order)?;
                Box::new(Garbler::new(keys, Some(drawer)))
            } else {
                let (keys, drawer) = draw::<EvaluatorKeys>(folder, me, channel, config, order)?;
                Box::new(Evaluator::new(keys, Some(drawer), threads()))
            })
        })?;
        let mut account = Account::new(engine.config.security);
        let lot = engine.parts().0.supply().lot().unwrap_or(Order::NOTHING);
        for epoch in estimate(&lot, &engine.config)? {
            account.make(&epoch.made(), 1.0);
        }
        engine.account = Some(account.promised());
        Ok(engine)
    }
}

/// Agrees with the peer on what to make, makes it as one lot, and puts this party's part in `folder`, for sessions started
/// with [`LegoEngine::start_stored`]. `progress` is told what is done. The configuration's session is only
/// part of the lot's name.
///
/// # Errors
/// [`Error::Storage`](cenote_session::Error::Storage) if a file cannot be written; otherwise those of [`LegoEngine::start`] and [`LegoEngine::generate`]. If
/// the run does not come to its good end at both parties, nothing of it is kept.
pub fn make_lot(
    me: PartyId,
    channels: Vec<Box<dyn Channel>>,
    config: Config,
    folder: &Store,
    order: &Order,
    progress: &mut dyn FnMut(Order),
) -> Result<MadeLot> {
    let start = Instant::now();
    let (mut channels, mut config) = (channels, config);
    config.check()?;
    check_channels(me, &channels)?;
    let role = Roles::of(&config).role(me);
    let agreed = match config.compared {
        true => Ok(()),
        false => agree(&mut channels, &config, format!("to be stored: {order}")),
    };
    let made = agreed.and_then(|()| {
        let make = if role == GARBLER {
            make::<GarblerKeys>
        } else {
            make::<EvaluatorKeys>
        };
        make(folder, me, &mut channels, &mut config, order, progress)
    });
    let id = told_all(&mut channels, made)?;
    Ok(MadeLot {
        id,
        time: start.elapsed(),
        traffic: channels.iter().map(|channel| channel.meter()).sum(),
    })
}
