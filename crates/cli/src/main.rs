//! The `cenote` command.
#![forbid(unsafe_code)]

mod args;
mod commands;
mod console;
mod huge_pages;
mod service;
mod signals;

use std::process::ExitCode;
use std::time::Duration;

use cap::Cap;
use clap::Parser;
use mimalloc::MiMalloc;

use crate::args::{Args, Command};
use crate::console::Log;
use crate::signals::Told;

/// Memory that a party's threads free for one another is used again, and what is in use is counted.
#[global_allocator]
static ALLOCATOR: Cap<MiMalloc> = Cap::new(MiMalloc, usize::MAX);

/// How long the end of a failed command waits for peers to take its last words.
const LAST_WORDS: Duration = Duration::from_secs(2);

fn main() -> ExitCode {
    cenote::count_memory_with(|| ALLOCATOR.allocated() as u64);
    let args = Args::parse();
    let log = match &args.command {
        Command::Party(_) | Command::Stock(_) | Command::Invite(_) => Log::Warnings,
        Command::Serve(options) => options.log(),
        _ => Log::Nothing,
    };
    console::start_log(args.verbose, log);
    args.command
        .memory()
        .into_iter()
        .for_each(cenote::set_memory_limit);
    let json = args.command.wants_json();
    if args.command.meets_peers() {
        signals::watch(match args.command {
            Command::Child | Command::BenchChild => Told::Nothing,
            _ if json => Told::Json,
            _ => Told::Words,
        });
    }
    let result = match args.command {
        Command::Demo(options) => commands::demo::run(&options, args.verbose),
        Command::Query(options) => commands::query::run(&options, args.verbose),
        Command::Run(options) => commands::run::run(&options, args.verbose),
        Command::Plan(options) => commands::plan::run(&options, args.verbose),
        Command::Party(options) => commands::party::run(&options),
        Command::Serve(options) => commands::serve::serve(&options),
        Command::Init(options) => commands::serve::init(&options),
        Command::Invite(options) => commands::serve::invite(&options),
        Command::Join(options) => commands::serve::join(&options),
        Command::Stock(command) => commands::stock::run(&command),
        Command::Identity(command) => commands::identity::run(&command),
        Command::Circuit(command) => commands::circuit::run(&command),
        Command::Bench(command) => commands::bench::run(&command, args.verbose),
        Command::Soak(options) => commands::soak::run(&options, args.verbose),
        Command::Params(command) => commands::params::run(&command),
        Command::Job(command) => commands::job::run(&command),
        Command::Kept(command) => commands::kept::run(&command),
        Command::Peer(command) => commands::peer::run(&command),
        Command::Token(command) => commands::token::run(&command),
        Command::Audit(command) => commands::audit::run(&command),
        Command::Doctor(options) => commands::doctor::run(&options),
        Command::Child => return ended(cenote::local::child_main()),
        Command::BenchChild => return ended(cenote_bench::child_main()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            if matches!(error, cenote::Error::Stopped { .. }) {
                signals::tell();
            }
            console::fail(&error, json);
            // The peers are told too, before the end of this process cuts that off.
            cenote::wait_for_farewells(LAST_WORDS);
            ExitCode::from(error.kind().exit_code())
        }
    }
}

/// The exit code of a child, whose parent has been told the rest.
fn ended(result: Result<(), cenote::Kind>) -> ExitCode {
    result.map_or_else(|kind| ExitCode::from(kind.exit_code()), |()| ExitCode::SUCCESS)
}
