//! What pools of several sizes cost, for people.

use cenote::text::s;

use super::report::{PoolReport, PoolRow, RateRow, Reported};
use crate::plot::{Axis, Plot, Scale, Series, Style};

/// What is a protocol's own in the text.
pub trait Told: Reported {
    /// The settings.
    fn describe(&self) -> String;

    /// All tables.
    fn tables(report: &PoolReport<Self>) -> String;

    /// What is drawn over the sizes of pools.
    fn curves() -> Curves<Self>;
}

/// Curves over the sizes of pools.
pub struct Curves<P: Reported> {
    /// Of each circuit, what is added to its name, and the AND gates in a second.
    pub(crate) rates: Vec<(&'static str, fn(&P::Rate) -> f64)>,
    /// What is read on the right axis: its name, the axis, the number.
    pub(crate) right: (&'static str, &'static str, fn(&PoolRow<P>) -> f64),
    /// AND gates in a second over some pool, according to a paper.
    pub(crate) paper: Option<(&'static str, (u64, f64))>,
}

impl<P: Told> PoolReport<P> {
    /// The tables as text.
    pub fn table(&self) -> String {
        format!(
            "{}\nover {}, {}; {} bits, {}; medians of {} session{}\n{}",
            self.machine.line(),
            self.transport,
            self.link,
            self.security,
            self.protocol.describe(),
            self.repeat,
            s(self.repeat),
            P::tables(self),
        )
    }

    /// The rates against the pool's size, beside what they hang on.
    pub fn to_svg(&self) -> String {
        P::curves().draw(self)
    }
}

impl<P: Reported> PoolReport<P> {
    /// All rates of the first circuit, by pool, then those of the next.
    pub(crate) fn rates(&self) -> impl Iterator<Item = (&PoolRow<P>, &RateRow<P::Rate>, &P::Rate)> {
        let loads = self.rows.first().map_or(0, |row| row.rates.len());
        (0..loads).flat_map(|at| {
            self.rows.iter().filter_map(move |row| {
                let rate = row.rates.get(at)?;
                Some((row, rate, &rate.speed))
            })
        })
    }
}

impl<P: Reported> Curves<P> {
    fn draw(&self, report: &PoolReport<P>) -> String {
        const MILLION: f64 = 1e6;
        let points = |of: &dyn Fn(&PoolRow<P>) -> f64| {
            let points = report.rows.iter().map(|row| (row.pool as f64, of(row)));
            points.collect::<Vec<_>>()
        };
        let first = report.rows.first().map_or(&[][..], |row| &row.rates);
        let mut series = Vec::new();
        for (at, rate) in first.iter().enumerate() {
            for (way, of) in &self.rates {
                let name = format!("{} × {}{way}", rate.load.lanes, rate.load.circuit);
                let points = points(&|row| of(&row.rates[at].speed) / MILLION);
                series.push(Series::new(name, Style::Line, points));
            }
        }
        if let Some((name, (pool, rate))) = self.paper {
            series.push(Series::new(name, Style::Dots, [(pool as f64, rate / MILLION)]));
        }
        let (name, axis, of) = self.right;
        series.push(Series {
            right: true,
            ..Series::new(name, Style::Dashed, points(&of))
        });
        Plot {
            title: "Rate against pool size".into(),
            x: Axis::new(format!("pool size n ({})", P::ELEMENTS), Scale::Log2),
            y: Axis::new("million AND gates a second", Scale::Linear),
            right: Some(Axis::new(axis, Scale::Linear)),
            series,
        }
        .to_svg()
    }
}
