//! The party that joins.

use std::io::BufReader;
use std::net::TcpStream;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use cenote::Identity;
use cenote_service::words::plain;
use rustls::pki_types::ServerName;
use rustls::{ClientConnection, StreamOwned};

use super::code::{commitment, equal, nonce};
use super::invitation::Invitation;
use super::met::{Met, conclude};
use super::timed::Timed;
use super::words::{AllShown, Answer, Joining, Shown, Told, Written, bytes, hear, lost, say};
use crate::Error;
use crate::founding::Founding;

/// How long the meeting may take, most of which is the others' joining.
const PATIENCE: Duration = Duration::from_secs(3600);
/// Characters of the reason of a refusal that are shown.
const WHY: usize = 500;

/// A connection to the inviting party.
type Line = BufReader<StreamOwned<ClientConnection, Timed>>;

/// Joins the parties of an invitation with the party in `folder`, which is made with this name where there is none. The parties above it reach
/// it at `address`.
///
/// # Errors
/// That the inviting party is not there or refuses, with its reason; that somebody stands between.
pub fn join(invitation: &Invitation, folder: &Path, name: &str, address: Option<&str>) -> Result<Met, Error> {
    let (founding, identity) = founded(invitation, folder, name)?;
    let fingerprint = identity.fingerprint();
    let mut line = reach(invitation)?;
    let own = nonce().map_err(lost)?;
    let joining = Joining {
        party: invitation.party,
        secret: hex::encode(invitation.secret),
        name: founding.name.clone(),
        address: address.map(str::to_owned),
        fingerprint: fingerprint.to_string(),
        commitment: hex::encode(commitment(&fingerprint, &own)),
    };
    let answer = say(line.get_mut(), &joining).and_then(|()| hear(&mut line));
    let all: Vec<Told> = match answer.map_err(|error| closed(invitation, &error))? {
        Answer::All(all) => all,
        Answer::Refused(why) => {
            return Err(Error::Settings(plain(&why, WHY)));
        }
    };
    if !is_as_said(&all, invitation, &joining) {
        return Err(Error::Settings(
            "the inviting party tells of other parties than have met; begin anew".into(),
        ));
    }
    say(
        line.get_mut(),
        &Shown {
            nonce: hex::encode(own),
        },
    )?;
    let shown: AllShown = hear(&mut line)?;
    let (members, code) = conclude(&all, &shown)?;
    let mine = shown.nonces.get(usize::from(invitation.party));
    if !mine.is_some_and(|text| bytes::<16>(text).is_ok_and(|nonce| equal(&nonce, &own))) {
        return Err(Error::Settings(
            "the inviting party tells of another number than this party's; begin anew".into(),
        ));
    }
    let file = founding.complete(folder, &members, None)?;
    say(line.get_mut(), &Written { written: true })?;
    Ok(Met {
        file,
        names: members.into_iter().map(|member| member.name).collect(),
        code,
    })
}

/// What a meeting looks like that has ended, or of which another service has the address by now.
fn closed(invitation: &Invitation, error: &Error) -> Error {
    Error::Machine(format!(
        "the meeting of {} at {} has ended, or something else listens there ({error}); ask its operator to run `cenote invite` again, and \
         join with the new invitation",
        plain(&invitation.name, WHY),
        plain(&invitation.address, WHY)
    ))
}

/// The party in `folder` as the one that is invited, made with this name where there is none.
fn founded(invitation: &Invitation, folder: &Path, name: &str) -> Result<(Founding, Identity), Error> {
    let founding = Founding {
        name: name.to_owned(),
        party: invitation.party,
        parties: invitation.parties,
    };
    Ok(match Founding::load(folder)? {
        None => {
            let identity = founding.make(folder)?;
            (founding, identity)
        }
        // That which was made before joins, as whoever it is invited.
        Some((known, identity)) => (
            Founding {
                name: known.name,
                ..founding
            },
            identity,
        ),
    })
}

/// Connects to the inviting party, which must have the fingerprint of the invitation.
fn reach(invitation: &Invitation) -> Result<Line, Error> {
    let at = &invitation.address;
    let stream = TcpStream::connect(at).map_err(|error| {
        Error::Machine(format!(
            "the meeting of {} at {at} cannot be reached: {error}; see that `cenote invite` waits there, and that its address can be \
             reached. If it has ended, ask for a new invitation",
            plain(&invitation.name, WHY)
        ))
    })?;
    let stream = Timed::new(stream, Instant::now() + PATIENCE);
    let config = cenote_net::https_client(invitation.fingerprint).map_err(cenote::Error::from)?;
    let server = ServerName::try_from("cenote").map_err(lost)?;
    let connection = ClientConnection::new(Arc::clone(&config), server).map_err(lost)?;
    Ok(BufReader::new(StreamOwned::new(connection, stream)))
}

/// Whether the inviting party tells of itself what the invitation says, of this party what it said, and of as many as are invited.
fn is_as_said(all: &[Told], invitation: &Invitation, joining: &Joining) -> bool {
    let mine = all.get(usize::from(invitation.party));
    let first = all.first();
    all.len() == usize::from(invitation.parties)
        && mine.is_some_and(|told| {
            told.name == joining.name
                && told.address == joining.address
                && told.fingerprint == joining.fingerprint
                && told.commitment == joining.commitment
        })
        && first.is_some_and(|told| {
            told.name == invitation.name
                && told.address.as_ref() == Some(&invitation.address)
                && told.fingerprint == invitation.fingerprint.to_string()
        })
}
