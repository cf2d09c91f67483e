//! Which items of stock all parties of a session can use: each tells the others what it has before they compare what they run.

use cenote_net::Step;
use cenote_session::{Connections, Error as EngineError, MESSAGE_FORM};
use cenote_store::ItemId;

use crate::Result;

/// The items that a party can use, to all others.
const STOCK_CHOICE: Step = Step {
    code: 0x510,
    name: "choose stock",
};

/// Most items that are told.
const MOST: usize = 32;
/// Bytes of an item's name.
const NAME: usize = 32;
/// Bytes of a message: the number of names, and room for the most.
const BYTES: usize = 1 + MOST * NAME;

/// Tells all peers which items this party can use in the session, and hears which they can. Those that all can, in the order of `own`: if a peer
/// tells the others different things, the handshake that follows fails.
///
/// # Errors
/// What happened on the network; a peer that tells what nobody tells.
pub fn common(connections: &mut Connections, own: &[ItemId]) -> Result<Vec<ItemId>> {
    let own = &own[..own.len().min(MOST)];
    let mut word = [0; BYTES];
    word[0] = own.len() as u8;
    for (space, id) in word[1..].chunks_mut(NAME).zip(own) {
        space.copy_from_slice(&id.0);
    }
    for channel in connections.first() {
        channel.send(STOCK_CHOICE, &word).map_err(EngineError::from)?;
        channel.flush().map_err(EngineError::from)?;
    }
    let mut common = own.to_vec();
    for channel in connections.first() {
        let mut word = [0; BYTES];
        channel.recv(STOCK_CHOICE, &mut word).map_err(EngineError::from)?;
        let (count, names) = (usize::from(word[0]), &word[1..]);
        if count > MOST {
            let what = "it tells more items of stock than fit";
            return Err(EngineError::cheated(MESSAGE_FORM, channel.peer(), STOCK_CHOICE, what).into());
        }
        let names: Vec<&[u8]> = names.chunks(NAME).take(count).collect();
        common.retain(|id| names.contains(&&id.0[..]));
    }
    Ok(common)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::Protocol;

    #[test]
    fn what_all_have_is_chosen_and_nonsense_refused() {
        let id = |number: u8| ItemId([number; 32]);
        let topology = Protocol::default().topology();
        let mut all = Connections::in_memory(&topology, Duration::from_secs(20));
        let has = [
            vec![id(1), id(2), id(3)],
            vec![id(3), id(2)],
            vec![id(2), id(3), id(9)],
        ];
        let found: Vec<_> = std::thread::scope(|scope| {
            let threads: Vec<_> = all
                .iter_mut()
                .zip(&has)
                .map(|(connections, own)| scope.spawn(move || common(connections, own)))
                .collect();
            threads
                .into_iter()
                .map(|thread| thread.join().unwrap().unwrap())
                .collect()
        });
        assert_eq!(
            found,
            [vec![id(2), id(3)], vec![id(3), id(2)], vec![id(2), id(3)]]
        );

        let mut all = Connections::in_memory(
            &Protocol::named("lego").unwrap().topology(),
            Duration::from_secs(20),
        );
        let mut word = [0; BYTES];
        word[0] = MOST as u8 + 1;
        for channel in all[1].first() {
            channel.send(STOCK_CHOICE, &word).unwrap();
            channel.flush().unwrap();
        }
        let error = common(&mut all[0], &has[0]).unwrap_err();
        assert!(error.to_string().contains("more items"), "{error}");
    }
}
