//! All parties on one machine, with sample data: how a newcomer meets a service.

use std::fs::{self, File};
use std::io::BufWriter;
use std::net::TcpListener;
use std::path::{Path, PathBuf};

use cenote::{PartyId, Protocol, ServiceConfig, demo};

use crate::Error;
use crate::founding::{Founding, Member, party_file};

/// What was made, or was there.
#[derive(Debug)]
pub struct Made {
    /// The party files, in order.
    pub files: Vec<PathBuf>,
    /// A job that waits for all parties' approval.
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

/// Customers of each bank of the sample.
const CUSTOMERS: u64 = 2000;

/// Makes so many parties in `folder`, each in a folder of its own, with the table of a made-up bank and a catalogue that publishes it, as far as they are not
/// there.
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
        let rows = File::create(home(party).join("data/bank.csv")).map_err(fault)?;
        demo::write_bank(BufWriter::new(rows), PartyId(party), CUSTOMERS).map_err(fault)?;
        let table = demo::bank_table(party, CUSTOMERS, "");
        let catalogue = format!(
            "# What the other parties may know of this party's tables.\n\n{table}data = \"bank.csv\"\nto = \"all\"\n"
        );
        fs::write(home(party).join("catalogue.toml"), catalogue).map_err(fault)?;
    }
    let (foundings, members): (Vec<_>, Vec<Member>) = members.into_iter().unzip();
    for (founding, peers) in foundings {
        let wanted = ServiceConfig::HTTP_PORT + u16::from(founding.party);
        let (page, http) = free(wanted).or_else(|_| free(0)).map_err(fault)?;
        made.places.push(Places { peers, page });
        founding.complete(&home(founding.party), &members, Some(&http))?;
    }
    fs::write(&made.job, sample(parties)).map_err(fault)?;
    Ok(made)
}

/// An address of this machine that nobody uses.
fn free(port: u16) -> std::io::Result<(TcpListener, String)> {
    let listener = TcpListener::bind(("127.0.0.1", port))?;
    let address = listener.local_addr()?.to_string();
    Ok((listener, address))
}

/// Which customers owe all banks together more than a million.
fn sample(parties: u8) -> String {
    let (sum, joins) = match parties {
        2 => ("a.owed + b.owed", "bank_a a JOIN bank_b b USING (id)"),
        _ => (
            "a.owed + b.owed + c.owed",
            "bank_a a JOIN bank_b b USING (id) JOIN bank_c c USING (id)",
        ),
    };
    let protocol = Protocol::usual(parties).name();
    let tables = (0..parties).map(|party| demo::bank_table(party, CUSTOMERS, &format!("party = {party}\n")));
    format!(
        "# Which customers owe the banks more than a million together?\nprotocol = \"{protocol}\"\nquery = \"\"\"\nSELECT id, {sum} AS joint\nFROM {joins}\n\
         WHERE {sum} > 1000000\nORDER BY joint DESC\n\"\"\"\n\n[answer]\nmax_rows = 100\n\n{}",
        tables.collect::<Vec<_>>().join("\n")
    )
}

#[cfg(test)]
mod tests {
    use cenote::Bundle;
    use cenote::catalogue::OwnCatalogue;
    use cenote_service::job::Digest;

    use super::*;

    #[test]
    fn what_is_made_is_whole_and_made_once() {
        for parties in [2, 3] {
            let place = tempfile::tempdir().expect("a folder");
            let made = make(place.path(), parties).expect("made");
            assert_eq!(made.files.len(), usize::from(parties));
            assert_eq!(made.places.len(), usize::from(parties));
            let mut catalogues = Vec::new();
            for (party, file) in (0..).zip(&made.files) {
                let config = cenote::PartyConfig::load(file).expect("a party file");
                let service = config.service.expect("a service");
                let policy = service.policy.expect("a policy");
                cenote_service::Policy::read(&policy, &service.names).expect("a policy");
                let own = OwnCatalogue::load(&service.catalogue, party, &service.names).expect("a catalogue");
                assert_eq!(own.tables()[0].misfit(&service.data.join("bank.csv")), None);
                catalogues.push(own);
            }
            let job = fs::read_to_string(&made.job).expect("there");
            let bundle = Bundle {
                job,
                files: Default::default(),
            };
            let compiled = crate::compiled::Compiled::new(bundle, Digest::of(b""), 0).expect("a job");
            assert_eq!(compiled.parties(), parties);
            let data = |table| catalogues.iter().find_map(|own| own.data_for(table));
            assert!(compiled.tables().all(|table| data(table) == Some("bank.csv")));
            assert_eq!(compiled.tables().count(), usize::from(parties));
            let found = make(place.path(), parties).expect("there");
            assert_eq!((&found.files, &found.job), (&made.files, &made.job));
            assert!(found.places.is_empty());
        }
    }
}
