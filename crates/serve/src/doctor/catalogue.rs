//! What is published of this party's tables, as it is on the disk, and whether the data goes with it.

use cenote::catalogue::{OwnCatalogue, usual_names};
use cenote::query::Policy;
use cenote::{PartyConfig, ServiceConfig};

use super::Findings;

const ABOUT: &str = "catalogue";

/// Looks at the catalogue, at the rules of its tables, and at their data.
pub(super) fn look(config: &PartyConfig, service: &ServiceConfig, findings: &mut Findings) {
    let file = service.catalogue.display();
    let own = match OwnCatalogue::load(&service.catalogue, config.me.0, &service.names) {
        Ok(own) => own,
        Err(error) => {
            let advice = "correct the file: the service does not start with it, and a service that is up keeps publishing what it has read before";
            return findings.fault(ABOUT, error.to_string(), advice);
        }
    };
    if own.tables().is_empty() {
        return findings.well(ABOUT, format!("nothing is published: {file} names no tables"));
    }
    let rules = match config.policy.as_deref().map(Policy::load).transpose() {
        Ok(rules) => rules,
        Err(error) => {
            return findings.fault(
                ABOUT,
                error.to_string(),
                "correct the rules of tables: without them nothing is published, and no query is approved",
            );
        }
    };
    let usual = |name: &str| {
        usual_names(name)
            .into_iter()
            .find(|name| service.data.join(name).is_file())
    };
    let mut is_well = true;
    for warning in own.warnings(rules.as_ref(), &usual) {
        is_well = false;
        let advice = "change the catalogue or the rules, and send the service SIGHUP";
        findings.warn(ABOUT, warning, advice);
    }
    for table in own.tables() {
        if let Some(what) = table.misfit(&service.data.join(&table.data)) {
            is_well = false;
            findings.warn(
                ABOUT,
                format!("the data of table {} does not fit: {what}", table.declared.name),
                "change the data, or what the catalogue says of it: jobs that follow the catalogue fail",
            );
        }
    }
    if is_well {
        let tables = own.tables().len();
        let s = cenote::text::s(tables as u64);
        findings.well(
            ABOUT,
            format!("{tables} table{s} in {file}, each with rules and data that fit"),
        );
    }
}
