//! Short blocks: the lowest bits of what is sent and compared of leaky ANDs, side by side, lowest byte first.

use cenote_net::{Channel, Step};
use cenote_primitives::Block;
use cenote_session::Result;
use zeroize::{Zeroize, Zeroizing};

/// Bytes of a block.
const WHOLE: usize = size_of::<Block>();

/// Short blocks, of which each is so many bytes. They are no blocks: nothing that must have all of its bits can be made of them, and only leaky ANDs
/// send them.
pub(super) struct Short {
    width: usize,
    bytes: Zeroizing<Vec<u8>>,
}

impl Short {
    /// None yet, of so many bits each.
    ///
    /// # Panics
    /// If they are no whole number of bytes up to a block's.
    pub(super) fn new(bits: u32) -> Self {
        let width = bits as usize / 8;
        assert!(bits.is_multiple_of(8) && (1..=WHOLE).contains(&width));
        Self {
            width,
            bytes: Zeroizing::default(),
        }
    }

    /// The lowest bits of these blocks, in place of what was here.
    pub(super) fn cut(&mut self, blocks: &[Block]) {
        let end = blocks.len() * self.width;
        self.make_room(blocks.len());
        // Each whole, and over what is too much of the one before.
        for (at, block) in blocks.iter().enumerate() {
            let to = &mut self.bytes[at * self.width..][..WHOLE];
            to.copy_from_slice(&block.to_bytes());
        }
        self.bytes[end..].zeroize();
        self.bytes.truncate(end);
    }

    /// Adds each to one of `sums` if bit 0 of the same of `bits` is 1.
    ///
    /// # Panics
    /// If there are not as many.
    pub(super) fn add_if(&mut self, bits: &[Block], sums: &mut [Block]) {
        let count = sums.len();
        assert!(bits.len() == count && self.bytes.len() == count * self.width);
        self.make_room(count);
        let mask = u128::MAX >> (8 * (WHOLE - self.width));
        for (at, (sum, bit)) in sums.iter_mut().zip(bits).enumerate() {
            let bytes = &self.bytes[at * self.width..][..WHOLE];
            let bytes = u128::from_le_bytes(bytes.try_into().expect("as many as a block has"));
            let chosen = (u64::from_le(bit.0[0]) & 1).wrapping_neg();
            let [low, high] = [bytes & mask, (bytes & mask) >> 64].map(|half| half as u64 & chosen);
            *sum ^= Block([low.to_le(), high.to_le()]);
        }
        self.bytes.truncate(count * self.width);
    }

    /// Room for so many, and for a block at the place of the last.
    fn make_room(&mut self, count: usize) {
        let bytes = count * self.width + WHOLE - self.width;
        if self.bytes.capacity() < bytes {
            // Growing it would leave the old copy in memory unwiped.
            let mut larger = Zeroizing::new(Vec::with_capacity(bytes));
            larger.extend_from_slice(&self.bytes);
            self.bytes = larger;
        }
        self.bytes.resize(bytes, 0);
    }

    /// Sends them.
    pub(super) fn send(&self, channel: &mut dyn Channel, step: Step) -> Result<()> {
        channel.send(step, &self.bytes)?;
        Ok(channel.flush()?)
    }

    /// Receives so many, in place of what was here.
    pub(super) fn receive(&mut self, channel: &mut dyn Channel, step: Step, count: usize) -> Result<()> {
        self.make_room(count);
        self.bytes.truncate(count * self.width);
        Ok(channel.recv(step, &mut self.bytes)?)
    }

    /// Hashes them.
    pub(super) fn hash(&self, hasher: &mut blake3::Hasher) {
        hasher.update(&self.bytes);
    }
}

#[cfg(test)]
mod tests;
