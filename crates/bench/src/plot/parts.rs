//! What a plot consists of.

/// How an axis places its values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// Proportionally.
    Linear,
    /// By logarithm, with ticks at powers of ten.
    Log10,
    /// By logarithm, with ticks at powers of two.
    Log2,
}

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
    /// Joined by dashed straight lines: a level to compare with.
    Dashed,
    /// Joined by steps: a value holds until the next point.
    Steps,
    /// Not joined.
    Dots,
}

/// Points that belong together.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// Its name in the legend, which is drawn if there are several series.
    pub name: String,
    /// `(x, y)`; points that are not finite, or not positive on a logarithmic axis, are left out.
    pub points: Vec<(f64, f64)>,
    /// How they are drawn.
    pub style: Style,
    /// Whether `y` is read on the right axis.
    pub right: bool,
}

impl Series {
    /// A series read on the left axis.
    pub fn new(name: impl Into<String>, style: Style, points: impl IntoIterator<Item = (f64, f64)>) -> Self {
        Self {
            name: name.into(),
            points: points.into_iter().collect(),
            style,
            right: false,
        }
    }
}

/// A plot with one horizontal and one or two vertical axes.
#[derive(Clone, Debug, PartialEq)]
pub struct Plot {
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
