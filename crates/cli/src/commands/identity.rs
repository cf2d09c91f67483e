//! `cenote identity`

use cenote::remote::load_identity;
use cenote::{Error, Identity, PartyConfig, PartyId, Result};

use crate::args;
use crate::console::print;

pub(crate) fn run(command: &args::Identity) -> Result<()> {
    match command {
        args::Identity::New { file, party, parties } => {
            if party >= parties {
                let what = format!("there is no party {party} of {parties}: parties are counted from 0");
                return Err(Error::Usage(what));
            }
            let identity = Identity::generate()?;
            identity
                .save(file)
                .map_err(|error| Error::Usage(format!("{error}; choose another --file")))?;
            let me = PartyId(*party);
            print(&format!(
                "wrote the private key to {}: it stays on this machine\n\n\
                 Send this to {} over a channel you trust:\n\n\
                 {me}: {}\n\n\
                 A party file to start from:\n\n{}",
                file.display(),
                if *parties == 2 {
                    "the other party"
                } else {
                    "the other two parties"
                },
                identity.fingerprint(),
                PartyConfig::template(me, *parties, file)
            ))
        }
        args::Identity::Show { file } => print(&format!("{}\n", load_identity(file)?.fingerprint())),
    }
}
