// How the service does: alarms, what waits for a decision, what runs, peers, stock, and the last hours.

import { get } from "./api.js";
import { chart } from "./chart.js";
import { card, el } from "./dom.js";
import { brief, bytes, computes, count, link, party, rate, seconds, shortName, time } from "./format.js";

let day = false;

export async function overview(house) {
  const [about, alarms, proposed, running, peers, stock, history] = await Promise.all([
    get("about"), get("alarms"), get("jobs?state=proposed&limit=50"), get("running"), get("peers"), get("stock"),
    get(`history?day=${day}`),
  ]);
  const waiting = proposed.jobs.filter((job) => job.decisions[house.party] === null);
  return () => [
    el("h1", { tabindex: "-1" }, "Overview"),
    about.not_ready && el("p", { class: "note" }, `Not ready for jobs: ${about.not_ready}.`),
    alarms.map(alarm),
    el("div", { class: "grid" },
      card("Waiting for your decision", decisions(house, waiting, proposed.next)),
      card("Running", runs(running)),
      card("The other parties", peers.length ? el("ul", { class: "plain" }, peers.map(peer)) : "There are none."),
      card("Material in stock", stocks(stock, history)),
      throughput(history, house)),
  ];
}

function alarm(found) {
  return el("section", { class: "card alarm", "aria-label": "Alarm" },
    el("h2", {}, found.text), el("p", {}, `What to do: ${found.advice}`), el("p", { class: "soft" }, "Since ", time(found.since)));
}

function decisions(house, jobs, more) {
  if (jobs.length === 0) return el("p", { class: "soft" }, "Nothing waits for you.");
  return el("ul", { class: "plain" },
    jobs.slice(0, 8).map((job) => el("li", {},
      el("div", { class: "row" }, el("a", { href: `#/jobs/${job.id}` }, `Job ${shortName(job.id)}`), time(job.created_at)),
      el("p", {}, computes(job)), el("p", { class: "soft" }, `Proposed by ${party(house, job.proposer)}`))),
    (jobs.length > 8 || more) && el("li", {}, el("a", { href: "#/jobs?state=proposed" }, "All that wait")));
}

function runs(jobs) {
  if (jobs.length === 0) return el("p", { class: "soft" }, "Nothing runs at the moment.");
  return el("ul", { class: "plain" }, jobs.slice(0, 20).map((run) => {
    const name = `Job ${shortName(run.job)}`;
    return el("li", {},
      el("div", { class: "row" }, el("a", { href: `#/jobs/${run.job}` }, name), time(run.since)),
      bar(`Progress of ${name}`, run.done, run.total), soFar(run));
  }));
}

/** How far a run is, in words. */
export function soFar(run) {
  if (run.stands) return el("p", { class: "soft" }, `It stands: ${count(run.done)} of ${count(run.total)} calls have begun.`);
  const steps = `${count(run.done)} of ${count(run.total)} steps`;
  if (!run.shards) return el("p", { class: "soft" }, steps);
  const { shards, done, running, handed_out, attempts } = run.shards;
  return el("p", { class: "soft" },
    `${steps}. ${count(done)} of ${count(shards)} shards are done${running ? `; now: ${running}` : ""}. Attempts so far: ${count(handed_out)} of at most ${count(attempts)}.`);
}

export function bar(label, value, most) {
  return el("progress", { "aria-label": label, value: Math.min(value, most), max: Math.max(1, most) });
}

function peer(found) {
  const facts = [
    found.version && `version ${found.version}`,
    found.round_trip !== null && `answers in ${seconds(found.round_trip / 1000)}`,
    found.clock_ahead !== null && Math.abs(found.clock_ahead) >= 1000
      && `its clock is ${seconds(Math.abs(found.clock_ahead) / 1000)} ${found.clock_ahead > 0 ? "ahead" : "behind"}`,
    `${bytes(found.sent)} sent`, `${bytes(found.received)} received`,
  ];
  return el("li", {},
    el("div", { class: "row" }, el("strong", {}, found.name), link(found.link)),
    found.reason && el("p", {}, found.reason),
    el("p", { class: "soft" }, facts.filter(Boolean).join(", ")),
    el("p", { class: "soft" }, "Since ", time(found.since), found.again && [", tried again ", time(found.again)]));
}

function stocks(stock, history) {
  if (stock.length === 0) return el("p", { class: "soft" }, "No material is kept.");
  return el("ul", { class: "plain" }, stock.map((kind) => {
    const name = `${kind.protocol}: ${kind.kind}`;
    const points = history.map((point) => ({ at: point.at, values: [point.stock[name] ?? null] }));
    return el("li", {},
      el("div", { class: "row" }, el("strong", {}, name), el("span", { class: "soft" }, kind.making ? "being filled" : "at rest")),
      bar(`Stock of ${name}`, kind.amount, kind.target),
      el("p", { class: "soft" }, `${count(kind.amount)} of ${count(kind.target)}`),
      chart(`Stock of ${name}`, points, count, ["stock"], brief));
  }));
}

function throughput(history) {
  const perMinute = history.map((point) => ({ at: point.at, values: [(60 * point.done) / Math.max(1, point.seconds), (60 * point.failed) / Math.max(1, point.seconds)] }));
  const within = history.map((point) => ({ at: point.at, values: [point.half, point.most] }));
  const choose = (value, text) => el("button", {
    type: "button", class: "quiet", "aria-pressed": String(day === value),
    onclick: () => { day = value; dispatchEvent(new CustomEvent("cenote-refresh", { detail: { stay: true } })); },
  }, text);
  return card("How fast jobs are done",
    el("div", { class: "buttons", role: "group", "aria-label": "Span of time" }, choose(false, "Last hour"), choose(true, "Last day")),
    el("h3", {}, "Jobs a minute"), chart("Jobs a minute", perMinute, rate, ["done", "failed"]),
    el("h3", {}, "From submission to result"), chart("Time from submission to result", within, seconds, ["half of the jobs within", "99 of 100 within"]));
}

