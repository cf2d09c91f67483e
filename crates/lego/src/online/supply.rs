//! Where a side takes its material from: what it makes with the peer, or a stored lot.

use cenote_net::Channel;
use cenote_session::{Error, Result};

use crate::material::Stock;
use crate::offline::Estimate;
use crate::order::Order;
use crate::party::{Party, generate};
use crate::settings::Config;
use crate::store::Drawer;

/// A party's keys and its material.
pub(crate) struct Supply<P: Party> {
    pub(crate) keys: P,
    pub(crate) stock: Stock<P>,
    /// Where material comes from, if it is not made in the session.
    drawer: Option<Drawer<P>>,
}

impl<P: Party> Supply<P> {
    /// No material.
    pub(crate) fn new(keys: P, drawer: Option<Drawer<P>>) -> Self {
        Self {
            keys,
            stock: Stock::default(),
            drawer,
        }
    }
}

/// A [`Supply`], whichever party's.
pub(crate) trait Supplies {
    /// The material that is left.
    fn left(&self) -> Order;

    /// Makes what `order` asks for (Generate).
    fn make(&mut self, channels: &mut [Box<dyn Channel>], config: &mut Config, order: &Order) -> Result<()>;

    /// What an epoch's [`Estimate`] says of this side: bytes held until it is finished, and bytes of an item of each kind.
    fn memory(&self, epoch: &Estimate) -> (u64, [u64; 6]);

    /// Bytes that using an item of each kind takes.
    fn memory_in_use(&self) -> &'static [u64; 6];

    /// What is left of the stored lot that material is drawn from, if it is.
    fn lot(&self) -> Option<Order>;

    /// Takes `order` from the stored lot.
    fn draw(&mut self, order: &Order, channel: &mut dyn Channel) -> Result<()>;

    /// Deletes the stored lot, if there is one, after a failed check.
    fn burn(&mut self);

    /// Throws the AND buckets in stock away: a few of them keep the arrays of a whole epoch.
    fn forget_ands(&mut self);
}

impl<P: Party> Supplies for Supply<P> {
    fn left(&self) -> Order {
        self.stock.left()
    }

    fn make(&mut self, channels: &mut [Box<dyn Channel>], config: &mut Config, order: &Order) -> Result<()> {
        let Self { keys, stock, .. } = self;
        generate(keys, channels, config, order, &mut |epoch| {
            stock.push(epoch);
            Ok(())
        })
    }

    fn memory(&self, epoch: &Estimate) -> (u64, [u64; 6]) {
        P::memory(epoch)
    }

    fn memory_in_use(&self) -> &'static [u64; 6] {
        &P::USE
    }

    fn lot(&self) -> Option<Order> {
        self.drawer.as_ref().map(Drawer::left)
    }

    fn draw(&mut self, order: &Order, channel: &mut dyn Channel) -> Result<()> {
        match &mut self.drawer {
            Some(drawer) => drawer.take(channel, order, &mut self.stock),
            None => Err(Error::Internal("there is no stored material to draw from".into())),
        }
    }

    fn burn(&mut self) {
        let Some(drawer) = self.drawer.take() else { return };
        let lot = drawer.lot();
        match drawer.burn() {
            Ok(()) => tracing::warn!(%lot, "a check failed: the lot of material is deleted"),
            Err(error) => {
                tracing::error!(%error, "a lot of material that will not be used cannot be deleted");
            }
        }
    }

    fn forget_ands(&mut self) {
        self.stock.forget_ands();
    }
}
