//! Metrics in the text format of Prometheus.

use std::fmt::{Display, Write};
use std::sync::atomic::Ordering;

use cenote_service::live::{AlarmKind, LinkState, Live};

use crate::house::Site;

/// The metrics of a family, and their labels.
struct Text(String);

impl Text {
    fn family(&mut self, name: &str, kind: &str, help: &str) {
        let _ = writeln!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}");
    }

    fn value(&mut self, name: &str, labels: &[(&str, &str)], value: impl Display) {
        self.0.push_str(name);
        for (place, (label, text)) in labels.iter().enumerate() {
            self.0.push(if place == 0 { '{' } else { ',' });
            let _ = write!(self.0, "{label}=\"{}\"", escaped(text));
        }
        if !labels.is_empty() {
            self.0.push('}');
        }
        let _ = writeln!(self.0, " {value}");
    }

    /// A family of one metric.
    fn one(&mut self, name: &str, kind: &str, help: &str, value: impl Display) {
        self.family(name, kind, help);
        self.value(name, &[], value);
    }
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n")
}

pub(crate) fn text(site: &Site) -> String {
    let mut text = Text(String::new());
    let live = site.house.live.as_ref();
    process(&mut text, live);
    jobs(&mut text, live);
    peers(&mut text, live);
    stock(&mut text, live);
    // Where the database does not answer, readiness says so.
    if let Ok((_, bytes)) = site.house.jobs.kept_in_all() {
        let help = "Bytes of this party's shares of kept values.";
        text.one("cenote_kept_values_bytes", "gauge", help, bytes);
    }
    record(&mut text, site);
    let mut alarms = std::collections::BTreeMap::<AlarmKind, u64>::new();
    for alarm in live.alarms() {
        *alarms.entry(alarm.kind).or_default() += 1;
    }
    text.family(
        "cenote_alarms",
        "gauge",
        "What an operator should see to, by kind.",
    );
    for (kind, count) in alarms {
        let name = serde_json::to_value(kind).unwrap_or_default();
        text.value(
            "cenote_alarms",
            &[("kind", name.as_str().unwrap_or_default())],
            count,
        );
    }
    text.family(
        "cenote_http_answers_total",
        "counter",
        "Answers to requests, by class of status.",
    );
    for (class, count) in site.meter.answers() {
        text.value("cenote_http_answers_total", &[("class", &class)], count);
    }
    text.one(
        "cenote_http_connections",
        "gauge",
        "Open connections of callers.",
        site.meter.open.load(Ordering::Relaxed),
    );
    text.one(
        "cenote_http_connections_turned_away_total",
        "counter",
        "Connections that were closed because there were too many.",
        site.meter.turned_away.load(Ordering::Relaxed),
    );
    text.0
}

/// What waits for a person, and what the record takes on the disk.
fn record(text: &mut Text, site: &Site) {
    if let Ok(undecided) = site.house.jobs.undecided() {
        let age = undecided.oldest.map_or(0, |oldest| {
            site.house
                .live
                .about()
                .now
                .millis()
                .saturating_sub(oldest.millis())
        });
        text.one(
            "cenote_proposals_waiting",
            "gauge",
            "Proposals that wait for this party's decision.",
            undecided.count,
        );
        text.one(
            "cenote_proposals_waiting_oldest_seconds",
            "gauge",
            "How long the oldest of them has waited.",
            age as f64 / 1000.0,
        );
    }
    if let Some(free) = site.house.live.counts().free {
        let help = "Bytes that are free on the disk of the service's folder.";
        text.one("cenote_disk_free_bytes", "gauge", help, free);
    }
    if let Ok([database, log]) = site.house.database.bytes() {
        text.one(
            "cenote_database_bytes",
            "gauge",
            "Size of the database.",
            database,
        );
        text.one("cenote_audit_log_bytes", "gauge", "Size of the audit log.", log);
    }
}

fn process(text: &mut Text, live: &dyn Live) {
    let about = live.about();
    let up = about.now.millis().saturating_sub(about.since.millis());
    text.one(
        "cenote_up_seconds",
        "gauge",
        "How long the service has been up.",
        up as f64 / 1000.0,
    );
    text.one(
        "cenote_ready",
        "gauge",
        "Whether jobs can be taken.",
        u8::from(about.not_ready.is_none()),
    );
}

fn jobs(text: &mut Text, live: &dyn Live) {
    let counts = live.counts();
    text.one(
        "cenote_memory_bytes",
        "gauge",
        "Memory of the process.",
        counts.memory,
    );
    text.one(
        "cenote_and_gates_total",
        "counter",
        "AND gates computed.",
        counts.ands,
    );
    text.one(
        "cenote_jobs_from_stock_total",
        "counter",
        "Jobs that were run from stock.",
        counts.from_stock,
    );
    text.family(
        "cenote_jobs_total",
        "counter",
        "Jobs that have come into a state.",
    );
    for (state, count) in &counts.jobs {
        text.value("cenote_jobs_total", &[("state", state.as_str())], count);
    }
    text.one(
        "cenote_running_jobs",
        "gauge",
        "Jobs that run.",
        live.running().len(),
    );
    text.family(
        "cenote_job_seconds",
        "histogram",
        "From the submission of a job until it was done.",
    );
    let mut all = 0;
    for (limit, count) in &counts.latency {
        all = *count;
        if limit.is_finite() {
            text.value("cenote_job_seconds_bucket", &[("le", &limit.to_string())], count);
        }
    }
    text.value("cenote_job_seconds_bucket", &[("le", "+Inf")], all);
    text.value("cenote_job_seconds_sum", &[], counts.latency_sum);
    text.value("cenote_job_seconds_count", &[], all);
    text.family(
        "cenote_refused_proposals_total",
        "counter",
        "Proposals of peers that were refused.",
    );
    for (peer, count) in &counts.refused {
        text.value(
            "cenote_refused_proposals_total",
            &[("party", &peer.to_string())],
            count,
        );
    }
}

fn peers(text: &mut Text, live: &dyn Live) {
    let peers = live.peers();
    let mut each = |name: &str, kind: &str, help: &str, value: &dyn Fn(&_) -> Option<f64>| {
        text.family(name, kind, help);
        for peer in &peers {
            if let Some(value) = value(peer) {
                text.value(
                    name,
                    &[("party", &peer.party.to_string()), ("name", &peer.name)],
                    value,
                );
            }
        }
    };
    each(
        "cenote_peer_up",
        "gauge",
        "Whether the peer is connected.",
        &|peer| Some(f64::from(u8::from(peer.link == LinkState::Up))),
    );
    each(
        "cenote_peer_round_trip_seconds",
        "gauge",
        "A message to the peer and back, the last time.",
        &|peer| Some(peer.round_trip? / 1000.0),
    );
    each(
        "cenote_peer_clock_ahead_seconds",
        "gauge",
        "How far the peer's clock is ahead.",
        &|peer| Some(peer.clock_ahead? / 1000.0),
    );
    each(
        "cenote_peer_sent_bytes_total",
        "counter",
        "Bytes sent to the peer.",
        &|peer| Some(peer.sent as f64),
    );
    each(
        "cenote_peer_received_bytes_total",
        "counter",
        "Bytes received from the peer.",
        &|peer| Some(peer.received as f64),
    );
}

fn stock(text: &mut Text, live: &dyn Live) {
    let stock = live.stock();
    let mut each = |name: &str, help: &str, value: &dyn Fn(&_) -> u64| {
        text.family(name, "gauge", help);
        for stock in &stock {
            text.value(
                name,
                &[("protocol", &stock.protocol), ("kind", &stock.kind)],
                value(stock),
            );
        }
    };
    each("cenote_stock", "Material that jobs can use.", &|stock| {
        stock.amount
    });
    each("cenote_stock_target", "How much there should be.", &|stock| {
        stock.target
    });
    each("cenote_stock_making", "Whether more is being made.", &|stock| {
        u64::from(stock.making)
    });
}
