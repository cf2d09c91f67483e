// The audit log: who did what, the newest first.

import { get, post } from "./api.js";
import { card, el, say, table, trouble } from "./dom.js";
import { bytes, parties, party, shortName, time } from "./format.js";

export async function audit(house) {
  const { lines } = await get("audit?lines=200");
  const rows = lines.map((line) => [time(Date.parse(line.at)), line.event.replaceAll("-", " "), who(house, line.by), what(house, line)]);
  const place = el("p", { "aria-live": "polite" });
  const check = async (button) => {
    button.disabled = true;
    try {
      const checked = await post("audit/verify");
      place.textContent = `All ${checked.lines} lines are as they were written. The last one's hash is ${checked.hash}.`;
      place.dataset.keep = "";
      say(place.textContent);
    } catch (problem) {
      trouble(problem);
    }
    button.disabled = false;
  };
  return () => [
    el("h1", { tabindex: "-1" }, "Log"),
    card("What has happened, the newest first",
      el("p", { class: "soft" }, "Each line carries the hash of the one before, so that nobody can change the past unnoticed."),
      house.may("admin") && el("div", { class: "buttons" }, el("button", { type: "button", onclick: (event) => check(event.currentTarget) }, "Check the whole log")),
      place,
      rows.length ? table("The audit log", ["When", "Event", "By", "What"], rows) : el("p", {}, "It is empty.")),
  ];
}

function who(house, by) {
  if (by === undefined) return "";
  if (typeof by === "string") return "this service";
  if (by.person !== undefined) return by.person;
  if (by.rule !== undefined) return `rule ${by.rule}`;
  if (by.peer !== undefined) return party(house, by.peer);
  return "";
}

/** What others wrote, whose direction of writing changes nothing beside it. */
const told = (text) => el("bdi", {}, text);

/** Data is told by its name, and a file that was used also by its size. */
const named = (data) => (typeof data === "string" ? data : `${data.name} (${bytes(data.bytes)})`);

function what(house, line) {
  const parts = [];
  if (line.job) parts.push(el("a", { href: `#/jobs/${line.job}` }, `job ${shortName(line.job)}`));
  const texts = [
    line.verdict && { approve: "approved", decline: "declined" }[line.verdict], line.party !== undefined && `for ${party(house, line.party)}`,
    line.data?.length && ["with ", told(line.data.map(named).join(", "))], line.reason && told(line.reason), line.kind, line.check && ["check ", told(line.check)],
    line.name && [line.event.startsWith("kept-") ? "value " : "token ", told(line.name)],
    line.scopes && `may ${line.scopes.join(", ")}`, line.learnt && `learnt by ${parties(house, line.learnt)}`,
    line.kept && ["kept as ", told(line.kept.join(", "))],
    line.version && `version ${line.version}`,
  ];
  texts.filter(Boolean).forEach((text, place) => parts.push(place > 0 ? ", " : " ", ...[text].flat()));
  return el("span", {}, ...parts);
}
