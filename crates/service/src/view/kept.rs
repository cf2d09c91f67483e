//! Kept values, as callers see them.

use cenote_api::view::{Keep, Kept, Take};

use crate::job;

impl From<job::Kept> for Kept {
    fn from(kept: job::Kept) -> Self {
        Kept {
            name: kept.name,
            job: kept.job.to_string(),
            kind: kept.kind,
            bytes: kept.bytes,
            kept_at: kept.kept_at.millis(),
            expires_at: kept.expires_at.millis(),
        }
    }
}

impl From<job::Take> for Take {
    fn from(take: job::Take) -> Self {
        Take {
            input: take.input,
            name: take.name,
            job: take.job.to_string(),
        }
    }
}

impl From<job::Keep> for Keep {
    fn from(keep: job::Keep) -> Self {
        Keep {
            output: keep.output,
            name: keep.name,
            kind: keep.kind,
            days: keep.days,
        }
    }
}
