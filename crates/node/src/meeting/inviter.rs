//! The party that invites: it waits until all others have joined.

use std::io::BufReader;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use cenote::Identity;
use rustls::{ServerConfig, ServerConnection, StreamOwned};

use super::code::{commitment, equal, nonce};
use super::invitation::Invitation;
use super::met::{Met, conclude};
use super::timed::Timed;
use super::words::{AllShown, Answer, Joining, Shown, Told, Written, bytes, hear, lost, say};
use crate::Error;
use crate::founding::{Founding, check_name, listen};

/// How long one who has connected may take to say who it is.
const GREETING: Duration = Duration::from_secs(10);
/// How many may be about to say so at once. Others wait until one of them has, or its time is over.
const GREETED: usize = 64;
/// How long the rest of the meeting may take.
const MEETING: Duration = Duration::from_secs(60);
/// How often it is looked whether somebody has come, or the wait is over.
const LOOK: Duration = Duration::from_millis(50);

pub(crate) type Line = BufReader<StreamOwned<ServerConnection, Timed>>;

/// Somebody who has joined.
struct Joined {
    line: Line,
    told: Told,
}

/// A party that invites the others.
pub struct Inviter {
    founding: Founding,
    folder: PathBuf,
    identity: Identity,
    address: String,
    listener: TcpListener,
    invitations: Vec<Invitation>,
}

impl std::fmt::Debug for Inviter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Inviter").field(&self.folder).finish()
    }
}

impl Inviter {
    /// Invites the other parties of the one in `folder`, who reach it at `address`, `host:port`.
    ///
    /// # Errors
    /// That there is no party in the folder, it is not party 0 or knows its peers already; that the address cannot be listened at.
    pub fn new(folder: &Path, address: &str) -> Result<Self, Error> {
        let (founding, identity) = Founding::load(folder)?.ok_or_else(|| {
            Error::Settings(format!(
                "there is no party in {}; make one with `cenote init`",
                folder.display()
            ))
        })?;
        if founding.party != 0 {
            return Err(Error::Settings("party 0 invites, and the others join".into()));
        }
        let at = listen(address);
        let listener = TcpListener::bind(&at)
            .and_then(|listener| listener.set_nonblocking(true).map(|()| listener))
            .map_err(|error| {
                Error::Settings(format!(
                    "{at}: {error}; give an address of this machine as host:port"
                ))
            })?;
        let port = listener.local_addr().map_err(lost)?.port();
        let address = match address.rsplit_once(':') {
            Some((host, "0")) => format!("{host}:{port}"),
            _ => address.to_owned(),
        };
        let mut invitations = Vec::new();
        for party in 1..founding.parties {
            invitations.push(Invitation {
                address: address.clone(),
                fingerprint: identity.fingerprint(),
                name: founding.name.clone(),
                party,
                parties: founding.parties,
                secret: nonce().map_err(lost)?,
            });
        }
        Ok(Inviter {
            founding,
            folder: folder.to_owned(),
            identity,
            address,
            listener,
            invitations,
        })
    }

    /// One for each other party, in order.
    pub fn invitations(&self) -> &[Invitation] {
        &self.invitations
    }

    /// Waits up to `limit` until all have joined, and writes the party file. `came` hears the name of each that has.
    ///
    /// # Errors
    /// Who has not come; what has gone wrong with the meeting, after which it is begun anew.
    pub fn wait(self, limit: Duration, mut came: impl FnMut(&str)) -> Result<Met, Error> {
        let until = Instant::now() + limit;
        let mut joined: Vec<Option<Joined>> = self.invitations.iter().map(|_| None).collect();
        let config = cenote_net::https_server(&self.identity).map_err(cenote::Error::from)?;
        let (tell, greeted) = mpsc::channel();
        let mut greeting = 0;
        while joined.iter().any(Option::is_none) {
            if Instant::now() >= until {
                return Err(Error::Machine(
                    "not all parties have joined in time; invite them again".into(),
                ));
            }
            while greeting < GREETED
                && let Ok((stream, _)) = self.listener.accept()
            {
                let (tell, config) = (tell.clone(), Arc::clone(&config));
                let by = until.min(Instant::now() + GREETING);
                std::thread::Builder::new()
                    .name("greeting".into())
                    .spawn(move || drop(tell.send(greet(config, stream, by))))
                    .map_err(lost)?;
                greeting += 1;
            }
            let Ok(new) = greeted.recv_timeout(LOOK) else {
                continue;
            };
            greeting -= 1;
            // A stranger, or one who has lost its way: the others go on.
            match new.and_then(|(line, joining)| self.admit(line, joining, &joined)) {
                Ok((place, new)) => {
                    came(&new.told.name);
                    if let Some(joined) = joined.get_mut(place) {
                        *joined = Some(new);
                    }
                }
                Err(error) => tracing::warn!(%error, "somebody could not join"),
            }
        }
        self.meet(joined.into_iter().flatten().collect())
    }

    fn admit(
        &self,
        mut line: Line,
        joining: Joining,
        joined: &[Option<Joined>],
    ) -> Result<(usize, Joined), Error> {
        let refuse = |line: &mut Line, why: &str| {
            let told = say(line.get_mut(), &Answer::Refused(why.into()));
            told.and(Err(Error::Settings(why.into())))
        };
        let place = usize::from(joining.party).wrapping_sub(1);
        let invited = self.invitations.get(place);
        let secret = bytes::<16>(&joining.secret)?;
        if !invited.is_some_and(|invited| equal(&invited.secret, &secret)) {
            return refuse(
                &mut line,
                "this invitation is not one of this meeting; ask for a new one",
            );
        }
        if joined.get(place).is_none_or(Option::is_some) {
            return refuse(&mut line, "this invitation was used already; ask for a new one");
        }
        if let Err(error) = check_name(&joining.name) {
            return refuse(&mut line, &error.to_string());
        }
        let mut names = joined.iter().flatten().map(|joined| &joined.told.name);
        if joining.name == self.founding.name || names.any(|name| *name == joining.name) {
            return refuse(
                &mut line,
                "another party has this name; choose another with --name",
            );
        }
        if joining.party + 1 < self.founding.parties && joining.address.is_none() {
            return refuse(
                &mut line,
                "the parties above this one dial it; say where with --address host:port",
            );
        }
        let told = Told {
            name: joining.name,
            address: joining.address,
            fingerprint: joining.fingerprint,
            commitment: joining.commitment,
        };
        Ok((place, Joined { line, told }))
    }

    fn meet(&self, mut joined: Vec<Joined>) -> Result<Met, Error> {
        let own = nonce().map_err(lost)?;
        let fingerprint = self.identity.fingerprint();
        let mut all = vec![Told {
            name: self.founding.name.clone(),
            address: Some(self.address.clone()),
            fingerprint: fingerprint.to_string(),
            commitment: hex::encode(commitment(&fingerprint, &own)),
        }];
        all.extend(joined.iter().map(|joined| joined.told.clone()));
        let mut nonces = vec![hex::encode(own)];
        let by = Instant::now() + MEETING;
        for other in &mut joined {
            other.line.get_mut().sock.ends_by(by);
            say(other.line.get_mut(), &Answer::All(all.clone()))?;
        }
        for other in &mut joined {
            nonces.push(hear::<Shown>(&mut other.line)?.nonce);
        }
        let shown = AllShown { nonces };
        for other in &mut joined {
            say(other.line.get_mut(), &shown)?;
        }
        let (members, code) = conclude(&all, &shown)?;
        for other in &mut joined {
            hear::<Written>(&mut other.line)?;
        }
        let file = self.founding.complete(&self.folder, &members, None)?;
        Ok(Met {
            file,
            names: members.into_iter().map(|member| member.name).collect(),
            code,
        })
    }
}

/// Hears who has connected, by a time.
pub(crate) fn greet(
    config: Arc<ServerConfig>,
    stream: TcpStream,
    by: Instant,
) -> Result<(Line, Joining), Error> {
    stream.set_nonblocking(false).map_err(lost)?;
    let connection = ServerConnection::new(config).map_err(lost)?;
    let mut line = BufReader::new(StreamOwned::new(connection, Timed::new(stream, by)));
    let joining = hear(&mut line)?;
    Ok((line, joining))
}
