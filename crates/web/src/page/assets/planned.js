// What a job would take and reveal, in words.

import { el, table } from "./dom.js";
import { bytes, count, parties, party, seconds } from "./format.js";
import { visible } from "./visible.js";

/** A sentence of a plan, with the names of the parties that it begins with or names as owners. */
export function sentence(house, text) {
  return text.replace(/^party (\d+)(?= learns)/, (all, number) => (house.parties[number] === undefined ? all : party(house, Number(number))));
}

/** What each party learns, a sentence each. */
export function learns(house, learnt) {
  return el("ul", {}, learnt.map((one) => el("li", {}, el("bdi", {}, visible(sentence(house, one))))));
}

/** Columns and who learns them. */
export function reveals(house, outputs) {
  return table("Outputs", ["Output", "Size", "Who learns it"], outputs.map((output) => [
    el("bdi", {}, visible(output.name)), `${count(output.values)} × ${count(output.bits)} bits`, parties(house, output.to)]));
}

/** What a plan tells. */
export function shownPlan(house, plan) {
  const time = plan.seconds === null ? "not known before a job with this protocol has run here" : `about ${seconds(plan.seconds)}, as jobs like it took here`;
  const facts = [
    ["Time", time],
    ["Secret work", `${count(plan.ands)} AND gates${plan.levels === null ? "" : ` in ${count(plan.levels)} levels, one after another`}`],
    ["Sent", `about ${bytes(plan.bytes)} by each party`],
    ["Memory here", `at most ${bytes(plan.memory)}`],
    ["Protocol", plan.protocol],
    ["Security", `${plan.statistical} bits statistical, ${plan.computational} bits computational`],
  ];
  return [
    el("h3", {}, "Who learns what"),
    plan.learnt.length > 0 ? learns(house, plan.learnt) : reveals(house, plan.outputs),
    el("h3", {}, "What it takes"),
    el("dl", {}, facts.map(([name, text]) => [el("dt", {}, name), el("dd", {}, text)])),
    plan.steps.length > 0 && el("details", {}, el("summary", {}, `How it is computed: ${count(plan.steps.length)} ${plan.steps.length === 1 ? "step" : "steps"}, the last one first`),
      el("ol", { class: "steps" }, plan.steps.map((step) => el("li", {},
        el("bdi", {}, visible(step.what)), el("span", { class: "soft" }, ` ${who(house, step)}; at most ${rows(step.rows)}, which everybody knows${step.ands ? `; ${count(step.ands)} AND gates` : ""}`))))),
  ].filter(Boolean);
}

const who = (house, step) => (step.owner === null ? "By all, secretly" : `By ${party(house, step.owner)}, in the clear`);
const rows = (number) => (number === 1 ? "1 row" : `${count(number)} rows`);
