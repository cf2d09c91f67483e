// The list of jobs, a page at a time.

import { get } from "./api.js";
import { card, el, field, table } from "./dom.js";
import { computes, party, shortName, state, stateNames, stateText, time } from "./format.js";

const PAGE = 25;

export async function jobs(house, query) {
  const [chosen, before] = [query.get("state") ?? "", query.get("before")];
  const asked = new URLSearchParams({ limit: PAGE });
  if (chosen) asked.set("state", chosen);
  if (before) asked.set("before", before);
  const page = await get(`jobs?${asked}`);
  const to = (changes) => {
    const next = new URLSearchParams({ ...(chosen && { state: chosen }), ...changes });
    return `#/jobs${next.size ? `?${next}` : ""}`;
  };
  const filter = el("select", { onchange: (event) => { location.hash = event.target.value ? `#/jobs?state=${event.target.value}` : "#/jobs"; } },
    el("option", { value: "" }, "All"),
    stateNames.map((name) => el("option", { value: name, selected: name === chosen }, stateText(name))));
  return () => [
    el("h1", { tabindex: "-1" }, "Jobs"),
    card("The newest first",
      field("Show", filter),
      page.jobs.length
        ? table("Jobs, the newest first", ["Job", "What it computes", "State", "Proposed by", "Arrived"], page.jobs.map((job) => [
          el("a", { href: `#/jobs/${job.id}` }, `${job.number}: ${shortName(job.id)}`),
          computes(job), state(job.state), party(house, job.proposer), time(job.created_at)]))
        : el("p", {}, "There are none."),
      el("nav", { class: "buttons", "aria-label": "Pages" },
        before && el("a", { class: "button", href: to({}) }, "Newest"),
        page.next && el("a", { class: "button", href: to({ before: page.next }) }, "Older"))),
  ];
}
