//! Pools of gadgets that are nothing but numbers: what is put back, by whom, after what.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cenote_net::{Channel, PartyId, Step};
use cenote_primitives::{Block, Entropy, as_bytes};
use cenote_session::{Error, MESSAGE_FORM, Result, Terms};
use cenote_store::ItemId;
use cenote_testkit::kept::{Cut, store, used_once};
use cenote_testkit::{Adversary, Message};
use zeroize::Zeroizing;

use super::journal::{CUT_OFF, JOURNAL, Journal, NONE, Prepared, SPENT, Told, Track};
use super::*;
use crate::{Pool, Tosser, toss};

cenote_session::checks! {
    /// Every check.
    ALL;
    COIN = 5, "coin";
}

const STEP: Step = Step {
    code: 0x7003,
    name: "test",
};
const GARBLER: PartyId = PartyId(0);
const SIZE: usize = 100;
const TOGETHER: usize = 2;
const LOT: usize = 40;
const MOST_SPENT: u64 = 100;

/// The number of numbers is all that there is.
struct Toy {
    entropy: Entropy,
    session: String,
    me: PartyId,
    security: u32,
}

impl Keep for Toy {
    const PROTOCOL: &'static str = "toy";
    const COPIES: &'static [&'static str] = &["numbers"];
    const STEP: Step = STEP;
    const PREPARES: bool = true;
    type Sizes = u32;
    type Base = Block;

    fn security(&self) -> u32 {
        self.security
    }

    fn garbler(&self) -> PartyId {
        GARBLER
    }

    fn session(&mut self) -> &mut String {
        &mut self.session
    }

    fn entropy(&mut self) -> &mut Entropy {
        &mut self.entropy
    }

    fn numbers(sizes: &u32) -> Vec<u32> {
        vec![*sizes]
    }

    fn sizes(&self, numbers: &[u32]) -> Option<u32> {
        numbers.first().copied()
    }

    fn terms(sizes: &u32) -> Terms {
        vec![("toys".into(), sizes.to_string())]
    }

    fn is_spent(&self, _: &u32, spent: &Spent) -> bool {
        spent[0] > MOST_SPENT
    }

    fn shapes(&self, sizes: &u32) -> Vec<Shape> {
        let size = *sizes as usize;
        vec![Shape {
            size,
            together: TOGETHER,
            blocks: size,
        }]
    }

    fn number(_: &Shape, copy: &[Block], place: usize) -> u64 {
        copy[place].0[1]
    }

    fn establish(&mut self, channel: &mut dyn Channel, _: &u32) -> Result<Block> {
        coin(self.me, &mut self.entropy, channel)
    }

    fn coin(base: &Block) -> Block {
        *base
    }

    fn encode(base: &Block) -> Zeroizing<Vec<u8>> {
        Zeroizing::new(base.to_bytes().to_vec())
    }

    fn decode(&self, bytes: &[u8], _: &u32) -> Option<Block> {
        Some(Block::from_bytes(bytes.try_into().ok()?))
    }
}

fn coin(me: PartyId, entropy: &mut Entropy, channel: &mut dyn Channel) -> Result<Block> {
    match me {
        GARBLER => Tosser::commit(channel, STEP, entropy, b"")?.toss(channel, STEP, b""),
        _ => toss(channel, STEP, entropy, b"", COIN),
    }
}

/// A party of a session.
struct Party {
    me: PartyId,
    entropy: Entropy,
    channel: Box<dyn Channel>,
    kept: KeptPool,
    which: Which,
    pool: Pool<Block>,
    /// Coins after which the copy is given up.
    most: u64,
}

impl Party {
    fn deliver(&mut self) -> Result<()> {
        self.kept.checking()?;
        let coin = coin(self.me, &mut self.entropy, self.channel.as_mut())?;
        let first = self.kept.next(0) * LOT as u64;
        self.kept.made(0, coin, LOT, self.most)?;
        let numbers = (first..).take(LOT).map(|number| Block([0, number]));
        self.pool
            .refill(Zeroizing::new(numbers.collect()), (0..LOT as u32).collect(), coin);
        Ok(())
    }

    /// Draws so many times.
    fn draw(&mut self, count: usize) -> Result<()> {
        while self.pool.left() < count * TOGETHER {
            self.deliver()?;
        }
        let mut drawn = Vec::new();
        self.pool.draw(count, &mut drawn).unwrap();
        self.kept.used(drawn.iter().map(|record| record.0[1]))
    }

    /// Copies the pool; as what is left in the buffer may yet be drawn.
    fn copy(&mut self) -> Result<()> {
        let open = self.kept.next(0) - self.pool.pending() as u64;
        self.kept.copy(0, &[as_bytes(self.pool.records())], open)
    }

    /// The end of a session.
    fn leave(&mut self) -> Result<()> {
        self.draw(5)?;
        self.kept
            .copy(0, &[as_bytes(self.pool.records())], self.kept.next(0))
    }
}

/// A session of both parties, which each do something. Their pool's name, and what they did.
fn session<T: Send>(folder: &Path, act: impl Fn(&mut Party) -> Result<T> + Sync) -> [Result<(ItemId, T)>; 2] {
    session_with(folder, None, act)
}

/// The same with an adversary between what the garbler sends and the evaluator.
fn session_with<T: Send>(
    folder: &Path,
    adversary: Option<&Adversary>,
    act: impl Fn(&mut Party) -> Result<T> + Sync,
) -> [Result<(ItemId, T)>; 2] {
    session_of(folder, 7, adversary, act)
}

/// The same with another security.
fn session_of<T: Send>(
    folder: &Path,
    security: u32,
    adversary: Option<&Adversary>,
    act: impl Fn(&mut Party) -> Result<T> + Sync,
) -> [Result<(ItemId, T)>; 2] {
    session_over(folder, security, &Cut::never(), adversary, act)
}

/// The same, which may be cut off.
fn session_over<T: Send>(
    folder: &Path,
    security: u32,
    cut: &Arc<Cut>,
    adversary: Option<&Adversary>,
    act: impl Fn(&mut Party) -> Result<T> + Sync,
) -> [Result<(ItemId, T)>; 2] {
    let [a, b] = cut.channels("test", adversary);
    let act = &act;
    let party = |me: u8, mut channel: Box<dyn Channel>| {
        let me = PartyId(me);
        let mut toy = Toy {
            entropy: Entropy::os(),
            session: "test".into(),
            me,
            security,
        };
        let hold = store(folder, me).hold()?;
        let Opened {
            kept, copies, which, ..
        } = open(me, channel.as_mut(), &mut toy, &(SIZE as u32), hold)?;
        let [copy, _] = copies;
        let pool = match copy {
            Some((records, gaps)) => Pool::restored([SIZE, 1, TOGETHER], records, gaps),
            None => Pool::new(SIZE, 1, TOGETHER),
        };
        let mut party = Party {
            me,
            entropy: toy.entropy,
            channel,
            kept,
            which,
            pool,
            most: u64::MAX,
        };
        let done = act(&mut party)?;
        Ok((party.kept.id(), done))
    };
    std::thread::scope(|scope| {
        let parties = [(0, a), (1, b)].map(|(me, channel)| scope.spawn(move || party(me, channel)));
        parties.map(|party| party.join().expect("no party panics"))
    })
}

/// A session that ends as it should: its pool.
fn whole(folder: &Path) -> ItemId {
    let [a, b] = session(folder, Party::leave).map(Result::unwrap);
    assert_eq!(a, b);
    a.0
}

fn state(folder: &Path, me: u8, id: ItemId, name: &str) -> PathBuf {
    folder
        .join(me.to_string())
        .join(id.to_string())
        .join(format!("state-{name}"))
}

mod counted;
mod prepared;
mod restored;
mod told;
