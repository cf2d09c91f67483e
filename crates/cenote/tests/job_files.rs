//! Job files: what is read, and what is said about one that is wrong.

use std::path::{Path, PathBuf};

use cenote::query::QueryJob;
use cenote::{Authenticated, Error, Jimu, Job, Kind, Lego, PartyId, Protocol, Three, Variant, ViewCheck};
use cenote_circuit::BitOrder;

const GOOD: &str = r#"protocol = "three"
variant = "baseline"
view_check = "sha256"
security = 50
circuit = "lib:add8"
lanes = 3

[[input]]
party = 0
hex = "0x1f"
order = "msb"

[[input]]
party = 2
file = "y.csv"

[[output]]
to = [0, 2]
order = "msb"
file = "sum.csv"
"#;

fn write(folder: &Path, name: &str, text: &str) -> PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, text).unwrap();
    path
}

fn load(text: &str) -> (tempfile::TempDir, cenote::Result<Job>) {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "y.csv", "1\n0x2\n255\n");
    let job = Job::load(&write(folder.path(), "job.toml", text));
    (folder, job)
}

#[test]
fn a_job_says_everything_that_the_parties_agree_on() {
    let (folder, job) = load(GOOD);
    let job = job.unwrap();
    let settings = Three {
        variant: Some(Variant::Baseline.into()),
        view_check: ViewCheck::Sha256,
        security: 50,
        workers: 1,
    };
    assert_eq!(job.protocol(), &Protocol::from(settings));
    assert_eq!(job.circuit().inputs()[0].order, BitOrder::Msb);
    assert_eq!(job.circuit().inputs()[1].order, BitOrder::Lsb);
    assert_eq!(job.circuit().outputs()[0].order, BitOrder::Msb);
    assert_eq!((job.stated_lanes().unwrap(), job.infer_lanes().unwrap()), (3, 3));
    assert_eq!(job.output_files(), [Some(folder.path().join("sum.csv"))]);
    let program = job.program(3).unwrap();
    assert_eq!(program.owners(), [PartyId(0), PartyId(2)]);
    assert_eq!(program.receivers()[0].to_string(), "0,2");

    // The value stands most significant bit first, in every lane.
    let inputs = job.read_inputs(PartyId(0), 3).unwrap();
    let bits: Vec<bool> = (0..8)
        .map(|row| inputs[0].as_ref().unwrap().get(row, 2))
        .collect();
    assert_eq!(bits, [false, false, false, true, true, true, true, true]);
    assert!(inputs[1].is_none());
    let inputs = job.read_inputs(PartyId(2), 3).unwrap();
    assert!(inputs[0].is_none() && inputs[1].as_ref().unwrap().get(7, 2));
    assert!(
        job.read_inputs(PartyId(1), 3)
            .unwrap()
            .iter()
            .all(Option::is_none)
    );
}

#[test]
fn what_is_left_out_has_defaults() {
    let text = "protocol = \"three\"\ncircuit = \"lib:add8\"\n[[input]]\nparty = 0\n[[input]]\nparty = 1\nfile = \"y.csv\"\n\
                [[output]]\nto = [1]\n";
    let (folder, job) = load(text);
    let job = job.unwrap();
    assert_eq!(job.protocol(), &Protocol::default());
    // Party 0's value is elsewhere: party 1 needs it not, but cannot count it either.
    assert!(job.read_inputs(PartyId(1), 3).is_ok());
    assert!(
        job.stated_lanes()
            .unwrap_err()
            .to_string()
            .contains("`lanes` is missing")
    );
    let error = job.infer_lanes().unwrap_err();
    assert!(
        error
            .to_string()
            .contains("job.toml, line 3: the input of party 0 has no value here"),
        "{error}"
    );
    assert_eq!(error.kind(), Kind::Misuse);

    let with_value = text.replace("party = 0\n", "party = 0\nhex = \"7\"\n");
    let job = Job::load(&write(folder.path(), "job.toml", &with_value)).unwrap();
    assert_eq!(job.infer_lanes().unwrap(), 3);
}

const TWO: &str = r#"protocol = "lego"
security = 39
workers = 2
garbler = 1
circuit = "lib:add8"

[[input]]
party = 0
hex = "0x1f"

[[input]]
party = 1
hex = "1"

[[output]]
to = [0, 1]
"#;

#[test]
fn a_job_of_two_parties_has_settings_of_its_own() {
    let job = load(TWO).1.unwrap();
    let settings = Lego {
        security: 39,
        workers: 2,
        garbler: 1,
    };
    assert_eq!(job.protocol(), &Protocol::from(settings));
    assert_eq!(job.program(1).unwrap().receivers()[0].to_string(), "0,1");
    let plain = TWO.replace("security = 39\nworkers = 2\ngarbler = 1\n", "");
    let job = load(&plain).1.unwrap();
    assert_eq!(job.protocol(), &Protocol::from(Lego::default()));
    let job = load(&pooled()).1.unwrap();
    let settings = Jimu {
        security: 39,
        pool: Some(2000),
        garbler: 1,
    };
    assert_eq!(job.protocol(), &Protocol::from(settings));
    let plain = plain.replace("lego", "jimu");
    assert_eq!(
        load(&plain).1.unwrap().protocol(),
        &Protocol::from(Jimu::default())
    );
}

#[test]
fn a_job_that_names_no_protocol_has_the_cheapest_for_its_parties() {
    let unnamed = TWO.replace("protocol = \"lego\"\n", "");
    let any = unnamed.replace("workers = 2\n", "");
    let settings = Authenticated {
        security: 39,
        garbler: 1,
        ..Authenticated::default()
    };
    assert_eq!(load(&any).1.unwrap().protocol(), &Protocol::from(settings));
    // Only one of them has workers.
    assert_eq!(load(&unnamed).1.unwrap().protocol().name(), "lego");
    // The third party takes part.
    let three = any
        .replace("garbler = 1\n", "")
        .replace("to = [0, 1]", "to = [2]");
    let job = load(&three).1.unwrap();
    assert_eq!((job.protocol().name(), job.protocol().security()), ("three", 39));
    complains(
        &three,
        "security = 39",
        "symbols = 24",
        1,
        "`symbols` is a setting of protocol \"authenticated\" only",
    );
    complains(&any, "security = 39", "security = 129", 1, "1 to 40");
}

/// The same job over a pool.
fn pooled() -> String {
    TWO.replace("lego", "jimu").replace("workers = 2", "pool = 2000")
}

#[test]
#[allow(clippy::too_many_lines, reason = "one list of cases")]
fn every_complaint_names_the_line_and_what_to_write() {
    for (from, to, line, part) in [
        (
            "protocol = \"three\"",
            "protocol = \"four\"",
            1,
            "write protocol = \"three\" or protocol = \"lego\" or protocol = \"jimu\" or protocol = \"authenticated\"",
        ),
        (
            "baseline",
            "fastest",
            2,
            "one of baseline, cache-efficient, reshuffle, on-demand",
        ),
        ("sha256", "md5", 3, "one of mac, sha256"),
        ("security = 50", "security = 0", 4, "1 to 128"),
        ("security = 50", "security = 129", 4, "1 to 128"),
        ("security = 50", "security = \"50\"", 4, "1 to 128"),
        ("security = 50", "securty = 50", 4, "unknown field `securty`"),
        ("lib:add8", "lib:add", 5, "no circuit \"add\""),
        ("lanes = 3", "lanes = 0", 6, "at least one"),
        ("lanes = 3", "lanes = -1", 6, "invalid value"),
        ("lanes = 3", "lanes = 9223372036854775807", 6, "split the job"),
        ("party = 0", "party = 3", 9, "there is no party 3"),
        ("party = 0", "player = 0", 9, "unknown field `player`"),
        ("hex = \"0x1f\"", "hex = 31", 10, "string of hexadecimal digits"),
        ("hex = \"0x1f\"", "hex = \"1\"\nfile = \"y.csv\"", 8, "not both"),
        ("order = \"msb\"", "order = \"big\"", 11, "\"lsb\""),
        (
            "[[input]]\nparty = 0",
            "[[inputs]]\nparty = 0",
            8,
            "unknown field `inputs`",
        ),
        ("to = [0, 2]", "to = [0, 0]", 18, "listed twice"),
        ("to = [0, 2]", "to = []", 18, "nobody would learn"),
        ("to = [0, 2]", "to = [7]", 18, "there is no party 7"),
        ("security = 50", "security = ", 4, ""),
        (
            "security = 50",
            "garbler = 0",
            4,
            "`garbler` is a setting of protocols \"lego\" and \"jimu\" and \"authenticated\" only",
        ),
    ] {
        complains(GOOD, from, to, line, part);
    }
    complains(TWO, "security = 39", "security = 41", 2, "from 1 to 40");
    let authenticated = TWO
        .replace("lego", "authenticated")
        .replace("workers = 2", "pool = 2000");
    complains(
        &authenticated,
        "security = 39",
        "security = 88",
        2,
        "from 1 to 87",
    );
    for (from, to, line, part) in [
        ("security = 39", "security = 129", 2, "1 to 40"),
        ("workers = 2", "workers = 0", 3, "1 to 64"),
        ("workers = 2", "workers = 65", 3, "1 to 64"),
        ("garbler = 1", "garbler = 2", 4, "party 0 or 1"),
        (
            "garbler = 1",
            "variant = \"baseline\"",
            4,
            "`variant` is a setting of protocol \"three\" only",
        ),
        (
            "garbler = 1",
            "view_check = \"mac\"",
            4,
            "`view_check` is a setting of protocol \"three\" only",
        ),
        (
            "party = 1",
            "party = 2",
            12,
            "there is no party 2; parties are 0 and 1",
        ),
        (
            "to = [0, 1]",
            "to = [2]",
            16,
            "there is no party 2; parties are 0 and 1",
        ),
    ] {
        complains(TWO, from, to, line, part);
    }
    for (from, to, line, part) in [
        ("security = 39", "security = 129", 2, "1 to 63"),
        ("pool = 2000", "pool = 999", 3, "from 1000 to 100000000"),
        (
            "pool = 2000",
            "pool = \"2000\"",
            3,
            "leave it out to have as many as suit the job",
        ),
        ("garbler = 1", "garbler = 2", 4, "party 0 or 1"),
        (
            "pool = 2000",
            "workers = 2",
            3,
            "`workers` is a setting of protocols \"three\" and \"lego\" only",
        ),
    ] {
        complains(&pooled(), from, to, line, part);
    }
}

/// Asserts what is said, and of which line, of `good` with `to` in the place of `from`.
#[track_caller]
fn complains(good: &str, from: &str, to: &str, line: usize, part: &str) {
    let text = good.replacen(from, to, 1);
    assert_ne!(text, good, "{from}");
    let (_folder, job) = load(&text);
    let error = job.map(drop).unwrap_err();
    assert_eq!(error.kind(), Kind::Misuse, "{error}");
    let Error::Config {
        line: found, what, ..
    } = &error
    else {
        panic!("{error}")
    };
    assert!(what.contains(part), "{what}");
    assert_eq!(*found, Some(line), "{error}");
}

#[test]
fn inputs_and_outputs_are_those_of_the_circuit() {
    let one = GOOD.replace("[[input]]\nparty = 2\nfile = \"y.csv\"\n", "");
    let text = load(&one).1.map(drop).unwrap_err().to_string();
    assert!(
        text.contains("2 input values, x (8 bits), y (8 bits), but the job has 1"),
        "{text}"
    );
    let none = GOOD.split("[[output]]").next().unwrap();
    let text = load(none).1.map(drop).unwrap_err().to_string();
    assert!(
        text.contains("1 output value, ") && text.contains("but the job has 0; write one [[output]]"),
        "{text}"
    );
    let many = GOOD.replace("lib:add8", "lib:sort256x32");
    let text = load(&many).1.map(drop).unwrap_err().to_string();
    assert!(
        text.contains("256 input values, x0 (32 bits), ")
            && text.contains(", x7 (32 bits), and 248 more, but the job has 2"),
        "{text}"
    );
}

#[test]
fn wrong_values_are_bad_input_and_not_quoted() {
    let read = |text: &str, party| {
        let (_folder, job) = load(text);
        let job = job.unwrap();
        let error = job
            .infer_lanes()
            .and_then(|lanes| job.read_inputs(PartyId(party), lanes).map(drop))
            .unwrap_err();
        assert_eq!(error.kind(), Kind::BadInput, "{error}");
        error.to_string()
    };
    for hex in ["1ff", "0xabcd", "zz", ""] {
        let text = read(&GOOD.replace("0x1f", hex), 0);
        assert!(text.contains("job.toml, line 10: `hex` of x"), "{text}");
        // The folder's name is random, and may have any letters.
        let said = text.split_once("job.toml").map_or("", |(_, said)| said);
        assert!(hex.is_empty() || !said.contains(hex), "{text}");
    }
    let text = read(&GOOD.replace("lanes = 3", "lanes = 4"), 2);
    assert!(text.contains("y.csv: has 3 values, but the job has 4"), "{text}");
    let text = read(&GOOD.replace("y.csv", "z.csv"), 2);
    assert!(text.contains("z.csv: cannot be read"), "{text}");
}

#[test]
fn no_file_makes_the_loader_panic() {
    let folder = tempfile::tempdir().unwrap();
    let files: [(&[u8], u8); 7] = [
        (b"\xff\xfe", 2),
        (b"", 2),
        (b"[[[[", 2),
        (b"protocol", 2),
        (b"a = \"\xc3\xa9", 2),
        (b"protocol = \"three\"\ncircuit = \"\"", 5),
        (b"protocol = \"three\"\ncircuit = \"\\u0000\"", 5),
    ];
    for (bytes, code) in files {
        let path = folder.path().join("job.toml");
        std::fs::write(&path, bytes).unwrap();
        let error = Job::load(&path).map(drop).unwrap_err();
        assert_eq!(error.kind().exit_code(), code, "{error}");
    }
    assert_eq!(
        Job::load(folder.path()).map(drop).unwrap_err().kind(),
        Kind::Misuse
    );
}

#[test]
fn a_query_without_a_protocol_takes_the_usual_one_for_its_parties() {
    let table = |party: u8| {
        format!("[[table]]\nname = \"t{party}\"\nparty = {party}\ncolumns = {{ x = \"u8\" }}\nmax_rows = 2\n")
    };
    let job = |head: &str, tables: &str, to: &str| {
        let folder = tempfile::tempdir().unwrap();
        let text = format!("{head}query = \"SELECT x FROM t0\"\n[answer]\nto = {to}\nmax_rows = 2\n{tables}");
        let job = QueryJob::load(&write(folder.path(), "job.toml", &text));
        job.map(|job| (job.protocol().name(), job.protocol().security()))
    };
    let [one, two, three] = [0, 1, 2].map(table);
    assert_eq!(job("", &one, "[0]").unwrap(), ("authenticated", 40));
    assert_eq!(job("", &format!("{one}{two}"), "[1]").unwrap().0, "authenticated");
    assert_eq!(job("", &format!("{one}{three}"), "[1]").unwrap().0, "three");
    assert_eq!(job("", &one, "[2]").unwrap().0, "three");
    assert_eq!(job("security = 50\n", &one, "[0]").unwrap().1, 50);
    assert_eq!(job("variant = \"baseline\"\n", &one, "[2]").unwrap().0, "three");
    assert_eq!(job("workers = 2\n", &one, "[0]").unwrap().0, "lego");
    assert_eq!(job("protocol = \"three\"\n", &one, "[0]").unwrap().0, "three");
    let fourth = job("", &table(3), "[0]").unwrap_err().to_string();
    assert!(fourth.contains("line 7"), "{fourth}");
}
