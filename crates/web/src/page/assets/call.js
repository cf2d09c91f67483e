// A call of a job that stands: what this party gives to it, and what came of it.

import { post, Problem, word } from "./api.js";
import { card, el, field, say, trouble } from "./dom.js";
import { count, parties, shortName } from "./format.js";
import { shown } from "./result.js";

/** That a job stands, and what each call gives. */
export function stands(house, { calls, callers, parameters }) {
  const names = Object.keys(parameters ?? {}).map((name) => `:${name}`).join(", ");
  return el("p", { class: "note" },
    `It stands: once all have approved, it is called up to ${count(calls)} times until its deadline, by ${parties(house, callers)}, and nobody is asked again.`,
    parameters ? " The tables stay the same." : "",
    names && ` Each call gives the values of ${names}. All parties learn them, and different values tell more than one answer does.`);
}

/** Calls a job that stands. */
export function calling(house, found) {
  const { callers, parameters } = found.standing;
  const given = parameters
    ? Object.entries(parameters).map(([name, type]) => ({ name, label: `Value of ${name}`, hint: type, control: el("input", { type: "text", required: !type.startsWith("char"), autocomplete: "off" }) }))
    : found.inputs.filter((input) => input.owner === house.party).map((input) => (
      { name: input.name, label: `Values for ${input.name}`, hint: `${input.type}; one value a line`, control: el("textarea", { required: true, spellcheck: "false", autocomplete: "off" }) }));
  const name = callers.length > 1 && el("input", { type: "text", maxlength: "128", required: true, autocomplete: "off" });
  const place = el("div");
  const form = el("form", {
    onsubmit: async (event) => {
      event.preventDefault();
      const button = event.submitter ?? form.querySelector("button");
      button.disabled = true;
      try {
        const inputs = Object.fromEntries(given.map((one) => [one.name, one.control.value]));
        place.replaceChildren(...await answered(found.id, { name: name ? name.value : word(), inputs }));
        place.dataset.keep = "";
        trouble();
        say(`The answer is shown. ${place.querySelector("p")?.textContent ?? ""}`);
      } catch (problem) {
        trouble(problem);
      }
      button.disabled = false;
    },
  },
    given.map((one) => field(one.label, one.control, one.hint)),
    name && field("Name of the call", name, "All callers give the same one. All parties can find out a name that can be guessed."),
    el("div", { class: "buttons" }, el("button", { type: "submit", class: "main" }, "Call it")));
  return card("Your call", form, place);
}

/** What this party learns of a call, once it has ended. */
async function answered(id, made) {
  for (;;) {
    const { calls: [ended] } = await post(`programs/${id}/calls`, { calls: [made], wait: 30 });
    if (ended.answer) return shown(ended.answer, `call-${shortName(ended.answer.call ?? made.name)}`, []).filter(Boolean);
    // The same again asks for the same call.
    if (ended.problem?.code !== "call-waits") throw new Problem(409, ended.problem ?? {});
  }
}
