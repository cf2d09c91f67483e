//! What can be seen of the page, by whoever cannot see much.

use cenote_service::Timestamp;
use cenote_service::audit::Actor;
use cenote_service::live::{Alarm, AlarmKind, LinkState};
use serde_json::{Value, json};

use super::{assert_clean, enter, go, of_job};
use crate::fake::World;

/// The sections, with a job that waits and one that is done, and their titles.
fn sections(world: &World) -> Vec<(String, String)> {
    let waiting = world.fake.proposed_by_peer("circuit");
    let done = world.fake.proposed_by_peer("circuit of another");
    let binding = vec![cenote_service::job::Binding::new(
        "left",
        cenote_service::job::Source::Posted,
    )];
    world
        .fake
        .jobs
        .approve(
            done.proposal.id,
            binding,
            String::new(),
            Actor::Person("ada".into()),
            Timestamp::now(),
        )
        .expect("approved");
    world.fake.peers_approve(done.proposal.id);
    world.fake.run(done.proposal.id);
    let kept = world.fake.kept_by_peer("balances");
    let keeping = world.fake.proposed_keeping("totals", Some(("balances", kept)));
    {
        let mut shown = world.fake.shown.lock().expect("whole");
        shown.alarms = vec![Alarm {
            kind: AlarmKind::StockLow,
            text: "Little is left of the stock".into(),
            advice: "wait, or give the machine more time".into(),
            since: Timestamp::now(),
        }];
        shown.peers[0].link = LinkState::Down;
        shown.peers[0].reason = Some("its machine does not answer".into());
    }
    vec![
        (String::new(), "Overview".into()),
        ("jobs".into(), "Jobs".into()),
        of_job(&waiting),
        of_job(&done),
        of_job(&keeping),
        ("ask".into(), "Ask".into()),
        ("propose".into(), "A job file".into()),
        ("kept".into(), "Kept values".into()),
        ("log".into(), "Log".into()),
        ("tokens".into(), "Tokens".into()),
    ]
}

/// The texts whose contrast with what is behind them is less than the guidelines ask (WCAG 2.2, 1.4.3: 4.5, or 3 for large text).
const CONTRAST: &str = r"
const channel = (value) => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4);
const parse = (text) => text.match(/[\d.]+/g).map(Number);
const light = ([r, g, b]) => 0.2126 * channel(r / 255) + 0.7152 * channel(g / 255) + 0.0722 * channel(b / 255);
const ground = (one) => {
  for (let at = one; at; at = at.parentElement) {
    const colour = parse(getComputedStyle(at).backgroundColor);
    if (colour.length < 4 || colour[3] === 1) return colour;
  }
  return matchMedia('(prefers-color-scheme: dark)').matches ? [18, 18, 18] : [255, 255, 255];
};
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
const low = [];
let seen = 0;
while (walker.nextNode()) {
  const one = walker.currentNode.parentElement;
  if (!walker.currentNode.textContent.trim() || one.getClientRects().length === 0 || one.closest('.unseen, .skip, .behind, script, noscript, :disabled')) continue;
  const style = getComputedStyle(one);
  const colour = one.closest('svg') ? style.fill : style.color;
  const [a, b] = [light(parse(colour)), light(ground(one))];
  const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
  const large = parseFloat(style.fontSize) >= 24 || (parseFloat(style.fontSize) >= 18.66 && style.fontWeight >= 700);
  seen += 1;
  if (ratio < (large ? 3 : 4.5)) low.push(`${ratio.toFixed(2)} ${one.tagName}.${one.className}: ${walker.currentNode.textContent.trim().slice(0, 40)}`);
}
return { seen, low };
";

#[test]
fn texts_can_be_read_in_both_colour_schemes_and_on_a_phone() {
    let world = World::new();
    let Some(browser) = enter(&world) else { return };
    let sections = sections(&world);
    let mut grounds = Vec::new();
    for scheme in ["light", "dark"] {
        for (number, (place, title)) in sections.iter().enumerate() {
            browser.screen(1200, 900, scheme);
            go(&browser, &world, place, title);
            let found = browser.run(CONTRAST);
            assert!(found["seen"].as_u64() > Some(10), "{place}");
            assert_eq!(found["low"], json!([]), "{scheme} {place}");
            browser.picture(&format!("{scheme}-{number}"));
            // A phone: nothing is wider than the screen, and what is pressed is large enough for a finger.
            browser.screen(360, 740, scheme);
            let wide = browser.run("return document.documentElement.scrollWidth");
            assert_eq!(wide, 360, "{scheme} {place}");
            let small = browser.run(
                "return [...document.querySelectorAll('button, nav a, select, main input, textarea')].filter((one) => one.offsetParent \
                 && !one.closest('.check') && Math.min(one.offsetHeight, one.offsetWidth) < 32).map((one) => one.outerHTML.slice(0, 80))",
            );
            assert_eq!(small, json!([]), "{place}");
            browser.picture(&format!("phone-{scheme}-{number}"));
        }
        grounds.push(browser.run("return getComputedStyle(document.body).backgroundColor"));
    }
    assert_ne!(grounds[0], grounds[1]);
    assert_clean(&browser);
}

/// Roles of what has a name.
const NAMED: [&str; 14] = [
    "button",
    "link",
    "textbox",
    "combobox",
    "checkbox",
    "spinbutton",
    "progressbar",
    "img",
    "image",
    "table",
    "region",
    "navigation",
    "columnheader",
    "group",
];

/// What a screen reader is told, by the browser's accessibility tree.
#[test]
fn everything_has_a_role_and_a_name() {
    let world = World::new();
    let Some(browser) = enter(&world) else { return };
    browser.command("Accessibility.enable", &json!({}));
    for (place, title) in sections(&world) {
        go(&browser, &world, &place, &title);
        let tree = browser.command("Accessibility.getFullAXTree", &json!({}));
        let nodes: Vec<(&str, &str)> = tree["nodes"]
            .as_array()
            .expect("nodes")
            .iter()
            .filter(|node| node["ignored"] != true)
            .map(|node| {
                let text = |part: &str| node[part]["value"].as_str().unwrap_or_default();
                (text("role"), text("name"))
            })
            .collect();
        let count = |role: &str| nodes.iter().filter(|(found, _)| *found == role).count();
        assert_eq!((count("main"), count("banner")), (1, 1), "{place}: {nodes:?}");
        assert!(nodes.contains(&("navigation", "Sections")), "{place}");
        assert!(count("status") >= 1 && count("alert") == 1, "{place}");
        for (role, name) in &nodes {
            assert!(
                !NAMED.contains(role) || !name.trim().is_empty() || *role == "group",
                "{place}: a {role} without a name"
            );
        }
        // Headings go down a step at a time, from one of the first level.
        let levels = browser.run("return [...document.querySelectorAll('h1, h2, h3')].filter((one) => one.offsetParent).map((one) => Number(one.tagName[1]))");
        let levels: Vec<u64> = levels
            .as_array()
            .expect("levels")
            .iter()
            .filter_map(Value::as_u64)
            .collect();
        assert_eq!(levels.iter().filter(|level| **level == 1).count(), 1, "{place}");
        assert!(
            levels[0] == 1 && levels.windows(2).all(|pair| pair[1] <= pair[0] + 1),
            "{place}: {levels:?}"
        );
        // Names of elements are given once.
        let twice = browser.run("const ids = [...document.querySelectorAll('[id]')].map((one) => one.id); return ids.length - new Set(ids).size");
        assert_eq!(twice, 0, "{place}");
        let title = browser.run("return document.title");
        assert!(
            title.as_str().is_some_and(|title| title.ends_with("· Cenote")),
            "{title}"
        );
    }
    assert_eq!(browser.run("return document.documentElement.lang"), "en");
}
