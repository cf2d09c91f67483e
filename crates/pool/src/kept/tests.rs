//! Pools of gadgets that are nothing but numbers: what is put back, by whom, after what.

use std::fs;
use std::path::{Path, PathBuf};

use cenote_net::{Channel, PartyId, Step};
use cenote_primitives::{Entropy, as_bytes};
use cenote_session::{MESSAGE_FORM, Terms};
use cenote_testkit::kept::{Cut, store, used_once};
use cenote_testkit::{Adversary, Message};
use zeroize::Zeroizing;

use super::journal::{CUT_OFF, NONE, SPENT, Told, Track};
use super::prepared::Prepared;
use super::*;
use crate::{Pool, Tosser, toss};

cenote_session::checks! {
    /// Every check.
    ALL;
    /// The one of coins.
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
    kept: Kept,
    which: Which,
    pool: Pool<Block>,
    /// Coins after which the copy is given up.
    most: usize,
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
    let [a, b] = Cut::never().channels("test", adversary);
    let act = &act;
    let party = |me: u8, mut channel: Box<dyn Channel>| {
        let me = PartyId(me);
        let mut toy = Toy {
            entropy: Entropy::os(),
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
            most: MOST_COINS,
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

#[test]
fn sessions_put_back_what_was_left() {
    let folder = tempfile::tempdir().unwrap();
    let first = whole(folder.path());
    let mut before = 0;
    for number in 1..6 {
        let [a, b] = session(folder.path(), |party| {
            assert!(party.pool.is_full());
            let next = party.kept.next(0);
            party.leave()?;
            Ok((party.which.number, party.which.nonce, next))
        });
        let (a, b) = (a.unwrap(), b.unwrap());
        assert_eq!(a, b);
        assert_eq!((a.0, a.1.0), (first, number));
        assert!(a.1.2 > before, "deliveries are numbered through the pool's life");
        before = a.1.2;
    }
    used_once(folder.path());
}

/// One party has made a copy where the other has not: they put back the same pool all the same, and leave out what may have been drawn
/// since the older one.
#[test]
fn copies_of_different_age_are_of_the_same_pool() {
    let folder = tempfile::tempdir().unwrap();
    let first = whole(folder.path());
    for round in 0..6 {
        let done = session(folder.path(), |party| {
            let gaps = SIZE - party.pool.len();
            party.draw(10)?;
            if party.me.0 == round % 2 {
                party.copy()?;
            }
            party.draw(10)?;
            Ok(gaps)
        });
        let [a, b] = done.map(Result::unwrap);
        assert_eq!(a, b);
        assert_eq!(a.0, first);
        assert!(round == 0 || a.1 > 10, "{}", a.1);
        used_once(folder.path());
    }
    assert_eq!(whole(folder.path()), first);
    used_once(folder.path());
}

/// Parties that were cut off at different places, or in the middle of a check, make another pool; checks are counted.
#[test]
fn pools_of_which_one_party_knows_more_are_given_up() {
    let folder = tempfile::tempdir().unwrap();
    let mut before = whole(folder.path());
    for (checking, ends) in [(false, 0), (true, 1), (true, 2), (false, 2)] {
        let cut = session(folder.path(), |party| {
            party.draw(10)?;
            match (party.me, checking) {
                (GARBLER, false) => party.kept.made(0, Block::ZERO, LOT, MOST_COINS),
                (_, true) => party.kept.checking(),
                _ => Ok(()),
            }
        });
        assert!(cut.iter().all(Result::is_ok));
        let done = session(folder.path(), |party| {
            assert_eq!(party.kept.ends(), ends);
            assert_eq!(warning(ends).is_some(), ends > 0);
            party.leave()
        });
        let [a, b] = done.map(|done| done.unwrap().0);
        assert!(a == b && a != before);
        before = a;
    }
    used_once(folder.path());
}

/// What was noted of a peer in sessions of one security is known in those of another, and in later pools.
#[test]
fn what_is_known_of_a_peer_holds_for_all_settings() {
    let folder = tempfile::tempdir().unwrap();
    let known = |security| {
        let done = session_of(folder.path(), security, None, |party| {
            party.leave()?;
            Ok((party.kept.ends(), party.kept.has_cheated()))
        });
        let [a, b] = done.map(|done| done.unwrap().1);
        assert_eq!(a.0, b.0);
        (a.0, b.1)
    };
    assert_eq!([known(7), known(8)], [(0, false); 2]);
    let cut = session_of(folder.path(), 7, None, |party| {
        if party.me != GARBLER {
            party.kept.note_cheated()?;
        }
        party.kept.checking()
    });
    assert!(cut.iter().all(Result::is_ok));
    // In a pool that was there before, and in a new one.
    assert_eq!([known(8), known(9)], [(1, true); 2]);
    let cut = session_of(folder.path(), 9, None, |party| {
        party.kept.retire();
        Ok(())
    });
    assert!(cut.iter().all(Result::is_ok));
    // Both, whichever pool has it.
    assert_eq!([7, 8, 9].map(known), [(2, true); 3]);
    used_once(folder.path());
}

/// What is used up adds up, and is noted before it is used. A pool that is spent at either party is given up at both, and that is no end of
/// the kind that is counted.
#[test]
fn a_spent_pool_is_renewed() {
    let folder = tempfile::tempdir().unwrap();
    let spend = |amounts: [u64; 2], ends: bool| {
        let done = session(folder.path(), |party| {
            assert_eq!(party.kept.ends(), 0);
            let before = party.kept.before()[0];
            let amount = amounts[party.me.index()];
            (1..=amount).try_for_each(|amount| party.kept.spend(&[amount, 0, 0]))?;
            if ends {
                party.leave()?;
                party.kept.spent(&[amount, 0, 0])?;
            }
            Ok(before)
        });
        let [a, b] = done.map(Result::unwrap);
        assert_eq!(a.0, b.0);
        (a.0, [a.1, b.1])
    };
    let (first, before) = spend([30, 30], true);
    assert_eq!(before, [0, 0]);
    assert_eq!(spend([10, 10], false), (first, [30, 30]));
    // What a session has noted that was cut off counts, up to twice what it used.
    let (same, [before, other]) = spend([30, 20], true);
    assert!(
        same == first && before == other && (40..=50).contains(&before),
        "{before}"
    );
    assert_eq!(spend([MOST_SPENT - before - 29, 0], true).0, first);
    let (second, before) = spend([0, 0], true);
    assert!(second != first && before == [0, 0]);
    let listed = [0, 1].map(|me| store(folder.path(), PartyId(me)).inventory().unwrap().items);
    assert!(listed.iter().all(|items| items.len() == 1));
    used_once(folder.path());
}

/// When nearly all of a pool was touched, the copy is worth nothing: the keys are put back, and an empty pool.
#[test]
fn a_copy_that_is_too_old_is_given_up_but_not_the_pool() {
    let folder = tempfile::tempdir().unwrap();
    let first = whole(folder.path());
    // A coin is good for 20 draws, each of which touches two places at most: of 100, 40 draws leave some.
    for draws in [40, 60] {
        let cut = session(folder.path(), |party| {
            party.most = 3;
            (0..draws).try_for_each(|_| party.draw(1))
        });
        assert!(cut.iter().all(Result::is_ok));
        let done = session(folder.path(), |party| {
            let len = party.pool.len();
            Ok((len, party.leave()?, party.pool.is_full()))
        });
        let [a, b] = done.map(Result::unwrap);
        assert_eq!(a, b);
        assert_eq!((a.0, a.1.2), (first, true));
        assert_eq!(a.1.0 == 0, draws == 60, "{}", a.1.0);
        used_once(folder.path());
    }
}

fn refused(done: [Result<(ItemId, ())>; 2], who: &[u8], words: &[&str]) {
    for (party, done) in (0..).zip(done) {
        match done {
            Err(Error::Storage(told)) if who.contains(&party) => {
                assert!(words.iter().all(|word| told.contains(word)), "{told}");
            }
            other => assert!(!who.contains(&party), "{other:?}"),
        }
    }
}

/// Copies that were put back to an earlier state, changed, or are another pool's are noticed, and both parties make another pool then.
#[test]
fn copies_that_are_not_what_was_kept_are_refused() {
    let again = "run again, to make another";
    for case in 0..3 {
        let folder = tempfile::tempdir().unwrap();
        let first = whole(folder.path());
        let copy = state(folder.path(), 1, first, "numbers");
        let old = std::fs::read(&copy).unwrap();
        whole(folder.path());
        let (who, words): (&[u8], &[&str]) = match case {
            0 => {
                std::fs::write(&copy, old).unwrap();
                (&[0, 1], &["not the same at both parties", again])
            }
            1 => {
                let mut bytes = std::fs::read(&copy).unwrap();
                *bytes.last_mut().unwrap() ^= 1;
                std::fs::write(&copy, bytes).unwrap();
                (&[1], &["state-numbers", again])
            }
            _ => {
                let other = tempfile::tempdir().unwrap();
                let foreign = state(other.path(), 1, whole(other.path()), "numbers");
                std::fs::copy(foreign, &copy).unwrap();
                (&[1], &["state-numbers", again])
            }
        };
        refused(session(folder.path(), Party::leave), who, words);
        let second = whole(folder.path());
        assert!(second != first && second == whole(folder.path()));
        used_once(folder.path());
    }
}

fn copied(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let to = to.join(entry.file_name());
        match entry.file_type().unwrap().is_dir() {
            true => copied(&entry.path(), &to),
            false => drop(std::fs::copy(entry.path(), to).unwrap()),
        }
    }
}

/// The folder of one party, put back whole to an earlier state, is of no use any more: its journal ends earlier than the peer's.
#[test]
fn a_folder_that_was_put_back_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let first = whole(folder.path());
    let (of_party, saved) = (folder.path().join("0"), folder.path().join("saved"));
    copied(&of_party, &saved);
    assert_eq!(whole(folder.path()), first);
    std::fs::remove_dir_all(&of_party).unwrap();
    copied(&saved, &of_party);
    let second = whole(folder.path());
    assert!(second != first);
    used_once(folder.path());
}

/// What was retired is gone, and its end is counted.
#[test]
fn what_is_retired_leaves_its_count() {
    let folder = tempfile::tempdir().unwrap();
    let first = whole(folder.path());
    let done = session(folder.path(), |party| {
        let storage = Error::Storage("full".into());
        party.kept.retire_after(&storage);
        assert!(state(folder.path(), party.me.0, first, "numbers").exists());
        let cheated = Error::cheated(COIN, PartyId(1 - party.me.0), STEP, "a lie");
        party.kept.retire_after(&cheated);
        assert!(!state(folder.path(), party.me.0, first, "numbers").exists());
        party.kept.retire();
        Ok(())
    });
    assert!(done.iter().all(Result::is_ok));
    let done = session(folder.path(), |party| {
        party.leave()?;
        Ok(party.kept.ends())
    });
    let [a, b] = done.map(Result::unwrap);
    assert!(a == b && a.0 != first && a.1 == 1);
}

/// A copy from which something may be drawn by a coin that was given up with the last copy is of no use, and not made.
#[test]
fn a_copy_whose_coins_are_gone_is_not_made() {
    let folder = tempfile::tempdir().unwrap();
    let done = session(folder.path(), |party| {
        for number in 0..4 {
            party.kept.made(0, Block([number, 1]), LOT, 3)?;
        }
        // The third was the last that was noted for the copy.
        for (open, copied) in [(1, None), (2, None), (3, Some(3)), (2, Some(3)), (4, Some(4))] {
            party.kept.copy(0, &[&[0; 16 * SIZE]], open)?;
            assert_eq!(party.kept.copied(0), copied, "{open}");
        }
        Ok(())
    });
    assert!(done.iter().all(Result::is_ok));
}

/// A check that failed ends the pool where nothing can be noted any more, too.
#[test]
fn a_pool_is_retired_though_its_journal_cannot_be_written() {
    let folder = tempfile::tempdir().unwrap();
    let first = whole(folder.path());
    let done = session(folder.path(), |party| {
        let place = |name| state(folder.path(), party.me.0, first, name);
        fs::remove_file(place(JOURNAL)).unwrap();
        fs::create_dir(place(JOURNAL)).unwrap();
        let cheated = Error::cheated(COIN, PartyId(1 - party.me.0), STEP, "a lie");
        party.kept.retire_after(&cheated);
        assert!(!place("numbers").exists());
        fs::remove_dir(place(JOURNAL)).unwrap();
        Ok(())
    });
    assert!(done.iter().all(Result::is_ok));
    assert!(whole(folder.path()) != first);
}

/// What people are told of a pool.
#[test]
fn settings_tell_people_what_a_pool_is() {
    let folder = tempfile::tempdir().unwrap();
    whole(folder.path());
    let listed = store(folder.path(), PartyId(1)).inventory().unwrap().items;
    let shown = Shown::of(&listed[0].item).unwrap();
    assert_eq!((shown.security, shown.numbers), (7, vec![SIZE as u32]));
    assert_eq!(listed[0].item.role, "evaluator");
}

/// What is prepared is there for one session, and only if both parties have it.
#[test]
fn what_is_prepared_is_taken_once_and_by_both() {
    let folder = tempfile::tempdir().unwrap();
    let [one, other] = [[1; 32], [2; 32]];
    let take = |party: &Party, what: &[u8; 32]| {
        let mut space = [0; 2];
        let taken = party.kept.take(what, &mut [&mut space]);
        taken.map(|taken| taken.then_some(space))
    };
    let first = session(folder.path(), |party| {
        for number in 0..6 {
            party.kept.put(&one, &[&[party.me.0], &[number]])?;
        }
        party.kept.put(&other, &[&[party.me.0, 9]])?;
        let taken = take(party, &one)?;
        assert_eq!(taken, Some([party.me.0, 0]));
        party.leave()
    });
    let [first, _] = first.map(|done| done.unwrap().0);
    assert!(state(folder.path(), 0, first, "prepared-1").exists());
    assert!(!state(folder.path(), 0, first, "prepared-0").exists());
    let done = session(folder.path(), |party| {
        assert_eq!((party.kept.prepared(&one), party.kept.prepared(&other)), (5, 1));
        // One party is cut off before it has struck the same off, and one before it has put the same.
        match party.me {
            GARBLER => assert_eq!(take(party, &one)?, Some([0, 1])),
            _ => party.kept.put(&other, &[&[1, 7]])?,
        }
        Ok(())
    });
    assert!(done.iter().all(Result::is_ok));
    assert!(state(folder.path(), 1, first, "prepared-7").exists());
    let done = session(folder.path(), |party| {
        // The other party may not have come so far.
        assert!(party.me == GARBLER || !state(folder.path(), 1, first, "prepared-7").exists());
        assert_eq!(take(party, &other)?, Some([party.me.0, 9]));
        assert_eq!(take(party, &other)?, None);
        assert_eq!(take(party, &one)?, Some([party.me.0, 2]));
        party.kept.put(&other, &[&[party.me.0, 8]])?;
        assert_eq!(take(party, &other)?, Some([party.me.0, 8]));
        assert_eq!(take(party, &[3; 32])?, None);
        Ok(())
    });
    assert!(
        done.iter()
            .all(|done| done.as_ref().is_ok_and(|done| done.0 == first)),
        "{done:?}"
    );
    // One that cannot be read is struck off all the same.
    let damaged = state(folder.path(), 1, first, "prepared-3");
    std::fs::write(&damaged, [0; 40]).unwrap();
    let [_, done] = session(folder.path(), |party| take(party, &one));
    assert!(matches!(done, Err(Error::Storage(_))), "{done:?}");
    let done = session(folder.path(), |party| take(party, &one));
    assert!(
        done.map(Result::unwrap)
            .iter()
            .all(|(_, taken)| taken.unwrap()[1] == 4)
    );
    used_once(folder.path());
    // It is gone with the pool, and there is room for so many only.
    let done = session(folder.path(), |party| {
        for number in party.kept.prepared(&one)..MOST_PREPARED {
            party.kept.journal().prepared.push(Prepared {
                number: (1000 + number as u64).to_le_bytes(),
                what: one,
            });
        }
        assert!(matches!(party.kept.put(&one, &[]), Err(Error::Exhausted(_))));
        party.kept.retire();
        Ok(())
    });
    assert!(done.iter().all(Result::is_ok));
    assert!(!state(folder.path(), 0, first, "prepared-5").exists());
}

/// A peer that tells of more than there are numbers for.
#[test]
fn a_list_without_a_form_is_refused() {
    // The number of the next, which is too far ahead, and how many there are.
    for byte in [3, 9] {
        let folder = tempfile::tempdir().unwrap();
        whole(folder.path());
        let lying = Adversary::with(move |_, _, mut message: Message| {
            if message.body.len() == 16 {
                message.body[byte] = 8;
            }
            vec![message]
        });
        let [_, honest] = session_with(folder.path(), Some(&lying), Party::leave);
        assert_eq!(honest.unwrap_err().check(), Some(MESSAGE_FORM));
    }
}

#[test]
fn journals_read_back() {
    let track = Track {
        first: 7,
        copied: Some(8),
        coins: vec![(Block([1, 2]), 3), (Block([4, 5]), 6)],
    };
    let journal = Journal {
        session: 9,
        ends: 2,
        cheated: true,
        checking: true,
        retired: false,
        tracks: [track, Track::default()],
        numbered: 5,
        spent: [6, 7, u64::MAX],
        prepared: vec![
            Prepared {
                number: [3; 8],
                what: [4; 32],
            };
            2
        ],
    };
    let bytes = journal.encode();
    assert_eq!(Journal::decode(&bytes), Some(journal));
    let whole = |cut: usize| bytes.len() - cut == 40 || bytes.len() - cut == 80;
    for cut in (0..bytes.len()).filter(|cut| !whole(*cut)) {
        assert_eq!(Journal::decode(&bytes[..cut]), None);
    }
    assert_eq!(Journal::decode(&[&bytes[..], &[0]].concat()), None);
}

/// What is common to two copies, and when nothing is.
#[test]
fn the_older_copy_counts_if_the_newer_journal_reaches_back() {
    let told = |first: u64, copied: u64, next: u64| Told {
        id: [1; 32],
        session: 0,
        ended: 0,
        deliveries: [[first, copied, next], [0, NONE, 0]],
    };
    let newer = told(4, 8, 12);
    assert_eq!(newer.common(&told(0, 5, 12)), Some([Some(5), None]));
    assert_eq!(told(0, 5, 12).common(&newer), Some([Some(5), None]));
    assert_eq!(
        newer.common(&told(0, 3, 12)),
        None,
        "it has no coin of delivery 3"
    );
    assert_eq!(newer.common(&told(0, 5, 13)), None);
    assert_eq!(newer.common(&told(0, NONE, 12)), None);
    assert_eq!(newer.common(&told(0, 5, 4)), None);
    for ended in [CUT_OFF, SPENT] {
        let ended = Told { ended, ..newer };
        assert_eq!(ended.common(&newer).or(newer.common(&ended)), None);
    }
    let filling = told(0, NONE, 2);
    assert_eq!(filling.common(&filling), Some([None, None]));
}
