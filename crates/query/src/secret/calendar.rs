//! Secret days in the calendar.
//!
//! Years are counted from March on, so that leap days come last. With 400 years added so often that no day is before the first year, centuries, years of a
//! century and months are quotients of four, four and five times the days, as in Neri and Schneider, "Euclidean affine functions and their application to
//! calendar algorithms" (2023), Proposition 6.3.

use cenote_program::Bits;

use super::cell::number;
use crate::call::{Call, Part, Period};

/// Days of 400 years, and how often these are added.
const ROUND: i128 = 146_097;
const ROUNDS: i128 = 14_695;
/// Days from 0000-03-01 to 1970-01-01.
const FIRST: i128 = 719_468;

/// What is known of a day.
struct Day {
    /// Days since 1970-01-01, in two's complement.
    days: Bits,
    /// The year, in two's complement.
    year: Bits,
    month: Bits,
    /// From 1 on.
    of_month: Bits,
    of_year: Bits,
    is_leap: Bits,
}

fn shifted(value: &Bits, places: u32) -> Bits {
    Bits::join(&[&number(value.session(), places, 0), value])
}

/// A sum with a public number, in so many bits of two's complement.
fn plus(value: &Bits, more: i128, width: u32) -> Bits {
    value
        .resized(width, false)
        .add(&number(value.session(), width, more))
}

/// The quotient and the rest of `4 x + 3` or the like.
fn divided(value: &Bits, divisor: i128) -> (Bits, Bits) {
    value.divide(&number(value.session(), value.width(), divisor), false)
}

impl Day {
    fn of(days: &Bits) -> Self {
        let session = days.session();
        let from_first = days
            .resized(34, true)
            .add(&number(session, 34, FIRST + ROUNDS * ROUND));
        let (century, rest) = divided(&plus(&shifted(&from_first.part(0, 33), 2), 3, 35), ROUND);
        let (century, of_century) = (century.part(0, 18), rest.part(2, 16));
        let (year, rest) = divided(&plus(&shifted(&of_century, 2), 3, 18), 1461);
        let (year, from_march) = (year.part(0, 7), rest.part(2, 9));
        let fivefold = shifted(&from_march, 2)
            .resized(12, false)
            .add(&from_march.resized(12, false));
        let (month, rest) = divided(&plus(&fivefold, 461, 12), 153);
        let (of_month, _) = divided(&rest.part(0, 8), 5);
        // From January on it is the next year.
        let is_next = from_march.less(&number(session, 9, 306), false).not();
        let month = month.part(0, 4);
        let twelve_less = month.add(&number(session, 4, -12));
        let zero = |bits: Bits| bits.equal(&number(session, bits.width(), 0));
        let is_leap = zero(year.part(0, 2)).and(&zero(year.clone()).not().or(&zero(century.part(0, 2))));
        let hundred = [6, 5, 2].map(|places| shifted(&century, places).resized(26, false));
        let of_centuries = hundred[0].add(&hundred[1]).add(&hundred[2]);
        let years = of_centuries
            .add(&year.resized(26, false))
            .add(&is_next.resized(26, false));
        let years = years.add(&number(session, 26, -400 * ROUNDS));
        // In January and February the year that began in March is the one before.
        let after = plus(&from_march, -305, 10);
        let before = plus(&from_march, 60, 10).add(&is_leap.resized(10, false));
        Day {
            days: days.resized(34, true),
            year: years,
            month: is_next.select(&twelve_less, &month),
            of_month: plus(&of_month, 1, 5),
            of_year: is_next.select(&after, &before).part(0, 9),
            is_leap,
        }
    }

    /// From 1 to 4.
    fn quarter(&self) -> Bits {
        let session = self.month.session();
        let later = [4, 7, 10].map(|month| {
            let later = self.month.less(&number(session, 4, month), false).not();
            later.resized(3, false)
        });
        plus(&later[0].add(&later[1]).add(&later[2]), 1, 3)
    }

    /// How many days of its period come before it.
    fn within(&self, period: Period) -> Bits {
        let session = self.month.session();
        match period {
            Period::Month => plus(&self.of_month, -1, 9),
            Period::Year => plus(&self.of_year, -1, 9),
            Period::Quarter => {
                let quarter = self.quarter();
                let begins = |at: i128, days: i128| {
                    let begins = plus(&self.is_leap, days, 9);
                    begins.where_chosen(&quarter.equal(&number(session, 3, at)))
                };
                let begin = begins(2, 90).or(&begins(3, 181)).or(&begins(4, 273));
                plus(&self.of_year, -1, 9).subtract(&begin)
            }
        }
    }
}

/// The result of a function of a day, and whether there is none, if it has a circuit. The result is in two's complement if it may be negative.
pub(super) fn result(call: Call, days: &Bits, width: u32) -> Option<(Bits, Option<Bits>)> {
    let session = days.session();
    match call {
        Call::Part(part) => {
            let day = Day::of(days);
            let (value, signed) = match part {
                Part::Year => (day.year, true),
                Part::Quarter => (day.quarter(), false),
                Part::Month => (day.month, false),
                Part::Day => (day.of_month, false),
                Part::DayOfYear => (day.of_year, false),
                Part::IsoWeek | Part::IsoYear => return None,
            };
            Some((value.resized(width, signed), None))
        }
        Call::Begin(period) => {
            let day = Day::of(days);
            let begin = day.days.subtract(&day.within(period).resized(34, false));
            let failed = begin.less(&number(session, 34, i32::MIN.into()), true);
            Some((begin.resized(width, true), Some(failed)))
        }
        _ => None,
    }
}
