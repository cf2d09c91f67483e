// The queries that this party has proposed, the newest first, as the service keeps them.

import { get } from "./api.js";
import { card, el, trouble } from "./dom.js";
import { parties, shortName, state, time } from "./format.js";
import { visible } from "./visible.js";

const PAGE = 100;

/** The list; `again` is told the job and the query that are to be asked again. */
export function earlier(house, again) {
  const list = el("ul", { class: "plain" });
  const more = el("button", { type: "button", class: "quiet", hidden: true }, "Older ones");
  const item = (job) => el("li", {},
    el("div", { class: "row" }, el("code", {}, el("bdi", {}, job.computes ? visible(job.computes.text) : "a query whose text is not kept any more")), state(job.state)),
    el("div", { class: "row" },
      el("span", { class: "soft" }, el("a", { href: `#/jobs/${job.id}` }, `Job ${shortName(job.id)}`), ", ", time(job.created_at), `, for ${parties(house, job.receivers)}`),
      job.computes && el("button", { type: "button", class: "quiet", "aria-label": `Ask again: job ${shortName(job.id)}`, onclick: async () => {
        try {
          const { job: found, explained } = await get(`jobs/${job.id}`);
          if (explained?.query) again(found, explained.query);
          trouble();
        } catch (problem) {
          trouble(problem);
        }
      } }, "Ask again")));
  const own = (job) => job.proposer === house.party && job.program_kind === "query";
  const load = async (before) => {
    const page = await get(`jobs?${new URLSearchParams({ limit: PAGE, ...(before && { before }) })}`);
    const found = page.jobs.filter(own).map(item);
    if (before) list.append(...found);
    else list.replaceChildren(...found);
    if (list.children.length === 0) list.append(el("li", { class: "soft" }, "Nothing was asked from here yet."));
    more.hidden = page.next === null;
    more.onclick = () => load(page.next).catch(trouble);
  };
  return { element: card("Earlier questions", list, el("div", { class: "buttons" }, more)), refresh: () => load().catch(trouble) };
}
