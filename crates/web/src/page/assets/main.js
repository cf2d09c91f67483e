// Logging in, finding the section that the address names, and keeping it fresh.

import { enter, events, get, leave as end } from "./api.js";
import { ask } from "./ask.js";
import { audit } from "./audit.js";
import { catalogue } from "./catalogue.js";
import { el, patch, renumber, say, trouble } from "./dom.js";
import { shortName, stateText } from "./format.js";
import { job } from "./job.js";
import { jobs } from "./jobs.js";
import { kept } from "./kept.js";
import { overview } from "./overview.js";
import { propose } from "./propose.js";
import { tokens } from "./tokens.js";

const main = document.getElementById("main");
let house;
// How often a drawing has begun, and the last of them while it is under way.
let drawn = 0;
let drawing;

// Name, title, scopes, and what asks the service for the section's data and gives a function that builds it.
const sections = [
  ["", "Overview", ["read"], overview], ["ask", "Ask", ["read", "propose"], ask], ["jobs", "Jobs", ["read"], jobs],
  ["catalogue", "Catalogue", ["read"], catalogue], ["kept", "Kept values", ["read"], kept],
  ["log", "Log", ["read"], audit], ["tokens", "Tokens", ["admin"], tokens], ["propose", "A job file", ["propose"], propose],
];
const mayCome = ([, , scopes]) => scopes.every((scope) => house.may(scope));
// A section that another one leads to, for those who may come there.
const isListed = ([name]) => name !== "propose" || !house.may("read");

/** The section that the address names, and what follows its name. */
function place() {
  const [path, query] = location.hash.replace(/^#\/?/, "").split("?");
  const [name, rest] = path.split("/");
  const section = sections.find((one) => one[0] === name && mayCome(one)) ?? sections.find(mayCome);
  return { section, rest: name === "jobs" && /^[0-9a-f]{32}$/.test(rest ?? "") ? rest : null, query: new URLSearchParams(query) };
}

// Whether the reader has come to a section that is not drawn yet.
let coming = false;

/** Draws the section, in place of a drawing under way; `moved` if the reader has come to it, and has not merely stayed. A page that was just loaded has its focus where browsers begin. */
async function draw(moved, loaded = false) {
  const mine = show(moved, loaded);
  drawing = mine;
  try {
    await mine;
  } finally {
    if (drawing === mine) drawing = undefined;
  }
}

async function show(moved, loaded) {
  // What keeps itself fresh is left alone.
  if (!moved && !coming && main.querySelector("[data-keep]")) return;
  drawn += 1;
  const mine = drawn;
  coming ||= moved;
  const { section, rest, query } = place();
  const [name, title, , view] = section;
  for (const link of document.querySelectorAll("#nav a")) {
    if (link.dataset.name === name) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  let shown;
  let failure;
  try {
    const build = await (rest ? job(house, rest) : view(house, query));
    // Only what is shown is built, since building numbers the fields.
    if (mine !== drawn) return;
    renumber();
    shown = build().flat().filter(Boolean);
  } catch (problem) {
    failure = problem;
  }
  // A later call draws in its place.
  if (mine !== drawn) return;
  const come = coming;
  coming = false;
  if (failure) {
    if (failure.status === 401 || failure.code === "cross-site") return closed();
    trouble(failure);
    if (come) main.replaceChildren(el("h1", { tabindex: "-1" }, title), el("p", {}, "This cannot be shown at the moment."));
    return;
  }
  // What somebody fills in is not taken from under their hands.
  if (!come && busy()) return;
  if (come) main.replaceChildren(...shown);
  else patch(main, shown);
  document.title = `${rest ? `Job ${shortName(rest)}` : title} · Cenote`;
  if (come && !loaded) {
    main.querySelector("h1")?.focus();
    scrollTo(0, 0);
  }
}

/** Whether something here is being filled in or read, and would be lost. */
function busy() {
  const fields = [...main.querySelectorAll("form input, form textarea, form select")];
  const dirty = (one) => {
    if (one.type === "checkbox") return one.checked !== one.defaultChecked;
    if (one.tagName === "SELECT") return one.selectedIndex !== Math.max(0, [...one.options].findIndex((option) => option.defaultSelected));
    return one.value !== one.defaultValue;
  };
  return fields.some(dirty) || document.activeElement.matches("input, textarea, select")
    || main.querySelector("details[open], [data-keep]") !== null;
}

function closed() {
  document.getElementById("nav").hidden = true;
  document.getElementById("leave").hidden = true;
  main.replaceChildren(
    el("h1", { tabindex: "-1" }, "You are not logged in"),
    el("div", { class: "card" },
      el("p", {}, "This page is opened with a link that works once. On the machine of the service, run"),
      el("pre", {}, "cenote token login"),
      el("p", {}, "and open what it prints.")));
}

let due = false;
/** Draws again soon, after a drawing under way; many events become one drawing. */
async function soon() {
  if (due) return;
  due = true;
  await new Promise((done) => { setTimeout(done, 500); });
  while (drawing) await drawing.catch(() => undefined);
  due = false;
  draw(false);
}

function listen() {
  events((happened) => {
    dispatchEvent(new CustomEvent("cenote-event", { detail: happened }));
    if (happened.event === "job") {
      const { rest } = place();
      if (rest === null || rest === happened.job) say(`Job ${shortName(happened.job)}: ${stateText(happened.state)}.`);
    } else if (happened.event === "alarm") {
      say("The alarms have changed.");
    } else if (happened.event === "catalogue") {
      say(`The catalogue of ${house.parties[happened.party] ?? "a party"} has changed.`);
    }
    soon();
  }, soon);
}

/** The login token that the address holds, if it does. It is not left in the address or in the history. */
function login() {
  const found = location.hash.match(/^#(cenote_[0-9a-f_]+)$/)?.[1];
  if (found) history.replaceState(null, "", location.pathname);
  return found;
}

async function begin() {
  const token = login();
  let session;
  try {
    session = await enter(token);
  } catch (problem) {
    if (token) trouble(problem);
    return closed();
  }
  const may = (scope) => session.scopes.includes(scope);
  house = { ...(may("read") ? await get("about") : { party: -1, parties: [] }), may };
  document.getElementById("who").textContent = `${house.parties[house.party] ?? ""} · ${session.name}`;
  const nav = document.getElementById("nav");
  nav.replaceChildren(el("ul", {}, sections.filter((one) => mayCome(one) && isListed(one)).map(([name, title]) =>
    el("li", {}, el("a", { href: `#/${name}`, "data-name": name }, title)))));
  nav.hidden = false;
  const leave = document.getElementById("leave");
  leave.hidden = false;
  leave.onclick = async () => { await end().catch(trouble); location.reload(); };
  document.getElementById("skip").onclick = (event) => { event.preventDefault(); main.focus(); };
  started = true;
  addEventListener("cenote-refresh", ({ detail }) => draw(!detail?.stay));
  await draw(true, true);
  if (may("read")) {
    listen();
    setInterval(soon, 10000);
  }
}

let started = false;
addEventListener("hashchange", async () => {
  // A login link that is opened where the page is shown already.
  const token = login();
  if (token) {
    await enter(token).catch(() => undefined);
    location.reload();
  } else if (started) {
    trouble();
    draw(true);
  }
});

begin().catch((problem) => { trouble(problem); closed(); });
