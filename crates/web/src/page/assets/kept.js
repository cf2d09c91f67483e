// Kept values: outputs that nobody has learnt, and that later jobs may take.

import { get, remove } from "./api.js";
import { card, el, say, table, trouble } from "./dom.js";
import { bytes, shortName, time } from "./format.js";

export async function kept(house) {
  const all = await get("kept");
  const mayDrop = house.may("approve");
  const heads = ["Name", "Type", "Kept by", "Since", "Until", "Your share", ...(mayDrop ? ["Drop"] : [])];
  const rows = all.map((value) => [
    value.name, value.type, el("a", { href: `#/jobs/${value.job}` }, `Job ${shortName(value.job)}`), time(value.kept_at), time(value.expires_at),
    bytes(value.bytes), ...(mayDrop ? [drop(value)] : [])]);
  return () => [
    el("h1", { tabindex: "-1" }, "Kept values"),
    card("What is kept here, the newest first",
      el("p", { class: "soft" }, "Outputs of jobs that nobody has learnt. Each party stores its share, and later jobs may take them as inputs, if all parties approve."),
      mayDrop && all.length > 0 && el("p", { class: "note" }, "No job can take a value any more once a party has dropped it. This cannot be undone."),
      all.length ? table("Kept values", heads, rows) : el("p", {}, "There are none.")),
  ];
}

function drop(value) {
  return el("button", {
    type: "button", class: "quiet", "data-job": value.job, "data-name": value.name, "aria-label": `Drop ${value.name} of job ${shortName(value.job)}`,
    onclick: async (event) => {
      const button = event.currentTarget;
      button.disabled = true;
      try {
        await remove(`kept/${value.job}/${value.name}`);
        trouble();
        say(`${value.name} is dropped.`);
        dispatchEvent(new Event("cenote-refresh"));
      } catch (problem) {
        trouble(problem);
        button.disabled = false;
      }
    },
  }, "Drop");
}
