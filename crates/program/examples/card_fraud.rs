//! Two issuers find the cards on which more was spent than a limit, at both together.
//!
//! `cargo run --release --example card_fraud -- FIRST SECOND LIMIT` with a file for each issuer, one `card,amount` a line; without files, on
//! those in `examples/data`. Both issuers are threads of this process here; each reads its own file only.

use std::collections::BTreeMap;
use std::error::Error;
use std::path::{Path, PathBuf};

use cenote_lego::Lego;
use cenote_program::{apps, local};
use cenote_session::Demand;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/data");
    let (files, limit): ([PathBuf; 2], u64) = match &arguments[..] {
        [] => (["issuer-0.csv", "issuer-1.csv"].map(|name| data.join(name)), 5000),
        [first, second, limit] => ([first.into(), second.into()], limit.parse()?),
        _ => return Err("give two files and a limit, or nothing".into()),
    };
    let tables = [read(&files[0])?, read(&files[1])?];
    // How many cards a table has is told rounded up.
    let most = tables
        .iter()
        .map(|table| table.len().next_power_of_two())
        .max()
        .unwrap_or(1);
    let found = local::in_memory(&Lego::default(), &Demand::new(), |session| {
        let own = &tables[session.me().index()];
        apps::joint_spending(session, own, most, limit)
    })?;
    println!("cards with more than {limit} at both issuers together:");
    for (card, spent) in &found[0] {
        println!("{card:016x} {spent}");
    }
    Ok(())
}

/// What was spent with each card of a file.
fn read(path: &Path) -> Result<Vec<apps::Spent>, Box<dyn Error>> {
    let text = std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let mut spent = BTreeMap::new();
    for (number, line) in (1..).zip(text.lines()) {
        let wrong = || format!("{}, line {number}: a line is card,amount", path.display());
        let (card, amount) = line.split_once(',').ok_or_else(wrong)?;
        let card = u64::from_str_radix(card.trim(), 16).map_err(|_| wrong())?;
        let amount: u64 = amount.trim().parse().map_err(|_| wrong())?;
        *spent.entry(card).or_insert(0) += amount;
    }
    Ok(spent.into_iter().collect())
}
