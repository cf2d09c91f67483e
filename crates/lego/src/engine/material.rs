//! Material: what is made or taken when, and how much more of it than is asked for.

use std::time::Instant;

use cenote_params::lego::Account;
use cenote_session::Result;

use super::{LegoEngine, live};
use crate::{Order, estimate};

/// Of the gates made ahead for an open program, one part in so many may be thrown away once more are made.
const LEFT_OVER: u64 = 8;

impl LegoEngine {
    /// Makes sure that there is enough for `order`, which is about to be used.
    pub(super) fn secure(&mut self, order: Order) -> Result<()> {
        let left = self.stock();
        if left.covers(&order).is_err() {
            let needed = order.beyond(&left);
            let wanted = self.wanted(&order, &left).beyond(&left).max(&needed);
            self.obtain(&needed, wanted)?;
        }
        self.note_use(&order, 0, 0);
        if let Some(open) = &mut self.open {
            open.used += order;
        }
        self.announced = self.announced.beyond(&order);
        if self.announced.is_empty() {
            (self.group, self.config.calls) = (None, 1);
        }
        Ok(())
    }

    /// What there should be when `order` is short: all that was announced, and a little more. Of a program that is run in
    /// groups of lanes, what a group takes and nothing else, so that nothing is left that would keep an epoch's arrays; what
    /// outputs take is made when they are revealed.
    fn wanted(&mut self, order: &Order, left: &Order) -> Order {
        let soon = self
            .open
            .as_ref()
            .map_or(Order::NOTHING, |open| open.soon(order, left, self.config.ahead));
        let announced = self.announced.max(&soon).max(order);
        let stored = self.parts().0.supply().lot().is_some();
        match self.group {
            Some(group) => group.min(&announced).max(order),
            None if stored => announced,
            None => announced.rounded(),
        }
    }

    /// Makes `wanted`; or takes it from the stored lot as far as that has it, and `needed`, which is a part of it, in any case.
    pub(super) fn obtain(&mut self, needed: &Order, wanted: Order) -> Result<()> {
        let start = Instant::now();
        let (side, channel) = (live(&mut self.side), self.channels[0].as_mut());
        side.clear_line(channel)?;
        let supply = side.supply_mut();
        match supply.lot() {
            Some(left) => {
                let missing = wanted.beyond(&left);
                let order = wanted.beyond(&missing).max(needed);
                // About as large as what would be made here.
                let epochs = estimate(&order, &self.config)?;
                let stock = supply.left();
                let most = self
                    .held
                    .making(stock, &epochs, |epoch| (0, supply.memory(epoch).1));
                self.ledger.costs.memory_bytes = self.ledger.costs.memory_bytes.max(most);
                supply.draw(&order, channel)?;
            }
            None => self.make(&wanted)?,
        }
        self.ledger.add_part("independent", start.elapsed());
        Ok(())
    }

    fn make(&mut self, order: &Order) -> Result<()> {
        let mut stock = self.stock();
        let mut order = *order;
        let side = live(&mut self.side);
        if let Some(open) = &mut self.open {
            self.config.calls = open.next_call();
            if order.ands > 0 && stock.ands <= self.config.ahead / LEFT_OVER {
                side.supply_mut().forget_ands();
                order.ands += std::mem::take(&mut stock.ands);
            } else if stock.ands > 0 {
                // The arrays that they are in live as long as they do.
                stock.ands = self.config.ahead;
            }
        }
        side.rest();
        let epochs = estimate(&order, &self.config)?;
        let most = self
            .held
            .making(stock, &epochs, |epoch| side.supply().memory(epoch));
        self.ledger.costs.memory_bytes = self.ledger.costs.memory_bytes.max(most);
        let security = self.config.security;
        let account = self.account.get_or_insert_with(|| Account::new(security));
        epochs.iter().for_each(|epoch| account.make(&epoch.made(), 1.0));
        side.supply_mut()
            .make(&mut self.channels, &mut self.config, &order)
    }
}
