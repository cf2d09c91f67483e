//! Bits moved from lanes to lanes.

/// Lanes that lie side by side in one of several matrices, once or several times over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LaneRun {
    /// Which matrix.
    pub part: u32,
    /// The first lane.
    pub start: u32,
    /// Number of lanes.
    pub len: u32,
    /// How many times they come, one copy after the other.
    pub times: u32,
}

impl LaneRun {
    /// Lanes `start..start + len` of matrix `part`, once.
    pub fn new(part: u32, start: u32, len: u32) -> Self {
        Self {
            part,
            start,
            len,
            times: 1,
        }
    }

    /// Lanes that come of it.
    pub fn lanes(&self) -> usize {
        self.len as usize * self.times as usize
    }
}

/// Writes bits `from..from + bits` of `source` to bits `at..at + bits` of `target`, and leaves the others.
///
/// # Panics
/// If either has fewer bits.
pub fn copy_bits(target: &mut [u64], at: usize, source: &[u64], from: usize, bits: usize) {
    assert!(at + bits <= 64 * target.len() && from + bits <= 64 * source.len());
    let (mut at, mut from, mut left) = (at, from, bits);
    while left > 0 {
        let (word, shift) = (at / 64, at % 64);
        let take = left.min(64 - shift);
        let piece = read(source, from, take);
        let mask = (u64::MAX >> (64 - take)) << shift;
        target[word] = target[word] & !mask | piece << shift & mask;
        (at, from, left) = (at + take, from + take, left - take);
    }
}

/// Bits `from..from + bits`, of which there are 1 to 64; above them anything.
#[inline(always)]
fn read(source: &[u64], from: usize, bits: usize) -> u64 {
    let (word, shift) = (from / 64, from % 64);
    let low = source[word] >> shift;
    if shift + bits > 64 {
        low | source[word + 1] << (64 - shift)
    } else {
        low
    }
}

/// Sets bits `at..at + bits` to `bit`.
fn fill_bits(target: &mut [u64], at: usize, bit: bool, bits: usize) {
    let (mut at, mut left) = (at, bits);
    while left > 0 {
        let (word, shift) = (at / 64, at % 64);
        let take = left.min(64 - shift);
        let mask = (u64::MAX >> (64 - take)) << shift;
        target[word] = target[word] & !mask | if bit { mask } else { 0 };
        (at, left) = (at + take, left - take);
    }
}

/// Fills a row with the lanes of `runs`, one run after the other; `row` gives the same row of each part.
///
/// # Panics
/// If `target` has less room, or a run is not within its part.
pub fn arrange_row<'a>(target: &mut [u64], runs: &[LaneRun], row: impl Fn(usize) -> &'a [u64]) {
    let mut at = 0;
    for run in runs {
        let source = row(run.part as usize);
        let (start, len) = (run.start as usize, run.len as usize);
        if len == 1 {
            let bit = source[start / 64] >> (start % 64) & 1 == 1;
            fill_bits(target, at, bit, run.times as usize);
            at += run.times as usize;
        } else {
            for _ in 0..run.times {
                copy_bits(target, at, source, start, len);
                at += len;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bit(words: &[u64], at: usize) -> bool {
        words[at / 64] >> (at % 64) & 1 == 1
    }

    #[test]
    fn bits_are_copied_between_any_places() {
        let source: Vec<u64> = (1..=5)
            .map(|x: u64| x.wrapping_mul(0x9e37_79b9_7f4a_7c15))
            .collect();
        for bits in [0, 1, 5, 63, 64, 65, 127, 128, 190] {
            for at in [0, 1, 31, 63, 64, 100] {
                for from in [0, 1, 33, 63, 64, 127] {
                    let mut target = vec![0xaaaa_aaaa_aaaa_aaaa; 5];
                    let before = target.clone();
                    copy_bits(&mut target, at, &source, from, bits);
                    for place in 0..320 {
                        let right = if (at..at + bits).contains(&place) {
                            bit(&source, place - at + from)
                        } else {
                            bit(&before, place)
                        };
                        assert_eq!(
                            bit(&target, place),
                            right,
                            "{bits} bits from {from} to {at}: {place}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn runs_follow_one_another() {
        let parts = [[0b1011u64, 0], [u64::MAX, 0b10]];
        let runs = [
            LaneRun::new(0, 1, 3),
            LaneRun {
                part: 1,
                start: 65,
                len: 1,
                times: 70,
            },
            LaneRun {
                part: 0,
                start: 1,
                len: 2,
                times: 2,
            },
            LaneRun::new(1, 64, 1),
        ];
        let mut row = [0; 2];
        arrange_row(&mut row, &runs, |part| &parts[part]);
        let all: Vec<bool> = (0..runs.iter().map(LaneRun::lanes).sum())
            .map(|at| bit(&row, at))
            .collect();
        let mut right = vec![true, false, true];
        right.extend([true; 70]);
        right.extend([true, false, true, false, false]);
        assert_eq!(all, right);
    }
}
