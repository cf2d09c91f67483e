//! Whether the joint exposure of several banks is over a limit.

use super::columns::Columns;
use super::goal::Goal;
use super::timed::timed;
use crate::{Bit, BitOrder, Builder, Circuit};

/// Whether the sum of the parties' numbers is greater than `limit`, a public constant: inputs `bank0`, `bank1`, …, each
/// `width` wires and [`BitOrder::Lsb`]; output `over`, one wire. The sum does not overflow.
///
/// # Panics
/// If `parties · width` is 2^31 or more.
pub fn exposure_over_limit(parties: usize, width: u32, limit: u64, goal: Goal) -> Circuit {
    assert!(
        (parties as u64).saturating_mul(width.into()) < 1 << 31,
        "the inputs do not fit a circuit"
    );
    let mut b = Builder::new();
    build_exposure(&mut b, parties, width, limit, goal);
    b.finish()
}

/// As [`exposure_over_limit`], in an empty circuit.
pub(super) fn build_exposure(b: &mut Builder, parties: usize, width: u32, limit: u64, goal: Goal) {
    // `parties` numbers below 2^width add up to less than 2^bits.
    let bits = width as usize + parties.checked_ilog2().map_or(0, |log| log as usize + 1);
    // The sum is over the limit when sum + (2^bits - 1 - limit) reaches 2^bits: one addition, of which only the top bit
    // is wanted, adds up and compares.
    let mut columns = Columns::new(bits + 1);
    for party in 0..parties {
        let number = b.input(&format!("bank{party}"), width, BitOrder::Lsb);
        columns.push_word(0, &timed(&number));
    }
    for weight in 0..bits {
        let limit_bit = weight < 64 && limit >> weight & 1 == 1;
        columns.push(weight, Bit::constant(!limit_bit).into());
    }
    let reachable = bits >= 64 || limit >> bits == 0;
    let over = if reachable {
        columns.top_bit(b, goal).bit
    } else {
        Bit::FALSE
    };
    b.output("over", &[over], BitOrder::Lsb);
}
