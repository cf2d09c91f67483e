//! Fields that files of several kinds have: parties, addresses, and a protocol with its settings.

use cenote_net::PartyId;
use cenote_session::Parties;
use toml::Spanned;

use crate::settings_file::{SettingsFile, StatedSetting};
use crate::{Protocol, Result};

/// The numbers of so many parties, in words.
pub(crate) fn numbers(parties: u8) -> &'static str {
    if parties == 2 { "0 and 1" } else { "0, 1 and 2" }
}

/// The party that `party` names, one of `parties`.
pub(crate) fn party(source: &SettingsFile, party: &Spanned<u8>, parties: u8) -> Result<PartyId> {
    let id = *party.get_ref();
    if id < parties {
        Ok(PartyId(id))
    } else {
        let numbers = numbers(parties);
        Err(source.fault(
            party.span(),
            format!("there is no party {id}; parties are {numbers}"),
        ))
    }
}

/// Those that learn an output.
pub(crate) fn entitled(
    source: &SettingsFile,
    to: &Spanned<Vec<Spanned<u8>>>,
    parties: u8,
) -> Result<Parties> {
    let mut receivers = Parties::NONE;
    for entry in to.get_ref() {
        let id = party(source, entry, parties)?;
        if receivers.contains(id) {
            return Err(source.fault(entry.span(), format!("{id} is listed twice")));
        }
        receivers = receivers.with(id);
    }
    if receivers == Parties::NONE {
        return Err(source.fault(
            to.span(),
            "nobody would learn this output; list at least one party",
        ));
    }
    Ok(receivers)
}

/// The form only: names are looked up when connecting.
pub(crate) fn check_address(source: &SettingsFile, address: &Spanned<String>) -> Result<()> {
    let text = address.get_ref();
    let port = text
        .rsplit_once(':')
        .filter(|(host, _)| !host.is_empty())
        .map(|(_, port)| port.parse::<u16>());
    match port {
        Some(Ok(_)) => Ok(()),
        _ => Err(source.fault(
            address.span(),
            "an address is host:port, such as \"10.0.0.7:7100\"",
        )),
    }
}

/// Whether some protocol has a setting called so.
pub(crate) fn is_setting(key: &str) -> bool {
    !Protocol::with_setting(key).is_empty()
}

/// The protocol that a job names, with its settings.
pub(crate) fn protocol(
    named: &Spanned<String>,
    settings: &[StatedSetting],
    source: &SettingsFile,
) -> Result<Protocol> {
    let name = named.get_ref();
    let mut protocol = Protocol::named(name).ok_or_else(|| {
        let names: Vec<String> = Protocol::names()
            .map(|name| format!("protocol = \"{name}\""))
            .collect();
        let what = format!("there is no protocol \"{name}\"; write {}", names.join(" or "));
        source.fault(named.span(), what)
    })?;
    apply(&mut protocol, settings, source)?;
    Ok(protocol)
}

/// Gives `protocol` the settings of a job.
pub(crate) fn apply(
    protocol: &mut Protocol,
    settings: &[StatedSetting],
    source: &SettingsFile,
) -> Result<()> {
    for setting in settings {
        let (key, having) = (&setting.key, Protocol::with_setting(&setting.key));
        let set = if having.contains(&protocol.name()) {
            protocol.set(key, setting.setting())
        } else {
            let names: Vec<String> = having.iter().map(|name| format!("\"{name}\"")).collect();
            let s = if names.len() == 1 { "" } else { "s" };
            Err(format!(
                "`{key}` is a setting of protocol{s} {} only; leave it out",
                names.join(" and ")
            ))
        };
        set.map_err(|what| source.fault(setting.span.clone(), what))?;
    }
    Ok(())
}
