//! Each part of the dialect, with the answers that it must have.

mod clauses;
mod costs;
mod expressions;
mod functions;
mod grouping_sets;
mod in_order;
mod joins;
mod keys;
mod listed;
mod moments;
mod numbers;
mod outer;
mod percentiles;
mod statistics;
mod subqueries;
mod windows;
