// Charts, drawn as SVG. Each stands above a table with the same numbers, so a chart is decoration.
import { el, shape } from "./dom.js";

const HEIGHT = 160, LABELS = 22, GAP = 0.2;

/**
 * Draw columns of stacked values.
 *
 * @param {string[]} series The names of the values, from the bottom.
 * @param {{label: string, values: number[]}[]} columns
 */
export function columnChart(series, columns) {
  const most = Math.max(1, ...columns.map((column) => sum(column.values)));
  const wide = 100 / columns.length, each = Math.ceil(columns.length / 4);
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

function sum(values) { return values.reduce((total, value) => total + value, 0); }
