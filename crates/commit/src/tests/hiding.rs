//! What the receiver has says nothing of the messages.

use cenote_primitives::as_bytes;

use super::*;

#[test]
fn the_receivers_view_fits_every_message() {
    let mut entropy = Entropy::for_tests(20);
    let pair = pair(&mut entropy);
    let made = pair.commit(0, 512);
    // Whatever the message, there is a share of the committer's with which the receiver would accept it. The unwatched
    // bits of that share are determined by the message, the watched ones are those the receiver has.
    let others: Vec<Block> = (0..512).map(|_| entropy.block()).collect();
    let shares: Vec<Share> = made
        .mine
        .iter()
        .zip(&others)
        .map(|(&mine, &other)| mine ^ and(pair.choices, codeword(other)))
        .collect();
    assert_eq!(
        pair.receiver
            .verify_each(&others, &open_each(&shares), &made.mine),
        Ok(())
    );
    for (a, b) in shares.iter().zip(&made.theirs) {
        let unchosen = Share(pair.choices.0.map(|word| !word));
        assert_eq!(
            and(*a, unchosen),
            and(*b, unchosen),
            "where it watches s^0, it has s^0"
        );
    }
}

#[test]
fn watched_bits_and_corrections_are_balanced_whatever_the_message() {
    const COLUMNS: usize = 8192;
    let mut entropy = Entropy::for_tests(21);
    let pair = pair(&mut entropy);
    let mut views = Vec::new();
    for (run, chosen) in [Block::ZERO, Block([u64::MAX; 2])].into_iter().enumerate() {
        let mut made = pair.commit(100 * run as u64, COLUMNS);
        let differences: Vec<Block> = made.messages.iter().map(|&m| m ^ chosen).collect();
        pair.receiver.adjust(&mut made.mine, &differences);
        views.push((made.mine, made.corrections, differences));
    }
    // Six standard deviations of a fair coin's count.
    let fair = |ones: u32, of: usize| (f64::from(ones) - of as f64 / 2.0).abs() < 3.0 * (of as f64).sqrt();
    for (mine, corrections, differences) in &views {
        for i in 0..CODE_BITS {
            let ones = mine.iter().filter(|share| bit(share, i)).count() as u32;
            assert!(fair(ones, COLUMNS), "position {i}: {ones}");
        }
        for bytes in [corrections, as_bytes(differences)] {
            let ones = bytes.iter().map(|byte| byte.count_ones()).sum();
            assert!(fair(ones, 8 * bytes.len()), "{ones} of {} bytes", bytes.len());
        }
    }
}

#[test]
fn the_answer_is_blinded_in_every_row() {
    let mut entropy = Entropy::for_tests(22);
    let pair = pair(&mut entropy);
    let batch = |first| Batch { first, columns: 512 };
    let alpha = entropy.block();
    let [a, b] = [1, 2].map(|blind| pair.committer.answer(&[batch(0), batch(blind)], alpha));
    for (row, (a, b)) in a.chunks(16).zip(b.chunks(16)).enumerate() {
        assert_ne!(a, b, "row {row}");
    }
}
