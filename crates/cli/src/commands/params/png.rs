//! Marks of a plot as a PNG image, two pixels to the unit, with a font of its own: machines without any draw the same.

use cenote_bench::plot::{Anchor, Colour, HEIGHT, Mark, WIDTH};
use noto_sans_mono_bitmap::{FontWeight, RasterHeight, RasterizedChar, get_raster, get_raster_width};
use tiny_skia::{Color, FillRule, LineCap, Paint, Path, PathBuilder, Pixmap, Stroke, StrokeDash, Transform};

const SCALE: f64 = 2.0;

/// The image file.
pub(super) fn encode(marks: &[Mark]) -> Result<Vec<u8>, String> {
    let size = |length: f64| (length * SCALE) as u32;
    let mut image = Pixmap::new(size(WIDTH), size(HEIGHT)).ok_or("no memory for the image")?;
    image.fill(Color::WHITE);
    for mark in marks {
        draw(&mut image, mark);
    }
    image.encode_png().map_err(|error| error.to_string())
}

fn draw(image: &mut Pixmap, mark: &Mark) {
    let scale = Transform::from_scale(SCALE as f32, SCALE as f32);
    match mark {
        Mark::Path {
            points,
            colour,
            width,
            dashed,
        } => {
            let stroke = Stroke {
                width: *width as f32,
                line_cap: LineCap::Butt,
                dash: if *dashed {
                    StrokeDash::new(vec![6.0, 4.0], 0.0)
                } else {
                    None
                },
                ..Stroke::default()
            };
            if let Some(path) = polyline(points) {
                image.stroke_path(&path, &paint(*colour), &stroke, scale, None);
            }
        }
        Mark::Disc {
            centre: (x, y),
            radius,
            colour,
        } => {
            if let Some(circle) = PathBuilder::from_circle(*x as f32, *y as f32, *radius as f32) {
                image.fill_path(&circle, &paint(*colour), FillRule::Winding, scale, None);
            }
        }
        Mark::Text {
            at,
            anchor,
            size,
            upwards,
            content,
            exponent,
        } => {
            let weight = if *size > 14.0 {
                FontWeight::Bold
            } else {
                FontWeight::Regular
            };
            let parts = [
                (content, RasterHeight::Size32, 0.0),
                (exponent, RasterHeight::Size20, size * 0.4 * SCALE),
            ];
            let advance = |height| get_raster_width(weight, height) as f64;
            let length: f64 = parts
                .iter()
                .map(|(text, height, _)| text.chars().count() as f64 * advance(*height))
                .sum();
            let mut along = match anchor {
                Anchor::Start => 0.0,
                Anchor::Middle => -length / 2.0,
                Anchor::End => -length,
            };
            let (x, y) = (at.0 * SCALE, at.1 * SCALE);
            for (text, height, rise) in parts {
                let baseline = baseline(weight, height);
                for letter in text.chars() {
                    let glyph =
                        get_raster(letter, weight, height).or_else(|| get_raster('?', weight, height));
                    if let Some(glyph) = glyph {
                        let place = |right: usize, down: usize| {
                            let (right, down) = (along + right as f64, down as f64 - baseline - rise);
                            if *upwards {
                                (x + down, y - right)
                            } else {
                                (x + right, y + down)
                            }
                        };
                        draw_glyph(image, &glyph, place);
                    }
                    along += advance(height);
                }
            }
        }
    }
}

fn polyline(points: &[(f64, f64)]) -> Option<Path> {
    let mut path = PathBuilder::new();
    for (i, &(x, y)) in points.iter().enumerate() {
        if i == 0 {
            path.move_to(x as f32, y as f32);
        } else {
            path.line_to(x as f32, y as f32);
        }
    }
    path.finish()
}

fn paint(Colour(red, green, blue): Colour) -> Paint<'static> {
    let mut paint = Paint::default();
    paint.set_color_rgba8(red, green, blue, 255);
    paint
}

/// Rows of a glyph above the line that letters stand on.
fn baseline(weight: FontWeight, height: RasterHeight) -> f64 {
    let letter = get_raster('E', weight, height);
    let rows = letter.and_then(|e| e.rows().rposition(|row| row.iter().any(|&ink| ink > 127)));
    rows.map_or(0.0, |last| last as f64 + 1.0)
}

/// Blackens the image by the glyph's ink; `place` turns a column and row of the glyph into a place in the image.
fn draw_glyph(image: &mut Pixmap, glyph: &RasterizedChar, place: impl Fn(usize, usize) -> (f64, f64)) {
    let (width, height) = (image.width() as usize, image.height() as usize);
    let data = image.data_mut();
    for (down, row) in glyph.rows().enumerate() {
        for (right, &ink) in row.iter().enumerate() {
            let (x, y) = place(right, down);
            let (x, y) = (x.round(), y.round());
            if ink == 0 || x < 0.0 || y < 0.0 || x >= width as f64 || y >= height as f64 {
                continue;
            }
            let at = 4 * (y as usize * width + x as usize);
            for channel in &mut data[at..at + 3] {
                *channel = (u16::from(*channel) * u16::from(255 - ink) / 255) as u8;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(content: &str, upwards: bool) -> Mark {
        Mark::Text {
            at: (100.0, 200.0),
            anchor: Anchor::Start,
            size: 12.0,
            upwards,
            content: content.into(),
            exponent: String::new(),
        }
    }

    /// The box of dark pixels: left, top, right, bottom.
    fn ink(marks: &[Mark]) -> Option<[u32; 4]> {
        let image = Pixmap::decode_png(&encode(marks).unwrap()).unwrap();
        let mut found: Option<[u32; 4]> = None;
        for (i, pixel) in image.pixels().iter().enumerate() {
            if pixel.red() < 128 {
                let (x, y) = (i as u32 % image.width(), i as u32 / image.width());
                let b = found.get_or_insert([x, y, x, y]);
                *b = [b[0].min(x), b[1].min(y), b[2].max(x), b[3].max(y)];
            }
        }
        found
    }

    #[test]
    fn letters_stand_on_their_line_and_turn_upwards() {
        assert_eq!(ink(&[]), None);
        let [left, top, right, bottom] = ink(&[text("EEE", false)]).unwrap();
        assert!(
            (200..206).contains(&left) && right < 200 + 3 * 14,
            "{left} {right}"
        );
        assert!(bottom == 399 && (375..385).contains(&top), "{top} {bottom}");
        let [left, top, right, bottom] = ink(&[text("EEE", true)]).unwrap();
        assert!(right == 199 && (175..185).contains(&left), "{left} {right}");
        assert!(bottom <= 400 && top > 400 - 3 * 14, "{top} {bottom}");
        // What the font lacks is not passed over.
        assert!(ink(&[text("\u{3b2}", false)]).is_some());
    }

    #[test]
    fn lines_and_discs_are_where_they_belong() {
        let black = Colour(0, 0, 0);
        let line = Mark::Path {
            points: vec![(10.0, 10.0), (20.0, 10.0)],
            colour: black,
            width: 2.0,
            dashed: false,
        };
        assert_eq!(ink(&[line]), Some([20, 18, 39, 21]));
        let disc = Mark::Disc {
            centre: (50.0, 50.0),
            radius: 4.0,
            colour: black,
        };
        assert_eq!(ink(&[disc]), Some([92, 92, 107, 107]));
        // Nothing outside the image is drawn, and nothing panics.
        let mut outside = text("far away", false);
        if let Mark::Text { at, .. } = &mut outside {
            *at = (-500.0, 1e9);
        }
        assert_eq!(ink(&[outside]), None);
    }
}
