//! Programs whose circuits are found out as they run.

use crate::Order;

/// A program whose circuits are found out as it runs.
#[derive(Default)]
pub(super) struct Open {
    /// AND gates that are announced and have not been run.
    pub(super) ands: u64,
    /// What was used so far.
    pub(super) used: Order,
    /// Calls of `generate` so far.
    calls: u64,
}

impl Open {
    /// Most items of a kind that are made beyond what is asked for because as many were used before.
    const MORE: u64 = 4096;

    /// What there should be when there is not enough `left` for `order`: of what lacks as much as was used so far, so that
    /// there are few calls whoever asks for a little at a time; of AND gates what was announced, up to `ahead`.
    pub(super) fn soon(&self, order: &Order, left: &Order, ahead: u64) -> Order {
        let (asked, left, used) = (order.counts(), left.counts(), self.used.counts());
        let mut soon: [u64; 6] = std::array::from_fn(|kind| match asked[kind] > left[kind] {
            true => used[kind].min(Self::MORE),
            false => 0,
        });
        if left[0] == 0 || left[0] < asked[0] {
            soon[0] = self.ands.min(ahead);
        }
        Order::from_counts(soon)
    }

    /// How many calls would share the error if each had as much of it as the next one: call `k` has a share of `1/k(k+1)`, so
    /// that all of them, however many there are, have no more than 1.
    pub(super) fn next_call(&mut self) -> u64 {
        self.calls += 1;
        self.calls.saturating_mul(self.calls + 1)
    }
}
