//! Verification of the gates that were evaluated: every AND is checked with a triple before anything that depends on it
//! is opened (S&P 2017, Protocol A.2, step 3, and Protocol 3.9, step 3).

use cenote_net::PartyId;
use cenote_params::three::Parameters;
use cenote_primitives::Sampler;
use cenote_session::Result;

use crate::material::stock::Stock;
use crate::material::supply::Supply;
use crate::online::gate_log::GateLog;
use crate::ring::Ring;
use crate::setup::keys::{Counter, Keys, Purpose};
use crate::steps;
use crate::triple_check::{CheckScratch, CheckWindow, Operands, WINDOW, part};
use crate::view::{ViewSteps, Views};
use crate::{checks, coin};

const VIEW_STEPS: ViewSteps = ViewSteps {
    opened: steps::GATE_VIEW,
    products: steps::GATE_PRODUCTS,
    product: checks::PRODUCT_COMPARISON,
};

/// Checks logged gates.
pub(crate) struct Verifier {
    me: PartyId,
    pub(crate) supply: Supply,
    coins: Counter,
    /// The number of coins so far, which tells barriers apart.
    serial: u64,
    views: Views,
    windows: Vec<CheckWindow>,
    scratch: CheckScratch,
}

impl Verifier {
    /// `lag` windows are in flight at most.
    pub(crate) fn new(me: PartyId, worker: u8, parameters: &Parameters, views: Views, lag: usize) -> Self {
        Self {
            me,
            supply: Supply::new(parameters),
            coins: Counter::new(Purpose::EvaluatorCoin, worker),
            serial: 0,
            views,
            windows: (0..lag).map(|_| CheckWindow::default()).collect(),
            scratch: CheckScratch::new(),
        }
    }

    /// Checks every gate in the log, compares views, and empties the log. Returns the number of rounds.
    pub(crate) fn verify(
        &mut self,
        log: &mut GateLog,
        ring: &mut Ring,
        keys: &Keys,
        stock: &Stock,
    ) -> Result<u64> {
        if log.is_empty() {
            return Ok(0);
        }
        let blocks = log.pad(self.supply.unit());
        stock.want(self.supply.batches_for(blocks as u64));
        let mut in_hand = self.supply.stock_up(blocks, stock)?;
        let mut rounds = 3;
        let mut sampler = None;
        if self.supply.needs_coin() {
            // Which triple checks which gate is tossed only now that the gates and the triples are fixed.
            let received = coin::barrier(ring, self.serial, &in_hand)?;
            self.serial += 1;
            sampler = Some(Sampler::new(coin::toss(ring, keys, &mut self.coins, received)?));
            rounds += 2;
        }

        let (windows, lag) = (blocks.div_ceil(WINDOW), self.windows.len());
        let range = |window: usize| window * WINDOW..blocks.min((window + 1) * WINDOW);
        for window in 0..windows + lag {
            let slot = window % lag;
            if let Some(window) = window.checked_sub(lag).filter(|&window| window < windows) {
                self.windows[slot].check_products(
                    self.me,
                    Some(part(&log.z, range(window))),
                    self.supply.factors.as_ref().unwrap_or(keys),
                    &mut self.scratch,
                    ring,
                    steps::CHECK_GATE,
                    &mut self.views,
                )?;
            }
            if window < windows {
                let range = range(window);
                let check = &mut self.windows[slot];
                let triples = in_hand.split_off(range.len());
                self.supply.spend(triples, check, sampler.as_mut(), stock);
                let operands = Operands::Held {
                    x: part(&log.x, range.clone()),
                    y: part(&log.y, range),
                };
                let factors = self.supply.factors.as_ref().unwrap_or(keys);
                check.open_factors(operands, factors, &mut self.scratch, ring, steps::CHECK_GATE)?;
            }
        }
        log.clear();
        self.views.compare(ring, &VIEW_STEPS)?;
        Ok(rounds)
    }

    /// Overwrites the stock with zeros.
    pub(crate) fn wipe(&mut self) {
        self.supply.wipe();
    }
}
