//! `cenote stock`

use std::io::{BufRead, IsTerminal, Read};
use std::time::{SystemTime, UNIX_EPOCH};

use cenote::stock::{
    Amount, Inventory, Store, StoredEpoch, StoredLot, Unusable, Which, choose, make, make_material,
    on_one_word, open, remove,
};
use cenote::{Job, Lego, PartyConfig, Result};
use serde::Serialize;

use crate::args;
use crate::console::{Progress, print, print_json};

#[derive(Serialize)]
struct Made {
    epoch: String,
    batches: u64,
    and_gates: u64,
    seconds: f64,
    bytes_sent: u64,
}

#[derive(Serialize)]
struct MadeLot {
    lot: String,
    and_gates: u64,
    seconds: f64,
    bytes_sent: u64,
}

#[derive(Serialize)]
struct Shown {
    party: u8,
    folder: String,
    epochs: Vec<Epoch>,
    unusable: Vec<Broken>,
    lots: Vec<Lot>,
}

/// Material of two parties.
#[derive(Serialize)]
struct Lot {
    lot: String,
    /// Milliseconds since 1970.
    made: u64,
    role: &'static str,
    security: u32,
    and_gates: u64,
    garbler_inputs: u64,
    evaluator_inputs: u64,
    garbler_outputs: u64,
    evaluator_outputs: u64,
    circuit_inputs: u64,
    /// The parties that did not have it when a job last compared.
    lacked_by: Vec<u8>,
}

#[derive(Serialize)]
struct Epoch {
    epoch: String,
    /// Milliseconds since 1970.
    made: u64,
    parameters: String,
    batches: usize,
    and_gates: u64,
    /// The parties that did not have it when a job last compared.
    lacked_by: Vec<u8>,
}

#[derive(Serialize)]
struct Broken {
    epoch: String,
    why: String,
}

pub(crate) fn run(command: &args::Stock) -> Result<()> {
    match command {
        args::Stock::Make {
            config,
            job,
            amount,
            json,
        } => {
            let (mut config, job) = (PartyConfig::load(config)?, Job::load(job)?);
            if job.protocol().settings::<Lego>().is_some() {
                return make_lot(config, &job, amount.into(), *json);
            }
            let progress = Progress::start("making triples");
            config.on_wait = progress.on_wait();
            let report = make(&config, &job, amount.into(), &mut |done, total| {
                progress.set(done, total)
            })?;
            drop(progress);
            let made = Made {
                epoch: report.epoch.to_string(),
                batches: report.batches,
                and_gates: report.gates,
                seconds: report.time.as_secs_f64(),
                bytes_sent: report.traffic.bytes_sent,
            };
            if *json {
                return print_json(&made);
            }
            print(&format!(
                "epoch           {}\nbatches         {}\nAND gates       {}\nseconds         {:.3}\nbytes sent      {}\n",
                made.epoch, made.batches, made.and_gates, made.seconds, made.bytes_sent
            ))
        }
        args::Stock::Show { config, json } => {
            let config = PartyConfig::load(config)?;
            let folder = open(&config)?;
            tell(&shown(&config, &folder, &folder.inventory()?), "in stock", *json)
        }
        args::Stock::Drop {
            config,
            which,
            yes,
            json,
        } => {
            let config = PartyConfig::load(config)?;
            let folder = open(&config)?;
            let which = which.into();
            let mut items = choose(&folder, &which)?;
            if which == Which::Orphans && !yes {
                let doubtful = on_one_word(&mut items);
                if !doubtful.items.is_empty() {
                    let shown = shown(&config, &folder, &doubtful);
                    eprint!("{}", table(&shown, "lacking by one peer's word only"));
                    if confirmed()? {
                        items.items.extend(doubtful.items);
                    } else {
                        eprintln!("left alone; --yes removes it, too");
                    }
                }
            }
            remove(&folder, &items)?;
            tell(&shown(&config, &folder, &items), "removed", *json)
        }
    }
}

/// Whether someone at a terminal wants it, too.
fn confirmed() -> Result<bool> {
    let input = std::io::stdin();
    if !input.is_terminal() {
        return Ok(false);
    }
    eprint!("that peer may be wrong, or lying; remove it all the same? [y/N] ");
    let mut answer = String::new();
    let read = input.lock().take(80).read_line(&mut answer);
    Ok(read.is_ok() && ["y", "yes"].contains(&answer.trim()))
}

/// Makes material of two parties.
fn make_lot(mut config: PartyConfig, job: &Job, amount: Amount, json: bool) -> Result<()> {
    let progress = Progress::start("making material");
    config.on_wait = progress.on_wait();
    let made = make_material(&config, job, amount, &mut |done, total| progress.set(done, total))?;
    drop(progress);
    let told = MadeLot {
        lot: made.lot.id.to_string(),
        and_gates: made.order.ands,
        seconds: made.lot.time.as_secs_f64(),
        bytes_sent: made.lot.traffic.bytes_sent,
    };
    if json {
        return print_json(&told);
    }
    print(&format!(
        "lot             {}\nmaterial        {}\nseconds         {:.3}\nbytes sent      {}\n",
        told.lot, made.order, told.seconds, told.bytes_sent
    ))
}

fn shown(config: &PartyConfig, folder: &Store, inventory: &Inventory) -> Shown {
    let epochs = inventory.items.iter().filter_map(StoredEpoch::of);
    let lots = inventory.items.iter().filter_map(StoredLot::of);
    Shown {
        party: config.me.0,
        folder: folder.path().display().to_string(),
        epochs: epochs.map(|epoch| Epoch::from(&epoch)).collect(),
        unusable: inventory.unusable.iter().map(Broken::from).collect(),
        lots: lots.map(|lot| Lot::from(&lot)).collect(),
    }
}

fn tell(shown: &Shown, how: &str, json: bool) -> Result<()> {
    if json {
        print_json(shown)
    } else {
        print(&table(shown, how))
    }
}

impl From<&args::Which> for Which {
    fn from(which: &args::Which) -> Self {
        match which {
            args::Which { all: true, .. } => Which::All,
            args::Which { orphans: true, .. } => Which::Orphans,
            args::Which { epochs, .. } => Which::Named(epochs.clone()),
        }
    }
}

impl From<&Unusable> for Broken {
    fn from(unusable: &Unusable) -> Self {
        Broken {
            epoch: unusable.id.to_string(),
            why: unusable.why.clone(),
        }
    }
}

impl From<&args::Amount> for Amount {
    fn from(amount: &args::Amount) -> Self {
        match (amount.batches, amount.and_gates) {
            (Some(batches), _) => Amount::Batches(batches),
            (None, Some(gates)) => Amount::AndGates(gates),
            (None, None) => Amount::Runs(amount.runs.unwrap_or(1)),
        }
    }
}

impl From<&StoredEpoch> for Epoch {
    fn from(epoch: &StoredEpoch) -> Self {
        Epoch {
            epoch: epoch.id.to_string(),
            made: epoch.made,
            parameters: epoch.settings.clone(),
            batches: epoch.batches.len(),
            and_gates: epoch.gates_per_batch.saturating_mul(epoch.batches.len() as u64),
            lacked_by: epoch.lacked_by.iter().map(|party| party.0).collect(),
        }
    }
}

impl From<&StoredLot> for Lot {
    fn from(lot: &StoredLot) -> Self {
        Lot {
            lot: lot.id.to_string(),
            made: lot.made,
            role: if lot.garbler { "garbler" } else { "evaluator" },
            security: lot.security,
            and_gates: lot.left.ands,
            garbler_inputs: lot.left.garbler_inputs,
            evaluator_inputs: lot.left.evaluator_inputs,
            garbler_outputs: lot.left.anchors,
            evaluator_outputs: lot.left.masks,
            circuit_inputs: lot.left.ports,
            lacked_by: lot.lacked_by.iter().map(|party| party.0).collect(),
        }
    }
}

fn table(shown: &Shown, how: &str) -> String {
    if shown.epochs.is_empty() && shown.unusable.is_empty() && shown.lots.is_empty() {
        return format!("nothing {how} in {}\n", shown.folder);
    }
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let mut text = String::new();
    if !shown.epochs.is_empty() {
        text = format!(
            "{:<14} {:>14} {:>8} {:>16}  parameters\n",
            "epoch", "made", "batches", "AND gates"
        );
    }
    for epoch in &shown.epochs {
        let age = (now.as_millis() as u64).saturating_sub(epoch.made) / 1000;
        text.push_str(&format!(
            "{:<14} {:>14} {:>8} {:>16}  {}{}\n",
            &epoch.epoch[..12],
            ago(age),
            epoch.batches,
            epoch.and_gates,
            epoch.parameters,
            lacking(&epoch.lacked_by)
        ));
    }
    for broken in &shown.unusable {
        text.push_str(&format!(
            "{:<14} cannot be used: {}\n",
            &broken.epoch[..12],
            broken.why
        ));
    }
    if !shown.lots.is_empty() {
        text.push_str(&format!(
            "{:<14} {:>14} {:>10} {:>9} {:>14}  bits\n",
            "lot", "made", "as", "security", "AND gates"
        ));
    }
    for lot in &shown.lots {
        let age = (now.as_millis() as u64).saturating_sub(lot.made) / 1000;
        text.push_str(&format!(
            "{:<14} {:>14} {:>10} {:>9} {:>14}  {} garbler inputs, {} evaluator inputs, {} garbler outputs, \
             {} evaluator outputs, {} circuit inputs{}\n",
            &lot.lot[..12],
            ago(age),
            lot.role,
            lot.security,
            lot.and_gates,
            lot.garbler_inputs,
            lot.evaluator_inputs,
            lot.garbler_outputs,
            lot.evaluator_outputs,
            lot.circuit_inputs,
            lacking(&lot.lacked_by)
        ));
    }
    text.push_str(&format!("{how} in {}\n", shown.folder));
    text
}

/// What to add where a job cannot use something.
fn lacking(parties: &[u8]) -> String {
    let parties: Vec<String> = parties.iter().map(u8::to_string).collect();
    match parties.as_slice() {
        [] => String::new(),
        parties => format!(
            "; of no use: party {} did not have it",
            parties.join(" and party ")
        ),
    }
}

fn ago(seconds: u64) -> String {
    match seconds {
        0..=119 => format!("{seconds} s ago"),
        120..=7_199 => format!("{} min ago", seconds / 60),
        7_200..=172_799 => format!("{} h ago", seconds / 3_600),
        _ => format!("{} days ago", seconds / 86_400),
    }
}
