// Small charts, each with its meaning in words.

import { el, svg } from "./dom.js";

const [WIDTH, HEIGHT, LEFT, BOTTOM] = [320, 110, 40, 18];

/** A chart of one or two lines over time; points are `{ at, values: [first, second] }`, where a missing value breaks the line. */
export function chart(title, points, show, names) {
  const known = points.flatMap((point) => point.values).filter((value) => value !== null && value !== undefined);
  if (points.length < 2 || known.length === 0) return el("p", { class: "soft" }, "Nothing to show yet.");
  const top = Math.max(...known) || 1;
  const [from, to] = [points[0].at, points[points.length - 1].at];
  const x = (at) => LEFT + ((WIDTH - LEFT - 4) * (at - from)) / Math.max(1, to - from);
  const y = (value) => 6 + (HEIGHT - BOTTOM - 6) * (1 - value / top);
  const last = names.map((name, place) => {
    const value = points.findLast((point) => point.values[place] !== null && point.values[place] !== undefined)?.values[place];
    return value === undefined ? null : `${name}: ${show(value)} at last, ${show(Math.max(...points.map((point) => point.values[place] ?? 0)))} at most`;
  }).filter(Boolean);
  const text = `${title}. ${last.join("; ")}.`;
  const clock = (at) => new Date(at).toLocaleTimeString("en", { hour: "2-digit", minute: "2-digit", hour12: false });
  const picture = svg("svg", { class: "chart", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": text },
    svg("line", { class: "axis", x1: LEFT, x2: WIDTH - 4, y1: HEIGHT - BOTTOM, y2: HEIGHT - BOTTOM }),
    svg("line", { class: "axis", x1: LEFT, x2: WIDTH - 4, y1: 6, y2: 6 }),
    svg("text", { x: LEFT - 4, y: 12, "text-anchor": "end" }, show(top)),
    svg("text", { x: LEFT - 4, y: HEIGHT - BOTTOM, "text-anchor": "end" }, "0"),
    svg("text", { x: LEFT, y: HEIGHT - 4 }, clock(from)),
    svg("text", { x: WIDTH - 4, y: HEIGHT - 4, "text-anchor": "end" }, clock(to)));
  names.forEach((_, place) => {
    for (const run of runs(points, place)) {
      const line = run.map((point) => `${x(point.at).toFixed(1)},${y(point.values[place]).toFixed(1)}`);
      if (line.length === 1) line.push(`${(x(run[0].at) + 3).toFixed(1)},${y(run[0].values[place]).toFixed(1)}`);
      picture.append(svg("polyline", { class: place ? "line second" : "line", points: line.join(" ") }));
    }
  });
  return el("div", {}, picture, el("p", { class: "soft" }, last.join("; ")));
}

/** The parts of a line without gaps. */
function runs(points, place) {
  const found = [[]];
  for (const point of points) {
    if (point.values[place] === null || point.values[place] === undefined) found.push([]);
    else found[found.length - 1].push(point);
  }
  return found.filter((run) => run.length > 0);
}
