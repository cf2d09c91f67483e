//! Programs that lie beside this one.
//!
//! A sibling is looked for in the folder of the running program, and nowhere else: it gets keys and data to see, so no other folder on the
//! search path may choose what it is. It is started with the version of the program that starts it, and refuses if its own is another.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use cenote::{Error, Result};

/// Another program of Cenote.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sibling {
    /// A party's standing service.
    Serve,
    /// What measures and draws.
    Bench,
}

/// What a command line says to a sibling, as it stands.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct Forwarded {
    /// Options and names, which the other program reads
    #[arg(
        trailing_var_arg = true,
        allow_hyphen_values = true,
        hide = true,
        value_name = "ARGUMENTS"
    )]
    words: Vec<OsString>,
}

/// Who starts a program.
#[derive(Debug, Clone, clap::Args)]
pub struct StartedBy {
    /// The version of the program that starts this one
    #[arg(long, global = true, hide = true, value_name = "VERSION")]
    started_by: Option<String>,
}

/// The version of all programs that are built from the same source.
const VERSION: &str = env!("CARGO_PKG_VERSION");

impl StartedBy {
    /// # Errors
    /// Another version started this program.
    pub fn check(&self, me: Sibling) -> Result<()> {
        match &self.started_by {
            Some(version) if version != VERSION => Err(Error::Usage(format!(
                "cenote is of version {version}, and {}, which lies beside it, of version {VERSION}\n  what to do: install both from one \
                 release",
                me.name()
            ))),
            _ => Ok(()),
        }
    }
}

impl Sibling {
    /// The program's name.
    pub fn name(self) -> &'static str {
        match self {
            Sibling::Serve => "cenote-serve",
            Sibling::Bench => "cenote-bench",
        }
    }

    /// The program file beside this one.
    ///
    /// # Errors
    /// There is none; the error says how to build it.
    fn file(self) -> Result<PathBuf> {
        let me = std::env::current_exe().map_err(|source| Error::local("finding this program", source))?;
        let file = me.with_file_name(format!("{}{}", self.name(), std::env::consts::EXE_SUFFIX));
        if file.is_file() {
            return Ok(file);
        }
        Err(Error::Usage(self.missing(&me)))
    }

    fn missing(self, me: &Path) -> String {
        let folder = me.parent().unwrap_or(Path::new("."));
        let name = self.name();
        let profile = match folder.file_name().and_then(|name| name.to_str()) {
            Some("debug") => String::new(),
            Some("release") | None => " --release".into(),
            Some("dist") => " --profile dist".into(),
            Some(_) => {
                return format!(
                    "this is done by the program {name}, which is not in {}\n  what to do: install it there; in a checkout, \
                     `cargo build --release -p {name}` builds it",
                    folder.display()
                );
            }
        };
        format!(
            "this is done by the program {name}, which is not built yet\n  what to do: cargo build{profile} -p {name}"
        )
    }

    /// A process of the sibling with this command (none is its main one).
    ///
    /// # Errors
    /// There is no such program beside this one.
    pub fn command(self, command: Option<&str>, verbose: u8) -> Result<Command> {
        let mut process = Command::new(self.file()?);
        process
            .args(command)
            .args(["--started-by", VERSION])
            .args((0..verbose).map(|_| "-v"));
        Ok(process)
    }

    /// Becomes the sibling: it gets the rest of the command line, and its exit code is this process's.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn become_it(self, command: Option<&str>, rest: &Forwarded, verbose: u8) -> Result<()> {
        let mut process = self.command(command, verbose)?;
        process.args(&rest.words);
        let failed = |source| Error::local(format!("starting {}", self.name()), source);
        #[cfg(unix)]
        {
            use std::os::unix::process::CommandExt;
            Err(failed(process.exec()))
        }
        #[cfg(not(unix))]
        {
            let ended = process.status().map_err(failed)?;
            std::process::exit(ended.code().unwrap_or(1));
        }
    }

    /// Has the sibling do something with `input`, and waits for it.
    ///
    /// # Errors
    /// It is not there, cannot be started, or failed; it has said why on standard error.
    pub fn ask(self, command: &str, input: &[u8]) -> Result<()> {
        use std::io::Write;
        use std::process::Stdio;
        let failed = |source| Error::local(format!("starting {}", self.name()), source);
        let mut process = self
            .command(Some(command), 0)?
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .map_err(failed)?;
        if let Some(mut stdin) = process.stdin.take() {
            // One that has failed reads no more, and says why.
            let _ = stdin.write_all(input);
        }
        let ended = process.wait().map_err(failed)?;
        match ended.success() {
            true => Ok(()),
            false => Err(Error::local(
                format!("running {}", self.name()),
                std::io::Error::other(format!("it said why, and ended with {ended}")),
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_misses_a_program_is_told_the_command_that_builds_it() {
        let missing = |path: &str| Sibling::Serve.missing(Path::new(path));
        assert!(
            missing("/home/a/cenote/target/release/cenote")
                .ends_with("cargo build --release -p cenote-serve")
        );
        assert!(missing("/home/a/cenote/target/debug/cenote").ends_with("cargo build -p cenote-serve"));
        assert!(
            missing("/home/a/cenote/target/dist/cenote")
                .ends_with("cargo build --profile dist -p cenote-serve")
        );
        assert!(missing("/usr/local/bin/cenote").contains("not in /usr/local/bin"));
    }

    #[test]
    fn a_program_of_another_version_refuses() {
        let by = |version: Option<&str>| StartedBy {
            started_by: version.map(str::to_owned),
        };
        assert!(by(None).check(Sibling::Bench).is_ok());
        assert!(by(Some(VERSION)).check(Sibling::Bench).is_ok());
        let refused = by(Some("0.0.9"))
            .check(Sibling::Bench)
            .expect_err("another version");
        let text = refused.to_string();
        assert!(
            text.contains("0.0.9") && text.contains("cenote-bench") && text.contains("what to do"),
            "{text}"
        );
    }
}
