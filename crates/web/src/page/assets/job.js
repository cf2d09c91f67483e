// One job: what it computes, what it would reveal to whom, and what this party does about it.

import { get, post } from "./api.js";
import { calling, stands } from "./call.js";
import { card, el, field, say, table, trouble } from "./dom.js";
import { bytes, count, parties, party, shortName, state, time } from "./format.js";
import { bar, soFar } from "./overview.js";
import { asks, weighing } from "./query.js";
import { fetched } from "./result.js";
import { visible } from "./visible.js";

export async function job(house, id) {
  const [{ job: found, explained, weighed }, data, running] = await Promise.all([get(`jobs/${id}`), get("data"), get("running")]);
  const run = running.find((one) => one.job === id);
  const undecided = found.state === "proposed" && found.decisions[house.party] === null;
  const open = ["proposed", "approved", "queued", "running"].includes(found.state);
  return () => [
    el("h1", { tabindex: "-1" }, `Job ${shortName(found.id)} `, state(found.state)),
    ending(house, found),
    run && card("Progress", bar("Progress of this job", run.done, run.total), soFar(run)),
    el("div", { class: "stack" },
      card("What it computes",
        explained?.query ? asks(house, found, explained.query, weighed)
          : [el("p", {}, el("bdi", {}, explained?.summary ?? "The service cannot tell any more what this job was about.")), madeBy(found)],
        found.standing && stands(house, found.standing),
        el("p", { class: "soft" }, `Proposed by ${party(house, found.proposer)}, `, time(found.created_at), ". To be done ", time(found.deadline), ".")),
      weighing(weighed),
      card("What it reveals", reveals(house, found, explained)),
      card("What it uses", uses(house, found)),
      card("Who has decided", table("Decisions", ["Party", "Decision", "Reason"], found.decisions.map((decision, number) => [
        party(house, number), decision ? { approve: "approved", decline: "declined" }[decision.verdict] : "not yet", decision ? decision.reason || "none given" : ""]))),
      found.state === "proposed" && found.statistical < 40 && el("p", { class: "note" },
        `Less security than usual: a party that cheats is not caught with a chance of 1 in ${count(2 ** found.statistical)}. 40 bits are usual, and this job has ${found.statistical}.`),
      undecided && house.may("approve") && decide(house, found, data, explained?.data ?? {}),
      undecided && !house.may("approve") && el("p", { class: "note" }, "Your login may look at jobs, and not decide on them."),
      found.state === "done" && found.receivers.includes(house.party) && house.may("propose") && result(found),
      found.state === "running" && found.standing?.callers.includes(house.party) && house.may("propose") && calling(house, found),
      open && (found.proposer === house.party || !undecided) && house.may("propose") && card("Take it back",
        el("p", {}, "Nothing more is computed, at any party. This cannot be undone."),
        el("div", { class: "buttons" }, action("Cancel the job", "refuse", () => post(`jobs/${id}/cancel`), "The job is cancelled."))),
      details(found, explained)),
  ];
}

/** Whether a circuit is the library's own of its name. */
function madeBy(found) {
  if (found.program_kind !== "circuit" || !found.computes || found.computes.of_library) return null;
  return el("p", { class: "note" }, "The circuit is in a file that the proposer sent, and not one of the library, whatever it is called.");
}

function ending(house, found) {
  const by = found.ended_by === null ? "" : party(house, found.ended_by);
  const reason = el("bdi", {}, found.reason || "no reason given");
  const words = {
    declined: [`${by} does not take part: `, reason],
    failed: [`It failed (${found.failure}), says ${by}: `, reason],
    cancelled: [`${by} took it back.`],
    queued: found.reason && [reason],
  }[found.state];
  const waits = !words && found.waits_for && ["It waits for ", el("bdi", {}, found.waits_for), "."];
  return (words || waits) && el("p", { class: "note" }, words || waits);
}

function reveals(house, found, explained) {
  const size = (output) => `${count(output.values)} × ${count(output.bits)} bits`;
  const keeps = found.keeps.map((keep) => {
    const kept = explained?.outputs.find((output) => output.name === keep.output);
    const days = `${keep.days} ${keep.days === 1 ? "day" : "days"}`;
    return el("p", {},
      "Keeps ", el("bdi", {}, keep.output), kept ? `, ${size(kept)},` : "", ` as `, el("bdi", {}, keep.name), " (", el("bdi", {}, keep.type), `) for ${days}; nobody learns it.`);
  });
  if (!explained) return [found.receivers.length > 0 && el("p", {}, `Its outputs go to ${parties(house, found.receivers)}.`), ...keeps];
  const learnt = explained.outputs.filter((output) => output.to.length > 0);
  return [
    learnt.length > 0 && table("Outputs", ["Output", "Size", "Who learns it"], learnt.map((output) => [
      output.name, size(output), parties(house, output.to)])),
    ...keeps,
    el("p", { class: "soft" }, "Nobody learns anything else, unless the outputs themselves give it away."),
  ];
}

function uses(house, found) {
  const takes = found.takes.map((take) => el("p", {},
    "Takes the value ", el("bdi", {}, take.name), " that ", el("a", { href: `#/jobs/${take.job}` }, `job ${shortName(take.job)}`), " kept, as ", el("bdi", {}, take.input), "; nobody learns it."));
  if (found.inputs.length === 0 && takes.length > 0) return takes;
  const given = table("Inputs", ["Input", "Kind", "Given by", "Data"], found.inputs.map((input) => {
    const mine = input.owner === house.party && found.decisions[house.party]?.verdict === "approve";
    return [input.name, input.type, party(house, input.owner), mine ? input.data ?? "values that were typed in" : "not told"];
  }));
  return [given, ...takes];
}

/** A button that does something once, and says so. */
function action(text, kind, work, done) {
  return el("button", { type: "button", class: kind, onclick: (event) => perform(event.currentTarget, work, done) }, text);
}

async function perform(button, work, done) {
  button.disabled = true;
  try {
    await work();
    trouble();
    say(done);
    dispatchEvent(new Event("cenote-refresh"));
  } catch (problem) {
    trouble(problem);
    button.disabled = false;
  }
}

function decide(house, found, data, published) {
  const mine = found.inputs.filter((input) => input.owner === house.party);
  const sources = mine.map((input) => source(input, data, published[input.name]));
  const reason = el("input", { type: "text", maxlength: "500", autocomplete: "off" });
  const approve = el("form", {
    onsubmit: (event) => {
      event.preventDefault();
      const body = { proposal: found.proposal, data: {}, posted: {}, reason: reason.value };
      sources.forEach((one) => one.fill(body));
      perform(event.submitter ?? approve.querySelector("button"), () => post(`jobs/${found.id}/approve`, body), "You have approved the job.");
    },
  },
    el("h3", {}, "Take part"),
    el("p", {}, mine.length ? "Choose what you give. It stays here; only the outputs above come out."
      : found.takes.length ? "You give nothing to this job but your shares of the values above." : "You give nothing to this job."),
    sources.map((one) => one.element),
    field("Why (optional, for your log)", reason),
    el("div", { class: "buttons" }, el("button", { type: "submit", class: "main" }, mine.length ? "Approve with this data" : "Approve")));
  const why = el("input", { type: "text", maxlength: "500", required: true, autocomplete: "off" });
  const decline = el("form", {
    onsubmit: (event) => {
      event.preventDefault();
      const body = { proposal: found.proposal, reason: why.value };
      perform(event.submitter ?? decline.querySelector("button"), () => post(`jobs/${found.id}/decline`, body), "You have declined the job.");
    },
  },
    el("h3", {}, "Or do not take part"),
    field("Why not", why, "The other parties are told."),
    el("div", { class: "buttons" }, el("button", { type: "submit", class: "refuse" }, "Decline")));
  return card("Your decision", approve, decline);
}

const TYPED = "\u0000typed";

/** Where an input's values come from: named data, at first that of the catalogue, or what is typed in. */
function source(input, data, published) {
  const values = el("textarea", { spellcheck: "false", autocomplete: "off" });
  const typed = field(`Values for ${input.name}`, values, "As in a data file: one value a line.");
  const choice = el("select", { required: true, onchange: () => show() },
    data.length === 0 ? null : el("option", { value: "" }, "Choose…"),
    data.map((one) => el("option", { value: one.name, selected: one.name === published }, `${one.name} (${bytes(one.bytes)})`)),
    el("option", { value: TYPED }, "Type values in"));
  const show = () => {
    typed.hidden = choice.value !== TYPED;
    values.required = choice.value === TYPED;
  };
  show();
  return {
    element: el("div", {}, field(`Data for ${input.name} (${input.type})`, choice, published && `Your catalogue names ${published} for it.`), typed),
    fill: (body) => {
      if (choice.value === TYPED) body.posted[input.name] = values.value;
      else body.data[input.name] = choice.value;
    },
  };
}

function result(found) {
  const place = el("div");
  const fetchIt = async (button) => {
    button.disabled = true;
    try {
      place.replaceChildren(...await fetched(found.id));
      place.dataset.keep = "";
      button.remove();
      trouble();
      say(`The result is shown. ${place.querySelector("p")?.textContent ?? ""}`);
    } catch (problem) {
      trouble(problem);
      button.disabled = false;
    }
  };
  return card("The result",
    el("p", { class: "note" }, "A result is given out once. Fetch it when you are ready to keep it: after that it can be shown again in this tab for a few minutes, and then it is deleted."),
    el("div", { class: "buttons" }, el("button", { type: "button", class: "main", onclick: (event) => fetchIt(event.currentTarget) }, "Fetch the result")),
    place);
}

function details(found, explained) {
  const facts = [
    ["Name", found.id], ["Proposal", found.proposal], ["Program", `${found.program_kind} ${found.program}`], ["Protocol", found.protocol],
    ["Security", `${found.statistical} bits statistical, ${found.computational} bits computational`],
    ["Size", `about ${count(found.ands)} AND gates and ${bytes(found.bytes)}, says the proposer`],
  ];
  return el("details", { class: "card" }, el("summary", {}, "Details for experts"),
    el("dl", {}, facts.map(([name, text]) => [el("dt", {}, name), el("dd", { class: "mono" }, text)])),
    explained && [el("h3", {}, "The job file"), el("pre", { tabindex: "0", "aria-label": "The job file" }, visible(explained.job))],
    explained && explained.files.map((one) => file(found, one)));
}

/** A file of the job, part by part, with how much of it is shown. */
function file(found, { name, bytes: size }) {
  const text = el("pre", { tabindex: "0", "aria-label": name, hidden: true });
  const shown = el("p", { class: "soft", "aria-live": "polite" }, `Nothing of its ${count(size)} bytes is shown yet.`);
  let next = 0;
  const more = el("button", { type: "button", onclick: async () => {
    try {
      const part = await get(`jobs/${found.id}/file?${new URLSearchParams({ name, from: next })}`);
      text.hidden = false;
      text.append(visible(part.text));
      next = part.next;
      shown.textContent = next === null ? `All of its ${count(size)} bytes are shown.` : `The first ${count(next)} of its ${count(size)} bytes are shown.`;
      more.hidden = next === null;
      trouble();
    } catch (problem) {
      trouble(problem);
    }
  } }, "Show more of it");
  return el("div", {}, el("h3", {}, "File ", el("bdi", {}, name)), shown, text, el("div", { class: "buttons" }, more));
}
