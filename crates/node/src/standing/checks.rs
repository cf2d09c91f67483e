//! What is checked of the calls of a job that stands. Each check is tripped by a lying party in a test.

cenote_session::checks! {
    /// Every check but the form of messages.
    ALL;
    /// The leader begins a call that this party does not make, begins it again, or begins more calls than the job allows; or a follower offers a call again, or too many.
    CALLS = 30, "calls of a job that stands";
}
