//! Plots can be read, and the handbook's are up to date.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::common::{params, run};

#[test]
fn plots_are_svg_or_png_by_their_names() {
    let folder = tempfile::tempdir().unwrap();
    for (i, line) in [
        "three",
        "three --variant baseline --curve cost",
        "lego --copies 1024 --goal online",
        "pool --curve cost",
        "pool --pool-size 3000 --guard adaptive",
        "triples --bucket 3 --security 64",
    ]
    .into_iter()
    .enumerate()
    {
        let [svg, png] = ["svg", "PNG"].map(|kind| folder.path().join(format!("{i}.{kind}")));
        for path in [&svg, &png] {
            let ended = params(&format!("{line} --json --plot {}", path.display()));
            assert_eq!(ended.code, Some(0), "{}", ended.stderr);
            assert!(ended.stderr.contains("wrote the plot to"));
            serde_json::from_str::<Value>(&ended.stdout).expect("one object beside the plot");
        }
        let text = std::fs::read_to_string(&svg).unwrap();
        let document = roxmltree::Document::parse(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
        assert_eq!(document.root_element().tag_name().name(), "svg");
        let count = |name| {
            document
                .descendants()
                .filter(|n| n.has_tag_name(("http://www.w3.org/2000/svg", name)))
                .count()
        };
        assert!(count("polyline") > 10 && count("text") > 10, "{line}");
        assert!(!text.contains("NaN") && !text.contains("inf"), "{text}");

        let image = std::fs::read(&png).unwrap();
        assert!(image.starts_with(b"\x89PNG\r\n\x1a\n"));
        let mut image = png::Decoder::new(std::io::Cursor::new(image))
            .read_info()
            .unwrap();
        let mut pixels = vec![0; image.output_buffer_size().unwrap()];
        let info = image.next_frame(&mut pixels).unwrap();
        assert_eq!(
            (info.width, info.height, pixels.len()),
            (1520, 960, 3 * 1520 * 960)
        );
        let dark = pixels.chunks_exact(3).filter(|pixel| pixel[0] < 100).count();
        assert!((5_000..200_000).contains(&dark), "{line}: {dark} dark pixels");
    }
}

/// The command lines in the handbook that draw its plots, with the files they name.
fn documented_plots() -> (PathBuf, Vec<(String, String)>) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let text = std::fs::read_to_string(root.join("docs/parameters.md")).expect("the handbook");
    let lines = text.lines().filter_map(|line| {
        let (command, file) = line.strip_prefix("cenote ")?.split_once(" --plot ")?;
        Some((command.to_owned(), file.trim().to_owned()))
    });
    (root, lines.collect())
}

/// Numbers of a drawing, and what is between them.
fn numbers(svg: &str) -> (Vec<f64>, String) {
    let is_digit = |c: char| c.is_ascii_digit() || c == '.' || c == '-';
    let numbers = svg.split(|c| !is_digit(c)).filter_map(|text| text.parse().ok());
    (numbers.collect(), svg.replace(is_digit, ""))
}

#[test]
fn the_handbooks_plots_are_what_its_commands_draw() {
    let (root, plots) = documented_plots();
    assert!(plots.len() >= 4, "{plots:?}");
    let folder = tempfile::tempdir().unwrap();
    for (command, file) in plots {
        let drawn = folder.path().join("drawn.svg");
        let ended = run(&format!("{command} --plot {}", drawn.display()));
        assert_eq!(ended.code, Some(0), "{command}: {}", ended.stderr);
        let drawn = std::fs::read_to_string(&drawn).unwrap();
        let kept =
            std::fs::read_to_string(root.join(&file)).unwrap_or_else(|error| panic!("{file}: {error}"));
        let ((drawn, text), (kept, kept_text)) = (numbers(&drawn), numbers(&kept));
        assert_eq!(
            text, kept_text,
            "{file}: draw it again with cenote {command} --plot {file}"
        );
        // Logarithms may differ in the last digit between machines, and so the step of the grid: four of them are a pixel.
        let close = drawn.iter().zip(&kept).all(|(a, b)| (a - b).abs() < 1.1);
        assert!(
            close && drawn.len() == kept.len(),
            "{file}: draw it again with cenote {command} --plot {file}"
        );
    }
}
