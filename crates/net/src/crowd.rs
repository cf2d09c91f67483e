//! Connections whose party is not known yet.

use std::collections::BTreeMap;
use std::net::{Shutdown, TcpStream};

/// How many there may be at once. One more pushes out the oldest; a party whose connection is pushed out tries again.
const MOST: usize = 64;

/// A handle of each of them, by a number that grows.
#[derive(Default)]
pub(crate) struct Crowd(BTreeMap<u64, TcpStream>);

impl Crowd {
    /// Adds a connection.
    pub(crate) fn enter(&mut self, number: u64, stream: &TcpStream) -> std::io::Result<()> {
        // The oldest has had the most time.
        if self.0.len() >= MOST
            && let Some((_, oldest)) = self.0.pop_first()
        {
            let _ = oldest.shutdown(Shutdown::Both);
        }
        self.0.insert(number, stream.try_clone()?);
        Ok(())
    }

    /// Removes a connection; false if it was pushed out.
    pub(crate) fn leave(&mut self, number: u64) -> bool {
        self.0.remove(&number).is_some()
    }

    /// Ends all of them.
    pub(crate) fn end(&mut self) {
        for stream in std::mem::take(&mut self.0).into_values() {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}
