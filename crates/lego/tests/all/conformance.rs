//! The programs of all engines, over two parties.

use crate::common::Two;
use cenote_session::conformance;

#[test]
fn every_program_of_the_suite() {
    conformance::all(&Two { security: 40 });
}
