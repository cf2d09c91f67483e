//! Days in the calendar.

use cenote_tables::{add_months, civil, days};

use super::whole;
use crate::kind::ValueKind;

/// Microseconds of a day.
const DAY: i128 = 86_400_000_000;

/// Days of 400 years.
const ROUND: i128 = 146_097;

/// A part of a day that only the calendar tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Part {
    Year,
    Quarter,
    Month,
    Day,
    DayOfYear,
    /// Of the year of [`Part::IsoYear`]: weeks begin on Mondays, and the first has a Thursday of the year.
    IsoWeek,
    IsoYear,
}

impl Part {
    pub(super) fn kind(self) -> ValueKind {
        match self {
            // Of all days that 32 bits hold.
            Part::Year | Part::IsoYear => whole(-5_900_000, 5_900_000),
            Part::Quarter => whole(1, 4),
            Part::Month => whole(1, 12),
            Part::Day => whole(1, 31),
            Part::DayOfYear => whole(1, 366),
            Part::IsoWeek => whole(1, 53),
        }
    }

    pub(super) fn of(self, day: i128) -> Option<i128> {
        let day = i32::try_from(day).ok()?;
        let (year, month, of_month) = civil(day);
        // Calendars begin anew after 400 years, and near 1970 all years are whole.
        let of_year = |day: i128| {
            let day = i32::try_from(day.rem_euclid(ROUND)).ok()?;
            Some(i128::from(day - days(civil(day).0, 1, 1)? + 1))
        };
        // The year of the Thursday of a week is the year of the week. 1970-01-01 was one.
        let thursday = i128::from(day) + 3 - (i128::from(day) + 3).rem_euclid(7);
        let of_thursday = || i32::try_from(thursday).map_or(year, |day| civil(day).0);
        Some(match self {
            Part::Year => year.into(),
            Part::Quarter => month.div_ceil(3).into(),
            Part::Month => month.into(),
            Part::Day => of_month.into(),
            Part::DayOfYear => of_year(day.into())?,
            Part::IsoYear => of_thursday().into(),
            Part::IsoWeek => (of_year(thursday)? + 6) / 7,
        })
    }
}

/// A period of several months, to whose beginning days are taken back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Period {
    Month,
    Quarter,
    Year,
}

impl Period {
    pub(super) fn begin(self, day: i128) -> Option<i128> {
        let (year, month, _) = civil(i32::try_from(day).ok()?);
        let month = match self {
            Period::Month => month,
            Period::Quarter => 3 * ((month - 1) / 3) + 1,
            Period::Year => 1,
        };
        days(year, month, 1).map(i128::from)
    }
}

/// A day or a moment so many months later.
pub(super) fn months_later(from: i128, months: i128, kind: ValueKind) -> Option<i128> {
    let months = i32::try_from(months).ok()?;
    let later = |day: i128| add_months(i32::try_from(day).ok()?, months).map(i128::from);
    let moved = match kind {
        ValueKind::Timestamp => later(from.div_euclid(DAY))? * DAY + from.rem_euclid(DAY),
        _ => later(from)?,
    };
    let (least, most) = kind.range()?;
    (least..=most).contains(&moved).then_some(moved)
}
