//! The programs of all engines, over two parties.

mod common;

use cenote_session::conformance;
use common::Two;

#[test]
fn every_program_of_the_suite() {
    conformance::all(&Two { security: 40 });
}
