// What becomes of a question that was proposed: for whom it waits, how far it is, and its answer.

import { get } from "./api.js";
import { el, say, trouble } from "./dom.js";
import { shortName, state, stateText } from "./format.js";
import { bar, soFar } from "./overview.js";
import { fetched } from "./result.js";

const OPEN = ["proposed", "approved", "queued", "running"];
// How often a job is looked at that nothing is heard of, in milliseconds.
const LOOK = 3000;

/** Follows the job that `draft` names, if it names one; `changed` is called when one begins or ends. */
export function following(house, draft) {
  const [told, others] = [el("div"), el("div")];
  const element = el("section", { class: "card", "aria-labelledby": "card-answer", hidden: true }, el("h2", { id: "card-answer", tabindex: "-1" }, "The answer"), told, others);
  const one = { element, changed: () => undefined, follow: (id) => { draft.job = id; begin(); } };
  let [timer, ended] = [null, null];

  const look = async () => {
    clearTimeout(timer);
    const id = draft.job;
    if (!id || id === ended || !element.isConnected) return;
    try {
      const [{ job }, running] = await Promise.all([get(`jobs/${id}`), get("running")]);
      if (id === draft.job && id !== ended) await show(job, running.find((run) => run.job === id));
    } catch (problem) {
      trouble(problem);
    }
    timer = setTimeout(look, LOOK);
  };
  const show = async (job, run) => {
    const isOpen = OPEN.includes(job.state);
    const head = el("p", {}, el("a", { href: `#/jobs/${job.id}` }, `Job ${shortName(job.id)}`), " ", state(job.state));
    const why = job.waits_for ?? job.reason;
    told.replaceChildren(...[head, why && el("p", { class: "note" }, isOpen ? "It waits for " : "", el("bdi", {}, why), "."), run && bar("Progress of this question", run.done, run.total), run && soFar(run)].filter(Boolean));
    if (isOpen) return;
    ended = job.id;
    one.changed();
    say(`Your question: ${stateText(job.state)}.`);
    if (job.state !== "done") return;
    if (!job.receivers.includes(house.party)) return told.append(el("p", {}, "The answer goes to others."));
    try {
      const answer = await fetched(job.id);
      if (draft.job !== job.id) {
        others.append(el("p", { class: "note" }, "The answer of ", el("a", { href: `#/jobs/${job.id}` }, `job ${shortName(job.id)}`), " came while you asked another question. Fetch it on the job's page within ten minutes."));
        return;
      }
      told.append(el("p", { class: "soft" }, "An answer is given out once. Save it now if you want to keep it."), ...answer);
      document.getElementById("card-answer")?.focus({ preventScroll: true });
    } catch (problem) {
      trouble(problem);
    }
  };
  const begin = () => {
    ended = null;
    element.hidden = false;
    told.replaceChildren(el("p", { class: "soft" }, "The other parties are being told."));
    one.changed();
    look();
  };
  // Of a section that was left, the events are heard no more.
  const hear = ({ detail }) => {
    if (!element.isConnected) removeEventListener("cenote-event", hear);
    else if (detail.event === "job" || detail.event === "progress") look();
  };
  setTimeout(() => {
    addEventListener("cenote-event", hear);
    if (draft.job) begin();
  });
  return one;
}
