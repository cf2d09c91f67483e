//! A coin of two parties, which neither can choose: the first commits to its share before the second tells its own.

use std::fmt;

use cenote_net::{Channel, Step};
use cenote_primitives::{Block, Entropy, as_bytes};
use cenote_session::{Check, Error, Result};
use subtle::ConstantTimeEq;

/// Bytes of a party's share.
pub const SHARE_BYTES: usize = 16;

/// Bytes of what hides a share that is committed to.
const NONCE_BYTES: usize = 32;

/// The hash that commits to a share: of the context, the nonce and the share.
fn commitment(context: &[u8], opening: &[u8]) -> [u8; blake3::OUT_LEN] {
    let mut hasher = blake3::Hasher::new_derive_key("cenote 2026 pool coin commitment");
    hasher
        .update(&(context.len() as u64).to_le_bytes())
        .update(context);
    *hasher.update(opening).finalize().as_bytes()
}

/// The coin of two shares.
fn coin(context: &[u8], first: &[u8], second: &[u8]) -> Block {
    let mut hasher = blake3::Hasher::new_derive_key("cenote 2026 pool coin");
    hasher
        .update(&(context.len() as u64).to_le_bytes())
        .update(context);
    let mut bytes = [0; SHARE_BYTES];
    hasher
        .update(first)
        .update(second)
        .finalize_xof()
        .fill(&mut bytes);
    Block::from_bytes(bytes)
}

/// The party that commits to its share: the one whose gadgets the coin decides on. It commits when it has sent the last of them.
pub struct Tosser {
    opening: [u8; NONCE_BYTES + SHARE_BYTES],
}

impl Tosser {
    /// Commits to a fresh share for the coin of `context`, which no other coin of the session has.
    ///
    /// # Errors
    /// What the channel says.
    pub fn commit(
        channel: &mut dyn Channel,
        step: Step,
        entropy: &mut Entropy,
        context: &[u8],
    ) -> Result<Self> {
        let opening = entropy.bytes();
        channel.send(step, &commitment(context, &opening))?;
        channel.flush()?;
        Ok(Self { opening })
    }

    /// Takes the peer's share, and opens this one's.
    ///
    /// # Errors
    /// What the channel says.
    pub fn toss(self, channel: &mut dyn Channel, step: Step, context: &[u8]) -> Result<Block> {
        let mut theirs = [0; SHARE_BYTES];
        channel.recv(step, &mut theirs)?;
        channel.send(step, &self.opening)?;
        channel.flush()?;
        Ok(coin(context, &self.opening[NONCE_BYTES..], &theirs))
    }
}

impl fmt::Debug for Tosser {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Tosser")
    }
}

/// The other party: it must have received everything that the coin is to decide on.
///
/// # Errors
/// `check` if the peer opens another share than the one that it committed to; what the channel says.
pub fn toss(
    channel: &mut dyn Channel,
    step: Step,
    entropy: &mut Entropy,
    context: &[u8],
    check: Check,
) -> Result<Block> {
    let mut committed = [0; blake3::OUT_LEN];
    channel.recv(step, &mut committed)?;
    let ours = entropy.block();
    channel.send(step, as_bytes(&[ours]))?;
    let mut opening = [0; NONCE_BYTES + SHARE_BYTES];
    channel.recv(step, &mut opening)?;
    if !bool::from(commitment(context, &opening).ct_eq(&committed)) {
        let detail = "it opens another coin than the one that it committed to";
        return Err(Error::cheated(check, channel.peer(), step, detail));
    }
    Ok(coin(context, &opening[NONCE_BYTES..], as_bytes(&[ours])))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use cenote_net::{ChannelOptions, Label, PartyId, memory_pair};
    use cenote_testkit::{Adversary, Perturbation, Target};

    use super::*;

    cenote_session::checks! {
        /// Every check.
        ALL;
        /// The one under test.
        COIN = 5, "coin";
    }
    const STEP: Step = Step {
        code: 7,
        name: "toss",
    };

    /// Both parties' coins, the first one's messages behind `adversary`.
    fn tossed(adversary: Option<&Adversary>, contexts: [&'static [u8]; 2]) -> (Result<Block>, Result<Block>) {
        let options = ChannelOptions::with_timeout(Duration::from_secs(30));
        let (to_second, mut to_first) = memory_pair(PartyId(0), PartyId(1), options);
        let mut to_second: Box<dyn Channel> = Box::new(to_second);
        if let Some(adversary) = adversary {
            to_second = Box::new(adversary.wrap(Label::from("main"), to_second));
        }
        std::thread::scope(|scope| {
            let first = scope.spawn(move || {
                let mut entropy = Entropy::for_tests(1);
                let tosser = Tosser::commit(&mut *to_second, STEP, &mut entropy, contexts[0])?;
                tosser.toss(&mut *to_second, STEP, contexts[0])
            });
            let mut entropy = Entropy::for_tests(2);
            let second = toss(&mut to_first, STEP, &mut entropy, contexts[1], COIN);
            drop(to_first);
            (first.join().unwrap(), second)
        })
    }

    #[test]
    fn both_get_the_same_coin_and_another_each_time() {
        let (first, second) = tossed(None, [b"a", b"a"]);
        let coin = first.unwrap();
        assert_eq!(coin, second.unwrap());
        assert_ne!(coin, tossed(None, [b"b", b"b"]).0.unwrap());
    }

    #[test]
    fn a_share_that_was_not_committed_to_is_noticed() {
        // What is changed: the commitment, the nonce, the share.
        for (message, byte) in [(0, 0), (1, 0), (1, NONCE_BYTES)] {
            let mut seen = 0;
            let adversary = Adversary::with(move |_, _, mut sent| {
                if seen == message {
                    sent.body[byte] ^= 1;
                }
                seen += 1;
                vec![sent]
            });
            let error = tossed(Some(&adversary), [b"a", b"a"]).1.unwrap_err();
            assert_eq!(error.check(), Some(COIN), "{error}");
        }
        // A coin of another context is another coin.
        let error = tossed(None, [b"a", b"b"]).1.unwrap_err();
        assert_eq!(error.check(), Some(COIN), "{error}");
    }

    #[test]
    fn a_message_of_another_length_is_refused() {
        for perturbation in [Perturbation::Truncate(1), Perturbation::Extend(1)] {
            for occurrence in 0..2 {
                let adversary =
                    Adversary::new(Target::step(STEP).occurrence(occurrence), perturbation.clone());
                let error = tossed(Some(&adversary), [b"a", b"a"]).1.unwrap_err();
                assert_eq!(adversary.deviations(), 1);
                assert!(error.to_string().contains("toss"), "{error}");
            }
        }
    }
}
