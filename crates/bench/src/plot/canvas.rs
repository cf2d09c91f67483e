//! Drawings as files: SVG, or PNG on machines without a single font.

use std::sync::Once;

use plotters::coord::Shift;
use plotters::drawing::DrawingAreaErrorKind;
use plotters::prelude::{BitMapBackend, DrawingArea, DrawingBackend, IntoDrawingArea, SVGBackend, WHITE};
use plotters::style::{FontStyle, FontTransform, IntoFont, RGBColor, TextStyle, register_font};
use plotters_backend::{BackendColor, BackendCoord, BackendTextStyle, DrawingErrorKind};

/// Steps of the drawing's grid to a unit. Backends place everything on whole steps.
pub(super) const STEPS: u32 = 4;
/// Steps that become one pixel of a PNG in each direction.
const BLEND: u32 = 2;

const FONT: &str = "sans-serif";

/// Colours that people with any colour vision can tell apart (Okabe and Ito).
const COLOURS: [RGBColor; 7] = [
    RGBColor(0x00, 0x72, 0xb2),
    RGBColor(0xd5, 0x5e, 0x00),
    RGBColor(0x00, 0x9e, 0x73),
    RGBColor(0xcc, 0x79, 0xa7),
    RGBColor(0xe6, 0x9f, 0x00),
    RGBColor(0x56, 0xb4, 0xe9),
    RGBColor(0x00, 0x00, 0x00),
];

pub(super) const GRID: RGBColor = RGBColor(0xdd, 0xdd, 0xdd);
pub(super) const FRAME: RGBColor = RGBColor(0x33, 0x33, 0x33);

pub(super) type Outcome<B, T = ()> = Result<T, DrawingAreaErrorKind<<B as DrawingBackend>::ErrorType>>;

/// Something that can be drawn.
pub(super) trait Drawing {
    /// Width and height in units.
    fn size(&self) -> (u32, u32);

    /// Draws it on a white ground, where a unit has [`STEPS`].
    fn draw<B: DrawingBackend>(&self, ground: &DrawingArea<B, Shift>) -> Outcome<B>;
}

/// The colour of series number `index`.
pub(super) fn colour(index: usize) -> RGBColor {
    COLOURS[index % COLOURS.len()]
}

/// `units` in steps.
pub(super) fn steps(units: u32) -> i32 {
    (units * STEPS) as i32
}

/// The style of a text whose letters are `size` units high.
pub(super) fn text(size: u32) -> TextStyle<'static> {
    static REGISTERED: Once = Once::new();
    REGISTERED.call_once(|| {
        let font = register_font(FONT, FontStyle::Normal, epaint_default_fonts::UBUNTU_LIGHT);
        assert!(font.is_ok(), "the font is well formed");
    });
    // The library takes the height of a line, which is 1.24 times that of the letters.
    (FONT, f64::from(size * STEPS) * 1.24).into_font().into()
}

/// The drawing as an SVG document.
pub(super) fn svg(drawing: &impl Drawing) -> String {
    let (width, height) = drawing.size();
    let (wide, high) = (width * STEPS, height * STEPS);
    let mut svg = String::new();
    let ground = SVGBackend::with_string(&mut svg, (wide, high)).into_drawing_area();
    ground.fill(&WHITE).expect("strings take everything");
    drawing.draw(&ground).expect("strings take everything");
    drop(ground);
    let ours = format!(r#"width="{width}" height="{height}""#);
    svg.replacen(&format!(r#"width="{wide}" height="{high}""#), &ours, 1)
}

/// The drawing as a PNG image, two pixels to the unit.
pub(super) fn png(drawing: &impl Drawing) -> std::io::Result<Vec<u8>> {
    let (width, height) = drawing.size();
    let (wide, high) = (width * STEPS, height * STEPS);
    let mut pixels = vec![0xff; (wide * high * 3) as usize];
    {
        let pixels = BitMapBackend::with_buffer(&mut pixels, (wide, high));
        let ground = Lowered(pixels).into_drawing_area();
        drawing.draw(&ground).map_err(std::io::Error::other)?;
    }
    let (columns, rows) = (wide / BLEND, high / BLEND);
    let mut file = Vec::new();
    let mut encoder = png::Encoder::new(&mut file, columns, rows);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    let mut writer = encoder.write_header()?;
    writer.write_image_data(&blended(&pixels, wide))?;
    writer.finish()?;
    Ok(file)
}

/// A bitmap whose texts stand where those of an SVG do: the library places their baselines 0.13 of a letter higher.
struct Lowered<'a>(BitMapBackend<'a>);

impl DrawingBackend for Lowered<'_> {
    type ErrorType = <BitMapBackend<'static> as DrawingBackend>::ErrorType;

    fn get_size(&self) -> (u32, u32) {
        self.0.get_size()
    }

    fn ensure_prepared(&mut self) -> Result<(), DrawingErrorKind<Self::ErrorType>> {
        self.0.ensure_prepared()
    }

    fn present(&mut self) -> Result<(), DrawingErrorKind<Self::ErrorType>> {
        self.0.present()
    }

    fn draw_pixel(
        &mut self,
        point: BackendCoord,
        colour: BackendColor,
    ) -> Result<(), DrawingErrorKind<Self::ErrorType>> {
        self.0.draw_pixel(point, colour)
    }

    fn draw_text<S: BackendTextStyle>(
        &mut self,
        text: &str,
        style: &S,
        (x, y): BackendCoord,
    ) -> Result<(), DrawingErrorKind<Self::ErrorType>> {
        let down = (0.13 * style.size() / 1.24).round() as i32;
        let at = match style.transform() {
            FontTransform::None => (x, y + down),
            FontTransform::Rotate90 => (x - down, y),
            FontTransform::Rotate180 => (x, y - down),
            FontTransform::Rotate270 => (x + down, y),
        };
        self.0.draw_text(text, style, at)
    }
}

/// The means of squares of pixels, of `wide` in a row: lines without stairs.
fn blended(pixels: &[u8], wide: u32) -> Vec<u8> {
    let row = 3 * wide as usize;
    let square = 3 * BLEND as usize;
    let mut small = Vec::with_capacity(pixels.len() / (BLEND * BLEND) as usize);
    for rows in pixels.chunks_exact(row * BLEND as usize) {
        for x in (0..row).step_by(square) {
            for channel in 0..3 {
                let values = (0..BLEND as usize).flat_map(|dy| {
                    let at = dy * row + x + channel;
                    (0..BLEND as usize).map(move |dx| u32::from(rows[at + 3 * dx]))
                });
                small.push((values.sum::<u32>() / (BLEND * BLEND)) as u8);
            }
        }
    }
    small
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn squares_of_pixels_are_blended() {
        let (black, white) = ([0; 3], [255; 3]);
        let rows = [[black, white, white, white], [black, white, black, white]];
        let pixels: Vec<u8> = rows.iter().flatten().flatten().copied().collect();
        assert_eq!(blended(&pixels, 4), [127, 127, 127, 191, 191, 191]);
    }
}
