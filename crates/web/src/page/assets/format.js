// Numbers, times and states in words.

import { el } from "./dom.js";

const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const tenths = new Intl.NumberFormat("en", { maximumFractionDigits: 1 });
const short = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });

export const count = (number) => (number < 100000 ? whole.format(number) : short.format(number));
/** A rate, in no more digits than people use. */
export const rate = (number) => (number < 10 ? tenths : whole).format(number);
export const bytes = (number) => {
  for (const [unit, size] of [["GB", 1e9], ["MB", 1e6], ["kB", 1e3]]) {
    if (number >= size) return `${(number / size).toFixed(1)} ${unit}`;
  }
  return `${number} bytes`;
};
export const seconds = (value) => (value < 1 ? `${Math.round(value * 1000)} ms` : `${value.toFixed(1)} s`);

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
