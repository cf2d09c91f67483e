//! What the watcher has says nothing of the other symbols.

use cenote_primitives::gf256::{inverse, mul};

use super::*;

/// The rank of the rows.
fn rank(mut rows: Vec<Vec<u8>>) -> usize {
    let mut rank = 0;
    for column in 0..rows[0].len() {
        let Some(pivot) = (rank..rows.len()).find(|&row| rows[row][column] != 0) else {
            continue;
        };
        rows.swap(rank, pivot);
        let (done, rest) = rows.split_at_mut(rank + 1);
        let scale = inverse(done[rank][column]);
        for row in rest {
            let factor = mul(row[column], scale);
            for (a, &b) in row.iter_mut().zip(&done[rank]) {
                *a ^= mul(factor, b);
            }
        }
        rank += 1;
    }
    rank
}

/// The map from labels to their hashes and any 16 symbols that are not watched is one to one: whatever the hash, all values of these 16 are
/// possible, each in as many labels.
#[test]
fn every_value_of_hidden_symbols_fits_the_hash() {
    let mut entropy = Entropy::for_tests(120);
    for code in codes() {
        let pair = Pair::new(&code, &mut entropy);
        let k = code.message();
        // Labels with a one in one symbol: their hashes are the columns of the map.
        let mut units = vec![Block::ZERO; k * code.label_blocks()];
        (0..k).for_each(|symbol| as_bytes_mut(&mut units)[symbol * k + symbol] = 1);
        let hashes = pair.hash(&units);
        let columns: Vec<&[u8]> = as_bytes(&hashes).chunks(code.watched()).collect();
        assert_eq!(
            rank(columns.iter().map(|column| column.to_vec()).collect()),
            k - 16
        );
        // Symbols of the label itself.
        let hidden: Vec<usize> = (0..k).filter(|&symbol| !pair.watches(symbol)).collect();
        for hidden in [&hidden[..16], &hidden[hidden.len() - 16..]] {
            let extended = columns.iter().enumerate().map(|(symbol, column)| {
                let own = hidden.iter().map(|&h| u8::from(h == symbol));
                column.iter().copied().chain(own).collect()
            });
            assert_eq!(rank(extended.collect()), k);
        }
    }
}

/// Whatever the labels are, each bit of the messages is a fair coin.
#[test]
fn messages_are_balanced_whatever_the_labels() {
    const LABELS: usize = 4096;
    let mut entropy = Entropy::for_tests(121);
    let pair = Pair::new(&usual(), &mut entropy);
    // Six standard deviations of a fair coin's count.
    let fair = |ones: u32, of: usize| (f64::from(ones) - of as f64 / 2.0).abs() < 3.0 * (of as f64).sqrt();
    let blocks = LABELS * pair.code.label_blocks();
    let chosen = [Block::ZERO, Block([u64::MAX; 2])].map(|block| vec![block; blocks]);
    let chosen = chosen.map(|labels| pair.choose(0, &labels).1);
    let (_, labels, random) = pair.make(0, LABELS);
    let ones = as_bytes(&labels).iter().map(|byte| byte.count_ones()).sum();
    assert!(fair(ones, 128 * blocks), "{ones} of labels");
    for (message, rows) in [(&chosen[0], 88), (&chosen[1], 88), (&random, 40)] {
        for row in 0..rows {
            let symbols = message.chunks(UNIT).skip(row).step_by(rows);
            let ones = symbols.flatten().map(|symbol| symbol.count_ones()).sum();
            assert!(fair(ones, 8 * LABELS), "row {row} of {rows}: {ones}");
        }
    }
}
