//! A tree of steps, each on a line below the step that takes it, with a bar for its size.

use plotters::coord::Shift;
use plotters::element::{Circle, PathElement, Rectangle, Text};
use plotters::prelude::{DrawingArea, DrawingBackend};
use plotters::style::Color as _;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::canvas::{self, Drawing, FRAME, GRID, Outcome, STEPS, colour, steps, text};

/// A step.
pub(crate) struct Branch {
    /// How many steps stand above it.
    pub(crate) depth: u32,
    pub(crate) name: String,
    /// What is told below its name.
    pub(crate) note: String,
    /// Its number among those of the legend.
    pub(crate) kind: usize,
    /// How long its bar is, compared with the others.
    pub(crate) size: f64,
}

/// The drawing.
pub(crate) struct Tree {
    pub(crate) title: String,
    /// What the kinds of steps are, and what bars are.
    pub(crate) kinds: Vec<String>,
    pub(crate) bars: String,
    /// Each after the one that takes it.
    pub(crate) branches: Vec<Branch>,
}

const WIDTH: u32 = 1000;
/// Above the legend, a line of the legend, and a step, in units.
const TOP: u32 = 40;
const LINE: u32 = 18;
const STEP: u32 = 40;
const MARGIN: u32 = 16;
/// How much further in a step stands than the one that takes it, at most.
const INDENT: u32 = 22;
/// Where bars begin, and how long the longest is.
const BARS: u32 = 760;
const LONGEST: u32 = 220;
/// Letters that fit between the left end and the bars, at a height of 12 units.
const LETTERS: u32 = 118;
/// A letter is about so many units wide.
const LETTER: u32 = 6;

impl Tree {
    pub(crate) fn to_svg(&self) -> String {
        canvas::svg(self)
    }

    pub(crate) fn to_png(&self) -> std::io::Result<Vec<u8>> {
        canvas::png(self)
    }

    /// The left end of steps of a depth: a deep tree is drawn more narrowly.
    fn left(&self, depth: u32) -> u32 {
        let deepest = self.branches.iter().map(|branch| branch.depth).max().unwrap_or(0);
        MARGIN + depth * INDENT.min(BARS / 3 / deepest.max(1))
    }

    fn first(&self) -> u32 {
        TOP + (self.kinds.len() as u32 + 1) * LINE
    }

    /// The middle of a step's line.
    fn middle(&self, at: usize) -> i32 {
        steps(self.first() + at as u32 * STEP + STEP / 2)
    }

    fn draw_legend<B: DrawingBackend>(&self, ground: &DrawingArea<B, Shift>) -> Outcome<B> {
        for (kind, name) in self.kinds.iter().enumerate() {
            let at = (steps(MARGIN + 5), steps(TOP + kind as u32 * LINE));
            ground.draw(&Circle::new(at, steps(5), colour(kind).filled()))?;
            let style = text(12).pos(Pos::new(HPos::Left, VPos::Center));
            ground.draw(&Text::new(name.as_str(), (at.0 + steps(12), at.1), style))?;
        }
        let style = text(12).pos(Pos::new(HPos::Left, VPos::Center));
        ground.draw(&Text::new(self.bars.as_str(), (steps(BARS), steps(TOP)), style))
    }

    /// The lines from each step to the one that takes it.
    fn draw_lines<B: DrawingBackend>(&self, ground: &DrawingArea<B, Shift>) -> Outcome<B> {
        for (at, branch) in self.branches.iter().enumerate() {
            let above = self.branches[..at]
                .iter()
                .rposition(|other| other.depth < branch.depth);
            if let Some(above) = above {
                let x = steps(self.left(self.branches[above].depth) + 5);
                let corner = (x, self.middle(at));
                let end = (steps(self.left(branch.depth) + 5), corner.1);
                let line = vec![(x, self.middle(above)), corner, end];
                ground.draw(&PathElement::new(line, GRID.stroke_width(STEPS)))?;
            }
        }
        Ok(())
    }
}

impl Drawing for Tree {
    fn size(&self) -> (u32, u32) {
        (WIDTH, self.first() + self.branches.len() as u32 * STEP + MARGIN)
    }

    fn draw<B: DrawingBackend>(&self, ground: &DrawingArea<B, Shift>) -> Outcome<B> {
        ground.titled(&self.title, text(15))?;
        self.draw_legend(ground)?;
        self.draw_lines(ground)?;
        let sizes = self.branches.iter().map(|branch| branch.size);
        let most = sizes.fold(f64::MIN_POSITIVE, f64::max);
        for (at, branch) in self.branches.iter().enumerate() {
            let (left, middle) = (self.left(branch.depth), self.middle(at));
            let dot = (steps(left + 5), middle);
            ground.draw(&Circle::new(dot, steps(5), colour(branch.kind).filled()))?;
            let x = steps(left + 16);
            let letters = LETTERS.saturating_sub(left / LETTER) as usize;
            let name = shortened(&branch.name, letters);
            let style = text(12).pos(Pos::new(HPos::Left, VPos::Bottom));
            ground.draw(&Text::new(name, (x, middle + steps(2)), style))?;
            let style = text(10).pos(Pos::new(HPos::Left, VPos::Top)).color(&FRAME);
            ground.draw(&Text::new(branch.note.as_str(), (x, middle + steps(4)), style))?;
            let long = (f64::from(steps(LONGEST)) * branch.size / most).round() as i32;
            let corners = [
                (steps(BARS), middle - steps(5)),
                (steps(BARS) + long.max(1), middle + steps(5)),
            ];
            ground.draw(&Rectangle::new(corners, colour(branch.kind).filled()))?;
        }
        Ok(())
    }
}

/// The first letters of a text that is too long, and dots.
fn shortened(text: &str, letters: usize) -> String {
    match text.chars().count() > letters {
        true => text
            .chars()
            .take(letters.saturating_sub(1))
            .chain(['…'])
            .collect(),
        false => text.to_owned(),
    }
}
