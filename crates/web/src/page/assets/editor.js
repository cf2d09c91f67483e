// An editor for a query: a text area, a list of words that complete what is begun, and a mark where something is wrong.
//
// The arrow keys choose from the list, Enter takes what is chosen and is a new line where nothing is, Escape closes the list, Control and Space open it.
// Tab goes on to the next field, as everywhere.

import { completions } from "./completion.js";
import { el } from "./dom.js";

/** The editor; `changed` is told each new text. */
export function editor({ id, text, catalogue, changed, described }) {
  const area = el("textarea", {
    id, rows: "8", spellcheck: "false", autocomplete: "off", autocapitalize: "off", autocorrect: "off", role: "combobox", "aria-autocomplete": "list",
    "aria-haspopup": "listbox", "aria-expanded": "false", "aria-controls": `${id}-words`, "aria-describedby": described,
  });
  area.value = text;
  const behind = el("div", { class: "behind", "aria-hidden": "true" });
  const list = el("ul", { id: `${id}-words`, class: "words", role: "listbox", "aria-label": "Words that fit here", hidden: true });
  let [from, items, chosen] = [0, [], -1];

  const close = () => {
    [items, chosen] = [[], -1];
    list.replaceChildren();
    list.hidden = true;
    area.setAttribute("aria-expanded", "false");
    area.removeAttribute("aria-activedescendant");
  };
  const choose = (place) => {
    chosen = place;
    [...list.children].forEach((one, number) => one.setAttribute("aria-selected", String(number === place)));
    if (place < 0) return area.removeAttribute("aria-activedescendant");
    area.setAttribute("aria-activedescendant", list.children[place].id);
    list.children[place].scrollIntoView({ block: "nearest" });
  };
  const put = (begin, end, word) => {
    area.setRangeText(word, begin, end, "end");
    close();
    told();
  };
  const take = (place) => {
    const word = items[place].insert;
    area.focus();
    put(from, area.selectionEnd, word);
  };
  const offer = (asked) => {
    close();
    if (area.selectionStart !== area.selectionEnd) return;
    ({ from, items } = completions(area.value, area.selectionStart, catalogue(), asked));
    if (items.length === 0) return;
    list.replaceChildren(...items.map((item, place) => el("li", {
      id: `${id}-word-${place}`, role: "option", "aria-selected": "false",
      // The focus stays in the text.
      onmousedown: (event) => event.preventDefault(), onclick: () => take(place),
    }, el("bdi", {}, item.text), item.about && el("bdi", { class: "soft" }, item.about))));
    list.hidden = false;
    area.setAttribute("aria-expanded", "true");
    if (asked) choose(0);
  };
  const told = () => {
    mark(null);
    changed(area.value);
  };
  /** Marks what begins at a place, a line and a column in characters. Gives where it begins and ends in the text. */
  const mark = (at) => {
    area.toggleAttribute("aria-invalid", Boolean(at));
    if (!at) return behind.replaceChildren();
    const [begin, end] = span(area.value, at);
    // Something is shown at the end of the text, too.
    behind.replaceChildren(area.value.slice(0, begin), el("mark", {}, area.value.slice(begin, end) || " "), area.value.slice(end));
    behind.scrollTop = area.scrollTop;
    return [begin, end];
  };

  area.oninput = () => { told(); offer(false); };
  area.onscroll = () => { behind.scrollTop = area.scrollTop; };
  area.onblur = close;
  area.onpointerdown = close;
  area.onkeydown = (event) => {
    const isOpen = items.length > 0;
    if (event.key === " " && event.ctrlKey) offer(true);
    else if (isOpen && event.key === "ArrowDown") choose((chosen + 1) % items.length);
    else if (isOpen && event.key === "ArrowUp") choose(chosen <= 0 ? items.length - 1 : chosen - 1);
    else if (isOpen && event.key === "Enter" && chosen >= 0) take(chosen);
    else if (isOpen && event.key === "Escape") close();
    else {
      if (["ArrowLeft", "ArrowRight", "Home", "End", "PageUp", "PageDown"].includes(event.key)) close();
      return;
    }
    event.preventDefault();
  };
  return {
    element: el("div", { class: "editor" }, behind, area, list),
    mark,
    /** Puts another text in place of all. */
    set: (next) => { area.value = next; close(); told(); },
    /** Puts a name where the caret is, apart from the words beside it. */
    insert: (name) => {
      const [begin, end] = [area.selectionStart, area.selectionEnd];
      const before = begin > 0 && !/[\s(.,]$/.test(area.value.slice(0, begin)) ? " " : "";
      area.focus();
      put(begin, end, `${before}${name}`);
    },
    /** Goes to a place. */
    go: (at) => {
      const [begin, end] = span(area.value, at);
      area.focus();
      area.setSelectionRange(begin, end);
    },
  };
}

/** Where what stands at a line and a column begins and ends: a word, or a sign. */
function span(text, { line, column }) {
  const lines = text.split("\n");
  const above = lines.slice(0, line - 1).reduce((sum, one) => sum + one.length + 1, 0);
  const letters = Array.from(lines[line - 1] ?? "").slice(0, column - 1).join("");
  const begin = Math.min(text.length, above + letters.length);
  const [word] = text.slice(begin).match(/^(?:[\p{L}\p{N}_]+|[^\s])/u) ?? [""];
  return [begin, begin + word.length];
}
