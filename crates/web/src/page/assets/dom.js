// Elements. Text becomes text, never markup.

/** An element with attributes, listeners (`on…`) and children; a child is an element, a text, or nothing. */
export function el(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else element.setAttribute(key, value === true ? "" : String(value));
  }
  element.append(...children.flat(Infinity).filter((child) => child !== undefined && child !== null && child !== false));
  return element;
}

/** The same for pictures. */
export function svg(name, attributes = {}, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, String(value));
  element.append(...children);
  return element;
}

let numbers = 0;

/** Lets fields be numbered from the first again: what is drawn anew is then equal to what is there. */
export function renumber() {
  numbers = 0;
}

/** A labelled field: the label, a hint if there is one, and the control. */
export function field(label, control, hint) {
  numbers += 1;
  control.id ||= `field-${numbers}`;
  const children = [el("label", { for: control.id }, label)];
  if (hint) {
    children.push(el("p", { class: "hint", id: `${control.id}-hint` }, hint));
    control.setAttribute("aria-describedby", `${control.id}-hint`);
  }
  return el("div", {}, ...children, control);
}

/** A card with a heading, which names it. */
export function card(title, ...children) {
  const id = `card-${title.toLowerCase().replaceAll(/[^a-z]+/g, "-")}`;
  return el("section", { class: "card", "aria-labelledby": id }, el("h2", { id }, title), ...children);
}

/** A table whose rows become blocks where there is little room. The first cell of a row names the row. */
export function table(caption, heads, rows) {
  return el("table", { class: "wide" },
    el("caption", { class: "unseen" }, caption),
    el("thead", {}, el("tr", {}, heads.map((head) => el("th", { scope: "col" }, head)))),
    el("tbody", {}, rows.map((cells) => el("tr", {}, cells.map((cell, place) =>
      place === 0 ? el("th", { scope: "row" }, cell) : el("td", { "data-label": heads[place] }, cell))))));
}

/**
 * Makes the children of an element what they should be, and leaves alone what is so already: what somebody is about to press stays
 * where it is, and so does the focus. Elements that are equal must also do the same.
 */
export function patch(parent, wanted) {
  wanted.forEach((next, place) => {
    const now = parent.childNodes[place];
    if (!now) parent.append(next);
    else if (now.isEqualNode(next)) return;
    else if (alike(now, next)) {
      for (const { name } of [...now.attributes]) if (!next.hasAttribute(name)) now.removeAttribute(name);
      for (const { name, value } of next.attributes) if (now.getAttribute(name) !== value) now.setAttribute(name, value);
      patch(now, [...next.childNodes]);
    } else {
      const held = now === document.activeElement;
      now.replaceWith(next);
      if (held) next.focus({ preventScroll: true });
    }
  });
  while (parent.childNodes.length > wanted.length) parent.lastChild.remove();
}

// Elements that do something are replaced as a whole.
const alike = (now, next) => now.nodeType === Node.ELEMENT_NODE && now.nodeName === next.nodeName
  && !now.matches("button, form, a, input, select, textarea");

/** Tells screen readers of a change. */
export function say(text) {
  document.getElementById("said").textContent = text;
}

/** Shows what went wrong, until it is closed or something else is done. */
export function trouble(error) {
  const place = document.getElementById("trouble");
  place.replaceChildren();
  if (!error) return;
  const text = error.advice ? `${sentence(error.message)} What to do: ${error.advice}.` : error.message;
  place.append(el("div", {}, el("span", {}, text),
    el("button", { type: "button", class: "quiet", onclick: () => trouble() }, "Close")));
}

function sentence(text) {
  const whole = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.!?]$/.test(whole) ? whole : `${whole}.`;
}
