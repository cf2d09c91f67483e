//! Connections whose party is not known yet.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, Shutdown, TcpStream};

/// How many there may be at once. One more pushes out the oldest of those from where most come; a party whose connection is pushed out tries
/// again.
const MOST: usize = 64;

/// A handle of each of them and where it comes from, by a number that grows. One more than there is room for pushes out the oldest of those from where most come.
#[derive(Default)]
pub struct Crowd(BTreeMap<u64, (IpAddr, TcpStream)>);

impl Crowd {
    /// Adds a connection.
    ///
    /// # Errors
    /// What the system says: there is no second handle of it.
    pub fn enter(&mut self, number: u64, stream: &TcpStream) -> std::io::Result<()> {
        let from = stream.peer_addr().map(|address| address.ip());
        self.enter_from(number, from.unwrap_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED)), stream)
    }

    fn enter_from(&mut self, number: u64, from: IpAddr, stream: &TcpStream) -> std::io::Result<()> {
        self.0.insert(number, (network(from), stream.try_clone()?));
        if self.0.len() > MOST
            && let Some(number) = self.oldest_of_most()
            && let Some((_, oldest)) = self.0.remove(&number)
        {
            let _ = oldest.shutdown(Shutdown::Both);
        }
        Ok(())
    }

    /// Who floods pushes out its own connections, and of those the oldest has had the most time.
    fn oldest_of_most(&self) -> Option<u64> {
        let mut counts = BTreeMap::<IpAddr, usize>::new();
        for (from, _) in self.0.values() {
            *counts.entry(*from).or_default() += 1;
        }
        let most = counts.values().copied().max()?;
        let mut of_most = self.0.iter().filter(|(_, (from, _))| counts[from] == most);
        of_most.next().map(|(number, _)| *number)
    }

    /// Removes a connection; false if it was pushed out.
    pub fn leave(&mut self, number: u64) -> bool {
        self.0.remove(&number).is_some()
    }

    /// Ends all of them.
    pub fn end(&mut self) {
        for (_, stream) in std::mem::take(&mut self.0).into_values() {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}

/// What a stranger's connections are counted under. Whoever has an address of version 6 has all of its /64, so these count as one; this machine's own
/// stays what it is.
pub fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(long) if !long.is_loopback() => IpAddr::V6(Ipv6Addr::from(long.to_bits() >> 64 << 64)),
        address => address,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_from_one_place_pushes_out_its_own_connections() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let mut crowd = Crowd::default();
        let mut numbers = 0..;
        let mut enter = |crowd: &mut Crowd, from: &str| {
            let number = numbers.next().unwrap();
            crowd.enter_from(number, from.parse().unwrap(), &stream).unwrap();
            number
        };
        let first = enter(&mut crowd, "192.0.2.1");
        for last in 0..10 * MOST {
            enter(&mut crowd, &format!("2001:db8::{last:x}"));
            enter(&mut crowd, "::ffff:198.51.100.7");
        }
        let second = enter(&mut crowd, "192.0.2.2");
        let last = enter(&mut crowd, "2001:db8:0:1::");
        assert_eq!(crowd.0.len(), MOST);
        assert!(
            [first, second, last]
                .map(|number| crowd.leave(number))
                .iter()
                .all(|left| *left)
        );
        let v4 = crowd.0.values().filter(|(from, _)| from.is_ipv4()).count();
        assert!((MOST / 2 - 3..=MOST / 2 + 3).contains(&v4), "{v4}");
    }

    #[test]
    fn addresses_of_one_caller_are_counted_as_one() {
        let of = |text: &str| network(text.parse().expect("an address"));
        assert_eq!(of("2001:db8:1:2::7"), of("2001:db8:1:2:ffff:ffff:ffff:ffff"));
        assert_ne!(of("2001:db8:1:2::7"), of("2001:db8:1:3::7"));
        assert_ne!(of("10.0.0.7"), of("10.0.0.8"));
        assert_eq!(of("::ffff:10.0.0.7"), of("10.0.0.7"));
        assert!(of("::1").is_loopback() && of("::ffff:127.0.0.1").is_loopback());
        assert!(!of("::2").is_loopback());
    }
}
