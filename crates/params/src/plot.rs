//! A small plotter: lines, steps and dots on linear or logarithmic axes, as SVG.

use std::fmt::Write as _;

/// How an axis places its values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// Proportionally.
    Linear,
    /// By logarithm, with a tick at every power of ten.
    Log10,
    /// By logarithm, with ticks at powers of two.
    Log2,
}

/// An axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// What it shows, with the unit.
    pub label: String,
    /// How it places its values.
    pub scale: Scale,
}

impl Axis {
    /// An axis.
    pub fn new(label: impl Into<String>, scale: Scale) -> Self {
        Self {
            label: label.into(),
            scale,
        }
    }
}

/// How the points of a series are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// Joined by straight lines.
    Line,
    /// Joined by steps: a value holds until the next point.
    Steps,
    /// Not joined.
    Dots,
}

/// Points that belong together.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// Its name in the legend.
    pub name: String,
    /// `(x, y)`; points that are not finite, or not positive on a logarithmic axis, are left out.
    pub points: Vec<(f64, f64)>,
    /// How they are drawn.
    pub style: Style,
    /// Whether `y` is read on the right axis.
    pub right: bool,
}

/// A plot with one horizontal and one or two vertical axes.
#[derive(Clone, Debug, PartialEq)]
pub struct Plot {
    /// The title.
    pub title: String,
    /// The horizontal axis.
    pub x: Axis,
    /// The left axis.
    pub y: Axis,
    /// The right axis, if any.
    pub right: Option<Axis>,
    /// What is drawn, in order.
    pub series: Vec<Series>,
}

const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 480.0;
/// Margins: left, right, top, bottom.
const MARGINS: (f64, f64, f64, f64) = (78.0, 78.0, 44.0, 58.0);
/// Colours that people with any colour vision can tell apart (Okabe and Ito).
const COLOURS: [&str; 7] = [
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000",
];

/// An axis with its range fixed: values to fractions of its length.
struct Range {
    scale: Scale,
    low: f64,
    high: f64,
}

impl Range {
    fn of(axis: &Axis, values: impl Iterator<Item = f64>) -> Self {
        let scale = axis.scale;
        let shown = values.filter_map(|v| project(scale, v));
        let (mut low, mut high) = shown.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| {
            (low.min(v), high.max(v))
        });
        if low > high {
            (low, high) = (0.0, 1.0);
        }
        if high - low < 1e-12 {
            (low, high) = (low - 0.5, high + 0.5);
        }
        if scale == Scale::Linear {
            let margin = (high - low) * 0.05;
            low = if low >= 0.0 {
                (low - margin).max(0.0)
            } else {
                low - margin
            };
            high += margin;
        }
        Self { scale, low, high }
    }

    fn fraction(&self, value: f64) -> Option<f64> {
        project(self.scale, value).map(|v| (v - self.low) / (self.high - self.low))
    }

    /// Ticks: fraction and label.
    fn ticks(&self) -> Vec<(f64, String)> {
        let span = self.high - self.low;
        let step = match self.scale {
            Scale::Linear => nice(span / 7.0),
            Scale::Log10 | Scale::Log2 => nice(span / 9.0).max(1.0),
        };
        let first = (self.low / step - 1e-9).ceil();
        let count = ((self.high - first * step) / step + 1e-9).floor().max(0.0) as usize;
        let ticks = (0..=count).map(|i| {
            let at = (first + i as f64) * step;
            let label = match self.scale {
                Scale::Linear => {
                    let digits = (-step.log10().floor()).clamp(0.0, 9.0) as usize;
                    format!("{at:.digits$}")
                }
                Scale::Log10 if (0.0..4.0).contains(&at) => format!("{:.0}", 10f64.powf(at)),
                Scale::Log10 => format!("1e{at:.0}"),
                Scale::Log2 => format!("2^{at:.0}"),
            };
            ((at - self.low) / span, label)
        });
        ticks.collect()
    }
}

fn project(scale: Scale, value: f64) -> Option<f64> {
    let projected = match scale {
        Scale::Linear => value,
        Scale::Log10 => value.log10(),
        Scale::Log2 => value.log2(),
    };
    projected.is_finite().then_some(projected)
}

/// The smallest of 1, 2, 5 times a power of ten that is at least `step`.
fn nice(step: f64) -> f64 {
    let power = 10f64.powf(step.log10().floor());
    [1.0, 2.0, 5.0, 10.0]
        .into_iter()
        .map(|m| m * power)
        .find(|&s| s >= step * (1.0 - 1e-9))
        .unwrap_or(step)
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

impl Plot {
    /// The plot as an SVG document.
    #[must_use]
    pub fn to_svg(&self) -> String {
        let xs = self.series.iter().flat_map(|s| s.points.iter().map(|p| p.0));
        let ys = |right: bool| {
            let chosen = self.series.iter().filter(move |s| s.right == right);
            chosen.flat_map(|s| s.points.iter().map(|p| p.1))
        };
        let x = Range::of(&self.x, xs);
        let y = Range::of(&self.y, ys(false));
        let right = self.right.as_ref().map(|axis| Range::of(axis, ys(true)));

        let mut svg = String::new();
        // Writing to a String cannot fail.
        let _ = write!(
            svg,
            r#"<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="12"><rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>"#
        );
        text(&mut svg, WIDTH / 2.0, 24.0, "middle", 15, &self.title);
        self.draw_axes(&mut svg, &x, &y, right.as_ref());
        for (i, series) in self.series.iter().enumerate() {
            let range = if series.right {
                right.as_ref().unwrap_or(&y)
            } else {
                &y
            };
            draw_series(&mut svg, series, COLOURS[i % COLOURS.len()], &x, range);
            // The legend is at the top right: what these plots show falls from the left.
            let (right, top) = (WIDTH - MARGINS.1 - 12.0, MARGINS.2 + 18.0 + 17.0 * i as f64);
            let (swatch, middle) = (right - 14.0, top - 6.0);
            let colour = COLOURS[i % COLOURS.len()];
            let _ = write!(
                svg,
                r#"<rect x="{swatch}" y="{middle}" width="14" height="4" fill="{colour}"/>"#
            );
            text(&mut svg, right - 20.0, top, "end", 12, &series.name);
        }
        svg.push_str("</svg>\n");
        svg
    }

    fn draw_axes(&self, svg: &mut String, x: &Range, y: &Range, right: Option<&Range>) {
        let (left, right_margin, top, bottom) = MARGINS;
        let (width, height) = (WIDTH - left - right_margin, HEIGHT - top - bottom);
        for (at, label) in x.ticks() {
            let at = left + at * width;
            let _ = write!(
                svg,
                r##"<path d="M{at:.1} {top}V{:.1}" stroke="#ddd" fill="none"/>"##,
                top + height
            );
            text(svg, at, top + height + 18.0, "middle", 11, &label);
        }
        for (at, label) in y.ticks() {
            let at = top + (1.0 - at) * height;
            let _ = write!(
                svg,
                r##"<path d="M{left} {at:.1}H{:.1}" stroke="#ddd" fill="none"/>"##,
                left + width
            );
            text(svg, left - 8.0, at + 4.0, "end", 11, &label);
        }
        for (at, label) in right.map_or_else(Vec::new, Range::ticks) {
            text(
                svg,
                left + width + 8.0,
                top + (1.0 - at) * height + 4.0,
                "start",
                11,
                &label,
            );
        }
        let _ = write!(
            svg,
            r##"<rect x="{left}" y="{top}" width="{width}" height="{height}" fill="none" stroke="#333"/>"##
        );
        text(
            svg,
            left + width / 2.0,
            HEIGHT - 14.0,
            "middle",
            13,
            &self.x.label,
        );
        vertical_text(svg, 18.0, top + height / 2.0, &self.y.label);
        if let Some(axis) = &self.right {
            vertical_text(svg, WIDTH - 10.0, top + height / 2.0, &axis.label);
        }
    }
}

fn draw_series(svg: &mut String, series: &Series, colour: &str, x: &Range, y: &Range) {
    let (left, right, top, bottom) = MARGINS;
    let (width, height) = (WIDTH - left - right, HEIGHT - top - bottom);
    let places = series.points.iter().filter_map(|&(px, py)| {
        Some((
            left + x.fraction(px)? * width,
            top + (1.0 - y.fraction(py)?) * height,
        ))
    });
    if series.style == Style::Dots {
        for (px, py) in places {
            let _ = write!(
                svg,
                r#"<circle cx="{px:.1}" cy="{py:.1}" r="3" fill="{colour}"/>"#
            );
        }
        return;
    }
    let mut path = String::new();
    for (px, py) in places {
        let _ = match (path.is_empty(), series.style) {
            (true, _) => write!(path, "M{px:.1} {py:.1}"),
            (false, Style::Steps) => write!(path, "H{px:.1}V{py:.1}"),
            (false, _) => write!(path, "L{px:.1} {py:.1}"),
        };
    }
    let _ = write!(
        svg,
        r#"<path d="{path}" fill="none" stroke="{colour}" stroke-width="2"/>"#
    );
}

fn text(svg: &mut String, x: f64, y: f64, anchor: &str, size: u32, content: &str) {
    let _ = write!(
        svg,
        r#"<text x="{x:.1}" y="{y:.1}" text-anchor="{anchor}" font-size="{size}">{}</text>"#,
        escape(content)
    );
}

fn vertical_text(svg: &mut String, x: f64, y: f64, content: &str) {
    let _ = write!(
        svg,
        r#"<text transform="translate({x:.1} {y:.1}) rotate(-90)" text-anchor="middle" font-size="13">{}</text>"#,
        escape(content)
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plot(points: Vec<(f64, f64)>, scale: Scale) -> Plot {
        Plot {
            title: "a < b & \"c\"".into(),
            x: Axis::new("x", scale),
            y: Axis::new("y", Scale::Linear),
            right: None,
            series: vec![Series {
                name: "s".into(),
                points,
                style: Style::Line,
                right: false,
            }],
        }
    }

    #[test]
    fn a_straight_line_goes_from_corner_to_corner() {
        let svg = plot(vec![(10.0, 0.0), (100.0, 1.0), (1000.0, 2.0)], Scale::Log10).to_svg();
        // Three points equally spaced on a logarithmic axis, the lowest on the axis.
        assert!(svg.contains("M78.0 422.0L380.0"), "{svg}");
        assert!(svg.contains(">10<") && svg.contains(">100<") && svg.contains(">1000<"));
        assert!(svg.contains("a &lt; b &amp; &quot;c&quot;"));
        assert!(svg.starts_with("<svg") && svg.ends_with("</svg>\n"));
    }

    #[test]
    fn what_cannot_be_drawn_is_left_out() {
        let svg = plot(
            vec![(0.0, 1.0), (f64::NAN, 1.0), (8.0, f64::INFINITY), (8.0, 1.0)],
            Scale::Log2,
        )
        .to_svg();
        assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
        let empty = plot(Vec::new(), Scale::Log10).to_svg();
        assert!(!empty.contains("NaN") && !empty.contains("inf"), "{empty}");
    }

    #[test]
    fn ticks_are_round_numbers_inside_the_range() {
        for (low, high) in [(0.0, 1.0), (3.0, 7.2), (-40.0, 0.0), (0.001, 0.0045)] {
            let range = Range {
                scale: Scale::Linear,
                low,
                high,
            };
            let ticks = range.ticks();
            assert!((3..=9).contains(&ticks.len()), "{ticks:?}");
            assert!(ticks.iter().all(|t| (-1e-6..=1.0 + 1e-6).contains(&t.0)));
        }
    }
}
