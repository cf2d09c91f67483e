//! Sessions on stored material, and the offline runs that make it.

use std::time::{Duration, Instant};

use cenote_net::{Channel, Meter, PartyId};
use cenote_params::LogProb;
use cenote_session::{Error, Result};

use super::{LegoEngine, Role, agree, check_channels, threads};
use crate::failure::told_all;
use crate::session::{Evaluator, GARBLER, Garbler, Roles};
use crate::store::{Drawer, LotId, MaterialFolder};
use crate::{Config, EvaluatorKeys, GarblerKeys, Order};

/// A session's hold on a lot.
pub(super) enum Drawn {
    Garbler(Drawer<GarblerKeys>),
    Evaluator(Drawer<EvaluatorKeys>),
}

impl Drawn {
    fn left(&self) -> Order {
        match self {
            Drawn::Garbler(drawer) => drawer.left(),
            Drawn::Evaluator(drawer) => drawer.left(),
        }
    }

    /// Deletes the lot after a failed check.
    pub(super) fn burn(self) {
        let (lot, burnt) = match self {
            Drawn::Garbler(drawer) => (drawer.lot(), drawer.burn()),
            Drawn::Evaluator(drawer) => (drawer.lot(), drawer.burn()),
        };
        match burnt {
            Ok(()) => tracing::warn!(%lot, "a check failed: the lot of material is deleted"),
            Err(error) => {
                tracing::error!(%error, "a lot of material that will not be used cannot be deleted")
            }
        }
    }
}

/// What an offline run made.
#[derive(Clone, Copy, Debug)]
pub struct MadeLot {
    /// Its name.
    pub id: LotId,
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
    /// [`Error::Exhausted`], at both parties, if no lot has enough, here or in a later call; [`Error::Storage`] if a file
    /// cannot be read or written or another session draws from the folder; and those of [`LegoEngine::start`].
    pub fn start_stored(
        me: PartyId,
        channels: Vec<Box<dyn Channel>>,
        config: Config,
        folder: &MaterialFolder,
        order: &Order,
    ) -> Result<Self> {
        let start = Instant::now();
        let (mut channels, mut config) = (channels, config);
        config.check()?;
        check_channels(me, &channels)?;
        let roles = Roles {
            garbler: config.garbler,
        };
        let drawn = agree(&mut channels, &config, format!("stored, for {order}")).and_then(|()| {
            let channel = channels[0].as_mut();
            Ok(if roles.role(me) == GARBLER {
                let (keys, drawer) = folder.draw_garbler(channel, &mut config, order)?;
                let stock = keys.stock();
                let role = Role::Garbler(Box::new(Garbler::new(keys, stock)));
                (role, Drawn::Garbler(drawer))
            } else {
                let (keys, drawer) = folder.draw_evaluator(channel, &mut config, order)?;
                let stock = keys.stock();
                let role = Role::Evaluator(Box::new(Evaluator::new(keys, stock, threads())));
                (role, Drawn::Evaluator(drawer))
            })
        });
        let (role, drawn) = told_all(&mut channels, drawn)?;
        // Each of the three bounds is met for all of a lot.
        let bound = LogProb::from_log2(-f64::from(config.security));
        let mut engine = Self::with_role(me, channels, config, role);
        engine.error = Some(bound + bound + bound);
        engine.drawn = Some(drawn);
        engine.costs.add_phase("setup", start.elapsed());
        Ok(engine)
    }

    /// Takes `wanted` from the lot, as far as it has it, and `needed`, which is a part of it, in any case.
    pub(super) fn draw(&mut self, needed: &Order, wanted: &Order) -> Result<()> {
        let start = Instant::now();
        let (channel, role) = (self.channels[0].as_mut(), self.role.as_mut());
        let (Some(role), Some(drawn)) = (role, &mut self.drawn) else {
            return Err(Error::Internal("nothing was drawn".into()));
        };
        let missing = wanted.beyond(&drawn.left());
        let order = wanted.beyond(&missing).max(needed);
        match (role, drawn) {
            (Role::Garbler(garbler), Drawn::Garbler(drawer)) => {
                garbler.clear_line(channel)?;
                drawer.take(channel, &order, &mut garbler.stock)?;
            }
            (Role::Evaluator(evaluator), Drawn::Evaluator(drawer)) => {
                evaluator.clear_line(channel)?;
                drawer.take(channel, &order, &mut evaluator.stock)?;
            }
            _ => return Err(Error::Internal("the other role's material was drawn".into())),
        }
        self.generating += start.elapsed();
        Ok(())
    }
}

/// Agrees with the peer on what to make, makes it as one lot, and puts this party's part in `folder`, for sessions started
/// with [`LegoEngine::start_stored`]. `progress` is told what is done. The configuration's session is only
/// part of the lot's name.
///
/// # Errors
/// [`Error::Storage`] if a file cannot be written; otherwise those of [`LegoEngine::start`] and [`LegoEngine::generate`]. If
/// a check fails, the lot is deleted; if the peer is lost, what both have can be used.
pub fn make_lot(
    me: PartyId,
    channels: Vec<Box<dyn Channel>>,
    config: Config,
    folder: &MaterialFolder,
    order: &Order,
    progress: &mut dyn FnMut(Order),
) -> Result<MadeLot> {
    let start = Instant::now();
    let (mut channels, mut config) = (channels, config);
    config.check()?;
    check_channels(me, &channels)?;
    let role = Roles {
        garbler: config.garbler,
    }
    .role(me);
    let made = agree(&mut channels, &config, format!("to be stored: {order}")).and_then(|()| {
        if role == GARBLER {
            folder.make_garbler(&mut channels, &mut config, order, progress)
        } else {
            folder.make_evaluator(&mut channels, &mut config, order, progress)
        }
    });
    let id = told_all(&mut channels, made)?;
    Ok(MadeLot {
        id,
        time: start.elapsed(),
        traffic: channels.iter().map(|channel| channel.meter()).sum(),
    })
}
