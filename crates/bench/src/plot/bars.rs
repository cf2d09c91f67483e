//! A chart of groups of bars, side by side, each with its value.

use plotters::chart::ChartBuilder;
use plotters::coord::Shift;
use plotters::element::{EmptyElement, PathElement, Rectangle, Text};
use plotters::prelude::{DrawingArea, DrawingBackend};
use plotters::style::Color as _;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::canvas::{self, Drawing, FRAME, Outcome, STEPS, colour, steps, text};
use super::parts::Scale;
use super::scale::Coordinate;

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
    /// A bar is as long as its value, or as its magnitude above the power of ten below the least value that is not 0.
    pub(crate) scale: Scale,
}

/// Thickness of a bar, space between groups, a line of the legend, in units.
const BAR: u32 = 16;
const BETWEEN: u32 = 14;
const LINE: u32 = 20;
/// Above the legend, and below the bars.
const TOP: u32 = 40;
const BOTTOM: u32 = 14;
/// Left of the bars, and right of them.
const NAMES: u32 = 180;
const VALUES: u32 = 64;

impl Bars {
    /// The chart as an SVG document.
    pub(crate) fn to_svg(&self) -> String {
        canvas::svg(self)
    }

    /// The least value that a bar stands for, and the most.
    fn ends(&self) -> [f64; 2] {
        let values = || self.groups.iter().flat_map(|group| group.values.iter().copied());
        let most = values().fold(f64::MIN_POSITIVE, f64::max);
        match self.scale {
            Scale::Linear => [0.0, most],
            _ => {
                let least = values().filter(|&value| value > 0.0).fold(most, f64::min);
                [10f64.powf(least.log10().ceil() - 1.0), most]
            }
        }
    }

    fn label(&self, value: f64) -> String {
        match self.scale {
            Scale::Linear => format!("{value:.1}"),
            _ => {
                let digits = (2.0 - value.max(1e-6).log10().floor()).clamp(0.0, 6.0);
                format!("{value:.0$}", digits as usize)
            }
        }
    }

    /// Names the series above the bars, one below the other.
    fn draw_legend<B: DrawingBackend>(&self, ground: &DrawingArea<B, Shift>) -> Outcome<B> {
        for (index, name) in self.series.iter().enumerate() {
            let (left, top) = (steps(NAMES), steps(LINE * index as u32));
            let corners = [(left, top), (left + steps(12), top + steps(12))];
            ground.draw(&Rectangle::new(corners, colour(index).filled()))?;
            let style = text(12).pos(Pos::new(HPos::Left, VPos::Center));
            let at = (left + steps(18), top + steps(6));
            ground.draw(&Text::new(name.as_str(), at, style))?;
        }
        Ok(())
    }
}

impl Drawing for Bars {
    fn size(&self) -> (u32, u32) {
        let (series, groups) = (self.series.len() as u32, self.groups.len() as u32);
        (
            760,
            TOP + series * LINE + groups * (series * BAR + BETWEEN) + BOTTOM,
        )
    }

    fn draw<B: DrawingBackend>(&self, ground: &DrawingArea<B, Shift>) -> Outcome<B> {
        let series = self.series.len() as u32;
        let (head, rest) = ground.split_vertically(steps(TOP));
        head.margin(steps(10), 0, 0, 0).titled(&self.title, text(15))?;
        let (legend, bars) = rest.split_vertically(steps(series * LINE));
        self.draw_legend(&legend)?;

        let [low, high] = self.ends();
        let count = self.groups.len() as f64;
        let mut chart = ChartBuilder::on(&bars)
            .margin_right(steps(VALUES))
            .margin_bottom(steps(BOTTOM))
            .margin_left(steps(NAMES))
            .build_cartesian_2d(Coordinate::between(self.scale, low, high), count..0.0)?;
        chart.draw_series([PathElement::new(
            vec![(low, 0.0), (low, count)],
            FRAME.stroke_width(STEPS),
        )])?;
        let share = f64::from(BAR) / f64::from(series * BAR + BETWEEN);
        for (index, group) in self.groups.iter().enumerate() {
            let style = text(12).pos(Pos::new(HPos::Right, VPos::Center));
            let start = EmptyElement::at((low, index as f64 + 0.5));
            chart.draw_series([start + Text::new(group.name.clone(), (-steps(8), 0), style)])?;
            for (number, &value) in group.values.iter().enumerate() {
                let from_middle = number as f64 - f64::from(series) / 2.0;
                let top = index as f64 + 0.5 + share * from_middle;
                let corners = [(low, top), (value.max(low), top + share * 0.9)];
                let bar = Rectangle::new(corners, colour(number).filled());
                chart.draw_series([bar])?;
                let style = text(11).pos(Pos::new(HPos::Left, VPos::Center));
                let end = EmptyElement::at((value.max(low), top + share * 0.45));
                chart.draw_series([end + Text::new(self.label(value), (steps(5), 0), style)])?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The widths of the bars, in units.
    fn widths(svg: &str) -> Vec<f64> {
        svg.lines()
            .filter(|line| line.starts_with("<rect") && line.contains("fill=\"#"))
            .filter_map(|line| {
                line.split(" width=\"")
                    .nth(1)?
                    .split('"')
                    .next()?
                    .parse::<f64>()
                    .ok()
            })
            .map(|width| width / f64::from(canvas::STEPS))
            .collect()
    }

    fn group(name: &str, values: Vec<f64>) -> Group {
        Group {
            name: name.into(),
            values,
        }
    }

    #[test]
    fn bars_are_as_long_as_their_values() {
        let svg = Bars {
            title: "T".into(),
            series: vec!["one".into(), "a < b".into()],
            groups: vec![group("first", vec![10.0, 5.0]), group("second", vec![0.0, 2.5])],
            scale: Scale::Linear,
        }
        .to_svg();
        let full = f64::from(760 - NAMES - VALUES);
        let bars = &widths(&svg)[3..];
        for (bar, share) in bars.iter().zip([1.0, 0.5, 0.0, 0.25]) {
            assert!((bar - share * full).abs() < 1.0, "{bars:?}");
        }
        assert!(svg.contains("a &lt; b") && svg.contains("second") && svg.trim_end().ends_with("</svg>"));
    }

    #[test]
    fn magnitudes_are_as_long_as_their_logarithms() {
        let svg = Bars {
            title: "T".into(),
            series: (0..4).map(|n: u8| n.to_string()).collect(),
            groups: vec![group("one", vec![100.0, 10.0, 0.0, 0.25])],
            scale: Scale::Log10,
        }
        .to_svg();
        let full = f64::from(760 - NAMES - VALUES);
        // From a tenth to a hundred there are three powers of ten.
        let bars = &widths(&svg)[5..];
        for (bar, share) in bars.iter().zip([1.0, 2.0 / 3.0, 0.0, 2.5f64.log10() / 3.0]) {
            assert!((bar - share * full).abs() < 1.0, "{bars:?}");
        }
        for label in ["100", "10.0", "0.250"] {
            assert!(svg.lines().any(|line| line == label), "{label}: {svg}");
        }
    }
}
