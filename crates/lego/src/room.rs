//! Room for what depends on the job: where there is none, the session fails and says what for, and the process goes on.

use cenote_primitives::prefer_huge_pages;
use cenote_session::{Error, Result};
use zeroize::{Zeroize, Zeroizing};

/// Garbled gates, where room for them is asked for.
pub(crate) const GATES: &str = "garbled gates";
/// Authenticators.
pub(crate) const AUTHENTICATORS: &str = "authenticators of wires";
/// AND gates that are ready to be used.
pub(crate) const BUCKETS: &str = "buckets of AND gates";
/// What inputs and outputs take.
pub(crate) const INPUTS: &str = "inputs and outputs";
/// Pieces of stored material.
pub(crate) const MATERIAL: &str = "stored material";
/// Circuits that are built or evaluated.
pub(crate) const CIRCUITS: &str = "the wires of a circuit";

/// `count` zeros. What a whole epoch has is hundreds of megabytes, read once in order and once at random, so they are in huge
/// pages where there are any.
///
/// # Errors
/// [`Error::OutOfMemory`] if there is no room for `what`.
pub(crate) fn zeroed<T: bytemuck::Zeroable>(what: &str, count: usize) -> Result<Vec<T>> {
    let room = bytemuck::allocation::try_zeroed_vec(count).map_err(|()| lacking::<T>(what, count))?;
    prefer_huge_pages(&room);
    Ok(room)
}

/// `count` zeros that are secret.
///
/// # Errors
/// As [`zeroed`].
pub(crate) fn secret<T>(what: &str, count: usize) -> Result<Zeroizing<Vec<T>>>
where
    T: bytemuck::Zeroable + Zeroize,
{
    zeroed(what, count).map(Zeroizing::new)
}

/// An array that is empty and has room for `count` items from the start: growing would leave the old copy in memory unwiped.
///
/// # Errors
/// As [`zeroed`].
pub(crate) fn empty<T: Zeroize>(what: &str, count: usize) -> Result<Zeroizing<Vec<T>>> {
    let mut room = Zeroizing::new(Vec::new());
    match room.try_reserve_exact(count) {
        Ok(()) => Ok(room),
        Err(_) => Err(lacking::<T>(what, count)),
    }
}

/// `items`, of which there are `count`.
///
/// # Errors
/// As [`zeroed`].
pub(crate) fn collected<T: Zeroize>(
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
pub(crate) fn copy<T: Copy + Zeroize>(what: &str, items: &[T]) -> Result<Zeroizing<Vec<T>>> {
    collected(what, items.len(), items.iter().copied())
}

fn lacking<T>(what: &str, count: usize) -> Error {
    let bytes = count as u128 * size_of::<T>() as u128;
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
                collected::<u64>("gates", count, std::iter::empty()).err(),
            ];
            for (error, size) in errors.into_iter().zip([16, 8, 8, 8]) {
                let expected = format!("no room for gates: {} bytes", count as u128 * size);
                match error {
                    Some(Error::OutOfMemory(text)) => assert!(text.contains(&expected), "{text}"),
                    other => panic!("{other:?}"),
                }
            }
        }
        assert_eq!(*secret::<u64>("gates", 2).unwrap(), [0, 0]);
    }
}
