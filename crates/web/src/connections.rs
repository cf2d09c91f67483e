//! Who has the connections that there may be: so many in all, of one address, and of one token.
//!
//! A connection on which no valid token was shown gives its place up to a newcomer when there is none left. Connections with a token never do,
//! and leave some places: so whoever comes, with a token or to see whether the service is well, always gets in.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use tokio::sync::Notify;

use crate::limits::Limits;
use crate::meter::Meter;

/// Of the places in all and of those of one address, one in so many is never a token's.
const FOR_STRANGERS: usize = 8;

/// The connections that are open.
pub(crate) struct Connections {
    limits: Limits,
    meter: Arc<Meter>,
    table: Mutex<Table>,
}

#[derive(Default)]
struct Table {
    next: u64,
    open: HashMap<u64, Open>,
}

/// An open connection.
struct Open {
    address: IpAddr,
    /// The public name of the token that was shown on it.
    token: Option<String>,
    /// Whether a request is being answered on it.
    busy: bool,
    /// When it came, or its last request began or ended.
    since: Instant,
    end: Arc<Notify>,
}

/// A connection's place. It is free again when this is dropped, or when it was given to another.
pub(crate) struct Seat {
    number: u64,
    address: IpAddr,
    end: Arc<Notify>,
    connections: Arc<Connections>,
}

impl Connections {
    pub(crate) fn new(limits: Limits, meter: Arc<Meter>) -> Self {
        Connections {
            limits,
            meter,
            table: Mutex::default(),
        }
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many connections an address may have.
    fn most_of(&self, address: IpAddr) -> usize {
        match address.is_loopback() {
            true => self.limits.connections_of_this_machine,
            false => self.limits.connections_per_address,
        }
    }

    /// A place for a connection of this address, which may be another's until now.
    pub(crate) fn seat(self: &Arc<Self>, address: IpAddr) -> Option<Seat> {
        let mut table = self.table();
        let seat = table.make_room(self.most_of(address), self.limits.connections, address);
        if !matches!(seat, Room::Free) {
            self.meter.turned_away.fetch_add(1, Ordering::Relaxed);
        }
        if matches!(seat, Room::None) {
            return None;
        }
        let (number, end) = (table.next, Arc::new(Notify::new()));
        table.next += 1;
        let open = Open {
            address,
            token: None,
            busy: false,
            since: Instant::now(),
            end: Arc::clone(&end),
        };
        table.open.insert(number, open);
        self.note_open(&table);
        drop(table);
        Some(Seat {
            number,
            address,
            end,
            connections: Arc::clone(self),
        })
    }

    fn note_open(&self, table: &Table) {
        self.meter.open.store(table.open.len() as u64, Ordering::Relaxed);
    }
}

/// Whether there is a place.
enum Room {
    Free,
    Taken,
    None,
}

impl Table {
    /// Sees that there is a place for one more connection of `address`, which may have `most`, as all may have `all`.
    fn make_room(&mut self, most: usize, all: usize, address: IpAddr) -> Room {
        let of_address = self.open.values().filter(|open| open.address == address).count();
        let victim = match of_address >= most {
            true => self.stranger(|open| open.address == address),
            false if self.open.len() < all => return Room::Free,
            false => {
                let crowd = self.crowd();
                self.stranger(|open| Some(open.address) == crowd)
            }
        };
        match victim.and_then(|victim| self.open.remove(&victim)) {
            Some(victim) => {
                victim.end.notify_one();
                Room::Taken
            }
            None => Room::None,
        }
    }

    /// The connection without a token that goes first, among those of which `is` holds: the one that has been idle longest; where all are
    /// busy, the one that has been so longest.
    fn stranger(&self, is: impl Fn(&Open) -> bool) -> Option<u64> {
        self.open
            .iter()
            .filter(|(_, open)| open.token.is_none() && is(open))
            .min_by_key(|(number, open)| (open.busy, open.since, **number))
            .map(|(number, _)| *number)
    }

    /// The address with the most connections without a token.
    fn crowd(&self) -> Option<IpAddr> {
        let mut counts: HashMap<IpAddr, usize> = HashMap::new();
        for open in self.open.values().filter(|open| open.token.is_none()) {
            *counts.entry(open.address).or_default() += 1;
        }
        counts
            .into_iter()
            .min_by_key(|(address, count)| (Reverse(*count), *address))
            .map(|(address, _)| address)
    }

    fn with_token(&self, is: impl Fn(&Open, &str) -> bool) -> usize {
        let is = |open: &&Open| open.token.as_ref().is_some_and(|token| is(open, token));
        self.open.values().filter(is).count()
    }
}

impl Seat {
    /// The address that it is of.
    pub(crate) fn address(&self) -> IpAddr {
        self.address
    }

    /// Returns when its place was given to another.
    pub(crate) async fn is_taken(&self) {
        self.end.notified().await;
    }

    /// A request begins or has ended.
    pub(crate) fn set_busy(&self, busy: bool) {
        if let Some(open) = self.connections.table().open.get_mut(&self.number) {
            (open.busy, open.since) = (busy, Instant::now());
        }
    }

    /// A valid token of this public name was shown. Gives whether the connection may go on, since tokens have only so many.
    pub(crate) fn show(&self, token: &str) -> bool {
        let limits = &self.connections.limits;
        let but_some = |places: usize| places - places / FOR_STRANGERS;
        let most = self.connections.most_of(self.address);
        let mut table = self.connections.table();
        let known = match table.open.get(&self.number) {
            Some(open) => open.token.as_deref() == Some(token),
            None => return false,
        };
        if known {
            return true;
        }
        let is_other = |open: &Open| !Arc::ptr_eq(&open.end, &self.end);
        let may = table.with_token(|open, _| is_other(open)) < but_some(limits.connections)
            && table.with_token(|open, _| is_other(open) && open.address == self.address) < but_some(most)
            && table.with_token(|open, name| is_other(open) && name == token) < limits.connections_per_token;
        if let Some(open) = table.open.get_mut(&self.number).filter(|_| may) {
            open.token = Some(token.to_owned());
        }
        may
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let mut table = self.connections.table();
        table.open.remove(&self.number);
        self.connections.note_open(&table);
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    fn connections() -> Arc<Connections> {
        let limits = Limits {
            connections: 16,
            connections_of_this_machine: 8,
            connections_per_address: 8,
            connections_per_token: 4,
            ..Limits::default()
        };
        Arc::new(Connections::new(limits, Arc::default()))
    }

    fn address(last: u8) -> IpAddr {
        IpAddr::from([10, 0, 0, last])
    }

    fn is_taken(seat: &Seat) -> bool {
        seat.is_taken().now_or_never().is_some()
    }

    #[test]
    fn the_longest_idle_stranger_of_the_largest_crowd_goes_first() {
        let all = connections();
        let take = |last| all.seat(address(last)).expect("a place");
        let lone = take(1);
        let crowd: Vec<Seat> = (0..8).map(|_| take(2)).collect();
        let more: Vec<Seat> = (0..7).map(|_| take(3)).collect();
        crowd[0].set_busy(true);
        let _newcomer = take(4);
        assert!(is_taken(&crowd[1]));
        assert!(!is_taken(&crowd[0]) && !is_taken(&lone) && !more.iter().any(is_taken));
    }

    #[test]
    fn strangers_that_are_busy_go_where_no_other_is_left() {
        let all = connections();
        let here = IpAddr::from([127, 0, 0, 1]);
        let seats: Vec<Seat> = (0..8).map(|_| all.seat(here).expect("a place")).collect();
        seats.iter().for_each(|seat| seat.set_busy(true));
        let _newcomer = all.seat(here).expect("a place");
        assert!(is_taken(&seats[0]) && !is_taken(&seats[1]));
        assert!(!seats[0].show("a"), "it has no place any more");
    }

    #[test]
    fn tokens_keep_their_places_and_leave_some() {
        let all = connections();
        let mut held = Vec::new();
        for token in ["a", "b", "c", "d"] {
            for place in 0..5 {
                let seat = all.seat(address(token.as_bytes()[0])).expect("a place");
                if seat.show(token) {
                    held.push(seat);
                } else {
                    assert!(place == 4 || held.len() == 14, "{token} {place}");
                }
            }
        }
        assert_eq!(held.len(), 14);
        let flood: Vec<Seat> = (0..50)
            .map(|last| all.seat(address(last)).expect("a place"))
            .collect();
        assert_eq!(flood.iter().filter(|seat| is_taken(seat)).count(), 48);
        assert!(!held.iter().any(is_taken));
        assert!(held[0].show("a"), "what was shown holds");
    }
}
