// Tokens, for administrators.

import { get, post, remove } from "./api.js";
import { card, el, field, say, table, trouble } from "./dom.js";
import { time } from "./format.js";

const scopes = { read: "See jobs, parties and stock", propose: "Propose jobs and fetch results", approve: "Approve and decline, and drop kept values", admin: "Make and revoke tokens" };
const kinds = { bearer: "for programs", login: "to log in once", session: "a browser" };

export async function tokens() {
  const all = await get("tokens");
  return () => cards(all);
}

function cards(all) {
  const name = el("input", { type: "text", maxlength: "64", required: true, autocomplete: "off" });
  const days = el("input", { type: "number", min: "1", max: "3650", value: "90", required: true });
  const boxes = Object.entries(scopes).map(([scope, text]) => {
    const box = el("input", { type: "checkbox", value: scope, checked: scope === "read" });
    return { box, element: el("label", { class: "check" }, box, text) };
  });
  const place = el("div", { "aria-live": "polite" });
  const form = el("form", {
    onsubmit: async (event) => {
      event.preventDefault();
      try {
        const chosen = boxes.filter((one) => one.box.checked).map((one) => one.box.value);
        const made = await post("tokens", { name: name.value, scopes: chosen, days: Number(days.value) });
        trouble();
        place.replaceChildren(el("p", { class: "note" }, "Copy this token now; it is not shown again."), el("pre", { tabindex: "0", "aria-label": "The new token" }, made.token));
        place.dataset.keep = "";
        name.value = "";
      } catch (problem) {
        trouble(problem);
      }
    },
  },
    field("Who uses it, for what", name, "The log shows this name."),
    el("fieldset", {}, el("legend", {}, "What it may do"), boxes.map((one) => one.element)),
    field("Ends after (days)", days),
    el("div", { class: "buttons" }, el("button", { type: "submit", class: "main" }, "Make a token")), place);
  const valid = all.filter((token) => token.revoked_at === null && (token.expires_at === null || token.expires_at > Date.now()));
  const revoke = (token) => el("button", {
    type: "button", class: "quiet", "data-token": token.id, "aria-label": `Revoke ${token.name}, ${kinds[token.kind] ?? token.kind}`,
    onclick: async () => {
      try {
        await remove(`tokens/${token.id}`);
        say("The token is revoked.");
        dispatchEvent(new Event("cenote-refresh"));
      } catch (problem) {
        trouble(problem);
      }
    },
  }, "Revoke");
  return [
    el("h1", { tabindex: "-1" }, "Tokens"),
    el("div", { class: "stack" },
      card("A new token", form),
      card("Who is let in", table("Tokens", ["Name", "For", "May", "Last used", "Ends", "Revoke"], valid.map((token) => [
        token.name, kinds[token.kind] ?? token.kind, token.scopes.join(", "), token.used_at ? time(token.used_at) : "never",
        token.expires_at ? time(token.expires_at) : "never", revoke(token)])))),
  ];
}
