//! A plot drawn.

use plotters::chart::ChartBuilder;
use plotters::coord::Shift;
use plotters::element::{Circle, DashedPathElement, DynElement, IntoDynElement, PathElement, Text};
use plotters::prelude::{DrawingArea, DrawingBackend};
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{Color as _, RGBColor};

use super::canvas::{Drawing, FRAME, GRID, Outcome, STEPS, colour, steps, text};
use super::parts::{Plot, Series, Style};
use super::scale::Coordinate;

/// Lengths in the legend, in units: of the sample of a line, from there to its name, of a line of text, and to the edge.
const SAMPLE: u32 = 18;
const BETWEEN: u32 = 6;
const LINE: u32 = 20;
const EDGE: u32 = 12;

impl Drawing for Plot {
    fn size(&self) -> (u32, u32) {
        (760, 480)
    }

    fn draw<B: DrawingBackend>(&self, ground: &DrawingArea<B, Shift>) -> Outcome<B> {
        let ground = ground
            .margin(steps(10), steps(6), steps(14), 0)
            .titled(&self.title, text(15))?;
        let area = self.beside_legend(ground)?;
        let axis = |right: bool| self.right.as_ref().filter(|_| right).unwrap_or(&self.y);
        let x = || {
            let points = self.series.iter().flat_map(|series| &series.points);
            Coordinate::around(self.x.scale, false, points.map(|point| point.0))
        };
        let y = |right: bool| {
            let series = self.series.iter().filter(|series| series.right == right);
            let points = series.flat_map(|series| &series.points);
            Coordinate::around(axis(right).scale, true, points.map(|point| point.1))
        };
        let mut chart = ChartBuilder::on(&area)
            .margin_right(steps(14))
            .x_label_area_size(steps(46))
            .y_label_area_size(steps(60))
            .right_y_label_area_size(steps(if self.right.is_some() { 54 } else { 0 }))
            .build_cartesian_2d(x(), y(false))?
            .set_secondary_coord(x(), y(true));
        chart
            .configure_mesh()
            .x_desc(&self.x.label)
            .y_desc(&self.y.label)
            .max_light_lines(0)
            .y_labels(8)
            .bold_line_style(GRID.stroke_width(STEPS))
            .axis_style(FRAME.stroke_width(STEPS))
            .set_all_tick_mark_size(steps(4))
            .label_style(text(12))
            .axis_desc_style(text(13))
            .draw()?;
        if let Some(axis) = &self.right {
            chart
                .configure_secondary_axes()
                .y_desc(&axis.label)
                .y_labels(8)
                .axis_style(FRAME.stroke_width(STEPS))
                .set_all_tick_mark_size(steps(4))
                .label_style(text(12))
                .axis_desc_style(text(13))
                .draw()?;
        }
        for (index, series) in self.series.iter().enumerate() {
            let y = axis(series.right).scale;
            let places = series.points.iter().copied();
            let places = places.filter(|&(px, py)| self.x.scale.shows(px) && y.shows(py));
            let drawn = elements(series.style, colour(index), places.collect());
            if series.right {
                chart.draw_secondary_series(drawn)?;
            } else {
                chart.draw_series(drawn)?;
            }
        }
        Ok(())
    }
}

impl Plot {
    /// Draws the legend, if there is one, and gives what is left of the ground.
    fn beside_legend<B: DrawingBackend>(
        &self,
        ground: DrawingArea<B, Shift>,
    ) -> Outcome<B, DrawingArea<B, Shift>> {
        if self.series.len() <= 1 {
            return Ok(ground);
        }
        let mut names = 0;
        for series in &self.series {
            names = names.max(ground.estimate_text_size(&series.legend(), &text(12))?.0);
        }
        let (wide, _) = ground.dim_in_pixel();
        let edge = wide - names - steps(SAMPLE + BETWEEN + EDGE) as u32;
        let (area, legend) = ground.split_horizontally(edge);
        self.draw_legend(&legend)?;
        Ok(area)
    }

    /// Names the series, one below the other.
    fn draw_legend<B: DrawingBackend>(&self, column: &DrawingArea<B, Shift>) -> Outcome<B> {
        for (index, series) in self.series.iter().enumerate() {
            let middle = steps(LINE * index as u32 + LINE / 2);
            let sample = match series.style {
                Style::Dots => vec![(steps(SAMPLE / 2), middle)],
                _ => vec![(0, middle), (steps(SAMPLE), middle)],
            };
            for element in elements(series.style, colour(index), sample) {
                column.draw(&element)?;
            }
            let name = (steps(SAMPLE + BETWEEN), middle);
            let style = text(12).pos(Pos::new(HPos::Left, VPos::Center));
            column.draw(&Text::new(series.legend(), name, style))?;
        }
        Ok(())
    }
}

impl Series {
    /// Its name in the legend.
    fn legend(&self) -> String {
        format!("{}{}", self.name, if self.right { " (right)" } else { "" })
    }
}

/// What points are drawn with.
fn elements<B: DrawingBackend, X: Copy + 'static, Y: Copy + 'static>(
    style: Style,
    colour: RGBColor,
    points: Vec<(X, Y)>,
) -> Vec<DynElement<'static, B, (X, Y)>> {
    let line = colour.stroke_width(2 * STEPS);
    match style {
        Style::Dots => {
            let dot = |point| Circle::new(point, steps(4), colour.filled()).into_dyn();
            points.into_iter().map(dot).collect()
        }
        Style::Line => vec![PathElement::new(points, line).into_dyn()],
        Style::Dashed => vec![DashedPathElement::new(points, steps(6), steps(4), line).into_dyn()],
        Style::Steps => {
            let corners = points
                .windows(2)
                .flat_map(|pair| [pair[0], (pair[1].0, pair[0].1)]);
            let path: Vec<_> = corners.chain(points.last().copied()).collect();
            vec![PathElement::new(path, line).into_dyn()]
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Axis, Scale};
    use super::*;

    fn plot(points: Vec<(f64, f64)>, scale: Scale, style: Style) -> Plot {
        Plot {
            title: "a < b & \"c\"".into(),
            x: Axis::new("x", scale),
            y: Axis::new("y", Scale::Linear),
            right: None,
            series: vec![Series::new("s", style, points)],
        }
    }

    /// The corners of the first line of the first series, in steps.
    fn path(svg: &str) -> Vec<(i32, i32)> {
        let line = svg.lines().find(|line| line.contains("#0072B2")).expect("a line");
        let points = line.split("points=\"").nth(1).expect("its points");
        let points = points.split('"').next().unwrap_or_default().split_whitespace();
        let point = |text: &str| {
            let (x, y) = text.split_once(',').expect("two numbers");
            (x.parse().unwrap(), y.parse().unwrap())
        };
        points.map(point).collect()
    }

    #[test]
    fn a_straight_line_stays_straight_on_a_logarithmic_axis() {
        let points = vec![(10.0, 0.0), (100.0, 1.0), (1000.0, 2.0)];
        let svg = plot(points, Scale::Log10, Style::Line).to_svg();
        let [a, b, c] = path(&svg)[..] else {
            panic!("{svg}")
        };
        assert!(
            (a.0 + c.0 - 2 * b.0).abs() <= 1 && (a.1 + c.1 - 2 * b.1).abs() <= 1,
            "{svg}"
        );
        assert!(a.0 < c.0 && a.1 > c.1, "up is up: {svg}");
        for part in ["10", "100", "1000", "a &lt; b &amp; &quot;c&quot;"] {
            assert!(svg.lines().any(|line| line == part), "{part}: {svg}");
        }
        assert!(svg.starts_with("<svg width=\"760\" height=\"480\""));
    }

    #[test]
    fn steps_hold_their_value_dashes_are_broken_and_dots_are_apart() {
        let points = vec![(1.0, 0.0), (10.0, 1.0), (100.0, 0.0)];
        let draw = |style| plot(points.clone(), Scale::Log10, style).to_svg();
        let [a, b, c, d, e] = path(&draw(Style::Steps))[..] else {
            panic!()
        };
        assert!(a.1 == b.1 && b.0 == c.0 && c.1 == d.1 && d.0 == e.0);
        let lines = |style| draw(style).matches("stroke=\"#0072B2\"").count();
        assert!(lines(Style::Line) == 1 && lines(Style::Dashed) > 10);
        assert_eq!(draw(Style::Dots).matches("<circle").count(), 3);
    }

    #[test]
    fn several_series_are_named() {
        let mut plot = plot(vec![(1.0, 1.0), (2.0, 2.0)], Scale::Linear, Style::Line);
        assert!(!plot.to_svg().lines().any(|line| line == "s"));
        plot.right = Some(Axis::new("z", Scale::Log10));
        plot.series.push(Series {
            right: true,
            ..Series::new("t", Style::Dots, [(1.5, 1000.0)])
        });
        let svg = plot.to_svg();
        for name in ["s", "t (right)", "z"] {
            assert!(svg.lines().any(|line| line == name), "{name}: {svg}");
        }
    }

    #[test]
    fn what_cannot_be_drawn_is_left_out() {
        let points = vec![(0.0, 1.0), (f64::NAN, 1.0), (8.0, f64::INFINITY), (8.0, 1.0)];
        let svg = plot(points, Scale::Log2, Style::Dots).to_svg();
        assert_eq!(svg.matches("<circle").count(), 1);
        let empty = plot(Vec::new(), Scale::Log10, Style::Line);
        assert!(!empty.to_svg().contains("NaN"));
        assert!(empty.to_png().unwrap().starts_with(b"\x89PNG"));
    }
}
