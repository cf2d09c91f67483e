//! Marks as SVG.

use std::fmt::Write as _;

use super::{Anchor, HEIGHT, Mark, WIDTH};

/// The document, one mark per line.
pub(super) fn document(marks: &[Mark]) -> String {
    let mut svg = format!(
        r#"<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif">
<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>
"#
    );
    for mark in marks {
        // Writing to a String cannot fail.
        let _ = write_mark(&mut svg, mark);
        svg.push('\n');
    }
    svg.push_str("</svg>\n");
    svg
}

fn write_mark(svg: &mut String, mark: &Mark) -> std::fmt::Result {
    match mark {
        Mark::Path {
            points,
            colour,
            width,
            dashed,
        } => {
            svg.push_str(r#"<path d=""#);
            for (i, (x, y)) in points.iter().enumerate() {
                write!(svg, "{}{x:.1} {y:.1}", if i == 0 { 'M' } else { 'L' })?;
            }
            let dashes = if *dashed { r#" stroke-dasharray="6 4""# } else { "" };
            write!(
                svg,
                r#"" fill="none" stroke="{colour}" stroke-width="{width}"{dashes}/>"#
            )
        }
        Mark::Disc {
            centre: (x, y),
            radius,
            colour,
        } => write!(
            svg,
            r#"<circle cx="{x:.1}" cy="{y:.1}" r="{radius}" fill="{colour}"/>"#
        ),
        Mark::Text {
            at: (x, y),
            anchor,
            size,
            upwards,
            content,
            exponent,
        } => {
            let anchor = match anchor {
                Anchor::Start => "start",
                Anchor::Middle => "middle",
                Anchor::End => "end",
            };
            if *upwards {
                write!(svg, r#"<text transform="translate({x:.1} {y:.1}) rotate(-90)""#)?;
            } else {
                write!(svg, r#"<text x="{x:.1}" y="{y:.1}""#)?;
            }
            write!(
                svg,
                r#" text-anchor="{anchor}" font-size="{size}">{}"#,
                escape(content)
            )?;
            if !exponent.is_empty() {
                let (rise, small) = (size * 0.4, size * 0.7);
                write!(
                    svg,
                    r#"<tspan dy="-{rise:.1}" font-size="{small:.1}">{}</tspan>"#,
                    escape(exponent)
                )?;
            }
            svg.push_str("</text>");
            Ok(())
        }
    }
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use crate::plot::{Axis, Plot, Scale, Series, Style};

    fn plot(points: Vec<(f64, f64)>, scale: Scale, style: Style) -> Plot {
        Plot {
            title: "a < b & \"c\"".into(),
            x: Axis::new("x", scale),
            y: Axis::new("y", Scale::Linear),
            right: None,
            series: vec![Series::new("s", style, points)],
        }
    }

    #[test]
    fn a_straight_line_goes_from_corner_to_corner() {
        let points = vec![(10.0, 0.0), (100.0, 1.0), (1000.0, 2.0)];
        let svg = plot(points, Scale::Log10, Style::Line).to_svg();
        // Three points equally spaced on a logarithmic axis, the lowest on the axis.
        assert!(svg.contains("M78.0 422.0L404.0"), "{svg}");
        assert!(svg.contains(">10<") && svg.contains(">100<") && svg.contains(">1000<"));
        assert!(svg.contains("a &lt; b &amp; &quot;c&quot;"));
        assert!(svg.starts_with("<svg") && svg.ends_with("</svg>\n"));
    }

    #[test]
    fn steps_hold_their_value_and_dashes_are_dashed() {
        let points = vec![(1.0, 0.0), (10.0, 1.0), (100.0, 0.0)];
        let svg = plot(points.clone(), Scale::Log10, Style::Steps).to_svg();
        assert!(svg.contains("M78.0 422.0L404.0 422.0L404.0"), "{svg}");
        assert!(!svg.contains("dasharray"));
        assert!(
            plot(points.clone(), Scale::Log10, Style::Dashed)
                .to_svg()
                .contains("dasharray")
        );
        let dots = plot(points, Scale::Log10, Style::Dots).to_svg();
        assert_eq!(dots.matches("<circle").count(), 3);
    }

    #[test]
    fn a_legend_breaks_its_line_before_the_edge() {
        let mut plot = plot(vec![(1.0, 1.0), (2.0, 2.0)], Scale::Linear, Style::Line);
        for i in 0..7 {
            let series = Series::new(format!("another series, number {i}"), Style::Line, [(1.0, 2.0)]);
            plot.series.push(series);
        }
        let marks = plot.marks();
        let names = marks.iter().filter_map(|mark| match mark {
            crate::plot::Mark::Text { at, content, .. } if content.contains("series") => Some((*at, content)),
            _ => None,
        });
        let mut last = (0.0, 0.0);
        for ((x, y), name) in names {
            assert!(x >= 0.0 && x + 6.0 * name.len() as f64 <= crate::plot::WIDTH);
            assert!(y > last.1 || x > last.0, "entries do not overlap");
            last = (x + 6.0 * name.len() as f64, y);
        }
        assert!(last.1 > 60.0, "the legend takes several lines");
    }

    #[test]
    fn what_cannot_be_drawn_is_left_out() {
        let points = vec![(0.0, 1.0), (f64::NAN, 1.0), (8.0, f64::INFINITY), (8.0, 1.0)];
        let svg = plot(points, Scale::Log2, Style::Line).to_svg();
        assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
        let empty = plot(Vec::new(), Scale::Log10, Style::Line).to_svg();
        assert!(!empty.contains("NaN") && !empty.contains("inf"), "{empty}");
    }
}
