// Small charts, each with its meaning in words.

import { el, svg } from "./dom.js";

const [WIDTH, HEIGHT, LEFT, BOTTOM] = [320, 110, 58, 18];

/** A chart of one or two lines over time, with values as `show` tells them, and `axis` beside it; points are `{ at, values: [first, second] }`, where a missing value breaks the line. */
export function chart(title, points, show, names, axis = show) {
  const known = points.flatMap((point) => point.values).filter((value) => value !== null && value !== undefined);
  if (points.length < 2 || known.length === 0) return el("p", { class: "soft" }, "Nothing to show yet.");
  const top = Math.max(...known) || 1;
  const [from, to] = [points[0].at, points[points.length - 1].at];
  const x = (at) => LEFT + ((WIDTH - LEFT - 4) * (at - from)) / Math.max(1, to - from);
  const y = (value) => 6 + (HEIGHT - BOTTOM - 6) * (1 - value / top);
  const last = names.map((name, place) => {
    const value = points.findLast((point) => point.values[place] !== null && point.values[place] !== undefined)?.values[place];
    return value === undefined ? null : `${name}: ${show(value)} now, ${show(Math.max(...points.map((point) => point.values[place] ?? 0)))} at its highest`;
  }).filter(Boolean);
  const text = `${title}. ${last.join("; ")}.`;
  const clock = (at) => new Date(at).toLocaleTimeString("en", { hour: "2-digit", minute: "2-digit", hour12: false });
  const picture = svg("svg", { class: "chart", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": text },
    svg("line", { class: "axis", x1: LEFT, x2: WIDTH - 4, y1: HEIGHT - BOTTOM, y2: HEIGHT - BOTTOM }),
    svg("line", { class: "axis", x1: LEFT, x2: WIDTH - 4, y1: 6, y2: 6 }),
    svg("text", { x: LEFT - 4, y: 12, "text-anchor": "end" }, axis(top)),
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

const short = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });

/** A picture with a scale of values from `low` to `high`, what it shows in words, and the height of a value in it. */
function frame(title, words, low, high) {
  const y = (value) => 6 + (TALL - BOTTOM - 6) * (1 - (value - low) / (high - low || 1));
  const picture = svg("svg", { class: "chart", viewBox: `0 0 ${BROAD} ${TALL}`, role: "img", "aria-label": `${title}: ${words}` });
  for (const value of new Set([low, 0, high])) {
    if (value < low || value > high) continue;
    picture.append(svg("line", { class: "axis", x1: LEFT, x2: BROAD - 4, y1: y(value), y2: y(value) }),
      svg("text", { x: LEFT - 4, y: y(value) + 4, "text-anchor": "end" }, short.format(value)));
  }
  return [picture, y];
}

const [BROAD, TALL] = [640, 240];

/** Bars with names, `[name, value]` each. */
export function bars(title, named) {
  if (named.length === 0) return el("p", { class: "soft" }, "Nothing to show.");
  const values = named.map(([, value]) => value);
  const [low, high] = [Math.min(0, ...values), Math.max(0, ...values)];
  const [picture, y] = frame(title, `bars, ${named.length} values from ${short.format(Math.min(...values))} to ${short.format(Math.max(...values))}`, low, high);
  const step = (BROAD - LEFT - 4) / named.length;
  named.forEach(([name, value], place) => {
    const x = LEFT + place * step;
    const bar = svg("rect", { class: "bar", x: x + step * 0.1, width: step * 0.8, y: Math.min(y(0), y(value)), height: Math.abs(y(value) - y(0)) },
      svg("title", {}, `${name}: ${value}`));
    picture.append(bar);
    // Names that would run into each other are in the titles alone.
    const room = Math.floor(step / 6);
    if (room >= 3) picture.append(svg("text", { x: x + step / 2, y: TALL - 4, "text-anchor": "middle" }, name.length > room ? `${name.slice(0, room - 1)}…` : name));
  });
  return picture;
}

/** Points, `[x, y, name of x]` each, or the line through them. */
export function scatter(title, points, isLine) {
  const known = points.filter(([x, y]) => Number.isFinite(x) && Number.isFinite(y));
  if (known.length === 0) return el("p", { class: "soft" }, "Nothing to show.");
  const values = known.map(([, value]) => value);
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const [picture, y] = frame(title, `${isLine ? "a line" : "points"}, ${known.length} values from ${short.format(low)} to ${short.format(high)}`, low, high);
  const places = known.map(([x]) => x);
  const [from, to] = [Math.min(...places), Math.max(...places)];
  const x = (at) => LEFT + ((BROAD - LEFT - 8) * (at - from)) / (to - from || 1);
  if (isLine) picture.append(svg("polyline", { class: "line", points: known.map(([at, value]) => `${x(at).toFixed(1)},${y(value).toFixed(1)}`).join(" ") }));
  else for (const [at, value, name] of known) picture.append(svg("circle", { class: "dot", cx: x(at), cy: y(value), r: 3 }, svg("title", {}, `${name}: ${value}`)));
  const ends = [known.find(([at]) => at === from)[2], known.find(([at]) => at === to)[2]];
  picture.append(svg("text", { x: LEFT, y: TALL - 4 }, ends[0]), svg("text", { x: BROAD - 4, y: TALL - 4, "text-anchor": "end" }, ends[1]));
  return picture;
}
