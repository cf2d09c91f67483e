//! What a session of two parties has done so far, as the bounds on its errors count it.

use super::bounds::Errors;
use super::search::Parameters;

/// Base OTs of a set-up, whose columns the OTs' check compares.
pub(super) const OT_COLUMNS: f64 = 298.0;
/// Elements of GF(2^128) in a column that is checked at once, at most.
const OT_ELEMENTS: f64 = 1020.0;
/// The same of a column of a set-up.
const SET_UP_ELEMENTS: f64 = 4.0;
/// What a column has more than one element for each 128 OTs, at most: one that blinds the check, and what fills four.
const SPARE_ELEMENTS: f64 = 5.0;
/// Commitments of a set-up, whose last bits are told: to the difference of labels and the spare OTs, and to blind the check.
const SET_UP: f64 = 1024.0;
/// Checks of OTs in a set-up: one of each kind.
const SET_UP_CHECKS: f64 = 2.0;

/// What is made in one epoch.
#[derive(Clone, Copy, Debug)]
pub struct Made<'a> {
    /// The cut-and-choose, if there are gates or authenticators.
    pub parameters: Option<&'a Parameters>,
    /// OTs: inputs of the evaluator.
    pub strings: u64,
    /// Other commitments whose last bits are told: masks.
    pub masks: u64,
    /// Commitments to nothing else: ports.
    pub ports: u64,
}

/// What a session has done so far: set-up, and the material that it has made since.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Account {
    pub(super) security: u32,
    /// The sums of Theorem 2's bounds.
    pub(super) errors: Errors,
    /// Garbled gates.
    pub(crate) gates: f64,
    pub(crate) authenticators: f64,
    /// Commitments, these included.
    pub(crate) commitments: f64,
    /// Those whose last bits were told.
    pub(super) told: f64,
    /// Elements of a column, and one more for each check.
    pub(super) ot_elements: f64,
}

impl Account {
    /// A session of so many bits of security that has been set up.
    #[must_use]
    pub fn new(security: u32) -> Self {
        Self {
            security,
            errors: Errors::NONE,
            gates: 0.0,
            authenticators: 0.0,
            commitments: SET_UP,
            told: SET_UP,
            ot_elements: SET_UP_CHECKS * (SET_UP_ELEMENTS + 1.0),
        }
    }

    /// A session that makes material once, for inputs of the evaluator only, and neither masks nor ports.
    pub(crate) fn once(security: u32, parameters: &Parameters) -> Self {
        let mut account = Self::new(security);
        let made = Made {
            parameters: Some(parameters),
            strings: parameters.buckets().inputs,
            masks: 0,
            ports: 0,
        };
        account.make(&made, 1.0);
        account
    }

    /// Counts what was made, so many times over.
    pub fn make(&mut self, made: &Made<'_>, times: f64) {
        if let Some(parameters) = made.parameters {
            self.errors.add(parameters.errors(), times);
            let gates = parameters.garbled_gates() as f64;
            let authenticators = parameters.authenticators() as f64;
            self.gates += times * gates;
            self.authenticators += times * authenticators;
            self.commitments += times * (3.0 * gates + authenticators);
        }
        let strings = made.strings as f64;
        let told = strings + made.masks as f64;
        self.told += times * told;
        self.commitments += times * (told + made.ports as f64);
        let checks = (strings / (128.0 * (OT_ELEMENTS - 1.0))).ceil();
        self.ot_elements += times * (strings / 128.0 + checks * (SPARE_ELEMENTS + 1.0));
    }

    /// The bounds that what was made for `security` keeps to in any case, instead of those of what was counted: for material
    /// of which only a part is known.
    #[must_use]
    pub fn promised(self) -> Self {
        Self {
            errors: Errors::promised(self.security),
            ..self
        }
    }
}
