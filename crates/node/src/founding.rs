//! What a new party is made of: a folder with its key, its data, its policy, and once its peers are known its party file.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use cenote::remote::load_identity;
use cenote::{Fingerprint, Identity, Protocol, is_near};
use serde::{Deserialize, Serialize};

use crate::Error;

/// The file of a party whose peers are not known yet.
const PENDING: &str = "setup.toml";
/// The policy of a party that leaves everything to persons.
const ASK: &str =
    "# Which proposals are approved without a person; see docs/operating.md.\notherwise = \"ask\"\n";

/// The AND gates that the stock of a new service serves.
const STOCK: &str = "4M";

/// The stock of a new service: of the protocol that suits most jobs of so many parties, if that takes any.
fn stock(parties: u8) -> String {
    let usual = Protocol::usual(parties);
    if usual.item().is_err() {
        return String::new();
    }
    format!(
        "\n# What is kept ready for jobs, the same at all parties; see docs/operating.md.\n[[service.stock]]\nprotocol = \"{}\"\nands = \"{STOCK}\"\n",
        usual.name()
    )
}

/// A party before it knows its peers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Founding {
    /// What it is called.
    pub name: String,
    /// Which party it is.
    pub party: u8,
    /// Of how many.
    pub parties: u8,
}

/// A party as its peers know it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// What it is called.
    pub name: String,
    /// Where its peers reach it, if they do.
    pub address: Option<String>,
    /// What its peers know it by.
    pub fingerprint: Fingerprint,
}

/// The party file of a folder.
pub fn party_file(folder: &Path) -> PathBuf {
    folder.join("party.toml")
}

impl Founding {
    /// Makes a party in `folder`: a key, a folder of data, and a policy that leaves everything to persons.
    ///
    /// # Errors
    /// That there is a party already, what is wrong with the name, or what the system says.
    pub fn make(&self, folder: &Path) -> Result<Identity, Error> {
        if !(2..=3).contains(&self.parties) || self.party >= self.parties {
            return Err(Error::Settings("there are 2 or 3 parties, counted from 0".into()));
        }
        check_name(&self.name)?;
        let fault = |error: std::io::Error| Error::Machine(format!("{}: {error}", folder.display()));
        if party_file(folder).exists() || folder.join(PENDING).exists() {
            return Err(Error::Settings(format!(
                "there is a party in {} already; name another folder",
                folder.display()
            )));
        }
        let private = |path: &Path| fs::DirBuilder::new().recursive(true).mode(0o700).create(path);
        private(folder)
            .and_then(|()| private(&folder.join("data")))
            .map_err(fault)?;
        let identity = Identity::generate().map_err(cenote::Error::from)?;
        identity
            .save(&folder.join("party.key"))
            .map_err(cenote::Error::from)?;
        write_new(&folder.join("policy.toml"), ASK).map_err(fault)?;
        let text = toml::to_string(self).map_err(|error| Error::Machine(error.to_string()))?;
        write_new(&folder.join(PENDING), &text).map_err(fault)?;
        Ok(identity)
    }

    /// The party in `folder` that waits for its peers, and its key; nothing if there is none.
    ///
    /// # Errors
    /// That it cannot be read, or knows its peers already.
    pub fn load(folder: &Path) -> Result<Option<(Self, Identity)>, Error> {
        let path = folder.join(PENDING);
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return if party_file(folder).exists() {
                    Err(Error::Settings(format!(
                        "the party in {} knows its peers already: serve it with `cenote serve --config {}`",
                        folder.display(),
                        party_file(folder).display()
                    )))
                } else {
                    Ok(None)
                };
            }
            Err(error) => return Err(Error::Machine(format!("{}: {error}", path.display()))),
        };
        let founding: Founding = toml::from_str(&text)
            .map_err(|error| Error::Settings(format!("{}: {}", path.display(), error.message())))?;
        Ok(Some((founding, load_identity(&folder.join("party.key"))?)))
    }

    /// Writes the party file: the peers are known.
    ///
    /// # Errors
    /// What the system says.
    pub fn complete(&self, folder: &Path, members: &[Member], http: Option<&str>) -> Result<PathBuf, Error> {
        let path = party_file(folder);
        let fault = |error: std::io::Error| Error::Machine(format!("{}: {error}", path.display()));
        write_new(&path, &self.text(members, http)).map_err(fault)?;
        match fs::remove_file(folder.join(PENDING)) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(fault(error)),
            _ => Ok(path),
        }
    }

    fn text(&self, members: &[Member], http: Option<&str>) -> String {
        let quoted = |text: &str| toml::Value::from(text).to_string();
        let mut text = format!(
            "# Who this party is, and who its peers are. Files are relative to this one.\nparty = {}\nidentity = \"party.key\"\n",
            self.party
        );
        let own = members
            .get(usize::from(self.party))
            .and_then(|member| member.address.as_ref());
        if let Some(address) = own.filter(|_| self.party + 1 < self.parties) {
            text.push_str(&format!("listen = {}\n", quoted(&listen(address))));
        }
        text.push_str("stock = \"stock\"\nstock_key = \"stock.key\"\n");
        let names: Vec<String> = members.iter().map(|member| quoted(&member.name)).collect();
        text.push_str(&format!(
            "\n[service]\npolicy = \"policy.toml\"\nnames = [{}]\n",
            names.join(", ")
        ));
        if let Some(http) = http {
            text.push_str(&format!("http = {}\n", quoted(http)));
        }
        text.push_str(&stock(self.parties));
        for (party, member) in (0u8..).zip(members).filter(|(party, _)| *party != self.party) {
            text.push_str(&format!("\n[[peer]]\nparty = {party}\n"));
            if let Some(address) = member.address.as_ref().filter(|_| party < self.party) {
                text.push_str(&format!("address = {}\n", quoted(address)));
            }
            text.push_str(&format!("fingerprint = \"{}\"\n", member.fingerprint));
        }
        text
    }
}

/// Where a party listens that its peers reach at `address`: names of other machines, and ways through a router, lead here by all its
/// addresses.
pub(crate) fn listen(address: &str) -> String {
    match address.rsplit_once(':') {
        Some((_, port)) if !is_near(address) => format!("0.0.0.0:{port}"),
        _ => address.to_owned(),
    }
}

/// Refuses what is no name of a party.
pub(crate) fn check_name(name: &str) -> Result<(), Error> {
    match cenote::wrong_party_name(name) {
        Some(wrong) => Err(Error::Settings(wrong.into())),
        None => Ok(()),
    }
}

fn write_new(path: &Path, text: &str) -> std::io::Result<()> {
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use cenote::PartyConfig;

    use super::*;

    #[test]
    fn what_only_this_machine_reaches_is_not_opened_to_others() {
        for address in ["127.0.0.1:7100", "127.1.2.3:7100", "localhost:7100", "[::1]:7100"] {
            assert_eq!(listen(address), address);
        }
        for address in ["firm.example:7100", "192.0.2.1:7100", "[2001:db8::1]:7100"] {
            assert_eq!(listen(address), "0.0.0.0:7100");
        }
    }

    #[test]
    fn only_a_protocol_that_takes_stock_has_a_table() {
        assert_eq!(stock(3), "");
        let table = stock(2);
        assert!(
            table.contains("[[service.stock]]\nprotocol = \"authenticated\"\nands = \"4M\"\n"),
            "{table}"
        );
    }

    #[test]
    fn a_party_file_that_was_made_needs_no_editing() {
        let place = tempfile::tempdir().expect("a folder");
        let foundings: Vec<Founding> = (0..3)
            .map(|party| Founding {
                name: format!("firm {party}"),
                party,
                parties: 3,
            })
            .collect();
        let folder = |party: usize| place.path().join(party.to_string());
        let members: Vec<Member> = foundings
            .iter()
            .enumerate()
            .map(|(party, founding)| Member {
                name: founding.name.clone(),
                address: (party < 2).then(|| format!("firm{party}.example:71{party:02}")),
                fingerprint: founding.make(&folder(party)).expect("made").fingerprint(),
            })
            .collect();
        for (party, founding) in foundings.iter().enumerate() {
            let (known, _) = Founding::load(&folder(party)).expect("read").expect("there");
            assert_eq!(known, *founding);
            let again = founding
                .make(&folder(party))
                .map(drop)
                .expect_err("there already")
                .to_string();
            assert!(again.contains("there is a party"), "{again}");
            let path = founding
                .complete(&folder(party), &members, None)
                .expect("written");
            let config = PartyConfig::load(&path).expect("a party file");
            assert_eq!(config.listen.is_some(), party < 2);
            let service = config.service.expect("a service");
            assert_eq!(service.names, ["firm 0", "firm 1", "firm 2"]);
            // Three parties take nothing from stock.
            assert!(service.stock.is_empty());
            let again = Founding::load(&folder(party))
                .map(drop)
                .expect_err("complete")
                .to_string();
            assert!(again.contains("cenote serve --config"), "{again}");
        }
        assert!(Founding::load(place.path()).expect("nothing there").is_none());
        for name in ["", " x", "a\nb", "a\"b"] {
            let founding = Founding {
                name: name.into(),
                ..foundings[0].clone()
            };
            assert!(founding.make(&place.path().join("other")).is_err(), "{name:?}");
        }
    }
}
