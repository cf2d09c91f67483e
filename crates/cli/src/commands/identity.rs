//! `cenote identity`

use cenote::remote::load_identity;
use cenote::{Error, Identity, PartyConfig, PartyId, Result};

use crate::args;
use cenote_console::{Command, print};

impl Command for args::Identity {
    fn run(&self, _: u8) -> Result<()> {
        match self {
            args::Identity::New {
                file,
                party,
                parties,
                config,
            } => {
                if let Some(party) = party
                    && party >= parties
                {
                    let what = format!("there is no party {party} of {parties}: parties are counted from 0");
                    return Err(Error::Usage(what));
                }
                // A key without the party file that was asked for would be in the way of the next try.
                if party.is_some() && config.symlink_metadata().is_ok() {
                    let what = format!("{} is there already; choose another --config", config.display());
                    return Err(Error::Usage(what));
                }
                let identity = Identity::generate()?;
                identity
                    .save(file)
                    .map_err(|error| Error::Usage(format!("{error}; choose another --file")))?;
                let mut text = format!(
                    "wrote the private key to {}: it stays on this machine\n",
                    file.display()
                );
                if let Some(party) = party {
                    PartyConfig::write_template(PartyId(*party), *parties, file, config)?;
                    text += &format!(
                        "wrote {}: fill in what it says about the peers\n",
                        config.display()
                    );
                }
                let peers = match parties {
                    2 => "the other party",
                    _ => "the other parties",
                };
                let fingerprint = identity.fingerprint();
                print(&format!(
                    "{text}\nSend this fingerprint to {peers} over a channel you trust:\n\n{fingerprint}\n"
                ))
            }
            args::Identity::Show { file } => print(&format!("{}\n", load_identity(file)?.fingerprint())),
        }
    }
}
