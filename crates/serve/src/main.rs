//! The `cenote-serve` program.
#![forbid(unsafe_code)]

fn main() -> std::process::ExitCode {
    cenote_serve::main()
}
