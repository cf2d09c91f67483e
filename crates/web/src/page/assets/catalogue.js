// The catalogue: what each party publishes of its tables, and what may be asked of them.

import { get } from "./api.js";
import { card, el, table } from "./dom.js";
import { count, time } from "./format.js";

export async function catalogue(house) {
  const { parties } = await get("catalogue");
  return () => [
    el("h1", { tabindex: "-1" }, "Catalogue"),
    el("p", { class: "soft" }, "What each party says of its tables: names, types, promises and rules, and no rows. Nobody has checked it: it is looked at when a job runs."),
    el("div", { class: "stack" }, parties.map((party) => of(house, party))),
  ];
}

function of(house, party) {
  const title = party.own ? `${party.name} (you)` : party.name;
  return card(title,
    el("p", { class: "soft" }, ...published(party)),
    !party.own && !party.connected && party.version > 0 && el("p", { class: "note" }, "This party is not connected. Its catalogue is as it was last."),
    party.tables.map((one) => shown(party, one)));
}

function published(party) {
  if (party.version === 0) return [party.own ? "You publish nothing. The file catalogue.toml says what is published." : "It has published nothing to you."];
  const digest = el("code", { title: party.digest }, party.digest.slice(0, 8));
  return [`Version ${party.version}, digest `, digest, ", since ", time(party.at), party.tables.length === 0 ? ": no tables." : "."];
}

function shown(party, one) {
  const columns = one.columns.map((column) => [el("bdi", {}, column.name), column.type, el("bdi", {}, column.promises.join("; ") || "none")]);
  return el("section", { "aria-label": `Table ${one.name} of ${party.name}` },
    el("h3", {}, el("bdi", {}, one.name)),
    el("p", { class: "soft" }, `At most ${count(one.max_rows)} rows.`, one.promises.length > 0 && ` ${sentence(one.promises)}`),
    party.own && el("p", { class: "soft" }, "Data: ", el("bdi", {}, one.data), `. Published to ${one.to.join(", ") || "nobody"}.`),
    table(`Columns of ${one.name}`, ["Column", "Type", "Promises"], columns),
    el("p", {}, "Rules: ", el("bdi", {}, sentence(one.rules))),
    el("details", {}, el("summary", {}, "As a job declares it"), el("pre", { tabindex: "0" }, one.declaration)));
}

/** Some words as one sentence. */
function sentence(words) {
  const text = words.join("; ");
  return text && `${text[0].toUpperCase()}${text.slice(1)}.`;
}
