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

/// Many rows of short runs are what each row is by itself.
#[test]
fn all_rows_are_arranged_as_each_is() {
    let mut state = 1u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        state >> 11
    };
    let shapes = [
        (16, 100),
        (64, 65),
        (70, 129),
        (130, 1000),
        (3, 100),
        (65, 512),
        (127, 513),
        (128, 515),
    ];
    // Runs of several lanes, of one each, and few of one each.
    let kinds = [(1, 2), (1, 1), (9, 1)];
    for ((rows, lanes), (fewer, longest)) in shapes
        .into_iter()
        .flat_map(|shape| kinds.map(|kind| (shape, kind)))
    {
        let parts: Vec<(Vec<u64>, usize)> = [lanes, lanes / 2 + 1]
            .into_iter()
            .map(|lanes: usize| {
                (
                    (0..rows * lanes.div_ceil(64))
                        .map(|_| next() << 11 | next())
                        .collect(),
                    lanes,
                )
            })
            .collect();
        let views: Vec<Rows<'_>> = parts
            .iter()
            .map(|(words, lanes)| Rows { words, lanes: *lanes })
            .collect();
        let runs: Vec<LaneRun> = (0..lanes / fewer)
            .map(|_| {
                let part = (next() % 2) as u32;
                let start = (next() % (views[part as usize].lanes as u64 - 2)) as u32;
                LaneRun {
                    times: 1 + (next() % longest) as u32,
                    ..LaneRun::new(part, start, 1 + (next() % longest) as u32)
                }
            })
            .collect();
        let total: usize = runs.iter().map(LaneRun::lanes).sum();
        let stride = total.div_ceil(64);
        let mut all = vec![0; rows * stride];
        arrange_rows(&mut all, rows, &runs, &views);
        for row in 0..rows {
            let mut alone = vec![0; stride];
            arrange_row(&mut alone, &runs, |part| {
                let stride = views[part].stride();
                &views[part].words[row * stride..][..stride]
            });
            for lane in 0..total {
                assert_eq!(
                    bit(&all[row * stride..], lane),
                    bit(&alone, lane),
                    "row {row}, lane {lane}"
                );
            }
        }
    }
}
