//! All parties on one machine, with sample data: how a newcomer meets a service.

use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};

use cenote::{Bundle, Protocol, ServiceConfig};
use cenote_service::job::Digest;

use crate::Error;
use crate::founding::{Founding, Member, party_file};

/// What was made, or was there.
#[derive(Debug)]
pub struct Made {
    /// The party files, in order.
    pub files: Vec<PathBuf>,
    /// A job that all policies approve.
    pub job: PathBuf,
    /// Where each party listens, so that nobody else does before it; nothing if the parties were there.
    pub places: Vec<Places>,
}

/// Where a party listens.
#[derive(Debug)]
pub struct Places {
    /// Where its peers connect to.
    pub peers: TcpListener,
    /// For those who open its page.
    pub page: TcpListener,
}

/// The names of the parties.
const NAMES: [&str; 3] = ["anna", "bert", "cleo"];

/// Makes so many parties in `folder`, each in a folder of its own, with sample data and a policy that approves the sample job, as far as
/// they are not there.
///
/// # Errors
/// What the system says.
pub fn make(folder: &Path, parties: u8) -> Result<Made, Error> {
    let fault = |error: std::io::Error| Error::Machine(format!("{}: {error}", folder.display()));
    let home = |party: u8| folder.join(NAMES[usize::from(party) % NAMES.len()]);
    let mut made = Made {
        files: (0..parties).map(|party| party_file(&home(party))).collect(),
        job: folder.join("sample.toml"),
        places: Vec::new(),
    };
    if made.files.iter().all(|file| file.exists()) {
        return Ok(made);
    }
    fs::create_dir_all(folder).map_err(fault)?;
    let job = sample(parties);
    let bundle = Bundle {
        job: job.clone(),
        files: Default::default(),
    };
    let digest = Digest::of(bundle.text()?.as_bytes());
    fs::write(&made.job, &job).map_err(fault)?;
    let mut members = Vec::new();
    for party in 0..parties {
        let founding = Founding {
            name: NAMES[usize::from(party) % NAMES.len()].into(),
            party,
            parties,
        };
        let identity = founding.make(&home(party))?;
        let (listener, address) = free(0).map_err(fault)?;
        let member = Member {
            name: founding.name.clone(),
            address: Some(address),
            fingerprint: identity.fingerprint(),
        };
        members.push(((founding, listener), member));
        let policy = format!(
            "# Which proposals are approved without a person.\notherwise = \"ask\"\n\n[[rule]]\nname = \"sample\"\nprograms = [\"{digest}\"]\n\
             then = \"approve\"\n"
        );
        fs::write(home(party).join("policy.toml"), policy).map_err(fault)?;
        for (input, value) in [("x.txt", "20\n"), ("y.txt", "22\n")] {
            fs::write(home(party).join("data").join(input), value).map_err(fault)?;
        }
    }
    let (foundings, members): (Vec<_>, Vec<Member>) = members.into_iter().unzip();
    for (founding, peers) in foundings {
        let wanted = ServiceConfig::HTTP_PORT + u16::from(founding.party);
        let (page, http) = free(wanted).or_else(|_| free(0)).map_err(fault)?;
        made.places.push(Places { peers, page });
        founding.complete(&home(founding.party), &members, Some(&http))?;
    }
    Ok(made)
}

/// An address of this machine that nobody uses.
fn free(port: u16) -> std::io::Result<(TcpListener, String)> {
    let listener = TcpListener::bind(("127.0.0.1", port))?;
    let address = listener.local_addr()?.to_string();
    Ok((listener, address))
}

/// Adds a number of the first party and one of the second.
fn sample(parties: u8) -> String {
    let protocol = Protocol::usual(parties).name();
    let all: Vec<u8> = (0..parties).collect();
    format!(
        "# Two parties add a number each, and all learn the sum.\nprotocol = \"{protocol}\"\ncircuit = \"lib:add32\"\nlanes = 1\n\n[[input]]\n\
         party = 0\n\n[[input]]\nparty = 1\n\n[[output]]\nto = {all:?}\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_made_is_whole_and_made_once() {
        for parties in [2, 3] {
            let place = tempfile::tempdir().expect("a folder");
            let made = make(place.path(), parties).expect("made");
            assert_eq!(made.files.len(), usize::from(parties));
            assert_eq!(made.places.len(), usize::from(parties));
            for file in &made.files {
                let config = cenote::PartyConfig::load(file).expect("a party file");
                let service = config.service.expect("a service");
                let policy = service.policy.expect("a policy");
                cenote_service::Policy::read(&policy, &service.names).expect("a policy");
            }
            let job = fs::read_to_string(&made.job).expect("there");
            let bundle = Bundle {
                job,
                files: Default::default(),
            };
            let compiled = crate::compiled::Compiled::new(bundle, Digest::of(b""), 0).expect("a job");
            assert_eq!(compiled.parties(), parties);
            let found = make(place.path(), parties).expect("there");
            assert_eq!((&found.files, &found.job), (&made.files, &made.job));
            assert!(found.places.is_empty());
        }
    }
}
