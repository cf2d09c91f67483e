//! How the making of a kind of stock goes: how much at once, and when again after a failure.

use std::time::{Duration, Instant};

/// How long a piece should take, at the least and at the most.
const SHORT: Duration = Duration::from_millis(400);
const LONG: Duration = Duration::from_millis(1200);
/// How long after a failure the next piece is tried, at first and at most.
const AGAIN: Duration = Duration::from_secs(1);
const SELDOM: Duration = Duration::from_secs(24 * 3600);
/// How long after a peer has declined, at first and at most: mostly it is just not through with the piece before.
const SOON: Duration = Duration::from_millis(50);
const DECLINED: Duration = Duration::from_secs(30);
/// How long stock may be low without an alarm.
const LOW_FOR: Duration = Duration::from_secs(60);

/// How the making of a kind goes.
#[derive(Debug, Clone, Default)]
pub(super) struct Pace {
    /// It is filled up to its target.
    pub(super) filling: bool,
    /// Runs that are made at once.
    pub(super) piece: u64,
    /// How often it was declined since it last was not.
    pub(super) declined: u32,
    /// How often it was begun and ended badly: a cheater that sees that it will be caught may have fallen silent.
    pub(super) cuts: u32,
    /// When it may be tried again.
    pub(super) again: Option<Instant>,
    /// Since when it is low.
    pub(super) low: Option<Instant>,
}

impl Pace {
    /// A piece was made: the next one is as large as takes about a second.
    pub(super) fn made(&mut self, runs: u64, took: Duration) {
        (self.declined, self.again) = (0, None);
        if took < SHORT {
            self.piece = self.piece.max(runs.saturating_mul(2));
        } else if took > LONG {
            self.piece = (runs / 2).max(1);
        }
    }

    /// A peer has declined: it is asked again, later and later.
    pub(super) fn declined(&mut self) {
        self.declined = self.declined.saturating_add(1);
        self.pause(self.declined, SOON, DECLINED);
    }

    /// A piece was begun and not made: the next one may be later and later, whatever succeeds between, so that who falls silent to hide that
    /// it cheats has few tries.
    pub(super) fn cut(&mut self) {
        self.cuts = self.cuts.saturating_add(1);
        self.pause(self.cuts, AGAIN, SELDOM);
    }

    fn pause(&mut self, times: u32, first: Duration, most: Duration) {
        let pause = first
            .saturating_mul(1 << times.saturating_sub(1).min(20))
            .min(most);
        self.again = Some(Instant::now() + pause);
    }

    /// Whether something may be begun.
    pub(super) fn may_begin(&self) -> Result<(), String> {
        match self.again {
            Some(again) if again > Instant::now() => Err("it has failed a moment ago".into()),
            _ => Ok(()),
        }
    }

    /// Whether it has been low for long.
    pub(super) fn is_low(&mut self, runs: u64, all: u64, now: Instant) -> bool {
        if runs >= all / 4 {
            self.low = None;
            return false;
        }
        let since = *self.low.get_or_insert(now);
        now.duration_since(since) >= LOW_FOR
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_take_about_a_second_and_failures_make_them_rare() {
        let mut pace = Pace::default();
        pace.made(1, Duration::from_millis(1));
        pace.made(2, Duration::from_millis(500));
        assert_eq!(pace.piece, 2);
        pace.made(2, Duration::from_secs(2));
        assert_eq!(pace.piece, 1);
        let pause = |pace: &Pace| {
            pace.again
                .map(|again| again.saturating_duration_since(Instant::now()))
        };
        pace.declined();
        assert!(pause(&pace) <= Some(SOON));
        (0..100).for_each(|_| pace.declined());
        assert!(pause(&pace) <= Some(DECLINED) && pause(&pace) > Some(DECLINED / 2));
        pace.made(1, Duration::ZERO);
        assert!(pace.may_begin().is_ok() && pace.declined == 0);
        // What succeeds between does not make good for what was cut off.
        for _ in 0..20 {
            pace.cut();
            pace.made(1, Duration::ZERO);
        }
        pace.cut();
        assert!(pause(&pace) > Some(SELDOM / 2) && pace.may_begin().is_err());
    }

    #[test]
    fn stock_is_low_after_a_minute_below_a_quarter() {
        let (mut pace, start) = (Pace::default(), Instant::now());
        let later = |seconds| start + Duration::from_secs(seconds);
        assert!(!pace.is_low(24, 100, start) && !pace.is_low(24, 100, later(59)));
        assert!(pace.is_low(24, 100, later(60)));
        assert!(!pace.is_low(25, 100, later(61)) && !pace.is_low(0, 100, later(62)));
        assert!(pace.is_low(0, 100, later(122)));
    }
}
