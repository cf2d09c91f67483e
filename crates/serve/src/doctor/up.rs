//! What a service that is up says of itself.

use cenote::{Error, Result};
use cenote_api::view::{About, Alarm, AuditVerified, LinkState, Peer, Stock};

use super::Findings;
use cenote_console::service::{Service, printable};

/// Clocks that differ by more, in milliseconds, are worth a look; deadlines count in seconds.
const AHEAD: f64 = 2000.0;

pub(super) fn look(service: &Service, findings: &mut Findings) {
    findings.well("service", format!("it answers at {}", service.url()));
    if !service.has_token() {
        findings.warn(
            "service",
            "there is no token to ask it more with",
            "run this as the service's user, or name a token with --token-file",
        );
        return;
    }
    for look in [about, peers, stock, alarms, audit] {
        if let Err(error) = look(service, findings) {
            tell(&error, findings);
        }
    }
}

fn tell(error: &Error, findings: &mut Findings) {
    findings.fault("service", error.to_string(), "see the service's log");
}

fn about(service: &Service, findings: &mut Findings) -> Result<()> {
    let about: About = service.get("/api/v1/about")?;
    match about.not_ready {
        None => findings.well("service", "it takes jobs"),
        Some(reason) => findings.fault(
            "service",
            format!("it takes no jobs: {}", printable(&reason)),
            "see to what is missing; it goes on by itself then",
        ),
    }
    let mine = env!("CARGO_PKG_VERSION");
    if about.version == mine {
        findings.well("version", format!("{mine}, here and at the service"));
    } else {
        findings.warn(
            "version",
            format!(
                "the service runs {}, and this command is {mine}",
                printable(&about.version)
            ),
            "start the service anew after an upgrade",
        );
    }
    Ok(())
}

fn peers(service: &Service, findings: &mut Findings) -> Result<()> {
    let about: About = service.get("/api/v1/about")?;
    let peers: Vec<Peer> = service.get("/api/v1/peers")?;
    for peer in peers {
        let name = printable(&peer.name);
        let reason = printable(peer.reason.as_deref().unwrap_or("it has not connected yet"));
        match peer.link {
            LinkState::Up if peer.reason.is_some() => findings.warn(
                "peer",
                format!("{name} is connected: {reason}"),
                "jobs with it wait until its operator has seen to that",
            ),
            LinkState::Up => findings.well("peer", format!("{name} is connected")),
            LinkState::Refused => findings.fault(
                "peer",
                format!("{name} is refused: {reason}"),
                "compare fingerprints, versions and the names of the parties with its operator",
            ),
            LinkState::Connecting | LinkState::Down => findings.fault(
                "peer",
                format!("{name} is not connected: {reason}"),
                "ask its operator whether its service runs, and whether a firewall is between",
            ),
        }
        if let Some(version) = peer.version.filter(|version| *version != about.version) {
            findings.warn(
                "version",
                format!(
                    "{name} runs {}, and this service {}",
                    printable(&version),
                    printable(&about.version)
                ),
                "agree with its operator on one version",
            );
        }
        if let Some(ahead) = peer.clock_ahead
            && ahead.abs() > AHEAD
        {
            let word = if ahead > 0.0 { "ahead" } else { "behind" };
            findings.warn(
                "clock",
                format!("the clock of {name} is {:.1} s {word}", ahead.abs() / 1000.0),
                "let both machines keep their time by NTP; deadlines are told by each one's own clock",
            );
        }
    }
    Ok(())
}

fn stock(service: &Service, findings: &mut Findings) -> Result<()> {
    let stock: Vec<Stock> = service.get("/api/v1/stock")?;
    for kind in stock {
        let text = format!(
            "{} {} of {}: {} of {}",
            if kind.making { "being filled," } else { "at rest," },
            printable(&kind.kind),
            printable(&kind.protocol),
            kind.amount,
            kind.target
        );
        if kind.amount < kind.target / 4 {
            findings.warn(
                "stock",
                text,
                "jobs run slower until it is filled; see that the machine is idle at times, and that the peers are there",
            );
        } else {
            findings.well("stock", text);
        }
    }
    Ok(())
}

fn alarms(service: &Service, findings: &mut Findings) -> Result<()> {
    let alarms: Vec<Alarm> = service.get("/api/v1/alarms")?;
    for alarm in alarms {
        findings.fault("alarm", printable(&alarm.text), &printable(&alarm.advice));
    }
    Ok(())
}

fn audit(service: &Service, findings: &mut Findings) -> Result<()> {
    let checked: AuditVerified = service.post("/api/v1/audit/verify", &())?;
    findings.well(
        "audit",
        format!(
            "{} lines, as the database has them; the last hash is {}",
            checked.lines, checked.hash
        ),
    );
    Ok(())
}
