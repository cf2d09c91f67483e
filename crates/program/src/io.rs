//! What goes into a session, and what comes out of it.

use std::panic::Location;

use cenote_net::PartyId;
use cenote_session::Parties;

use crate::error::Result;
use crate::secret::Secret;
use crate::session::Session;
use crate::value::{no_row, to_matrix};
use crate::values::Values;
use crate::word::Word;

impl Session {
    /// `len` secrets of `owner`, which gives them; the others give `None`.
    #[track_caller]
    pub fn input<T: Word>(&self, owner: PartyId, len: usize, values: Option<&[T]>) -> Secret<T> {
        let at = Location::caller();
        let wires = T::BITS as usize;
        if let Some(what) = no_row(len) {
            return Secret::of(self.misuse(what, at, T::BITS, 1));
        }
        if let Some(values) = values
            && values.len() != len
        {
            let what = format!("{} values were given for an input of {len}", values.len());
            return Secret::of(self.misuse(what, at, T::BITS, len));
        }
        let bits = values.map(|values| {
            let bits: Vec<u128> = values.iter().map(|value| value.to_bits()).collect();
            to_matrix(&bits, T::BITS)
        });
        let value = self.make(T::BITS, len, |machine| {
            machine.input(owner, wires, len, bits.as_ref())
        });
        Secret::of(value)
    }

    /// A value that everybody knows, for calculating with secrets.
    pub fn public<T: Word>(&self, value: T) -> Secret<T> {
        Secret::of(self.constant(T::BITS, value.to_bits()))
    }

    /// Values that everybody knows, one in each lane.
    #[track_caller]
    pub fn public_row<T: Word>(&self, values: &[T]) -> Secret<T> {
        if let Some(what) = no_row(values.len()) {
            return Secret::of(self.misuse(what, Location::caller(), T::BITS, 1));
        }
        let bits: Vec<u128> = values.iter().map(|value| value.to_bits()).collect();
        Secret::of(self.constant_row(T::BITS, &bits))
    }

    /// Verifies everything that `secrets` depend on, then opens it to the parties in `to`: `Some` exactly at those.
    ///
    /// # Errors
    /// What the program did wrong, or what happened to the session, since the last call.
    #[track_caller]
    pub fn reveal<V: Values>(&self, secrets: &V, to: Parties) -> Result<Option<V::Clear>> {
        let mut values = Vec::new();
        secrets.each(&mut |secret| values.push(secret.value().clone()));
        if values.iter().any(|value| !self.is(value.session())) {
            self.fail_at("a secret of another session is revealed", Location::caller());
        }
        let opened = self.open_each(&values, to)?;
        Ok(opened.map(|opened| {
            let mut opened = opened.into_iter();
            V::clear(&mut || opened.next().expect("one for each value"))
        }))
    }

    /// As [`Session::reveal`], to all parties.
    ///
    /// # Errors
    /// As [`Session::reveal`].
    #[track_caller]
    pub fn open<V: Values>(&self, secrets: &V) -> Result<V::Clear> {
        let all = Parties::all(self.parties());
        Ok(self.reveal(secrets, all)?.expect("all parties learn it"))
    }
}
