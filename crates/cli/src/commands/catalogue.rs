//! `cenote catalogue`

use std::path::PathBuf;

use cenote::catalogue::suggest;
use cenote::{Error, Result};
use cenote_api::view::{Catalogue as Known, CatalogueParty, CatalogueTable, Compose, Composed};
use clap::Subcommand;

use cenote_console::args::Form;
use cenote_console::service::{Reach, printable};
use cenote_console::{Command, print};

#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Catalogue {
    #[command(flatten)]
    reach: Reach,
    #[command(flatten)]
    form: Form,
    #[command(subcommand)]
    what: Option<What>,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Print a draft of catalogue.toml for tables in CSV or Parquet files; read and edit it before you publish it
    Suggest {
        /// The files
        #[arg(required = true)]
        files: Vec<PathBuf>,
    },
    /// Print the job file of a query, with the published declarations of the tables that it names
    Compose(Box<Query>),
}

#[derive(Debug, clap::Args)]
struct Query {
    #[command(flatten)]
    reach: Reach,
    /// The query; a table that several parties publish has its party's name before its own, as in north.orders
    sql: String,
    /// The name of a party that learns the answer; give it again for more
    #[arg(long, value_name = "PARTY", required = true)]
    to: Vec<String>,
    /// The protocol [default: the usual one for as many parties as take part]
    #[arg(long)]
    protocol: Option<String>,
    /// What the job is for; it stands before the job as a comment
    #[arg(long, value_name = "TEXT")]
    name: Option<String>,
    /// Leave groups of fewer rows out of the answer [default: as the rules of the tables want it]
    #[arg(long, value_name = "ROWS")]
    min_group: Option<u64>,
    /// The most rows that the answer may have [default: all parties learn how many it has]
    #[arg(long, value_name = "ROWS")]
    max_rows: Option<u64>,
}

impl Command for Catalogue {
    fn run(&self, _: u8) -> Result<()> {
        match &self.what {
            None => {
                let known: Known = self.reach.open()?.get("/api/v1/catalogue")?;
                self.form.print(&known, || text(&known))
            }
            Some(What::Suggest { files }) => print(&draft(files)?),
            Some(What::Compose(query)) => {
                let wanted = Compose {
                    sql: query.sql.clone(),
                    receivers: query.to.clone(),
                    protocol: query.protocol.clone(),
                    name: query.name.clone(),
                    min_group: query.min_group,
                    max_rows: query.max_rows,
                    deadline_seconds: None,
                };
                let made: Composed = query.reach.open()?.post("/api/v1/compose", &wanted)?;
                print(&made.job)
            }
        }
    }

    fn json(&self) -> bool {
        self.what.is_none() && self.form.json
    }
}

/// What a person is to read before it is published.
const ADVICE: &str = "# A draft. Types and the numbers of rows come from the data, and so tell something of it: read and change all of this before you save it\n\
                      # as catalogue.toml. Leave out columns that nobody should ask for, and name in `to` the parties that may know of a table.\n";

fn draft(files: &[PathBuf]) -> Result<String> {
    let mut text = String::from(ADVICE);
    for file in files {
        if file.to_str().is_none() {
            return Err(Error::Usage(format!(
                "{} has a name that is not UTF-8; rename it",
                file.display()
            )));
        }
        text += "\n";
        text += &suggest(file)?;
    }
    Ok(text)
}

/// All that is known. What other parties wrote is shown without what would drive a terminal.
fn text(known: &Known) -> String {
    let parties: Vec<String> = known.parties.iter().map(party).collect();
    parties.join("\n")
}

fn party(party: &CatalogueParty) -> String {
    let you = if party.own { " (this party)" } else { "" };
    let mut text = format!("{} {}{you}: ", party.party, printable(&party.name));
    text += &match (party.at, party.own) {
        (None, true) => "publishes nothing; catalogue.toml says what is published\n".to_owned(),
        (None, false) => "has published nothing to this party\n".to_owned(),
        (Some(at), _) => {
            let away = if party.connected {
                ""
            } else {
                "; it is not connected"
            };
            let digest = party.digest.get(..16).unwrap_or(&party.digest);
            format!("version {}, digest {digest}…, as of {at}{away}\n", party.version)
        }
    };
    for one in &party.tables {
        text += &table(one, party.own);
    }
    text
}

fn table(one: &CatalogueTable, own: bool) -> String {
    let words = |words: &[String]| printable(&words.join("; "));
    let mut text = format!("  {}, at most {} rows", printable(&one.name), one.max_rows);
    if !one.promises.is_empty() {
        text += &format!("; {}", words(&one.promises));
    }
    text += "\n";
    if own {
        let to = match one.to.is_empty() {
            true => "nobody".to_owned(),
            false => printable(&one.to.join(", ")),
        };
        let data = printable(one.data.as_deref().unwrap_or_default());
        text += &format!("    data {data}, published to {to}\n");
    }
    let width = one
        .columns
        .iter()
        .map(|column| column.name.chars().count())
        .max()
        .unwrap_or(0);
    for column in &one.columns {
        let promises = match column.promises.is_empty() {
            true => String::new(),
            false => format!("  ({})", words(&column.promises)),
        };
        text += &format!(
            "    {:width$}  {}{promises}\n",
            printable(&column.name),
            printable(&column.kind)
        );
    }
    text + &format!("    rules: {}\n", words(&one.rules))
}
