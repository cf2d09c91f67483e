//! Room for what depends on the job or a peer: where there is none, the session fails and says what for, and the process goes on.

use cenote_primitives::{BitMatrix, Block512, SecretBlocks, prefer_huge_pages};
use zeroize::{Zeroize, Zeroizing};

use crate::{Error, Result};

/// `count` zeros. What a whole epoch has is hundreds of megabytes, read once in order and once at random, so they are in huge
/// pages where there are any.
///
/// # Errors
/// [`Error::OutOfMemory`] if there is no room for `what`.
pub fn zeroed<T: bytemuck::Zeroable>(what: &str, count: usize) -> Result<Vec<T>> {
    let room = bytemuck::allocation::try_zeroed_vec(count).map_err(|()| lacking::<T>(what, count))?;
    prefer_huge_pages(&room);
    Ok(room)
}

/// `count` zeros that are secret.
///
/// # Errors
/// As [`zeroed`].
pub fn secret<T>(what: &str, count: usize) -> Result<Zeroizing<Vec<T>>>
where
    T: bytemuck::Zeroable + Zeroize,
{
    zeroed(what, count).map(Zeroizing::new)
}

/// `count` blocks of zeros that are secret.
///
/// # Errors
/// As [`zeroed`].
pub fn blocks(what: &str, count: usize) -> Result<SecretBlocks> {
    let room = SecretBlocks::try_zeroed(count).ok_or_else(|| lacking::<Block512>(what, count))?;
    prefer_huge_pages(&room);
    Ok(room)
}

/// An array of secrets that is empty and has room for `count` items from the start: growing would leave the old copy in memory unwiped.
///
/// # Errors
/// As [`zeroed`].
pub fn empty<T: Zeroize>(what: &str, count: usize) -> Result<Zeroizing<Vec<T>>> {
    reserved(what, count).map(Zeroizing::new)
}

/// Makes room for `more` secrets in `items`, and leaves no copy of them behind.
///
/// # Errors
/// As [`zeroed`].
pub fn grow<T: Copy + Zeroize>(what: &str, items: &mut Zeroizing<Vec<T>>, more: usize) -> Result<()> {
    if items.capacity() - items.len() >= more {
        return Ok(());
    }
    let enough = items.len().saturating_add(more);
    let mut larger = empty(what, enough.max(items.capacity().saturating_mul(2)))?;
    larger.extend_from_slice(items);
    // The smaller one is wiped.
    *items = larger;
    Ok(())
}

/// `items`, of which there are `count`.
///
/// # Errors
/// As [`zeroed`].
pub fn collected<T: Zeroize>(
    what: &str,
    count: usize,
    items: impl Iterator<Item = T>,
) -> Result<Zeroizing<Vec<T>>> {
    let mut room = empty(what, count)?;
    room.extend(items);
    debug_assert_eq!(room.len(), count);
    Ok(room)
}

/// A copy of `items`.
///
/// # Errors
/// As [`zeroed`].
pub fn copy<T: Copy + Zeroize>(what: &str, items: &[T]) -> Result<Zeroizing<Vec<T>>> {
    collected(what, items.len(), items.iter().copied())
}

/// An array that is empty and has room for `count` items.
///
/// # Errors
/// As [`zeroed`].
pub fn reserved<T>(what: &str, count: usize) -> Result<Vec<T>> {
    let mut room = Vec::new();
    match room.try_reserve_exact(count) {
        Ok(()) => Ok(room),
        Err(_) => Err(lacking::<T>(what, count)),
    }
}

/// A matrix of zeros.
///
/// # Errors
/// As [`zeroed`].
pub fn bits(what: &str, rows: usize, lanes: usize) -> Result<BitMatrix> {
    BitMatrix::try_zeros(rows, lanes)
        .ok_or_else(|| lacking_bytes(what, lanes.div_ceil(64) as u128 * 8 * rows as u128))
}

fn lacking<T>(what: &str, count: usize) -> Error {
    lacking_bytes(what, count as u128 * size_of::<T>() as u128)
}

fn lacking_bytes(what: &str, bytes: u128) -> Error {
    Error::OutOfMemory(format!("there is no room for {what}: {bytes} bytes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_there_is_no_room_for_is_named() {
        // More than an address space, and more than a number of bytes can say.
        for count in [1 << 59, usize::MAX / 8] {
            let errors = [
                zeroed::<u128>("gates", count).err(),
                secret::<u64>("gates", count).err(),
                empty::<u64>("gates", count).err(),
                grow("gates", &mut Zeroizing::new(vec![1u64]), count - 1).err(),
                collected::<u64>("gates", count, std::iter::empty()).err(),
                reserved::<u32>("gates", count).err(),
                bits("gates", 2, 64 * (count / 64)).err(),
                bits("gates", count, 64).err(),
            ];
            let count = count as u128;
            let sizes = [16, 8, 8, 8, 8, 4].map(|size| count * size);
            for (error, size) in errors
                .into_iter()
                .zip(sizes.into_iter().chain([count / 64 * 16, count * 8]))
            {
                let expected = format!("no room for gates: {size} bytes");
                match error {
                    Some(Error::OutOfMemory(text)) => assert!(text.contains(&expected), "{text}"),
                    other => panic!("{other:?}"),
                }
            }
        }
        assert_eq!(*secret::<u64>("gates", 2).unwrap(), [0, 0]);
        let mut items = Zeroizing::new(vec![3u64, 4]);
        for (more, least) in [(0, 2), (1, 4), (2, 4), (100, 102)] {
            grow("gates", &mut items, more).unwrap();
            assert!(*items == [3, 4] && (least..2 * least).contains(&items.capacity()));
        }
        assert_eq!(bits("gates", 2, 65).unwrap(), BitMatrix::zeros(2, 65));
    }
}
