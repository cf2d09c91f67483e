// What a party learnt: a table that can be sorted, a chart of it, and files.

import { el, field, say, trouble } from "./dom.js";
import { bars, scatter } from "./chart.js";
import { count } from "./format.js";

const PAGE = 100;
// A chart of more has no room for them.
const MOST_BARS = 60;
const MOST_POINTS = 2000;

/** What a result holds as a table, or nothing if it is of another kind: an answer of rows, or the outputs of a circuit, a row for each lane. */
export function tableOf(result) {
  const { answer, outputs } = result;
  if (answer?.rows) return { columns: answer.columns, types: answer.types, rows: answer.rows };
  if (!Array.isArray(outputs) || outputs.length === 0) return null;
  // Long ones are rather keys and blocks than amounts.
  const isNumber = (output) => output.width <= 64;
  const shown = (output, value) => (isNumber(output) ? BigInt(value).toString() : value);
  const lanes = Math.max(...outputs.map((output) => output.values.length));
  return {
    columns: outputs.map((output) => output.name),
    types: outputs.map((output) => (isNumber(output) ? `u${output.width}` : "hexadecimal")),
    rows: Array.from({ length: lanes }, (_, lane) => outputs.map((output) => (output.values[lane] === undefined ? null : shown(output, output.values[lane])))),
  };
}

const isNumeric = (type) => /^(i|u)\d+$|^decimal/.test(type);
const isTime = (type) => type === "date" || type === "timestamp";

/** A value as what it is ordered by: decimals of a column have the same number of digits after their points. */
function key(type, text) {
  return isNumeric(type) ? BigInt(text.replace(".", "")) : text;
}

/** The numbers of rows in the order of a column, those without a value last. */
function sorted({ types, rows }, column, down) {
  const keys = rows.map((row) => (row[column] === null ? null : key(types[column], row[column])));
  const compare = (one, other) => (keys[one] < keys[other] ? -1 : keys[one] > keys[other] ? 1 : one - other);
  const [there, missing] = [true, false].map((wanted) => [...rows.keys()].filter((row) => (keys[row] !== null) === wanted));
  there.sort(compare);
  return [...(down ? there.reverse() : there), ...missing];
}

/** The table, its chart, and what is saved of it; `name` is that of files. As JSON the whole `result` is saved, as it came; `more` are other buttons that save it. */
export function shownAnswer(answer, name, result, more = []) {
  const grid = el("div");
  const picture = el("div");
  const view = { order: [...answer.rows.keys()], by: null, down: false, first: 0 };
  const redraw = () => grid.replaceChildren(...gridOf(answer, view, redraw));
  redraw();
  return [
    el("p", {}, answer.rows.length === 1 ? "One row." : `${count(answer.rows.length)} rows.`),
    grid,
    el("div", { class: "buttons" }, save("Save as CSV", `${name}.csv`, "text/csv", () => csv(answer)),
      save("Save as JSON", `${name}.json`, "application/json", () => JSON.stringify(result, null, 2)), more),
    answer.rows.length > 1 && answer.types.some(isNumeric) && charted(answer, view, picture),
    picture,
  ];
}

function gridOf({ columns, types, rows }, view, redraw) {
  const head = columns.map((column, place) => {
    const sort = () => {
      view.down = view.by === place && !view.down;
      [view.by, view.first] = [place, 0];
      view.order = sorted({ types, rows }, place, view.down);
      redraw();
      document.querySelector(`button[data-column="${place}"]`)?.focus();
    };
    const mark = view.by !== place ? "" : view.down ? " ▼" : " ▲";
    const direction = view.by !== place ? "none" : view.down ? "descending" : "ascending";
    return el("th", { scope: "col", "aria-sort": direction, class: isNumeric(types[place]) && "number" },
      el("button", { type: "button", class: "sort", "data-column": place, title: types[place], onclick: sort }, el("bdi", {}, column), mark));
  });
  const shown = view.order.slice(view.first, view.first + PAGE);
  const cell = (value, place) => el("td", { "data-label": columns[place], class: isNumeric(types[place]) && "number" },
    value === null ? el("span", { class: "soft" }, "null") : el("bdi", {}, value));
  const turned = (text, first) => {
    view.first = first;
    redraw();
    // The buttons are new ones; at an end the one that was pressed can take no focus.
    const turns = [...document.querySelectorAll("nav[aria-label=Rows] button:enabled")];
    (turns.find((one) => one.textContent === text) ?? turns[0])?.focus();
    say(`Rows ${count(view.first + 1)} to ${count(Math.min(rows.length, view.first + PAGE))}`);
  };
  const turn = (text, first) => el("button", { type: "button", class: "quiet", disabled: first < 0 || first >= rows.length, onclick: () => turned(text, first) }, text);
  return [
    el("div", { class: "grid-of-rows", tabindex: "0", role: "region", "aria-label": "The rows" }, el("table", { class: "wide" },
      el("caption", { class: "unseen" }, "The answer; press the name of a column to sort by it"),
      el("thead", {}, el("tr", {}, head)),
      el("tbody", {}, shown.map((row) => el("tr", {}, rows[row].map(cell)))))),
    rows.length > PAGE && el("nav", { class: "buttons", "aria-label": "Rows" }, turn("Earlier rows", view.first - PAGE), turn("Later rows", view.first + PAGE),
      el("span", { class: "soft" }, `Rows ${count(view.first + 1)} to ${count(Math.min(rows.length, view.first + PAGE))}`)),
  ].filter(Boolean);
}

/** Milliseconds of a date or a timestamp, in any year. */
function moment(text) {
  const parts = /^(-?\d+)-(\d\d)-(\d\d)(?:[ T](\d\d):(\d\d):(\d\d(?:\.\d+)?))?/.exec(text);
  if (!parts) return NaN;
  const [year, month, day, hours, minutes, seconds] = parts.slice(1).map((part) => Number(part ?? 0));
  // A year below 100 is one of that century otherwise.
  return new Date(0).setUTCFullYear(year, month - 1, day) + ((hours * 60 + minutes) * 60 + seconds) * 1000;
}

function charted({ columns, types, rows }, view, picture) {
  const options = (wanted) => columns.map((column, place) => wanted(types[place]) && el("option", { value: place }, column));
  const kind = el("select", {}, ["No chart", "Bars", "Lines", "Points"].map((one) => el("option", {}, one)));
  const across = el("select", {}, options(() => true));
  const up = el("select", {}, options(isNumeric));
  const note = (most) => rows.length > most && el("p", { class: "soft" }, `The first ${count(most)} of ${count(rows.length)} rows, in the order of the table.`);
  const draw = () => {
    const [x, y] = [Number(across.value), Number(up.value)];
    const title = `${columns[y]} by ${columns[x]}`;
    const points = (most) => view.order.slice(0, most).map((row) => [rows[row][x], rows[row][y]]).filter(([, value]) => value !== null);
    if (kind.value === "No chart") return picture.replaceChildren();
    if (kind.value === "Bars") return picture.replaceChildren(bars(title, points(MOST_BARS).map(([name, value]) => [name ?? "null", Number(value)])), ...[note(MOST_BARS)].filter(Boolean));
    const scale = isNumeric(types[x]) ? Number : isTime(types[x]) ? moment : null;
    const placed = points(MOST_POINTS).filter(([at]) => at !== null).map(([at, value], place) => [scale ? scale(at) : place, Number(value), at])
      .filter(([at]) => Number.isFinite(at));
    if (kind.value === "Lines") placed.sort(([one], [other]) => one - other);
    return picture.replaceChildren(scatter(title, placed, kind.value === "Lines"), ...[note(MOST_POINTS)].filter(Boolean));
  };
  for (const select of [kind, across, up]) select.onchange = draw;
  return el("div", { class: "choices" }, field("Chart", kind), field("Across", across), field("Up", up));
}

/** A button that makes its file when it is pressed, and holds it no longer than that takes. */
export function save(text, name, type, make) {
  return el("button", { type: "button", onclick: async () => {
    try {
      const url = URL.createObjectURL(new Blob([await make()], { type }));
      el("a", { download: name, href: url }).click();
      setTimeout(() => URL.revokeObjectURL(url), 10_000);
      trouble();
    } catch (problem) {
      trouble(problem);
    }
  } }, text);
}

/** As the command writes it: text that is empty but there is quoted, and null is nothing. */
function csv({ columns, rows }) {
  const quoted = (text) => (/[",\r\n]/.test(text) || text === "" ? `"${text.replaceAll('"', '""')}"` : text);
  const line = (cells) => `${cells.map((cell) => (cell === null ? "" : quoted(cell))).join(",")}\n`;
  return [columns, ...rows].map(line).join("");
}
