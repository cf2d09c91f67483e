//! `cenote circuit`, and terminals.

use crate::common::{cenote, own_circuit, published, run, write};

#[test]
fn the_version_and_all_exit_codes_are_told() {
    let version = run(cenote().arg("--version"));
    assert_eq!(version.code, Some(0));
    assert_eq!(version.stdout, format!("cenote {}\n", env!("CARGO_PKG_VERSION")));
    let help = run(cenote().arg("--help"));
    assert_eq!(help.code, Some(0));
    let codes = help.stdout.split_once("Exit codes:").unwrap().1;
    for code in 0..=cenote::Kind::Late.exit_code() {
        assert!(codes.contains(&format!("\n  {code}  ")), "{code}: {codes}");
    }
}

#[test]
fn circuits_of_the_library_are_listed_counted_and_written() {
    let list = run(cenote().args(["circuit", "gen"])).stdout;
    assert!(list.contains("aes128") && list.contains("addN"), "{list}");
    let stats = run(cenote().args(["circuit", "stats", "lib:add32", "--json"])).json();
    assert_eq!(stats["and_gates"].as_u64(), Some(31));
    assert_eq!(stats["inputs"][1]["width"].as_u64(), Some(32));
    let table = run(cenote().args(["circuit", "stats", "lib:add32"])).stdout;
    assert!(
        table.contains("AND         31\n") && table.contains(stats["digest"].as_str().unwrap()),
        "{table}"
    );
    run(cenote().args(["circuit", "stats", "lib:nothing"])).failed(2, &["no circuit \"nothing\"", "aes128"]);
    run(cenote().args(["circuit", "stats", "add5000"])).failed(2, &["add5000", "N is 1 to 4096"]);
}

#[test]
fn circuits_are_converted_both_ways() {
    let folder = tempfile::tempdir().unwrap();
    let (fashion, bristol) = (folder.path().join("f.txt"), folder.path().join("b.txt"));
    let ended = run(cenote().args(["circuit", "gen", "mult16", "-o"]).arg(&fashion));
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let ended = run(cenote()
        .args(["circuit", "convert", "--format", "bristol", "-o"])
        .arg(&bristol)
        .arg(&fashion));
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let header = |path| {
        std::fs::read_to_string(path)
            .unwrap()
            .lines()
            .nth(1)
            .unwrap()
            .trim()
            .to_owned()
    };
    assert_eq!(header(&fashion), "2 16 16");
    assert_eq!(
        header(&bristol).split_whitespace().collect::<Vec<_>>(),
        ["16", "16", "16"]
    );
    let ands = |path: &std::path::Path| {
        run(cenote().args(["circuit", "stats", "--json"]).arg(path)).json()["and_gates"].clone()
    };
    assert_eq!(ands(&fashion), ands(&bristol));

    let bad = write(folder.path(), "bad.txt", "1 3\n2 1 1\n1 1\n2 1 0 9 2 AND\n");
    run(cenote().args(["circuit", "stats"]).arg(bad)).failed(5, &["bad.txt, line 4"]);
    run(cenote().args(["circuit", "convert", "lib:add8", "-o", "/nowhere/c.txt"]))
        .failed(5, &["/nowhere/c.txt"]);
}

fn check_size(path: &std::path::Path, ands: u64, depth: u64) {
    let stats = run(cenote().args(["circuit", "stats", "--json"]).arg(path)).json();
    assert_eq!(
        (stats["and_gates"].as_u64(), stats["and_depth"].as_u64()),
        (Some(ands), Some(depth)),
        "{}",
        path.display()
    );
}

#[test]
fn published_circuits_have_their_published_sizes() {
    for (file, ands, depth) in [
        ("bristol-fashion/aes_128.txt", 6400, 60),
        ("bristol-fashion/sha256.txt", 22573, 1607),
        ("bristol-fashion/adder64.txt", 63, 63),
        ("bristol-fashion/mult64.txt", 4033, 63),
        ("bristol/AES-non-expanded.txt", 6800, 40),
    ] {
        let Some(path) = published(file) else { continue };
        check_size(&path, ands, depth);
    }
}

/// The sizes are those that the library's documentation tells.
#[test]
fn files_of_our_own_have_the_sizes_of_the_library() {
    let folder = tempfile::tempdir().unwrap();
    for (name, format, ands, depth) in [
        ("aes128", "fashion", 6400, 50),
        ("sha256", "fashion", 22271, 1607),
        ("add64", "fashion", 63, 63),
        ("mult64", "fashion", 3601, 63),
        ("aes128-balanced", "bristol", 6600, 40),
    ] {
        check_size(&own_circuit(folder.path(), name, format), ands, depth);
    }
}

/// On a terminal there are progress bars and a log without colours; both go to standard error.
#[cfg(target_os = "linux")]
#[test]
fn a_terminal_does_no_harm() {
    let folder = tempfile::tempdir().unwrap();
    let (typescript, report) = (
        folder.path().join("typescript"),
        folder.path().join("report.json"),
    );
    let command = format!(
        "{} -v bench three --json --circuit lib:mult32 --lanes 70000 --transport tcp > {}",
        crate::programs::cenote().display(),
        report.display()
    );
    let mut script = std::process::Command::new("script");
    if script.arg("--version").output().is_err() {
        eprintln!("skipped: there is no `script` to make a terminal with");
        return;
    }
    let ended = run(std::process::Command::new("script")
        .args(["-qec", &command])
        .arg(typescript));
    assert_eq!(ended.code, Some(0), "{} {}", ended.stdout, ended.stderr);
    assert!(
        ended.stdout.contains("measuring") && ended.stdout.contains("session started"),
        "{}",
        ended.stdout
    );
    let report: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(report).unwrap()).unwrap();
    assert_eq!(report["lanes"].as_u64(), Some(70_000));
}
