//! Signals that stop a command: the first one ends its sessions in order, the second one ends the process at once.

use std::sync::{Once, OnceLock};

/// The signal that ends the sessions, if the operator is to hear of it.
static FIRST: OnceLock<&str> = OnceLock::new();

/// Tells the operator, once, that all ends in order: by whoever comes first, the thread that watches for signals or the one that is
/// about to say that it has ended.
pub(crate) fn tell() {
    static TOLD: Once = Once::new();
    if let Some(name) = FIRST.get() {
        TOLD.call_once(|| {
            cenote::text::tell(format_args!(
                "{name}: ending in order; a second signal ends at once"
            ))
        });
    }
}

/// What is told of a signal.
#[derive(Clone, Copy)]
pub(crate) enum Told {
    /// Nothing: the parent does.
    Nothing,
    /// The operator, in words.
    Words,
    /// Also the one object that `--json` promises.
    Json,
}

/// Watches for signals from here on.
#[cfg(unix)]
pub(crate) fn watch(told: Told) {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    use signal_hook::iterator::Signals;
    use signal_hook::low_level::{emulate_default_handler, signal_name};

    let ignored = ignored();
    let heard = [SIGINT, SIGTERM, SIGHUP]
        .into_iter()
        .filter(|signal| ignored >> (signal - 1) & 1 == 0);
    let Ok(mut signals) = Signals::new(heard) else {
        // Without it, a signal ends the process at once.
        return;
    };
    let body = move || {
        let mut stopping = false;
        for signal in signals.forever() {
            let name = signal_name(signal).unwrap_or("signal");
            if std::mem::replace(&mut stopping, true) {
                // It does not return for these signals.
                let _ = emulate_default_handler(signal);
                continue;
            }
            if !matches!(told, Told::Nothing) {
                let _ = FIRST.set(name);
            }
            if cenote::stop::request(name) {
                tell();
            } else {
                let error = cenote::Error::Stopped {
                    word: name.to_owned(),
                    what: "no session had begun, and no stock was touched".into(),
                };
                if !matches!(told, Told::Nothing) {
                    crate::output::fail(&error, matches!(told, Told::Json));
                }
                std::process::exit(i32::from(error.kind().exit_code()));
            }
        }
    };
    // A machine without room for a thread cannot run a session either, and says so.
    let _ = std::thread::Builder::new().name("signals".into()).spawn(body);
}

/// The signals that whoever started this process wants it to ignore, as shells do for what runs in the background: a bit
/// each, the first signal's the lowest. Nothing where the system does not tell.
#[cfg(unix)]
fn ignored() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .unwrap_or(0)
}

/// Elsewhere a signal ends the process at once.
#[cfg(not(unix))]
pub(crate) fn watch(_: Told) {}

/// What a signal says to a service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Word {
    /// Read the policy again.
    Again,
    /// End in order.
    End,
}

/// What signals say from here on. The second one that says to end does so at once.
#[cfg(unix)]
pub fn words() -> std::io::Result<std::sync::mpsc::Receiver<Word>> {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    use signal_hook::low_level::emulate_default_handler;

    let mut signals = signal_hook::iterator::Signals::new([SIGINT, SIGTERM, SIGHUP])?;
    let (sender, receiver) = std::sync::mpsc::channel();
    std::thread::Builder::new()
        .name("signals".into())
        .spawn(move || {
            let mut ending = false;
            for signal in signals.forever() {
                let word = if signal == SIGHUP { Word::Again } else { Word::End };
                if word == Word::End && std::mem::replace(&mut ending, true) {
                    // It does not return for these signals.
                    let _ = emulate_default_handler(signal);
                }
                // The receiver ends with the process.
                let _ = sender.send(word);
            }
        })?;
    Ok(receiver)
}

/// Elsewhere a signal ends the process at once.
#[cfg(not(unix))]
pub fn words() -> std::io::Result<std::sync::mpsc::Receiver<Word>> {
    Ok(std::sync::mpsc::channel().1)
}
