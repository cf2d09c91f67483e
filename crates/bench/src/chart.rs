//! A bar chart in SVG: groups of bars, side by side, each with its value.

use std::fmt::Write as _;

/// Bars that stand together.
pub(crate) struct Group {
    /// What they are of.
    pub(crate) name: String,
    /// One value for each series; not negative.
    pub(crate) values: Vec<f64>,
}

/// The chart.
pub(crate) struct Bars {
    pub(crate) title: String,
    /// What the first, second, … bar of every group is.
    pub(crate) series: Vec<String>,
    pub(crate) groups: Vec<Group>,
    pub(crate) scale: Scale,
}

/// How long a bar is for its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scale {
    /// In proportion to it.
    Linear,
    /// In proportion to its magnitude above the power of ten below the least value that is not 0.
    Logarithmic,
}

const WIDTH: f64 = 760.0;
const NAMES: f64 = 170.0;
const VALUES: f64 = 60.0;
const BAR: f64 = 16.0;
const BETWEEN: f64 = 14.0;
const TOP: f64 = 44.0;

/// Colours that people with any colour vision can tell apart (Okabe and Ito).
const COLOURS: [&str; 4] = ["#0072b2", "#e69f00", "#009e73", "#cc79a7"];

impl Bars {
    /// The chart as an SVG document. Bars lie, so that names have room.
    pub(crate) fn to_svg(&self) -> String {
        let series = self.series.len().max(1) as f64;
        let group = series * BAR + BETWEEN;
        let height = TOP + series * 20.0 + group * self.groups.len() as f64 + 16.0;
        let most = self
            .groups
            .iter()
            .flat_map(|group| &group.values)
            .copied()
            .fold(f64::MIN_POSITIVE, f64::max);
        let least = self
            .groups
            .iter()
            .flat_map(|group| &group.values)
            .copied()
            .filter(|&value| value > 0.0)
            .fold(most, f64::min);
        let floor = 10f64.powf(least.log10().ceil() - 1.0);
        let share = |value: f64| match self.scale {
            Scale::Linear => value / most,
            Scale::Logarithmic => (value.max(floor) / floor).log10() / (most / floor).log10(),
        };
        let mut svg = format!(
            r##"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" font-family="sans-serif" font-size="12"><rect width="{WIDTH}" height="{height}" fill="#ffffff"/>"##
        );
        svg.push('\n');
        let text = |svg: &mut String, x: f64, y: f64, anchor: &str, size: u32, content: &str| {
            let content = escape(content);
            writeln!(
                svg,
                r#"<text x="{x:.1}" y="{y:.1}" text-anchor="{anchor}" font-size="{size}">{content}</text>"#
            )
            .expect("writing to a string succeeds");
        };
        text(&mut svg, WIDTH / 2.0, 26.0, "middle", 15, &self.title);
        let rect = |svg: &mut String, x: f64, y: f64, width: f64, height: f64, colour: usize| {
            let colour = COLOURS[colour % COLOURS.len()];
            writeln!(
                svg,
                r#"<rect x="{x:.1}" y="{y:.1}" width="{width:.1}" height="{height:.1}" fill="{colour}"/>"#
            )
            .expect("writing to a string succeeds");
        };
        for (index, name) in self.series.iter().enumerate() {
            let y = TOP + 20.0 * index as f64;
            rect(&mut svg, NAMES, y, 12.0, 12.0, index);
            text(&mut svg, NAMES + 18.0, y + 11.0, "start", 12, name);
        }
        for (index, group_of) in self.groups.iter().enumerate() {
            let top = TOP + series * 20.0 + 6.0 + group * index as f64;
            let middle = top + series * BAR / 2.0 + 4.0;
            text(&mut svg, NAMES - 8.0, middle, "end", 12, &group_of.name);
            for (number, &value) in group_of.values.iter().enumerate() {
                let y = top + BAR * number as f64;
                let length = share(value) * (WIDTH - NAMES - VALUES);
                rect(&mut svg, NAMES, y, length, BAR - 2.0, number);
                let label = match self.scale {
                    Scale::Linear => format!("{value:.1}"),
                    Scale::Logarithmic => {
                        let digits = (2.0 - value.max(1e-6).log10().floor()).clamp(0.0, 6.0);
                        format!("{value:.0$}", digits as usize)
                    }
                };
                text(&mut svg, NAMES + length + 5.0, y + 11.0, "start", 11, &label);
            }
        }
        svg.push_str("</svg>\n");
        svg
    }
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_are_as_long_as_their_values() {
        let group = |name: &str, values: [f64; 2]| Group {
            name: name.into(),
            values: values.to_vec(),
        };
        let svg = Bars {
            title: "T".into(),
            series: vec!["one".into(), "a < b".into()],
            groups: vec![group("first", [10.0, 5.0]), group("second", [0.0, 2.5])],
            scale: Scale::Linear,
        }
        .to_svg();
        let full = WIDTH - NAMES - VALUES;
        for width in [full, full / 2.0, full / 4.0, 0.0] {
            assert!(
                svg.contains(&format!(r#"width="{width:.1}" height="14.0""#)),
                "{svg}"
            );
        }
        assert!(svg.contains("a &lt; b") && svg.contains(">second<") && svg.ends_with("</svg>\n"));
    }

    #[test]
    fn magnitudes_are_as_long_as_their_logarithms() {
        let values = vec![100.0, 10.0, 0.0, 0.25];
        let svg = Bars {
            title: "T".into(),
            series: (0..4).map(|n: u8| n.to_string()).collect(),
            groups: vec![Group {
                name: "one".into(),
                values,
            }],
            scale: Scale::Logarithmic,
        }
        .to_svg();
        let full = WIDTH - NAMES - VALUES;
        // From a tenth to a hundred there are three powers of ten.
        for width in [full, full * 2.0 / 3.0, 0.0, full * 2.5f64.log10() / 3.0] {
            let bar = format!(r#"width="{width:.1}" height="14.0""#);
            assert!(svg.contains(&bar), "{bar}: {svg}");
        }
        assert!(
            svg.contains(">100<") && svg.contains(">10.0<") && svg.contains(">0.250<"),
            "{svg}"
        );
    }
}
