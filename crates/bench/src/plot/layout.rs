//! What is drawn where.

use std::fmt;

use super::axis::{Range, Tick};
use super::{Plot, Series, Style};

/// Width of every drawing, in its own unit (a pixel, on screens of old).
pub const WIDTH: f64 = 760.0;
/// Height of every drawing.
pub const HEIGHT: f64 = 480.0;

/// Red, green, blue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Colour(pub u8, pub u8, pub u8);

impl fmt::Display for Colour {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{:02x}{:02x}{:02x}", self.0, self.1, self.2)
    }
}

/// Which point of a text its position is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Anchor {
    /// Its left end.
    Start,
    /// Its middle.
    Middle,
    /// Its right end.
    End,
}

/// One thing to draw; `x` grows to the right from 0 to [`WIDTH`], `y` down from 0 to [`HEIGHT`].
#[derive(Clone, Debug, PartialEq)]
pub enum Mark {
    /// Straight lines from point to point.
    Path {
        /// The points, two or more.
        points: Vec<(f64, f64)>,
        /// Its colour.
        colour: Colour,
        /// Its width.
        width: f64,
        /// Whether it is broken into dashes, of 6 with gaps of 4.
        dashed: bool,
    },
    /// A filled circle.
    Disc {
        /// Its centre.
        centre: (f64, f64),
        /// Its radius.
        radius: f64,
        /// Its colour.
        colour: Colour,
    },
    /// A text in black.
    Text {
        /// Where it is: a point of its baseline.
        at: (f64, f64),
        /// Which point of the baseline.
        anchor: Anchor,
        /// Height of the font.
        size: f64,
        /// Whether it runs upwards.
        upwards: bool,
        /// The text.
        content: String,
        /// What follows it, raised and smaller. May be empty.
        exponent: String,
    },
}

/// Colours that people with any colour vision can tell apart (Okabe and Ito).
const COLOURS: [Colour; 7] = [
    Colour(0x00, 0x72, 0xb2),
    Colour(0xd5, 0x5e, 0x00),
    Colour(0x00, 0x9e, 0x73),
    Colour(0xcc, 0x79, 0xa7),
    Colour(0xe6, 0x9f, 0x00),
    Colour(0x56, 0xb4, 0xe9),
    Colour(0x00, 0x00, 0x00),
];
const GRID: Colour = Colour(0xdd, 0xdd, 0xdd);
const FRAME: Colour = Colour(0x33, 0x33, 0x33);

const LEFT: f64 = 78.0;
/// Right of the area: with an axis there, and without.
const RIGHT: [f64; 2] = [78.0, 30.0];
const BOTTOM: f64 = 58.0;
const LEGEND_TOP: f64 = 50.0;
const LEGEND_LINE: f64 = 19.0;
/// Wide enough for a letter of size 12 in any common font.
const LETTER: f64 = 7.0;
const SWATCH: f64 = 26.0;
const BETWEEN_ENTRIES: f64 = 22.0;

/// A line of the legend.
struct LegendLine {
    width: f64,
    /// Series, place from the line's left end, and name.
    entries: Vec<(usize, f64, String)>,
}

/// The area between the axes.
struct Area {
    top: f64,
    width: f64,
    height: f64,
}

impl Area {
    fn x(&self, fraction: f64) -> f64 {
        LEFT + fraction * self.width
    }

    fn y(&self, fraction: f64) -> f64 {
        self.top + (1.0 - fraction) * self.height
    }
}

impl Plot {
    /// The plot laid out, in drawing order, for a white ground.
    #[must_use]
    pub fn marks(&self) -> Vec<Mark> {
        let xs = self.series.iter().flat_map(|s| s.points.iter().map(|p| p.0));
        let ys = |right: bool| {
            let chosen = self.series.iter().filter(move |s| s.right == right);
            chosen.flat_map(|s| s.points.iter().map(|p| p.1))
        };
        let x = Range::of(&self.x, false, xs);
        let y = Range::of(&self.y, true, ys(false));
        let right = self.right.as_ref().map(|axis| Range::of(axis, true, ys(true)));

        let mut marks = vec![text((WIDTH / 2.0, 26.0), Anchor::Middle, 15.0, &self.title)];
        let top = self.draw_legend(&mut marks);
        let area = Area {
            top,
            width: WIDTH - LEFT - RIGHT[usize::from(right.is_none())],
            height: HEIGHT - top - BOTTOM,
        };
        self.draw_axes(&mut marks, &area, &x, &y, right.as_ref());
        for (i, series) in self.series.iter().enumerate() {
            let range = right.as_ref().filter(|_| series.right).unwrap_or(&y);
            let places = series.points.iter().filter_map(|&(px, py)| {
                let (x, y) = (x.fraction(px)?, range.fraction(py)?);
                Some((area.x(x), area.y(y)))
            });
            draw_series(&mut marks, series.style, colour(i), places.collect());
        }
        marks
    }

    /// Names the series in lines below the title, where nothing is in the way. Returns where the area may begin.
    fn draw_legend(&self, marks: &mut Vec<Mark>) -> f64 {
        if self.series.len() < 2 {
            return LEGEND_TOP - 6.0;
        }
        let name = |s: &Series| {
            if s.right {
                format!("{} (right)", s.name)
            } else {
                s.name.clone()
            }
        };
        let mut lines: Vec<LegendLine> = Vec::new();
        for (i, series) in self.series.iter().enumerate() {
            let name = name(series);
            let width = SWATCH + LETTER * name.chars().count() as f64;
            match lines.last_mut() {
                Some(line) if line.width + BETWEEN_ENTRIES + width <= WIDTH - 40.0 => {
                    line.entries.push((i, line.width + BETWEEN_ENTRIES, name));
                    line.width += BETWEEN_ENTRIES + width;
                }
                _ => lines.push(LegendLine {
                    width,
                    entries: vec![(i, 0.0, name)],
                }),
            }
        }
        let mut y = LEGEND_TOP;
        for line in lines {
            let left = (WIDTH - line.width) / 2.0;
            for (i, at, name) in line.entries {
                let (x, middle) = (left + at, y - 4.0);
                let sample = match self.series[i].style {
                    Style::Dots => vec![(x + SWATCH / 2.0 - 4.0, middle)],
                    _ => vec![(x, middle), (x + SWATCH - 8.0, middle)],
                };
                draw_series(marks, self.series[i].style, colour(i), sample);
                marks.push(text((x + SWATCH, y), Anchor::Start, 12.0, &name));
            }
            y += LEGEND_LINE;
        }
        y - LEGEND_LINE + 14.0
    }

    fn draw_axes(&self, marks: &mut Vec<Mark>, area: &Area, x: &Range, y: &Range, right: Option<&Range>) {
        let (bottom, end) = (area.y(0.0), area.x(1.0));
        for tick in x.ticks() {
            let at = area.x(tick.at);
            marks.push(line(vec![(at, area.top), (at, bottom)], GRID));
            marks.push(label((at, bottom + 18.0), Anchor::Middle, tick));
        }
        for tick in y.ticks() {
            let at = area.y(tick.at);
            marks.push(line(vec![(LEFT, at), (end, at)], GRID));
            marks.push(label((LEFT - 8.0, at + 4.0), Anchor::End, tick));
        }
        for tick in right.map_or_else(Vec::new, Range::ticks) {
            let at = area.y(tick.at);
            marks.push(line(vec![(end, at), (end + 4.0, at)], FRAME));
            marks.push(label((end + 8.0, at + 4.0), Anchor::Start, tick));
        }
        let corners = [
            (LEFT, area.top),
            (end, area.top),
            (end, bottom),
            (LEFT, bottom),
            (LEFT, area.top),
        ];
        marks.push(line(corners.into(), FRAME));
        marks.push(text(
            (area.x(0.5), HEIGHT - 14.0),
            Anchor::Middle,
            13.0,
            &self.x.label,
        ));
        marks.push(upwards((20.0, area.y(0.5)), &self.y.label));
        if let Some(axis) = &self.right {
            marks.push(upwards((WIDTH - 12.0, area.y(0.5)), &axis.label));
        }
    }
}

fn colour(series: usize) -> Colour {
    COLOURS[series % COLOURS.len()]
}

fn draw_series(marks: &mut Vec<Mark>, style: Style, colour: Colour, places: Vec<(f64, f64)>) {
    if style == Style::Dots {
        marks.extend(places.into_iter().map(|centre| Mark::Disc {
            centre,
            radius: 4.0,
            colour,
        }));
        return;
    }
    let points = match style {
        Style::Steps => {
            let corners = places
                .windows(2)
                .flat_map(|pair| [pair[0], (pair[1].0, pair[0].1)]);
            corners.chain(places.last().copied()).collect()
        }
        _ => places,
    };
    if points.len() > 1 {
        marks.push(Mark::Path {
            points,
            colour,
            width: 2.0,
            dashed: style == Style::Dashed,
        });
    }
}

fn line(points: Vec<(f64, f64)>, colour: Colour) -> Mark {
    Mark::Path {
        points,
        colour,
        width: 1.0,
        dashed: false,
    }
}

fn text(at: (f64, f64), anchor: Anchor, size: f64, content: &str) -> Mark {
    Mark::Text {
        at,
        anchor,
        size,
        upwards: false,
        content: content.into(),
        exponent: String::new(),
    }
}

fn upwards(at: (f64, f64), content: &str) -> Mark {
    Mark::Text {
        at,
        anchor: Anchor::Middle,
        size: 13.0,
        upwards: true,
        content: content.into(),
        exponent: String::new(),
    }
}

fn label(at: (f64, f64), anchor: Anchor, tick: Tick) -> Mark {
    Mark::Text {
        at,
        anchor,
        size: 12.0,
        upwards: false,
        content: tick.label,
        exponent: tick.exponent,
    }
}
