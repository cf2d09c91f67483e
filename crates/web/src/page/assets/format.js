// Numbers, times and states in words.

import { el } from "./dom.js";
import { visible } from "./visible.js";

const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const long = new Intl.NumberFormat("en", { notation: "compact", compactDisplay: "long", maximumFractionDigits: 1 });
const short = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });

/** How many there are: a whole number, or in millions. */
export const count = (number) => (number < 1e6 ? whole : long).format(number);
/** The same where there is little room. */
export const brief = (number) => (number < 1e4 ? whole : short).format(number);
/** A rate, as a whole number. */
export const rate = (number) => (number > 0 && number < 1 ? "less than 1" : whole.format(number));
const few = (number) => (number < 10 ? Math.round(number * 10) / 10 : Math.round(number));
export const bytes = (number) => {
  for (const [unit, size] of [["GB", 1e9], ["MB", 1e6], ["kB", 1e3]]) {
    if (number >= size) return `${few(number / size)} ${unit}`;
  }
  return `${number} bytes`;
};
/** A time, in the unit that people use for as much. */
export const seconds = (value) => {
  if (value < 1) return `${Math.round(value * 1000)} ms`;
  for (const [unit, size] of [["h", 3600], ["min", 60]]) {
    if (value >= 2 * size) return `${few(value / size)} ${unit}`;
  }
  return `${few(value)} s`;
};

/** A point in time, as an element with the exact time in it. */
export function time(millis) {
  const date = new Date(millis);
  // Beyond the last day that browsers know.
  if (Number.isNaN(date.getTime())) return el("span", {}, "in a far future");
  return el("time", { datetime: date.toISOString(), title: date.toLocaleString("en") }, ago(millis));
}

function ago(millis) {
  const away = (millis - Date.now()) / 1000;
  const form = new Intl.RelativeTimeFormat("en", { numeric: "auto" });
  for (const [unit, size] of [["day", 86400], ["hour", 3600], ["minute", 60]]) {
    if (Math.abs(away) >= size) return form.format(Math.round(away / size), unit);
  }
  return away <= 0 ? "just now" : "in less than a minute";
}

/** A job's name as people say it. */
export const shortName = (id) => id.slice(0, 8);

const states = {
  proposed: ["waiting for decisions", "warn"], approved: ["approved", "calm"], queued: ["waiting for its turn", "calm"],
  running: ["running", "calm"], done: ["done", "good"], declined: ["declined", "bad"], failed: ["failed", "bad"],
  cancelled: ["cancelled", "soft"],
};
export const stateNames = Object.keys(states);
export const stateText = (state) => states[state]?.[0] ?? state;
export const state = (name) => el("span", { class: `state ${states[name]?.[1] ?? "soft"}` }, stateText(name));

const links = { up: ["connected", "good"], connecting: ["connecting", "warn"], down: ["not connected", "bad"], refused: ["refused", "bad"] };
export const link = (name) => el("span", { class: `state ${links[name]?.[1] ?? "soft"}` }, links[name]?.[0] ?? name);

/** Parties by name, with this party said to be so. */
export function party(house, number) {
  const name = house.parties[number] ?? `party ${number}`;
  return number === house.party ? `${name} (you)` : name;
}
export const parties = (house, numbers) => numbers.map((number) => party(house, number)).join(", ") || "nobody";

/** What a job computes, in a line: a query or the name of a circuit, with a mark if that is not the library's own. */
export function computes(job) {
  if (!job.computes) return el("span", { class: "soft" }, `a ${job.program_kind}`);
  const { text, of_library: known } = job.computes;
  if (job.program_kind === "query") return el("code", {}, el("bdi", {}, visible(text)));
  return el("span", {}, "circuit ", el("bdi", {}, visible(text)), !known && [" ", el("span", { class: "state warn" }, "from a file")]);
}
