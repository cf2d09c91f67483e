// The tables of the catalogue beside a query, whose names are put into it.

import { tablesOf, quoted } from "./completion.js";
import { el } from "./dom.js";
import { count, time } from "./format.js";

/** The tables, by party; `insert` is told a name that was pressed. */
export function tables(catalogue, insert) {
  const all = tablesOf(catalogue);
  if (all.length === 0) return el("p", { class: "soft" }, "No party has published a table yet. A party publishes its tables with a file catalogue.toml.");
  return el("div", {}, catalogue.parties.filter((party) => party.tables.length > 0).map((party) => el("div", { class: "of-party" },
    el("h3", {}, el("bdi", {}, party.name), party.own ? " (you)" : ""),
    !party.own && !party.connected && el("p", { class: "soft" }, "Not connected; this is as of ", party.at ? time(party.at) : "some time ago", "."),
    el("ul", { class: "plain" }, all.filter((one) => one.party === party).map((one) => tableOf(one, insert))))));
}

function tableOf({ table, called }, insert) {
  const name = (text, word, what) => el("button", { type: "button", class: "quiet name", "data-insert": word, "aria-label": `Insert ${what} ${text}`, onclick: () => insert(word) }, el("bdi", {}, text));
  const inside = el("div");
  const fill = () => {
    if (inside.childElementCount > 0) return;
    inside.append(
      el("ul", { class: "plain columns" }, table.columns.map((column) => el("li", {},
        name(column.name, quoted(column.name), "the column"), el("span", { class: "soft" }, [column.type, ...column.promises].join(", "))))),
      list("Promised", table.promises), list("Rules", table.rules));
  };
  // A table may have many columns, which are built when somebody looks.
  const more = el("details", { ontoggle: fill }, el("summary", {}, `${count(table.columns.length)} ${table.columns.length === 1 ? "column" : "columns"}, at most ${count(table.max_rows)} rows`), inside);
  return el("li", {}, name(called, called, "the table"), more);
}

function list(title, lines) {
  return lines.length === 0 ? "" : el("div", {}, el("h4", {}, title), el("ul", {}, lines.map((line) => el("li", {}, el("bdi", {}, line)))));
}
