// Asking: the tables of the parties, a query over them, what it would take and reveal as it is typed, and its answer, all in one place.

import { get, post, word } from "./api.js";
import { card, el, field, say, trouble } from "./dom.js";
import { earlier } from "./earlier.js";
import { editor } from "./editor.js";
import { following } from "./following.js";
import { party } from "./format.js";
import { shownPlan } from "./planned.js";
import { tables } from "./tables.js";
import { visible } from "./visible.js";

// How long nothing is typed until a plan is asked for, and how long another page with the same login is left its turn, in milliseconds.
const [PAUSE, OTHERS] = [350, 1500];
// How long changes of catalogues are gathered, in milliseconds.
const GATHER = 2000;

// What is asked stays while the page is there, wherever its reader goes meanwhile.
const draft = { sql: "", receivers: null, protocol: "", least: "", most: "", within: "24", key: word(), body: "", job: null };

export async function ask(house) {
  const [catalogue, about] = await Promise.all([get("catalogue"), get("about")]);
  draft.receivers ??= [house.party];
  return () => workbench(house, catalogue, about.protocols);
}

function workbench(house, catalogue, protocols) {
  const plan = planning(house);
  const listed = el("div");
  const edit = editor({ id: "sql", text: draft.sql, catalogue: () => catalogue, described: "sql-hint sql-fault", changed: (text) => { draft.sql = text; plan.changed(); } });
  plan.edit = edit;
  const receivers = house.parties.map((_, number) => {
    const box = el("input", { type: "checkbox", value: number, onchange: () => {
      draft.receivers = receivers.filter((one) => one.box.checked).map((one) => Number(one.box.value));
      plan.changed();
    } });
    return { box, element: el("label", { class: "check" }, box, party(house, number)) };
  });
  const more = limits(protocols, plan.changed);
  const fill = () => {
    for (const { box } of receivers) box.checked = draft.receivers.includes(Number(box.value));
    more.fill();
  };
  const answer = following(house, draft);
  const propose = el("button", { type: "submit", class: "main", disabled: true }, "Propose");
  plan.button = propose;
  const form = el("form", { onsubmit: (event) => { event.preventDefault(); plan.propose(answer); } },
    el("label", { for: "sql" }, "Question, in SQL"),
    el("p", { class: "hint", id: "sql-hint" }, "Words that fit are listed as you type: choose with the arrow keys and Enter, close the list with Escape. Control and Space list all that fit."),
    edit.element, plan.fault,
    el("fieldset", {}, el("legend", {}, "Who receives the answer"), el("div", { class: "checks" }, receivers.map((one) => one.element))),
    more.element,
    el("div", { class: "buttons" }, propose, plan.note));
  const list = earlier(house, (found, query) => {
    Object.assign(draft, { receivers: found.receivers, protocol: found.protocol, least: query.min_group || "", most: query.max_rows ?? "" });
    fill();
    edit.set(query.sql);
    edit.go({ line: 1, column: 1 });
    say("The question is in the editor.");
  });
  const showTables = () => listed.replaceChildren(tables(catalogue, edit.insert));
  showTables();
  let gathering = false;
  const renew = async () => {
    gathering = false;
    if (!listed.isConnected) return;
    try {
      const before = catalogue;
      catalogue = await get("catalogue");
      showTables();
      if (plan.isTouched(before, catalogue)) plan.changed();
    } catch (problem) {
      trouble(problem);
    }
  };
  const hear = ({ detail }) => {
    if (!listed.isConnected) removeEventListener("cenote-event", hear);
    else if (detail.event === "catalogue" && !gathering) {
      gathering = true;
      setTimeout(renew, GATHER);
    }
  };
  setTimeout(() => addEventListener("cenote-event", hear));
  fill();
  if (draft.sql.trim()) plan.changed();
  list.refresh();
  answer.changed = list.refresh;
  return [
    el("h1", { tabindex: "-1" }, "Ask"),
    el("div", { class: "ask", "data-keep": "" },
      card("Tables", el("p", { class: "soft" }, "Press a name to put it into your question."), listed),
      el("div", { class: "stack" }, card("Your question", form), answer.element, plan.element, list.element)),
    el("p", {}, el("a", { href: "#/propose" }, "Advanced: a job file")),
  ];
}

/** What is seldom changed. */
function limits(protocols, changed) {
  const keep = (name, control) => {
    control.oninput = () => { draft[name] = control.value; changed(); };
    return control;
  };
  const protocol = keep("protocol", el("select", {}, el("option", { value: "" }, "The usual one"), protocols.map((name) => el("option", { value: name }, name))));
  const least = keep("least", el("input", { type: "number", min: "1" }));
  const most = keep("most", el("input", { type: "number", min: "1" }));
  const within = keep("within", el("input", { type: "number", min: "1", max: "720", required: true }));
  return {
    element: el("details", {}, el("summary", {}, "More"), el("div", { class: "choices" },
      field("Protocol", protocol), field("Done within (hours)", within),
      field("Smallest group", least, "Groups of fewer rows are left out. Empty: as the rules of the tables ask."),
      field("Most rows of the answer", most, "Empty: everybody learns how many rows it has."))),
    fill: () => { [protocol.value, least.value, most.value, within.value] = [draft.protocol, draft.least, draft.most, draft.within]; },
  };
}

const number = (text) => (String(text).trim() === "" ? null : Number(text));

/** The plan of what is typed: asked for after a pause, given up when something else is typed, and shown only if it is the latest. */
function planning(house) {
  const fault = el("p", { class: "fault", id: "sql-fault", role: "status" });
  const note = el("span", { class: "soft" });
  const told = el("div");
  const file = el("details", {}, el("summary", {}, "The job file"), el("p", { class: "hint" }, "All parties see this text. It holds no values."));
  const text = el("pre", { tabindex: "0", "aria-label": "The job file" });
  file.append(text);
  const element = el("section", { class: "card", "aria-labelledby": "card-plan", "data-plan": "none" }, el("h2", { id: "card-plan" }, "The plan"), told, file);
  const state = { element, fault, note, edit: null, button: null, changed: () => later(PAUSE), propose: (answer) => propose(answer), isTouched: (before, after) => isTouched(before, after) };
  let [asked, timer, call, plan] = [0, null, null, null];

  const empty = () => told.replaceChildren(el("p", { class: "soft" }, "What your question takes, and who learns what, stands here as you type."));
  const show = (is) => { element.dataset.plan = is; };
  const wrong = (message, at) => {
    const [begin, end] = at ? ["Line ", `, column ${at.column}: `] : ["", ""];
    fault.replaceChildren(at ? `${begin}${at.line}${end}` : "", el("bdi", {}, message), at ? " " : "",
      at ? el("button", { type: "button", class: "quiet", onclick: () => state.edit.go(at) }, "Go there") : "");
    state.edit.mark(at);
    told.replaceChildren(el("p", { class: "soft" }, "There is no plan as long as the question has a fault."));
    show("fault");
  };
  const later = (pause) => {
    asked += 1;
    clearTimeout(timer);
    call?.abort();
    plan = null;
    state.button.disabled = true;
    fault.replaceChildren();
    note.textContent = "";
    if (!draft.sql.trim()) {
      show("none");
      text.textContent = "";
      return empty();
    }
    show("waiting");
    told.setAttribute("aria-busy", "true");
    timer = setTimeout(make, pause);
  };
  const make = async () => {
    const mine = asked;
    call = new AbortController();
    const compose = {
      sql: draft.sql, receivers: draft.receivers.map((one) => house.parties[one]), protocol: draft.protocol || null, min_group: number(draft.least),
      max_rows: number(draft.most), deadline_seconds: Math.round(Number(draft.within) * 3600),
    };
    let found;
    try {
      found = await post("plan", { compose }, { signal: call.signal });
    } catch (problem) {
      if (mine !== asked) return;
      // Another page with this login has its turn.
      if (problem.code === "overtaken") return later(OTHERS);
      told.removeAttribute("aria-busy");
      return wrong(problem.message, null);
    }
    if (mine !== asked) return;
    told.removeAttribute("aria-busy");
    text.textContent = visible(found.job ?? "");
    if (found.fault) return wrong(found.fault.message, found.fault.at);
    plan = found;
    told.replaceChildren(...shownPlan(house, found.planned));
    const own = found.planned.inputs.filter((input) => input.owner === house.party);
    const given = own.filter((input) => found.data[input.name] !== undefined);
    note.textContent = own.length === 0 ? "You give no table to it."
      : given.length < own.length ? "You choose your data on the job's page afterwards."
        : house.may("approve") ? `You give ${given.map((input) => found.data[input.name]).join(", ")}.` : "Somebody here has to approve it, too.";
    plan.approval = house.may("approve") && given.length === own.length ? { data: found.data } : undefined;
    state.button.disabled = false;
    show("there");
  };
  // Without a plan, a table that is new may be what it lacks.
  const isTouched = (before, after) => {
    if (!plan) return true;
    const used = (catalogue) => plan.planned.inputs.map(({ name, owner }) =>
      catalogue.parties.filter((party) => party.party === owner).flatMap((party) => party.tables).filter((table) => name === table.name || name.endsWith(`.${table.name}`)));
    const [old, now] = [used(before), used(after)];
    return now.some((found) => found.length === 0) || JSON.stringify(old) !== JSON.stringify(now);
  };
  const propose = async (answer) => {
    if (!plan) return;
    state.button.disabled = true;
    try {
      const body = { job: plan.job, within: Math.round(Number(draft.within) * 3600), approval: plan.approval };
      // What is sent again after a failure is the same proposal.
      const sent = JSON.stringify(body);
      if (sent !== draft.body) [draft.body, draft.key] = [sent, word()];
      const made = await post("jobs", body, { headers: { "Idempotency-Key": draft.key } });
      draft.body = "";
      trouble();
      say("The question is proposed. The other parties are being told.");
      answer.follow(made.id);
    } catch (problem) {
      trouble(problem);
    }
    state.button.disabled = !plan;
  };
  empty();
  return state;
}
