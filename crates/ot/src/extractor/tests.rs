use cenote_primitives::{Entropy, Sampler, as_bytes_mut};

use super::*;

/// Row `j` of G, as the strings of single columns show it.
fn generator() -> Vec<Row> {
    let extractor = Extractor::new();
    let mut rows = vec![Row::default(); EXTRACTED];
    for column in 0..WIDTH {
        let mut unit = Row::default();
        unit[column / 64] = 1 << (column % 64);
        let string = extractor.string(&unit, false).0.map(u64::from_le);
        for (j, row) in rows.iter_mut().enumerate() {
            let bit = string[(j + 1) / 64] >> ((j + 1) % 64) & 1;
            row[column / 64] |= bit << (column % 64);
        }
    }
    rows
}

fn weight(row: &Row) -> usize {
    row.iter().map(|word| word.count_ones() as usize).sum()
}

fn add(to: &mut Row, row: &Row) {
    (0..ROW_WORDS).for_each(|word| to[word] ^= row[word]);
}

/// Brings `rows` to reduced echelon form with pivots in the order of `columns`, and returns the rank.
fn eliminate(rows: &mut [Row], columns: impl IntoIterator<Item = usize>) -> usize {
    let mut rank = 0;
    for column in columns {
        let bit = |row: &Row| row[column / 64] >> (column % 64) & 1 == 1;
        let Some(pivot) = (rank..rows.len()).find(|&i| bit(&rows[i])) else {
            continue;
        };
        rows.swap(rank, pivot);
        let pivot = rows[rank];
        for (i, row) in rows.iter_mut().enumerate() {
            if i != rank && bit(row) {
                add(row, &pivot);
            }
        }
        rank += 1;
    }
    rank
}

fn shuffled(mut items: Vec<usize>, sampler: &mut Sampler) -> Vec<usize> {
    for i in (1..items.len()).rev() {
        items.swap(i, sampler.below(i as u32 + 1) as usize);
    }
    items
}

fn support(row: &Row) -> Vec<usize> {
    (0..WIDTH)
        .filter(|column| row[column / 64] >> (column % 64) & 1 == 1)
        .collect()
}

/// The dimension of Δ that is left to one who knows the bits `known` of d.
fn unknown_dimension(known: &[usize]) -> usize {
    eliminate(
        &mut generator(),
        (0..WIDTH).filter(|column| !known.contains(column)),
    )
}

#[test]
fn strings_are_their_rows_times_the_matrix() {
    let mut extractor = Extractor::new();
    for (units, used) in [
        (1, 1),
        (1, 63),
        (1, 64),
        (1, 65),
        (2, 513),
        (2, 896),
        (3, 1024),
        (3, 1407),
    ] {
        let mut columns = Columns::default();
        columns.resize(WIDTH, units);
        let mut entropy = Entropy::for_tests(used as u64);
        entropy.fill(as_bytes_mut(columns.blocks_mut()));
        let mut low = vec![Block512::ZERO; units];
        entropy.fill(as_bytes_mut(&mut low));
        let chunk = Chunk { units, used };
        let bit = |column: &[Block512], row: usize| {
            u64::from_le(column[row / 512].0[row % 512 / 64]) >> (row % 64) & 1
        };

        let mut seen = 0;
        let mut expected = Vec::new();
        rows(chunk, &columns, |index, row| {
            assert_eq!(index, seen);
            seen += 1;
            for (number, column) in columns.iter().enumerate() {
                assert_eq!(row[number / 64] >> (number % 64) & 1, bit(column, index));
            }
            assert_eq!(
                row[ROW_WORDS - 1] >> (WIDTH % 64),
                0,
                "nothing beyond the columns"
            );
            expected.push(extractor.string(row, bit(&low, index) == 1));
        });
        assert_eq!(seen, used);

        let mut strings = vec![Block([1, 2])];
        extractor.strings(chunk, &columns, Some(&low), &mut strings);
        assert_eq!(strings[0], Block([1, 2]), "what was there stays");
        assert_eq!(strings[1..], expected);
        strings.clear();
        extractor.strings(chunk, &columns, None, &mut strings);
        let even = expected
            .iter()
            .map(|string| *string & Block([!1u64.to_le(), u64::MAX]));
        assert!(strings.iter().copied().eq(even), "the last bits are 0");
    }
}

#[test]
fn the_rows_are_the_generator_polynomial_shifted() {
    let polynomial = bch::generator_polynomial();
    let rows = generator();
    assert_eq!(rows[0][..3], polynomial);
    for (j, row) in rows.iter().enumerate() {
        let shifted: Vec<usize> = support(&rows[0]).iter().map(|column| column + j).collect();
        assert_eq!(support(row), shifted);
    }
    assert_eq!(
        support(&rows[126]).last(),
        Some(&(WIDTH - 1)),
        "the last column counts"
    );
}

/// A cheating receiver that has guessed 40 bits of d knows nothing of Δ: any 40, and those of one codeword too.
#[test]
fn forty_known_bits_leave_all_of_delta_unknown() {
    let mut sampler = Sampler::new(Block([40, 1]));
    let rows = generator();
    for round in 0..300 {
        let mut known = if round % 2 == 0 {
            shuffled((0..WIDTH).collect(), &mut sampler)
        } else {
            let mut word = rows[sampler.below(127) as usize];
            add(&mut word, &rows[sampler.below(127) as usize]);
            shuffled(support(&word), &mut sampler)
        };
        known.truncate(GUESSES);
        assert_eq!(unknown_dimension(&known), EXTRACTED, "{known:?}");
    }
    for first in [0, 100, WIDTH - GUESSES] {
        let known: Vec<usize> = (first..first + GUESSES).collect();
        assert_eq!(unknown_dimension(&known), EXTRACTED, "40 in a row from {first}");
    }
}

/// The test above can fail: who knows the bits of a whole codeword knows a bit of Δ.
#[test]
fn a_whole_codeword_known_is_a_bit_of_delta_known() {
    assert_eq!(unknown_dimension(&support(&generator()[5])), EXTRACTED - 1);
    let most: Vec<usize> = (0..WIDTH - 100).collect();
    assert!(unknown_dimension(&most) <= 100);
}

/// Searches for codewords of low weight, by reduced bases at random information sets: none is below the distance that the
/// roots of the polynomial prove. That the search is no sham shows in how far below the average weight it gets.
#[test]
fn no_codeword_of_low_weight_is_found() {
    let mut sampler = Sampler::new(Block([41, 2]));
    let mut rows = generator();
    let mut least = WIDTH;
    for _ in 0..40 {
        assert_eq!(
            eliminate(&mut rows, shuffled((0..WIDTH).collect(), &mut sampler)),
            EXTRACTED
        );
        for (i, row) in rows.iter().enumerate() {
            least = least.min(weight(row));
            for other in &rows[..i] {
                let mut sum = *row;
                add(&mut sum, other);
                least = least.min(weight(&sum));
            }
        }
    }
    assert!(least > GUESSES, "a codeword of weight {least}");
    assert!(
        least < 70,
        "the search found none below {least}, of 149 on average"
    );
}

#[test]
fn strings_add_up_and_delta_is_odd() {
    let extractor = Extractor::new();
    let mut entropy = Entropy::for_tests(5);
    for _ in 0..20 {
        let mut draw = || {
            let mut row = Row::default();
            entropy.fill(as_bytes_mut(&mut row));
            row
        };
        let (a, b) = (draw(), draw());
        let mut sum = a;
        add(&mut sum, &b);
        for (low, other) in [(false, false), (false, true), (true, true)] {
            let expected = extractor.string(&a, low) ^ extractor.string(&b, other);
            assert_eq!(extractor.string(&sum, low != other), expected);
        }
        assert_eq!(extractor.string(&a, true).to_bytes()[0] & 1, 1);
    }
}
