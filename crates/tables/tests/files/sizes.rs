//! What the pages of a Parquet file state of their sizes.

use cenote_tables::sizes::{delta, size_once_decompressed};

#[test]
fn sizes_in_headers_of_pages_are_seen() {
    assert_eq!(
        size_once_decompressed(&[0x15, 0x04, 0x15, 0xfe, 0x01, 0x15]),
        Some(127)
    );
    let largest = [0x15, 0x00, 0x15, 0xfe, 0xff, 0xff, 0xff, 0x0f];
    assert_eq!(size_once_decompressed(&largest), Some(i32::MAX as u64));
    for wrong in [
        &[][..],
        &[0x15, 0x04, 0x15],
        &[0x15, 0x04, 0x25, 0x02],
        &[0x15, 0x04, 0x15, 0x01],
        &[0x15; 40],
        &[0xff; 40],
    ] {
        assert_eq!(size_once_decompressed(wrong), None, "{wrong:x?}");
    }
}

#[test]
fn lists_of_differences_hold_no_more_than_their_page() {
    // Blocks of 128 in 4 parts, 34 numbers from 0 on: one part of 2 bits a number, one of 1 bit, and what follows.
    let mut list = vec![0x80, 0x01, 4, 34, 0];
    list.extend([0, 2, 1, 9, 9]);
    list.extend([0xaa; 8 + 4]);
    list.extend(b"rest");
    assert_eq!(delta(&list, 34), Some(&b"rest"[..]));
    assert_eq!(delta(&list, 33), None);
    assert_eq!(delta(&list[..20], 34), None);
    let huge = [0x80, 0x01, 4, 0xff, 0xff, 0xff, 0xff, 0xff, 0x3f, 0];
    assert_eq!(delta(&huge, 1 << 20), None);
    assert_eq!(delta(&[0x80, 0x01, 0, 2, 0], 2), None, "no parts");
    assert_eq!(delta(&[0, 4, 2, 0, 0, 0, 0, 0, 0], 2), None, "parts of nothing");
    assert_eq!(delta(&[0x80, 0x01, 4, 1, 0, 7], 1), Some(&[7][..]));
}
