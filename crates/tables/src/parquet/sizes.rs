//! Sizes that the bytes of a page state, read before anything is allocated for them.

/// The second field of the header of a page, which is in Thrift's compact encoding. The first is the kind of page; both are numbers.
pub fn size_once_decompressed(mut header: &[u8]) -> Option<u64> {
    const NEXT_FIELD_NUMBER: &[u8] = &[0x15];
    header = header.strip_prefix(NEXT_FIELD_NUMBER)?;
    varint(&mut header)?;
    header = header.strip_prefix(NEXT_FIELD_NUMBER)?;
    let zigzag = varint(&mut header)?;
    // Odd ones are negative.
    (zigzag % 2 == 0).then_some(zigzag / 2)
}

/// What follows a list of at most so many numbers, which are packed as their differences.
pub fn delta(mut bytes: &[u8], most: usize) -> Option<&[u8]> {
    let block = usize::try_from(varint(&mut bytes)?).ok()?;
    let parts = usize::try_from(varint(&mut bytes)?).ok()?;
    let count = usize::try_from(varint(&mut bytes)?).ok()?;
    varint(&mut bytes)?;
    if count > most {
        return None;
    }
    let of_part = block.checked_div(parts).filter(|&of_part| of_part > 0)?;
    let mut left = count.saturating_sub(1);
    while left > 0 {
        varint(&mut bytes)?;
        let widths = bytes.get(..parts)?;
        bytes = &bytes[parts..];
        for &width in widths {
            if left > 0 {
                let packed = usize::from(width).checked_mul(of_part)? / 8;
                bytes = bytes.get(packed..)?;
                left = left.saturating_sub(of_part);
            }
        }
    }
    Some(bytes)
}

fn varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(number);
        }
    }
    None
}
