//! What callers send and get, as JSON. Times are milliseconds since the beginning of 1970, UTC, by the service's clock.

mod call;
mod catalogue;
mod fleet;
mod job;
mod kept;
mod plan;
mod token;

pub use call::{CallEnded, Calls, NewCall, NewCalls, Standing};
pub use catalogue::{Catalogue, CatalogueColumn, CatalogueParty, CatalogueTable, Compose, Composed, Place};
pub use fleet::{
    About, Alarm, AlarmKind, Data, LinkState, Peer, PutBack, Running, RunningShards, Stock, Unsettled,
};
pub use job::{
    Approve, Decision, Decline, Explained, Fetch, FilePart, FileView, Gift, Input, JobDetail, JobPage,
    JobView, ResultFormat, Revealed, Submit, Verdict,
};
pub use kept::{Keep, Kept, Take};
pub use plan::{
    AskedQuery, Compared, Computes, OtherConstant, Plan, PlanAsked, PlanFault, PlanStep, Planned, Weighed,
};
pub use token::{
    AuditPage, AuditVerified, Login, LoginMade, NewToken, Session, TokenKind, TokenMade, TokenView,
};
