//! What job files may say of kept values, and what their circuits come to.

use cenote_circuit::{BitOrder, Builder, library};

use super::*;

#[test]
fn job_files_say_what_is_kept() {
    let given = "[[input]]\nparty = 0\n[[input]]\nparty = 1\n";
    let job = job(
        "authenticated",
        "lib:add8",
        &format!("{given}[[output]]\nkeep = \"a.b-c\"\ndays = 3\n"),
    );
    let keep = &job.keeping().keeps()[0];
    assert_eq!((keep.name.as_str(), keep.days, keep.width), ("a.b-c", 3, 8));
    assert_eq!(job.keeping().opened(), 0);
    let text = job
        .read_inputs(PartyId(0), LANES)
        .map(drop)
        .unwrap_err()
        .to_string();
    assert!(text.contains("cenote job submit"), "{text}");

    let open = "[[output]]\nto = [0]\n";
    for (values, part) in [
        (
            format!("{given}[[output]]\nkeep = \"x\"\nto = [0]\n"),
            "opened or kept, not both",
        ),
        (
            format!("{given}[[output]]\nkeep = \"../x\"\n"),
            "the name of a kept value",
        ),
        (
            format!("{given}[[output]]\nkeep = \".x\"\n"),
            "the name of a kept value",
        ),
        (
            format!("{given}[[output]]\nkeep = \"x\"\ndays = 0\n"),
            "1 to 366 days",
        ),
        (format!("{given}[[output]]\nto = [0]\ndays = 1\n"), "write `keep"),
        (format!("{given}[[output]]\n"), "nobody would learn this output"),
        (
            format!("[[input]]\n[[input]]\nparty = 1\n{open}"),
            "nobody gives this input",
        ),
        (
            format!("[[input]]\nkept = \"x\"\nparty = 0\n[[input]]\nparty = 1\n{open}"),
            "comes from no party",
        ),
        (
            format!("[[input]]\nparty = 0\nof = \"x\"\n[[input]]\nparty = 1\n{open}"),
            "write `kept",
        ),
    ] {
        let text = refusal(&values);
        assert!(text.contains(part), "{values}: {text}");
    }
}

#[test]
fn what_is_less_safe_than_the_job_is_refused() {
    // 2 blocks in 67 instances.
    let program = |security: u32| {
        let values = format!(
            "security = {security}\n[[input]]\nparty = 0\n[[input]]\nparty = 1\n[[output]]\nkeep = \"x\"\n"
        );
        job("authenticated", "lib:add8", &values).program(LANES)
    };
    let text = program(57).map(drop).unwrap_err().to_string();
    assert!(
        text.contains("safe up to 2^-56.9") && text.contains("57 bits"),
        "{text}"
    );
    assert!(program(56).is_ok());
}

#[test]
fn so_many_values_are_taken_and_kept_at_most() {
    let circuit = |values: usize| {
        let mut b = Builder::new();
        for _ in 0..values {
            let x = b.input("x", 1, BitOrder::Lsb);
            b.output("y", &x, BitOrder::Lsb);
        }
        let mut text = Vec::new();
        let fashion = cenote_circuit::format::Format::Fashion;
        cenote_circuit::format::write(&b.finish(), fashion, &mut text).unwrap();
        String::from_utf8(text).unwrap()
    };
    for (count, fits) in [(64, true), (65, false)] {
        let take = "[[input]]\nkept = \"x\"\n".repeat(count);
        let keep: String = (0..count)
            .map(|at| format!("[[output]]\nkeep = \"y{at}\"\n"))
            .collect();
        let (give, open) = (
            "[[input]]\nparty = 0\n".repeat(count),
            "[[output]]\nto = [0]\n".repeat(count),
        );
        for values in [take + &open, give + &keep] {
            let mut bundle = text("authenticated", "many.txt", &values);
            bundle.files.insert("many.txt".into(), circuit(count));
            let read = Job::from_bundle(&bundle).map(drop);
            assert_eq!(read.is_ok(), fits, "{read:?}");
            if let Err(error) = read {
                assert!(error.to_string().contains("at most 64 kept values"), "{error}");
            }
        }
    }
}

#[test]
fn the_parts_of_a_circuit_are_bounded() {
    let circuit = library::by_name("add4096").unwrap();
    let keep = Keep {
        output: "z".into(),
        name: "z".into(),
        days: 1,
        width: 4096,
    };
    let text = Keeping::new(&circuit, vec![None; 2], vec![Some(keep)], None, 100_000)
        .map(drop)
        .unwrap_err();
    assert!(text.to_string().contains("more than 100000 gates"), "{text}");
}
