//! Where an axis places its values, and which of them it names.

use plotters::coord::ranged1d::{KeyPointHint, NoDefaultFormatting, Ranged, ValueFormatter};
use plotters::coord::types::RangedCoordf64;
use plotters::data::float::FloatPrettyPrinter;

use super::parts::Scale;

/// The coordinate of an axis.
pub(super) struct Coordinate {
    scale: Scale,
    /// Logarithms, on a logarithmic axis.
    inner: RangedCoordf64,
}

impl Coordinate {
    /// Around the finite ones of `values`. A vertical axis gets some room above and below, but none below zero.
    pub(super) fn around(scale: Scale, vertical: bool, values: impl Iterator<Item = f64>) -> Self {
        let shown = values
            .map(|value| scale.project(value))
            .filter(|value| value.is_finite());
        let (mut low, mut high) = shown.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
            (low.min(value), high.max(value))
        });
        if low > high {
            (low, high) = (0.0, 1.0);
        }
        if high - low < 1e-12 {
            (low, high) = (low - 0.5, high + 0.5);
        }
        if vertical {
            let margin = (high - low) * 0.05;
            let none_below = scale == Scale::Linear && low >= 0.0;
            low = if none_below {
                (low - margin).max(0.0)
            } else {
                low - margin
            };
            high += margin;
        }
        Self {
            scale,
            inner: (low..high).into(),
        }
    }

    /// From `low` to `high`.
    pub(super) fn between(scale: Scale, low: f64, high: f64) -> Self {
        Self {
            scale,
            inner: (scale.project(low)..scale.project(high)).into(),
        }
    }
}

impl Scale {
    fn project(self, value: f64) -> f64 {
        match self {
            Scale::Linear => value,
            Scale::Log10 => value.log10(),
            Scale::Log2 => value.log2(),
        }
    }

    fn base(self) -> Option<f64> {
        match self {
            Scale::Linear => None,
            Scale::Log10 => Some(10.0),
            Scale::Log2 => Some(2.0),
        }
    }

    /// Whether the axis has a place for `value`.
    pub(super) fn shows(self, value: f64) -> bool {
        self.project(value).is_finite()
    }
}

impl Ranged for Coordinate {
    type FormatOption = NoDefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, limit: (i32, i32)) -> i32 {
        self.inner.map(&self.scale.project(*value), limit)
    }

    fn key_points<Hint: KeyPointHint>(&self, hint: Hint) -> Vec<f64> {
        let range = self.inner.range();
        let Some(base) = self.scale.base() else {
            return self.inner.key_points(hint);
        };
        if base == 10.0 && range.end - range.start < 2.0 {
            // Less than two decades: some multiples of each power too.
            let powers = range.start.floor() as i32..=range.end.floor() as i32;
            let values = powers.flat_map(|power| [1.0, 2.0, 3.0, 5.0, 7.0].map(|m| m * 10f64.powi(power)));
            let inside = (range.start - 1e-9)..=(range.end + 1e-9);
            return values.filter(|value| inside.contains(&value.log10())).collect();
        }
        let exponents = self.inner.key_points(hint).into_iter();
        let whole = exponents.filter(|exponent| (exponent - exponent.round()).abs() < 1e-9);
        whole.map(|exponent| base.powf(exponent.round())).collect()
    }

    fn range(&self) -> std::ops::Range<f64> {
        let range = self.inner.range();
        match self.scale.base() {
            Some(base) => base.powf(range.start)..base.powf(range.end),
            None => range,
        }
    }
}

impl ValueFormatter<f64> for Coordinate {
    fn format_ext(&self, value: &f64) -> String {
        let exponent = self.scale.project(*value);
        match self.scale.base() {
            Some(base) if base == 2.0 || exponent >= 4.0 => {
                format!("{base}{}", raised(exponent.round() as i32))
            }
            _ => FloatPrettyPrinter {
                allow_scientific: false,
                min_decimal: 0,
                max_decimal: 9,
            }
            .print(*value),
        }
    }
}

/// A number in raised digits.
fn raised(number: i32) -> String {
    let raise = |c: char| match c {
        '-' => '⁻',
        c => ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'][c as usize - '0' as usize],
    };
    number.to_string().chars().map(raise).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(scale: Scale, values: [f64; 2]) -> Vec<String> {
        let axis = Coordinate::around(scale, false, values.into_iter());
        let points = axis.key_points(10).into_iter();
        points.map(|point| axis.format_ext(&point)).collect()
    }

    #[test]
    fn named_values_are_round() {
        assert_eq!(
            named(Scale::Linear, [0.0, 3.2]),
            ["0", "0.5", "1", "1.5", "2", "2.5", "3"]
        );
        assert_eq!(
            named(Scale::Log10, [1e2, 1e6]),
            ["100", "1000", "10⁴", "10⁵", "10⁶"]
        );
        assert_eq!(named(Scale::Log10, [8.0, 60.0]), ["10", "20", "30", "50"]);
        assert_eq!(named(Scale::Log2, [0.25, 16.0])[..3], ["2⁻²", "2⁻¹", "2⁰"]);
        assert_eq!(named(Scale::Log2, [1.0, 2f64.powi(16)])[..2], ["2⁰", "2²"]);
    }

    #[test]
    fn logarithms_are_evenly_spaced() {
        let axis = Coordinate::around(Scale::Log10, false, [1.0, 1e4].into_iter());
        let places = [1.0, 10.0, 100.0, 1e4].map(|value| axis.map(&value, (0, 400)));
        assert_eq!(places, [0, 100, 200, 400]);
        let axis = Coordinate::around(Scale::Linear, true, [0.0, 2.0].into_iter());
        assert_eq!(axis.range().start, 0.0);
        assert!(axis.range().end > 2.0);
    }

    #[test]
    fn a_range_without_extent_is_widened() {
        for values in [vec![], vec![5.0], vec![f64::NAN, f64::INFINITY]] {
            let range = Coordinate::around(Scale::Linear, true, values.into_iter()).range();
            assert!(range.end - range.start >= 1.0 && range.end.is_finite());
        }
    }
}
