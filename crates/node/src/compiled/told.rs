//! What a program computes and reveals, in words.

use cenote_service::live::Revealed;

use super::{Compiled, Work};

impl Compiled {
    /// What each output is, and who learns it: nobody of one that is kept.
    pub(crate) fn outputs(&self) -> Vec<Revealed> {
        match &self.work {
            Work::Circuit { job, program, .. } => {
                let lanes = program.lanes() as u64;
                let values = program.circuit().outputs().iter().zip(program.receivers());
                let opened = values.take(job.keeping().opened()).map(|(value, to)| Revealed {
                    name: value.name.clone(),
                    bits: value.width.into(),
                    values: lanes,
                    to: to.iter().map(|party| party.0).collect(),
                });
                let kept = job.keeping().keeps().iter().map(|keep| Revealed {
                    name: keep.output.clone(),
                    bits: keep.width.into(),
                    values: lanes,
                    to: Vec::new(),
                });
                opened.chain(kept).collect()
            }
            Work::Query(query) => {
                let most = query.job().query().answer_rows();
                let columns = query.job().query().fields().iter();
                columns
                    .map(|field| Revealed {
                        name: field.name.clone(),
                        bits: field.kind.width().into(),
                        values: most as u64,
                        to: self.receivers.clone(),
                    })
                    .collect()
            }
        }
    }

    /// In a few sentences: what is computed, and who learns what.
    pub(crate) fn summary(&self) -> String {
        let (ands, protocol) = (self.size.ands, self.protocol().describe());
        match &self.work {
            Work::Circuit {
                job,
                program,
                lanes: cut,
                ..
            } => {
                let lanes = match program.lanes() {
                    1 if job.calls().is_some() => "at each call".to_owned(),
                    lanes if job.calls().is_some() => format!("{lanes} times side by side at each call"),
                    1 => "once".to_owned(),
                    lanes => format!("{lanes} times side by side"),
                };
                let mut text = format!(
                    "The circuit {} is computed {lanes} ({ands} AND gates in all), with protocol {protocol}.",
                    program.name()
                );
                for taken in &self.takes {
                    text += &format!(" Its input {:?} is the kept value {:?}.", taken.input, taken.name);
                }
                for keep in &self.keeps {
                    text += &format!(
                        " Its output {:?} is kept as {:?} for {} days, and nobody learns it.",
                        keep.output, keep.name, keep.days
                    );
                }
                if let Some(calls) = job.calls() {
                    text += &format!(
                        " It stands: once all have approved, it is called up to {} times until its deadline, and nobody is asked again. Each call is made by {}, with inputs of \
                         its own; the inputs of the others stay the same. Any party can end it at any time.",
                        calls.most,
                        in_words(&calls.callers)
                    );
                }
                if let Some(cut) = cut {
                    text += &format!(" {}", cut.told());
                }
                text
            }
            Work::Query(query) => {
                let of_all = query.job().calls().map_or("", |_| " in all calls");
                let mut text = format!(
                    "The query {} is answered ({ands} AND gates{of_all}), with protocol {protocol}. {}",
                    query.job().text().trim(),
                    query.job().query().learnt().join(" ")
                );
                if let Some(calls) = query.job().calls() {
                    let parameters = query.job().parameters().iter();
                    let parameters: Vec<String> = parameters
                        .map(|parameter| format!(":{} ({})", parameter.name(), parameter.kind()))
                        .collect();
                    text += &format!(
                        " It stands: once all have approved, it is asked up to {} times until its deadline, and nobody is asked again. The tables stay the same.",
                        calls.most
                    );
                    if !parameters.is_empty() {
                        text += &format!(
                            " At each call {} gives the values of {}, which all parties learn, and different values tell more of the tables than one answer does.",
                            in_words(&calls.callers),
                            parameters.join(", ")
                        );
                    }
                    text += " Any party can end it at any time.";
                }
                if let Some(how) = query.in_shards() {
                    text += &format!(" {how}");
                }
                text
            }
        }
    }
}

/// Parties in words.
pub(crate) fn in_words(parties: &[u8]) -> String {
    let names: Vec<String> = parties.iter().map(|party| format!("party {party}")).collect();
    names.join(" and ")
}
