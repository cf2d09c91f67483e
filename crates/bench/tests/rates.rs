//! `docs/plots/rates.svg` is drawn here from the first table of `docs/performance.md`. To draw it again:
//!
//! ```sh
//! CENOTE_DRAW=1 cargo test -p cenote-bench --test rates
//! ```

use std::fmt::Write as _;
use std::path::Path;

const COMMAND: &str = "CENOTE_DRAW=1 cargo test -p cenote-bench --test rates";
/// The heading of the section whose table is drawn.
const SECTION: &str = "## At a glance";
const LEFT: f64 = 130.0;
/// Pixels of a factor of ten.
const DECADE: f64 = 130.0;
const LEAST: f64 = 5.0;

/// Protocols and their AND gates a second, as the table has them.
fn table(text: &str) -> Vec<(String, u64)> {
    let (_, section) = text.split_once(SECTION).expect("the section");
    let rows = section
        .lines()
        .skip_while(|line| !line.starts_with('|'))
        .take_while(|line| line.starts_with('|'));
    let rows = rows.skip(2).map(|row| {
        let mut cells = row.trim_matches('|').split('|').map(str::trim);
        let name = cells.next().expect("a protocol").trim_matches('`').to_owned();
        let rate = cells
            .next()
            .expect("a rate")
            .replace(',', "")
            .parse()
            .expect("a number");
        (name, rate)
    });
    rows.collect()
}

fn draw(rates: &[(String, u64)]) -> String {
    let bottom = 62 + 40 * rates.len();
    let mut svg = format!(
        r##"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 760 {0}" width="760" height="{0}" font-family="Helvetica, Arial, sans-serif" role="img" aria-label="AND gates a second of each protocol">
<rect width="760" height="{0}" fill="#ffffff"/>
<text x="20" y="26" font-size="14" font-weight="bold" fill="#12343d">AND gates a second, all parties on two cores, over TCP</text>
"##,
        bottom + 34,
    );
    for (decade, label) in [
        "100 thousand",
        "1 million",
        "10 million",
        "100 million",
        "1,000 million",
    ]
    .iter()
    .enumerate()
    {
        let x = LEFT + decade as f64 * DECADE;
        let _ = writeln!(
            svg,
            r##"<path d="M{x} 44V{bottom}" stroke="#d5e0e3"/><text x="{x}" y="{}" text-anchor="middle" font-size="11" fill="#33525c">{label}</text>"##,
            bottom + 18,
        );
    }
    for (at, (name, rate)) in rates.iter().enumerate() {
        let (y, width) = (52 + 40 * at, ((*rate as f64).log10() - LEAST) * DECADE);
        let label = if *rate < 10_000_000 {
            format!("{:.2} million", *rate as f64 / 1e6)
        } else {
            format!("{} million", rate / 1_000_000)
        };
        // A label stands beside a short bar and in a long one.
        let (x, anchor, colour) = if width < 300.0 {
            (LEFT + width + 8.0, "start", "#12343d")
        } else {
            (LEFT + width - 8.0, "end", "#ffffff")
        };
        let _ = writeln!(
            svg,
            r##"<text x="{}" y="{2}" text-anchor="end" font-size="13" fill="#12343d">{name}</text>
<rect x="{LEFT}" y="{y}" width="{width:.1}" height="26" fill="#2b7a8c"/>
<text x="{x:.1}" y="{2}" text-anchor="{anchor}" font-size="12" fill="{colour}">{1}</text>"##,
            LEFT - 10.0,
            label,
            y + 18,
        );
    }
    svg + "</svg>\n"
}

#[test]
fn the_picture_of_rates_is_drawn_from_the_documented_table() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let text = std::fs::read_to_string(docs.join("performance.md")).expect("the document");
    let rates = table(&text);
    assert!(rates.len() >= 4, "{rates:?}");
    let (drawn, path) = (draw(&rates), docs.join("plots/rates.svg"));
    if std::env::var_os("CENOTE_DRAW").is_some() {
        std::fs::write(&path, &drawn).expect("written");
    }
    let kept = std::fs::read_to_string(&path).expect("the picture");
    assert!(
        kept == drawn,
        "docs/plots/rates.svg is not what docs/performance.md says: run {COMMAND}"
    );
}
