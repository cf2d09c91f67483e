//! `cenote stock`

use std::io::{BufRead, IsTerminal, Read};
use std::time::{SystemTime, UNIX_EPOCH};

use cenote::stock::{
    Amount, Facts, Inventory, Made, Store, Stored, Unusable, Which, choose, describe, items, make,
    on_one_word, open, remove, shelves_of,
};
use cenote::{Job, PartyConfig, Result};
use serde_json::{Map, Value, json};

use crate::args;
use cenote_console::{Command, Log, Progress, print, print_json};

/// Characters of a name that tables show.
const SHORT: usize = 12;

impl Command for args::Stock {
    fn run(&self, _: u8) -> Result<()> {
        match self {
            args::Stock::Make {
                config,
                job,
                amount,
                form,
            } => {
                let (mut config, job) = (PartyConfig::load(config)?, Job::load(job)?);
                let item = job.protocol().item()?;
                let progress = Progress::start("making material");
                config.on_wait = progress.on_wait();
                let made = make(&config, &job, amount.into(), &mut |done, total| {
                    progress.set(done, total)
                })?;
                drop(progress);
                form.print(&in_json(item, &made), || in_text(item, &made))
            }
            args::Stock::Show { config, form } => {
                let config = PartyConfig::load(config)?;
                show(&config, form.json)
            }
            args::Stock::Drop {
                config,
                which,
                yes,
                form,
            } => {
                let config = PartyConfig::load(config)?;
                let folder = open(&config)?;
                let which = which.into();
                let mut items = choose(&folder, &which)?;
                if which == Which::Orphans && !yes {
                    let doubtful = on_one_word(&mut items);
                    if !doubtful.items.is_empty() {
                        eprint!("{}", table(&folder, &doubtful, "lacking by one peer's word only"));
                        if confirmed()? {
                            items.items.extend(doubtful.items);
                        } else {
                            eprintln!("left alone; --yes removes it, too");
                        }
                    }
                }
                remove(&folder, &items)?;
                form.print(&fields(&config, &folder, &items), || {
                    table(&folder, &items, "removed")
                })
            }
        }
    }

    fn json(&self) -> bool {
        match self {
            args::Stock::Make { form, .. }
            | args::Stock::Show { form, .. }
            | args::Stock::Drop { form, .. } => form.json,
        }
    }

    fn meets_peers(&self) -> bool {
        matches!(self, args::Stock::Make { .. })
    }

    fn log(&self) -> Log {
        Log::Warnings
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

fn in_json(item: &str, made: &Made) -> Value {
    let mut fields = Map::new();
    fields.insert(item.into(), made.item.to_string().into());
    fields.extend(
        made.material
            .iter()
            .map(|(what, count)| (key(what), (*count).into())),
    );
    fields.insert("seconds".into(), made.time.as_secs_f64().into());
    fields.insert("bytes_sent".into(), made.traffic.bytes_sent.into());
    fields.into()
}

fn in_text(item: &str, made: &Made) -> String {
    let mut rows = vec![(item, made.item.to_string())];
    rows.extend(
        made.material
            .iter()
            .map(|(what, count)| (*what, count.to_string())),
    );
    rows.push(("seconds", format!("{:.3}", made.time.as_secs_f64())));
    rows.push(("bytes sent", made.traffic.bytes_sent.to_string()));
    let width = rows
        .iter()
        .map(|(name, _)| name.len() + 1)
        .max()
        .unwrap_or(0)
        .max(16);
    let row = |(name, value): (&str, String)| format!("{name:<width$}{value}\n");
    rows.into_iter().map(row).collect()
}

/// What machines call what people call `name`.
fn key(name: &str) -> String {
    name.to_lowercase().replace(' ', "_")
}

/// An item as it is shown.
struct Shown<'a> {
    /// What its protocol calls it.
    item: &'static str,
    stored: &'a Stored,
    facts: Facts,
}

impl<'a> Shown<'a> {
    fn all(inventory: &'a Inventory) -> Vec<Self> {
        let shown = |stored| {
            let (item, facts) = describe(stored)?;
            Some(Shown { item, stored, facts })
        };
        inventory.items.iter().filter_map(shown).collect()
    }

    fn in_json(&self) -> Value {
        let Stored { item, lacked_by, .. } = self.stored;
        let lacked_by: Vec<u8> = lacked_by.iter().map(|party| party.0).collect();
        let mut fields = Map::new();
        fields.insert(self.item.into(), item.id.to_string().into());
        // Milliseconds since 1970.
        fields.insert("made".into(), item.made.into());
        fields.extend(self.facts.iter().map(|(name, value)| (key(name), value.clone())));
        fields.insert("lacked_by".into(), lacked_by.into());
        fields.into()
    }

    fn cells(&self) -> Vec<String> {
        let id = self.stored.item.id.to_string();
        let facts = self.facts.iter().map(|(_, value)| match value {
            Value::String(text) => text.clone(),
            value => value.to_string(),
        });
        [id[..SHORT].to_owned(), ago(self.stored.item.made)]
            .into_iter()
            .chain(facts)
            .collect()
    }

    fn headings(&self) -> Vec<&'static str> {
        let facts = self.facts.iter().map(|(name, _)| *name);
        [self.item, "made"].into_iter().chain(facts).collect()
    }
}

/// Shows what is in the folder, and on the shelves of a service in it.
fn show(config: &PartyConfig, json: bool) -> Result<()> {
    let (folder, shelves) = (open(config)?, shelves_of(config)?);
    let inventory = folder.inventory()?;
    if json {
        let mut fields = fields(config, &folder, &inventory);
        let of_shelf = |(number, store): &(u8, Store)| {
            let mut shelf = self::fields(config, store, &store.inventory()?);
            shelf.insert("shelf".into(), (*number).into());
            Ok(shelf.into())
        };
        if !shelves.is_empty() {
            let shelves = shelves.iter().map(of_shelf).collect::<Result<Vec<Value>>>()?;
            fields.insert("shelves".into(), shelves.into());
        }
        return print_json(&fields);
    }
    let mut text = String::new();
    if shelves.is_empty() || !inventory.items.is_empty() || !inventory.unusable.is_empty() {
        text += &table(&folder, &inventory, "in stock");
    }
    for (_, store) in &shelves {
        text += &table(store, &store.inventory()?, "in stock");
    }
    print(&text)
}

fn fields(config: &PartyConfig, folder: &Store, inventory: &Inventory) -> Map<String, Value> {
    let shown = Shown::all(inventory);
    let unusable = inventory.unusable.iter();
    let unusable: Vec<Value> = unusable
        .map(|Unusable { id, why }| json!({ "item": id.to_string(), "why": why }))
        .collect();
    let mut fields = Map::new();
    fields.insert("party".into(), config.me.0.into());
    fields.insert("folder".into(), folder.path().display().to_string().into());
    fields.insert("unusable".into(), unusable.into());
    for item in items() {
        let of_item = shown.iter().filter(|shown| shown.item == item);
        let of_item: Vec<Value> = of_item.map(Shown::in_json).collect();
        fields.insert(format!("{item}s"), of_item.into());
    }
    fields
}

fn table(folder: &Store, inventory: &Inventory, how: &str) -> String {
    let (folder, shown) = (folder.path().display(), Shown::all(inventory));
    if shown.is_empty() && inventory.unusable.is_empty() {
        return format!("nothing {how} in {folder}\n");
    }
    let mut text = String::new();
    for item in items() {
        let mut of_item: Vec<_> = shown.iter().filter(|shown| shown.item == item).collect();
        of_item.sort_by_key(|shown| &shown.stored.item.protocol);
        for of_protocol in of_item.chunk_by(|one, other| one.headings() == other.headings()) {
            text.push_str(&rows(&of_protocol[0].headings(), of_protocol));
        }
    }
    for Unusable { id, why } in &inventory.unusable {
        text.push_str(&format!(
            "{:<14} cannot be used: {why}\n",
            &id.to_string()[..SHORT]
        ));
    }
    text + &format!("{how} in {folder}\n")
}

/// Items that have the same headings under them.
fn rows(headings: &[&str], items: &[&Shown<'_>]) -> String {
    let cells: Vec<Vec<String>> = items.iter().map(|item| item.cells()).collect();
    let line = |cells: &[&str], widths: &[usize]| -> String {
        let cell = |(at, (cell, width)): (usize, (&&str, &usize))| match at {
            0 => format!("{cell:<14}"),
            at if at + 1 == cells.len() => format!("  {cell}"),
            _ => format!(" {cell:>width$}"),
        };
        cells.iter().zip(widths).enumerate().map(cell).collect()
    };
    let width = |at: usize, heading: &str| {
        let cells = cells.iter().filter_map(|cells| cells.get(at)).map(String::len);
        cells.max().unwrap_or(0).max(heading.len()).max(10)
    };
    let widths: Vec<usize> = headings
        .iter()
        .enumerate()
        .map(|(at, heading)| width(at, heading))
        .collect();
    let mut text = line(headings, &widths) + "\n";
    for (item, cells) in items.iter().zip(&cells) {
        let cells: Vec<&str> = cells.iter().map(String::as_str).collect();
        text += &format!("{}{}\n", line(&cells, &widths), lacking(item.stored));
    }
    text
}

impl From<&args::Which> for Which {
    fn from(which: &args::Which) -> Self {
        match which {
            args::Which { all: true, .. } => Which::All,
            args::Which { orphans: true, .. } => Which::Orphans,
            args::Which { items, .. } => Which::Named(items.clone()),
        }
    }
}

impl From<&args::Amount> for Amount {
    fn from(amount: &args::Amount) -> Self {
        let stated = [
            amount.batches.map(Amount::Batches),
            amount.and_gates.map(Amount::AndGates),
            amount.circuits.map(Amount::Circuits),
        ];
        let stated = stated.into_iter().flatten().next();
        stated.unwrap_or(Amount::Runs(amount.runs.unwrap_or(1)))
    }
}

/// What to add where a job cannot use something.
fn lacking(stored: &Stored) -> String {
    let parties: Vec<String> = stored.lacked_by.iter().map(|party| party.0.to_string()).collect();
    match parties.as_slice() {
        [] => String::new(),
        parties => format!(
            "; of no use: party {} did not have it",
            parties.join(" and party ")
        ),
    }
}

/// How long ago `made` was, in milliseconds since 1970.
fn ago(made: u64) -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    match (now.as_millis() as u64).saturating_sub(made) / 1000 {
        seconds @ 0..=119 => format!("{seconds} s ago"),
        seconds @ 120..=7_199 => format!("{} min ago", seconds / 60),
        seconds @ 7_200..=172_799 => format!("{} h ago", seconds / 3_600),
        seconds => format!("{} days ago", seconds / 86_400),
    }
}
