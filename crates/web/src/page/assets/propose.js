// Proposing a job: from a template, or from a job file.

import { post, word } from "./api.js";
import { card, el, field, say, trouble } from "./dom.js";
import { party } from "./format.js";

// What each template computes, its circuit, and what its inputs are called.
const templates = [
  ["Add two numbers", "lib:add64", ["the first number", "the second number"], "Each of two parties gives a number of 64 bits. The sum comes out, and nothing else of the numbers."],
  ["Which of two numbers is less", "lib:lt64", ["the first number", "the second number"], "Each of two parties gives a number of 64 bits. Whether the first is less than the second comes out."],
  ["Whether two numbers are equal", "lib:eq64", ["the first number", "the second number"], "Each of two parties gives a number of 64 bits. Whether they are equal comes out."],
  ["Encrypt with somebody else's key (AES-128)", "lib:aes128", ["the key", "the message"], "One party gives a key and another one a block of 16 bytes. The encrypted block comes out; neither sees what the other gave."],
  ["My own job file", null, [], "Write or paste a job file. It names parties, and a circuit or a query and its tables, but no values and no files of tables."],
];

export async function propose(house) {
  return () => proposal(house);
}

function proposal(house) {
  const everyone = house.parties.map((_, number) => number);
  const text = el("textarea", { required: true, spellcheck: "false", rows: "14" });
  const about = el("p", { class: "hint" });
  const choices = el("div");
  const receivers = everyone.map((number) => {
    const box = el("input", { type: "checkbox", value: number, checked: number === house.party, onchange: () => write() });
    return { box, element: el("label", { class: "check" }, box, party(house, number)) };
  });
  const expert = el("details", {}, el("summary", {}, "The job file"), field("Job file", text, "All parties see this text. It must hold no values."));
  const learns = el("fieldset", {}, el("legend", {}, "Who learns the result"), receivers.map((one) => one.element));
  let inputs = [];
  const select = el("select", { onchange: () => choose() }, templates.map(([name], place) => el("option", { value: place }, name)));
  const choose = () => {
    const [, circuit, names, words] = templates[select.value];
    about.textContent = words;
    inputs = names.map((name, place) => ({
      name, select: el("select", { onchange: () => write() }, everyone.map((number) =>
        el("option", { value: number, selected: number === place % house.parties.length }, party(house, number)))),
    }));
    choices.replaceChildren(...inputs.map((one) => field(`Who gives ${one.name}`, one.select)));
    learns.hidden = !circuit;
    expert.open = !circuit;
    write();
  };
  const write = () => {
    const circuit = templates[select.value][1];
    if (!circuit) return;
    const to = receivers.filter((one) => one.box.checked).map((one) => one.box.value);
    text.value = `circuit = "${circuit}"\nlanes = 1\n${inputs.map((one) => `\n[[input]]\nparty = ${one.select.value}\n`).join("")}\n[[output]]\nto = [${to.join(", ")}]\n`;
  };
  const within = el("input", { type: "number", min: "1", max: "720", value: "24", required: true });
  const key = word();
  const form = el("form", {
    onsubmit: async (event) => {
      event.preventDefault();
      const button = form.querySelector("button");
      button.disabled = true;
      try {
        const made = await post("jobs", { job: text.value, within: Math.round(Number(within.value) * 3600) }, { headers: { "Idempotency-Key": key } });
        trouble();
        say("The job is proposed. The other parties are being told.");
        location.hash = `#/jobs/${made.id}`;
      } catch (problem) {
        trouble(problem);
        button.disabled = false;
      }
    },
  },
    field("What to compute", select), about, choices, learns, field("Done within (hours)", within), expert,
    el("div", { class: "buttons" }, el("button", { type: "submit", class: "main" }, "Propose to the other parties")));
  choose();
  return [
    el("h1", { tabindex: "-1" }, "A job file"),
    card("A new job", el("p", {}, "A circuit, or a job file that is written by hand. The other parties see what you propose, and decide. You choose your own data on the next page."), form),
  ];
}
