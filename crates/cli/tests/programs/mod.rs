//! The programs under test, side by side as an installation has them.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// Where `cenote` lies beside its siblings. They are examples of this crate, which `cargo test` builds, but `cargo test --test NAME` does not.
pub(crate) fn cenote() -> &'static Path {
    static FILE: OnceLock<PathBuf> = OnceLock::new();
    FILE.get_or_init(|| {
        let built = Path::new(env!("CARGO_BIN_EXE_cenote"));
        let examples = built.parent().expect("it is in a folder").join("examples");
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("programs");
        std::fs::create_dir_all(&folder).expect("a folder for tests");
        for name in ["cenote-serve", "cenote-bench"] {
            link(&examples.join(name), &folder.join(name));
        }
        let file = folder.join("cenote");
        link(built, &file);
        file
    })
}

/// Gives a file another name, in place of what had that name. A symbolic link would not do: programs find themselves behind it.
fn link(from: &Path, to: &Path) {
    let part = to.with_extension(std::process::id().to_string());
    std::fs::hard_link(from, &part).unwrap_or_else(|error| {
        panic!(
            "{}: {error}; `cargo test` without --test builds it",
            from.display()
        )
    });
    std::fs::rename(&part, to).expect("a file of this test");
    // Where both names are of one file already, the first one stays.
    let _ = std::fs::remove_file(&part);
}
