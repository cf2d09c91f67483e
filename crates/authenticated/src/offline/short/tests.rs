use std::marker::PhantomData;

use bytemuck::NoUninit;
use cenote_primitives::Entropy;

use super::*;

/// Lowest bytes, one by one.
fn model(blocks: &[Block], width: usize) -> Vec<u8> {
    let bytes = blocks
        .iter()
        .flat_map(|block| block.to_bytes().into_iter().take(width));
    bytes.collect()
}

#[test]
fn blocks_are_cut_and_added_as_byte_by_byte() {
    let mut entropy = Entropy::for_tests(1);
    for width in 1..=WHOLE {
        // The same buffers serve pieces of different lengths.
        let (mut cut, mut received) = (Short::new(8 * width as u32), Short::new(8 * width as u32));
        for count in [9, 1, 0, 7, 8, 300, 4096, 5] {
            let blocks: Vec<Block> = (0..count).map(|_| entropy.block()).collect();
            let bits: Vec<Block> = (0..count).map(|_| entropy.block()).collect();
            let sums: Vec<Block> = (0..count).map(|_| entropy.block()).collect();
            cut.cut(&blocks);
            assert_eq!(*cut.bytes, model(&blocks, width));
            received.make_room(count);
            received.bytes.truncate(count * width);
            received.bytes.copy_from_slice(&cut.bytes);
            let mut added = sums.clone();
            received.add_if(&bits, &mut added);
            for (at, (added, sum)) in added.iter().zip(&sums).enumerate() {
                let mut expected = sum.to_bytes();
                if bits[at].0[0] & 1 == 1 {
                    let block = blocks[at].to_bytes();
                    expected[..width]
                        .iter_mut()
                        .zip(block)
                        .for_each(|(to, byte)| *to ^= byte);
                }
                assert_eq!(added.to_bytes(), expected);
            }
        }
    }
}

/// Whether a type can be sent as it lies in memory, as blocks and tables are.
struct Probe<T>(PhantomData<T>);

trait Otherwise {
    fn is_plain(&self) -> bool {
        false
    }
}

impl<T> Otherwise for Probe<T> {}

impl<T: NoUninit> Probe<T> {
    fn is_plain(&self) -> bool {
        true
    }
}

/// What sends tables and opens bits takes blocks, and short blocks are none.
#[test]
fn short_blocks_are_no_blocks() {
    assert!(Probe::<Block>(PhantomData).is_plain() && Probe::<[[Block; 2]; 3]>(PhantomData).is_plain());
    assert!(!Probe::<Short>(PhantomData).is_plain());
}

#[test]
#[should_panic(expected = "is_multiple_of")]
fn widths_are_whole_bytes() {
    Short::new(47);
}
