//! The command, from outside.

mod authenticated;
mod bad_tables;
mod bench;
mod bench_pools;
mod bench_service;
mod bench_two;
#[allow(
    dead_code,
    reason = "it is that of the tests of the page, of which this takes a part"
)]
#[path = "../../../web/tests/web/browser.rs"]
mod browser;
mod catalogue;
mod circuits;
mod commands;
mod common;
mod doctor;
mod examples;
mod files;
mod full_disk;
mod jobs;
mod kept;
mod lanes;
mod lost_answers;
mod memory;
mod newcomer;
mod others;
mod parties;
mod plan;
mod pool;
mod processes;
#[path = "../programs/mod.rs"]
mod programs;
mod queries;
mod serve;
mod services;
mod shards;
mod siblings;
mod signals;
mod silence;
mod soak;
mod tampering;
mod two;
mod unsettled;
mod workers;
mod world;
