// Charts, drawn as SVG. Each stands above a table with the same numbers, so a chart is decoration.
import { el, shape } from "./dom.js";

const moment = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });
const FEWEST = 7; // columns for which there is room
const HEIGHT = 160, LABELS = 22, GAP = 0.2;

/**
 * Draw columns of stacked values.
 *
 * @param {string[]} series The names of the values, from the bottom.
 * @param {{label: string, values: number[]}[]} columns
 */
export function columnChart(series, columns) {
  const most = Math.max(1, ...columns.map((column) => sum(column.values)));
  const wide = 100 / Math.max(columns.length, FEWEST), each = Math.ceil(columns.length / 4);
  const drawn = columns.map((column, place) => {
    let top = HEIGHT;
    const title = shape("title", {}, `${column.label}: ${series.map((name, at) => `${name} ${column.values[at]}`).join(", ")}`);
    return shape("g", {}, title, column.values.map((value, at) => {
      const height = (value / most) * HEIGHT;
      top -= height;
      return shape("rect", { class: `series-${at}`, x: `${(place + GAP / 2) * wide}%`, y: top, width: `${(1 - GAP) * wide}%`, height });
    }), place % each === 0 ? shape("text", { x: `${place * wide}%`, y: HEIGHT + LABELS - 5 }, column.label) : []);
  });
  return el("figure", { class: "chart", "aria-hidden": "true" },
    shape("svg", { width: "100%", height: HEIGHT + LABELS },
      shape("line", { x1: "0%", x2: "100%", y1: HEIGHT, y2: HEIGHT }), drawn),
    el("figcaption", {}, series.map((name, at) => el("span", { class: `legend series-${at}` }, name))));
}

const AXIS = 34, DOT = 6, EDGE = 3; // pixels, and percent of free space at both ends

/**
 * Draw events on an axis of time that begins now. A list below has the same events.
 *
 * @param {string} now The label of the beginning.
 * @param {{label: string, at: Date}[]} events In the order of their times.
 */
export function timelineChart(now, events) {
  const begin = Date.now(), end = Math.max(begin + 1, ...events.map((event) => event.at.getTime()));
  const place = (at) => `${EDGE + (100 - 2 * EDGE) * Math.max(0, (at - begin) / (end - begin))}%`;
  const last = moment.format(end);
  return el("figure", { class: "chart axis", "aria-hidden": "true" },
    shape("svg", { width: "100%", height: AXIS + LABELS },
      shape("line", { x1: "0%", x2: "100%", y1: AXIS / 2, y2: AXIS / 2 }),
      events.map((event) => shape("circle", { cx: place(event.at), cy: AXIS / 2, r: DOT },
        shape("title", {}, `${event.label}: ${moment.format(event.at)}`))),
      shape("text", { x: "0%", y: AXIS + LABELS - 8 }, now),
      shape("text", { x: "100%", y: AXIS + LABELS - 8, "text-anchor": "end" }, last)));
}

function sum(values) { return values.reduce((total, value) => total + value, 0); }
