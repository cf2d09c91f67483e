//! The command, from outside.

mod bench;
mod circuits;
mod commands;
mod common;
mod demo;
mod jobs;
mod parties;
mod processes;
mod tampering;
mod two;
mod world;
