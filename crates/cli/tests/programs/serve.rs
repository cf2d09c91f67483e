//! The program `cenote-serve`, as the tests of `cenote` put it beside that.
#![forbid(unsafe_code)]

fn main() -> std::process::ExitCode {
    cenote_serve::main()
}
