//! The time of a session here, as a sum of what every session takes, of its rounds and of its bytes.

use serde::Serialize;

use super::plans::Takes;

/// Seconds here, where all parties share the machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Model {
    /// Of any session: its coordination, connections, and checks.
    pub session_seconds: f64,
    /// Of each message that others wait for.
    pub round_seconds: f64,
    /// Of each byte, and the gates that come with it.
    pub byte_seconds: f64,
}

/// A session that was measured.
pub(super) struct Seen {
    pub(super) takes: Takes,
    pub(super) seconds: f64,
}

fn features(takes: &Takes) -> [f64; 3] {
    [1.0, takes.rounds as f64, takes.bytes as f64]
}

impl Model {
    /// The model, none of whose parts is negative, whose relative errors have the least sum of squares.
    pub(super) fn fitted(seen: &[Seen]) -> Self {
        let parts = |set: u32| (0..3).filter(move |part| set >> part & 1 == 1);
        let fits = (1..8).filter_map(|set| {
            let chosen: Vec<usize> = parts(set).collect();
            let found = solve(&chosen, seen)?;
            found.iter().all(|&part| part >= 0.0).then(|| {
                let mut all = [0.0; 3];
                chosen.iter().zip(&found).for_each(|(&at, &part)| all[at] = part);
                all
            })
        });
        let best = fits.min_by(|a, b| error(a, seen).total_cmp(&error(b, seen)));
        let [session_seconds, round_seconds, byte_seconds] = best.unwrap_or_default();
        Model {
            session_seconds,
            round_seconds,
            byte_seconds,
        }
    }

    /// Seconds of a session.
    pub fn seconds(&self, takes: &Takes) -> f64 {
        let parts = [self.session_seconds, self.round_seconds, self.byte_seconds];
        dot(&parts, &features(takes))
    }
}

fn dot(a: &[f64; 3], b: &[f64; 3]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn error(parts: &[f64; 3], seen: &[Seen]) -> f64 {
    let of = |seen: &Seen| (dot(parts, &features(&seen.takes)) / seen.seconds - 1.0).powi(2);
    seen.iter().map(of).sum()
}

/// Least squares of the relative errors, with the chosen parts alone; nothing if what was seen does not tell them apart.
fn solve(chosen: &[usize], seen: &[Seen]) -> Option<Vec<f64>> {
    let rows: Vec<Vec<f64>> = seen
        .iter()
        .map(|seen| {
            let all = features(&seen.takes);
            chosen.iter().map(|&part| all[part] / seen.seconds).collect()
        })
        .collect();
    let n = chosen.len();
    // Columns of like size, so that one can tell what is nothing.
    let size = |part: usize| rows.iter().map(|row| row[part].powi(2)).sum::<f64>().sqrt();
    let sizes: Vec<f64> = (0..n).map(size).collect();
    let mut matrix = vec![vec![0.0; n + 1]; n];
    for row in &rows {
        for i in 0..n {
            for j in 0..n {
                matrix[i][j] += row[i] * row[j] / (sizes[i] * sizes[j]);
            }
            matrix[i][n] += row[i] / sizes[i];
        }
    }
    for i in 0..n {
        let pivot = (i..n).max_by(|&a, &b| matrix[a][i].abs().total_cmp(&matrix[b][i].abs()))?;
        matrix.swap(i, pivot);
        if matrix[i][i].abs() < 1e-9 {
            return None;
        }
        let top = matrix[i].clone();
        for (j, row) in matrix.iter_mut().enumerate() {
            if j != i {
                let factor = row[i] / top[i];
                row.iter_mut()
                    .zip(&top)
                    .for_each(|(cell, above)| *cell -= factor * above);
            }
        }
    }
    Some((0..n).map(|i| matrix[i][n] / matrix[i][i] / sizes[i]).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn takes(rounds: u64, bytes: u64) -> Takes {
        Takes {
            and_gates: 0,
            rounds,
            bytes,
        }
    }

    fn seen(model: &Model, sessions: &[(u64, u64)]) -> Vec<Seen> {
        let of = |&(rounds, bytes): &(u64, u64)| Seen {
            takes: takes(rounds, bytes),
            seconds: model.seconds(&takes(rounds, bytes)),
        };
        sessions.iter().map(of).collect()
    }

    #[test]
    fn a_model_is_found_again() {
        let model = Model {
            session_seconds: 0.02,
            round_seconds: 3e-5,
            byte_seconds: 8e-9,
        };
        let sessions = [
            (4400, 90_000_000),
            (900, 60_000),
            (1500, 9_000_000),
            (700, 20_000),
        ];
        let found = Model::fitted(&seen(&model, &sessions));
        for (found, right) in [
            (found.session_seconds, model.session_seconds),
            (found.round_seconds, model.round_seconds),
            (found.byte_seconds, model.byte_seconds),
        ] {
            assert!((found / right - 1.0).abs() < 1e-6, "{found} {right}");
        }
    }

    #[test]
    fn no_part_is_negative_and_none_is_made_up() {
        let model = Model {
            byte_seconds: 1e-8,
            ..Model::default()
        };
        let mut sessions = seen(&model, &[(10, 1_000_000), (1000, 2_000_000)]);
        sessions[1].seconds *= 0.9;
        let found = Model::fitted(&sessions);
        let parts = [found.session_seconds, found.round_seconds, found.byte_seconds];
        assert!(parts.iter().all(|&part| part >= 0.0), "{found:?}");
        // Sessions that are all equal do not tell the parts apart, and are still met.
        let found = Model::fitted(&seen(&model, &[(10, 1_000_000), (10, 1_000_000)]));
        assert!((found.seconds(&takes(10, 1_000_000)) - 0.01).abs() < 1e-9);
        assert_eq!(Model::fitted(&[]), Model::default());
    }
}
