//! What it takes to sort or compact records in one way or another, about, from which the way is chosen. All parties choose alike, since everything that counts
//! is public and the same at all of them.

use cenote_circuit::library::Key;

use crate::choice::AND;
use crate::session::Session;
use crate::table::order::bits_of_places;

/// Messages one after another to move rows and check them.
const MOVE: u64 = 9;
/// Messages one after another to verify a comparison and open it.
const OPEN: u64 = 7;

/// What there is to be sorted or compacted, in a session whose protocol moves rows in secret orders.
#[derive(Clone, Copy)]
pub(super) struct Work {
    records: u64,
    width: u64,
    /// How long a message takes, if levels of ANDs take one.
    way: u64,
    /// Whether networks are not used.
    no_networks: bool,
}

impl Work {
    /// What there is to be done with `records` records of `width` bits; nothing if the session does not move rows in secret orders.
    pub(super) fn new(session: &Session, records: usize, width: u32) -> Option<Self> {
        session.shuffles().then(|| Self {
            records: records as u64,
            width: width.into(),
            way: session
                .way()
                .map_or(0, |way| u64::try_from(way.as_nanos()).unwrap_or(u64::MAX)),
            no_networks: session.uses_no_networks(),
        })
    }

    /// Bits that count the records.
    pub(super) fn bits(self) -> u64 {
        bits_of_places(self.records as usize).into()
    }

    /// What a network takes, which is too much if none is to be used.
    fn by_network(self, time: u64) -> u64 {
        if self.no_networks { u64::MAX } else { time }
    }

    /// So many ANDs, in so many levels one after another.
    fn ands(self, ands: u64, levels: u64) -> u64 {
        let each = AND.as_nanos() as u64;
        ands.saturating_mul(each)
            .saturating_add(levels.saturating_mul(self.way))
    }

    /// `times` times so many comparisons of `key` bits side by side, with other levels between them: by few ANDs or in few levels.
    fn comparisons(self, times: u64, side_by_side: u64, key: u64, others: u64) -> u64 {
        let all = times.saturating_mul(side_by_side).saturating_mul(key);
        let few = self.ands(all, times * (key + others));
        let shallow = self.ands(
            all.saturating_mul(2),
            times * (u64::from(key.ilog2()) + 1 + others),
        );
        few.min(shallow)
    }

    /// Records of so many bits moved once: as many ANDs as take as many bytes.
    fn moved(self, width: u64) -> u64 {
        let each = 27 + width * 28 / 100;
        self.ands(self.records * each, MOVE)
    }

    /// Sorted by a network.
    pub(super) fn network(self, key: Key) -> u64 {
        let bits = self.bits();
        let layers = bits * (bits + 1) / 2;
        let side_by_side = self.records / 2;
        let exchanged = self.ands((layers * side_by_side).saturating_mul(self.width), 0);
        let compared = self.comparisons(layers, side_by_side, key.width.max(1) as u64, 1);
        self.by_network(compared.saturating_add(exchanged))
    }

    /// Sorted in a secret order, by comparisons that are opened.
    pub(super) fn order(self, key: Key) -> u64 {
        self.compared_in_order(key, self.records * self.bits() * 11 / 10)
    }

    /// So many comparisons in the steps of a sort in a secret order, for which keys are moved, and then all of it.
    fn compared_in_order(self, key: Key, compared: u64) -> u64 {
        let bits = self.bits();
        let key = key.width as u64 + bits;
        let steps = bits * 28 / 10 + 1;
        self.comparisons(steps, compared / steps, key, OPEN)
            .saturating_add(self.moved(key))
            .saturating_add(self.moved(self.width))
    }

    /// Two halves, both sorted by keys of this width, merged with numbers of the records, which then are opened in a secret order.
    pub(super) fn merge(self) -> u64 {
        let bits = self.bits();
        let key = self.width + bits;
        let exchanged = self.ands((self.records / 2 * bits).saturating_mul(key), 0);
        let verified = self.ands(self.records.saturating_mul(self.width), bits);
        self.comparisons(bits, self.records / 2, key, 1)
            .saturating_add(exchanged)
            .saturating_add(verified)
            .saturating_add(self.moved(bits))
            .saturating_add(OPEN * self.way)
    }

    /// Payloads of this width looked up in two halves by a merging network and back, whose records, besides theirs, are `sorted_first` by networks.
    pub(super) fn looking_up(self, key: Key, sorted_first: u64) -> u64 {
        let bits = self.bits();
        let each = key.width as u64 + 2 * self.width;
        let exchanged = self.ands((self.records / 2 * bits).saturating_mul(each), bits);
        let compared = self.comparisons(bits, self.records / 2, key.width.max(1) as u64, 1);
        self.by_network(compared.saturating_add(exchanged).saturating_add(sorted_first))
    }

    /// The same in a secret order, which takes `order`.
    pub(super) fn matching(self, key: Key, order: u64) -> u64 {
        order
            .saturating_add(self.moved(key.width as u64 + self.width))
            .saturating_add(self.moved(self.width))
    }

    /// The `count` least by a network: all blocks of as many are sorted, and merged two by two.
    pub(super) fn least_network(self, key: Key, count: usize) -> u64 {
        let block = Self {
            records: count as u64,
            ..self
        };
        let (own, all) = (block.bits(), self.bits());
        let layers = own * (own + 1) / 2 + all.saturating_sub(own) * (own + 1);
        let exchanged = (self.records / 2).saturating_mul(own * (own + 1) / 2) + self.records * (own + 1) / 2;
        let side_by_side = exchanged / layers.max(1);
        let compared = self.comparisons(layers, side_by_side, key.width.max(1) as u64, 1);
        self.by_network(compared.saturating_add(self.ands(exchanged.saturating_mul(self.width), 0)))
    }

    /// The `count` least in a secret order.
    pub(super) fn least_order(self, key: Key, count: usize) -> u64 {
        let own = Self {
            records: count as u64,
            ..self
        };
        self.compared_in_order(key, 3 * self.records + own.records * own.bits() * 11 / 10)
    }

    /// Compacted by a network.
    pub(super) fn compacting_network(self) -> u64 {
        self.compacting_blocks(self.records as usize)
    }

    /// Compacted by a network in blocks of so many records.
    pub(super) fn compacting_blocks(self, block: usize) -> u64 {
        let bits = (block.max(1) as u64).next_power_of_two().ilog2().into();
        let exchanged = self.ands(self.records / 2 * bits * self.width, bits);
        self.by_network(exchanged.saturating_add(self.counting()))
    }

    /// Compacted in a secret order, whose places are opened.
    pub(super) fn compacting_order(self) -> u64 {
        let bits = self.bits();
        let places = self.ands(self.records * 3 * bits, 3 * bits + OPEN);
        self.counting()
            .saturating_add(places)
            .saturating_add(self.moved(self.width + bits))
    }

    /// Counts of the chosen records before each.
    fn counting(self) -> u64 {
        let bits = self.bits();
        self.ands(self.records * 2 * bits, bits * bits)
    }
}
