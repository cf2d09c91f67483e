//! `cenote serve`, `cenote init`, `cenote invite` and `cenote join`.

use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::time::Duration;

use cenote::remote::load_identity;
use cenote::{Error, PartyConfig, Result, avoid_huge_pages, resolve};
use cenote_node::founding::{Founding, party_file};
use cenote_node::local::{self, Places};
use cenote_node::meeting::{self, Invitation, Inviter, Met};
use cenote_node::{Node, Settings};
use cenote_service::audit::Actor;
use cenote_service::live::Submission;
use cenote_service::{Live, SealedValues};
use cenote_web::{House, Options, Running};
use clap::Args;

use cenote_console::signals::{Word, words};
use cenote_console::{Command, Log, print};

/// How long the end waits for jobs that run, and for calls that are answered.
const LAST_WORDS: Duration = Duration::from_secs(5);

#[derive(Debug, Args)]
pub(crate) struct Serve {
    /// The party file
    #[arg(long, default_value = "party.toml", conflicts_with = "local")]
    config: PathBuf,
    /// Instead of one party, run 2 or 3 parties on this machine, with sample data
    #[arg(long, value_name = "PARTIES", value_parser = clap::value_parser!(u8).range(2..=3))]
    local: Option<u8>,
    /// With --local: keep the parties in this folder [default: a folder that is deleted at the end]
    #[arg(long, requires = "local")]
    folder: Option<PathBuf>,
    /// Do not serve: delete the results and this party's shares of kept values that are sealed under a lost results.key, and make a new key
    #[arg(long, conflicts_with = "local")]
    give_up_sealed: bool,
    /// Write the log as one JSON object a line
    #[arg(long)]
    json_log: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Init {
    /// The folder to make for the party
    folder: PathBuf,
    /// The party's name
    #[arg(long, default_value = "party-0")]
    name: String,
    /// The party's number; party 0 invites the others
    #[arg(long, default_value_t = 0)]
    party: u8,
    /// How many parties there are: 2 or 3
    #[arg(long, default_value_t = 3)]
    parties: u8,
}

#[derive(Debug, Args)]
pub(crate) struct Invite {
    /// The party's folder; it is made if it is missing
    folder: PathBuf,
    /// The address at which the others reach this party, host:port
    #[arg(long)]
    address: String,
    /// The party's name, if its folder is new
    #[arg(long, default_value = "party-0")]
    name: String,
    /// How many parties there are, if the folder is new: 2 or 3
    #[arg(long, default_value_t = 3)]
    parties: u8,
    /// Minutes to wait for the others
    #[arg(long, default_value_t = 60)]
    minutes: u64,
}

#[derive(Debug, Args)]
pub(crate) struct Join {
    /// The text that `cenote invite` printed at party 0; `-` reads it from standard input, where other users of this machine do not see it
    invitation: String,
    /// The party's folder; it is made if it is missing
    folder: PathBuf,
    /// The party's name
    #[arg(long)]
    name: Option<String>,
    /// The address at which parties with a higher number reach this one, host:port
    #[arg(long)]
    address: Option<String>,
}

fn refused(error: cenote_node::Error) -> Error {
    match error {
        cenote_node::Error::Cenote(error) => error,
        other => Error::Usage(other.to_string()),
    }
}

/// A service has hundreds of threads: with the memory of each in huge pages of its own, small jobs take half as much processor time again. What three
/// parties compute gains nothing by huge pages; two-party protocols with large pools do.
fn share_pages(parties: usize) {
    if parties > 2 {
        avoid_huge_pages();
    }
}

impl Command for Serve {
    fn run(&self, _: u8) -> Result<()> {
        let watch = || words().map_err(|source| Error::local("watching for signals", source));
        match self.local {
            None if self.give_up_sealed => give_up_sealed(&self.config),
            None => {
                let config = PartyConfig::load(&self.config)?;
                share_pages(1 + config.peers.len());
                let signals = watch()?;
                let house = Standing::start(&config, None)?;
                print(&house.greeting(&self.config))?;
                wait(&signals, std::slice::from_ref(&house));
                house.stop();
                Ok(())
            }
            Some(parties) => {
                share_pages(parties.into());
                serve_local(parties, self.folder.as_deref(), &watch()?)
            }
        }
    }

    /// What is told while it is up: of services for a look, what is wrong.
    fn log(&self) -> Log {
        match (self.json_log, self.local) {
            (true, _) => Log::Json,
            (false, None) => Log::Words,
            (false, Some(_)) => Log::Warnings,
        }
    }
}

fn give_up_sealed(config: &Path) -> Result<()> {
    let config = PartyConfig::load(config)?;
    let settings = Settings::of(&config, load_identity(&config.identity)?).map_err(refused)?;
    let SealedValues { results, kept } = Node::give_up_sealed(&settings).map_err(refused)?;
    print(&format!(
        "deleted {results} results and {kept} shares of kept values, and made a new key\nThe service can be started again. Other parties still list the kept values, \
         which no job can take any more: tell their operators.\n"
    ))
}

/// A party's service with its page.
struct Standing {
    node: Arc<Node>,
    page: Running,
    name: String,
}

impl Standing {
    /// Its addresses may be held for it.
    fn start(config: &PartyConfig, held: Option<Places>) -> Result<Self> {
        let (peers, page) = held.map(|held| (held.peers, held.page)).unzip();
        let node = Arc::new(Node::of(config, peers).map_err(refused)?);
        let about = node.about();
        let service = config.service.as_ref();
        let http = service.map_or("127.0.0.1:0", |service| &service.http);
        let listen = resolve(http).map_err(|error| Error::Usage(format!("http address {http}: {error}")))?;
        let tls = if listen.ip().is_loopback() {
            None
        } else {
            Some(load_identity(&config.identity)?)
        };
        let house = House {
            live: Arc::clone(&node) as Arc<dyn Live>,
            jobs: node.jobs().clone(),
            database: node.database().clone(),
        };
        let options = Options {
            listen: Some(listen),
            held: page,
            tls,
            names: service.map_or_else(Vec::new, |service| service.http_names.clone()),
            ..Options::default()
        };
        let page = cenote_web::start(options, house).map_err(|error| Error::Usage(error.to_string()))?;
        let name = about
            .parties
            .get(usize::from(about.party))
            .cloned()
            .unwrap_or_default();
        Ok(Standing { node, page, name })
    }

    /// Where its page is. Only on a terminal does the address open it: logs keep what a process prints, and have other readers.
    fn greeting(&self, config: &Path) -> String {
        let link = std::io::stdout()
            .is_terminal()
            .then(|| self.page.login().ok())
            .flatten();
        let place = match &link {
            Some(link) => link.to_string(),
            None => format!(
                "{}  (to open it: cenote token login --config {})",
                self.page.url(),
                config.display()
            ),
        };
        format!("party {} ({})  {place}\n", self.node.about().party, self.name)
    }

    fn stop(self) {
        self.page.shut_down(LAST_WORDS);
        self.node.stop(LAST_WORDS);
    }
}

/// Waits for a signal that ends the services; others make them read their policies and catalogues again.
fn wait(signals: &Receiver<Word>, services: &[Standing]) {
    while let Ok(Word::Again) = signals.recv() {
        for service in services {
            if let Err(error) = service.node.reload_policy() {
                eprintln!("the policy of {} stays as it was: {error}", service.name);
            }
            if let Err(error) = service.node.reload_catalogue() {
                eprintln!("the catalogue of {} stays as it was: {error}", service.name);
            }
        }
    }
    eprintln!("ending in order; a second signal ends at once");
}

fn serve_local(parties: u8, folder: Option<&Path>, signals: &Receiver<Word>) -> Result<()> {
    let place;
    let folder = match folder {
        Some(folder) => folder,
        None => {
            place = tempfile::tempdir().map_err(|source| Error::local("making a folder", source))?;
            place.path()
        }
    };
    let made = local::make(folder, parties).map_err(refused)?;
    let is_new = !made.places.is_empty();
    let mut services = Vec::new();
    let mut text = format!("{parties} parties on this machine, in {}\n\n", folder.display());
    let mut places = made.places.into_iter();
    for file in &made.files {
        let service = Standing::start(&PartyConfig::load(file)?, places.next())?;
        text += &service.greeting(file);
        services.push(service);
    }
    text += "\nAn address that opens a page does so once, within ten minutes.\n";
    if let Some(first) = services.first().filter(|_| is_new) {
        let id = propose_sample(&first.node, &made.job)?;
        text += &format!(
            "\nA query over the banks of all parties waits for their approval, on each page under Jobs, or here:\n\n  {}\n",
            approvals(&id, &made.files)
        );
    }
    text += "\nCtrl-C ends all.\n";
    print(&text)?;
    wait(signals, &services);
    services.into_iter().for_each(Standing::stop);
    Ok(())
}

/// Proposes the sample job, a day before it must be done. Gives its name.
fn propose_sample(node: &Node, job: &Path) -> Result<String> {
    let text = std::fs::read_to_string(job).map_err(|source| Error::local("reading the sample", source))?;
    let submission = Submission {
        job: text,
        files: BTreeMap::new(),
        within: Some(24 * 3600),
        idempotency_key: "sample".into(),
        approval: None,
    };
    let proposed = node.submit(submission, Actor::Service);
    let proposed = proposed.map_err(|error| Error::Usage(error.to_string()))?;
    Ok(proposed.proposal.id.to_string())
}

/// The commands by which all parties approve a job.
fn approvals(id: &str, files: &[PathBuf]) -> String {
    let short = id.get(..8).unwrap_or(id);
    let commands = files
        .iter()
        .map(|file| format!("cenote job approve {short} --config {}", file.display()));
    commands.collect::<Vec<_>>().join("\n  ")
}

impl Command for Init {
    fn run(&self, _: u8) -> Result<()> {
        let founding = Founding {
            name: self.name.clone(),
            party: self.party,
            parties: self.parties,
        };
        let identity = founding.make(&self.folder).map_err(refused)?;
        let next = match self.party {
            0 => format!(
                "Next, invite the others:  cenote invite {} --address HOST:PORT",
                self.folder.display()
            ),
            _ => format!(
                "Next, with the invitation of party 0:  cenote join INVITATION {}",
                self.folder.display()
            ),
        };
        print(&format!(
            "made party {} ({}) in {}: its key, a folder for its data, and a policy that leaves everything to persons\n\
             fingerprint  {}\n\n{next}\n",
            self.party,
            self.name,
            self.folder.display(),
            identity.fingerprint()
        ))
    }
}

impl Command for Invite {
    fn run(&self, _: u8) -> Result<()> {
        if Founding::load(&self.folder).map_err(refused)?.is_none() {
            let founding = Founding {
                name: self.name.clone(),
                party: 0,
                parties: self.parties,
            };
            founding.make(&self.folder).map_err(refused)?;
        }
        let inviter = Inviter::new(&self.folder, &self.address).map_err(refused)?;
        let mut text = String::from(
            "Send each other party its invitation over a private channel; it can be used once. On a machine with other users, `cenote join -` \
             reads it from standard input.\n",
        );
        for invitation in inviter.invitations() {
            let address = match invitation.party + 1 < invitation.parties {
                true => " --address HOST:PORT",
                false => "",
            };
            text += &format!(
                "\nparty {}:\n\n  cenote join {} FOLDER --name NAME{address}\n",
                invitation.party,
                invitation.text()
            );
        }
        print(&format!("{text}\nwaiting for them to join …\n"))?;
        let limit = Duration::from_secs(self.minutes.saturating_mul(60));
        let met = inviter
            .wait(limit, |name| eprintln!("{name} is there"))
            .map_err(refused)?;
        print(&told(&met))
    }

    fn log(&self) -> Log {
        Log::Warnings
    }
}

impl Command for Join {
    fn run(&self, _: u8) -> Result<()> {
        let invitation = match self.invitation.as_str() {
            "-" => Invitation::read(std::io::stdin().lock()).map_err(refused)?,
            text => text
                .parse()
                .map_err(|error: meeting::NoInvitation| Error::Usage(error.to_string()))?,
        };
        let name = self
            .name
            .clone()
            .unwrap_or_else(|| format!("party-{}", invitation.party));
        let met =
            meeting::join(&invitation, &self.folder, &name, self.address.as_deref()).map_err(refused)?;
        print(&told(&met))
    }
}

fn told(met: &Met) -> String {
    format!(
        "all are there: {}\n\n  code  {}\n\nRead it aloud to each other. If it is not the same at all parties, somebody stands between you: delete the \
         folders, and begin anew.\nIf it is:  cenote serve --config {}\n",
        met.names.join(", "),
        met.code,
        party_file(met.file.parent().unwrap_or(Path::new("."))).display()
    )
}
