//! The `cenote-bench` program.
#![forbid(unsafe_code)]

fn main() -> std::process::ExitCode {
    cenote_bench::main()
}
