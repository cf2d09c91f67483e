//! What parties say before the job runs.
