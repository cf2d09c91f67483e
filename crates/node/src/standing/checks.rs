//! What is checked of the calls of a job that stands. Each check is tripped by a lying party in a test.

use cenote_net::PartyId;

use super::session::lie;
use super::words::BATCH;

cenote_session::checks! {
    /// Every check but the form of messages.
    ALL;
    /// The leader begins a call that this party does not make, begins it again, begins more calls than the job allows, or begins
    /// others at another party; or a follower offers a call again, or too many. The caller of a query gives values that
    /// are not of its parameters' types.
    CALLS = 30, "calls of a job that stands";
}

/// Sees that the leader begins no more calls than it may.
pub(super) fn check_count(begins: usize, most: u64, leader: PartyId) -> cenote::Result<()> {
    match begins as u64 > most {
        true => Err(lie(
            leader,
            BATCH,
            format!("it begins {begins} calls, and may begin {most}"),
        )),
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use cenote_service::job::FailKind;

    use super::*;
    use crate::failure::Fault;

    #[test]
    fn a_leader_that_begins_more_calls_than_are_left_is_named() {
        check_count(3, 3, PartyId(0)).expect("fine");
        let error = Fault::of(&check_count(4, 3, PartyId(0)).expect_err("one too many"));
        assert_eq!((error.kind, error.cheater), (FailKind::Cheating, Some(0)));
        assert_eq!(error.check, Some(CALLS.name));
    }
}
