// A query that waits for a decision: in SQL and in words, and what differs from what was approved before.

import { card, el } from "./dom.js";
import { count, shortName } from "./format.js";
import { learns } from "./planned.js";
import { hides, visible } from "./visible.js";

/** The text of a query, with the constants marked that were others before. */
export function shownSql(sql, constants = []) {
  const letters = Array.from(sql);
  const parts = [];
  let at = 0;
  for (const { from, to, before } of constants) {
    parts.push(visible(letters.slice(at, from).join("")), el("mark", { title: `before: ${visible(before)}` }, visible(letters.slice(from, to).join(""))));
    at = to;
  }
  parts.push(visible(letters.slice(at).join("")));
  return [
    el("pre", { tabindex: "0", class: "sql", "aria-label": "The query" }, parts),
    hides(sql) && el("p", { class: "note" }, "The query has characters that cannot be seen or that turn the direction of text. They are shown as ⟨U+…⟩."),
  ];
}

/** What a query asks and reveals. */
export function asks(house, found, query, weighed) {
  return [
    shownSql(query.sql, weighed?.compared?.constants),
    el("h3", {}, "Who learns what"),
    learns(house, query.learnt),
    el("p", { class: "soft" }, `About ${count(found.ands)} AND gates, with protocol ${found.protocol}.`),
  ];
}

/** What a person should weigh a query by, in a card. */
export function weighing(weighed) {
  if (!weighed) return null;
  const { compared, allowance, looked_through: looked } = weighed;
  if (!compared && !looked && allowance.length === 0) return null;
  return card("Before you decide", compared && comparison(compared),
    looked && el("p", { class: "note" }, `Only the last ${count(looked)} jobs of this party were looked through for a query like this one. It has more.`),
    allowance.length > 0 && [el("h3", {}, "How often your data may be asked yet"), el("ul", {}, allowance.map((one) => el("li", {}, el("bdi", {}, visible(one)))))]);
}

function comparison({ job, same_but_for_constants: same, constants, differs }) {
  const link = el("a", { href: `#/jobs/${job}` }, `job ${shortName(job)}`);
  const others = constants.map(({ before }) => el("bdi", { class: "mono" }, visible(before)));
  const begin = !same ? ["This is another query than ", link, ", the last one of this party that you approved."]
    : constants.length === 0 ? ["You approved the same query before, in ", link, "."]
      : [`You approved the same query with other constants before, in `, link, ". They are marked above; in their places stood ", others.flatMap((one, place) => (place ? [", ", one] : [one])), "."];
  return [
    el("p", {}, begin.flat()),
    differs.length > 0 && el("div", { class: "note" }, el("p", {}, "What else differs:"), el("ul", {}, differs.map((one) => el("li", {}, el("bdi", {}, visible(one)))))),
  ];
}
