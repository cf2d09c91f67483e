//! What callers of the interface get, made of what this crate knows.

mod fleet;
mod job;
mod token;

/// The name of a value that is written as text.
fn word(value: &impl serde::Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(text)) => text,
        _ => String::new(),
    }
}
