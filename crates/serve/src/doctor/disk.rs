//! Keys, rights of files, policy, room, audit log and stock, as they are on the disk.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

use cenote::remote::load_identity;
use cenote::text::megabytes;
use cenote::{PartyConfig, ServiceConfig};
use cenote_service::audit::Fault;
use cenote_service::{Address, Error, Examined, Policy, audit};

use super::Findings;

/// Less room than this is a fault, and an alarm of a service that is up.
const LITTLE: u64 = cenote_node::ROOM;
/// Less than this is worth a look.
const SOME: u64 = 2 << 30;

pub(super) fn keys(config: &PartyConfig, findings: &mut Findings) {
    match load_identity(&config.identity) {
        Ok(identity) => findings.well("key", format!("this party's fingerprint is {}", identity.fingerprint())),
        Err(error) => findings.fault(
            "key",
            error.to_string(),
            "put the identity file back from your backup, readable by the service's user only; without it the peers must learn a new fingerprint",
        ),
    }
    if let Some((_, key)) = &config.stock {
        private(key, "stock", "the stock's key", findings);
    }
}

/// Looks at whether others may read or change a file or folder, if it is there.
fn private(path: &Path, about: &'static str, what: &str, findings: &mut Findings) {
    let Ok(metadata) = path.metadata() else { return };
    let (place, mode) = (path.display(), metadata.mode() & 0o777);
    if mode & 0o077 != 0 {
        findings.fault(
            about,
            format!("others may use {what}, {place} (mode {mode:03o})"),
            &format!("chmod {} {place}", if metadata.is_dir() { "700" } else { "600" }),
        );
    } else {
        findings.well(about, format!("{what}, {place}, is its owner's only"));
    }
}

pub(super) fn folders(service: &ServiceConfig, findings: &mut Findings) {
    if service.folder.is_dir() {
        private(&service.folder, "folder", "the service's folder", findings);
        for name in [
            "service.db",
            "results.key",
            audit::FILE,
            cenote_api::OPERATOR_TOKEN,
        ] {
            let path = service.folder.join(name);
            if path.metadata().is_ok_and(|metadata| metadata.mode() & 0o077 != 0) {
                private(&path, "folder", "a file of the service", findings);
            }
        }
    } else {
        findings.warn(
            "folder",
            format!("there is no folder {} yet", service.folder.display()),
            "start `cenote serve`, which makes it; if it was there before, do not put it back from a backup but ask why it is gone",
        );
    }
    match std::fs::read_dir(&service.data) {
        Ok(entries) => {
            private(&service.data, "data", "the folder of data", findings);
            let files = entries.flatten().filter(|entry| entry.path().is_file()).count();
            match files {
                0 => findings.warn(
                    "data",
                    format!("there is no file in {}", service.data.display()),
                    "put the files there that jobs may be given; values can be typed in without",
                ),
                _ => findings.well("data", format!("{files} files in {}", service.data.display())),
            }
        }
        Err(error) => findings.warn(
            "data",
            format!("the folder of data, {}: {error}", service.data.display()),
            "start `cenote serve`, which makes it, or let the service's user read it",
        ),
    }
}

pub(super) fn policy(service: &ServiceConfig, findings: &mut Findings) {
    match &service.policy {
        None => findings.well("policy", "there is none: a person decides on each job"),
        Some(path) => match Policy::read(path, &service.names) {
            Ok(_) => findings.well("policy", format!("{} can be read", path.display())),
            Err(error) => findings.fault(
                "policy",
                error.to_string(),
                "mend that line; until then the service does not start",
            ),
        },
    }
}

pub(super) fn space(config: &PartyConfig, service: &ServiceConfig, findings: &mut Findings) {
    let mut places = vec![("the service", service.folder.as_path())];
    if let Some((folder, _)) = &config.stock {
        places.push(("the stock", folder.as_path()));
    }
    for (what, folder) in places {
        // A folder that is not there yet will be on the disk of the one that holds it.
        let there = folder.ancestors().find(|folder| folder.is_dir());
        let Some(room) = there.and_then(|folder| rustix::fs::statvfs(folder).ok()) else {
            continue;
        };
        let free = room.f_bavail.saturating_mul(room.f_frsize);
        let place = folder.display();
        let text = format!("{} MB are free on the disk of {what}, {place}", megabytes(free));
        let advice = "make room on that disk; with a full one the service takes no jobs, and goes on by itself once there is room";
        if free < LITTLE {
            findings.fault("disk", text, advice);
        } else if free < SOME {
            findings.warn("disk", text, advice);
        } else {
            findings.well("disk", text);
        }
    }
}

/// Compares database, audit log and key, as the service does when it starts.
pub(super) fn record(service: &ServiceConfig, findings: &mut Findings) {
    if !service.folder.is_dir() {
        return;
    }
    let mend =
        "mend that before you start the service; docs/operating.md says under Backup what may be put back";
    let address = match &service.database {
        None => Ok(Address::Embedded),
        Some(address) => Address::parse(&address.0),
    };
    match address.and_then(|address| cenote_service::examine(&service.folder, &address)) {
        Ok(None) => findings.well(
            "record",
            "there is none yet: the service begins one when it starts",
        ),
        Ok(Some(Examined { log, key })) => {
            if log.is_ok() && key.is_ok() {
                findings.well("record", "database, audit log and key go with each other");
            }
            match log {
                Ok(head) => findings.well(
                    "audit",
                    format!(
                        "{} lines, each follows the one before, as the database has them; the last hash is {}",
                        head.number, head.hash
                    ),
                ),
                Err(fault) => {
                    let file = service.folder.join(audit::FILE);
                    let text = match &fault {
                        // It names the file.
                        Fault::File(_) | Fault::Full(_) => fault.to_string(),
                        _ => format!("{}: {fault}", file.display()),
                    };
                    findings.fault("audit", text, fault.advice());
                }
            }
            if let Err(error) = key {
                findings.fault("key", error.to_string(), mend);
            }
        }
        Err(error @ Error::InUse { .. }) => findings.fault(
            "record",
            error.to_string(),
            "a service that does not answer has the folder: see its log, and stop it",
        ),
        Err(error) => findings.fault("record", error.to_string(), mend),
    }
}

/// Looks at whether a service that is up will find its key when it starts next.
pub(super) fn key(service: &ServiceConfig, findings: &mut Findings) {
    let key = service.folder.join("results.key");
    if service.folder.join(audit::FILE).exists() && !key.exists() {
        findings.fault(
            "key",
            format!("{} is missing", key.display()),
            "put it back from a copy: it opens results and kept values, and the service does not start again without it; if it is lost for good, stop the service: \
             `cenote serve --give-up-sealed` deletes these and makes a new one",
        );
    }
}

pub(super) fn stock(config: &PartyConfig, findings: &mut Findings) {
    let Some((folder, _)) = &config.stock else {
        findings.well("stock", "none is kept: material is made while jobs run");
        return;
    };
    if !folder.is_dir() {
        findings.warn(
            "stock",
            format!("there is no folder {} yet", folder.display()),
            "it is made with the first stock; never put it back from a backup",
        );
        return;
    }
    match cenote::stock::open(config) {
        Ok(_) => findings.well(
            "stock",
            format!("{} can be opened; `cenote stock show` lists it", folder.display()),
        ),
        Err(error) => findings.fault(
            "stock",
            error.to_string(),
            "put the key back if it is gone; without it, remove the folder and the key: the service makes new stock by itself",
        ),
    }
}
