//! Who has the connections that there may be: so many in all, of one address, and of one token.
//!
//! A connection on which no valid token was shown gives its place up to a newcomer when there is none left. Connections with a token never do,
//! and leave some places: so whoever comes, with a token or to see whether the service is well, always gets in.

use std::collections::{HashMap, HashSet};
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Instant;

use axum::body::{Body, HttpBody};
use hyper::body::{Frame, SizeHint};
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

    /// A token of this public name is not valid any more: the connections on which it was shown are strangers'.
    pub(crate) fn forget(&self, token: &str) {
        let mut table = self.table();
        let shown = |open: &&mut Open| open.token.as_deref() == Some(token);
        table
            .open
            .values_mut()
            .filter(shown)
            .for_each(|open| open.token = None);
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
                let crowds = self.crowds();
                self.stranger(|open| crowds.contains(&open.address))
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

    /// The addresses with the most connections without a token: nothing but how long its connections have been idle decides between them.
    fn crowds(&self) -> HashSet<IpAddr> {
        let mut counts: HashMap<IpAddr, usize> = HashMap::new();
        for open in self.open.values().filter(|open| open.token.is_none()) {
            *counts.entry(open.address).or_default() += 1;
        }
        let most = counts.values().copied().max().unwrap_or(0);
        let largest = counts.into_iter().filter(|(_, count)| *count == most);
        largest.map(|(address, _)| address).collect()
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

    /// A request begins; it is answered when what is returned is dropped.
    pub(crate) fn begin(self: &Arc<Self>) -> Busy {
        self.set_busy(true);
        Busy(Arc::clone(self))
    }

    fn set_busy(&self, busy: bool) {
        if let Some(open) = self.connections.table().open.get_mut(&self.number) {
            (open.busy, open.since) = (busy, Instant::now());
        }
    }

    /// What was shown is no valid token, or none any more.
    pub(crate) fn forget(&self) {
        if let Some(open) = self.connections.table().open.get_mut(&self.number) {
            open.token = None;
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

/// A request that is being answered.
pub(crate) struct Busy(Arc<Seat>);

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.set_busy(false);
    }
}

/// The body of an answer: until it has gone, as a stream of events goes on, its connection is busy.
pub(crate) struct Answering {
    body: Body,
    _busy: Busy,
}

impl Answering {
    pub(crate) fn new(body: Body, busy: Busy) -> Self {
        Answering { body, _busy: busy }
    }
}

impl HttpBody for Answering {
    type Data = <Body as HttpBody>::Data;
    type Error = <Body as HttpBody>::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Self::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
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
mod tests;
