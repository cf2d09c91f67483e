// Characters that turn the direction of text, or that nobody sees, as marks that everybody sees: a query is decided on as it is read.

const HIDDEN = /[\u00ad\u061c\u115f\u1160\u180e\u200b-\u200f\u202a-\u202e\u2060\u2066-\u2069\u3164\ufeff\uffa0\ufff9-\ufffb\u{e0000}-\u{e007f}]/gu;

/** The text with a mark such as ⟨U+202E⟩ in place of each of them. */
export const visible = (text) => text.replace(HIDDEN, (one) => `⟨U+${one.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}⟩`);

/** Whether there are any. */
export const hides = (text) => text.search(HIDDEN) >= 0;
