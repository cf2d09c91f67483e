//! Whole numbers of a column.

use cenote_tables::Numbers;

#[test]
fn numbers_take_as_few_bytes_as_their_bounds_need() {
    for (least, most, bytes) in [
        (0, 1, 1),
        (0, 255, 1),
        (-1, 127, 1),
        (-1, 128, 2),
        (0, 65_536, 4),
        (i128::from(i32::MIN), i128::from(i32::MAX), 4),
        (0, i128::from(u64::MAX), 8),
        (-1, i128::from(u64::MAX), 16),
        (i128::MIN, i128::MAX, 16),
    ] {
        let mut numbers = Numbers::within(least, most);
        for number in [least, most] {
            numbers.push(number);
        }
        assert_eq!(numbers.bytes(), bytes, "{least} to {most}");
        assert_eq!(numbers, vec![least, most].into());
    }
    let mut numbers = Numbers::within(0, 255);
    numbers.push(7);
    numbers.push(-1);
    numbers.push(i128::MAX);
    numbers.set(0, 300);
    assert_eq!((numbers.range(0..2), numbers.get(2)), (vec![300, -1], i128::MAX));
    assert_eq!(numbers.clone().sorted(), vec![-1, 300, i128::MAX].into());
    assert_eq!(numbers.gather([2, 1].into_iter()), vec![i128::MAX, -1].into());
    assert_eq!(format!("{numbers:?}"), "3 numbers");
}
