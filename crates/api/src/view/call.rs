//! Calls of jobs that stand.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::Problem;

/// How often a job may be called until its deadline.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Standing {
    /// Calls in all.
    pub calls: u64,
    /// The parties whose inputs come with each call. All of them make every call.
    pub callers: Vec<u8>,
    /// Of a query, its parameters and their types, whose values each call gives and all parties learn. Nothing of a circuit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parameters: Option<BTreeMap<String, String>>,
}

/// Calls that are made together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct NewCalls {
    /// The calls, 1000 at most.
    pub calls: Vec<NewCall>,
    /// Seconds to wait for their outcomes, 50 at most; 30 if not given.
    #[serde(default)]
    pub wait: Option<u64>,
}

/// A call of a job that stands. Its `Debug` does not tell the values.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct NewCall {
    /// Its name, of 1 to 128 bytes, of which all parties see a digest. All callers give the same name, and the same name again is the same call.
    pub name: String,
    /// The values of this party's inputs, by input: one a line. Of a query, the value of each parameter.
    #[serde(default)]
    pub inputs: BTreeMap<String, String>,
}

impl fmt::Debug for NewCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NewCall")
            .field("name", &self.name)
            .field("inputs", &self.inputs.keys())
            .finish()
    }
}

/// How calls ended, in the order in which they were made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Calls {
    /// One for each call.
    pub calls: Vec<CallEnded>,
}

/// How a call ended: with what this party learnt, or with what was wrong.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct CallEnded {
    /// Its name.
    pub name: String,
    /// What this party learnt: the job, the call and its outputs, or the answer of a query.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schema(value_type = Option<Object>))]
    pub answer: Option<serde_json::Value>,
    /// Why there is no answer.
    #[serde(default)]
    pub problem: Option<Problem>,
}
