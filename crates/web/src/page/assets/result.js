// The result of a job, which is given out once.

import { save, shownAnswer, tableOf } from "./answer.js";
import { post, word } from "./api.js";
import { el } from "./dom.js";
import { shortName } from "./format.js";

/** Fetches the result of a job, and gives the elements that show it. In this tab it can be had again for a few minutes. */
export async function fetched(id) {
  const kept = `cenote-key-${id}`;
  const key = sessionStorage.getItem(kept) ?? word();
  sessionStorage.setItem(kept, key);
  const outputs = await post(`jobs/${id}/fetch`, { key });
  const name = `result-${shortName(id)}`;
  // The service writes it, as long as it has the result.
  const parquet = () => save("Save as Parquet", `${name}.parquet`, "application/vnd.apache.parquet", () => post(`jobs/${id}/fetch`, { key, format: "parquet" }, { raw: true }));
  return shown(outputs, name, outputs.answer ? [parquet()] : []).filter(Boolean);
}

export function shown(outputs, name, more) {
  try {
    const answer = tableOf(outputs);
    if (answer) return shownAnswer(answer, name, outputs, more);
  } catch {
    // It was given out once: whatever it is, it is shown.
  }
  const text = JSON.stringify(outputs, null, 2);
  const link = el("a", { class: "button", download: `${name}.json`, href: URL.createObjectURL(new Blob([text], { type: "application/json" })) }, "Save as a file");
  return [el("pre", { tabindex: "0", "aria-label": "The result" }, text), el("div", { class: "buttons" }, link)];
}
