//! Where an axis places its values, and its ticks.

use super::{Axis, Scale};

/// An axis with its range fixed: values to fractions of its length.
pub(super) struct Range {
    scale: Scale,
    low: f64,
    high: f64,
}

/// A tick: where, and its label, of which the second part is an exponent.
#[derive(Debug)]
pub(super) struct Tick {
    pub(super) at: f64,
    pub(super) label: String,
    pub(super) exponent: String,
}

impl Range {
    /// The range of `values`. A vertical axis gets some room above and below, but none below zero.
    pub(super) fn of(axis: &Axis, vertical: bool, values: impl Iterator<Item = f64>) -> Self {
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
        if vertical {
            let margin = (high - low) * 0.05;
            let floor = if scale == Scale::Linear && low >= 0.0 {
                0.0
            } else {
                f64::NEG_INFINITY
            };
            low = (low - margin).max(floor);
            high += margin;
        }
        Self { scale, low, high }
    }

    pub(super) fn fraction(&self, value: f64) -> Option<f64> {
        project(self.scale, value).map(|v| (v - self.low) / (self.high - self.low))
    }

    pub(super) fn ticks(&self) -> Vec<Tick> {
        let span = self.high - self.low;
        if self.scale == Scale::Log10 && span < 2.0 {
            return self.fine_ticks();
        }
        let step = match self.scale {
            Scale::Linear => nice(span / 7.0),
            Scale::Log10 | Scale::Log2 => nice(span / 9.0).max(1.0),
        };
        let first = (self.low / step - 1e-9).ceil();
        let count = ((self.high - first * step) / step + 1e-9).floor().max(0.0) as usize;
        let ticks = (0..=count).map(|i| {
            let at = (first + i as f64) * step;
            let (label, exponent) = match self.scale {
                Scale::Linear => {
                    let digits = (-step.log10().floor()).clamp(0.0, 9.0) as usize;
                    (format!("{at:.digits$}"), String::new())
                }
                Scale::Log10 if (0.0..4.0).contains(&at) => (format!("{:.0}", 10f64.powf(at)), String::new()),
                Scale::Log10 => ("10".into(), format!("{at:.0}")),
                Scale::Log2 => ("2".into(), format!("{at:.0}")),
            };
            Tick {
                at: (at - self.low) / span,
                label,
                exponent,
            }
        });
        ticks.collect()
    }

    /// On a logarithmic axis of less than two decades: 1, 2, 3, 5 and 7 times each power of ten.
    fn fine_ticks(&self) -> Vec<Tick> {
        let powers = self.low.floor() as i32..=self.high.floor() as i32;
        let values =
            powers.flat_map(|power| [1.0, 2.0, 3.0, 5.0, 7.0].map(|m| (m * 10f64.powi(power), power)));
        let inside = values.filter_map(|(value, power)| {
            let at = (value.log10() - self.low) / (self.high - self.low);
            let digits = (-power).clamp(0, 9) as usize;
            (-1e-9..=1.0 + 1e-9).contains(&at).then(|| Tick {
                at,
                label: format!("{value:.digits$}"),
                exponent: String::new(),
            })
        });
        inside.collect()
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

#[cfg(test)]
mod tests {
    use super::*;

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
            assert!(ticks.iter().all(|t| (-1e-6..=1.0 + 1e-6).contains(&t.at)));
        }
    }

    #[test]
    fn powers_have_exponents() {
        let label = |scale, values: [f64; 2]| {
            let ticks = Range::of(&Axis::new("", scale), false, values.into_iter()).ticks();
            let last = ticks.last().unwrap();
            (last.label.clone(), last.exponent.clone())
        };
        assert_eq!(label(Scale::Log10, [6.0, 52.0]), ("50".into(), "".into()));
        assert_eq!(label(Scale::Log10, [0.02, 0.06]), ("0.05".into(), "".into()));
        assert_eq!(label(Scale::Log10, [1.0, 1e3]), ("1000".into(), "".into()));
        assert_eq!(label(Scale::Log10, [1.0, 1e6]), ("10".into(), "6".into()));
        assert_eq!(label(Scale::Log2, [4.0, 32.0]), ("2".into(), "5".into()));
        assert_eq!(label(Scale::Log2, [0.25, 0.5]), ("2".into(), "-1".into()));
    }
}
