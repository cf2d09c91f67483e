//! Lines, steps, dots and bars on linear or logarithmic axes, and trees.
//!
//! A [`Plot`] is data; [`Plot::to_svg`] and [`Plot::to_png`] draw it.

mod bars;
mod canvas;
mod draw;
mod parts;
mod scale;
mod tree;

pub(crate) use bars::{Bars, Group};
pub use parts::{Axis, Plot, Scale, Series, Style};
pub(crate) use tree::{Branch, Tree};

impl Plot {
    /// The plot as an SVG document.
    #[must_use]
    pub fn to_svg(&self) -> String {
        canvas::svg(self)
    }

    /// The plot as a PNG image, two pixels to a unit of the SVG. The font is its own: machines without any draw the same.
    ///
    /// # Errors
    /// If the image cannot be encoded.
    pub fn to_png(&self) -> std::io::Result<Vec<u8>> {
        canvas::png(self)
    }
}
